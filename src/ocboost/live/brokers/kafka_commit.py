"""One transaction of Kafka, in steps that can be continued when the broker was away."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from ocboost.live.brokers.base import AwayError, BrokerError
from ocboost.live.brokers.kafka_client import STEP_SECONDS, KafkaClients
from ocboost.live.brokers.kafka_place import PLACE_KEY, Place, StatePlace, part_key, parts_of

PRODUCE_ATTEMPTS = 30
# A fatal error in the background comes as an exception while messages are told that they have not arrived,
# which Python then calls a SystemError.
CLIENT_ERRORS = (KafkaException, SystemError)
AT_HEADER = "at"

Outgoing = tuple[bytes | None, bytes, list[tuple[str, bytes]]]  # key, value, headers
NO_HEADERS: list[tuple[str, bytes]] = []


class BrokenTransactionError(BrokerError):
    """A transaction came to nothing or its outcome is unknown, and its producer is of no more use."""


class KafkaCommit:
    """What one transaction writes, and how far it has come.

    Parameters
    ----------
    place : Place
        As it will be; where answers and state are is entered as they arrive.
    answers : sequence of (int, bytes)
        Each with the offset of its message.
    state : bytes, optional
    """

    def __init__(
        self, place: Place, answers: Sequence[tuple[int, bytes]] = (), state: bytes | None = None
    ) -> None:
        self.place = place
        self.answers = list(answers)
        self.state = state
        self.again()

    def again(self) -> None:
        """Begin at the first step."""
        self.steps = 0
        self.sent = False  # whether the messages of this step are on their way
        self.failed: KafkaError | None = None
        self.offsets: list[int] = []  # where the messages of this step have arrived

    def next_step(self) -> None:
        """A step is done."""
        self.steps += 1
        self.sent = False
        self.offsets = []

    def delivered(self, error: KafkaError | None, record: Any) -> None:
        """Called for each message that has arrived, or has not."""
        if error is None:
            self.offsets.append(record.offset())
        else:
            self.failed = self.failed or error


class KafkaWriter:
    """The transactional producer: whoever made one last fences off those before."""

    def __init__(self, clients: KafkaClients) -> None:
        self._clients = clients
        self._producer: Any = None
        self._ready = False

    def discard(self) -> None:
        """Forget the producer; the next one ends what it has begun."""
        producer, self._producer, self._ready = self._producer, None, False
        if producer is not None:
            with suppress(*CLIENT_ERRORS):  # it is of no use any more
                producer.purge()
            with suppress(*CLIENT_ERRORS):
                producer.flush(0)

    def fence(self) -> None:
        """Have a producer that fences off those before; their transactions are ended when this returns."""
        if self._producer is None:
            name = self._clients.address.transactional_id
            self._producer = self._clients.make(Producer, **{"transactional.id": name})
        if not self._ready:
            try:
                self._producer.poll(0)
                self._producer.init_transactions(STEP_SECONDS)
            except CLIENT_ERRORS as error:
                problem = self._sorted(error, "taking over")
                if not isinstance(problem, AwayError):
                    self.discard()
                raise problem from None
            self._ready = True

    def write(self, commit: KafkaCommit) -> None:
        """Write and commit; called again after an `AwayError`, it continues.

        Answers and the state's parts have arrived before the place is written. Who sees the place therefore
        sees them too, whatever becomes of the transaction.
        """
        self.fence()
        steps = (self._begin, self._write_answers, self._write_state, self._write_place, self._end)
        while commit.steps < len(steps):
            try:
                steps[commit.steps](commit)
            except CLIENT_ERRORS as error:
                problem = self._sorted(commit.failed or error, "committing")
                if commit.failed is not None and isinstance(problem, AwayError):
                    problem = BrokenTransactionError(str(problem))  # what was lost does not arrive by waiting
                if not isinstance(problem, AwayError):
                    self.discard()
                    commit.again()
                raise problem from None
            commit.next_step()

    def _begin(self, commit: KafkaCommit) -> None:
        self._producer.begin_transaction()

    def _write_answers(self, commit: KafkaCommit) -> None:
        place = commit.place
        messages = [(None, data, [(AT_HEADER, b"%d" % at)]) for at, data in commit.answers]
        self._send(commit, place.predictions, messages)
        if commit.answers:
            commit.place = replace(place, answer=commit.answers[-1][0], answer_at=max(commit.offsets))

    def _write_state(self, commit: KafkaCommit) -> None:
        state, after = commit.state, commit.place.after
        if state is None or after is None:
            return
        parts = [(part_key(number), part, NO_HEADERS) for number, part in enumerate(parts_of(state))]
        self._send(commit, self._clients.address.state, parts)
        digest = hashlib.sha256(state).hexdigest()
        commit.place = replace(commit.place, state=StatePlace(after, tuple(sorted(commit.offsets)), digest))

    def _write_place(self, commit: KafkaCommit) -> None:
        self._send(commit, self._clients.address.state, [(PLACE_KEY, commit.place.encoded(), NO_HEADERS)])

    def _end(self, commit: KafkaCommit) -> None:
        self._producer.commit_transaction(STEP_SECONDS)

    def _send(self, commit: KafkaCommit, topic: str, messages: Sequence[Outgoing]) -> None:
        """Send messages to a topic's first partition, in this order, and wait until they have arrived."""
        if not commit.sent:
            commit.offsets = []
            for key, value, headers in messages:
                self._produce(
                    topic, value, key=key, headers=headers, partition=0, on_delivery=commit.delivered
                )
            commit.sent = True
        waiting = len(self._producer)
        while waiting and commit.failed is None:
            before, waiting = waiting, self._producer.flush(STEP_SECONDS)
            if waiting >= before and commit.failed is None:
                raise AwayError(f"{self._clients.address.name} does not answer (writing to {topic}).")
        if commit.failed is not None:
            raise KafkaException(commit.failed)

    def _produce(self, topic: str, value: bytes, **how: Any) -> None:
        for _ in range(PRODUCE_ATTEMPTS):
            try:
                self._producer.produce(topic, value, **how)
            except BufferError:
                self._producer.poll(STEP_SECONDS)
            else:
                return
        raise BrokerError(
            "The queue of Kafka's client stays full. Raise queue.buffering.max.kbytes and "
            "queue.buffering.max.messages in the file of settings (?config=FILE)."
        )

    def _sorted(self, error: Any, doing: str) -> BrokerError:
        """Away: the same call again. Broken: look what is there, with a new producer. Others: no use."""
        cause = error.__cause__ if isinstance(error, SystemError) else error
        found = cause.args[0] if isinstance(cause, KafkaException) else cause
        if not isinstance(found, KafkaError):
            raise error
        problem = self._clients.error(found, doing, BrokenTransactionError)
        if isinstance(problem, AwayError) and (found.fatal() or found.txn_requires_abort()):
            return BrokenTransactionError(str(problem))
        return problem
