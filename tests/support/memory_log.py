"""A broker in memory that crashes, and loses connections, where a test says so; and messages for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ocboost.live.brokers.base import AwayError, FencedError, Message, Resumed
from tests.support import live


class Killed(BaseException):
    """The consumer was killed here."""


@dataclass
class MemoryServer:
    """What a broker keeps: the log, the answers, the place, the state."""

    log: list[bytes] = field(default_factory=list)
    answers: list[tuple[str, bytes]] = field(default_factory=list)
    answered: str | None = None
    after: str | None = None
    state: bytes | None = None
    epoch: int = 0


class MemoryLog:
    """A `Broker`; ``trouble(what)`` is called before and after each step, and may raise."""

    name, predictions = "memory", "a list"

    def __init__(self, server: MemoryServer, trouble: Callable[[str], None] = lambda what: None) -> None:
        self.server, self.trouble = server, trouble
        self.epoch = 0
        self.commits: list[tuple[int, bool]] = []  # answers, and whether the state was among it

    def take_over(self, *, afresh: bool = False) -> Resumed:
        self.trouble("take over")
        server = self.server
        server.epoch += 1
        self.epoch = server.epoch
        if afresh:
            server.state = server.after = None
        return Resumed(server.state, server.after, server.answered)

    def read(self, after: str | None, most: int, seconds: float) -> list[Message]:
        self.trouble("read")
        start = 0 if after is None else int(after)
        found = self.server.log[start : start + most]
        return [Message(str(i), i / 10, data) for i, data in enumerate(found, start + 1)]

    def commit(self, answers: Sequence[tuple[str, bytes]], after: str, state: bytes | None = None) -> None:
        self.trouble("before a commit")
        server = self.server
        if server.epoch != self.epoch:
            raise FencedError("another consumer has taken over memory.")
        if server.answered != after or not answers:
            server.answers += answers
            server.answered = after
            if state is not None:
                server.state, server.after = state, after
            self.commits.append((len(answers), state is not None))
        self.trouble("after a commit")

    def key(self, offset: str) -> int:
        return int(offset)

    def close(self) -> None:
        pass


def away(what: str) -> AwayError:
    return AwayError(f"memory cannot be reached ({what}).")


def as_json(**parts: Any) -> bytes:
    return json.dumps(parts).encode()


def request(number: int, **parts: Any) -> bytes:
    """The request of a row of `tests.support.live`."""
    return as_json(id=f"q{number}", row=live.records()[number % 200], **parts)


def label(number: int, **parts: Any) -> bytes:
    """Its label."""
    return as_json(id=f"q{number}", **{"label": live.labels()[number % 200], **parts})


def mixed_log(n: int = 60, delay: int = 7) -> list[bytes]:
    """Requests and late labels; some come twice, some are wrong, some have both."""
    log = []
    for i in range(n):
        log.append(request(i))
        if i >= delay:
            log.append(label(i - delay))
        if i % 10 == 3:
            log += [label(i - 3), request(1000 + i, label=live.labels()[(1000 + i) % 200]), b"{"]
        if i % 10 == 7:
            log += [as_json(row=live.records()[i], label="yes", weight=2), label(i - 2, label="perhaps")]
        if i % 10 == 9:
            log += [request(i - 1), as_json(id="nobody", label="no"), as_json(row=live.records()[i])]
    return log
