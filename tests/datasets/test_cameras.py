"""Simulated cameras: the same windows with the same seed, and others than before."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost.datasets import cameras
from ocboost.datasets.cameras import CAMERAS, Camera
from ocboost.datasets.faces import draw_toys
from ocboost.errors import InputError

WINDOWS = draw_toys(20, seed=0)[0]


@pytest.mark.parametrize("name", CAMERAS)
def test_a_camera_changes_windows_by_the_seed_alone(name):
    before = WINDOWS.copy()
    seen = CAMERAS[name](WINDOWS, np.random.default_rng(3))
    assert (seen.dtype, seen.shape) == (np.uint8, WINDOWS.shape)
    np.testing.assert_array_equal(WINDOWS, before)
    np.testing.assert_array_equal(CAMERAS[name](WINDOWS, np.random.default_rng(3)), seen)
    assert np.abs(seen.astype(int) - WINDOWS).mean() > 1.0
    assert CAMERAS[name].name == name
    if name != "roll":  # which draws nothing
        assert (CAMERAS[name](WINDOWS, np.random.default_rng(4)) != seen).any()


def test_values_are_rounded_and_bounded_in_blocks(monkeypatch):
    monkeypatch.setattr(cameras, "WINDOWS_AT_ONCE", 3)
    camera = Camera("shift", "adds 100.6", lambda x, rng: x + np.float32(100.6))
    expected = np.minimum(WINDOWS.astype(int) + 101, 255)
    np.testing.assert_array_equal(camera(WINDOWS, np.random.default_rng(0)), expected)


@pytest.mark.parametrize("windows", [WINDOWS.astype(float), WINDOWS[0]])
def test_other_windows_are_refused(windows):
    with pytest.raises(InputError, match=r"windows must be uint8 of shape \(n, height, width\); got"):
        CAMERAS["fog"](windows, np.random.default_rng(0))
