"""The one thread that writes: it gathers what waits, commits it together, then lets the model learn it.

Whatever callers hand in waits in a queue. While one commit is under way the next requests gather behind it,
so that one fsync serves many. Only what is on the disk is applied to the state, and only what is applied is
acknowledged: after `kill -9` the journal has every acknowledged label, and maybe some that were not.
"""

from __future__ import annotations

import contextlib
import json
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.file_format import to_bytes, write_atomically
from ocboost.errors import ClosedError, InputError, OcboostError, StorageFullError
from ocboost.live.answers import LabelReport, Rejected
from ocboost.live.clock import LiveClock, system_time
from ocboost.live.journal import MAX_ID_LENGTH, Entry, Journal, as_storage_error
from ocboost.live.state import STATE_KIND, LiveState, Predicted

logger = logging.getLogger("ocboost.live")

MAX_GATHERED = 512  # requests that share a commit
SECONDS_BETWEEN_SWEEPS = 1.0
NOTHING = b""


@dataclass(frozen=True)
class Limits:
    """How much a state keeps; see `Adapter` for each."""

    max_pending: int
    max_pending_bytes: int
    max_days: float
    keep_labels: int
    checkpoint_labels: int
    checkpoint_seconds: float


@dataclass(slots=True)
class Issue:
    """Predictions to be kept until their labels come."""

    X: NDArray[np.float64]
    found: Predicted
    epoch: int
    seen: int  # the last entry of the journal applied before
    ids: list[str] | None
    finish: Callable[[list[str]], Any]  # makes the result
    future: Future[Any] = field(default_factory=Future)


@dataclass(slots=True)
class OneLabel:
    """A label that has been checked: its id, or its row, or both."""

    index: int
    id: str | None
    features: bytes | None
    code: int
    weight: float


@dataclass(slots=True)
class LabelSet:
    """Labels that came together."""

    labels: list[OneLabel]
    rejected: list[Rejected]
    classes: list[Any]
    accepted: int = 0
    duplicates: int = 0
    entries: list[Entry] = field(default_factory=list)
    future: Future[Any] = field(default_factory=Future)


@dataclass(slots=True)
class Command:
    """Something else to do, by itself: ``work`` runs in the writer's thread."""

    work: Callable[[], Any]
    future: Future[Any] = field(default_factory=Future)


Request = Issue | LabelSet | Command


