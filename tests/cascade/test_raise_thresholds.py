"""Thresholds raised until a cascade is fast enough, against plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ocboost.cascade.raise_thresholds import raised_thresholds, stumps_a_place

SIZES = np.array([5, 9, 20, 60])


def plain_cost(windows, thresholds, sizes):
    """Stumps for each place: window by window, one place skipped after each that fails the first stage."""
    stumps, places = 0, 0
    for sums in windows:
        looked_at, failed = sizes[0], None
        for k, (value, threshold) in enumerate(zip(sums, thresholds, strict=True)):
            if value < threshold:
                failed = k
                break
            looked_at += sizes[k + 1]
        stumps += looked_at
        places += 2 if failed == 0 else 1
    return stumps / places


def plain_raised(lowest, faces, windows, sizes, allowed):
    """Step by step, as the docstring has it."""
    k_all = range(len(lowest))
    columns = [[float(row[k]) for row in faces] for k in k_all]
    spread = [max(float(np.std(column)), 1e-9) for column in columns]
    found = [float(v) for v in lowest]

    def lost(k, threshold):
        z = [(threshold - v) / (0.25 * spread[k]) for v in columns[k]]
        return sum(0.5 * math.erfc(-each / math.sqrt(2)) for each in z) / len(z)

    while plain_cost(windows, found, sizes) > allowed:
        now, best = plain_cost(windows, found, sizes), None
        for most in (1, 1000):  # several steps at once where no single one saves anything
            for k in k_all:
                for steps in range(1, most + 1):
                    raised = [v + steps * 0.1 * spread[k] * (k == other) for other, v in enumerate(found)]
                    saved = now - plain_cost(windows, raised, sizes)
                    if saved > 0 or raised[k] > np.median(columns[k]):
                        break
                gain = saved / (lost(k, raised[k]) - lost(k, found[k]) + 1e-9)
                if raised[k] <= np.median(columns[k]) and gain > (best[0] if best else 0):
                    best = gain, raised
            if best is not None:
                break
        if best is None:
            break
        found = best[1]
    return found


def drawn(seed, n=40, m=120):
    rng = np.random.default_rng(seed)
    faces = rng.normal(2.0, 1.0, (n, 3)) * [1.0, 2.0, 0.5]
    windows = rng.normal(0.0, 1.5, (m, 3)) * [1.0, 2.0, 0.5]
    return faces.min(axis=0) - 0.5, faces, windows


@pytest.mark.parametrize("n_passed", [[0, 0, 0], [0, 1, 2, 3, 3], [3], [1, 1, 0]])
def test_stumps_of_each_place(n_passed):
    windows = np.array([[1.0] * n + [-1.0] * (3 - n) for n in n_passed])
    assert stumps_a_place(np.array(n_passed), SIZES) == pytest.approx(plain_cost(windows, [0, 0, 0], SIZES))


@pytest.mark.parametrize("share", [0.9, 0.6, 0.4])
@pytest.mark.parametrize("seed", range(4))
def test_as_plain_loops_raise_them(seed, share):
    lowest, faces, windows = drawn(seed)
    allowed = share * plain_cost(windows, lowest, SIZES)
    found = raised_thresholds(lowest, faces, windows, SIZES, allowed)
    np.testing.assert_allclose(found, plain_raised(lowest, faces, windows, SIZES, allowed), atol=1e-9)
    assert plain_cost(windows, found, SIZES) <= allowed or share < 0.5  # as far as the medians allow
    assert (found >= lowest).all()
    assert (found <= np.median(faces, axis=0)).all()
    assert (found > lowest).any()


def test_what_is_fast_enough_stays():
    lowest, faces, windows = drawn(5)
    before = lowest.copy()
    found = raised_thresholds(lowest, faces, windows, SIZES, plain_cost(windows, lowest, SIZES))
    np.testing.assert_array_equal(found, before)
    found[0] += 1.0
    np.testing.assert_array_equal(lowest, before)  # a copy
    none = raised_thresholds(lowest, faces, windows[:0], SIZES, 0.0)
    np.testing.assert_array_equal(none, before)


def test_a_stage_that_saves_nothing_is_not_raised():
    lowest, faces, windows = drawn(6)
    windows[:, 1] = 100.0  # whatever comes to the second stage passes it
    found = raised_thresholds(lowest, faces, windows, SIZES, 0.7 * plain_cost(windows, lowest, SIZES))
    assert found[1] == lowest[1]
    assert (found[[0, 2]] > lowest[[0, 2]]).any()


def test_what_cannot_be_reached_costs_no_faces_beyond_what_it_saves():
    lowest, faces, windows = drawn(7)
    windows[:, 0] = -100.0  # all fail the first stage: nothing can be saved
    np.testing.assert_array_equal(raised_thresholds(lowest, faces, windows, SIZES, 1.0), lowest)
    some = drawn(8)
    found = raised_thresholds(*some, SIZES, 0.0)
    assert (found <= np.median(some[1], axis=0)).all()


def test_a_single_face_ends():
    lowest, faces, windows = drawn(9)
    found = raised_thresholds(lowest, faces[:1], windows, SIZES, 0.0)
    assert (found >= lowest).all()


def test_the_stage_that_loses_fewer_faces_is_raised():
    """Two stages that reject the same windows; the faces lie far above the threshold in the second alone."""
    rng = np.random.default_rng(0)
    own = rng.normal(0.0, 1.0, 20_000)
    windows = np.stack([own, own], axis=1)
    faces = np.stack([rng.normal(0.5, 1.0, 50), rng.normal(9.0, 1.0, 50)], axis=1)
    sizes = np.array([1, 50, 50])
    found = raised_thresholds(np.array([-2.0, -2.0]), faces, windows, sizes, 90.0)
    assert found[0] == -2.0
    assert found[1] > -2.0
