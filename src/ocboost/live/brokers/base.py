"""What a broker must offer: one log to read, and answers, place and state that are committed together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ocboost.errors import OcboostError


class BrokerError(OcboostError):
    """The broker refuses, or has lost what is needed to go on."""


class FencedError(BrokerError):
    """Another consumer has taken over; nothing of this one was committed since."""


class AwayError(BrokerError):
    """The broker cannot be reached, or cannot work now; the same call may be made again.

    Whether a commit that ended so was done is not known; made again, it is done once.
    """


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the log.

    Attributes
    ----------
    offset : str
        Its place in the log, as the broker writes it.
    time : float
        When the broker took it, in seconds since 1970; 0 if that is not known.
    data : bytes or None
        JSON; None if the message has another form, and `problem` says which is expected.
    problem : str
    """

    offset: str
    time: float
    data: bytes | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Resumed:
    """Where a consumer continues.

    Attributes
    ----------
    state : bytes or None
        The state that was committed last; None at the beginning.
    after : str or None
        The last message that this state has taken.
    answered : str or None
        The last message whose answers are out, at ``after`` or later. Messages between the two are taken
        again without answering.
    notes : tuple of str
        What a person should know, such as that the log had been trimmed before the first message was read.
    """

    state: bytes | None
    after: str | None
    answered: str | None
    notes: tuple[str, ...] = ()


class Broker(Protocol):
    """One log in a broker, read by one consumer at a time.

    Every method may raise `AwayError`; the consumer then waits and calls it again with the same arguments.
    No method waits for long where a broker does not answer: a signal is noticed in between.
    """

    @property
    def name(self) -> str:
        """The log, for people: without a password."""
        ...

    @property
    def predictions(self) -> str:
        """Where the answers go, for people."""
        ...

    def take_over(self, *, afresh: bool = False) -> Resumed:
        """Fence off other consumers, and say where to continue.

        With ``afresh`` the state is removed, and reading begins with the first message that is there. What
        was answered stays answered.
        """
        ...

    def read(self, after: str | None, most: int, seconds: float) -> list[Message]:
        """The next messages, at most so many; none if none came in so many seconds.

        Messages that were lost between ``after`` and the first are a `BrokerError`.
        """
        ...

    def commit(self, answers: Sequence[tuple[str, bytes]], after: str, state: bytes | None = None) -> None:
        """Commit answers, each with the offset of its message, and the place, all of it or nothing.

        ``after`` is the last message that was taken; ``state``, if given, has taken all up to it. Once this
        returns it is done, exactly once. A `FencedError` says that another consumer has taken over.
        """
        ...

    def key(self, offset: str) -> Any:
        """What offsets are ordered by."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...
