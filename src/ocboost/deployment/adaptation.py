"""Adapting a model to a stream: predict each row, then learn it, with checkpoints."""

from __future__ import annotations

import copy
import hashlib
import json
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import MAX_COUNT, Fields, Tree, read
from ocboost._core.file_format import load, save
from ocboost._core.metrics import Tally
from ocboost._ctrl_c import uninterrupted
from ocboost.deployment.model import CHECKPOINT_KIND, Model
from ocboost.deployment.resume import Covered, add_event
from ocboost.deployment.watched import WatchedRun
from ocboost.errors import InputError
from ocboost.estimators.adaptive.classifier import AdaptiveClassifier
from ocboost.estimators.committee import probabilities
from ocboost.streams.bad_rows import BadRow, BadRows
from ocboost.streams.rows import Rows, UnseenLabelError

RECENT_PREDICTIONS = 1000
LOG_KEY = "log"  # of a run's origin: the records of the files of a log that it follows
LOG_SINCE_KEY = "log_since"  # the time of the log when it began
_NOT_OF_ITS_ID = ("model", "before", "files", "on_bad_row", LOG_KEY, LOG_SINCE_KEY)  # of a run's origin

Answered = tuple[NDArray[np.intp], NDArray[np.float64]]  # the classes of rows, and the probability of each


