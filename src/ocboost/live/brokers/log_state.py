"""What a log of requests and labels makes of a model: a function of what was deployed and of the log alone.

`LogState.take` takes the messages one after the other, each by itself. Time is what the messages say. So the
same log always gives the same answers and the same state, to the last bit, however often the consumer was
stopped or killed on the way, and however the messages came in groups.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from ocboost._core.codec import Fields, Tree
from ocboost._core.file_format import to_bytes
from ocboost.deployment.model import Model
from ocboost.errors import InputError
from ocboost.live.brokers.base import Message
from ocboost.live.brokers.messages import BadMessageError, Incoming, answer_of, read_message, refusal_of
from ocboost.live.brokers.waiting import GONE, Awaited, AwaitedLabels
from ocboost.live.clock import LAST_MOMENT
from ocboost.live.journal import Entry
from ocboost.live.rows import LabelReader, RowReader
from ocboost.live.state import LiveState, Predicted, predicted
from ocboost.live.versions import VersionsInMemory

LOG_STATE_KIND = "LogState"
_COUNTERS_KEPT = ("messages", "answers", "repeated", "refused", "since", "number")


@dataclass(frozen=True, slots=True)
class LogSettings:
    """What the state depends on beside the model and the log.

    Attributes
    ----------
    guard : bool
        Whether the guard decides who answers; otherwise the adapted model does.
    max_pending : int
        Predictions that may wait for their labels; the oldest are dropped.
    """

    guard: bool = False
    max_pending: int = 100_000


def _moment(time: float) -> float:
    """The time of a message; 0 where its producer or its id says something absurd."""
    return time if 0.0 <= time <= LAST_MOMENT else 0.0


def digest_of(model: Model) -> str:
    """What tells one model from another."""
    return hashlib.sha256(to_bytes(model.kind, model.tree())).hexdigest()


FOLLOWED = "log"  # an event in the history of a model that has followed a log


def origin_of(model: Model) -> str | None:
    """The digest of the model that this one was before it followed a log; None if it did something since."""
    last = model.history[-1] if model.history else {}
    began = last.get("began") if last.get("event") == FOLLOWED else None
    return began if isinstance(began, str) else None


class LogState:
    """The model in service, the predictions that wait, and the place in the log.

    Parameters
    ----------
    model : Model
        What is deployed.
    settings : LogSettings
    time : float
        Of the first message.
    """

    def __init__(self, model: Model, settings: LogSettings, time: float) -> None:
        self.model_digest = digest_of(model)
        self.time = _moment(time)
        self.live = LiveState(model, VersionsInMemory(), self.time)
        self.awaited = AwaitedLabels(settings.max_pending)
        self.offset = ""  # of the last message
        self.messages = self.answers = self.repeated = self.refused = 0
        self.since = self.number = 0  # predictions since the last label; of the last prediction
        self._prepare()
        self.follow(settings)

    def _prepare(self) -> None:
        adapted = self.live.adapted
        self.reader = RowReader(adapted)
        self.classes: list[Any] = adapted.classifier.classes_.tolist()
        self._labels = LabelReader(self.classes)
        self._names = [str(label) for label in self.classes]

    @property
    def settings(self) -> LogSettings:
        """The settings in force."""
        return LogSettings(self.live.guard, self.awaited.most)

    def follow(self, settings: LogSettings) -> None:
        """Follow other settings from here on."""
        if settings.guard != self.live.guard:
            command = json.dumps({"command": "guard", "on": settings.guard, "held_out": None})
            entry = Entry(self.live.seq + 1, command, None, -1, 0.0, -1, -1, -1, -1, 0, self.time, b"", None)
            self.live.apply(entry)
        self.awaited.most = settings.max_pending
        self.awaited.trim()

    # Messages ---------------------------------------------------------------------------------------------

    def take(self, message: Message, *, strict: bool = False) -> bytes | None:
        """Take the next message, and give the answer to it; None if it needs none.

        A message that cannot be used is answered by saying so. If ``strict`` it is a `BadMessageError`
        instead, and the state is as before.
        """
        try:
            answer = self._taken(message)
        except BadMessageError as error:
            if strict:
                raise
            self.refused += 1
            answer = refusal_of(error, message.offset)
        self.messages += 1
        self.offset = message.offset
        self.time = max(self.time, _moment(message.time))
        return answer

    def _taken(self, message: Message) -> bytes | None:
        incoming = read_message(message)
        code = None if incoming.label is None else self._code(incoming)
        X = None if incoming.row is None else self._features(incoming)
        now = max(self.time, _moment(message.time))
        if X is None:
            assert code is not None
            self._label(incoming, code, now)
            return None
        if code is None:
            return self._request(incoming, X, now, message.offset)
        return self._both(incoming, X, code, now, message.offset)

    def _code(self, incoming: Incoming) -> int:
        code = self._labels.code(incoming.label)
        if code is None:
            raise BadMessageError(
                "unknown_class",
                f"the label {incoming.label!r:.60} is no class of the model, which knows "
                f"{self.classes!s:.100}.",
                incoming.id,
            )
        return code

    def _features(self, incoming: Incoming) -> Any:
        try:
            return self.reader.features([incoming.row])
        except InputError as error:
            raise BadMessageError("bad_row", str(error).removeprefix("row 0: "), incoming.id) from None
        except Exception as error:  # one row must not stop the log for ever
            raise BadMessageError(
                "bad_row", f"the row could not be read ({type(error).__name__}).", incoming.id
            ) from error

    def _request(self, incoming: Incoming, X: Any, now: float, at: str) -> bytes:
        found = self._predicted(X, incoming)
        labelled = incoming.id is not None and self.awaited.past.get(incoming.id, GONE) != GONE
        if incoming.id is not None and not labelled:  # one that has its label already came twice
            self.awaited.add(incoming.id, self._issued(found, X, now))
        return self._answer(incoming, found, at)

    def _both(self, incoming: Incoming, X: Any, code: int, now: float, at: str) -> bytes | None:
        if incoming.id is not None and (
            incoming.id in self.awaited.waiting or self.awaited.past.get(incoming.id, GONE) != GONE
        ):  # answered before
            self._label(incoming, code, now)
            return None
        found = self._predicted(X, incoming)
        self._learn(incoming, code, self._issued(found, X, now), now)
        return None if incoming.id is None else self._answer(incoming, found, at)

    def _label(self, incoming: Incoming, code: int, now: float) -> None:
        """Learn the label of a request by its id."""
        id_ = incoming.id
        assert id_ is not None
        if id_ in self.awaited.waiting:
            one = self.awaited.take(id_)
            assert one is not None
            self._learn(incoming, code, one, now)
            return
        before = self.awaited.past.get(id_)
        if before is None:
            raise BadMessageError(
                "unknown_id",
                "no request with this id came before, or it is long ago. Send the label after the request, "
                "or with its row.",
                id_,
            )
        if before == GONE:
            raise BadMessageError(
                "expired",
                "the prediction of this id no longer waits, as there were too many. Send the label with its "
                "row.",
                id_,
            )
        if before != code:
            raise BadMessageError(
                "conflict",
                f"the label {self.classes[before]!r:.60} came before for this id; {self.classes[code]!r:.60} "
                "was not taken: what is learnt stays learnt.",
                id_,
            )
        self.repeated += 1

    def _predicted(self, X: Any, incoming: Incoming) -> Predicted:
        try:
            return predicted(self.live.serving, X, self.since)
        except Exception as error:  # one row must not stop the log for ever
            raise BadMessageError(
                "failed", f"the row could not be predicted ({type(error).__name__}).", incoming.id
            ) from error

    def _issued(self, found: Predicted, X: Any, now: float) -> Awaited:
        """A prediction that gets a label, now or later."""
        self.number += 1
        self.since += 1
        return Awaited(
            self.number,
            self.live.serving.epoch,
            self.live.seq,
            now,
            int(found.said[0]),
            int(found.answered[0]),
            X[0].tobytes(),
            None if found.kept is None else found.kept[0],
            found.shares[0].astype(np.float32).tobytes(),
        )

    def _answer(self, incoming: Incoming, found: Predicted, at: str) -> bytes:
        self.answers += 1
        label = self.classes[int(found.answered[0])]
        shares = found.probabilities[0].tolist()
        return answer_of(incoming.id, label, self._names, shares, self.live.serving.name, at)

    def _learn(self, incoming: Incoming, code: int, one: Awaited, now: float) -> None:
        self.live.apply(
            Entry(
                self.live.seq + 1, None, one.number, code, incoming.weight, one.epoch, one.seen, one.said,
                one.answered, self.since, now, one.features, one.kept, one.shares,
            )
        )  # fmt: skip
        self.since = 0
        if incoming.id is not None:
            self.awaited.ended(incoming.id, code)
            self.awaited.trim()

    # What it is -------------------------------------------------------------------------------------------

    def model_file(self) -> bytes:
        """The adapted model as a file, whose history has what it began as: so it is known again."""
        adapted = self.live.adapted
        event = {"event": FOLLOWED, "began": self.model_digest, "learnt": self.live.learnt}
        written = Model(adapted.classifier, None, [*adapted.history, event])
        return to_bytes(written.kind, written.tree())

    def facts(self) -> dict[str, Any]:
        """Plain facts."""
        return {
            **self.live.facts(),
            "messages": self.messages,
            "answers": self.answers,
            "repeated": self.repeated,
            "refused": self.refused,
            "pending": len(self.awaited.waiting),
        }

    def tree(self) -> Tree:
        """What is committed with the place in the log."""
        return {
            **{key: getattr(self, key) for key in _COUNTERS_KEPT},
            "model_digest": self.model_digest,
            "offset": self.offset,
            "time": self.time,
            "live": self.live.tree(),
            "awaited": self.awaited.tree(self.reader.n_features, len(self.classes)),
        }

    @classmethod
    def from_tree(cls, fields: Fields) -> LogState:
        """A state from what `tree` gave; anything inconsistent is a `ModelFileError`."""
        state = cls.__new__(cls)
        for key in _COUNTERS_KEPT:
            setattr(state, key, fields.count(key))
        state.model_digest = fields.text("model_digest", 64)
        state.offset = fields.text("offset", 100)
        state.time = fields.number("time", 0.0, 1e300)
        state.live = fields.read("live", lambda one: LiveState.from_tree(one, VersionsInMemory()))
        fields.require(state.live.held_out is None, "its held-out rows are not there")
        state._prepare()
        for number in {state.live.deployed, *state.live.judged}:
            clf = state.live.versions.model(number).classifier
            same = clf.classes_.tolist() == state.classes and clf._n_encoded == state.reader.n_features
            fields.require(same, f"version {number} has other classes or features")
        limits = {"number": state.number, "epoch": state.live.epoch, "seen": state.live.seq}
        state.awaited = fields.read(
            "awaited",
            lambda one: AwaitedLabels.from_tree(one, state.reader, len(state.classes), limits),
        )
        return state
