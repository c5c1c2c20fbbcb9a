"""``ocboost adapt``: a model goes on learning from a stream, and loses nothing however it ends."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, validators

from ocboost._core.escaping import shown
from ocboost.cli.adapt_start import begun_run, check_same, start_of, sweep
from ocboost.cli.files import check_apart, check_out, checkpoint_of, place_of
from ocboost.cli.options import Count, Data, Flag, Following, Format, Names, UsageError
from ocboost.cli.terminal import after_writing, results, say, stream_progress
from ocboost.errors import InputError, OcboostError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ocboost.deployment.adaptation import Adaptation
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
    again: Flag = False,
    new: Flag = False,
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

    The log has grown: what was learnt before is passed over, the rest is learnt:
        ocboost adapt model.ocb log.csv --out model.ocb

    On the way the state is kept beside the model, in OUT.checkpoint. The model
    itself is written at the end; exit status 0 means that it was. A second run
    to the same OUT at the same time is refused.

    A stream that begins with all that was learnt before is known, whatever it
    is called, and each row of it is learnt once. Standard input is not known
    again: it is learnt whole.

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
    again
        Learn the whole stream once more, though the model has been through it.
    new
        Learn the whole stream as a new one, though another has been learnt under its name.
    label
        The column that holds the class, if it is another than the model was fitted with.
    drop
        Columns to leave out; only for a model that does not know its columns.
    skip
        Pass over so many rows at the beginning, such as those the model was fitted on; where more were learnt
        before, it goes on after those.
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
    from ocboost._core.file_lock import locked
    from ocboost.cli.method import booster_of

    if resume and restart:
        raise UsageError("--resume and --restart exclude each other: go on, or begin anew.")
    if again and new:
        raise UsageError("--again and --new exclude each other: the same stream once more, or another one.")
    settings = following.settings()
    if following.method is not None:
        booster_of(following.method)
    check_out(out, stream)
    check_apart(out, stream=stream, model=model)
    options = {
        "settings": settings,
        **({} if following.method is None else {"method": following.method}),
        "label": label,
        "drop": sorted(drop or ()),
        "batch": batch,
        "skip": skip,
        "leave_unseen": leave_unseen,
        "whole": "again" if again else "new" if new else None,
    }
    with after_writing("the model", out) as written:
        with locked(out):
            adaptation = _adapted(
                model,
                stream,
                out,
                options,
                written,
                resume=resume,
                restart=restart,
                every=checkpoint_rows,
                seconds=checkpoint_seconds,
                format=format,
            )
        if isinstance(adaptation, int):
            return adaptation
        _report(adaptation, out)
    return 0


def _adapted(
    model: Path,
    stream: Path,
    out: Path,
    options: dict[str, Any],
    written: Callable[[], None],
    *,
    resume: bool,
    restart: bool,
    every: int,
    seconds: float,
    format: Format | None,
) -> Adaptation | int:
    """The finished run, whose model has been written; or an exit code, if there was nothing to do or report.

    Nobody else writes the model, its checkpoint or what lies beside them meanwhile.
    """
    from ocboost.cli.columns import open_for
    from ocboost.cli.method import going_on
    from ocboost.deployment.adaptation import Adaptation, model_digest
    from ocboost.deployment.model import Model
    from ocboost.deployment.resume import coverage_record

    checkpoint = checkpoint_of(out)
    if resume or restart:
        sweep(out, checkpoint)
    adaptation = None if restart else begun_run(checkpoint, resume=resume)
    deployed = Model.load(model) if adaptation is None else adaptation.model
    batch, skip = options["batch"], options["skip"]
    rows = -(-READ // batch) * batch  # whole steps, so that they are the same ones after an interruption
    at = skip if adaptation is None else adaptation.rows
    with open_for(
        deployed,
        stream,
        batch_size=rows,
        label=options["label"],
        drop=options["drop"],
        format=format,
        skip=at,
        tracked=True,
    ) as opened:
        origin = {**options, "model": model_digest(model), "stream": opened.fingerprint()}
        if adaptation is not None:
            check_same(adaptation, origin, opened, checkpoint)
            adaptation.leave_unseen = adaptation.origin["leave_unseen"] = options["leave_unseen"]
        else:
            start = start_of(deployed, opened, stream, origin, out=out, at=model, resume=resume)
            if start.nothing_new is not None:
                if place_of(model) != place_of(out) and not (resume and out.exists()):
                    deployed.save(out)
                checkpoint.unlink(missing_ok=True)  # it holds nothing, or is not wanted
                say(start.nothing_new)
                return 0
            if start.row != skip:
                opened.start_at(start.row)
            origin["before"] = start.before
            leave = options["leave_unseen"]
            adaptation = Adaptation(deployed, origin, first=start.row, leave_unseen=leave)
            deployed.classifier.set_params(
                **going_on(options.get("method"), options["settings"], deployed.classifier)
            )
            deployed.classifier.follow_settings()
        for note in opened.notes:
            say(note)
        if not adaptation.finished and not _run(adaptation, opened, batch, checkpoint, every, seconds):
            return 130
        record = coverage_record(opened.coverage(), stream, adaptation.rows, adaptation.origin.get("before"))
    _finish(adaptation, stream, record, checkpoint, out, written)
    return adaptation


def _run(
    adaptation: Adaptation, stream: Stream, step: int, checkpoint: Path, every: int, seconds: float
) -> bool:
    """Go through the stream, and say whether it came to its end; if not, somebody has interrupted it."""
    from ocboost._core.interrupts import uninterrupted

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
                n_whole = len(batch) // step * step
                rest = batch[n_whole:]
                adaptation.take(batch[:n_whole], step)
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
            text = str(error)
            if isinstance(error, OSError) and error.filename is not None:
                text = f"'{os.fspath(error.filename)}': {error.strerror}."
            raise InputError(f"{text} {kept}") from error
        say(f"interrupted. {kept}")
        return False
    return True


def _check(batch: Batch, stream: Stream, hypotheses: Any) -> None:
    from ocboost.cli.columns import require_complete

    if not hypotheses.accepts_missing:
        require_complete(batch.X, stream.schema.feature_names, batch.first, hypotheses.kind.lower())


def _finish(
    adaptation: Adaptation,
    stream: Path,
    record: dict[str, Any] | None,
    checkpoint: Path,
    out: Path,
    written: Callable[[], None],
) -> None:
    """Write the model; whatever happens on the way, --resume takes it up without learning a row twice.

    The checkpoint goes last, when the model is safe in its place.
    """
    from ocboost._core.interrupts import uninterrupted

    with uninterrupted():
        name = shown(stream.name) if str(stream) != "-" else "standard input"
        adaptation.finish(name, record)
        adaptation.save(checkpoint)
        adaptation.model.save(out)
        written()
        try:
            checkpoint.unlink()
        except OSError as error:
            say(
                f"the model was written to '{out}', but '{checkpoint}' could not be removed "
                f"({error.strerror}). Remove it."
            )


def _in_short(adaptation: Adaptation) -> str:
    if adaptation.accuracy is None or adaptation.recent_accuracy is None:
        return ""
    return f"right: {adaptation.accuracy:.1%}, lately {adaptation.recent_accuracy:.1%}"


def _report(adaptation: Adaptation, out: Path) -> None:
    from rich.table import Table

    from ocboost.boosters.sketch.sketch import BoostingSketch
    from ocboost.deployment.adaptation import RECENT_PREDICTIONS

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
    if lately is not None and adaptation.learnt > RECENT_PREDICTIONS:
        console.print(f"Of the last {RECENT_PREDICTIONS:,} rows {lately:.1%} were right.", soft_wrap=True)
        booster = adaptation.model.classifier.boosters_[0]
        all_sums = isinstance(booster, BoostingSketch) and booster.tail and booster.forgetting == 1.0
        if total is not None and lately < total - WORSE and all_sums:
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
