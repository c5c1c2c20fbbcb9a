"""A log in Kafka: reading, committing, taking over, on librdkafka's mock cluster."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ocboost.live.brokers.base import BrokerError, Message
from tests.support.kafka_cluster import KafkaCluster, require_cluster

require_cluster()

from ocboost.live.brokers.kafka_commit import KafkaCommit  # noqa: E402
from ocboost.live.brokers.kafka_place import PART_BYTES, PLACE_KEY, Place  # noqa: E402

PLACE_TREE = {
    "format": 1, "log": "hostile/0", "start": 0, "owner": 1, "number": 1, "after": None, "answer": None,
    "predictions": "hostile.predictions", "answer_at": 0, "state": None,
}  # fmt: skip


def answered(messages: list[Message]) -> list[tuple[str, bytes]]:
    return [(m.offset, b"to " + (m.data or b"")) for m in messages]


def test_reads_answers_and_resumes(cluster: KafkaCluster, logs: Any) -> None:
    address = cluster.log("plain")
    log = logs(address)
    assert log.name == address
    first = log.take_over()
    assert (first.state, first.after, first.answered, first.notes) == (None, None, None, ())
    assert log.read(None, 10, 0.0) == []
    cluster.send("plain", *(b"m%d" % i for i in range(7)), None)
    messages = log.read(None, 5, 5.0)
    while len(messages) < 5:
        messages += log.read(messages[-1].offset, 5 - len(messages), 5.0)
    assert [m.data for m in messages] == [b"m0", b"m1", b"m2", b"m3", b"m4"]
    assert all(m.time > 1e9 for m in messages)
    log.commit(answered(messages[:2]), messages[2].offset, b"state of three")
    log.commit(answered(messages[3:4]), messages[4].offset)
    rest = log.read(messages[4].offset, 10, 5.0)
    assert rest[0].data == b"m5"
    again = logs(address)
    resumed = again.take_over()
    assert resumed.state == b"state of three"
    assert resumed.after == messages[2].offset
    assert resumed.answered == messages[4].offset
    replayed = again.read(resumed.after, 100, 5.0)
    assert [m.data for m in replayed][:3] == [b"m3", b"m4", b"m5"]
    last = replayed[-1]
    while last.data is not None:
        last = again.read(last.offset, 100, 5.0)[-1]
    assert "JSON as its value" in last.problem
    assert cluster.values("plain.predictions") == [b"to m0", b"to m1", b"to m3"]
    assert sorted(["10", "9"], key=again.key) == ["9", "10"]


def test_a_large_state_goes_in_parts_and_comes_back_whole(cluster: KafkaCluster, logs: Any) -> None:
    address = cluster.log("large")
    log = logs(address)
    log.take_over()
    cluster.send("large", b"one", b"two")
    state = bytes(range(256)) * (2 * PART_BYTES // 256 + 5)
    log.commit([("0", b"a")], "0", state)
    log.commit([("1", b"b")], "1")
    assert logs(address).take_over().state == state
    log = logs(address)
    log.take_over()
    log.commit([], "1", b"")  # an empty one is not none
    resumed = logs(address).take_over()
    assert (resumed.state, resumed.after) == (b"", "1")


def test_a_state_half_written_is_not_taken(cluster: KafkaCluster, logs: Any) -> None:
    """Killed in a transaction: the mock cluster shows what was written of it."""
    address = cluster.log("half")
    log = logs(address)
    log.take_over()
    cluster.send("half", *(b"%d" % i for i in range(9)))
    log.commit([("0", b"a0")], "1", b"good")
    # answers and a part of the state arrive; the place does not
    writer, place = log._writer, log._place
    commit = KafkaCommit(replace(place, after=6), [(2, b"a2"), (3, b"a3")], b"new" * PART_BYTES)
    for step in (writer._begin, writer._write_answers, writer._write_state):
        step(commit)
        commit.next_step()
    resumed = logs(address).take_over()
    assert (resumed.state, resumed.after) == (b"good", "1")
    assert resumed.answered == "3"  # they can be seen, so they are not written again
    assert cluster.values("half.predictions") == [b"a0", b"a2", b"a3"]


def test_answers_that_can_be_seen_count_though_others_write_too(cluster: KafkaCluster, logs: Any) -> None:
    address = cluster.log("foreign")
    cluster.send("foreign.predictions", b"somebody's", b"message")
    log = logs(address)
    assert log.take_over().answered is None
    cluster.send("foreign", b"0", b"1", b"2")
    log.commit([("1", b"a1")], "2")
    cluster.send("foreign.predictions", b"somebody's again")
    assert logs(address).take_over().answered == "2"


def test_begins_afresh_and_answers_nothing_again(cluster: KafkaCluster, logs: Any) -> None:
    address = cluster.log("afresh")
    log = logs(address)
    log.take_over()
    cluster.send("afresh", b"0", b"1", b"2")
    log.commit([("0", b"a0")], "2", b"state")
    fresh = logs(address)
    resumed = fresh.take_over(afresh=True)
    assert (resumed.state, resumed.after, resumed.answered) == (None, None, "2")
    assert fresh.read(None, 1, 5.0)[0].data == b"0"
    resumed = logs(address).take_over()
    assert (resumed.state, resumed.after, resumed.answered) == (None, None, "2")


def test_predictions_may_go_elsewhere_and_back(cluster: KafkaCluster, logs: Any) -> None:
    address = cluster.log("moved")
    cluster.topic("moved.other")
    elsewhere = f"{address}?predictions=moved.other"
    log = logs(address)
    log.take_over()
    cluster.send("moved", b"0", b"1", b"2")
    log.commit([("0", b"a0")], "0", b"state")
    for _ in range(3):  # also with nothing between
        log = logs(elsewhere)
        assert log.take_over().answered == "0"
    log.commit([("1", b"a1")], "1")
    assert logs(elsewhere).take_over().answered == "1"
    log = logs(address)
    assert log.take_over().answered == "1"
    log.commit([("2", b"a2")], "2")
    assert cluster.values("moved.predictions") == [b"a0", b"a2"]
    assert cluster.values("moved.other") == [b"a1"]


def test_deleted_messages_are_noticed(cluster: KafkaCluster, logs: Any) -> None:
    """The mock cluster keeps 5 MB."""
    address = cluster.log("short")
    log = logs(address)
    log.take_over()
    cluster.send("short", b"0", b"1", b"2")
    log.commit([("0", b"a0")], "1", b"state")
    for _ in range(7):
        cluster.send("short", b"x" * 950_000)
    with pytest.raises(BrokerError, match=r"begins with message \d+; 2 is needed.*retention.*--restart"):
        log.read("1", 10, 5.0)
    with pytest.raises(BrokerError, match=r"begins with message \d+; 2 is needed"):
        logs(address).take_over()
    resumed = logs(address).take_over(afresh=True)
    assert (resumed.state, resumed.after) == (None, None)
    assert len(resumed.notes) == 1
    assert "have been deleted" in resumed.notes[0]


def test_a_log_that_lost_messages_is_noticed(cluster: KafkaCluster, logs: Any) -> None:
    address = cluster.log("lost")
    log = logs(address)
    log.take_over()
    cluster.send("lost", b"0", b"1")
    log.commit([("0", b"a0")], "7", b"state")  # as if there had been eight
    with pytest.raises(BrokerError, match=r"ends before message 2, but message 7 had been read"):
        log.read("7", 10, 5.0)
    with pytest.raises(BrokerError, match=r"ends before message 2, but message 7 had been read"):
        logs(address).take_over()
    resumed = logs(address).take_over(afresh=True)
    assert resumed.answered is None
    assert "made anew" in resumed.notes[0]


def test_lost_answers_are_noticed(cluster: KafkaCluster, logs: Any) -> None:
    address = cluster.log("gone")
    log = logs(address)
    log.take_over()
    cluster.send("gone", b"0", b"1")
    log._writer.write(KafkaCommit(replace(log._place, after=1, answer=1, answer_at=5)))
    with pytest.raises(BrokerError, match=r"gone\.predictions has lost answers: the one to message 1"):
        logs(address).take_over()
    assert logs(address).take_over(afresh=True).answered == "1"


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"owner": -1}, "owner must be a whole number"),
        ({"owner": True}, "owner must be a whole number"),
        ({"format": 2}, "a newer ocboost"),
        ({"after": "3"}, "after must be a whole number"),
        ({"state": {"after": 1, "offsets": [3, 2], "digest": "x"}}, "offsets must be whole and rise"),
        ({"state": {"after": 1, "offsets": [], "digest": "x"}}, "offsets must be whole and rise"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_hostile_place_is_refused(changed: dict[str, Any], problem: str) -> None:
    tree = PLACE_TREE | changed
    with pytest.raises(BrokerError, match=problem):
        Place.decoded(json.dumps(tree).encode(), "hostile")


@pytest.mark.parametrize("data", [b"", b"[" * 100_000, b"[]", b"\xff", b"NaN", b"{}"])
def test_what_is_no_place_is_refused(data: bytes) -> None:
    with pytest.raises(BrokerError, match=r"does not hold a state of ocboost.*another topic with"):
        Place.decoded(data, "hostile")


def test_a_place_comes_back() -> None:
    place = Place.decoded(json.dumps(PLACE_TREE).encode(), "x")
    assert Place.decoded(place.encoded(), "x") == place


def test_a_state_of_another_log_or_without_its_parts_is_refused(cluster: KafkaCluster, logs: Any) -> None:
    log = logs(cluster.log("hostile"))
    other = json.dumps(PLACE_TREE | {"log": "other/0"}).encode()
    cluster.send("hostile.ocboost-state", other, key=PLACE_KEY)
    with pytest.raises(BrokerError, match=r"holds the state of other/0, not of hostile/0"):
        log.take_over()
    gone = json.dumps(PLACE_TREE | {"state": {"after": 0, "offsets": [0], "digest": "x"}}).encode()
    cluster.send("hostile", b"0")
    cluster.send("hostile.ocboost-state", gone, key=PLACE_KEY)
    with pytest.raises(BrokerError, match=r"no longer holds the whole state: 0 of 1.*compact"):
        log.take_over()


def test_the_groups_offset_is_committed(cluster: KafkaCluster, logs: Any) -> None:
    from confluent_kafka import Consumer, TopicPartition

    log = logs(cluster.log("watched"))
    log.take_over()
    cluster.send("watched", b"0", b"1", b"2")
    log.commit([], "2")
    log.close()
    watcher = Consumer({"bootstrap.servers": cluster.hosts, "group.id": "ocboost.watched"})
    assert watcher.committed([TopicPartition("watched", 0)], timeout=10)[0].offset == 3
    watcher.close()
