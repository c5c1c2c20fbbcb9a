"""Where a run of ``ocboost adapt`` begins: anew, after rows it has learnt before, or at a checkpoint."""

from __future__ import annotations

import glob
import os
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


@dataclass(frozen=True)
class Start:
    """Where to begin.

    Attributes
    ----------
    row : int
        The first row to learn.
    before : str or None
        What the model's history calls the part of the stream that it has been through.
    nothing_new : str or None
        Why there is nothing to do, if so.
    """

    row: int
    before: str | None = None
    nothing_new: str | None = None


def begun_run(checkpoint: Path, *, resume: bool) -> Adaptation | None:
    """The run that a checkpoint holds, if there is one; it must be wanted, so that nothing is lost."""
    from ocboost.deployment.adaptation import Adaptation

    if not checkpoint.exists():
        return None
    try:
        begun = Adaptation.load(checkpoint)
    except ModelFileError as error:
        raise InputError(f"{error} Or give --restart to begin anew.") from None
    if resume:
        return begun
    if begun.rows > begun.first:
        raise InputError(
            f"'{checkpoint}' holds a run that was interrupted after {begun.rows:,} rows. "
            "Give --resume to go on from there, or --restart to begin anew."
        )
    return None


def sweep(*places: Path) -> None:
    """Remove what a run that was killed while it wrote a file has left beside its place."""
    for place in map(Path, map(os.path.realpath, places)):
        for left in place.parent.glob(f".{glob.escape(place.name)}.????????.tmp"):
            left.unlink(missing_ok=True)


def check_same(begun: Adaptation, origin: dict[str, Any], stream: Stream, checkpoint: Path) -> None:
    """Refuse to go on with another stream, another model or other settings."""
    before = begun.origin
    for key, what in (
        ("settings", "with other settings"),
        ("method", "with another --method"),
        ("label", "with another --label"),
        ("drop", "with another --drop"),
        ("batch", "with another --batch"),
        ("skip", "with another --skip"),
        ("leave_unseen", "with or without --leave-unseen"),
        ("whole", "with or without --again or --new"),
        ("model", "with another model"),
    ):
        changed = _given(before.get(key)) != _given(origin.get(key))
        # The finished model may be in its place; and rows that are left out from now on were none before.
        allowed = begun.finished if key == "model" else key == "leave_unseen" and origin[key]
        if changed and not allowed:
            raise InputError(
                f"'{checkpoint}' belongs to a run {what}. Give the same ones, or --restart to begin anew."
            )
    if before.get("stream") is not None and not stream.matches(before["stream"]):
        raise InputError(
            f"'{checkpoint}' belongs to another stream, or to one whose beginning has changed. "
            "Give the same one, or --restart to begin anew."
        )


def _given(value: Any) -> Any:
    """Settings without those that say nothing, which older checkpoints do not have; others as they are."""
    return {k: v for k, v in value.items() if v is not None} if isinstance(value, dict) else value


def start_of(
    model: Model, stream: Stream, path: Path, origin: dict[str, Any], *, out: Path, at: Path, resume: bool
) -> Start:
    """Where a run without a checkpoint begins.

    Parameters
    ----------
    model : Model
        The one to begin with, which lies ``at`` a path.
    stream : Stream
        Opened as ``tracked``; its name is ``path``.
    origin : dict
        What makes the run this one.
    out, at : path
    resume : bool
        Whether a checkpoint was looked for.
    """
    in_place = place_of(at) == place_of(out)
    wish, skip = origin["whole"], origin["skip"]
    known_by = origin["stream"] is not None  # standard input and pipes are not
    if resume and _is_done(out, origin, in_place=in_place):
        if not known_by:
            raise InputError(
                f"'{out}' has been through standard input before, and nobody can tell whether through "
                "the same rows. Leave out --resume to learn these; else there is nothing to resume."
            )
        done = _resumed(model, stream, path, skip, out=out, in_place=in_place)
        if done is not None:
            return done
    start = _looked_up(model, stream, path, skip, wish) if known_by else Start(skip)
    if resume and start.row == skip and start.nothing_new is None:
        say("no checkpoint was found; beginning at the first row.")
    return start


def _resumed(
    model: Model, stream: Stream, path: Path, skip: int, *, out: Path, in_place: bool
) -> Start | None:
    """Where to go on after a run that came to its end; None if it was through another stream."""
    from ocboost.deployment.model import Model
    from ocboost.deployment.resume import LearntPart, find_learnt_part

    known = find_learnt_part((model if in_place else Model.load(out)).history, stream, path)
    if known is None or (isinstance(known, LearntPart) and known.is_all):  # None: of an older ocboost
        return Start(skip, None, f"nothing to resume: '{out}' has been through it. --again goes once more.")
    if isinstance(known, LearntPart) and in_place:
        return _after(known, skip)
    return None


def _looked_up(model: Model, stream: Stream, path: Path, skip: int, wish: str | None) -> Start:
    from ocboost.deployment.resume import ChangedStream, find_learnt_part

    known = find_learnt_part(model.history, stream, path)
    if wish == "new" or known is None:
        return Start(skip)
    if isinstance(known, ChangedStream):
        raise InputError(
            f"'{path}' does not begin as it did when {known.rows:,} rows of it were learnt. Give --new to "
            "learn the whole of it as a new stream, or give the one that has grown."
        )
    if wish == "again":
        return Start(skip, known.sha256)
    if known.is_all:
        return Start(
            skip,
            known.sha256,
            f"nothing new: all {known.rows:,} rows of '{path}' were learnt before. --again learns them once "
            "more.",
        )
    return _after(known, skip)


def _after(known: Any, skip: int) -> Start:
    """After the rows learnt before, and after those to pass over."""
    row = max(skip, known.rows)
    say(f"the first {known.rows:,} rows were learnt before; going on at row {row:,}.")
    if known.last_row_grew:
        say(
            f"row {known.rows - 1:,}, the last of them, was learnt while it was still being written, and is "
            "longer now; what it has become is passed over, as each row is learnt once."
        )
    return Start(row, known.sha256)


def _is_done(out: Path, origin: dict[str, Any], *, in_place: bool) -> bool:
    """Whether the model has come to its end before, and only its checkpoint was removed.

    A model that was adapted in place is no longer there to be compared.
    """
    from ocboost.deployment.adaptation import run_id
    from ocboost.deployment.model import Model

    if not out.exists():
        return False
    history = Model.load(out).history
    last = history[-1] if history else {}
    return last.get("run") == run_id(origin) and (in_place or last.get("model") == origin["model"])
