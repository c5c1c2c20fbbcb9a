from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from ocboost._core.codec import read
from ocboost._core.file_format import from_bytes, to_bytes
from ocboost.deployment.model import Model
from ocboost.errors import ModelFileError
from ocboost.live.brokers import waiting
from ocboost.live.brokers.base import Message
from ocboost.live.brokers.log_state import LOG_STATE_KIND, LogSettings, LogState
from ocboost.live.brokers.messages import BadMessageError
from ocboost.live.versions import VersionsInMemory
from tests.support import live
from tests.support.memory_log import as_json, label, mixed_log, request

KINDS = ["ocb", "adaptive"]


def new(kind: str = "ocb", **settings) -> LogState:
    return LogState(live.model(kind), LogSettings(**settings), 5.0)


def take(state: LogState, *datas: bytes, strict: bool = False):
    found = []
    for data in datas:
        number = state.messages + 1
        answer = state.take(Message(f"{number}-0", 5.0 + number, data), strict=strict)
        found.append(None if answer is None else json.loads(answer))
    return found


def as_bytes(state: LogState) -> bytes:
    return to_bytes(LOG_STATE_KIND, state.tree())


def loaded(data: bytes) -> LogState:
    return read(from_bytes(data, LOG_STATE_KIND, "a state"), "a state", LogState.from_tree)


def code_of(answer) -> str:
    return answer["error"]["code"]


# Rules ----------------------------------------------------------------------------------------------------


def test_a_request_is_answered_and_its_label_learnt():
    state = new()
    (answer,) = take(state, request(0))
    assert answer["id"] == "q0"
    assert answer["at"] == "1-0"
    assert answer["answered_by"] == "adapted"
    assert answer["label"] == max(answer["probabilities"], key=answer["probabilities"].get)
    assert sum(answer["probabilities"].values()) == pytest.approx(1.0)
    assert state.facts()["pending"] == 1
    assert take(state, label(0)) == [None]
    facts = state.facts()
    assert (facts["pending"], facts["learnt"], facts["messages"]) == (0, 1, 2)
    assert state.live.watch.tree() != new().live.watch.tree()


def test_a_row_that_the_reader_fails_on_does_not_stop_the_log(monkeypatch):
    state = new()

    def fails(rows):
        raise RecursionError

    monkeypatch.setattr(state.reader, "features", fails)
    (answer,) = take(state, request(0))
    assert code_of(answer) == "bad_row"
    assert "RecursionError" in answer["error"]["message"]


def test_a_label_that_comes_twice_is_learnt_once_and_another_one_is_a_conflict():
    state = new()
    take(state, request(0), label(0, label="yes"))
    before = state.live.model_bytes()
    again, other = take(state, label(0, label="yes"), label(0, label="no"))
    assert again is None
    assert code_of(other) == "conflict"
    assert other["id"] == "q0"
    assert state.live.model_bytes() == before
    assert (state.repeated, state.refused) == (1, 1)


def test_a_request_that_comes_again_after_its_label_is_answered_and_does_not_wait():
    state = new()
    *_, answer, repeated = take(state, request(0), label(0), request(0), label(0))
    assert answer["id"] == "q0"
    assert repeated is None
    assert (state.repeated, state.live.learnt, state.facts()["pending"]) == (1, 1, 0)


def test_a_request_that_comes_again_before_its_label_replaces_the_first():
    state = new()
    first, second = take(state, request(0), request(0))
    assert first["probabilities"] == second["probabilities"]
    assert state.facts()["pending"] == 1
    assert state.awaited.waiting["q0"].number == 2


def test_a_row_with_its_label_is_answered_if_it_has_an_id_and_learnt_once_for_each_id():
    state = new()
    row = live.records()[0]
    answer, without = take(state, request(0, label="yes"), as_json(row=row, label="yes"))
    assert answer["id"] == "q0"
    assert without is None
    assert state.live.learnt == 2
    again, conflict = take(state, request(0, label="yes"), request(0, label="no"))
    assert again is None
    assert code_of(conflict) == "conflict"
    assert state.live.learnt == 2