class Writer:
    """Owns the journal, the state and the checkpoint of a state folder."""

    def __init__(
        self,
        folder: Path,
        journal: Journal,
        state: LiveState,
        clock: LiveClock,
        limits: Limits,
        replayed_from: int,
    ) -> None:
        self.folder, self.journal, self.state, self.clock, self.limits = folder, journal, state, clock, limits
        self.storage = "ok"
        self.since = journal.since  # predictions since the last label, those on their way too
        self.expired = 0  # predictions dropped in this run
        self.checkpoint_seq = self.replayed_from = replayed_from
        self._queue: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._closing = False
        self._handing_in = threading.Lock()
        self._checkpoint_at = self._swept_at = time.monotonic()
        self._named: set[int] | None = None  # versions in the checkpoint, until files of others are removed
        self._writing: threading.Thread | None = None  # the checkpoint being written
        self._thread = threading.Thread(target=self._run, name="ocboost-writer", daemon=True)

    def start_again(self) -> None:
        """Begin to write; what was replayed goes to a checkpoint, and is not replayed again."""
        if self.state.seq > self.replayed_from:
            self.checkpoint()
        self._thread.start()

    def hand_in(self, request: Request) -> Future[Any]:
        """Put a request into the queue; its future resolves once it is durable and applied."""
        with self._handing_in:
            if self._closing:
                raise ClosedError(CLOSED)
            self._queue.put(request)
        return request.future

    def close(self) -> None:
        """Finish what waits, write a checkpoint, close the journal."""
        with self._handing_in:
            first = not self._closing
            self._closing = True
            if first:
                self._queue.put(None)
        self._thread.join()

    # The loop ---------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._serve()
        except BaseException as error:  # what is on the disk is right: a new process continues from there
            logger.critical("the writer has failed; start the service again", exc_info=error)
            self.storage = "failed"
            with self._handing_in:
                self._closing = True
            self._refuse_the_rest("this model in service has failed. Start it again; nothing is lost.")
            raise

    def _serve(self) -> None:
        while True:
            gathered, ended = self._gather()
            together: list[Issue | LabelSet] = []
            for request in gathered:
                if isinstance(request, Command):
                    self._write(together)
                    together = []
                    self._do(request)
                else:
                    together.append(request)
            self._write(together)
            del gathered, together
            self._look_after()
            if ended:
                break
        self._end()

    def _gather(self) -> tuple[list[Request], bool]:
        """What waits, at least one request unless it is time to look after things; whether it has ended."""
        gathered: list[Request] = []
        wait = SECONDS_BETWEEN_SWEEPS
        with contextlib.suppress(queue.Empty):
            request = self._queue.get(timeout=wait)
            while request is not None:
                gathered.append(request)
                if len(gathered) >= MAX_GATHERED:
                    return gathered, False
                request = self._queue.get_nowait()
            return gathered, True
        return gathered, False

    def _write(self, requests: list[Issue | LabelSet]) -> None:
        """Commit requests together, apply them, resolve their futures."""
        if not requests:
            return
        results: list[Any] = []
        try:
            self.journal.begin()
            results = [
                self._issue(each) if isinstance(each, Issue) else self._enter(each) for each in requests
            ]
            self.journal.commit()
        except Exception as error:
            self._undo(error, requests)
            return
        self._is_well()
        for request, result in zip(requests, results, strict=True):
            if isinstance(request, LabelSet):
                self._apply(request, requests)
                rejected = sorted(request.rejected, key=lambda each: each.index)
                result = LabelReport(request.accepted, request.duplicates, rejected)
            resolve(request.future, result)

    def _apply(self, labels: LabelSet, requests: list[Issue | LabelSet]) -> None:
        try:
            for entry in labels.entries:
                self.state.apply(entry)
        except BaseException:
            for request in requests:
                fail(request.future, ClosedError("this model in service has failed. Start it again."))
            raise

    def _undo(self, error: Exception, requests: list[Issue | LabelSet]) -> None:
        with contextlib.suppress(sqlite3.Error, OcboostError):
            self.journal.rollback()
        if isinstance(error, sqlite3.Error | OSError):
            error = as_storage_error(error, "this could not be written")
            self.storage = "full" if isinstance(error, StorageFullError) else "failed"
            logger.warning("%s", error)
        else:
            logger.error("a request could not be written", exc_info=error)
        for request in requests:
            fail(request.future, error)

    def _is_well(self) -> None:
        if self.storage != "ok":
            logger.info("writing works again")
            self.storage = "ok"

    def _do(self, command: Command) -> None:
        try:
            result = command.work()
        except Exception as error:
            fail(command.future, error)
        else:
            resolve(command.future, result)

    # What is written --------------------------------------------------------------------------------------

    def _issue(self, issue: Issue) -> Any:
        n, found = len(issue.X), issue.found
        kept: list[bytes | None] = [None] * n if found.kept is None else [*found.kept]
        features = [row.tobytes() for row in issue.X]
        shares = [row.tobytes() for row in found.shares.astype(np.float32)]
        ids = self.journal.add_pending(
            features,
            found.said.tolist(),
            found.answered.tolist(),
            kept,
            shares,
            issue.epoch,
            issue.seen,
            self.clock.now(),
            issue.ids,
        )
        return issue.finish(ids)

    def _enter(self, labels: LabelSet) -> LabelSet:
        now = system_time()
        labels.accepted = labels.duplicates = 0
        for label in labels.labels:
            self._enter_one(labels, label, now)
        return labels

    def _enter_one(self, labels: LabelSet, label: OneLabel, now: float) -> None:
        journal = self.journal
        number, pending = None, None
        if label.id is not None:
            found = journal.take(label.id)
            if found is not None:
                number, pending = found.number, found.pending
                if pending is None and found.code is not None:
                    self._came_before(labels, label, found.code)
                    return
            if pending is None and label.features is None:
                self._not_waiting(labels, label, expired=found is not None)
                return
            if number is None:
                number = journal.new_number(label.id)
        without = (-1, -1, -1, -1, label.features or NOTHING, None, None)
        epoch, seen, said, answered, features, kept, shares = pending or without
        entry = Entry(
            journal.last_seq + 1, None, number, label.code, label.weight, epoch, seen, said, answered,
            journal.since, now, features, kept, shares,
        )  # fmt: skip
        self.since = 0
        journal.add(entry)
        labels.entries.append(entry)
        labels.accepted += 1

    def _came_before(self, labels: LabelSet, label: OneLabel, code: int) -> None:
        if code == label.code:
            labels.duplicates += 1
            return
        before, now = labels.classes[code], labels.classes[label.code]
        labels.rejected.append(
            Rejected(
                label.index,
                label.id,
                "conflict",
                f"the label {before!r:.60} came before for this id; {now!r:.60} was not taken: what is "
                "learnt stays learnt.",
            )
        )

    def _not_waiting(self, labels: LabelSet, label: OneLabel, *, expired: bool) -> None:
        if expired:
            message = (
                "the prediction of this id is no longer kept: it is too old, was replaced, or there were too "
                "many. Give the label with its row."
            )
        else:
            message = "no prediction has this id. Give the id that came with a prediction, or the row."
        reason: Any = "expired" if expired else "unknown_id"
        labels.rejected.append(Rejected(label.index, label.id, reason, message))

    def obey(self, command: dict[str, Any]) -> None:
        """Enter a command and apply it; call it in the writer's thread."""
        self.state.check(command)
        journal = self.journal
        text = json.dumps(command)
        entry = Entry(
            journal.last_seq + 1, text, None, -1, 0.0, -1, -1, -1, -1, 0, system_time(), NOTHING, None
        )
        try:
            journal.begin()
            journal.add(entry)
            journal.commit()
        except sqlite3.Error as error:
            self._undo(error, [])
            raise as_storage_error(error, "the command could not be written") from error
        self._is_well()
        self.state.apply(entry)
        self.checkpoint()

    # Looking after it -------------------------------------------------------------------------------------

    def _look_after(self) -> None:
        """Expire and trim what is old, and write a checkpoint if it is time."""
        now = time.monotonic()
        limits = self.limits
        new = self.state.seq - self.checkpoint_seq
        due = new and now - self._checkpoint_at >= limits.checkpoint_seconds
        if due or new >= limits.checkpoint_labels:
            self.checkpoint(wait=False)
        oldest = self.clock.now() - limits.max_days * 86_400.0
        over = self.journal.is_over(oldest, limits.max_pending, limits.max_pending_bytes)
        if over or now - self._swept_at >= SECONDS_BETWEEN_SWEEPS:
            self._swept_at = now
            self._sweep(oldest)

    def _sweep(self, oldest: float) -> None:
        journal, limits = self.journal, self.limits
        try:
            journal.begin()
            gone = journal.expire(oldest, limits.max_pending, limits.max_pending_bytes)
            journal.trim(self.checkpoint_seq, limits.keep_labels, 2 * limits.max_pending)
            journal.set_facts({"clock": self.clock.now(), "system_clock": system_time()})
            journal.commit()
            self.expired += gone
            if self._named is not None:
                self.state.versions.sweep(self._named)
                self._named = None
        except (sqlite3.Error, OcboostError, OSError) as error:
            self._undo(error, [])

    def checkpoint(self, *, wait: bool = True) -> None:
        """Write the state to the disk, in the background unless told to wait."""
        if self._writing is not None:
            if not wait and self._writing.is_alive():
                return
            self._writing.join()
        self._checkpoint_at = time.monotonic()
        state = self.state
        if self.checkpoint_seq == state.seq and (self.folder / CHECKPOINT_NAME).exists():
            return
        try:
            state.versions.flush()
            data, seq = to_bytes(STATE_KIND, state.tree()), state.seq
            named = {each.number for each in state.versions.kept}
        except OSError as error:
            self._cannot_checkpoint(error)
            return
        self._writing = threading.Thread(target=self._write_checkpoint, args=(data, seq, named), daemon=True)
        self._writing.start()
        if wait:
            self._writing.join()

    def _write_checkpoint(self, data: bytes, seq: int, named: set[int]) -> None:
        try:
            write_atomically(self.folder / CHECKPOINT_NAME, data)
        except OSError as error:
            self._cannot_checkpoint(error)
            return
        self.checkpoint_seq, self._named = seq, named

    def _cannot_checkpoint(self, error: OSError) -> None:
        logger.warning("no checkpoint could be written (%s); the journal has everything", error)

    def _refuse_the_rest(self, message: str) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                request = self._queue.get_nowait()
                if request is not None:
                    fail(request.future, ClosedError(message))

    def _end(self) -> None:
        """Write a last checkpoint, and refuse what came too late."""
        self.checkpoint()
        self._refuse_the_rest(CLOSED)
        with contextlib.suppress(sqlite3.Error, OcboostError):
            self._sweep(float("-inf"))
        with contextlib.suppress(OcboostError):
            self.journal.close()


CLOSED = "this model in service was closed. Nothing was taken."
CHECKPOINT_NAME = "checkpoint.ocb"


def resolve(future: Future[Any], result: Any) -> None:
    """Give a future its result, unless its owner has given up."""
    with contextlib.suppress(Exception):
        future.set_result(result)


def fail(future: Future[Any], error: BaseException) -> None:
    """Give a future an error, unless its owner has given up."""
    with contextlib.suppress(Exception):
        future.set_exception(error)


def require_id(id_: Any) -> str:
    """A user's id: a text that is not too long."""
    if not isinstance(id_, str) or not 0 < len(id_) <= MAX_ID_LENGTH or not id_.isprintable():
        raise InputError(
            f"an id must be a text of 1 to {MAX_ID_LENGTH} printable characters; got {id_!r:.80}."
        )
    return id_
