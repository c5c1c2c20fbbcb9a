"""`Adapter`: a model that answers and learns while it is in service, and loses nothing."""

from __future__ import annotations

import copy
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ocboost._core.checks import as_count, as_number
from ocboost._core.file_format import to_bytes
from ocboost.deployment.model import Model
from ocboost.errors import ClosedError, InputError, NotSavableError
from ocboost.estimators.adaptive.classifier import AdaptiveClassifier
from ocboost.estimators.adaptive.file import left_out
from ocboost.estimators.classifier import OCBClassifier
from ocboost.live.answers import Answers, LabelReport, Rejected
from ocboost.live.clock import LiveClock
from ocboost.live.held_out import HeldOut
from ocboost.live.journal import MAX_ID_LENGTH
from ocboost.live.opening import held, open_state
from ocboost.live.rows import LabelReader, RowReader
from ocboost.live.state import predicted
from ocboost.live.watching import Watching, versions_of
from ocboost.live.writer import Command, Issue, LabelSet, Limits, OneLabel, Writer, require_id

logger = logging.getLogger("ocboost.live")

MAX_LABEL_WEIGHT = 1e6


class Adapter:
    """A model in service: it answers rows, learns from labels however late they come, and loses nothing.

    Every prediction gets an id and waits on the disk for its label. Labels enter a journal before they are
    acknowledged; the model is the last checkpoint and the journal after it. Killed at any moment and started
    again, it is the same to the last bit. Any number of threads may use it.

    The deployed model, the adapted one and its last good versions are judged on the same labels, and the
    guard decides who answers: the adapted one once it has done better, and only while it is not worse.

    Parameters
    ----------
    model : path, Model or fitted classifier
        What is deployed. If the folder holds a state already, it must be the same again, and the state
        continues.
    state : path
        A folder, which is made if it is not there. One process at a time may use it.
    guard : bool, default True
        Whether to judge; without, the adapted model always answers.
    held_out : path, or (X, y), optional
        Trusted rows with labels, which judge instead of the labels that come: a file, or rows as `predict`
        takes them with their labels.
    max_pending : int, default 1,000,000
        Predictions that wait for their labels. The oldest are dropped when there are more,
    max_pending_bytes : int, default 4 GiB
        or when they take more room,
    max_days : float, default 30
        or when they have waited longer.
    keep_labels : int, default 100,000
        Labels to keep in the journal after they are in a checkpoint.
    checkpoint_labels : int, default 2,000
        Write a checkpoint after so many labels,
    checkpoint_seconds : float, default 60
        or after so many seconds.

    Attributes
    ----------
    classes : list
        The labels.
    columns : list of str, or None
        The columns it reads; None for a model that was fitted on nameless features.
    schema : Schema, or None
        What they are.
    n_features : int
        Features after encoding.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from ocboost import OCBClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = OCBClassifier(n_hypotheses=10, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder, Adapter(clf, folder) as adapter:
    ...     answers = adapter.predict(X[:2].to_dict("records"))
    ...     report = adapter.label([{"id": id_, "label": 0} for id_ in answers.ids])
    >>> answers.labels, report.accepted
    ([0, 0], 2)
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | Model | OCBClassifier | AdaptiveClassifier,
        state: str | os.PathLike[str],
        *,
        guard: bool = True,
        held_out: Any = None,
        max_pending: int = 1_000_000,
        max_pending_bytes: int = 1 << 32,
        max_days: float = 30.0,
        keep_labels: int = 100_000,
        checkpoint_labels: int = 2_000,
        checkpoint_seconds: float = 60.0,
    ) -> None:
        limits = Limits(
            as_count(max_pending, "max_pending", 1, None, ""),
            as_count(max_pending_bytes, "max_pending_bytes", 1, None, ""),
            as_number(max_days, "max_days", 1e-6, 36_500.0, ""),
            as_count(keep_labels, "keep_labels", 0, None, ""),
            as_count(checkpoint_labels, "checkpoint_labels", 1, None, ""),
            as_number(checkpoint_seconds, "checkpoint_seconds", 0.0, 1e9, ""),
        )
        deployed = as_model(model)
        self.classes: list[Any] = deployed.classifier.classes_.tolist()
        self._reader, self._labels = RowReader(deployed), LabelReader(self.classes)
        self.columns, self.schema, self.n_features = (
            self._reader.columns,
            self._reader.schema,
            self._reader.n_features,
        )
        rows = None if held_out is None else self._held_out(held_out)
        self._folder = Path(state)
        self._counting = threading.Lock()
        with ExitStack() as opened:
            opened.enter_context(held(self._folder))
            journal, live, clock, replayed_from = open_state(self._folder, deployed, opened)
            self._writer = Writer(self._folder, journal, live, clock, limits, replayed_from)
            self._state = live
            self._watching = Watching(self._writer, self.schema, self.classes, self._in_turn)
            self._set_guard(bool(guard), rows)
            self._writer.start_again()
            self._opened = opened.pop_all()

    def _set_guard(self, on: bool, rows: HeldOut | None) -> None:
        """Follow the arguments where they differ from what the state was judged by."""
        digest = None if rows is None or not on else rows.sha256
        before = None if self._state.held_out is None else self._state.held_out.sha256
        if (on, digest) == (self._state.guard, before):
            return
        if rows is not None:
            rows.save(self._folder)
        elif before is not None:
            logger.warning("held-out rows judged this state before; from now on the labels that come do.")
        self._writer.obey({"command": "guard", "on": on, "held_out": digest})

    def _held_out(self, given: Any) -> HeldOut:
        from ocboost.live.held_out import read_held_out

        if isinstance(given, str | os.PathLike):
            return read_held_out(given, self._reader.schema, self._labels)
        X, y = given
        codes = [self._labels.code(label) for label in (y.tolist() if hasattr(y, "tolist") else y)]
        return HeldOut.of(self._reader.features(X), codes, self.classes)

    # Answering --------------------------------------------------------------------------------------------

    def predict(self, rows: Any, ids: Sequence[str] | None = None, *, issue: bool = True) -> Answers:
        """Predict rows; returns once the predictions are on the disk.

        Parameters
        ----------
        rows : list of dict, array of shape (n, n_features), list of lists, or table
            Values by column; or features as the model has them after encoding.
        ids : sequence of n texts, optional
            Your own ids; a prediction that waits under the same id is replaced. By default new ones.
        issue : bool, default True
            Whether labels will come. Otherwise nothing is kept, and nothing is written.

        Returns
        -------
        Answers
            The classes and their probabilities.
        """
        return self.predict_soon(rows, ids, issue=issue).result()

    def predict_soon(
        self, rows: Any, ids: Sequence[str] | None = None, *, issue: bool = True
    ) -> Future[Answers]:
        """Predict rows, as a future: predicted at once, resolved when the predictions are on the disk.

        Parameters
        ----------
        rows : list of dict, array, list of lists, or table
            As of `predict`, like those that follow.
        ids : sequence of n texts, optional
            By which the labels will be given.
        issue : bool, default True
            Whether the predictions wait for their labels.

        Returns
        -------
        Future
            Of `Answers`.
        """
        X = self._reader.features(rows)
        names = None if ids is None or not issue else self._own_ids(ids, len(X))
        with self._counting:
            since = self._writer.since
            self._writer.since += len(X) if issue else 0
        serving, seen = self._state.serving, self._state.seq
        found = predicted(serving, X, since)
        classes = self.classes
        labels = [classes[code] for code in found.answered.tolist()]

        def answers(issued: list[str] | None) -> Answers:
            return Answers(issued, labels, found.probabilities, classes, serving.name)

        if issue and len(X):
            return self._writer.hand_in(Issue(X, found, serving.epoch, seen, names, answers))
        done: Future[Answers] = Future()
        done.set_result(answers([] if issue else None))
        return done

    def _own_ids(self, ids: Sequence[str], n: int) -> list[str]:
        if isinstance(ids, str) or len(ids) != n:
            raise InputError(f"ids must be a list with one for each of the {n} rows; got {ids!r:.80}.")
        found = [require_id(id_) for id_ in ids]
        if len(set(found)) < n:
            raise InputError(
                "ids must differ from each other; got one twice. Leave them out to get new ones."
            )
        for id_ in found:
            if self._writer.journal.issued_number(id_) is not None:
                raise InputError(f"ids must be your own; {id_!r:.80} was given to another prediction.")
        return found

    # Learning ---------------------------------------------------------------------------------------------

    def label(self, labels: Sequence[Mapping[str, Any]]) -> LabelReport:
        """Learn labels; returns once they are on the disk and learnt.

        Parameters
        ----------
        labels : list of dict
            Each with ``label``, and with the ``id`` of its prediction or with its ``row``. With both, the row
            is used where no prediction of the id waits, so that sending it again is safe. ``weight``, a
            number that is not negative, is 1 by default.

        Returns
        -------
        LabelReport
            What became of them.

        Notes
        -----
        Labels are learnt in the order in which they come. One that comes twice is learnt once; another label
        for the same id is rejected. Those that cannot be taken are rejected one by one, the others taken.
        """
        return self.label_soon(labels).result()

    def label_soon(self, labels: Sequence[Mapping[str, Any]]) -> Future[LabelReport]:
        """Learn labels as `label` does, as a future.

        Parameters
        ----------
        labels : list of dict
            As of `label`.

        Returns
        -------
        Future
            Of a `LabelReport`.

        Raises
        ------
        InputError
            If it is no list of labels.
        """
        if isinstance(labels, Mapping | str) or not isinstance(labels, Sequence):
            raise InputError(
                f"labels must be a list of dictionaries with id and label; got {type(labels).__name__}."
            )
        request = LabelSet([], [], self.classes)
        for index, label in enumerate(labels):
            checked = self._checked_label(index, label)
            if isinstance(checked, Rejected):
                request.rejected.append(checked)
            else:
                request.labels.append(checked)
        if request.labels:
            return self._writer.hand_in(request)
        done: Future[LabelReport] = Future()
        done.set_result(LabelReport(0, 0, request.rejected))
        return done

    def _checked_label(self, index: int, label: Any) -> OneLabel | Rejected:
        if not isinstance(label, Mapping) or "label" not in label:
            raise InputError(f'label {index} must be like {{"id": …, "label": …}}; got {label!r:.80}.')
        id_, row = label.get("id"), label.get("row")
        if id_ is None and row is None:
            raise InputError(f"label {index} must have the id of its prediction, or its row; it has neither.")
        if id_ is not None and (not isinstance(id_, str) or len(id_) > MAX_ID_LENGTH):
            raise InputError(f"label {index}: the id must be a text as it came; got {id_!r:.80}.")
        weight = label.get("weight", 1.0)
        if type(weight) not in (int, float) or not 0.0 <= weight <= MAX_LABEL_WEIGHT:
            raise InputError(
                f"label {index}: the weight must be a number from 0 to {MAX_LABEL_WEIGHT:g}; got "
                f"{weight!r:.40}."
            )
        code = self._labels.code(label["label"])
        if code is None:
            message = (
                f"the label {label['label']!r:.60} is no class of the model, which knows "
                f"{self.classes!s:.100}."
            )
            return Rejected(index, id_, "unknown_class", message)
        features = None
        if row is not None:
            try:
                if id_ is not None:
                    require_id(id_)
                features = self._reader.features([row])[0].tobytes()
            except InputError as error:
                return Rejected(index, id_, "bad_row", str(error).removeprefix("row 0: "))
        return OneLabel(index, id_, features, code, float(weight))

    # Versions ---------------------------------------------------------------------------------------------

    def promote(self) -> dict[str, Any]:
        """Make the adapted model the deployed one, against which it is judged from now on.

        Returns
        -------
        dict
            As `facts` gives them then.
        """
        return self._command({"command": "promote"})

    def rollback(self, version: int) -> dict[str, Any]:
        """Continue from a version: it answers, and learns from now on. What was adapted is saved before.

        Parameters
        ----------
        version : int
            Its number, see `versions`.

        Returns
        -------
        dict
            As `facts` gives them then.

        Raises
        ------
        InputError
            If it is no number of a version.
        """
        if type(version) is not int:
            raise InputError(f"version must be the number of a version; got {version!r:.40}.")
        return self._command({"command": "rollback", "version": version})

    def freeze(self, frozen: bool = True) -> dict[str, Any]:
        """Stop learning, or go on: while frozen, labels are kept and counted, and never learnt.

        Who answers stays the same meanwhile.

        Parameters
        ----------
        frozen : bool, default True
            False goes on.

        Returns
        -------
        dict
            As `facts` gives them then.

        Raises
        ------
        InputError
            If it is neither.
        """
        if type(frozen) is not bool:
            raise InputError(f"frozen must be True or False; got {frozen!r:.40}.")
        return self._command({"command": "freeze", "frozen": frozen})

    def _command(self, command: dict[str, Any]) -> dict[str, Any]:
        self._in_turn(lambda: self._writer.obey(command))
        return self.facts()

    def _in_turn(self, work: Any) -> Any:
        return self._writer.hand_in(Command(work)).result()

    def versions(self) -> list[dict[str, Any]]:
        """What is kept: number, reason, labels learnt, time, digest, size, and whether it answers.

        Returns
        -------
        list of dict
            The oldest first.
        """
        found: list[dict[str, Any]] = self._in_turn(lambda: versions_of(self._state))
        return found

    def model_file(self, version: int | None = None) -> bytes:
        """The file of the adapted model, whoever answers, or of a version.

        Parameters
        ----------
        version : int, optional
            Its number; the adapted model if left out.

        Returns
        -------
        bytes
            What ``save`` writes.
        """
        state = self._state
        data: bytes = self._in_turn(
            lambda: state.model_bytes() if version is None else state.versions.data(version)
        )
        return data

    # What it is -------------------------------------------------------------------------------------------

    @property
    def storage(self) -> str:
        """Whether writing works: ``"ok"``, ``"full"`` or ``"failed"`` the last time."""
        return self._writer.storage

    def facts(self) -> dict[str, Any]:
        """Plain facts about it, for JSON.

        Returns
        -------
        dict
            By name.
        """
        try:
            return self.facts_soon().result()
        except ClosedError:
            return self._facts_now()

    @property
    def clock(self) -> LiveClock:
        """By which predictions age; its seconds never go back, and survive a restart."""
        return self._writer.clock

    def facts_soon(self) -> Future[dict[str, Any]]:
        """Plain facts, as a future: where many labels are being learnt it may take a while.

        Returns
        -------
        Future
            Of a dict.
        """
        return self._writer.hand_in(Command(self._facts_now))

    def _facts_now(self) -> dict[str, Any]:
        writer, state = self._writer, self._state
        clf = state.adapted.classifier
        return {
            "kind": type(clf).__name__,
            "classes": self.classes,
            "columns": self.columns,
            "n_features": self.n_features,
            **state.facts(),
            "versions": [each.number for each in list(state.versions.kept)],
            "pending": writer.journal.n_pending,
            "pending_bytes": writer.journal.pending_bytes,
            "oldest_pending": writer.clock.in_system_time(writer.journal.oldest_at),
            "expired": writer.expired,
            "storage": writer.storage,
            "seq": state.seq,
            "checkpoint": writer.checkpoint_seq,
        }

    def watch(self, title: str = "model") -> dict[str, Any]:
        """What the page of ``ocboost serve`` shows, for JSON.

        That is how the models did over time, drift alarms and the guard's decisions, what has moved in the
        model, the last mistakes, and the versions.

        Parameters
        ----------
        title : str, default "model"
            The heading.

        Returns
        -------
        dict
            Series, events, mistakes and versions.
        """
        return self._watching.document(title)

    def events(self, after: int = 0) -> list[dict[str, Any]]:
        """Drift alarms, decisions of the guard and commands after the one of this number, oldest first.

        The last 200 are kept.

        Parameters
        ----------
        after : int, default 0
            The number of the last one that is known.

        Returns
        -------
        list of dict
            The oldest first.
        """
        return self._watching.events(after)

    def explain_mistakes(self, most: int = 1) -> None:
        """Explain so many of the last mistakes, for the next `watch`, with the model as it is now.

        Parameters
        ----------
        most : int, default 1
            How many.
        """
        self._watching.explain(most)

    def checkpoint(self) -> None:
        """Write the state to the disk now; it is written from time to time anyway."""
        self._in_turn(self._writer.checkpoint)

    def close(self) -> None:
        """Finish what waits, write a checkpoint, and close; closing twice does nothing."""
        self._writer.close()
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def as_model(model: Any) -> Model:
    """A model from a file, or a copy of one that a file can hold."""
    if isinstance(model, str | os.PathLike):
        return Model.load(model)
    if not isinstance(model, Model):
        if not isinstance(model, OCBClassifier | AdaptiveClassifier) or not hasattr(model, "classes_"):
            raise InputError(
                "model must be the path of a model's file, a Model, or a fitted OCBClassifier or "
                f"AdaptiveClassifier; got {type(model).__name__}. Wrap another with "
                "AdaptiveClassifier.from_fitted."
            )
        model = Model(model)
    clf = model.classifier
    if isinstance(clf, AdaptiveClassifier) and (missing := left_out(clf)) is not None:
        raise NotSavableError(f"a model in service must be one that a file can hold. {missing}")
    to_bytes(model.kind, model.tree())  # refuses what cannot be saved
    return Model(copy.copy(clf), None, model.history)
