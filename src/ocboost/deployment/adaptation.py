"""A model on its way through a stream: predict, then learn, and a checkpoint that any end leaves whole."""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from pathlib import Path
from typing import Any, Self

import numpy as np

from ocboost._core.codec import Fields, Tree, read
from ocboost._core.interrupts import uninterrupted
from ocboost._core.storage import load, save
from ocboost.deployment.model import Model
from ocboost.deployment.resume import remember
from ocboost.errors import InputError
from ocboost.estimators.committee import winners
from ocboost.streams.rows import Rows, UnseenLabelError

KIND = "Adaptation"
RECENT = 1000


class Adaptation:
    """A model, how far it has come in a stream, and how often it was right on the way.

    Saved, it is a checkpoint: it goes on from there exactly as if it had never stopped.

    Parameters
    ----------
    model : Model
    origin : dict
        What makes this run this one, in words of JSON: the model it began with, the stream, the settings.
    first : int, default 0
        The row of the stream it begins at.
    leave_unseen : bool, default False
        Whether rows of a class that the model does not know are left out, or an error.

    Attributes
    ----------
    rows : int
        The row of the stream it has come to.
    learnt : int
        Rows that had a label, and were learnt.
    confusion : array of shape (K, K)
        How often class i, by its label, was predicted as class j before it was learnt.
    finished : bool
        Whether the stream has ended.
    """

    def __init__(
        self, model: Model, origin: dict[str, Any], *, first: int = 0, leave_unseen: bool = False
    ) -> None:
        self.model = model
        self.origin = origin
        self.first = self.rows = first
        self.leave_unseen = leave_unseen
        self.learnt = 0
        self.finished = False
        K = len(model.classifier.classes_)
        self.confusion = np.zeros((K, K), np.int64)
        self._recent: deque[bool] = deque(maxlen=RECENT)

    def take(self, batch: Rows, step: int = 1) -> None:
        """Predict rows of a stream, then learn from those with a label, ``step`` rows at a time."""
        if batch.y is None:
            raise InputError("the stream must have a label column to learn from; name it with --label.")
        clf = self.model.classifier
        try:
            rows = batch.coded(clf.classes_.tolist(), leave_unseen=self.leave_unseen)
        except UnseenLabelError as error:  # whole steps before it are learnt
            before = batch[: error.place // step * step]
            if len(before):
                self.take(before, step)
            raise self._unseen(error) from None
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            end, part = part.first + len(part), part.labelled()
            if not len(part):
                self.rows = end
                continue
            guesses = winners(clf.votes_of(part)).tolist()
            with uninterrupted():  # what is learnt is counted
                clf.learn_rows(part)
                self._count(part.codes.tolist(), guesses)
                self.rows = end

    def _count(self, truth: list[int], guesses: list[int]) -> None:
        self.learnt += len(truth)
        for code, guess in zip(truth, guesses, strict=True):
            self.confusion[code, int(guess)] += 1
            self._recent.append(code == guess)

    def _unseen(self, error: UnseenLabelError) -> InputError:
        classes = self.model.classifier.classes_.tolist()
        return InputError(
            f"the label {error.label!r:.60} in row {error.row} (the first is row 0) is no class of the "
            f"model, which knows {classes!s:.100}. Leave such rows out with --leave-unseen, or fit a model "
            "that knows it (fit --classes)."
        )

    @property
    def accuracy(self) -> float | None:
        """The share of right predictions; None before the first."""
        total = int(self.confusion.sum())
        return int(np.trace(self.confusion)) / total if total else None

    @property
    def recent_accuracy(self) -> float | None:
        """The same over the last 1,000 (after a resumption: those since then)."""
        return sum(self._recent) / len(self._recent) if self._recent else None

    def finish(self, stream: str, covered: dict[str, Any] | None = None) -> None:
        """Note in the model's history what it has been through; the stream has ended.

        Parameters
        ----------
        stream : str
            Its name.
        covered : dict, optional
            What it is known by when it has grown, see `ocboost.deployment.resume`.
        """
        if not self.finished:
            remember(
                self.model.history,
                {
                    "event": "adapt",
                    "stream": stream,
                    "rows": self.rows - self.first,
                    "learnt": self.learnt,
                    "accuracy": self.accuracy,
                    "model": self.origin.get("model"),
                    "run": run_id(self.origin),
                },
                covered,
            )
        self.finished = True

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save as a checkpoint; an older one stays until this one is whole.

        A model that no file can hold (`Model.save`) is a `NotSavableError`; save before the first batch, and
        it is known then.
        """
        save(path, KIND, self.tree())

    def tree(self) -> Tree:
        """What a file holds."""
        return {
            "model": self.model.tree(),
            "origin": self.origin,
            **{key: getattr(self, key) for key in ("first", "rows", "learnt", "leave_unseen", "finished")},
            "confusion": self.confusion,
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a checkpoint. Nothing in a file is executed."""
        return read(load(path, KIND), os.fspath(path), cls.from_tree)

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """A checkpoint of what `tree` gave; whatever makes no sense is a `ModelFileError`."""
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
        return adaptation


def run_id(origin: dict[str, Any]) -> str:
    """A name for a run: the same stream and settings give the same one, whatever the model it began with."""
    named = {key: value for key, value in origin.items() if key not in ("model", "before")}
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()


def model_digest(path: str | os.PathLike[str]) -> str:
    """What a model's file is, as SHA-256."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