def test_a_row_with_the_label_of_a_request_that_waits_learns_that_request():
    state = new()
    _, answer = take(state, request(0), request(0, label="yes"))
    assert answer is None  # it was answered before
    assert (state.live.learnt, state.facts()["pending"]) == (1, 0)


def test_a_request_without_an_id_is_answered_and_waits_for_nothing():
    state = new()
    (answer,) = take(state, as_json(row=live.records()[0]))
    assert answer["id"] is None
    assert state.facts()["pending"] == 0


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (as_json(id="q9", label="yes"), "unknown_id"),
        (as_json(id="q0", label="perhaps"), "unknown_class"),
        (as_json(id="q9", row={"a": 1.0}), "bad_row"),
        (as_json(id="q9", row={"a": "x" * 500, "b": 1, "colour": "red"}), "bad_row"),
        (as_json(row=[[1]]), "bad_row"),
        (as_json(row=7), "bad_row"),
        (b'{"row": {"a": 1e999, "b": 1, "colour": "red"}}', "bad_row"),
        (b"}", "bad_json"),
    ],
)
def test_what_cannot_be_used_changes_nothing_and_is_answered(data, code):
    state = new()
    take(state, request(0))
    before = as_bytes(state)
    with pytest.raises(BadMessageError) as found:
        take(state, data, strict=True)
    assert found.value.code == code
    assert as_bytes(state) == before
    (answer,) = take(state, data)
    assert code_of(answer) == code
    assert len(answer["error"]["message"]) <= 500


def test_the_oldest_predictions_are_dropped_and_long_past_ids_forgotten():
    state = new(max_pending=3)
    take(state, *(request(i) for i in range(5)))
    assert list(state.awaited.waiting) == ["q2", "q3", "q4"]
    assert code_of(*take(state, label(0))) == "expired"
    take(state, *(request(i, label="yes") for i in range(10, 16)))
    assert code_of(*take(state, label(0))) == "unknown_id"
    assert len(state.awaited.past) == 6


def test_a_dropped_request_that_comes_again_waits_again():
    state = new(max_pending=1)
    take(state, request(0), request(1), request(0))
    state = loaded(as_bytes(state))
    assert take(state, label(0)) == [None]
    assert state.live.learnt == 1


def test_predictions_since_the_last_label_are_counted():
    state = new()
    counts = []
    for data in (
        request(0),
        request(1),
        as_json(row=live.records()[0]),
        b"{",
        label(0),
        label(0),
        request(2),
    ):
        take(state, data)
        counts.append(state.since)
    assert counts == [1, 2, 2, 2, 0, 0, 1]


def test_bytes_that_wait_are_bounded(monkeypatch):
    monkeypatch.setattr(waiting, "MAX_WAITING_BYTES", 500)
    state = new()
    take(state, *(request(i) for i in range(20)))
    assert 0 < state.awaited.bytes <= 500
    assert state.awaited.bytes == sum(one.size for one in state.awaited.waiting.values())


def test_with_the_guard_the_deployed_model_answers_first():
    state = new(guard=True)
    (answer,) = take(state, request(0))
    assert answer["answered_by"] == "version 0"
    state.follow(LogSettings(guard=False))
    assert take(state, request(1))[0]["answered_by"] == "adapted"


def test_time_never_goes_back():
    state = new()
    state.take(Message("1", 100.0, request(0)))
    state.take(Message("2", 50.0, request(1)))
    assert state.awaited.waiting["q1"].at == 100.0


# A function of the log alone ------------------------------------------------------------------------------


