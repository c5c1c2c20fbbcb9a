"""Windows with the scores behind them: against plain loops, and against cascades with other thresholds."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost._kernels.llvm_cascade import GRID_LANES
from ocboost.cascade import stage_sums
from ocboost.cascade.cascade import OPENCV_TOLERANCE
from ocboost.cascade.detect import candidates, levels, scan_level, scored_candidates
from ocboost.errors import InputError
from tests.naive.cascade import plain_factor, plain_passed, plain_shrink, plain_stage_sum
from tests.support.cascades import noise, random_cascade


def splitting(seed, stages, image, **kind):
    """A cascade each of whose stages rejects some of the image's windows."""
    cascade = random_cascade(seed, stages=stages, **kind)
    cut = np.lib.stride_tricks.sliding_window_view(image, (7, 8)).reshape(-1, 7, 8)
    return cascade.with_thresholds(np.quantile(stage_sums(cascade, cut), 0.35, axis=0) + 1e-3)


def bar_of(cascade):
    return float(np.float32(cascade.stage_threshold[-1] - OPENCV_TOLERANCE))


def plain_scored(cascade, image, factor, lowest):
    """Every window on the grid of every level, cut out and judged by itself."""
    last, found = cascade.n_stages - 1, []
    for level in levels(cascade, image, factor):
        small = plain_shrink(image, *level.image.shape)
        np.testing.assert_array_equal(level.image, small)
        for y in range(0, level.down, level.stride):
            x = 0
            while x < level.across:
                window = small[y : y + cascade.height, x : x + cascade.width]
                looked_at = plain_factor(window)[1]
                passed = plain_passed(cascade, window)
                if looked_at and passed >= last:
                    score = plain_stage_sum(cascade, window, last) - bar_of(cascade)
                    if score >= lowest:
                        corner = [int(np.rint(np.float32(v) * level.scale)) for v in (x, y)]
                        size = [
                            int(np.rint(np.float32(v) * level.scale)) for v in (cascade.width, cascade.height)
                        ]
                        found.append(((*corner, *size), score))
                x += level.stride * (2 if looked_at and passed == 0 else 1)
    return found


def picture(seed=3, shape=(30, 41)):
    image = np.clip(np.random.default_rng(seed).normal(128, 60, shape), 0, 255).astype(np.uint8)
    image[: shape[0] // 4, : shape[1] // 2] = 99  # no contrast there
    return image


@pytest.mark.parametrize("stages", [(5, 3), (3, 4, 5), (6,)])
@pytest.mark.parametrize("lowest", [-np.inf, -0.4, 0.0, 0.7])
def test_scores_are_those_of_a_plain_loop(stages, lowest):
    cascade = splitting(2, stages, picture(), share_tilted=0.3, max_nodes=2)
    expected = plain_scored(cascade, picture(), 1.6, lowest)
    rects, scores = scored_candidates(cascade, picture(), 1.6, lowest=lowest)
    assert list(zip(map(tuple, rects.tolist()), scores.tolist(), strict=True)) == expected
    assert expected
    assert rects.dtype == np.int64


@pytest.mark.parametrize("stages", [(5, 3), (3, 4, 5), (6,)])
@pytest.mark.parametrize("lowest", [-np.inf, 0.0])
@pytest.mark.parametrize("tilted", [0.0, 0.4])
@pytest.mark.parametrize("width", [90, 77])
def test_many_stumps_in_a_line_are_those_of_a_plain_loop(stages, lowest, tilted, width):
    image = picture(4, (16, width))
    cascade = splitting(6, stages, image, share_tilted=tilted)
    sizes = list(levels(cascade, image, 2.1))
    assert [size.stride for size in sizes] == [2, 1]
    assert all(-(-size.across // size.stride) > 1.5 * GRID_LANES for size in sizes)
    expected = plain_scored(cascade, image, 2.1, lowest)
    rects, scores = scored_candidates(cascade, image, 2.1, lowest=lowest)
    assert list(zip(map(tuple, rects.tolist()), scores.tolist(), strict=True)) == expected
    assert len(expected) > 20
    one_by_one = [scan_level(cascade, size, lowest) for size in sizes]
    assert [tuple(rect) for rect in rects.tolist()] == [
        tuple(rect)
        for size, (places, _) in zip(sizes, one_by_one, strict=True)
        for rect in size.rects_at(cascade, places).tolist()
    ]
    np.testing.assert_array_equal(np.concatenate([own for _, own in one_by_one]), scores)


@pytest.mark.parametrize("seed", range(4))
def test_a_higher_score_is_a_higher_last_threshold(seed):
    image = picture(seed, (50, 60))
    cascade = splitting(seed, (3, 4, 5), image, share_tilted=0.3)
    rects, scores = scored_candidates(cascade, image, 1.3)
    np.testing.assert_array_equal(rects[scores >= 0], candidates(cascade, image, 1.3))
    for moved in np.quantile(scores, [0.0, 0.2, 0.5, 0.9]).astype(np.float32) + np.float32(1e-4):
        bars = cascade.stage_threshold.copy()
        bars[-1] += moved
        other = cascade.with_thresholds(bars)
        np.testing.assert_array_equal(
            rects[scores >= bar_of(other) - bar_of(cascade)], candidates(other, image, 1.3)
        )
    assert 0 < (scores >= 0).sum() < len(scores)


def test_one_stage_skips_below_its_own_threshold():
    """What is skipped does not depend on how low scores are looked at."""
    cascade = random_cascade(7, stages=(6,))
    image = picture(7)
    every, scores = scored_candidates(cascade, image, 1.3)
    np.testing.assert_array_equal(every[scores >= 0], candidates(cascade, image, 1.3))
    rejecting = cascade.with_thresholds([50])
    places = {tuple(r) for r in scored_candidates(rejecting, image, 100.0)[0].tolist()}
    accepting = {
        tuple(r) for r in scored_candidates(cascade.with_thresholds([-50]), image, 100.0)[0].tolist()
    }
    assert places < accepting  # of two neighbours the second is skipped


def test_only_the_highest():
    cascade = random_cascade(5)
    image = picture(5, (50, 60))
    rects, scores = scored_candidates(cascade, image, 1.3)
    some, their_scores = scored_candidates(cascade, image, 1.3, most=20)
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:20]
    np.testing.assert_array_equal(some, rects[sorted(order)])
    np.testing.assert_array_equal(their_scores, scores[sorted(order)])
    np.testing.assert_array_equal(scored_candidates(cascade, image, 1.3, most=len(scores))[0], rects)


def test_levels_count_their_windows():
    cascade = random_cascade(5).with_thresholds([-50, -50, -50])
    image = np.random.default_rng(0).integers(0, 256, (40, 47)).astype(np.uint8)
    for least in (None, (12, 12)):
        sizes = [level.n_windows for level in levels(cascade, image, 1.2, least)]
        assert sum(sizes) == len(candidates(cascade, image, 1.2, least))
        assert len(sizes) > 5
    assert list(levels(cascade, image[:6])) == []


def test_what_makes_no_sense_is_refused():
    cascade, image = random_cascade(), noise(0, 1, 30, 30)[0]
    for wrong in (np.nan, "0", None):
        with pytest.raises(InputError, match=r"lowest must be a number or -∞; got .* Take 0 for"):
            scored_candidates(cascade, image, lowest=wrong)
    with pytest.raises(InputError, match=r"most must be a whole number of at least 1; got 0. Leave it out"):
        scored_candidates(cascade, image, most=0)
