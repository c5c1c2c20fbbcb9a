"""What commands write row by row: predictions, and rows that were left out."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocboost._core.escaping import discard, forget_output, shown
from ocboost.errors import InputError

if TYPE_CHECKING:
    from ocboost.streams.bad_rows import BadRow

PREDICTIONS, BAD_ROWS = "predictions", "bad rows"  # as checkpoints call the files


class PredictionLines:
    """Predictions as lines of CSV or JSON; ``columns`` are the names of the probabilities."""

    def __init__(
        self, labels: Sequence[Any], columns: Sequence[str] = ("probability",), *, as_json: bool = False
    ) -> None:
        self._as_json = as_json
        if as_json:
            self.header, self.empty = "", '{"prediction": null, "probability": null}\n'
            self._begun = [f'{{"prediction": {json.dumps(label)}, "probability": ' for label in labels]
        else:
            self.header = _as_csv(["prediction", *columns]) + "\n"
            self.empty = "," * len(columns) + "\n"
            self._begun = [_as_csv([label, ""]) for label in labels]

    def line(self, code: int, probabilities: Sequence[float]) -> str:
        """The line of a row, by the code of its class."""
        numbers = ",".join([f"{p:.6g}" for p in probabilities])
        return f"{self._begun[code]}{numbers}}}\n" if self._as_json else f"{self._begun[code]}{numbers}\n"


def _as_csv(fields: Sequence[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(fields)
    return text.getvalue().removesuffix("\n")


class LinesFile:
    """Lines for a file, a pipe, or standard output, which is ``-``.

    A regular file gets them after its first ``size`` bytes; by default after all it has. A reader that goes
    away is no error: the rest is discarded, and `gone` says so. ``accepts`` may wait until a pipe has room,
    and says False if it is not to be waited for: its reader counts as gone.
    """

    def __init__(
        self,
        path: Path,
        size: int | None = None,
        what: str = PREDICTIONS,
        accepts: Callable[[int], bool] | None = None,
    ) -> None:
        self.gone = False
        self._accepts = accepts
        self.failed = False  # whether something could not be written, so that the file lacks a row
        self._is_stdout = str(path) == "-"
        self._name = str(path)
        self._size: int | None = None
        if self._is_stdout:
            return
        self._file = open(path, "ab")  # noqa: SIM115  closed by close()
        status = os.fstat(self._file.fileno())
        if stat.S_ISREG(status.st_mode):
            if size is not None and size > status.st_size:
                self._file.close()
                raise InputError(
                    f"'{path}' must hold the {what} up to the checkpoint, {size:,} bytes; it has "
                    f"{status.st_size:,}. Give the file of the interrupted run, or --restart to start over."
                )
            self._size = status.st_size if size is None else size
            self._file.truncate(self._size)

    @property
    def is_stdout(self) -> bool:
        """Whether it is standard output."""
        return self._is_stdout

    def write(self, text: str) -> None:
        """Add lines; `flush` them."""
        if self.gone:
            return
        try:
            if not self._has_room():
                return
            if self._is_stdout:
                sys.stdout.write(text)
            else:
                data = text.encode()
                self._file.write(data)
                if self._size is not None:
                    self._size += len(data)
        except BrokenPipeError:
            self._forget()
        except OSError as error:
            raise self._named(error) from error

    def _has_room(self) -> bool:
        """Wait for a pipe; False if its reader counts as gone."""
        if self._accepts is None or self._size is not None:
            return True
        number = self.descriptor()
        if number is not None and not self._accepts(number):
            self._forget()
        return not self.gone

    def flush(self) -> None:
        """Let readers have it."""
        if self.gone:
            return
        try:
            if not self._has_room():
                return
            (sys.stdout if self._is_stdout else self._file).flush()
        except BrokenPipeError:
            self._forget()
        except OSError as error:
            raise self._named(error) from error

    def synced(self) -> int | None:
        """How long the file is, when all of it is on the disk; None if it is none."""
        self.flush()
        if self._size is not None:
            os.fsync(self._file.fileno())
        return self._size

    def descriptor(self) -> int | None:
        """What to watch for a reader that goes away."""
        try:
            return None if self.gone else (sys.stdout if self._is_stdout else self._file).fileno()
        except (OSError, ValueError):
            return None

    def _named(self, error: OSError) -> OSError:
        """The error with the name of the file; what could not be written is discarded."""
        self.failed = True
        self._forget()
        return OSError(error.errno, error.strerror, "standard output" if self._is_stdout else self._name)

    def _forget(self) -> None:
        self.gone = True
        if self._is_stdout:
            forget_output()
        else:
            discard(self._file.fileno())

    def close(self) -> None:
        """Close the file; standard output stays open."""
        self.flush()
        if not self._is_stdout:
            self._file.close()


class RowOutputs:
    """The predictions and the rows that were left out, as `ocboost.deployment.adaptation` gives them.

    ``sizes`` are those of the files at a checkpoint, to continue there. Rows that were left out are added to
    their file, which is made when the first one comes. With ``at_once`` each prediction is flushed.
    """

    def __init__(self, sizes: dict[str, int], *, bad_rows: Path | None, at_once: bool) -> None:
        self.lines: PredictionLines | None = None
        self.predictions: LinesFile | None = None
        self._sizes = sizes
        self._bad_path, self._bad_file = bad_rows, None
        self._at_once = at_once
        if bad_rows is not None and (sizes.get(BAD_ROWS) or (BAD_ROWS in sizes and bad_rows.exists())):
            self._bad_file = LinesFile(bad_rows, sizes[BAD_ROWS], BAD_ROWS)  # without those of later rows

    def predict_to(
        self,
        path: Path,
        labels: Sequence[Any],
        *,
        as_json: bool,
        accepts: Callable[[int], bool] | None = None,
    ) -> None:
        """Write predictions to a file or to standard output, with escaped labels for a terminal."""
        size = self._sizes.get(PREDICTIONS, 0)
        self.predictions = LinesFile(path, size, accepts=accepts)
        if self.predictions.is_stdout and sys.stdout.isatty():
            labels = [shown(label) for label in labels]
        self.lines = PredictionLines(labels, as_json=as_json)
        if not size or self.predictions.synced() is None:
            self.predictions.write(self.lines.header)

    def answer(self, code: int, probability: float) -> None:
        """Write a prediction."""
        if self.predictions is not None and self.lines is not None:
            self._add(self.predictions, self.lines.line(code, (probability,)))

    def bad_row(self, bad: BadRow) -> None:
        """Write a row that was left out, and an empty prediction unless it has one."""
        if self._bad_path is None:
            return
        if self._bad_file is None:
            self._bad_file = LinesFile(self._bad_path)
        entry = {
            "line": bad.line,
            "reason": bad.reason,
            "message": bad.message,
            "text": bad.text.decode(errors="surrogateescape"),
        }
        self._add(self._bad_file, json.dumps(entry) + "\n")
        if self.predictions is not None and self.lines is not None and not bad.predicted:
            self._add(self.predictions, self.lines.empty)

    def _add(self, file: LinesFile, text: str) -> None:
        file.write(text)
        if self._at_once:
            file.flush()

    def flush(self) -> None:
        """Let readers have all of it."""
        for file in self._files().values():
            file.flush()

    def _files(self) -> dict[str, LinesFile]:
        files = {PREDICTIONS: self.predictions, BAD_ROWS: self._bad_file}
        return {name: file for name, file in files.items() if file is not None}

    def synced(self) -> dict[str, int]:
        """The sizes of the files for a checkpoint."""
        sizes = {name: file.synced() for name, file in self._files().items()}
        if self._bad_path is not None and self._bad_file is None:  # what earlier runs have left there
            sizes[BAD_ROWS] = self._bad_path.stat().st_size if self._bad_path.exists() else 0
        return {name: size for name, size in sizes.items() if size is not None}

    @property
    def failed(self) -> bool:
        """Whether something could not be written, so that these files lack a row."""
        return any(file.failed for file in self._files().values())

    @property
    def gone(self) -> bool:
        """Whether nobody reads the predictions any more."""
        return self.predictions is not None and self.predictions.gone

    def close(self) -> None:
        """Close the files."""
        for file in self._files().values():
            file.close()