class Adaptation:
    """A model, its place in a stream, and how often it was right on the way.

    Saved, it is a checkpoint: it resumes from there exactly as if it had never stopped.

    ``origin`` identifies the run, as JSON: the model it began with, the stream, the settings. ``first`` is
    the row of the stream it begins at. Rows of a class that the model does not know are left out with
    ``leave_unseen``, else an error.

    ``on_answer`` is called for each row in turn when it has been learnt, with the code and the probability
    of the class that was predicted before; without it, rows without a label are not predicted.
    ``bad_rows`` has the rows that the stream has left out, and ``on_bad_row`` is called for these in turn.
    ``watched`` is told what was predicted of each row that has a label, if a page is wanted.
    """

    def __init__(
        self, model: Model, origin: dict[str, Any], *, first: int = 0, leave_unseen: bool = False
    ) -> None:
        self.model = model
        self.origin = origin
        self.first = self.rows = first  # rows: the next row of the stream
        self.leave_unseen = leave_unseen
        self.learnt = 0  # rows that had a label
        self.finished = False  # whether the stream has ended
        K = len(model.classifier.classes_)
        self.confusion = np.zeros((K, K), np.int64)  # how often class i was predicted as j, before learning
        self.tally = Tally(K)  # the same with the probabilities, up to the last batch
        self.on_answer: Callable[[int, float], None] | None = None
        self.on_bad_row: Callable[[BadRow], None] | None = None
        self.bad_rows = BadRows()
        self.left_out: dict[str, int] = {}  # how many rows were left out, by the reason
        self.outputs: dict[str, int] = {}  # how many bytes were written to other files, by what is in them
        self.watched: WatchedRun | None = None
        self._taken: Rows | None = None  # the batch that is being taken
        self._said: list[tuple[Any, Any, Any]] = []  # probabilities or votes, codes and guesses of this one
        self._recent: deque[bool] = deque(maxlen=RECENT_PREDICTIONS)

    def take(self, batch: Rows, step: int = 1) -> None:
        """Predict rows of a stream, then learn from those with a label, ``step`` rows at a time."""
        if batch.y is None and self.on_answer is None and len(batch):
            raise InputError("the stream must have a label column to learn from; name it with --label.")
        clf = self.model.classifier
        try:
            rows = batch.coded(clf.classes_.tolist(), leave_unseen=self.leave_unseen)
        except UnseenLabelError as error:  # complete steps before it are learnt
            before = batch[: error.place // step * step]
            if len(before):
                self.take(before, step)
            raise InputError(
                f"the label {error.label!r:.60} in row {error.row} (the first is row 0) is no class of the "
                f"model, which knows {clf.classes_.tolist()!s:.100}. Leave such rows out with "
                "--leave-unseen, or fit a model that knows it (fit --classes)."
            ) from None
        self._taken = rows
        try:
            for start in range(0, len(rows), step):
                self._take_part(rows[start : start + step])
            self.pass_bad_rows()
        finally:
            self._count_probabilities()

    def _take_part(self, rows: Rows) -> None:
        """Predict rows, then learn from those with a label, and give the answers."""
        part = rows.labelled()
        if self.on_answer is None:
            if len(part):
                self._learn_part(part, rows.end)
            self.rows = rows.end
        else:
            others = None
            if len(part) < len(rows):
                others = self.model.answers_to(rows[~rows.known])  # of the model before it learns
            with uninterrupted():  # what is learnt is answered
                found = self._learn_part(part, rows.end) if len(part) else None
                self.rows = rows.end
                self._give_answers(self.on_answer, rows, found, others)
        self._give_bad_rows(self.rows)

    def _give_answers(
        self,
        give: Callable[[int, float], None],
        rows: Rows,
        labelled: Answered | None,
        others: Answered | None,
    ) -> None:
        """Give what was predicted for rows, some of them labelled, in turn with those that were left out."""
        if len(rows) == 1 and (only := labelled or others) is not None:  # much quicker
            code = int(only[0][0])
            self._give_bad_rows(rows.first)
            give(code, float(only[1][0, code]))
            return
        codes, shares, known = np.empty(len(rows), np.intp), np.empty(len(rows)), rows.known
        for members, answered in ((known, labelled), (~known, others)):
            if answered is not None:
                found, table = answered
                codes[members], shares[members] = found, table[np.arange(len(found)), found]
        for number, code, share in zip(rows.rows.tolist(), codes.tolist(), shares.tolist(), strict=True):
            self._give_bad_rows(number)
            give(code, share)

    def pass_bad_rows(self) -> None:
        """Go past rows that the stream has left out and that come next."""
        while self.bad_rows.waiting and self.bad_rows.waiting[0].number <= self.rows:
            self.rows += self.bad_rows.waiting[0].number == self.rows
            self._give_bad_rows(self.rows)

    def _give_bad_rows(self, end: int) -> None:
        """Count and give the rows before one that were left out."""
        waiting = self.bad_rows.waiting
        while waiting and waiting[0].number < end:
            bad = waiting.popleft()
            self.left_out[bad.reason] = self.left_out.get(bad.reason, 0) + 1
            if self.on_bad_row is not None:
                self.on_bad_row(bad)

    def _learn_part(self, part: Rows, end: int) -> Answered | None:
        """Predict labelled rows, then learn them: what was predicted, if somebody wants to know."""
        clf = self.model.classifier
        said = guesses = None
        if not isinstance(clf, AdaptiveClassifier):
            said = clf.votes_of(part)
            guesses = clf.decided_by_votes(said)
        with uninterrupted():  # what is learnt is counted
            if isinstance(clf, AdaptiveClassifier):  # what it predicts it remembers, by the row's number
                said = clf.probabilities_of(part)
                guesses = clf.decided(said, part.X)
            assert said is not None
            assert guesses is not None
            clf.learn_rows(part)
            self.learnt += len(part)
            self._said.append((said, part.codes, guesses))
            for code, guess in zip(part.codes.tolist(), guesses.tolist(), strict=True):
                self.confusion[code, guess] += 1
                self._recent.append(code == guess)
            self.rows = end
        if self.on_answer is None:
            return None
        return guesses, said if isinstance(clf, AdaptiveClassifier) else probabilities(said)

    def _count_probabilities(self) -> None:
        """Count what was said of the rows of a batch."""
        with uninterrupted():
            if self._said:
                said, codes, guesses = (np.concatenate(each) for each in zip(*self._said, strict=True))
                adaptive = isinstance(self.model.classifier, AdaptiveClassifier)
                shares = said if adaptive else probabilities(said)
                self.tally.add(shares, codes, guesses)
                if self.watched is not None and self._taken is not None:
                    self.watched.take(self._taken.labelled()[: len(codes)], shares, codes, guesses)
                self._said = []
            self._taken = None

    @property
    def accuracy(self) -> float | None:
        """The share of right predictions; None before the first."""
        total = int(self.confusion.sum())
        return int(np.trace(self.confusion)) / total if total else None

    @property
    def recent_accuracy(self) -> float | None:
        """The same over the last 1,000 (after a resumption: those since then)."""
        return sum(self._recent) / len(self._recent) if self._recent else None

    @property
    def recalls(self) -> list[float | None]:
        """The share of each class's rows that were predicted right; None where none came."""
        counts = self.confusion.sum(axis=1).tolist()
        right = self.confusion.diagonal().tolist()
        return [hits / n if n else None for hits, n in zip(right, counts, strict=True)]

    def finish(self, stream: str, covered: Covered = None) -> None:
        """The stream has ended: add it to the model's history.

        ``stream`` is its name, ``covered`` the record by which it is recognised when it has grown
        (`coverage_record` of `ocboost.deployment.resume`, or `file_records`).
        """
        if not self.finished:
            add_event(self.model.history, self._event(stream), covered)
        self.finished = True

    def _event(self, stream: str) -> dict[str, Any]:
        return {
            "event": "adapt",
            "stream": stream,
            "rows": self.rows - self.first,
            "learnt": self.learnt,
            "accuracy": self.accuracy,
            "model": self.origin.get("model"),
            "run": run_id(self.origin),
        }

    def save_model(self, path: str | os.PathLike[str], stream: str, covered: Covered = None) -> None:
        """Save the model as it is now, as if the stream ended here, see `finish`."""
        model = copy.copy(self.model)
        model.history = list(model.history)
        if not self.finished:
            add_event(model.history, self._event(stream), covered)
        model.save(path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save as a checkpoint; an older one stays until this one is complete.

        A model that no file can hold (`Model.save`) is a `NotSavableError`; to know that in time, save before
        the first batch.
        """
        save(path, CHECKPOINT_KIND, self.tree())

    def tree(self) -> Tree:
        """What a file holds."""
        self._count_probabilities()  # those of a batch that was interrupted
        return {
            "model": self.model.tree(),
            "origin": self.origin,
            **{key: getattr(self, key) for key in ("first", "rows", "learnt", "leave_unseen", "finished")},
            "confusion": self.confusion,
            "tally": self.tally.tree(),
            **({"left_out": dict(self.left_out)} if self.left_out else {}),
            **({"outputs": dict(self.outputs)} if self.outputs else {}),
            **({"watched": self.watched.tree()} if self.watched is not None else {}),
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a checkpoint. Nothing in a file is executed."""
        return read(load(path, CHECKPOINT_KIND), os.fspath(path), cls.from_tree)

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """A checkpoint from what `tree` gave; anything inconsistent is a `ModelFileError`."""
        origin = fields.take("origin")
        fields.require(isinstance(origin, dict), "its origin is not known")
        adaptation = cls(
            fields.read("model", Model.from_tree),
            origin,
            first=fields.count("first"),
            leave_unseen=fields.flag("leave_unseen"),
        )
        adaptation.rows, adaptation.learnt = fields.count("rows", adaptation.first), fields.count("learnt")
        adaptation.finished = fields.flag("finished")
        fields.fill({"confusion": adaptation.confusion})
        fields.require((adaptation.confusion >= 0).all(), "its counts make no sense")
        if "tally" in fields:  # older ones have none, and count from here on
            K = len(adaptation.confusion)
            adaptation.tally = fields.read("tally", lambda one: Tally.from_tree(one, K))
        for key in ("left_out", "outputs"):  # older ones have none
            if key in fields:
                setattr(adaptation, key, fields.read(key, _counts))
        if "watched" in fields:
            model = adaptation.model
            adaptation.watched = fields.read("watched", lambda one: WatchedRun.from_tree(one, model))
        return adaptation


def _counts(fields: Fields) -> dict[str, int]:
    """A number for each of some names."""
    found = fields.rest()
    whole = all(type(n) is int and 0 <= n <= MAX_COUNT for n in found.values())
    fields.require(whole, "its counts make no sense")
    return found


def run_id(origin: dict[str, Any]) -> str:
    """Identifies a run by its stream and settings; the model it began with and other files do not count."""
    named = {key: value for key, value in origin.items() if key not in _NOT_OF_ITS_ID}
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()


def model_digest(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a model's file."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
