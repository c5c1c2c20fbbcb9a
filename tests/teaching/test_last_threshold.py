"""The last threshold: as many boxes as there should be, by models that have not learnt them."""

import numpy as np
import pytest

from ocboost._teaching import last_threshold as module
from ocboost._teaching.clicks import Lesson
from ocboost._teaching.frames import Frame
from ocboost._teaching.last_threshold import (
    AROUND,
    BELOW,
    CAUTION,
    FEW,
    LOST,
    MANY_MORE,
    ROOM,
    SURELY_NOT,
    UNSURE,
    USUAL,
    ScoredFrame,
    clicked_scores,
    last_threshold,
    unlearnt,
)
from ocboost.cascade.pictures import as_boxes

WINDOWS = 6  # of each place: what a marked face should have
SIDE = 24
NONE = as_boxes([])


def place(k):
    return [40 * k, 0, SIDE, SIDE]


def frame(unseen, *, scores=None, lesson=None, shipped=(), marked=(), strict=True):
    """Places side by side, each with a few windows and one score."""
    rects = as_boxes([place(k) for k in range(len(unseen)) for _ in range(WINDOWS)])
    unseen = np.repeat(np.array(unseen, float), WINDOWS)
    scores = unseen if scores is None else np.repeat(np.array(scores, float), WINDOWS)
    passed = np.full(len(rects), strict)
    own = [(rects[scores_of(k)], scores[scores_of(k)]) for k in marked]
    return ScoredFrame(rects, passed, scores, unseen, lesson, as_boxes([place(k) for k in shipped]), own)


def scores_of(k):
    return slice(WINDOWS * k, WINDOWS * (k + 1))


def said(faces=(), wrong=(), free=False):
    picture = Frame(1, np.zeros((30, 900), np.uint8))
    return Lesson(picture, as_boxes([place(k) for k in faces]), as_boxes([place(k) for k in wrong]), free)


@pytest.fixture
def counted(monkeypatch):
    """As if what is counted were certain, with however few faces."""
    monkeypatch.setattr(module, "UNSURE", 0.0)
    monkeypatch.setattr(module, "FEW", 0)


def threshold(frames, faces, neighbours, *, final=False, by_boxes=False):
    """As if a trace more were expected: of equal scores all are found or none."""
    more = 1.0 + 1e-6
    return last_threshold(frames, more * faces, more * neighbours, final=final, by_boxes=by_boxes)


def n_found(frames, at):
    return sum(len({tuple(r) for r in each.rects[each.unseen >= at]}) for each in frames)


@pytest.mark.parametrize("by_boxes", [True, False])
def test_as_many_are_found_as_there_should_be(by_boxes, counted):
    frames = [frame([1.0, 4.0, 2.0]), frame([3.0, 6.0, 5.0])]
    for n in range(1, 6):
        assert n_found(frames, threshold(frames, n, WINDOWS * n, by_boxes=by_boxes)) == n


def test_scores_of_frames_that_were_learnt_do_not_count(counted):
    blind = [frame([1.0, 4.0, 2.0, 3.0])]
    learnt = [frame([1.0, 4.0, 2.0, 3.0], scores=[9.0, -9.0, 9.0, 9.0])]
    assert threshold(learnt, 2, 2 * WINDOWS) == threshold(blind, 2, 2 * WINDOWS)


def test_it_goes_a_part_of_the_way_to_where_the_shipped_finds_are_just_kept(counted):
    plain, known = ([frame([1.0, 4.0, 2.0, 3.0], shipped=own)] for own in ((), (1, 3)))
    low = threshold(plain, 3, 3 * WINDOWS)
    kept = 3.0 + LOST
    assert threshold(known, 3, 3 * WINDOWS) == pytest.approx(low + CAUTION * (kept - low))
    lower = [frame([1.0, 4.0, 2.0, 3.0], shipped=(0, 2))]
    assert threshold(lower, 1, WINDOWS) == threshold(plain, 1, WINDOWS)  # it is above that already


def test_what_was_clicked_moves_it_within_bounds_and_only_in_the_end(counted):
    lesson = said(faces=[0], wrong=[1])
    frames = [frame([2.1, 1.9, 5.0, 1.0, *range(10, 30)], lesson=lesson, marked=[0])]
    wanted, unwanted = clicked_scores(frames)
    assert (wanted, unwanted) == ([(0, 2.1)], [(0, 1.9)])
    n = 22
    first = threshold(frames, n, n * WINDOWS)
    assert 1.9 < first <= 2.1
    strict = threshold(frames, n - 2, (n - 2) * WINDOWS)
    assert 5.0 < strict < 10.0
    final = threshold(frames, n - 2, (n - 2) * WINDOWS, final=True)
    assert 2.1 < final <= 5.0  # a face more, and no more than that


