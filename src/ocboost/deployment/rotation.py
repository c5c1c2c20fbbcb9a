"""Where to continue in a log that is followed, though it may have been rotated since.

The model's history, or a checkpoint, has a record of each file of the log (`ocboost.deployment.resume`). The
last one is the position. The file that begins with it is looked for at the log's own name and among the files
beside it; the rest of that file comes first, then those after it (`ocboost.streams.follow`).
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Sequence
from pathlib import Path

from ocboost.deployment.resume import History, learnt_files, records_of
from ocboost.errors import InputError
from ocboost.streams.follow import FollowStart
from ocboost.streams.learnt_rows import LearntFile
from ocboost.streams.rotated import Archive, archives_of, find_holder, fits_of, key_of


def start_after(files: Sequence[LearntFile], path: str | os.PathLike[str]) -> FollowStart:
    """Where to continue a log of which these files were learnt, the last perhaps in part."""
    position = files[-1]
    log = _log_itself(path)
    archives = [each for each in archives_of(path) if log is None or each.key != log.key]
    every = archives if log is None else [*archives, log]
    holder = find_holder(every, position.coverage, position.time)
    if holder is None:
        raise InputError(
            f"'{os.fspath(path)}' does not begin as it did when {position.rows:,} rows of it were learnt, "
            "and no file of a similar name beside it does. Give --new to learn the whole of it as a new "
            "stream, or put the old file beside it."
        )
    known = [each.coverage for each in files[:-1]]
    began = min((each.time for each in files if each.time is not None), default=None)
    return FollowStart(position, None if holder == log else holder, known, began)


def start_by_history(history: History, path: str | os.PathLike[str]) -> FollowStart:
    """Where a model with this history continues a log: known by its place, or by how it begins."""
    records = records_of(history)
    here = learnt_files(records, path)
    if here:
        return start_after(here, path)
    log = _log_itself(path)
    files = learnt_files(records)
    if log is None or not files:
        return FollowStart()
    fits = fits_of(log, [each.coverage for each in files])
    fitting = [each for each, fit in zip(files, fits, strict=True) if fit != "other"]
    return FollowStart(max(fitting, key=lambda each: each.rows) if fitting else None)


def time_of(path: str | os.PathLike[str]) -> int:
    """The time of modification of a log; the present if it is not there yet."""
    log = _log_itself(path)
    return time.time_ns() if log is None else log.time


def _log_itself(path: str | os.PathLike[str]) -> Archive | None:
    """The log under its own name, if it is there."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    regular = stat.S_ISREG(status.st_mode)
    return Archive(Path(path), status.st_mtime_ns, key_of(status)) if regular else None
