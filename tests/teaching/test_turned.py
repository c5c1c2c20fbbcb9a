"""Frames that are turned: hardly as much may be found in them as the shipped detector finds there."""

import numpy as np
import pytest

from ocboost._teaching.base import base_of, shipped_base
from ocboost._teaching.fit import fit
from ocboost._teaching.frames import Frame
from ocboost._teaching.last_threshold import LOWERED, last_threshold
from ocboost._teaching.learner import TURNED_FRAMES, ClickLearner
from ocboost._teaching.scanned import finds
from ocboost._teaching.turned import LOWERED_BY, SHARE, ScoredTurned, n_boxes, threshold_of, turned
from ocboost.cascade.pictures import as_boxes
from tests.support.face_pictures import face_picture, picture_cascade
from tests.teaching.test_last_threshold import NONE, WINDOWS, frame, place, said, threshold


def scored(*scores, n_shipped):
    """A turned frame for each list of scores, with a few windows at each place."""
    frames = []
    for own in scores:
        rects = as_boxes([place(k) for k in range(len(own)) for _ in range(WINDOWS)])
        frames.append((rects, np.repeat(np.array(own, float), WINDOWS)))
    return ScoredTurned(frames, n_shipped)


@pytest.mark.parametrize("n_shipped", range(9))
def test_the_lowest_threshold_with_which_not_too_much_is_found(n_shipped):
    scores = np.random.default_rng(n_shipped).uniform(0, 1, (3, 4))
    found = threshold_of(scored(*scores, n_shipped=n_shipped), 0.3)
    allowed = int(SHARE * n_shipped + 0.5)
    highest = np.sort(scores.ravel())[::-1]
    assert max(highest[allowed], 0.3 - LOWERED_BY) < found <= max(highest[allowed], 0.3 - LOWERED_BY) + 0.02
    assert (highest >= found).sum() <= allowed


def test_it_does_not_go_far_where_there_is_nothing():
    nothing = [(NONE, np.empty(0))]
    assert threshold_of(ScoredTurned(nothing, 5), 1.0) == 1.0 - LOWERED_BY
    assert threshold_of(ScoredTurned(nothing, 0), 1.0) == 1.0  # a white wall tells nothing
    assert threshold_of(scored([0.5], n_shipped=0), 1.0) == 1.0


def moved(turned, *, final=False, **how):
    """What a threshold that few faces give is, with turned frames, and without."""
    frames = [frame([3.0, 1.0, 2.0, 0.5], **how)]
    return [
        last_threshold(frames, 2, 2 * WINDOWS, turned=t, final=final, by_boxes=False) for t in (turned, None)
    ]


def test_where_too_much_is_found_there_it_is_raised_and_lowered_by_a_part_else():
    frames = [frame([3.0, 1.0, 2.0, 0.5] * 4)]
    before = threshold(frames, 10, 10 * WINDOWS)
    for at, share in ((before + 1.0, 1.0), (before - LOWERED_BY / 2, LOWERED)):
        own = scored([at, at + 9.0], n_shipped=1)
        found = last_threshold(frames, 10, 10 * WINDOWS, turned=own, final=False, by_boxes=False)
        assert found == pytest.approx(before + share * (at - before), abs=0.05)


def test_with_few_faces_it_tells_where_stages_were_relaxed_and_nothing_else():
    own = scored([1.5], n_shipped=0)
    with_it, without = moved(own, lesson=said(faces=[0]), marked=[0], strict=False)
    assert without < 1.1 < 1.4 < with_it
    with_it, without = moved(own, lesson=said(faces=[0]), marked=[0])
    assert with_it == without


def test_a_turned_frame_counts_what_the_shipped_detector_finds_there():
    cascade = picture_cascade()
    base = shipped_base(cascade)
    built = base_of(1, base.stages, base.drawn)
    for seed in (7, 10, 12):
        grey, _ = face_picture(seed)
        found, exact = (turned(each, cascade, Frame(1, grey)) for each in (base, built))
        for own, same, other in zip(found, exact, (grey[::-1], grey.T), strict=True):
            there = finds(cascade, Frame(1, np.ascontiguousarray(other)))
            assert same.n_shipped == len(there.boxes)
            assert abs(own.n_shipped - same.n_shipped) <= 1  # OpenCV skips windows beside those that fail
            assert not own.windows.pixels.size
            assert n_boxes(own.windows.rects) >= own.n_shipped  # stages are relaxed for these


def test_a_large_frame_is_shrunk():
    cascade = picture_cascade()
    base = shipped_base(cascade)
    grey, _ = face_picture(7)
    large = np.kron(grey, np.ones((4, 4), np.uint8))
    for own, (height, width) in zip(
        turned(base, cascade, Frame(1, large)), ((274, 400), (400, 274)), strict=True
    ):
        ends = own.windows.rects[:, :2] + own.windows.rects[:, 2:]
        assert len(ends)
        assert (ends <= [width + 2, height + 2]).all()


def test_what_is_found_in_turned_frames_moves_the_threshold_of_a_fit():
    learner = ClickLearner(picture_cascade(), 0)
    pictures = [face_picture(seed, 4) for seed in (20, 21, 22, 23)]
    frames = [Frame(k + 1, grey) for k, (grey, _) in enumerate(pictures)]
    seen = [learner.seen(learner.base, each) for each in frames]
    on_side = learner.turned(learner.base, frames)
    none, all_of_it = (
        {at: tuple(own._replace(n_shipped=n) for own in turns) for at, turns in on_side.items()}
        for n in (0, 99)
    )
    strict, plain, loose = (fit(learner.base, [], seen, 0, turned=each) for each in (none, None, all_of_it))
    assert strict.threshold > plain.threshold > loose.threshold
    np.testing.assert_array_equal(strict.reach, loose.reach)  # nothing is learnt from them


def test_so_many_frames_are_turned_and_mostly_the_same_ones():
    learner = ClickLearner(picture_cascade(), 0)
    frames = [Frame(k, np.full((30, 40), 90, np.uint8)) for k in range(3 * TURNED_FRAMES)]
    first, more = (learner.turned(learner.base, own) for own in (frames[:-1], frames))
    assert len(first) == len(more) == TURNED_FRAMES
    assert len(set(first) - set(more)) <= 1