def test_what_is_not_as_it_was_clicked_is_named():
    right = frame([2.0, -2.0], lesson=said(faces=[0], wrong=[1]), marked=[0])
    missed = frame([0.5, -2.0], lesson=said(faces=[0], wrong=[1]), marked=[0])
    found = frame([2.0, 1.5], lesson=said(faces=[0], wrong=[1]), marked=[0])
    free = frame([2.0], lesson=said(free=True))
    all_of_them = [right, missed, found, free, frame([9.0])]
    assert unlearnt(all_of_them, 1.0, few=False) == [1, 2, 3]
    assert unlearnt([right], 2.0 - ROOM / 2, few=False) == []
    assert unlearnt([right], 2.0 - ROOM / 2, few=True) == [0]
    assert unlearnt([right], -2.0 + ROOM / 2, few=True) == [0]


def test_with_few_faces_all_is_kept_that_passes_strict_stages():
    frames = [frame([1.0, 4.0, -0.3])]
    assert threshold(frames, 0, 0.0) < -0.3


def test_with_few_faces_a_rejected_box_is_pushed_down_rather_than_the_threshold_up():
    frames = [frame([1.0, 4.0, 2.0], lesson=said(wrong=[0]))]
    assert threshold(frames, 2, 2 * WINDOWS) == SURELY_NOT
    learnt = [frame([-1.0, 4.0, 2.0], lesson=said(wrong=[0]))]
    between = (-1.0 + BELOW + SURELY_NOT) / 2  # with some room to either side
    assert threshold(learnt, 2, 2 * WINDOWS) == pytest.approx(between)


def test_with_few_faces_relaxed_stages_bring_no_more_boxes():
    frames = [frame([3.0, 1.0, 2.0, 0.5], lesson=said(faces=[0]), marked=[0], strict=False)]
    assert n_found(frames, threshold(frames, 2, 2 * WINDOWS)) == 2


def test_with_few_faces_and_relaxed_stages_it_is_near_the_usual_one():
    scores = [USUAL + 0.3, USUAL - 3.0]
    for strict, low, high in ((False, USUAL - AROUND, USUAL), (True, -9.0, SURELY_NOT)):
        frames = [frame(scores, lesson=said(faces=[0]), marked=[0], strict=strict)]
        assert low <= threshold(frames, 2, 2 * WINDOWS) <= high


def test_the_more_faces_the_more_what_is_counted_tells():
    frames = [frame([*range(10, 20), *np.arange(-300, 0) / 1000.0])]
    for n in (FEW, 9):
        counted = threshold(frames, n, n * WINDOWS, by_boxes=True)
        share = n / (n + UNSURE)
        expected = share * counted + (1.0 - share) * USUAL
        assert threshold(frames, n, n * WINDOWS) == pytest.approx(expected, abs=0.1)


def test_the_usual_one_is_not_taken_where_far_too_much_would_be_found_with_it():
    many = [frame(range(10, 400))]
    for n in (FEW, round(UNSURE), 200):
        found = n_found(many, threshold(many, n, n * WINDOWS))
        assert n < found <= MANY_MORE * n


def test_clicks_may_take_it_back_to_what_was_counted():
    scores = [5.0, *range(10, 20)]
    for lesson in (None, said(wrong=[0])):
        frames = [frame(scores, lesson=lesson)]
        counted = threshold(frames, 10, 10 * WINDOWS, by_boxes=True)
        assert threshold(frames, 10, 10 * WINDOWS) < 5.0 < counted
        final = threshold(frames, 10, 10 * WINDOWS, final=True)
        assert final < 5.0 if lesson is None else 5.0 < final < 10.0


def test_without_any_windows_it_is_finite():
    empty = ScoredFrame(NONE, np.empty(0, bool), np.empty(0), np.empty(0), None, NONE, [])
    for faces in (0, FEW):
        assert np.isfinite(threshold([empty], faces, 0.0))
        assert np.isfinite(threshold([], faces, 0.0))


def test_a_marked_face_is_to_have_windows_to_spare():
    rects = as_boxes([place(0)] * WINDOWS)
    scores = np.arange(1.0, WINDOWS + 1)
    face = ScoredFrame(
        rects, np.ones(WINDOWS, bool), scores, scores, said(faces=[0]), NONE, [(rects, scores)]
    )
    assert clicked_scores([face])[0] == [(0, 1.0)]  # all six
    few = face._replace(marked=[(rects[:5], scores[:5])])
    assert clicked_scores([few])[0] == [(0, 2.0)]  # four, as there are only five
    none = face._replace(marked=[(rects[:3], scores[:3])])
    assert clicked_scores([none])[0] == []
