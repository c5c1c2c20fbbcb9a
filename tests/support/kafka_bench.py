"""A log on librdkafka's mock cluster, for consumers that are killed (`tests.support.broker_kills`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.kafka_cluster import KafkaCluster


class KafkaBench:
    """The log on a mock cluster, which cannot be killed without losing all: it is cut off instead.

    The undisturbed consumer reads the same log; its answers and its state go to topics of their own.
    """

    def __init__(self, folder: Path) -> None:
        self.cluster = KafkaCluster()
        self.hosts = ""
        self._watcher: Any = None

    def url(self, *, reference: bool = False) -> str:
        return f"kafka://{self.hosts}/log" + ("?state=copy-state&predictions=copy" if reference else "")

    def sender(self) -> Callable[[bytes], None]:
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.hosts, "linger.ms": 0, "log_level": 0})

        def send(data: bytes) -> None:
            outcome: list[Any] = [True]
            while outcome[0] is not None:
                producer.produce(
                    "log", data, partition=0, on_delivery=lambda error, _: outcome.insert(0, error)
                )
                producer.flush()

        return send

    def copy(self) -> int:
        low, high = self._ends("log")
        assert low == 0, "the mock cluster has deleted messages: it keeps 5 MB"
        return high

    def predictions(self, *, reference: bool = False) -> list[tuple[str, bytes]]:
        topic = "copy" if reference else "log.predictions"
        assert self._ends(topic)[0] == 0, "the mock cluster has deleted answers: it keeps 5 MB"
        return [
            (dict(message.headers() or ())["at"].decode(), message.value())
            for message in self.cluster.messages(topic)
        ]

    def n_predictions(self) -> int | None:
        from confluent_kafka import KafkaException

        try:
            return self._ends("log.predictions")[1]
        except KafkaException:
            return None

    def _ends(self, topic: str) -> tuple[int, int]:
        from confluent_kafka import Consumer, TopicPartition

        if self._watcher is None:
            self._watcher = Consumer({"bootstrap.servers": self.hosts, "group.id": "watcher", "log_level": 0})
        ends: tuple[int, int] = self._watcher.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
        return ends

    def kill(self) -> None:
        self.cluster.down()

    def start(self) -> None:
        if self.hosts:
            self.cluster.up()
            return
        self.cluster.__enter__()
        self.hosts = self.cluster.hosts
        self.cluster.log("log")
        self.cluster.topic("copy")
        self.cluster.topic("copy-state")

    def __getstate__(self) -> dict[str, Any]:  # producers need no handle on the process
        return {"hosts": self.hosts}
