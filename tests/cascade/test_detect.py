"""Finding things in images: shrinking, scanning and grouping against plain loops."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocboost._kernels.pyramid import shrink
from ocboost.cascade import candidates, detect, group_rectangles, passed, stage_sums
from ocboost.cascade import detect as grouping
from ocboost.errors import InputError
from tests.support.cascades import noise, plain_factor, plain_passed, random_cascade


def plain_shrink(image, new_height, new_width):
    """Linear between pixels, shares in 256ths, rounded at the end."""

    def taps(size, new_size):
        for i in range(new_size):
            at = (1.0 / (new_size / size)) * (i + 0.5) - 0.5
            left = math.floor(at)
            if left < 0 or size == 1:
                yield 0, 0, 0
            elif left >= size - 1:
                yield size - 1, size - 1, 0
            else:
                yield left, left + 1, round((at - left) * 256)

    out = np.empty((new_height, new_width), np.uint8)
    for y, (top, below, down) in enumerate(taps(image.shape[0], new_height)):
        for x, (left, right, across) in enumerate(taps(image.shape[1], new_width)):
            upper = (256 - across) * int(image[top, left]) + across * int(image[top, right])
            lower = (256 - across) * int(image[below, left]) + across * int(image[below, right])
            out[y, x] = ((256 - down) * upper + down * lower + 32768) >> 16
    return out


@settings(max_examples=40, deadline=None)
@given(*[st.integers(1, 40)] * 4, st.integers(0, 10**6))
def test_shrinking_is_that_of_a_plain_loop(height, width, new_height, new_width, seed):
    image = np.random.default_rng(seed).integers(0, 256, (height, width)).astype(np.uint8)
    out = np.empty((new_height, new_width), np.uint8)
    shrink(image, out)
    np.testing.assert_array_equal(out, plain_shrink(image, new_height, new_width))


def plain_candidates(cascade, image, factor):
    """Every window at every scale, cut out and judged by itself."""
    height, width = image.shape
    scale, found, stripes = 1.0, [], None
    while round(cascade.width * scale) <= width and round(cascade.height * scale) <= height:
        single = np.float32(scale)
        columns, rows = (int(np.rint(np.float32(side) / single)) for side in (width, height))
        small = plain_shrink(image, rows, columns)
        stride = 1 if single >= 2 else 2
        down, across = rows + 1 - cascade.height, columns + 1 - cascade.width
        stripes = stripes or math.ceil(across / 32)
        lines = stripes * max((down // stride + stripes - 1) // stripes, 1) * stride
        for y in range(0, min(down, lines), stride):
            x = 0
            while x < across:
                window = small[y : y + cascade.height, x : x + cascade.width]
                count = plain_passed(cascade, window)
                if count == cascade.n_stages:
                    corner = [int(np.rint(np.float32(v) * single)) for v in (x, y)]
                    size = [int(np.rint(np.float32(v) * single)) for v in (cascade.width, cascade.height)]
                    found.append((*corner, *size))
                elif count == 0 and plain_factor(window)[1]:
                    x += stride
                x += stride
        scale *= factor
    return found


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


def plain_groups(rects, min_neighbors, eps=0.2):
    """Groups by walking from one rectangle to all similar ones."""

    def similar(a, b):
        apart = eps * (min(a[2], b[2]) + min(a[3], b[3])) * 0.5
        sides = [abs(a[0] - b[0]), abs(a[1] - b[1])]
        sides += [abs(a[0] + a[2] - b[0] - b[2]), abs(a[1] + a[3] - b[1] - b[3])]
        return max(sides) <= apart

    groups, left = [], list(range(len(rects)))
    while left:
        group = [left.pop(0)]
        for i in group:
            near = [k for k in left if similar(rects[i], rects[k])]
            left = [k for k in left if k not in near]
            group += near
        groups.append([rects[i] for i in group])
    means = []
    for group in groups:
        share = np.float32(1) / np.float32(len(group))
        means.append([int(np.rint(np.float32(sum(r[k] for r in group)) * share)) for k in range(4)])
    kept = []
    for a, (x, y, w, h) in enumerate(means):
        n = len(groups[a])
        hidden = n <= min_neighbors
        for b, (left_, top, width, height) in enumerate(means):
            m = len(groups[b])
            if b == a or m <= min_neighbors or not (m > max(3, n) or n < 3):
                continue
            dx, dy = round(width * eps), round(height * eps)
            across = x >= left_ - dx and x + w <= left_ + width + dx
            hidden |= across and y >= top - dy and y + h <= top + height + dy
        if not hidden:
            kept.append(((x, y, w, h), n))
    return kept


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
    monkeypatch.setattr(grouping, "MANY", 3)
    with pytest.raises(InputError, match="rects must be at most 3 to be grouped; got 4"):
        group_rectangles([[0, 0, 5, 5]] * 4, 1)


def test_the_number_of_sizes_is_limited(monkeypatch):
    cascade, image = random_cascade(), noise(0, 1, 30, 30)[0]
    expected = candidates(cascade, image, 1.1, max_size=(12, 12))
    monkeypatch.setattr(importlib.import_module("ocboost.cascade.detect"), "MAX_SCALES", 7)
    assert len(candidates(cascade, image, 1.3)) > 0  # 6 sizes
    with pytest.raises(InputError, match=r"at most 7 sizes of the window fit .* 30 × 30 pixels; got 1\.1"):
        detect(cascade, image, 1.1)
    np.testing.assert_array_equal(candidates(cascade, image, 1.1, max_size=(12, 12)), expected)
