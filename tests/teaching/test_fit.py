"""One detector of all that was taught, and what it would find in frames that it has not learnt."""

import numpy as np
import pytest

from ocboost._teaching import crossed, examples
from ocboost._teaching import fit as fitting
from ocboost._teaching.base import RELAXED
from ocboost._teaching.clicks import Lesson
from ocboost._teaching.fit import boxes_of, fit, relaxed
from ocboost._teaching.frames import Frame
from ocboost._teaching.learner import ClickLearner
from ocboost._teaching.scanned import passing
from ocboost.cascade.detect import detect
from ocboost.cascade.pictures import as_boxes
from tests.support.face_pictures import face_picture, picture_cascade
from tests.support.taught import MISSED, has

NONE = as_boxes([])
N_FRAMES = 10


@pytest.fixture(scope="module")
def learner():
    return ClickLearner(picture_cascade(), 0)


@pytest.fixture(scope="module")
def frames():
    return [Frame(k + 1, face_picture(k)[0]) for k in range(N_FRAMES)]


def wrong_of(learner, frame):
    """A box that shows no face, by the picture it is of."""
    faces = face_picture(frame.id - 1)[1]
    boxes = learner.seen(learner.base, frame).shipped.boxes.tolist()
    return next(box for box in boxes if not has(faces, box))


def others(learner, frames, but):
    return [learner.seen(learner.base, frame) for frame in frames if frame is not but]


def test_a_rejected_box_is_gone(learner, frames):
    frame = frames[0]
    box = wrong_of(learner, frame)
    taught = [learner.taught(learner.base, Lesson(frame, NONE, as_boxes([box]), False))]
    rest = others(learner, frames, frame)
    fitted = fit(learner.base, taught, rest, 0, last=frame.id)
    assert not has(boxes_of(fitted, taught[0].windows, frame), box)
    assert set(fitted.unseen) == {each.id for each in frames}
    assert not has(detect(fitted.cascade, frame.grey), box)  # and by OpenCV's way of looking


def test_what_is_said_of_a_frame_does_not_change_what_is_judged_there(learner, frames, monkeypatch):
    """The threshold and the guard go by models that have not learnt the frame."""
    seen = []

    def noted(scored, faces, neighbours, **settings):
        seen.append(scored)
        return 0.0

    monkeypatch.setattr(fitting, "last_threshold", noted)
    monkeypatch.setattr(fitting, "scale_and_shift", lambda *_: (1.0, 0.0, None))
    monkeypatch.setattr(fitting, "ROUNDS", 1)
    monkeypatch.setattr(fitting, "ITERATIONS", 1000)
    monkeypatch.setattr(crossed, "TOLERANCE", 1e-15)
    monkeypatch.setattr(examples, "MOST_OTHERS", 100_000)
    frame = frames[0]
    box = as_boxes([wrong_of(learner, frame)])
    rest = others(learner, frames, frame)
    base = learner.base._replace(stages=learner.base.wide)  # nothing is relaxed for a mark then
    for lesson in (Lesson(frame, box, NONE, False), Lesson(frame, NONE, box, False)):
        taught = [learner.taught(learner.base, lesson)]
        fit(base, taught, rest, 0)
    marked, rejected = seen[-2:]
    blind, knowing = (differences(marked[0], rejected[0], scores) for scores in ("unseen", "scores"))
    assert blind < 1e-3 < 0.03 < knowing
    last = len(rest)  # its part is another one, so that it knows what was said
    assert differences(marked[last], rejected[last], "unseen") > 0.01


def differences(a, b, scores):
    """The largest difference of scores of the same windows."""
    first = dict(zip(map(tuple, a.rects.tolist()), getattr(a, scores), strict=True))
    second = dict(zip(map(tuple, b.rects.tolist()), getattr(b, scores), strict=True))
    both = first.keys() & second.keys()
    assert len(both) > 100
    return max(abs(first[rect] - second[rect]) for rect in both)


def test_the_more_is_said_the_more_is_corrected(learner, frames, monkeypatch):
    """The penalty falls with the clicks."""
    penalties = []

    def noted(answers, chances, weights, offset, penalty, start, iterations):
        penalties.append(penalty)
        return start

    monkeypatch.setattr(fitting, "crossed_logistic", noted)
    for n in (1, 4):
        taught = [
            learner.taught(learner.base, Lesson(frame, NONE, as_boxes([wrong_of(learner, frame)]), False))
            for frame in frames[:n]
        ]
        fit(learner.base, taught, [], 0)
    first = fitting.PENALTY * len(learner.base.last.reach)
    assert penalties[0] == pytest.approx(first)
    assert penalties[-1] == pytest.approx(first / 4)
    fit(learner.base, taught, [], 0, careful=True)
    assert penalties[-1] == pytest.approx(fitting.CAREFUL * first / 4)


def test_stages_are_relaxed_for_marked_faces_and_by_a_share(learner, frames):
    base = learner.base
    np.testing.assert_array_equal(relaxed(base, [], 0.0), base.thresholds)
    np.testing.assert_allclose(
        relaxed(base, [], 0.5), base.thresholds - 0.5 * RELAXED * base.spread, atol=1e-4
    )
    np.testing.assert_allclose(relaxed(base, [], 1.0), base.lowest, atol=1e-4)
    face = list(face_picture(MISSED)[1][0])
    taught = [learner.taught(base, Lesson(frames[MISSED], as_boxes([face]), NONE, False))]
    (marked,) = taught[0].marked
    strict, low = (base.with_thresholds(each, 0.0) for each in (base.thresholds, relaxed(base, taught, 0.0)))
    assert passing(strict, marked.windows).sum() < fitting.ENOUGH
    assert passing(low, marked.windows).sum() >= fitting.ENOUGH