@pytest.mark.parametrize("guard", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_loaded_anywhere_it_goes_on_the_same(kind, guard):
    log = mixed_log(30 if kind == "ocb" else 16)
    whole = new(kind, guard=guard, max_pending=12)
    expected = take(whole, *log)
    state, found = new(kind, guard=guard, max_pending=12), []
    for number, data in enumerate(log):
        if number % 5 == 4:
            state = loaded(as_bytes(state))
        found += take(state, data)
    assert found == expected
    assert as_bytes(state) == as_bytes(whole)
    assert whole.live.model_bytes() != to_bytes(live.model(kind).kind, live.model(kind).tree())


# Hostile states -------------------------------------------------------------------------------------------


def used(kind: str = "adaptive") -> LogState:
    state = new(kind)
    take(state, *(request(i) for i in range(4)), label(0), label(1), b"{")
    return state


def _changed(key, value):
    def change(tree):
        tree["awaited"][key] = value(tree["awaited"][key])

    return change


@pytest.mark.parametrize(
    "change",
    [
        _changed("most", lambda most: 1),
        _changed("most", lambda most: 0),
        _changed("ids", lambda ids: ids[:-1]),
        _changed("ids", lambda ids: ids * 0 - 1),
        _changed("ids", lambda ids: np.concatenate([ids[:3], ids[:3]])),
        _changed("numbers", lambda numbers: numbers * 0 + 5),
        _changed("numbers", lambda numbers: numbers[::-1].copy()),
        _changed("numbers", lambda numbers: -numbers),
        _changed("numbers", lambda numbers: numbers + np.array([0, 9, 0, 0, 0])),
        _changed("numbers", lambda numbers: numbers + np.array([0, 0, 1 << 40, 0, 0])),
        _changed("numbers", lambda numbers: numbers + np.array([0, 0, 0, 2, 0])),
        _changed("numbers", lambda numbers: numbers + np.array([1 << 40, 0, 0, 0, 0])),
        _changed("at", lambda at: at * np.nan),
        _changed("at", lambda at: -1 - at),
        _changed("features", lambda X: X[:, :-1].copy()),
        _changed("features", lambda X: X + np.inf),
        _changed("shares", lambda shares: shares * np.float32(np.nan)),
        _changed("shares", lambda shares: shares + np.float32(2)),
        _changed("kept_sizes", lambda sizes: sizes + 1),
        _changed("kept_sizes", lambda sizes: sizes - (1 << 62)),
        _changed("kept", lambda kept: kept[1:].copy()),
        _changed("codes", lambda codes: codes + 2),
        _changed("past", lambda past: past[:0].copy()),
        lambda tree: tree.update(offset=5),
        lambda tree: tree.update(time=-1.0),
        lambda tree: tree.update(since=-1),
        lambda tree: tree.update(model_digest=None),
        lambda tree: tree.update(more=1),
        lambda tree: tree.pop("number"),
        lambda tree: tree["live"].update(held_out="a" * 64),
        lambda tree: tree["live"]["versions"].update(files=[]),
        lambda tree: tree["live"]["versions"].update(files=[None]),
        lambda tree: tree["live"]["versions"]["files"].__setitem__(0, np.zeros(3, np.int8)),
    ],
)
def test_a_hostile_state_is_refused(change):
    tree = from_bytes(as_bytes(used()), LOG_STATE_KIND)
    change(tree)
    with pytest.raises(ModelFileError):
        loaded(to_bytes(LOG_STATE_KIND, tree))


def test_hostile_records_of_predictions_are_not_learnt_as_they_are():
    tree = from_bytes(as_bytes(used()), LOG_STATE_KIND)
    tree["awaited"]["kept"] = ~tree["awaited"]["kept"]
    state = loaded(to_bytes(LOG_STATE_KIND, tree))
    (answer,) = take(state, label(2), request(9))[1:]
    assert all(0.0 <= share <= 1.0 for share in answer["probabilities"].values())


@pytest.mark.parametrize("time", [-1.0, 1e12, 1.8e16, 9.3e18])
def test_a_time_that_makes_no_sense_counts_as_none(time):
    state = new()
    take(state, request(0))
    for number in range(3):
        state.take(Message(f"{number + 2}-0", time, request(number + 9, label="yes")))
        state.take(Message(f"{number + 2}-1", time, request(number + 90, label="no")))
    assert state.live.watch.last_label == 6.0
    assert loaded(as_bytes(state)).time == 6.0


def test_a_version_of_another_model_is_refused():
    state = new(guard=True)
    clf = copy.deepcopy(live.model().classifier)
    clf.classes_ = np.array(["no", "yes!"])
    other = VersionsInMemory()
    other.add(Model(clf), "deployed", 0, 5.0, set())
    state.live.versions = other
    with pytest.raises(ModelFileError, match="version 0 has other classes or features"):
        loaded(as_bytes(state))
