"""Kafka that refuses, is away, or has another consumer: answers are out once, or it is said why not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ocboost.errors import InputError, MissingExtraError
from ocboost.live.brokers import url
from ocboost.live.brokers.base import AwayError, BrokerError, FencedError
from tests.support import kafka_cluster as kinds
from tests.support.kafka_cluster import KafkaCluster, require_cluster

require_cluster()

from ocboost.live.brokers.kafka_client import KafkaClients, create_topic  # noqa: E402


def patiently(call: Callable[[], Any], times: int = 60) -> Any:
    """Call again while the broker is away, as the consumer does."""
    for _ in range(times):
        try:
            return call()
        except AwayError as error:
            last = error
    raise last


def test_the_older_consumer_is_fenced_off(cluster: KafkaCluster, logs: Any) -> None:
    address = cluster.log("fenced")
    older, newer = logs(address), logs(address)
    older.take_over()
    cluster.send("fenced", b"0", b"1", b"2")
    older.commit([("0", b"a0")], "0", b"state")
    assert newer.take_over().answered == "0"
    cluster.errors(kinds.ADD_PARTITIONS, kinds.FENCED)  # as a broker says to the older producer
    with pytest.raises(FencedError, match=r"Another consumer has taken over kafka://.*/fenced"):
        older.commit([("1", b"of the older")], "1")
    # With a new producer it has fenced off the newer one in turn, which sees that it is the newest.
    cluster.errors(kinds.ADD_PARTITIONS, kinds.OLD_EPOCH)
    newer.commit([("1", b"a1")], "1")
    newer.commit([("2", b"a2")], "2")
    assert cluster.values("fenced.predictions") == [b"a0", b"a1", b"a2"]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (kinds.END_TRANSACTION, kinds.OLD_EPOCH),  # the mock cluster shows the place: it counts as done
        (kinds.ADD_PARTITIONS, kinds.OLD_EPOCH),
        (kinds.PRODUCE, kinds.BAD_SEQUENCE),
    ],
)
def test_a_transaction_that_breaks_is_written_once(
    cluster: KafkaCluster, logs: Any, request_: int, error: int
) -> None:
    name = f"broken-{request_}-{error}"
    address = cluster.log(name)
    log = logs(address)
    log.take_over()
    cluster.send(name, b"0", b"1", b"2")
    log.commit([("0", b"a0")], "0")
    cluster.errors(request_, error)
    log.commit([("1", b"a1"), ("2", b"a2")], "2", b"state")
    assert cluster.values(f"{name}.predictions") == [b"a0", b"a1", b"a2"]
    resumed = logs(address).take_over()
    assert (resumed.state, resumed.after, resumed.answered) == (b"state", "2", "2")


@pytest.mark.parametrize("error", [kinds.TIMED_OUT, kinds.NETWORK])
def test_a_delivery_that_failed_is_begun_again(
    cluster: KafkaCluster, logs: Any, tmp_path: Path, error: int
) -> None:
    """Its message is gone from the client's queue: to wait for it would be for ever."""
    (tmp_path / "settings").write_text("retries=1\nretry.backoff.ms=10")
    name = f"delivery-{error}"
    address = f"{cluster.log(name)}?config={tmp_path / 'settings'}"
    log = logs(address)
    log.take_over()
    cluster.send(name, b"0", b"1")
    log.commit([("0", b"a0")], "0")
    cluster.errors(kinds.PRODUCE, error, error, error)
    patiently(lambda: log.commit([("1", b"a1")], "1", b"state"), times=10)
    assert cluster.values(f"{name}.predictions") == [b"a0", b"a1"]
    assert logs(address).take_over().state == b"state"


def test_answers_that_came_through_are_not_written_again(cluster: KafkaCluster, logs: Any) -> None:
    """The place cannot be written, the answers before it were: the mock cluster shows them."""
    log = logs(cluster.log("through"))
    log.take_over()
    cluster.send("through", *(b"%d" % i for i in range(4)))
    log.commit([("0", b"a0")], "0")
    cluster.errors(kinds.PRODUCE, 0, kinds.BAD_SEQUENCE)  # answers arrive, what comes next does not
    log.commit([("1", b"a1"), ("2", b"a2")], "3", b"state")
    assert cluster.values("through.predictions") == [b"a0", b"a1", b"a2"]
    log.commit([("3", b"a3")], "3")
    assert cluster.values("through.predictions")[3:] == [b"a3"]


