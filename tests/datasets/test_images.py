"""Labelled images: checked, and shuffled by a seed."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost.datasets import Images, load_faces
from ocboost.errors import InputError
from tests.datasets.conftest import both


class TestImages:
    def test_shuffled_keeps_the_pairs(self, mosaics):
        images = load_faces(mosaics[0])
        mixed = images.shuffled(3)
        for part in ("train", "test"):
            before = {x.tobytes(): y for x, y in zip(*both(images, part), strict=True)}
            after = {x.tobytes(): y for x, y in zip(*both(mixed, part), strict=True)}
            assert before == after
        assert mixed.source == images.source
        assert not np.array_equal(mixed.train_X, images.train_X)

    def test_shuffled_by_the_seed_alone(self, mosaics):
        images = load_faces(mosaics[0])
        np.testing.assert_array_equal(images.shuffled(3).train_X, images.shuffled(3).train_X)
        assert not np.array_equal(images.shuffled(3).train_X, images.shuffled(4).train_X)

    @pytest.mark.parametrize("seed", [-1, 1.5, True, None])
    def test_bad_seed(self, mosaics, seed):
        with pytest.raises(InputError, match="seed must be an integer of at least 0"):
            load_faces(mosaics[0]).shuffled(seed)

    @pytest.mark.parametrize("name", ["train_X", "train_y", "test_X", "test_y"])
    def test_arrays_are_checked(self, name):
        X, y = np.zeros((2, 3, 3), np.uint8), np.zeros(2, np.int8)
        good = {"train_X": X, "train_y": y, "test_X": X, "test_y": y}
        Images(**good, source="")
        for bad in (good[name].astype(float), good[name][0], good[name][:1] if name[-1] == "y" else X[:, 0]):
            with pytest.raises(InputError, match=f"{name} must"):
                Images(**{**good, name: np.asarray(bad)}, source="")
        with pytest.raises(InputError, match="test_X must have images of"):
            Images(**{**good, "test_X": np.zeros((2, 4, 4), np.uint8)}, source="")
