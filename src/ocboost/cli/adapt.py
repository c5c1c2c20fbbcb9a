"""``ocboost adapt``: a model keeps learning from a stream, and an interruption loses nothing."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, validators

from ocboost._core.escaping import shown
from ocboost.cli.decisions import DecisionOptions
from ocboost.cli.files import check_apart, check_out, checkpoint_of, place_of
from ocboost.cli.options import Count, Data, DropUnknown, FileFormat, Flag, MethodOptions, UsageError
from ocboost.cli.resume import load_checkpoint, remove_temporary_files, require_same_run, starting_point
from ocboost.cli.terminal import after_writing, results, say, stream_progress
from ocboost.errors import InputError, OcboostError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ocboost.deployment.adaptation import Adaptation
    from ocboost.deployment.model import Model
    from ocboost.streams import Stream

NOTABLE_DROP = 0.03  # in accuracy, that is worth a hint
ROWS_PER_READ = 500
MAX_CLASSES_LISTED = 20
MAX_PROGRESS_CLASSES = 3  # whose recall stands beside the progress bar
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
    drop: DropUnknown = None,
    options: MethodOptions = MethodOptions(),  # noqa: B008
    decisions: DecisionOptions = DecisionOptions(),  # noqa: B008
    skip: Skip = 0,
    leave_unseen: Flag = False,
    batch: Count = 1,
    checkpoint_rows: Count = 50_000,
    checkpoint_seconds: Seconds = 30.0,
    format: FileFormat = None,
) -> int:
    """Let a model keep learning from a stream: it predicts each row, then learns from it.

    The model follows the stream:
        ocboost adapt model.ocb stream.csv --out model.ocb

    A model of --method ocb that is to remember little, as the stream changes fast:
        ocboost adapt model.ocb stream.csv --out model.ocb --window 200

    One of --method ocb whose hypotheses no longer fit, so that it finds new ones:
        ocboost adapt model.ocb stream.csv --out model.ocb --forgetting 0.995 --head 500 --grow 150

    Predictions that take late flights more seriously from now on:
        ocboost adapt model.ocb flights.csv --out model.ocb --class-weight late=3

    From another program:
        producer | ocboost adapt model.ocb - --out model.ocb

    After an interruption of any kind, the same command and --resume:
        ocboost adapt model.ocb stream.csv --out model.ocb --resume

    The log has grown: rows learnt before are skipped, the others are learnt:
        ocboost adapt model.ocb log.csv --out model.ocb

    On the way a checkpoint is kept beside the model, in OUT.checkpoint. The model
    itself is written at the end; exit status 0 means that it was. A second run
    to the same OUT at the same time is refused.

    A stream that begins with rows that were learnt before is recognized, even
    under another name, and each of its rows is learnt once. Standard input is
    not recognized: all of it is learnt.

    Parameters
    ----------
    model
        A model made by `ocboost fit`, or a classifier saved in Python. An adaptive one has nothing to set.
    out
        The file for the adapted model; it may be the same as MODEL.
    resume
        Continue an interrupted run, with the same stream from its beginning; the model ends up the same.
    restart
        Discard the checkpoint of such a run, and start over.
    again
        Learn the whole stream once more, though the model has learnt it before.
    new
        Learn the whole stream as a new one, though another has been learnt under its name.
    label
        The column that holds the class, if it is not the one the model was fitted with.
    skip
        Skip so many rows at the beginning, such as those the model was fitted on; more if more were learnt
        before.
    leave_unseen
        Leave out rows of a class that the model does not know, instead of stopping there.
    batch
        Rows predicted before any of them is learnt: larger batches are faster. Weights of an OCBClassifier
        end the same; an adaptive model learns from predictions as they were made, so it ends otherwise.
    checkpoint_rows
        Write a checkpoint after so many rows,
    checkpoint_seconds
        or after so many seconds, whichever comes first.
    """
    from ocboost._core.file_lock import locked
    from ocboost.cli.columns import open_for
    from ocboost.cli.method import booster_of, makes_adaptive
    from ocboost.cli.next_lines import require_no_settings
    from ocboost.deployment.adaptation import model_digest
    from ocboost.deployment.model import Model
    from ocboost.deployment.resume import coverage_record

    if resume and restart:
        raise UsageError("--resume and --restart exclude each other: continue, or start over.")
    if again and new:
        raise UsageError("--again and --new exclude each other: the same stream once more, or another one.")
    origin: dict[str, Any] = {  # what makes this run the same when it is resumed
        "settings": options.settings(),
        **({} if options.method is None else {"method": options.method}),
        **({"decisions": decided} if (decided := decisions.given()) else {}),
        "label": label,
        "drop": sorted(drop or ()),
        "batch": batch,
        "skip": skip,
        "leave_unseen": leave_unseen,
        "whole": "again" if again else "new" if new else None,
    }
    if options.method is not None and not makes_adaptive(options):
        booster_of(options.method)
    check_out(out, stream)
    check_apart(out, stream=stream, model=model)
    checkpoint = checkpoint_of(out)
    with after_writing("the model", out) as written:
        with locked(out):  # nobody else writes the model, its checkpoint or their temporary files
            if resume or restart:
                remove_temporary_files(out, checkpoint)
            run = None if restart else load_checkpoint(checkpoint, resume=resume)
            deployed = Model.load(model) if run is None else run.model
            if run is None:
                require_no_settings(deployed, options, model)
            with open_for(
                deployed,
                stream,
                batch_size=-(-ROWS_PER_READ // batch) * batch,  # whole batches, as after an interruption
                label=label,
                drop=drop,
                format=format,
                skip=skip if run is None else run.rows,
                tracked=True,
            ) as opened:
                origin |= {"model": model_digest(model), "stream": opened.fingerprint()}
                if run is not None:
                    require_same_run(run, origin, opened, checkpoint)
                    run.leave_unseen = run.origin["leave_unseen"] = leave_unseen
                else:
                    run = _new_run(deployed, opened, stream, origin, out=out, at=model, resume=resume)
                    if run is None:
                        checkpoint.unlink(missing_ok=True)  # it holds nothing, or is not wanted
                        return 0
                for note in opened.notes:
                    say(note)
                if not run.finished and not _learn(
                    run, opened, batch, checkpoint, checkpoint_rows, checkpoint_seconds
                ):
                    return 130
                record = coverage_record(opened.coverage(), stream, run.rows, run.origin.get("before"))
            stream_name = shown(stream.name) if str(stream) != "-" else "standard input"
            _finish(run, stream_name, record, checkpoint, out, written)
        _report(run, out)
    return 0


def _new_run(
    deployed: Model,
    opened: Stream,
    stream: Path,
    origin: dict[str, Any],
    *,
    out: Path,
    at: Path,
    resume: bool,
) -> Adaptation | None:
    """A run from the model ``at`` a path; None, with the model written to ``out``, if nothing is new."""
    from ocboost.cli.decisions import decision_parameters
    from ocboost.cli.method import parameters_to_adapt
    from ocboost.deployment.adaptation import Adaptation
    from ocboost.estimators.classifier import OCBClassifier

    rule = decision_parameters(origin.get("decisions", {}), deployed.classifier.classes_.tolist())
    deployed.classifier.set_params(**rule)
    start = starting_point(deployed, opened, stream, origin, out=out, at=at, resume=resume)
    if start.nothing_to_do is not None:
        if place_of(at) != place_of(out) and not (resume and out.exists()):
            deployed.save(out)
        say(start.nothing_to_do)
        return None
    if start.row != origin["skip"]:
        opened.start_at(start.row)
    origin["before"] = start.learnt_before
    run = Adaptation(deployed, origin, first=start.row, leave_unseen=origin["leave_unseen"])
    clf = deployed.classifier
    if isinstance(clf, OCBClassifier):
        clf.set_params(**parameters_to_adapt(origin.get("method"), origin["settings"], clf))
        clf.follow_settings()
    return run


def _learn(
    run: Adaptation, stream: Stream, batch_size: int, checkpoint: Path, every_rows: int, every_seconds: float
) -> bool:
    """Learn the stream, writing checkpoints; False if Ctrl-C interrupted it."""
    from ocboost._core.interrupts import uninterrupted
    from ocboost.cli.columns import check_missing

    rest = None
    hypotheses = run.model.hypotheses
    try:
        with stream_progress("adapting") as show:
            run.save(checkpoint)  # at once, to tell a run that has begun from one that has ended
            saved_rows, saved_at = run.rows, time.monotonic()
            for rows in stream:
                check_missing(rows, stream, hypotheses)
                # Rows that do not fill a batch are learnt only at the end of the stream.
                n_whole = len(rows) // batch_size * batch_size
                rest = rows[n_whole:]
                run.take(rows[:n_whole], batch_size)
                if run.rows - saved_rows >= every_rows or time.monotonic() - saved_at >= every_seconds:
                    run.save(checkpoint)
                    saved_rows, saved_at = run.rows, time.monotonic()
                show(stream, run.rows, _progress_of(run))
            if rest is not None and len(rest):
                run.take(rest, batch_size)
    except (KeyboardInterrupt, OcboostError, OSError) as error:
        with uninterrupted():
            if run.rows > run.first:
                run.save(checkpoint)
                n = "1 row is" if run.rows == 1 else f"{run.rows:,} rows are"
                kept = f"{n} kept in '{checkpoint}'; --resume continues from there."
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


def _finish(
    run: Adaptation,
    stream: str,
    record: dict[str, Any] | None,
    checkpoint: Path,
    out: Path,
    written: Callable[[], None],
) -> None:
    """Write the model; if that is interrupted, --resume completes it without learning a row twice.

    The checkpoint is removed last, when the model is safe in its place.
    """
    from ocboost._core.interrupts import uninterrupted

    with uninterrupted():
        run.finish(stream, record)
        run.save(checkpoint)
        run.model.save(out)
        written()
        try:
            checkpoint.unlink()
        except OSError as error:
            say(
                f"the model was written to '{out}', but '{checkpoint}' could not be removed "
                f"({error.strerror}). Remove it."
            )


def _progress_of(run: Adaptation) -> str:
    if run.accuracy is None or run.recent_accuracy is None:
        return ""
    text = f"right: {run.accuracy:.1%}, lately {run.recent_accuracy:.1%}"
    recalls = run.recalls[:MAX_PROGRESS_CLASSES]
    if len(recalls) < len(run.recalls):
        return text
    labels = run.model.classifier.classes_.tolist()
    each = (
        f"{label!s:.12} {recall:.0%}"
        for label, recall in zip(labels, recalls, strict=True)
        if recall is not None
    )
    return f"{text}; {', '.join(each)}"


def _report(run: Adaptation, out: Path) -> None:
    from rich.table import Table

    from ocboost.deployment.adaptation import RECENT_PREDICTIONS

    console = results()
    classes = run.model.classifier.classes_.tolist()
    console.print("Each row was predicted, then learnt:")
    table = Table()
    table.add_column("class")
    for heading in ("rows", "right"):
        table.add_column(heading, justify="right")
    for code, label in enumerate(classes[:MAX_CLASSES_LISTED]):
        n, recall = run.confusion[code].sum(), run.recalls[code]
        table.add_row(shown(label), f"{n:,}", "–" if recall is None else f"{recall:.1%}")
    if len(classes) > MAX_CLASSES_LISTED:
        table.add_row(f"… {len(classes) - MAX_CLASSES_LISTED:,} more", "", "")
    accuracy, lately = run.accuracy, run.recent_accuracy
    table.add_row("all", f"{run.learnt:,}", f"{accuracy:.1%}" if accuracy is not None else "–", style="bold")
    console.print(table)
    known = [recall for recall in run.recalls if recall is not None]
    if len(known) > 1:
        text = f"Balanced accuracy, the mean over the classes: {sum(known) / len(known):.1%}."
        console.print(text, soft_wrap=True)
    if accuracy is not None and lately is not None and run.learnt > RECENT_PREDICTIONS:
        console.print(f"Of the last {RECENT_PREDICTIONS:,} rows {lately:.1%} were right.", soft_wrap=True)
        if lately < accuracy - NOTABLE_DROP and _remembers_all(run.model):
            console.print(
                "That is less than before. If the stream changes, --window 200 or --forgetting 0.995 follows "
                "faster, and so does an adaptive model (fit without --method); `ocboost evaluate` compares "
                "them.",
                soft_wrap=True,
            )
    left_out = run.rows - run.first - run.learnt
    if left_out:
        why = "no label, or one the model does not know," if run.leave_unseen else "no label"
        console.print(f"{left_out:,} rows had {why} and were not learnt.", soft_wrap=True)
    console.print(f"Wrote {out}", soft_wrap=True)


def _remembers_all(model: Model) -> bool:
    """Whether its weights are OCB's and forget nothing."""
    from ocboost.boosters.sketch.sketch import BoostingSketch
    from ocboost.estimators.classifier import OCBClassifier

    clf = model.classifier
    booster = clf.boosters_[0] if isinstance(clf, OCBClassifier) else None
    return isinstance(booster, BoostingSketch) and booster.tail and booster.forgetting == 1.0
