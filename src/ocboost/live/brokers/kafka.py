"""A log in Kafka: one partition of a topic; answers, place and state go out in one transaction."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ocboost._core.log_address import LogAddress
from ocboost.errors import InputError, MissingExtraError

try:
    from confluent_kafka import KafkaError, TopicPartition
except ModuleNotFoundError as missing:
    raise MissingExtraError("confluent-kafka", "kafka", "A log in Kafka") from missing

from ocboost.live.brokers.base import AwayError, BrokerError, FencedError, Message, Resumed
from ocboost.live.brokers.kafka_address import KafkaAddress, kafka_address
from ocboost.live.brokers.kafka_client import (
    ANSWER_SECONDS,
    KafkaClients,
    KafkaReader,
    create_topic,
)
from ocboost.live.brokers.kafka_commit import (
    AT_HEADER,
    BrokenTransactionError,
    KafkaCommit,
    KafkaWriter,
)
from ocboost.live.brokers.kafka_place import PLACE_KEY, Place, StatePlace, part_key, whole_state

STATE_CONFIG = {"cleanup.policy": "compact", "segment.bytes": "104857600", "min.cleanable.dirty.ratio": "0.1"}
ATTEMPTS = 3
NO_VALUE = "a message of the log must have JSON as its value; this one has none"


def open_log(address: LogAddress) -> KafkaLog:
    """The log at an address ``kafka://host:9092/TOPIC``; nothing is connected yet."""
    return KafkaLog(kafka_address(address))


