"""librdkafka's mock cluster in a process of its own: ``python -m tests.support.kafka_cluster``.

It is made through librdkafka's C interface (``rd_kafka_mock_…``), in the library that confluent-kafka brings
along, so that topics of one partition can be made and errors be ordered. It takes one command on each line of
standard input and answers each with a line; it ends when standard input does.

What the mock cluster of librdkafka 2.16 can:

- topics: created by whoever produces or by command, not by an AdminClient (no controller: it waits, then
  "Failed while waiting for controller"). Topics that come by themselves have four partitions.
- transactions: they are taken, markers take offsets. But messages are seen at once, also by
  ``read_committed``, and stay when the transaction is aborted. Two producers with the same transactional id
  do not fence each other. Offsets committed in a transaction are not kept.
- errors: ordered for a kind of request, such as PRODUCER_FENCED for EndTxn.
- timestamps of messages are the producer's.
- offsets out of range are answered as a broker does.
- a partition keeps 5 MB or 100,000 messages; the oldest go, which a test of deleted messages uses.
- messages over ``message.max.bytes`` (1 MB) are refused by the client, before the broker sees them.
- nothing outlives the process.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

# Kinds of requests, and codes of errors, as Kafka numbers them.
PRODUCE, INIT_PRODUCER, ADD_PARTITIONS, END_TRANSACTION = 0, 22, 24, 26
TIMED_OUT, NETWORK = 7, 13
TOO_LARGE, NO_TOPIC_RIGHTS, BAD_SEQUENCE, OLD_EPOCH, NO_TRANSACTION_RIGHTS, FENCED = 10, 29, 45, 47, 53, 90


class KafkaCluster:
    """A cluster of one broker; use it in a ``with``."""

    def __enter__(self) -> KafkaCluster:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.kafka_cluster"],
            cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        self.hosts = self._process.stdout.readline().strip()
        assert self.hosts, "the mock cluster did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def _do(self, *words: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        assert answer == "0", f"{words}: {answer}"

    def topic(self, name: str, partitions: int = 1) -> str:
        """Make a topic."""
        self._do("topic", name, partitions)
        return name

    def log(self, name: str) -> str:
        """Make the three topics of a log, and give its address."""
        for topic in (name, f"{name}.predictions", f"{name}.ocboost-state"):
            self.topic(topic)
        return f"kafka://{self.hosts}/{name}"

    def errors(self, request: int, *codes: int) -> None:
        """Answer the next requests of a kind with these errors."""
        self._do("errors", request, *codes)

    def down(self) -> None:
        """Cut off the broker; what it holds stays."""
        self._do("down")

    def up(self) -> None:
        """Let it be reached again."""
        self._do("up")

    def send(self, topic: str, *values: bytes | None, partition: int = 0, key: bytes | None = None) -> None:
        """Append messages to a topic."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.hosts})
        for value in values:
            producer.produce(topic, value, key, partition=partition)
        assert producer.flush(10) == 0

    def messages(self, topic: str) -> list[Any]:
        """All that a topic holds."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer(
            {
                "bootstrap.servers": self.hosts, "group.id": "messages", "auto.offset.reset": "error",
                "enable.auto.commit": False, "enable.partition.eof": True, "fetch.wait.max.ms": 100,
            }
        )  # fmt: skip
        low, _ = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
        consumer.assign([TopicPartition(topic, 0, low)])
        found = []
        while True:
            message = consumer.poll(10)
            assert message is not None, "the mock cluster does not answer"
            if message.error() is not None:
                break
            found.append(message)
        consumer.close()
        return found

    def values(self, topic: str) -> list[bytes]:
        """What they say."""
        return [message.value() or b"" for message in self.messages(topic)]


def library() -> Path | None:
    """The librdkafka of confluent-kafka's wheel; None if it has none that can be opened."""
    try:
        import confluent_kafka
    except ModuleNotFoundError:
        return None
    folder = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
    return next(iter(sorted(folder.glob("librdkafka-*.so*"))), None)


def require_cluster() -> None:
    """Skip with a note where there is no mock cluster."""
    pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
    if library() is None:
        pytest.skip("confluent-kafka has no librdkafka in a library of its own")


def _functions(path: Path) -> Any:
    lib = ctypes.CDLL(str(path))
    pointer, text, integer = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    for name, result, arguments in (
        ("conf_new", pointer, []),
        ("new", pointer, [integer, pointer, text, ctypes.c_size_t]),
        ("mock_cluster_new", pointer, [pointer, integer]),
        ("mock_cluster_bootstraps", text, [pointer]),
        ("mock_topic_create", integer, [pointer, text, integer, integer]),
        ("mock_broker_set_down", integer, [pointer, ctypes.c_int32]),
        ("mock_broker_set_up", integer, [pointer, ctypes.c_int32]),
        (
            "mock_push_request_errors_array",
            None,
            [pointer, ctypes.c_int16, ctypes.c_size_t, ctypes.POINTER(integer)],
        ),
    ):
        function = getattr(lib, f"rd_kafka_{name}")
        function.restype, function.argtypes = result, arguments
    return lib


def main() -> None:
    """Serve until standard input ends."""
    path = library()
    assert path is not None
    lib = _functions(path)
    reason = ctypes.create_string_buffer(200)
    client = lib.rd_kafka_new(0, lib.rd_kafka_conf_new(), reason, len(reason))
    cluster = lib.rd_kafka_mock_cluster_new(client, 1)
    print(lib.rd_kafka_mock_cluster_bootstraps(cluster).decode(), flush=True)
    for line in sys.stdin:
        match line.split():
            case ["topic", name, partitions]:
                result = lib.rd_kafka_mock_topic_create(cluster, name.encode(), int(partitions), 1)
            case ["errors", request, *codes]:
                array = (ctypes.c_int * len(codes))(*map(int, codes))
                result = lib.rd_kafka_mock_push_request_errors_array(cluster, int(request), len(codes), array)
            case ["down"]:
                result = lib.rd_kafka_mock_broker_set_down(cluster, 1)
            case ["up"]:
                result = lib.rd_kafka_mock_broker_set_up(cluster, 1)
            case _:
                result = "unknown"
        print(result or 0, flush=True)


if __name__ == "__main__":
    main()
