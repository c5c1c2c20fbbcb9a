"""Finding things in images: shrinking, scanning and grouping against plain loops."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocboost._kernels.pyramid import shrink
from ocboost.cascade import candidates, detect, group_rectangles, passed, stage_sums
from ocboost.errors import InputError
from tests.naive.cascade import plain_candidates, plain_groups, plain_shrink
from tests.support.cascades import noise, random_cascade

DETECT = importlib.import_module("ocboost.cascade.detect")  # the package has a function of this name


@settings(max_examples=40, deadline=None)
@given(*[st.integers(1, 40)] * 4, st.integers(0, 10**6))
def test_shrinking_is_that_of_a_plain_loop(height, width, new_height, new_width, seed):
    image = np.random.default_rng(seed).integers(0, 256, (height, width)).astype(np.uint8)
    out = np.empty((new_height, new_width), np.uint8)
    shrink(image, out)
    np.testing.assert_array_equal(out, plain_shrink(image, new_height, new_width))


@pytest.mark.parametrize("kind", [{}, {"max_nodes": 2, "share_tilted": 0.5}])
@pytest.mark.parametrize(
    ("shape", "factor"), [((23, 31), 1.4), ((30, 19), 2.0), ((7, 8), 1.1), ((24, 45), 1.9)]
)
def test_candidates_are_those_of_a_plain_loop(kind, shape, factor):
    cascade = random_cascade(seed=12, stages=(5, 3), n_features=6, **kind)
    image = np.clip(np.random.default_rng(3).normal(128, 60, shape), 0, 255).astype(np.uint8)
    image[: shape[0] // 3] = 99  # no contrast there
    cut = np.lib.stride_tricks.sliding_window_view(image, (7, 8)).reshape(-1, 7, 8)
    cascade = cascade.with_thresholds(np.quantile(stage_sums(cascade, cut), 0.45, axis=0) + 1e-3)
    if shape != (7, 8):
        assert (np.bincount(passed(cascade, cut), minlength=3) > 20).all()
    expected = plain_candidates(cascade, image, factor)
    found = candidates(cascade, image, factor)
    assert sorted(map(tuple, found.tolist())) == sorted(expected)
    if shape != (7, 8):
        assert 0 < len(expected) < 500


def test_windows_in_an_image_are_judged_as_windows_alone():
    cascade = random_cascade(seed=5, share_tilted=0.3)
    image = noise(8, 1, 40, 50)[0]
    cut = np.array([[image[y : y + 7, x : x + 8] for x in range(0, 43, 2)] for y in range(0, 34, 2)])
    accepted = passed(cascade, cut.reshape(-1, 7, 8)) == 3
    places = np.argwhere(accepted.reshape(cut.shape[:2]))[:, ::-1] * 2
    found = {tuple(r[:2]) for r in candidates(cascade, image, 100.0).tolist()}
    assert found <= {tuple(p) for p in places.tolist()}
    assert len(found) > 0.3 * len(places) > 0  # the first stage lets some be skipped


def test_sizes_limit_what_is_looked_at():
    cascade = random_cascade(seed=5).with_thresholds([-9, -9, -9])
    image = noise(9, 1, 60, 60)[0]
    every = candidates(cascade, image, 1.3)
    some = candidates(cascade, image, 1.3, (12, 12), (30, 40))
    fits = (every[:, 2] >= 12) & (every[:, 3] >= 12) & (every[:, 2] <= 30) & (every[:, 3] <= 40)
    np.testing.assert_array_equal(some, every[fits])
    assert 0 < len(some) < len(every)
    assert len(candidates(cascade, image, 1.3, None, (0, 0))) == len(every)
    assert len(candidates(cascade, image, 1.3, (90, 90))) == 0
    assert detect(cascade, image[:5, :5]) == []
    inside = detect(cascade, image, 1.3, 0)
    assert all(x >= 0 and y >= 0 and x + w <= 60 and y + h <= 60 for x, y, w, h in inside)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 60), st.integers(1, 4))
def test_groups_are_those_of_a_plain_loop(seed, n, min_neighbors):
    rng = np.random.default_rng(seed)
    centre = rng.integers(0, 120, (4, 2))[rng.integers(0, 4, n)]
    size = rng.choice([24, 26, 40, 60], n)
    rects = np.column_stack([centre + rng.integers(-4, 5, (n, 2)), size, size])
    found, sizes = group_rectangles(rects, min_neighbors)
    listed = list(zip(map(tuple, found.tolist()), sizes.tolist(), strict=True))
    assert listed == plain_groups(rects.tolist(), min_neighbors)


def test_zero_neighbours_leave_everything():
    rects = [[0, 0, 5, 5], [0, 0, 5, 5]]
    found, sizes = group_rectangles(rects, 0)
    assert found.tolist() == rects
    assert sizes.tolist() == [1, 1]
    assert group_rectangles([], 3)[0].shape == (0, 4)


def test_what_makes_no_sense_is_refused(monkeypatch):
    cascade, image = random_cascade(), noise(0, 1, 30, 30)[0]
    for wrong in (image.astype(float), np.zeros((3, 4, 3), np.uint8), np.zeros((0, 4), np.uint8)):
        with pytest.raises(InputError, match=r"image must be uint8 of shape \(height, width\).*grey"):
            detect(cascade, wrong)
    with pytest.raises(
        InputError, match=r"scale_factor must be a finite number of at least 1\.001; got 1\.0"
    ):
        detect(cascade, image, 1.0)
    with pytest.raises(InputError, match=r"at least 1\.001; got 1\.000001. Take 1\.1"):
        detect(cascade, image, 1.000001)
    with pytest.raises(InputError, match="min_size must be a width and a height"):
        detect(cascade, image, min_size=24)
    with pytest.raises(InputError, match="max_size must be a whole number"):
        detect(cascade, image, max_size=(24, -1))
    with pytest.raises(InputError, match="min_neighbors must be a whole number"):
        detect(cascade, image, min_neighbors=-1)
    with pytest.raises(InputError, match="rects must be whole numbers of shape"):
        group_rectangles([[1, 2, 3]], 1)
    monkeypatch.setattr(DETECT, "MAX_GROUPED", 3)
    with pytest.raises(InputError, match="rects must be at most 3 to be grouped; got 4"):
        group_rectangles([[0, 0, 5, 5]] * 4, 1)


def test_the_number_of_sizes_is_limited(monkeypatch):
    cascade, image = random_cascade(), noise(0, 1, 30, 30)[0]
    expected = candidates(cascade, image, 1.1, max_size=(12, 12))
    monkeypatch.setattr(DETECT, "MAX_SCALES", 7)
    assert len(candidates(cascade, image, 1.3)) > 0  # 6 sizes
    with pytest.raises(InputError, match=r"at most 7 sizes of the window fit .* 30 × 30 pixels; got 1\.1"):
        detect(cascade, image, 1.1)
    np.testing.assert_array_equal(candidates(cascade, image, 1.1, max_size=(12, 12)), expected)
