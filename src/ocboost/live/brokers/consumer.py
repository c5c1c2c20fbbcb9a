"""Follows a log: reads, answers, learns, and commits answers, place and state together.

Nothing here knows a particular broker. What the model becomes, and what it answers, depends on the log alone
(`ocboost.live.brokers.log_state`); clocks only say when to save, and when to give up waiting.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ocboost._core.codec import read
from ocboost._core.file_format import from_bytes, to_bytes
from ocboost.deployment.model import Model
from ocboost.errors import InputError, ModelFileError
from ocboost.live.brokers.base import AwayError, Broker, BrokerError, Message, Resumed
from ocboost.live.brokers.log_state import LOG_STATE_KIND, LogSettings, LogState, digest_of, origin_of
from ocboost.live.brokers.messages import BadMessageError

MESSAGES_PER_COMMIT = 200
WAIT_SECONDS = 0.5  # for messages, between two looks at signals
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds between two attempts to reach a broker
_MOMENT = 0.1

Result = TypeVar("Result")


class EndedEarlyError(Exception):
    """Somebody has asked to end before all that was read could be committed; nothing is lost."""


@dataclass(frozen=True, slots=True)
class FollowSettings:
    """How to follow a log; none of it changes what is answered and learnt.

    Attributes
    ----------
    checkpoint_messages, checkpoint_seconds
        The state is committed after so many messages or seconds, whichever comes first.
    idle : float or None
        End when nothing has come for so many seconds; a broker that cannot be reached for so long is an
        error.
    strict : bool
        Stop at a message that cannot be used, instead of answering that it cannot.
    """

    checkpoint_messages: int = 50_000
    checkpoint_seconds: float = 30.0
    idle: float | None = None
    strict: bool = False


def _nothing(*_: object) -> None:
    pass


@dataclass
class Hooks:
    """What the consumer tells others.

    Attributes
    ----------
    asked : callable
        Whether somebody has asked to end.
    say : callable
        Takes a sentence for people.
    saved : callable
        Called with the model's file when the state that holds it is committed.
    progress : callable
        Called with the state after each commit.
    """

    asked: Callable[[], bool] = lambda: False
    say: Callable[[str], None] = _nothing
    saved: Callable[[bytes], None] = _nothing
    progress: Callable[[LogState], None] = _nothing


class Consumer:
    """One model that follows one log.

    Parameters
    ----------
    broker : Broker
    model : Model
        What is deployed, or what a consumer of this log has written; a state that began with another is
        refused.
    settings : LogSettings
        What the state depends on. Where they differ from those of the state, they hold from there on.
    following : FollowSettings
    hooks : Hooks

    Attributes
    ----------
    state : LogState or None
        None until the first message came.
    """

    def __init__(
        self,
        broker: Broker,
        model: Model,
        settings: LogSettings | None = None,
        following: FollowSettings | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        self.state: LogState | None = None
        self._broker, self._model = broker, model
        self._known = {digest_of(model), origin_of(model)}
        self._settings = settings or LogSettings()
        self._following = following or FollowSettings()
        self._hooks = hooks or Hooks()
        self._unsaved = 0  # messages since the state was committed
        self._saved_at = time.monotonic()

    @property
    def _after(self) -> str | None:
        return None if self.state is None else self.state.offset

    # Beginning --------------------------------------------------------------------------------------------

    def begin(self, *, afresh: bool = False) -> None:
        """Take over the log, and come to where the last consumer was.

        ``afresh`` begins anew with this model and the first message that is there; what was answered is
        not answered again.
        """
        resumed = self._patiently(lambda: self._broker.take_over(afresh=afresh))
        for note in resumed.notes:
            self._hooks.say(note)
        if resumed.state is not None:
            self.state = self._resumed(resumed, resumed.state)
            self._hooks.saved(self.state.model_file())  # the last consumer may have ended before it did
        self._saved_at = time.monotonic()
        self._replay(resumed)
        if self.state is not None and self.state.settings != self._settings:
            self.state.follow(self._settings)
            self._commit([], save=True)

    def _resumed(self, resumed: Resumed, data: bytes) -> LogState:
        name = f"the state of {self._broker.name}"
        try:
            state = read(from_bytes(data, LOG_STATE_KIND, name), name, LogState.from_tree)
        except ModelFileError as error:
            raise ModelFileError(f"{error} Restore it in the broker, or start over with --restart.") from None
        if state.offset != resumed.after:
            raise BrokerError(f"{name} is of another place than it should be. Start over with --restart.")
        if state.model_digest not in self._known:
            raise InputError(
                f"{name} belongs to another model than MODEL. Give the one that it began with, or the file "
                "of --out, with the same settings as then; --restart begins anew with this one."
            )
        return state

    def _replay(self, resumed: Resumed) -> None:
        """Take the messages again that were answered after the state was saved."""
        if resumed.answered is None:
            return
        key = self._broker.key
        end = key(resumed.answered)
        while self._after is None or key(self._after) < end:
            if self._hooks.asked():
                raise EndedEarlyError
            messages = self._next(WAIT_SECONDS)
            for message in messages:
                if key(message.offset) > end:
                    break
                self._take(message)
            if not messages or key(messages[-1].offset) >= end:
                break
        if resumed.state is not None and self._after != resumed.answered:
            raise BrokerError(
                f"{self._broker.name} no longer has the message {resumed.answered}, which was answered. "
                "Start over with --restart."
            )

    # Following --------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Answer and learn until somebody asks to end, or nothing comes for long; then save."""
        idle_since = time.monotonic()
        while not self._hooks.asked():
            messages = self._next(min(WAIT_SECONDS, self._following.idle or WAIT_SECONDS))
            now = time.monotonic()
            if messages:
                self._answer(messages)
                idle_since = time.monotonic()
            elif self._following.idle is not None and now - idle_since >= self._following.idle:
                break
            elif self._is_due():
                self._commit([], save=True)
        if self._unsaved:
            self._commit([], save=True)

    def _answer(self, messages: list[Message]) -> None:
        answers = []
        problem = None
        for message in messages:
            try:
                answer = self._take(message, strict=self._following.strict)
            except BadMessageError as error:
                problem = message.offset, error
                break
            if answer is not None:
                answers.append((message.offset, answer))
        if problem is None or (self._unsaved and self._after):
            self._commit(answers, save=self._is_due() or problem is not None)
        if problem is not None:
            raise InputError(
                f"the message {problem[0]} of {self._broker.name} cannot be used ({problem[1].code}): "
                f"{problem[1]} What came before is answered and saved. Without --on-bad-row stop it is "
                "answered that it cannot be used, and the log goes on."
            )

    def _take(self, message: Message, *, strict: bool = False) -> bytes | None:
        if self.state is None:
            self.state = LogState(self._model, self._settings, message.time)
            self._unsaved = self._following.checkpoint_messages  # the first commit says which model it is
        answer = self.state.take(message, strict=strict)
        self._unsaved += 1
        return answer

    def _is_due(self) -> bool:
        due = time.monotonic() - self._saved_at >= self._following.checkpoint_seconds
        return self._unsaved >= self._following.checkpoint_messages or (due and self._unsaved > 0)

    def _next(self, seconds: float) -> list[Message]:
        return self._patiently(lambda: self._broker.read(self._after, MESSAGES_PER_COMMIT, seconds))

    def _commit(self, answers: list[tuple[str, bytes]], *, save: bool) -> None:
        state = self.state
        assert state is not None
        data = file = None
        if save:
            file = state.model_file()
            data = to_bytes(LOG_STATE_KIND, state.tree())
        self._patiently(lambda: self._broker.commit(answers, state.offset, data))
        if file is not None:
            self._unsaved, self._saved_at = 0, time.monotonic()
            self._hooks.saved(file)
        self._hooks.progress(state)

    # A broker that is away --------------------------------------------------------------------------------

    def _patiently(self, call: Callable[[], Result]) -> Result:
        """Call again until the broker can be reached, or somebody asks to end."""
        pause, began, told = FIRST_PAUSE, time.monotonic(), False
        while True:
            try:
                result = call()
            except AwayError as error:
                if not told:
                    self._hooks.say(f"{error} Trying again.")
                    told = True
                idle = self._following.idle
                if idle is not None and time.monotonic() - began >= idle:
                    raise
            else:
                if told:
                    self._hooks.say(f"{self._broker.name} can be reached again.")
                return result
            until = time.monotonic() + pause
            while (left := until - time.monotonic()) > 0:
                if self._hooks.asked():
                    raise EndedEarlyError
                time.sleep(min(_MOMENT, left))
            pause = min(2 * pause, LONGEST_PAUSE)