@pytest.mark.parametrize(
    ("request_", "error", "problem"),
    [
        (kinds.PRODUCE, kinds.NO_TOPIC_RIGHTS, "authorization failed.*must be allowed to read the log"),
        (kinds.PRODUCE, kinds.TOO_LARGE, r"too large.*max\.message\.bytes"),
        (kinds.INIT_PRODUCER, kinds.NO_TRANSACTION_RIGHTS, "allowed to write in transactions"),
    ],
)
def test_what_waiting_does_not_mend(
    cluster: KafkaCluster, logs: Any, request_: int, error: int, problem: str
) -> None:
    log = logs(cluster.log(f"rights-{request_}-{error}"))
    cluster.errors(request_, error)
    with pytest.raises(BrokerError, match=problem) as caught:
        log.take_over()
    assert type(caught.value) is BrokerError
    log.take_over()  # the same object is of use when it has been mended


def test_a_broker_that_is_away_for_a_while(
    cluster: KafkaCluster, logs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("kafka_client", "kafka_commit"):
        monkeypatch.setattr(f"ocboost.live.brokers.{module}.STEP_SECONDS", 0.2)
    log = logs(cluster.log("away"))
    patiently(log.take_over)
    cluster.send("away", b"0", b"1")
    patiently(lambda: log.commit([("0", b"a0")], "0"))
    assert patiently(lambda: log.read("0", 10, 5.0))[0].data == b"1"
    cluster.down()
    with pytest.raises(AwayError, match="does not answer"):
        log.commit([("1", b"a1")], "1", b"state")
    with pytest.raises(AwayError, match="cannot be reached"):
        log.read("1", 10, 0.1)
    cluster.up()
    patiently(lambda: log.commit([("1", b"a1")], "1", b"state"))
    assert patiently(lambda: log.read("1", 10, 0.1)) == []
    assert cluster.values("away.predictions") == [b"a0", b"a1"]


def test_nobody_there(logs: Any) -> None:
    with pytest.raises(AwayError, match=r"kafka://127\.0\.0\.1:1/t cannot be reached"):
        logs("kafka://127.0.0.1:1/t").take_over()


def test_topics_that_are_missing_or_have_several_partitions(
    cluster: KafkaCluster, logs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BrokerError, match=r"no topic nothing at .*--topic nothing --partitions 1"):
        logs(f"kafka://{cluster.hosts}/nothing").take_over()
    cluster.topic("wide", 3)
    with pytest.raises(BrokerError, match=r"wide has 3 partitions.*one order.*\?partition=0"):
        logs(f"kafka://{cluster.hosts}/wide").take_over()
    with pytest.raises(BrokerError, match=r"partitions 0 to 2; got partition=3"):
        logs(f"kafka://{cluster.hosts}/wide?partition=3").take_over()
    for kind in ("predictions", "ocboost-state"):
        cluster.topic(f"wide.2.{kind}")
    log = logs(f"kafka://{cluster.hosts}/wide?partition=2")
    log.take_over()
    cluster.send("wide", b"of another")
    cluster.send("wide", b"ours", partition=2)
    assert [m.data for m in log.read(None, 10, 5.0)] == [b"ours"]
    monkeypatch.setattr("ocboost.live.brokers.kafka_client.CREATE_SECONDS", 0.1)
    clients = KafkaClients(log._address)
    with pytest.raises(BrokerError, match=r"no topic kept, .*by hand: .* --config cleanup\.policy=compact"):
        create_topic(clients, log._reader, "kept", {"cleanup.policy": "compact"})


def test_settings_that_the_client_does_not_take(cluster: KafkaCluster, logs: Any, tmp_path: Path) -> None:
    path = tmp_path / "java.properties"
    for line, problem in (
        ("sasl.jaas.config=geheim", r"does not take a setting \(Java JAAS.*not those of Java"),
        ("no.such=geheim", r"does not take 'no\.such'"),
        ("security.protocol=geheim", r"does not take 'security\.protocol'"),
    ):
        path.write_text(line)
        with pytest.raises(InputError, match=problem) as caught:
            logs(f"kafka://{cluster.hosts}/t?config={path}").take_over()
        assert "geheim" not in str(caught.value)


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ocboost.live.brokers.kafka")
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(MissingExtraError, match=r"A log in Kafka needs .*pip install .*\[kafka\]"):
        url.open_log("kafka://h:1/t")
