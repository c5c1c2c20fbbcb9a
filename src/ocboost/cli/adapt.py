"""``ocboost adapt``: a model goes on learning from a stream, and loses nothing however it ends."""

from __future__ import annotations

import glob
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, validators

from ocboost.cli.options import Count, Data, Flag, Following, Format, Names, UsageError, check_out
from ocboost.cli.terminal import results, say, shown, stream_progress
from ocboost.errors import InputError, ModelFileError, OcboostError

if TYPE_CHECKING:
    from ocboost.adaptation import Adaptation
    from ocboost.streams import Batch, Stream

WORSE = 0.03  # so much less often right than before is worth a word
READ = 500  # rows read at once
MOST_CLASSES = 20  # shown at the end
Skip = Annotated[int, Parameter(validator=validators.Number(gte=0))]
Seconds = Annotated[float, Parameter(validator=validators.Number(gt=0))]


def adapt(
    model: Path,
    stream: Data,
    /,
    *,
    out: Path,
    resume: Flag = False,
    restart: Flag = False,
    label: str | None = None,
    drop: Names = None,
    following: Following = Following(),  # noqa: B008
    skip: Skip = 0,
    leave_unseen: Flag = False,
    batch: Count = 1,
    checkpoint_rows: Count = 50_000,
    checkpoint_seconds: Seconds = 30.0,
    format: Format | None = None,
) -> int:
    """Let a model go on learning from a stream: it predicts each row, then learns from it.

    The model follows the stream:
        ocboost adapt model.ocb stream.csv --out model.ocb

    The stream changes fast, so remember little:
        ocboost adapt model.ocb stream.csv --out model.ocb --window 200

    Its hypotheses no longer fit, so let it find new ones:
        ocboost adapt model.ocb stream.csv --out model.ocb --forgetting 0.995 --head 500 --grow 150

    From another program:
        producer | ocboost adapt model.ocb - --out model.ocb

    After an interruption of whatever kind, the same command and --resume:
        ocboost adapt model.ocb stream.csv --out model.ocb --resume

    On the way the state is kept beside the model, in OUT.checkpoint. The model itself is written at the end.

    Parameters
    ----------
    model
        A model made by `ocboost fit`, or an OCBClassifier saved in Python.
    stream
        CSV, JSON lines or Parquet, gzipped or not; - is standard input.
    out
        The file for the adapted model; it may be the same as MODEL.
    resume
        Go on where a run was interrupted, with the same stream from its beginning, and end in the same model.
    restart
        Throw away the checkpoint of such a run, and begin anew.
    label
        The column that holds the class, if it is another than the model was fitted with.
    drop
        Columns to leave out; only for a model that does not know its columns.
    skip
        Pass over so many rows at the beginning, such as those the model was fitted on.
    leave_unseen
        Leave out rows of a class that the model does not know, instead of stopping there.
    batch
        Rows predicted before any of them is learnt: more of them are faster, and end in the same weights.
    checkpoint_rows
        Keep the state after so many rows,
    checkpoint_seconds
        or after so many seconds, whichever comes first.
    format
        What the file is, where its name does not say.
    """
    from ocboost.adaptation import Adaptation, model_digest
    from ocboost.cli.columns import open_for
    from ocboost.model import Model

    if resume and restart:
        raise UsageError("--resume and --restart exclude each other: go on, or begin anew.")
    settings = following.settings()
    check_out(out, stream)
    checkpoint = out.with_name(out.name + ".checkpoint")
    if resume or restart:
        _sweep(out, checkpoint)
    begun = None if restart else _begun(checkpoint, resume=resume)
    deployed = Model.load(model) if begun is None else begun.model
    rows = -(-READ // batch) * batch  # whole steps, so that they are the same ones after an interruption
    at = skip if begun is None else begun.rows
    with open_for(
        deployed, stream, batch_size=rows, label=label, drop=drop, format=format, skip=at
    ) as opened:
        origin = {
            "settings": settings,
            "label": label,
            "drop": sorted(drop or ()),
            "batch": batch,
            "skip": skip,
            "leave_unseen": leave_unseen,
            "model": model_digest(model),
            "stream": opened.fingerprint(),
        }
        if begun is not None:
            _check_same(begun, origin, opened, checkpoint)
        elif resume and _is_done(out, origin, in_place=model.resolve() == out.resolve()):
            if origin["stream"] is None:
                raise InputError(
                    f"'{out}' has been through standard input before, and nobody can tell whether through "
                    "the same rows. Leave out --resume to learn these; else there is nothing to resume."
                )
            say(f"nothing to resume: '{out}' has been through it. Without --resume it goes once more.")
            return 0
        elif resume:
            say("no checkpoint was found; beginning at the first row.")
        adaptation = begun
        if adaptation is None:
            adaptation = Adaptation(deployed, origin, first=skip, leave_unseen=leave_unseen)
            deployed.classifier.set_params(**settings)
            deployed.classifier.follow_settings()
        for note in opened.notes:
            say(note)
        if not adaptation.finished and not _run(
            adaptation, opened, batch, checkpoint, checkpoint_rows, checkpoint_seconds
        ):
            return 130
    _finish(adaptation, stream, checkpoint, out)
    _report(adaptation, out)
    return 0


def _begun(checkpoint: Path, *, resume: bool) -> Adaptation | None:
    """The run that a checkpoint holds, if there is one; it must be wanted, so that nothing is lost."""
    from ocboost.adaptation import Adaptation

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


def _sweep(*places: Path) -> None:
    """Remove what a run that was killed while it wrote a file has left beside its place."""
    for place in map(Path, map(os.path.realpath, places)):
        for left in place.parent.glob(f".{glob.escape(place.name)}.????????.tmp"):
            left.unlink(missing_ok=True)


def _check_same(begun: Adaptation, origin: dict[str, Any], stream: Stream, checkpoint: Path) -> None:
    """Refuse to go on with another stream, another model or other settings."""
    before = begun.origin
    for key, what in (
        ("settings", "with other settings"),
        ("label", "with another --label"),
        ("drop", "with another --drop"),
        ("batch", "with another --batch"),
        ("skip", "with another --skip"),
        ("leave_unseen", "with or without --leave-unseen"),
        ("model", "with another model"),
    ):
        changed = before.get(key) != origin[key]
        if changed and not (key == "model" and begun.finished):  # the finished model may be in its place
            raise InputError(
                f"'{checkpoint}' belongs to a run {what}. Give the same ones, or --restart to begin anew."
            )
    if before.get("stream") is not None and not stream.matches(before["stream"]):
        raise InputError(
            f"'{checkpoint}' belongs to another stream, or to one whose beginning has changed. "
            "Give the same one, or --restart to begin anew."
        )


def _is_done(out: Path, origin: dict[str, Any], *, in_place: bool) -> bool:
    """Whether the model has come to its end before, and only its checkpoint was removed.

    A model that was adapted in place is no longer there to be compared.
    """
    from ocboost.adaptation import run_id
    from ocboost.model import Model

    if not out.exists():
        return False
    history = Model.load(out).history
    last = history[-1] if history else {}
    return last.get("run") == run_id(origin) and (in_place or last.get("model") == origin["model"])


def _run(
    adaptation: Adaptation, stream: Stream, step: int, checkpoint: Path, every: int, seconds: float
) -> bool:
    """Go through the stream, and say whether it came to its end; if not, somebody has interrupted it."""
    from ocboost.interrupts import uninterrupted

    rest = None
    hypotheses = adaptation.model.classifier.hypotheses_
    try:
        with stream_progress("adapting") as show:
            # At once, since a run that has begun is to be told from one that has ended.
            adaptation.save(checkpoint)
            kept_rows, kept_at = adaptation.rows, time.monotonic()
            for batch in stream:
                _check(batch, stream, hypotheses)
                # What is left over is a step only at the end of the stream.
                whole, rest = batch.parted(len(batch) // step * step)
                adaptation.take(whole, step)
                if adaptation.rows - kept_rows >= every or time.monotonic() - kept_at >= seconds:
                    adaptation.save(checkpoint)
                    kept_rows, kept_at = adaptation.rows, time.monotonic()
                show(stream, adaptation.rows, _in_short(adaptation))
            if rest is not None and len(rest):
                adaptation.take(rest, step)
    except (KeyboardInterrupt, OcboostError, OSError) as error:
        with uninterrupted():
            if adaptation.rows > adaptation.first:
                adaptation.save(checkpoint)
                kept = f"{adaptation.rows:,} rows are kept in '{checkpoint}'; --resume goes on from there."
            else:
                checkpoint.unlink(missing_ok=True)
                kept = "Nothing was learnt."
        if not isinstance(error, KeyboardInterrupt):
            raise InputError(f"{error} {kept}") from error
        say(f"interrupted. {kept}")
        return False
    return True


def _check(batch: Batch, stream: Stream, hypotheses: Any) -> None:
    from ocboost.cli.columns import require_complete

    if not hypotheses.accepts_missing:
        require_complete(batch.X, stream.schema.feature_names, batch.first, hypotheses.kind.lower())


def _finish(adaptation: Adaptation, stream: Path, checkpoint: Path, out: Path) -> None:
    """Write the model; whatever happens on the way, --resume takes it up without learning a row twice."""
    from ocboost.interrupts import uninterrupted

    with uninterrupted():
        adaptation.finish(stream.name if str(stream) != "-" else "standard input")
        adaptation.save(checkpoint)
        adaptation.model.save(out)
        checkpoint.unlink()


def _in_short(adaptation: Adaptation) -> str:
    if adaptation.accuracy is None or adaptation.recent_accuracy is None:
        return ""
    return f"right: {adaptation.accuracy:.1%}, lately {adaptation.recent_accuracy:.1%}"


def _report(adaptation: Adaptation, out: Path) -> None:
    from rich.table import Table

    from ocboost.adaptation import RECENT

    console = results()
    classes = adaptation.model.classifier.classes_.tolist()
    console.print("Each row was predicted, then learnt:")
    table = Table()
    table.add_column("class")
    for heading in ("rows", "right"):
        table.add_column(heading, justify="right")
    for code, label in enumerate(classes[:MOST_CLASSES]):
        row = adaptation.confusion[code]
        table.add_row(shown(label), f"{row.sum():,}", f"{row[code] / row.sum():.1%}" if row.sum() else "–")
    if len(classes) > MOST_CLASSES:
        table.add_row(f"… {len(classes) - MOST_CLASSES:,} more", "", "")
    total = adaptation.accuracy
    table.add_row("all", f"{adaptation.learnt:,}", f"{total:.1%}" if total is not None else "–", style="bold")
    console.print(table)
    lately = adaptation.recent_accuracy
    if lately is not None and adaptation.learnt > RECENT:
        console.print(f"Of the last {RECENT:,} rows {lately:.1%} were right.", soft_wrap=True)
        booster = adaptation.model.classifier.boosters_[0]
        if total is not None and lately < total - WORSE and booster.tail and booster.forgetting == 1.0:
            console.print(
                "That is less than before. If the stream changes, --window 200 or --forgetting 0.995 follows "
                "faster; `ocboost evaluate` compares them.",
                soft_wrap=True,
            )
    left = adaptation.rows - adaptation.first - adaptation.learnt
    if left:
        why = "no label, or one the model does not know," if adaptation.leave_unseen else "no label"
        console.print(f"{left:,} rows had {why} and were not learnt.", soft_wrap=True)
    console.print(f"Wrote {out}", soft_wrap=True)
