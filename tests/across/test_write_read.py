"""Everything that is written is read, and goes on as it would have: random operations, extreme settings."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ocboost
from ocboost._core.codec import read
from ocboost._kernels.tail import CORRECTIONS
from tests.support.makers import random_margins
from tests.support.sequences import KINDS, follow

STEPS = {"BoostingSketch": 12, "FilterBoost": 12}
EXAMPLES = {"BoostingSketch": 100, "OCBClassifier": 30, "PictureAdapter": 8}


class HypothesisDraw:
    """Draws by hypothesis, which makes what fails as short as it can."""

    def __init__(self, data):
        self._data = data

    def whole(self, low, high):
        return self._data.draw(st.integers(low, high))

    def one(self, options):
        return self._data.draw(st.sampled_from(options))


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_written_is_read_and_goes_on(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # no loss of power is looked into

    @settings(max_examples=EXAMPLES.get(kind, 20))
    @given(data=st.data(), n_steps=st.integers(1, STEPS.get(kind, 6)))
    def follows(data, n_steps):
        follow(HypothesisDraw(data), kind, n_steps, tmp_path / "model")

    follows()


# What was refused once -----------------------------------------------------------------------------------


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("gone", [[0], [0, 1], [1, 2], [0, 2, 4]])
def test_a_sketch_without_its_first_hypotheses(correction, gone, tmp_path):
    rng = np.random.default_rng(300)
    sketch = ocboost.BoostingSketch.from_margins(random_margins(rng, 60, 6), correction=correction)
    sketch.update_many(random_margins(rng, 100, 6))
    sketch = sketch.without(gone)
    for more in (random_margins(rng, 5, 6 - len(gone)), random_margins(rng, 70, 6 - len(gone))):
        sketch.save(tmp_path / "model")
        loaded = ocboost.BoostingSketch.load(tmp_path / "model")
        for each in (sketch, loaded):
            each.update_many(more, batch_size=3)
        np.testing.assert_array_equal(loaded.alpha, sketch.alpha)


def test_a_row_that_has_grown_beyond_all_bounds_by_leaving_others_out(tmp_path):
    # π of large α: the row says that it holds the most there is to say.
    rng = np.random.default_rng(301)
    sketch = ocboost.BoostingSketch(5, correction="listing", smoothing=1e-300)
    sketch.update_many(random_margins(rng, 33, 5), sample_weight=rng.choice([1.0, 1e300, 1e-300], 33))
    sketch = sketch.without([0, 1, 2])
    assert sketch.tree()["share"][0, 0] == 1e6
    for _ in range(3):
        sketch.save(tmp_path / "model")
        loaded = ocboost.BoostingSketch.load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.alpha, sketch.alpha)
        sketch.update_many(random_margins(rng, 9, 2))


def test_a_first_row_of_one_side_only_at_a_far_scale(tmp_path):
    # The side without weight has no unit, whatever the unit of the other.
    sketch = ocboost.BoostingSketch(1, forgetting=1e-300, smoothing=0.0)
    sketch.update([1], sample_weight=1e-300)
    sketch.update_many([[1]] * 5, sample_weight=np.zeros(5))
    tree = sketch.tree()
    assert tree["W_unit"][0, 0, 0] < -8
    assert tree["W"][0, 1, 0] == 0.0
    sketch.save(tmp_path / "model")
    np.testing.assert_array_equal(ocboost.BoostingSketch.load(tmp_path / "model").alpha, sketch.alpha)


def test_a_long_head_that_forgets_at_once(tmp_path):
    # ½ log of 1e-300 to the power of 3,500: an α beyond a million, and the truth.
    sketch = ocboost.BoostingSketch(2, head=4000, keep="newest", forgetting=1e-300, smoothing=0.0)
    margins = np.ones((4000, 2), int)
    margins[500:] = -1
    sketch.update_many(margins)
    assert sketch.n_head < 4000
    assert np.abs(sketch.tree()["alpha"]).max() > 1e6
    sketch.save(tmp_path / "model")
    np.testing.assert_array_equal(ocboost.BoostingSketch.load(tmp_path / "model").alpha, sketch.alpha)


def test_scales_far_below_one(tmp_path):
    # As 10⁹ examples without weight leave them behind under strong forgetting.
    sketch = ocboost.BoostingSketch(2, head=3, keep="newest")
    sketch.update_many([[1, -1], [1, 1], [-1, 1], [1, 1]])
    tree = sketch.tree()
    for key in ("W_unit", "total_unit"):
        tree[key] = tree[key] - (1 << 32)
    made = read(tree, "a file", ocboost.BoostingSketch.from_tree)
    assert np.isfinite(made.alpha).all()
    made.update_many([[1, 1]] * 9)
    made.save(tmp_path / "model")
    np.testing.assert_array_equal(ocboost.BoostingSketch.load(tmp_path / "model").alpha, made.alpha)
    oza = ocboost.OzaRussell(2, forgetting=1e-300)
    oza.update_many([[1, -1], [1, 1]])
    tree = oza.tree()
    for key in ("W_unit", "total_unit", "now_unit"):
        tree[key] = tree[key] + (1 << 32)
    np.testing.assert_allclose(read(tree, "a file", ocboost.OzaRussell.from_tree).alpha, oza.alpha)
