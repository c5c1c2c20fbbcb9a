"""The way of ``ocboost fleet adapt`` through a stream: each batch is one transaction of the store."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocboost._core.interrupts import Ended
from ocboost._ctrl_c import uninterrupted
from ocboost.cli.fleet_shared import counted, facts_table, share
from ocboost.cli.fleet_sources import FileSource
from ocboost.cli.outputs import PREDICTIONS, RowOutputs
from ocboost.cli.terminal import results, say, stream_progress
from ocboost.errors import InputError, OcboostError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ocboost.fleet import Fleet, FleetInfo
    from ocboost.streams.open import FileStream
    from ocboost.streams.rows import Rows


@dataclass
class FleetRun:
    """A fleet on its way through a stream, and what it has done there.

    What is predicted of the rows of a batch is on the disk before they are learnt for good; a ``source``
    knows how much of that file belongs to it. So whatever happens, rows and predictions go together.
    """

    fleet: Fleet
    source: FileSource | None  # None for what cannot be read again
    predictions: Path | None
    leave_unseen: bool
    outputs: RowOutputs
    first: int  # the row it begins at
    rows: int = field(init=False)  # the next row of the stream
    learnt: int = 0
    passed_over: int = 0  # rows without a label, or of a class that the model does not know
    _before: tuple[int, FleetInfo] = field(init=False)

    def __post_init__(self) -> None:
        self.rows = self.first
        self._before = len(self.fleet), self.fleet.info()

    def take(self, batch: Rows) -> None:
        """Predict rows, and learn those with a label, all at once or none."""
        from ocboost.streams.rows import UnseenLabelError

        classes = self.fleet.classifier.classes_.tolist()
        try:
            rows = batch.coded(classes, leave_unseen=self.leave_unseen)
        except UnseenLabelError as error:  # those before it are learnt
            if error.place:
                self.take(batch[: error.place])
            raise InputError(
                f"the label {error.label!r:.60} in row {error.row} (the first is row 0) is no class of the "
                f"model, which knows {classes!s:.100}. Leave such rows out with --leave-unseen, or begin "
                "another store with a model that knows it (fit --classes)."
            ) from None
        with uninterrupted():
            self._learn(rows)

    def _learn(self, rows: Rows) -> None:
        fleet, source = self.fleet, self.source

        def write_down(votes: NDArray[np.float64]) -> dict[str, Any] | None:
            size = self._write(votes)
            written = None if self.predictions is None else (self.predictions, size)
            return None if source is None else source.passed(rows.end, written)

        name, numbers = (None, None) if source is None else (source.name, rows.rows)
        fleet.learn_coded(
            rows.keys, rows.X, rows.codes, source=name, offset=numbers, before_commit=write_down
        )
        learnt = int(rows.known.sum())
        self.rows = rows.end
        self.learnt += learnt
        self.passed_over += len(rows) - learnt

    def _write(self, votes: NDArray[np.float64]) -> int | None:
        """Write what was predicted of rows; the length of the file, if it has one."""
        import numpy as np

        from ocboost.estimators.committee import probabilities

        if self.predictions is None:
            return None
        codes = self.fleet.classifier.decided_by_votes(votes)
        shares = probabilities(votes)[np.arange(len(codes)), codes]
        for code, probability in zip(codes.tolist(), shares.tolist(), strict=True):
            self.outputs.answer(code, probability)
        return self.outputs.synced().get(PREDICTIONS)

    def end(self, stream: FileStream) -> None:
        """Remember that the stream was learnt to its end."""
        if self.source is not None:
            self.fleet.note_source(self.source.name, self.source.ended(stream.coverage()))

    def accuracy(self) -> tuple[float | None, float | None]:
        """The share of right predictions on these rows: the fleet's, and those of the deployed model."""
        before, now = self._before[1], self.fleet.info()
        n = now.rows - before.rows
        if not n:
            return None, None
        pairs = ((now.accuracy, before.accuracy), (now.deployed_accuracy, before.deployed_accuracy))
        right, deployed = (round((a or 0.0) * now.rows) - round((b or 0.0) * before.rows) for a, b in pairs)
        return right / n, deployed / n

    def print_report(self, store: Path, *, stderr: bool) -> None:
        """Print what was learnt and how often it was right, perhaps to standard error."""
        now = self.fleet.info()
        right, deployed = self.accuracy()
        new = now.n_keys - self._before[0]
        console = results(stderr=stderr)
        console.print("Each row was predicted, then learnt for its key:")
        console.print(
            facts_table(
                [
                    ("rows", f"{self.learnt:,}"),
                    ("right", share(right)),
                    ("deployed model", share(deployed)),
                    ("keys", f"{now.n_keys:,}, {new:,} of them new"),
                    ("store", f"{now.bytes:,} bytes, {now.bytes_per_key:,.0f} a key"),
                ]
            )
        )
        if self.passed_over:
            why = "no label, or one the model does not know," if self.leave_unseen else "no label"
            were = "was" if self.passed_over == 1 else "were"
            console.print(
                f"{counted(self.passed_over, 'row')} had {why} and {were} not learnt.", soft_wrap=True
            )
        console.print(f"Wrote {store}", soft_wrap=True)


def learn(run: FleetRun, stream: FileStream) -> bool:
    """Learn a stream to its end; False if Ctrl-C or SIGTERM interrupted a file, and a pipe ends there."""
    from ocboost.cli.columns import check_missing

    hypotheses = run.fleet.model.hypotheses
    try:
        with stream_progress("adapting") as show:
            try:
                for rows in stream:
                    if not len(rows):
                        continue
                    check_missing(rows, stream, hypotheses)
                    run.take(rows)
                    show(stream, run.rows, _progress(run))
            except Ended:
                pass
        with uninterrupted():
            run.end(stream)
    except KeyboardInterrupt:
        with uninterrupted():
            say(f"interrupted. {_kept(run)}")
        return False
    except (OcboostError, OSError) as error:
        text = str(error)
        if isinstance(error, OSError) and error.strerror is not None:
            named = "" if error.filename is None else f"'{error.filename}': "
            text = f"{named}{error.strerror}."
        raise InputError(f"{text} {_kept(run)}") from error
    return True


def _progress(run: FleetRun) -> str:
    right, deployed = run.accuracy()
    return "" if right is None else f"right: {share(right)}, deployed model {share(deployed)}"


def _kept(run: FleetRun) -> str:
    """What was learnt, and how to go on."""
    n = run.rows - run.first
    if run.source is None:
        return f"{counted(n, 'row')} before that {'was' if n == 1 else 'were'} learnt."
    if not run.rows:
        return "Nothing was learnt."
    return f"{counted(run.rows, 'row')} of the stream are in the store; the same line continues after them."
