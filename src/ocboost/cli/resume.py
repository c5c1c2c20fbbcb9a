"""Where a run of ``ocboost adapt`` begins: at a checkpoint, after rows learnt before, or at the first row."""

from __future__ import annotations

import glob
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocboost.cli.files import place_of
from ocboost.cli.terminal import say
from ocboost.errors import InputError, ModelFileError

if TYPE_CHECKING:
    from ocboost.deployment.adaptation import Adaptation
    from ocboost.deployment.model import Model
    from ocboost.streams import Stream

# What must not change between a run and its --resume: the key in its origin, and how messages call it.
_SAME_IN_A_RUN = {
    "settings": "with other settings",
    "method": "with another --method",
    "label": "with another --label",
    "drop": "with another --drop",
    "batch": "with another --batch",
    "skip": "with another --skip",
    "leave_unseen": "with or without --leave-unseen",
    "whole": "with or without --again or --new",
    "follow": "with or without --follow",
    "model": "with another model",
}


@dataclass(frozen=True)
class StartingPoint:
    """Where to begin: the first ``row`` to learn.

    ``learnt_before`` is the digest, in the model's history, of the part of the stream that was learnt before.
    ``nothing_to_do`` says why, if there is no row to learn.
    """

    row: int
    learnt_before: str | None = None
    nothing_to_do: str | None = None


def load_checkpoint(path: Path, *, resume: bool) -> Adaptation | None:
    """The run that a checkpoint holds, if there is one to resume; refuses to ignore one without --resume."""
    from ocboost.deployment.adaptation import Adaptation

    if not path.exists():
        return None
    try:
        run = Adaptation.load(path)
    except ModelFileError as error:
        raise InputError(f"{error} Or give --restart to start over.") from None
    if resume:
        return run
    if run.rows > run.first:
        raise InputError(
            f"'{path}' holds a run that was interrupted after {run.rows:,} rows. "
            "Give --resume to continue it, or --restart to start over."
        )
    return None


def remove_temporary_files(*paths: Path) -> None:
    """Remove what a run that was killed while it wrote these files has left beside them."""
    for place in map(place_of, paths):
        for left in place.parent.glob(f".{glob.escape(place.name)}.????????.tmp"):
            left.unlink(missing_ok=True)


def require_same_run(run: Adaptation, origin: dict[str, Any], stream: Stream, checkpoint: Path) -> None:
    """Refuse to resume a run with another stream, another model or other settings."""
    for key, what in _SAME_IN_A_RUN.items():
        changed = _given(run.origin.get(key)) != _given(origin.get(key))
        # The finished model may have replaced the first one; and --leave-unseen may be added, as there were
        # no unseen classes before.
        allowed = run.finished if key == "model" else key == "leave_unseen" and origin[key]
        if changed and not allowed:
            raise InputError(
                f"'{checkpoint}' belongs to a run {what}. Give the same ones, or --restart to start over."
            )
    known = run.origin.get("stream")
    if known != origin["stream"] if origin.get("follow") else known is not None and not stream.matches(known):
        raise InputError(
            f"'{checkpoint}' belongs to another stream, or to one whose beginning has changed. "
            "Give the same one, or --restart to start over."
        )


def _given(value: Any) -> Any:
    """Settings without those that are None, which older checkpoints do not have; other values unchanged."""
    return {k: v for k, v in value.items() if v is not None} if isinstance(value, dict) else value


def starting_point(
    model: Model, stream: Stream, path: Path, origin: dict[str, Any], *, out: Path, at: Path, resume: bool
) -> StartingPoint:
    """Where a run without a checkpoint begins; ``path`` is the stream's, ``at`` the model's."""
    in_place = place_of(at) == place_of(out)
    skip = origin["skip"]
    identifiable = origin["stream"] is not None  # standard input and pipes are not
    if resume and _is_finished(out, origin, in_place=in_place):
        if not identifiable:
            raise InputError(
                f"'{out}' has learnt standard input before, and nobody can tell whether the same rows. Leave "
                "out --resume to learn these; else there is nothing to resume."
            )
        start = _after_finished_run(model, stream, path, skip, out=out, in_place=in_place)
        if start is not None:
            return start
    start = StartingPoint(skip)
    if identifiable:
        start = _after_earlier_runs(model, stream, path, skip, origin["whole"])
    if resume and start.row == skip and start.nothing_to_do is None:
        say("no checkpoint was found; beginning at the first row.")
    return start


def _is_finished(out: Path, origin: dict[str, Any], *, in_place: bool) -> bool:
    """Whether ``out`` is the result of this very run, whose checkpoint was removed at its end.

    A model that was adapted in place is gone and cannot be compared.
    """
    from ocboost.deployment.adaptation import run_id
    from ocboost.deployment.model import Model

    if not out.exists():
        return False
    history = Model.load(out).history
    last = history[-1] if history else {}
    return last.get("run") == run_id(origin) and (in_place or last.get("model") == origin["model"])


def _after_finished_run(
    model: Model, stream: Stream, path: Path, skip: int, *, out: Path, in_place: bool
) -> StartingPoint | None:
    """Where to continue after a finished run; None if that was on another stream."""
    from ocboost.deployment.model import Model
    from ocboost.deployment.resume import LearntPart, find_learnt_part

    known = find_learnt_part((model if in_place else Model.load(out)).history, stream, path)
    if known is None or (isinstance(known, LearntPart) and known.is_all):  # None: by an older ocboost
        why = f"nothing to resume: '{out}' has learnt all of it. --again learns it once more."
        return StartingPoint(skip, None, why)
    if isinstance(known, LearntPart) and in_place:
        return _after_learnt_rows(known, skip)
    return None


def _after_earlier_runs(
    model: Model, stream: Stream, path: Path, skip: int, whole: str | None
) -> StartingPoint:
    """Where to begin in a stream that the model may have learnt before, all or in part."""
    from ocboost.deployment.resume import ChangedStream, find_learnt_part

    known = find_learnt_part(model.history, stream, path)
    if whole == "new" or known is None:
        return StartingPoint(skip)
    if isinstance(known, ChangedStream):
        raise InputError(
            f"'{path}' does not begin as it did when {known.rows:,} rows of it were learnt. Give --new to "
            "learn the whole of it as a new stream, or give the one that has grown."
        )
    if whole == "again":
        return StartingPoint(skip, known.sha256)
    if known.is_all:
        why = (
            f"nothing new: all {known.rows:,} rows of '{path}' were learnt before. --again learns them again."
        )
        return StartingPoint(skip, known.sha256, why)
    return _after_learnt_rows(known, skip)


def _after_learnt_rows(known: Any, skip: int) -> StartingPoint:
    """After the rows learnt before, and after those to skip."""
    row = max(skip, known.rows)
    say(f"the first {known.rows:,} rows were learnt before; continuing at row {row:,}.")
    if known.last_row_grew:
        say(
            f"row {known.rows - 1:,}, the last of them, was learnt while it was still being written, and is "
            "longer now; it is skipped, as each row is learnt once."
        )
    return StartingPoint(row, known.sha256)
