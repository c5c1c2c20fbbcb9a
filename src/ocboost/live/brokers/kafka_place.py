"""How far a consumer of Kafka has come: the record that it commits with every batch, and the state's parts.

The state's topic is compacted. Its key ``place`` has the last record; the keys ``part 0``, ``part 1``, … have
the state's bytes. A record is written after the parts and the answers that it speaks of have arrived, and in
the same transaction.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from ocboost._core.codec import Fields, read
from ocboost.errors import ModelFileError
from ocboost.live.brokers.base import BrokerError

PLACE_KEY = b"place"
PLACE_FORMAT = 1
PART_BYTES = 900_000  # brokers take 1 MB unless told otherwise
MAX_STATE_BYTES = 400_000_000
MAX_OFFSET = 2**63 - 1


@dataclass(frozen=True, slots=True)
class StatePlace:
    """Where a state's parts are.

    Attributes
    ----------
    after : int
        The last message of the log that the state has taken.
    offsets : tuple of int
        Of its parts in the state's topic.
    digest : str
        SHA-256 of all bytes.
    """

    after: int
    offsets: tuple[int, ...]
    digest: str

    @staticmethod
    def from_tree(fields: Fields) -> StatePlace:
        """Read it back, checked."""
        after = fields.count("after", most=MAX_OFFSET)
        offsets = fields.items("offsets", most=MAX_STATE_BYTES // PART_BYTES + 1)
        rising = all(type(offset) is int and 0 <= offset <= MAX_OFFSET for offset in offsets)
        fields.require(
            rising and bool(offsets) and sorted(set(offsets)) == offsets, "offsets must be whole and rise"
        )
        return StatePlace(after, tuple(offsets), fields.text("digest", 64))


@dataclass(frozen=True, slots=True)
class Place:
    """How far a consumer has come.

    Attributes
    ----------
    log : str
        Topic and partition that are read.
    start : int
        The offset at which reading began.
    owner : int
        Who may write: every consumer that takes over counts one up.
    number : int
        Of commits so far.
    after : int or None
        The last message that was taken; all answers up to it are out.
    answer : int or None
        The last message that was answered, and
    predictions, answer_at : str, int
        the topic of its answer, with the offset. Without an answer: where the first will come.
    state : StatePlace or None
    """

    log: str
    start: int
    owner: int
    number: int
    after: int | None
    answer: int | None
    predictions: str
    answer_at: int
    state: StatePlace | None

    def encoded(self) -> bytes:
        """As a message's value."""
        state = self.state
        return json.dumps(
            {
                "format": PLACE_FORMAT,
                "log": self.log,
                "start": self.start,
                "owner": self.owner,
                "number": self.number,
                "after": self.after,
                "answer": self.answer,
                "predictions": self.predictions,
                "answer_at": self.answer_at,
                "state": None
                if state is None
                else {"after": state.after, "offsets": list(state.offsets), "digest": state.digest},
            }
        ).encode()

    @staticmethod
    def decoded(data: bytes, topic: str) -> Place:
        """Of a message's value; anything else is a `BrokerError`."""
        try:
            return read(json.loads(data), f"the last record of the topic {topic}", Place._from_tree)
        except (ModelFileError, ValueError, RecursionError) as error:
            raise BrokerError(
                f"The topic {topic} does not hold a state of ocboost ({error!s:.200}). Name another topic "
                "with ?state=TOPIC."
            ) from None

    @staticmethod
    def _from_tree(fields: Fields) -> Place:
        fields.require(fields.count("format") == PLACE_FORMAT, "a newer ocboost wrote it")
        return Place(
            log=fields.text("log"),
            start=fields.count("start", most=MAX_OFFSET),
            owner=fields.count("owner", most=MAX_OFFSET),
            number=fields.count("number", most=MAX_OFFSET),
            after=None if fields.takes("after", None) else fields.count("after", most=MAX_OFFSET),
            answer=None if fields.takes("answer", None) else fields.count("answer", most=MAX_OFFSET),
            predictions=fields.text("predictions"),
            answer_at=fields.count("answer_at", most=MAX_OFFSET),
            state=fields.read_optional("state", StatePlace.from_tree),
        )


def part_key(number: int) -> bytes:
    """The key of one part of a state."""
    return b"part %d" % number


def parts_of(state: bytes) -> list[bytes]:
    """A state's bytes as parts that a broker takes."""
    if len(state) > MAX_STATE_BYTES:
        raise BrokerError(
            f"The state has {len(state):,} bytes; at most {MAX_STATE_BYTES:,} are kept in Kafka. Let fewer "
            "predictions wait (--max-pending), or keep a smaller model."
        )
    return [state[at : at + PART_BYTES] for at in range(0, max(len(state), 1), PART_BYTES)]


def whole_state(parts: Sequence[bytes], place: StatePlace, topic: str) -> bytes:
    """The state of its parts; a `BrokerError` if some are missing or others came."""
    state = b"".join(parts)
    if len(parts) != len(place.offsets) or hashlib.sha256(state).hexdigest() != place.digest:
        raise BrokerError(
            f"The topic {topic} no longer holds the whole state: {len(parts)} of {len(place.offsets)} parts "
            "were found, or they are not what was written. The topic must be compacted "
            "(cleanup.policy=compact), and nobody else may write to it. --restart begins again with the "
            "first message."
        )
    return state