class KafkaLog:
    """One partition of a topic, read by one consumer at a time.

    The newest consumer wins. Kafka fences off the producers before it, and its number in the last record of
    the state's topic says who it is: a consumer that was away and comes back with a new producer sees that it
    is no longer the newest, and the newest sees that it still is.

    Kafka hides what was written in a transaction that came to nothing, and all of it is then written again.
    Where a broker shows it all the same (librdkafka's mock cluster does), the answers that are there are not
    written again: after any interruption, what can be read counts.
    """

    def __init__(self, address: KafkaAddress) -> None:
        self._address = address
        self._clients = KafkaClients(address)
        self._reader = KafkaReader(self._clients)
        self._writer = KafkaWriter(self._clients)
        self._place: Place | None = None  # as it was committed last; None before `take_over`
        self._commit: KafkaCommit | None = None  # begun, not known to be done
        self._unsure = False  # whether something may have been written that we do not know of
        self._read_to: tuple[int | None] | None = None  # the last message that was read; None: assign anew
        self._at_end = False  # whether the broker said that there was nothing behind it

    @property
    def name(self) -> str:
        """The log, for people."""
        return self._address.name

    @property
    def predictions(self) -> str:
        """The topic of the answers."""
        return f"the topic {self._address.predictions}"

    def key(self, offset: str) -> int:
        """Offsets are numbers."""
        return int(offset)

    def close(self) -> None:
        """End the connection; what was not committed is left to the next consumer's decision."""
        self._writer.discard()
        self._reader.close()

    # Taking over ------------------------------------------------------------------------------------------

    def take_over(self, *, afresh: bool = False) -> Resumed:
        """Fence off other consumers, and say where to continue."""
        self._read_to, self._commit, self._unsure = None, None, False
        if self._place is not None:
            self._writer.discard()
            self._place = None
        self._check_topics()
        self._writer.fence()
        address = self._address
        low, high = self._reader.ends(address.topic, address.partition)
        last = self._last_place()
        notes = []
        if last is None or afresh:
            if low:
                notes.append(f"The log begins with message {low}: those before it have been deleted.")
            place = self._first_place(last, low)
            if place.after is not None and place.after >= high:
                notes.append("The log was made anew: it is answered from its beginning.")
                end = self._end_of_predictions()
                place = replace(
                    place, after=None, answer=None, predictions=address.predictions, answer_at=end
                )
        else:
            place = last
            self._check_log(place, low, high)
        answer = self._last_answer(place, afresh)
        if place.predictions != address.predictions:
            end = self._end_of_predictions()
            place = replace(place, predictions=address.predictions, answer=None, answer_at=end)
        if answer is not None and (place.after is None or answer > place.after):
            place = replace(place, after=answer, answer=answer)
        place = replace(place, owner=place.owner + 1, number=place.number + 1)
        self._claim(place)
        state = None if place.state is None else self._read_state(place.state)
        self._place = place
        return Resumed(
            state,
            None if place.state is None else str(place.state.after),
            None if place.after is None else str(place.after),
            tuple(notes),
        )

    def _claim(self, place: Place) -> None:
        """Commit who reads now; if that fails, taking over begins again."""
        commit = KafkaCommit(place)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._writer.write(commit)
            except BrokenTransactionError as error:
                raise AwayError(str(error)) from None
            except AwayError:
                if attempt == ATTEMPTS:
                    self._writer.discard()
                    raise

    def _check_topics(self) -> None:
        address = self._address
        found = self._reader.partitions(address.topic)
        if not found:
            raise BrokerError(
                f"There is no topic {address.topic} at {address.hosts}. Check the name, or create it with "
                f"one partition: kafka-topics.sh --bootstrap-server {address.hosts} --create --topic "
                f"{address.topic} --partitions 1"
            )
        if address.partition >= found:
            raise BrokerError(
                f"The topic {address.topic} has the partitions 0 to {found - 1}; got "
                f"partition={address.partition}."
            )
        if found > 1 and not address.chosen:
            raise BrokerError(
                f"The topic {address.topic} has {found} partitions. A model learns from one log in one "
                "order, and Kafka has an order within a partition only. Use a topic with one partition, or "
                "one model for each partition: add ?partition=0 to the address of the first, and so on."
            )
        for topic, config in ((address.predictions, {}), (address.state, STATE_CONFIG)):
            if not self._reader.partitions(topic):
                create_topic(self._clients, self._reader, topic, config)

    def _last_place(self) -> Place | None:
        topic = self._address.state
        record = self._reader.last(topic, PLACE_KEY)
        if record is None:
            if self._reader.ends(topic, 0)[0]:
                raise BrokerError(
                    f"The topic {topic} has lost the state: its messages have been deleted. It must be "
                    "compacted (cleanup.policy=compact). Delete and create it again, or name another with "
                    "?state=TOPIC, to begin again with the first message."
                )
            return None
        place = Place.decoded(record.value() or b"", topic)
        if place.log != self._address.log:
            raise BrokerError(
                f"The topic {topic} holds the state of {self._address.hidden(place.log)}, not of "
                f"{self._address.log}. Name another with ?state=TOPIC."
            )
        return place

    def _first_place(self, last: Place | None, low: int) -> Place:
        if last is not None:
            return replace(last, start=low, state=None)
        address = self._address
        at = self._end_of_predictions()
        return Place(address.log, low, 0, 0, None, None, address.predictions, at, None)

    def _end_of_predictions(self) -> int:
        return self._reader.ends(self._address.predictions, 0)[1]

    def _check_log(self, place: Place, low: int, high: int) -> None:
        needed = place.start if place.state is None else place.state.after + 1
        if needed < low:
            raise self._trimmed(needed, low)
        if place.after is not None and place.after >= high:
            raise self._lost(place.after, high)

    def _trimmed(self, needed: int, low: int) -> BrokerError:
        return BrokerError(
            f"The log {self.name} begins with message {low}; {needed} is needed to go on, and has been "
            "deleted. Keep messages for longer (retention.ms, retention.bytes), or begin again: --restart."
        )

    def _lost(self, after: int, high: int) -> BrokerError:
        return BrokerError(
            f"The log {self.name} ends before message {high}, but message {after} had been read: it has "
            "lost messages or was made anew. --restart begins again with the first message that is there."
        )

    def _last_answer(self, place: Place, afresh: bool) -> int | None:
        """The last message whose answer can be read, from where the last was."""
        topic = self._address.predictions
        if place.predictions != topic:
            return None
        low, high = self._reader.ends(topic, 0)
        found = seen = None
        for record in self._reader.records(topic, 0, max(place.answer_at, low), high):
            seen = seen or record
            at = dict(record.headers() or ()).get(AT_HEADER)
            if isinstance(at, bytes) and at.isdigit() and len(at) < 20:
                found = int(at)
        expected = place.answer is not None and low <= place.answer_at
        if expected and (seen is None or seen.offset() != place.answer_at) and not afresh:
            raise BrokerError(
                f"The topic {topic} has lost answers: the one to message {place.answer} is missing. "
                "--restart begins again with the first message that is there, and does not write it again."
            )
        return found

    def _read_state(self, place: StatePlace) -> bytes:
        topic = self._address.state
        keys = {offset: part_key(number) for number, offset in enumerate(place.offsets)}
        records = self._reader.records(topic, 0, place.offsets[0], place.offsets[-1] + 1)
        found = {record.offset(): record for record in records}
        parts = [found[at].value() or b"" for at in keys if at in found and found[at].key() == keys[at]]
        return whole_state(parts, place, topic)

    # Reading ----------------------------------------------------------------------------------------------

    def read(self, after: str | None, most: int, seconds: float) -> list[Message]:
        """The next messages, at most so many; none if none came in so many seconds."""
        if self._place is None:
            raise InputError("a log must be taken over before it is read.")
        address, client = self._address, self._reader.client
        wanted = None if after is None else int(after)
        if self._read_to != (wanted,):
            first = self._place.start if wanted is None else wanted + 1
            client.assign([TopicPartition(address.topic, address.partition, first)])
            self._read_to, self._at_end = (wanted,), False
        found: list[Message] = []
        began = time.monotonic()
        while not found:
            record = client.poll(min(seconds, 1.0))
            others = client.consume(most - 1, 0) if record is not None and most > 1 else []
            for one in (record, *others) if record is not None else ():
                problem = one.error()
                if problem is None:
                    found.append(_message(one))
                    self._at_end = False
                elif problem.code() == KafkaError._PARTITION_EOF:
                    self._at_end = True
                elif found:
                    self._read_to = None  # the next call meets it again
                    return found
                else:
                    self._read_to = None
                    raise self._reading_failed(problem, wanted)
            waited = time.monotonic() - began
            certain = self._at_end or self._clients.disturbed
            if not found and waited >= (seconds if certain else max(seconds, ANSWER_SECONDS)):
                self._check_reachable()
                return found
        self._read_to = (int(found[-1].offset),)
        return found

    def _check_reachable(self) -> None:
        """That nothing came is the end of the log only if somebody has said so."""
        if not self._at_end:
            self._read_to = None
        if self._clients.disturbed or not self._at_end:
            self._reader.partitions(self._address.topic)
            self._clients.disturbed = ""
        if not self._at_end:
            raise AwayError(f"{self.name} does not answer (reading {self._address.topic}).")

    def _reading_failed(self, problem: KafkaError, after: int | None) -> BrokerError:
        address, place = self._address, self._place
        if problem.code() == KafkaError._AUTO_OFFSET_RESET and place is not None:
            low, high = self._reader.ends(address.topic, address.partition)
            needed = place.start if after is None else after + 1
            if needed < low:
                return self._trimmed(needed, low)
            if after is not None and after >= high:
                return self._lost(after, high)
        return self._clients.error(problem, f"reading {address.topic}")

    # Committing -------------------------------------------------------------------------------------------

    def commit(self, answers: Sequence[tuple[str, bytes]], after: str, state: bytes | None = None) -> None:
        """Commit answers, place and state in one transaction; done exactly once when this returns."""
        place = self._place
        if place is None:
            raise InputError("a log must be taken over before anything is committed.")
        if self._commit is None:
            target = replace(place, number=place.number + 1, after=int(after))
            self._commit = KafkaCommit(target, [(int(at), data) for at, data in answers], state)
        commit = self._commit
        for _ in range(ATTEMPTS):
            try:
                if not self._unsure or not self._is_done(commit, place):
                    self._writer.write(commit)
                self._place, self._commit = commit.place, None
                self._reader.show_progress(int(after) + 1)
                return
            except AwayError:
                raise
            except BrokerError as error:
                self._unsure = True
                if not isinstance(error, BrokenTransactionError):
                    raise
                reason = str(error)
        raise AwayError(reason)

    def _is_done(self, commit: KafkaCommit, before: Place) -> bool:
        """With a new producer, whether a commit of unknown outcome is there; else it begins again.

        What the broker shows of it although it came to nothing is not written again.
        """
        self._writer.fence()
        self._read_to = None  # the consumer reads other topics now
        there = self._last_place()
        if there is None or there.owner != before.owner:
            raise FencedError(
                f"Another consumer has taken over {self.name}; nothing of this one was committed since."
            )
        self._unsure = False
        if there.number == commit.place.number:
            commit.place = there
            return True
        if there != before:
            raise BrokerError(
                f"The topic {self._address.state} has lost the last commits, or another program writes to it."
            )
        last = self._last_answer(before, afresh=False)
        if last is not None:
            commit.answers = [(at, data) for at, data in commit.answers if at > last]
        return False


def _message(record: Any) -> Message:
    kind, milliseconds = record.timestamp()
    known = kind != 0 and milliseconds > 0
    value = record.value()
    return Message(
        str(record.offset()), milliseconds / 1000 if known else 0.0, value, NO_VALUE if value is None else ""
    )
