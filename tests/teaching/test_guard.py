"""What the guard refuses, and in which words; what is known of a frame in part."""

import re

import numpy as np
import pytest

from ocboost._teaching.clicks import Click, Lesson
from ocboost._teaching.frames import Frame
from ocboost._teaching.guard import FEW_WORSE, GuardedFrame, mistakes, why_not
from ocboost._teaching.partly import picture_of
from ocboost.cascade.pictures import as_boxes

FACE, OTHER, THIRD = [10, 10, 30, 30], [60, 60, 30, 30], [60, 10, 30, 30]


def lesson(faces=(), wrong=(), free=False, number=1):
    frame = Frame(number, np.zeros((100, 100), np.uint8))
    return Lesson(frame, as_boxes(faces), as_boxes(wrong), free)


def judged(said, *, shipped=(), sure=(), old=(), new=(), unseen=None):
    unseen = new if unseen is None else unseen
    return GuardedFrame(said, *(as_boxes(boxes) for boxes in (shipped, sure, old, new, unseen)))


def test_what_was_clicked_must_be_so():
    face, other = (Click(1, kind, 1, tuple(box)) for kind, box in (("mark", FACE), ("reject", OTHER)))
    assert why_not([judged(lesson([FACE]), new=[FACE])], [], face) is None
    assert why_not([judged(lesson([FACE]))], [], face) == "what was clicked last could not be learnt"
    assert "clicked last could not" in why_not([judged(lesson([], [OTHER]), new=[OTHER])], [], other)
    assert "clicked last could not" in why_not(
        [judged(lesson(free=True), new=[THIRD])], [], Click(1, "free", 1)
    )


def test_a_click_that_could_not_be_learnt_does_not_keep_later_ones_in_its_frame_from_it():
    both = judged(lesson([FACE, OTHER]), new=[OTHER])
    assert why_not([both], [], Click(2, "mark", 1, tuple(OTHER))) is None
    refused = why_not([both], [], Click(2, "mark", 1, tuple(FACE)))
    assert refused == "what was clicked last could not be learnt together with what was clicked before"


def test_what_was_clicked_before_is_named_only_where_there_is_such_a_thing():
    alone = why_not([judged(lesson([FACE]))], [], Click(3, "mark", 1, tuple(FACE)))  # others were taken back
    assert alone == "what was clicked last could not be learnt"
    other = judged(lesson(free=True, number=2))
    assert "together with" in why_not([other, judged(lesson([FACE]))], [], Click(3, "mark", 1, tuple(FACE)))


@pytest.mark.parametrize(
    ("known", "says"),
    [
        (judged(lesson([FACE]), old=[FACE]), "it makes 1 of the mistakes .* shown 0"),
        (judged(lesson(free=True), new=[OTHER]), "it makes 1 of the mistakes"),
    ],
)
def test_what_was_right_must_stay_right(known, says):
    last = judged(lesson([FACE], number=2), old=[FACE], new=[FACE])
    assert re.search(says, why_not([known, last], [], Click(2, "mark", 2, tuple(FACE))))


def test_what_the_shipped_detector_surely_finds_must_stay():
    seen = [judged(None, shipped=[FACE], sure=[FACE]) for _ in range(2)]
    assert "no longer finds 2 of 2 faces" in why_not([], seen, None)
    assert why_not([], seen[:1], None) is None


def test_far_too_many_boxes_are_no_faces():
    many = [[x, y, 20, 20] for x in (0, 30, 60) for y in (0, 30, 60)]
    assert "too many to be faces" in why_not([], [judged(None, new=many)], None)
    assert why_not([], [judged(None, new=many[:1])], None) is None


def test_mistakes_are_counted():
    assert mistakes(lesson([FACE], [OTHER]), as_boxes([FACE])) == 0
    assert mistakes(lesson([FACE], [OTHER]), as_boxes([OTHER])) == 2
    assert mistakes(lesson(free=True), as_boxes([FACE, OTHER])) == 2


def test_what_nobody_clicked_on_is_ignored_unless_the_frame_is_free():
    known = picture_of(lesson([FACE], [OTHER]), as_boxes([]), [as_boxes([FACE, OTHER, THIRD])])
    assert known.boxes.tolist() == [FACE]
    assert known.ignored.tolist() == [THIRD]
    found = picture_of(lesson([], [OTHER]), as_boxes([FACE, OTHER]), [as_boxes([THIRD])])
    assert found.boxes.tolist() == [FACE]
    free = picture_of(lesson(free=True), as_boxes([]), [as_boxes([THIRD])])
    assert not len(free.boxes)
    assert not len(free.ignored)


def test_what_it_would_find_in_frames_it_has_not_learnt_must_be_no_worse_than_shipped():
    def frames(n_wrong, n_right=6):
        wrong = [judged(lesson([FACE], number=k), new=[FACE], unseen=[]) for k in range(n_wrong)]
        return wrong + [judged(lesson([FACE], number=50 + k), new=[FACE]) for k in range(n_right)]

    assert why_not(frames(4), [], None) is None  # the shipped detector misses them all
    found = [each._replace(shipped=as_boxes([FACE]), old=as_boxes([FACE])) for each in frames(FEW_WORSE)]
    assert why_not(found, [], None) is None
    found = [each._replace(shipped=as_boxes([FACE]), old=as_boxes([FACE])) for each in frames(FEW_WORSE + 1)]
    assert f"would make {FEW_WORSE + 1} mistakes in frames like these" in why_not(found, [], None)


def test_sure_finds_must_be_found_in_frames_it_has_not_learnt():
    seen = [judged(None, shipped=[FACE], sure=[FACE], new=[FACE], unseen=[]) for _ in range(FEW_WORSE + 1)]
    assert "in frames like these" in why_not([], seen, None)
    assert why_not([], seen[1:], None) is None


def test_a_marked_face_that_is_sure_counts_once_and_where_nobody_can_tell_nothing_counts():
    both = [
        judged(lesson([FACE], number=k), shipped=[FACE], sure=[FACE], old=[FACE], new=[FACE], unseen=[])
        for k in range(FEW_WORSE + 1)
    ]
    assert f"would make {FEW_WORSE + 1} mistakes" in why_not(both, [], None)
    assert why_not([each._replace(unseen=None) for each in both], [], None) is None
