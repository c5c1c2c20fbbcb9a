"""Labels that stop coming: patterns of predictions and labels, minute by minute."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ocboost._core.codec import read
from ocboost.errors import ModelFileError
from ocboost.live.silence import MAX_GAPS, Silence

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
START = 1_760_000_000.0
STOPPED, BACK = "labels_stopped", "labels_back"


def always(at):
    return True


def never(at):
    return False


def by_day(at):
    return 8 * HOUR <= at % DAY < 20 * HOUR


def alarms(days, predicts, labels, silence=None, begin=0.0, step=MINUTE):
    """What is told, as kind and time since the start."""
    silence = Silence() if silence is None else silence
    told = []
    for i in range(round(days * DAY / step)):
        at = begin + i * step
        silence.predicted(int(predicts(at)), START + at)
        silence.labelled(int(labels(at)), START + at)
        notice = silence.check(START + at)
        if notice is not None:
            told.append((notice.kind, at))
    return told


def test_it_is_told_once_and_once_more():
    silence = Silence()
    assert alarms(2, always, always, silence) == []
    assert silence.limit == 10 * MINUTE
    (told,) = alarms(1, always, never, silence, 2 * DAY)
    assert told[0] == STOPPED
    assert 10 * MINUTE < told[1] - 2 * DAY <= 12 * MINUTE
    assert silence.is_stopped
    assert alarms(0.1, always, always, silence, 3 * DAY) == [(BACK, 3 * DAY)]
    assert not silence.is_stopped


def test_what_it_tells():
    silence = Silence(100.0)
    silence.labelled(1, START)
    for second in range(200):
        silence.predicted(2, START + 1 + second)
        if (notice := silence.check(START + 1 + second)) is not None:
            break
    assert notice.text == (
        "Labels have stopped coming: none in 101 seconds of predictions, and 100 seconds is the limit. "
        "204 predictions were made meanwhile."
    )
    assert notice.data == {
        "last_label": "2025-10-09T08:53:20.000Z",
        "gap_seconds": 101.0,
        "limit_seconds": 100.0,
        "predictions": 204,
    }
    silence.labelled(5, START + 110)
    back = silence.check(START + 110)
    assert back.text == "Labels come again, after none in 109 seconds of predictions."
    assert back.data["predictions"] == 204
    assert silence.check(START + 111) is None


def test_a_night_without_predictions_does_not_count():
    silence = Silence()
    assert alarms(10, by_day, by_day, silence) == []
    # In the morning predictions begin, and labels do not.
    (told,) = alarms(1, by_day, never, silence, 10 * DAY)
    assert told[0] == STOPPED
    assert told[1] - (10 * DAY + 8 * HOUR) <= 12 * MINUTE


def test_labels_that_pause_at_night_while_predictions_go_on():
    silence = Silence()
    assert alarms(14, always, by_day, silence) == []
    assert silence.limit == pytest.approx(24 * HOUR, rel=0.01)


def test_labels_that_come_once_a_day():
    def at_two(at):
        return 2 * HOUR <= at % DAY < 2 * HOUR + 10 * MINUTE

    silence = Silence()
    assert alarms(14, always, at_two, silence) == []
    (told,) = alarms(3, always, never, silence, 14 * DAY)
    assert told[1] - 13 * DAY - 2 * HOUR == pytest.approx(2 * (DAY - 10 * MINUTE), abs=20 * MINUTE)


def test_weekends_raise_two_alarms_at_most():
    def on_weekdays(at):
        return at % (7 * DAY) < 5 * DAY

    told = alarms(42, always, on_weekdays, step=2 * MINUTE)
    assert [kind for kind, _ in told] == [STOPPED, BACK] * 2
    assert told[-1][1] <= 14 * DAY


@pytest.mark.parametrize("seed", range(3))
def test_bursts(seed):
    """Labels in bursts, the pauses between them up to 40 minutes and now and then of an hour and a half."""
    rng = np.random.default_rng(seed)
    pauses = rng.uniform(1 * MINUTE, 40 * MINUTE, 2000)
    pauses[rng.random(2000) < 0.02] = 90 * MINUTE
    times = set((np.cumsum(pauses) // MINUTE).tolist())
    told = alarms(14, always, lambda at: at // MINUTE in times)
    assert len(told) <= 4  # the first two that are longer than twice 40 minutes; then they are usual


def test_a_failure_does_not_hide_the_next():
    silence = Silence()
    alarms(2, always, always, silence)
    alarms(1, always, never, silence, 2 * DAY)
    alarms(1, always, always, silence, 3 * DAY)
    assert silence.limit == 10 * MINUTE
    (told,) = alarms(0.5, always, never, silence, 4 * DAY)
    assert told[1] - 4 * DAY <= 12 * MINUTE


def test_gaps_are_forgotten_after_four_weeks():
    silence = Silence()
    assert alarms(1.5, always, lambda at: at % (4 * HOUR) < MINUTE, silence) == []
    assert silence.limit == pytest.approx(8 * HOUR, rel=0.02)
    alarms(29, always, lambda at: at % (10 * MINUTE) == 0, silence, 1.5 * DAY, step=5 * MINUTE)
    assert silence.limit == 10 * MINUTE  # twice 5 minutes
    assert len(silence.tree()["gaps"]) == MAX_GAPS


def test_no_alarm_without_labels_or_predictions():
    assert alarms(30, always, never, step=5 * MINUTE) == []  # none has ever come
    assert alarms(2, always, lambda at: at < HOUR) == []  # they have not come for a day
    silence = Silence()
    alarms(2, always, always, silence)
    assert alarms(5, never, never, silence, 2 * DAY) == []


def test_a_limit_that_is_given():
    silence = Silence(HOUR)
    (told,) = alarms(1, always, never, silence)  # also if no label has ever come
    assert told == (STOPPED, HOUR + MINUTE)
    assert Silence(HOUR).check(START) is None
    # A single prediction is no sign that they go on.
    assert alarms(2, lambda at: at == 0, never, Silence(HOUR)) == []
    # One an hour is: each counts for half an hour.
    (told,) = alarms(1, lambda at: at % HOUR == 0, never, Silence(HOUR - 1))
    assert told[1] <= 3 * HOUR
    silence = Silence(DAY)
    assert alarms(5, always, lambda at: at % (20 * HOUR) < MINUTE, silence) == []


def test_it_continues_from_a_file():
    whole, halves = Silence(), Silence()
    labels = lambda at: by_day(at) and at < 4 * DAY  # noqa: E731
    expected = alarms(6, always, labels, whole)
    told = alarms(4.5, always, labels, halves)
    halves = read(json.loads(json.dumps(halves.tree())), "a file", lambda one: Silence.from_tree(one, None))
    told += alarms(1.5, always, labels, halves, 4.5 * DAY)
    assert [kind for kind, _ in expected] == [kind for kind, _ in told] == [STOPPED]
    assert told[0][1] - expected[0][1] <= 2 * MINUTE  # the minute in between is not counted
    again = read(halves.tree(), "a file", lambda one: Silence.from_tree(one, None))
    assert again.is_stopped
    assert alarms(0.5, always, never, again, 6 * DAY) == []  # it has been told
    assert alarms(0.1, always, always, again, 6.5 * DAY) == [(BACK, 6.5 * DAY)]


def test_time_that_the_service_is_down_does_not_count():
    silence = Silence()
    alarms(2, always, always, silence)
    again = read(silence.tree(), "a file", lambda one: Silence.from_tree(one, None))
    assert alarms(0.004, always, never, again, 3 * DAY) == []


@pytest.mark.parametrize(
    "change",
    [
        {"gap": float("nan")},
        {"gap": -1.0},
        {"gap": "1"},
        {"predictions": -1},
        {"predictions": 1.5},
        {"automatic": 1},
        {"first_label": float("inf")},
        {"last_label": True},
        {"stopped_at": "now"},
        {"gaps": {}},
        {"gaps": [[1.0, 2.0]]},
        {"gaps": [[1.0, float("nan"), True]]},
        {"gaps": [[1.0, 1.0, 0]]},
        {"gaps": [[1.0, 1.0, True]] * (MAX_GAPS + 1)},
        {"told": "labels_stopped"},
        {"told": {"kind": "drift", "time": 1.0, "text": "x", "data": {}, "id": "x"}},
        {"told": {"kind": "labels_back", "time": 1e300, "text": "x", "data": {}, "id": "x"}},
        {"told": {"kind": "labels_back", "time": 1.0, "text": "x", "data": {"a": []}, "id": "x"}},
        {"told": {"kind": "labels_back", "time": 1.0, "text": "x", "data": {}, "id": "x" * 65}},
        {"more": 1},
    ],
)
def test_a_file_that_makes_no_sense(change):
    with pytest.raises(ModelFileError):
        read({**Silence().tree(), **change}, "a file", lambda one: Silence.from_tree(one, None))
