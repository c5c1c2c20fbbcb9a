"""The threshold that makes as many false alarms a picture as are wanted, against `detect` itself."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost.cascade import Picture, detect
from ocboost.cascade.detect import scored_candidates
from ocboost.cascade.picture_guard import judge
from ocboost.cascade.picture_threshold import cautious_threshold, threshold_on_pictures
from tests.naive.matching import plain_counts
from tests.support.judged_pictures import blotches, judged_pictures, splitting_cascade


def loosened():
    """A cascade whose last stage rejects little; the pictures are its own."""
    cascade = splitting_cascade()
    return cascade.with_thresholds([*cascade.stage_threshold[:-1], -3.0])


def alarms(cascade, threshold, pictures, min_size=None):
    """False alarms with another last threshold, by `detect`."""
    moved = cascade.with_thresholds([*cascade.stage_threshold[:-1], threshold])
    return sum(
        plain_counts(detect(moved, p.grey, 1.1, 3, min_size), p.boxes.tolist(), p.ignored.tolist())[1]
        for p in pictures
    )


def brute_force(cascade, pictures, wanted, min_size=None):
    """From high thresholds down by `detect`, to the last before too many false alarms."""
    own = float(cascade.stage_threshold[-1])
    found = [scored_candidates(cascade, p.grey, min_size=min_size)[1] for p in pictures]
    scores = np.concatenate(found)
    shares = [scores.size ** (-k / 199) for k in range(200)]  # of the windows that pass
    best = None
    for score in sorted({float(np.quantile(scores, 1.0 - share)) for share in shares}, reverse=True):
        if alarms(cascade, own + score - 1e-6, pictures, min_size) > int(wanted * len(pictures) + 1e-9):
            break
        best = own + score
    return best


@pytest.mark.parametrize("min_size", [None, (10, 10)])
@pytest.mark.parametrize("wanted", [0.15, 1.0, 2.0])
def test_as_brute_force_finds_it(wanted, min_size):
    cascade, pictures = loosened(), judged_pictures()
    found = threshold_on_pictures(cascade, pictures, wanted, min_size)
    assert found == pytest.approx(brute_force(cascade, pictures, wanted, min_size), abs=3e-5)
    assert alarms(cascade, found, pictures, min_size) <= int(wanted * len(pictures))
    assert alarms(cascade, -3.0, pictures, min_size) > 2 * len(pictures)  # or nothing would be tested


def test_more_wanted_is_a_lower_threshold():
    cascade, pictures = loosened(), judged_pictures()
    found = [threshold_on_pictures(cascade, pictures, wanted) for wanted in (0.0, 0.5, 1.0, 3.0)]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) > 2


def test_the_cascade_with_it_is_judged_so():
    cascade, pictures = loosened(), judged_pictures()
    found = threshold_on_pictures(cascade, pictures, 1.0)
    moved = cascade.with_thresholds([*cascade.stage_threshold[:-1], found])
    assert judge(moved, pictures).a_picture <= 1.0
    assert judge(moved, pictures).hits > 0


def test_it_does_not_hang_on_the_threshold_before():
    cascade, pictures = loosened(), judged_pictures()
    other = cascade.with_thresholds([*cascade.stage_threshold[:-1], 1.5])
    want = threshold_on_pictures(cascade, pictures, 1.0)
    assert threshold_on_pictures(other, pictures, 1.0) == pytest.approx(want, abs=1e-5)


def test_where_nothing_may_be_found_nothing_is():
    """No threshold that lets anything pass makes few enough: all of it is a false alarm."""
    cascade = loosened()
    grey = np.tile(blotches(3, (42, 54)), (2, 2))
    picture = Picture("none", grey)
    found = threshold_on_pictures(cascade, [picture], 0.0)
    moved = cascade.with_thresholds([*cascade.stage_threshold[:-1], found])
    assert detect(moved, grey) == []
    assert detect(cascade, grey) != []


def test_pictures_in_which_nothing_comes_so_far_change_nothing():
    cascade = loosened()
    assert threshold_on_pictures(cascade, [Picture("tiny", blotches(1, (6, 6)))], 1.0) == -3.0
    assert threshold_on_pictures(cascade, [], 1.0) == -3.0


def test_many_false_alarms_need_no_caution():
    cascade, pictures = loosened(), judged_pictures()
    many = list(pictures) * (1 + 12 // len(pictures))
    assert cautious_threshold(cascade, many, 1.0) == threshold_on_pictures(cascade, many, 1.0)
    found = [cautious_threshold(cascade, pictures[:2], wanted) for wanted in (0.0, 0.25, 0.5, 1.0)]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) > 1


def test_the_tail_is_exponential():
    """The mean excess over the tenth false alarm's threshold tells how far one must go for fewer."""
    cascade, pictures = loosened(), judged_pictures()
    n = len(pictures)
    lowest = [threshold_on_pictures(cascade, pictures, k / n) for k in range(11)]
    decline = sum(each - lowest[-1] for each in lowest[:-1]) / 10
    for k in range(1, 10):
        want = lowest[-1] + decline * np.log(10 / (k / (1.0 + 1.0 / n)))
        found = cautious_threshold(cascade, pictures, k / n)
        assert found == pytest.approx(want, abs=1e-6)
