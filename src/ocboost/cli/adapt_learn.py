"""The way of ``ocboost adapt`` through a stream: learn what comes, save now and then, end in order."""

from __future__ import annotations

import os
import select
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ocboost._core.interrupts import Ended, Signals
from ocboost._ctrl_c import uninterrupted
from ocboost.cli.adapt_page import PageErrors, RunPage
from ocboost.cli.adapt_report import progress_of
from ocboost.cli.outputs import RowOutputs
from ocboost.cli.terminal import say, stream_progress
from ocboost.errors import InputError, OcboostError

if TYPE_CHECKING:
    from ocboost.cli.following import Following
    from ocboost.deployment.adaptation import Adaptation
    from ocboost.streams import Stream

_SECONDS_TO_READ = 3  # that a reader of predictions has for making room, after SIGTERM
_MOMENT = 0.2  # seconds between two looks at something that cannot be waited for


@dataclass
class Saves:
    """The checkpoint, of an endless stream also model and page, saved every so many rows or seconds."""

    run: Adaptation
    checkpoint: Path
    outputs: RowOutputs
    every_rows: int
    every_seconds: float
    model: Path | None  # where to save the model on the way
    stream: str  # the name for its history
    following: Following | None = None
    page: RunPage | None = None
    _rows: int = field(default=-1, init=False)
    _time: float = field(default=0.0, init=False)
    _page_errors: PageErrors = field(default_factory=PageErrors, init=False)

    def save(self) -> None:
        """Save it now, with all that was written row by row."""
        self.run.outputs = self.outputs.synced()
        covered = None if self.following is None else self.following.covered(self.run)
        self.run.save(self.checkpoint)
        if self.model is not None and self.run.rows > self.run.first:
            self.run.save_model(self.model, self.stream, covered)
            self.write_page()
        self._rows, self._time = self.run.rows, time.monotonic()

    def write_page(self) -> None:
        """Write the page of the way so far, if one is wanted; if it cannot be, learning goes on."""
        if self.page is not None:
            with self._page_errors.passed_over(self.page.path):
                self.page.write(self.run, ended=False)

    @property
    def rows_left(self) -> int:
        """How many rows may be learnt until they must be saved."""
        return max(1, self.every_rows - (self.run.rows - self._rows))

    def save_if_due(self) -> float | None:
        """The seconds until rows that were learnt must be saved; None if all are."""
        if self.run.rows == self._rows:
            return None
        if self.following is not None:
            self.following.source.learnt_to(self.run.rows)
        left = self._time + self.every_seconds - time.monotonic()
        if left > 0 and self.run.rows - self._rows < self.every_rows:
            return left
        self.save()
        return None


class Waiting:
    """While nothing arrives: save what is due, and end if Ctrl-C, SIGTERM or the predictions' reader says so.

    It is the `ocboost.streams.source.Patience` of an endless stream.
    """

    def __init__(self, signals: Signals) -> None:
        self._signals = signals
        self.saves: Saves | None = None  # once it learns

    def check(self) -> None:
        """End where somebody has asked for it."""
        if self._signals.asked or (self.saves is not None and self.saves.outputs.gone):
            raise Ended

    def wait(self, file: int | None) -> None:
        """Return when a descriptor can be read; where there is none, after a moment."""
        while True:
            seconds = None if self.saves is None else self.saves.save_if_due()
            with self._signals.interruptible():
                if self._has_arrived(file, seconds):
                    return

    def accepts(self, file: int) -> bool:
        """Wait until a pipe has room for a line; False if SIGTERM came and its reader takes nothing."""
        if not hasattr(select, "poll"):
            return True
        watched = select.poll()
        watched.register(file, select.POLLOUT)
        if watched.poll(0):
            return True
        try:
            with self._signals.interruptible():
                return bool(watched.poll())
        except Ended:
            return bool(watched.poll(1000 * _SECONDS_TO_READ))

    def _has_arrived(self, file: int | None, seconds: float | None) -> bool:
        if file is None:
            time.sleep(_MOMENT if seconds is None else min(_MOMENT, seconds))
            return True
        if not hasattr(select, "poll"):  # not a POSIX system: the read waits
            return True
        watched = select.poll()
        reader = None
        if self.saves is not None and self.saves.outputs.predictions is not None:
            reader = self.saves.outputs.predictions.descriptor()
        if reader is not None and reader != file:
            watched.register(reader, 0)  # only that nobody reads any more
        watched.register(file, select.POLLIN)
        found = {number for number, _ in watched.poll(None if seconds is None else 1 + 1000 * seconds)}
        if file not in found and reader in found:
            raise Ended
        return file in found


def learn(run: Adaptation, stream: Stream, batch_size: int, saves: Saves, *, endless: bool) -> bool:
    """Learn the stream, saving now and then; False if Ctrl-C or SIGTERM interrupted a file.

    An endless stream ends in order there: with what has arrived.
    """
    from ocboost.cli.columns import check_missing

    rest = None
    hypotheses = run.model.hypotheses
    told = False
    try:
        with stream_progress("adapting") as show:
            saves.save()  # at once, to tell a run that has begun from one that has ended
            try:
                for rows in stream:
                    check_missing(rows, stream, hypotheses)
                    # Rows that do not fill a batch are learnt only at the end of the stream.
                    n_whole = len(rows) if endless else len(rows) // batch_size * batch_size
                    rest, rows = rows[n_whole:], rows[:n_whole]
                    while True:  # once for rows that were all left out
                        n_next = -(-saves.rows_left // batch_size) * batch_size
                        run.take(rows[:n_next], batch_size)
                        saves.outputs.flush()
                        saves.save_if_due()
                        rows = rows[n_next:]
                        if not len(rows):
                            break
                    show(stream, run.rows, progress_of(run))
                    if saves.outputs.gone and not told:
                        say(
                            "nobody reads the predictions any more; "
                            + ("ending." if endless else "going on.")
                        )
                        told = True
            except Ended:
                pass
            if rest is not None and len(rest):
                run.take(rest, batch_size)
            run.pass_bad_rows()
            saves.outputs.flush()
    except (KeyboardInterrupt, OcboostError, OSError) as error:
        with uninterrupted():
            kept = _keep(run, saves, endless=endless)
        if not isinstance(error, KeyboardInterrupt):
            text = str(error)
            if isinstance(error, OSError) and error.filename is not None:
                text = f"'{os.fspath(error.filename)}': {error.strerror}."
            raise InputError(f"{text} {kept}") from error
        say(f"interrupted. {kept}")
        return False
    return True


def _keep(run: Adaptation, saves: Saves, *, endless: bool) -> str:
    """Keep what was learnt, and say where."""
    if run.rows <= run.first:
        saves.checkpoint.unlink(missing_ok=True)
        return "Nothing was learnt."
    if saves.outputs.failed:  # it has learnt rows that they lack: the checkpoint before is kept
        return f"What was learnt before is kept in '{saves.checkpoint}'; --resume continues from there."
    saves.save()
    if not endless:
        saves.write_page()
    n = "1 row is" if run.rows == 1 else f"{run.rows:,} rows are"
    if endless and saves.following is None:
        return (
            f"{n} kept in '{saves.checkpoint}'; --resume continues from there, with the same stream from its "
            f"beginning. The model in '{saves.model}' has learnt them too."
        )
    return f"{n} kept in '{saves.checkpoint}'; --resume continues from there."
