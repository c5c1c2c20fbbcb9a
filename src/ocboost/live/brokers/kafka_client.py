"""What is read from Kafka, and errors of its client in ocboost's words."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as Record
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from ocboost.errors import InputError
from ocboost.live.brokers.base import AwayError, BrokerError
from ocboost.live.brokers.kafka_address import KafkaAddress

LOOK_SECONDS = 0.2
FETCH_MILLISECONDS = 100  # how long a broker waits for messages; other questions wait behind it
STEP_SECONDS = 1.0  # how long a call waits that continues where it was when it is made again
ANSWER_SECONDS = 2.0  # the same where it begins anew
CREATE_SECONDS = 5.0
FIRST_WINDOW = 8

AWAY = frozenset(
    (
        KafkaError._TRANSPORT,
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError._WAIT_COORD,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.NOT_COORDINATOR,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.NETWORK_EXCEPTION,
    )
)
# What waiting does not mend, and what to do about it.
FINAL = {
    KafkaError._AUTHENTICATION: "Check sasl.* and security.protocol in the file of settings (?config=FILE).",
    KafkaError.SASL_AUTHENTICATION_FAILED: "Check sasl.* in the file of settings (?config=FILE).",
    KafkaError._SSL: "Check ssl.* and security.protocol in the file of settings (?config=FILE).",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "The user must be allowed to read the log, and to read and "
    "write the topics of predictions and of the state.",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "The user must be allowed to read the group.",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "The user must be allowed to write idempotently.",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "The user must be allowed to write in transactions.",
    KafkaError.MSG_SIZE_TOO_LARGE: "The topics of predictions and of the state must take messages of 1 MB "
    "(max.message.bytes).",
    KafkaError.INVALID_TRANSACTION_TIMEOUT: "Set transaction.timeout.ms in the settings (?config=FILE).",
    KafkaError.UNKNOWN_TOPIC_OR_PART: "Create the topics of the log, the predictions and the state.",
    KafkaError._UNKNOWN_TOPIC: "Create the topics of the log, the predictions and the state.",
    KafkaError.UNKNOWN_MEMBER_ID: "Another program reads as a member of this group; let it use another.",
    KafkaError.ILLEGAL_GENERATION: "Another program reads as a member of this group; let it use another.",
    KafkaError.UNSUPPORTED_VERSION: "Brokers since Kafka 0.11 have transactions, which are needed.",
}

QUIET = logging.getLogger("ocboost.kafka")
QUIET.addHandler(logging.NullHandler())
QUIET.setLevel(logging.CRITICAL + 1)  # what matters comes as an error


class KafkaClients:
    """Makes clients for one address and says what their errors mean."""

    def __init__(self, address: KafkaAddress) -> None:
        self.address = address
        self._refused: Any = None  # of the last error in the background that waiting does not mend
        self.disturbed = ""  # the last other error in the background

    def make(self, kind: Callable[..., Any], **settings: object) -> Any:
        """A client of this kind; settings that librdkafka does not take are an `InputError`."""
        address = self.address
        common = {
            "bootstrap.servers": address.hosts,
            "client.id": "ocboost",
            "socket.timeout.ms": 10_000,
            "reconnect.backoff.max.ms": 1_000,
            "fetch.wait.max.ms": FETCH_MILLISECONDS,
        }
        try:
            return kind({**common, **address.settings, **settings, "error_cb": self._noticed}, logger=QUIET)
        except (KafkaException, ValueError, TypeError) as error:
            named = re.search(r'property:? "([^"]*)"', str(error))
            detail = error.args[0].str() if isinstance(error, KafkaException) else error
            which = f"{named.group(1)!r}" if named else f"a setting ({address.hidden(detail)})"
            raise InputError(
                f"the client of Kafka does not take {which} of the file of settings. It must have "
                "librdkafka's names and values, not those of Java."
            ) from None

    def _noticed(self, error: KafkaError) -> None:
        if error.code() in FINAL:
            self._refused = error
        else:
            self.disturbed = str(error)

    def error(self, error: Any, doing: str, unclear: type[BrokerError] = BrokerError) -> BrokerError:
        """What an error means: `AwayError` if waiting may mend it, ``unclear`` if that is not known."""
        if isinstance(error, KafkaException):
            error = error.args[0]
        if error.code() in AWAY and self._refused is not None:
            error, self._refused = self._refused, None
        advice = FINAL.get(error.code())
        what = self.address.hidden(error.str())
        name = self.address.name
        if advice is None and (error.code() in AWAY or error.retriable()):
            return AwayError(f"{name} cannot be reached ({doing}: {what}).")
        kind = unclear if advice is None else BrokerError
        return kind(f"{name} refuses ({doing}: {what}). {advice or ''}".rstrip())


class KafkaReader:
    """Reads partitions of an address's cluster, committed messages only."""

    def __init__(self, clients: KafkaClients) -> None:
        self._clients = clients
        self._client: Any = None

    @property
    def client(self) -> Any:
        """The consumer; made when first needed."""
        if self._client is None:
            self._client = self._clients.make(
                Consumer,
                **{
                    "group.id": self._clients.address.group,
                    "enable.auto.commit": False,
                    "auto.offset.reset": "error",
                    "isolation.level": "read_committed",
                    "enable.partition.eof": True,
                    "allow.auto.create.topics": False,
                },
            )
        return self._client

    def close(self) -> None:
        """End the connection."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def show_progress(self, offset: int) -> None:
        """Commit the group's offset, for those who watch how far a consumer is behind; nothing reads it here.

        It is not part of the transaction: a call for that waits for a minute when the broker is away.
        """
        address = self._clients.address
        with suppress(KafkaException):
            self.client.commit(
                offsets=[TopicPartition(address.topic, address.partition, offset)], asynchronous=True
            )

    def partitions(self, topic: str) -> int:
        """How many partitions a topic has; 0 if there is none of this name."""
        doing = f"asking for the topic {topic}"
        self.client.poll(0)  # errors in the background are told here
        try:
            found = self.client.list_topics(topic, timeout=STEP_SECONDS).topics[topic]
        except KafkaException as error:
            self.client.poll(0)
            raise self._clients.error(error, doing) from None
        if found.error is None:
            return len(found.partitions)
        if found.error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):
            return 0
        raise self._clients.error(found.error, doing)

    def ends(self, topic: str, partition: int) -> tuple[int, int]:
        """The offset of the first message, and the one behind the last."""
        try:
            found = self.client.get_watermark_offsets(
                TopicPartition(topic, partition), timeout=ANSWER_SECONDS, cached=False
            )
        except KafkaException as error:
            raise self._clients.error(error, f"asking how far {topic} goes") from None
        if found is None:
            raise AwayError(f"{self._clients.address.name} cannot be reached (asking how far {topic} goes).")
        low, high = found
        return low, high

    def records(self, topic: str, partition: int, first: int, end: int) -> Iterator[Record]:
        """Messages from one offset to before another, or to the end of what is committed."""
        if first >= end:
            return
        client = self.client
        client.assign([TopicPartition(topic, partition, first)])
        try:
            give_up = time.monotonic() + ANSWER_SECONDS
            while True:
                record = client.poll(LOOK_SECONDS)
                if record is None:
                    if time.monotonic() > give_up:
                        raise AwayError(f"{self._clients.address.name} cannot be reached (reading {topic}).")
                    continue
                problem = record.error()
                if problem is not None and problem.code() == KafkaError._PARTITION_EOF:
                    return
                if problem is not None:
                    raise self._clients.error(problem, f"reading {topic}")
                if record.offset() >= end:
                    return
                yield record
                give_up = time.monotonic() + ANSWER_SECONDS
        finally:
            client.unassign()

    def last(self, topic: str, key: bytes) -> Record | None:
        """The last message with a key in a topic's first partition.

        Markers of transactions and messages that were never committed take offsets too, so that the search
        goes back in growing steps.
        """
        low, end = self.ends(topic, 0)
        window = FIRST_WINDOW
        while end > low:
            first = max(end - window, low)
            found = None
            for record in self.records(topic, 0, first, end):
                if record.key() == key and record.value() is not None:
                    found = record
            if found is not None:
                return found
            end, window = first, window * 4
        return None


def create_topic(clients: KafkaClients, reader: KafkaReader, topic: str, config: dict[str, str]) -> None:
    """Create a topic of one partition; where that is not possible, say what to do by hand."""
    admin = clients.make(AdminClient)
    wanted = NewTopic(topic, num_partitions=1, replication_factor=-1, config=config)
    try:
        admin.create_topics([wanted], request_timeout=CREATE_SECONDS)[topic].result()
    except KafkaException as error:
        problem = error.args[0]
        if problem.code() != KafkaError.TOPIC_ALREADY_EXISTS:
            options = "".join(f" --config {name}={value}" for name, value in config.items())
            raise BrokerError(
                f"There is no topic {topic}, and it could not be created "
                f"({clients.address.hidden(problem.str())}). Create it by hand: kafka-topics.sh "
                f"--bootstrap-server {clients.address.hosts} --create --topic {topic} --partitions 1{options}"
            ) from None
    give_up = time.monotonic() + ANSWER_SECONDS
    while not reader.partitions(topic):
        if time.monotonic() > give_up:
            raise AwayError(f"The topic {topic} was created and cannot be seen yet.")
        time.sleep(LOOK_SECONDS)
