"""``ocboost adapt --follow``: where to begin in a log, and what has been learnt of each of its files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocboost.cli.files import place_of
from ocboost.cli.options import UsageError
from ocboost.cli.resume import StartingPoint
from ocboost.cli.terminal import say
from ocboost.errors import InputError, OcboostError

if TYPE_CHECKING:
    from ocboost.deployment.adaptation import Adaptation
    from ocboost.deployment.model import Model
    from ocboost.streams.follow import FollowStart
    from ocboost.streams.source import Patience


def require_log(path: Path, format: str | None) -> None:
    """Refuse what cannot be followed; a log need not be there yet, but its folder must."""
    from ocboost.streams.open import FORMATS, format_name

    if str(path) == "-":
        raise UsageError("--follow needs a file; standard input is read as it comes without it.")
    if path.suffix == ".gz":
        raise InputError(
            f"--follow needs a log of plain text; '{path}' is compressed. Follow the log that grows."
        )
    if not path.parent.is_dir():
        raise InputError(f"--follow needs a folder to look into; there is no '{path.parent}'. Make it first.")
    if path.exists() and not path.is_file():
        raise InputError(f"--follow needs an ordinary file; '{path}' is none. A pipe is read as it comes.")
    if path.exists() and not os.access(path, os.R_OK):
        raise InputError(f"--follow needs a file that can be read; '{path}' cannot. Change its permissions.")
    name = format_name(path, format)
    if name is None or not FORMATS[name].is_text:
        raise InputError(
            f"--follow needs CSV, TSV or JSON lines; '{path}' is Parquet, which grows otherwise."
        )


def complete(run: Adaptation, out: Path, checkpoint: Path) -> None:
    """Write the model of a run that was killed when it had ended."""
    run.model.save(out)
    checkpoint.unlink(missing_ok=True)


class Following:
    """A log that is followed: its source, and the records of what was learnt of its files.

    It begins after what ``run`` has learnt, or else the ``model``; ``at`` is the model's path, ``out`` the
    file to be written, unless what that has learnt does not count.
    """

    def __init__(
        self,
        model: Model,
        path: Path,
        origin: dict[str, Any],
        run: Adaptation | None,
        patience: Patience | None,
        format: str | None,
        out: Path | None,
        at: Path,
    ) -> None:
        from ocboost.deployment.adaptation import LOG_KEY, LOG_SINCE_KEY
        from ocboost.deployment.resume import learnt_files
        from ocboost.deployment.rotation import time_of
        from ocboost.streams.follow import FollowSource, FollowStart
        from ocboost.streams.open import format_name

        if run is not None and not run.origin.get("follow"):
            raise InputError(
                "the checkpoint belongs to a run without --follow. Leave that out, or give --restart."
            )
        self._path = path
        known = [] if run is None else run.origin.get(LOG_KEY)
        self._earlier = [each for each in known if learnt_files([each])] if isinstance(known, list) else []
        begin = self._begin(model, origin)
        position = begin.position
        since = None if run is None else run.origin.get(LOG_SINCE_KEY)
        if position is None and type(since) is int:  # it was stopped before its first row
            begin = FollowStart(began=since, since=since)
        self._since = time_of(path) if type(since) is not int else since
        if run is None and position is None and origin["whole"] is None and out is not None:
            _refuse_to_lose(path, out, at)
        self._position = position
        row = origin["skip"] if position is None else position.rows
        if run is not None:
            row = run.rows
        before = None if position is None else position.coverage["sha256"]
        self._before = self._earlier[-1].get("before") if self._earlier else before
        self.start = StartingPoint(row, before)
        if position is not None:
            where = f"'{path}'" if begin.file is None else f"'{begin.file.path}' (once '{path}')"
            say(f"the first {position.rows:,} rows of {where} were learnt before.")
        self.source = FollowSource(
            path,
            format_name(path, format) or "csv",
            begin,
            first_row=0 if position is None else row,
            patience=patience,
            tell=say,
        )

    def _begin(self, model: Model, origin: dict[str, Any]) -> FollowStart:
        from ocboost.deployment.resume import learnt_files, records_of
        from ocboost.deployment.rotation import start_after, start_by_history
        from ocboost.streams.follow import FollowStart

        files = learnt_files(self._earlier)
        if files:
            return start_after([*learnt_files(records_of(model.history), self._path), *files], self._path)
        return start_by_history(model.history, self._path) if origin["whole"] is None else FollowStart()

    def covered(self, run: Adaptation) -> list[dict[str, Any]]:
        """The records of all files of a run, which are kept in its checkpoint too."""
        from ocboost.deployment.adaptation import LOG_KEY, LOG_SINCE_KEY
        from ocboost.deployment.resume import MAX_STREAMS, file_records

        self.source.learnt_to(run.rows)
        records = file_records(self.source.learnt_files(), self._path, self._before)
        if self._earlier:
            records = [*self._earlier[:-1], *(records or self._earlier[-1:])]
        elif records and self._position is not None and records[0]["coverage"] == self._position.coverage:
            del records[0]  # nothing was added to it
        records = records[-MAX_STREAMS:]
        run.origin |= {LOG_KEY: records, LOG_SINCE_KEY: self._since}
        return records


def _refuse_to_lose(path: Path, out: Path, at: Path) -> None:
    """Refuse to replace a model that has followed this log by one that has not."""
    from ocboost.deployment.model import Model
    from ocboost.deployment.resume import learnt_files, records_of

    if place_of(at) == place_of(out) or not out.exists():
        return
    try:
        files = learnt_files(records_of(Model.load(out).history), path)
    except OcboostError:  # it is no model, and is replaced as without --follow
        return
    if files:
        raise InputError(
            f"'{out}' has followed '{path}' before, and '{at}' has not: what was learnt of files rotated "
            f"since would be lost. Give '{out}' as the model, or --new to begin with the log as it is now."
        )
