"""``ocboost adapt``: a model keeps learning from a stream, and an interruption loses nothing."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, validators

from ocboost._core.escaping import shown
from ocboost._core.interrupts import Ended, Signals
from ocboost.cli.adapt_learn import Saves, Waiting, learn
from ocboost.cli.adapt_report import report
from ocboost.cli.decisions import DecisionOptions
from ocboost.cli.files import bad_rows_of, check_apart, check_out, check_side_files, checkpoint_of, place_of
from ocboost.cli.following import Following, complete, require_log
from ocboost.cli.options import (
    Count,
    Data,
    DropUnknown,
    FileFormat,
    Flag,
    MethodOptions,
    UsageError,
    no_option,
)
from ocboost.cli.outputs import BAD_ROWS, PREDICTIONS, RowOutputs
from ocboost.cli.resume import (
    StartingPoint,
    load_checkpoint,
    remove_temporary_files,
    require_same_run,
    starting_point,
)
from ocboost.cli.terminal import after_writing, say
from ocboost.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ocboost.deployment.adaptation import Adaptation
    from ocboost.deployment.model import Model
    from ocboost.deployment.resume import Covered
    from ocboost.streams import Stream
    from ocboost.streams.bad_rows import BadRows
    from ocboost.streams.open import FileStream

ROWS_PER_READ = 500
INTERRUPTED, TERMINATED = 130, 143  # exit codes
Skip = Annotated[int, Parameter(validator=validators.Number(gte=0))]
Seconds = Annotated[float, Parameter(validator=validators.Number(gt=0))]
Lines = Annotated[Path | None, Parameter(allow_leading_hyphen=True, validator=no_option)]


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
    follow: Flag = False,
    predictions: Lines = None,
    on_bad_row: Literal["stop", "skip"] = "stop",
    bad_rows: Path | None = None,
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

    From another program, which gets an answer to each row at once:
        producer | ocboost adapt model.ocb - --out model.ocb --predictions - | consumer

    Rows that cannot be used are left out, and kept in model.ocb.bad-rows.jsonl:
        producer | ocboost adapt model.ocb - --out model.ocb --on-bad-row skip

    After an interruption of any kind, the same command and --resume:
        ocboost adapt model.ocb stream.csv --out model.ocb --resume

    The log has grown: rows learnt before are skipped, the others are learnt:
        ocboost adapt model.ocb log.csv --out model.ocb

    The same as it grows, through all its rotations:
        ocboost adapt model.ocb log.csv --out model.ocb --follow

    On the way a checkpoint is kept beside the model, in OUT.checkpoint. The model
    itself is written at the end; exit status 0 means that it was. A second run
    to the same OUT at the same time is refused.

    Rows from standard input or a pipe are learnt as they arrive, and the model is
    written with each checkpoint. Ctrl-C and SIGTERM end such a stream in order.

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
        Write a checkpoint, and for a pipe the model itself, after so many rows,
    checkpoint_seconds
        or after so many seconds, whichever comes first.
    follow
        Wait for more rows, also when the log is rotated; Ctrl-C and SIGTERM end it in order.
    predictions
        Write what is predicted of each row, before it is learnt, to this file or standard output (-): CSV as
        `ocboost predict` writes it, or JSON lines if the stream is that. Rows without a label are predicted
        too. With - all else goes to standard error.
    on_bad_row
        What to do with a row that cannot be used: stop there, or skip it, with an empty prediction.
    bad_rows
        Where skipped rows are added, as JSON lines; by default OUT.bad-rows.jsonl.
    """
    from ocboost._core.file_lock import locked
    from ocboost.cli.columns import is_endless, open_for
    from ocboost.cli.method import booster_of, makes_adaptive
    from ocboost.cli.next_lines import require_no_settings
    from ocboost.deployment.adaptation import model_digest
    from ocboost.deployment.model import Model
    from ocboost.deployment.resume import coverage_record, followed_log
    from ocboost.streams.encoding import leave_signals_alone

    if resume and restart:
        raise UsageError("--resume and --restart exclude each other: continue, or start over.")
    if again and new:
        raise UsageError("--again and --new exclude each other: the same stream once more, or another one.")
    if bad_rows is not None and on_bad_row == "stop":
        raise UsageError("--bad-rows needs --on-bad-row skip: nothing is left out otherwise.")
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
        **({"follow": True} if follow else {}),
    }
    if follow:
        require_log(stream, format)
    if options.method is not None and not makes_adaptive(options):
        booster_of(options.method)
    check_out(out, stream)
    check_apart(out, stream=stream, model=model)
    left_out = bad_rows_of(out) if bad_rows is None else bad_rows
    check_side_files(out, {"--predictions": predictions, "--bad-rows": left_out}, stream=stream, model=model)
    checkpoint = checkpoint_of(out)
    endless = follow or is_endless(stream)
    if endless:
        leave_signals_alone()
    stream_name = shown(stream.name) if str(stream) != "-" else "standard input"
    with after_writing("the model", out) as written, Signals(in_order=endless) as signals:
        with locked(out):  # nobody else writes the model, its checkpoint or their temporary files
            if resume or restart:
                remove_temporary_files(out, checkpoint)
            run = None if restart else load_checkpoint(checkpoint, resume=resume)
            deployed = Model.load(model) if run is None else run.model
            if follow and run is not None and run.finished:
                complete(run, out, checkpoint)
                run = None
            elif run is None:
                require_no_settings(deployed, options, model)
            waiting = Waiting(signals) if endless else None
            bad = _bad_rows(deployed, leave_unseen=leave_unseen) if on_bad_row == "skip" else None
            kept = None if restart else out  # whose history counts
            following = (
                Following(deployed, stream, origin, run, waiting, format, kept, model) if follow else None
            )
            try:
                opening = open_for(
                    deployed,
                    stream,
                    batch_size=-(-ROWS_PER_READ // batch) * batch,  # whole batches, as after an interruption
                    label=label,
                    label_optional=predictions is not None,
                    drop=drop,
                    format=format,
                    skip=following.start.row if following else skip if run is None else run.rows,
                    tracked=True,
                    as_they_come=endless or (bad is not None and batch == 1),
                    bad_rows=bad,
                    patience=waiting,
                    followed=following.source if following else None,
                )
            except Ended:
                if following is None or run is None:
                    return _nothing_came(deployed, model, out, written, resume=resume)
                _finish(run, stream_name, following.covered(run), checkpoint, out, written)
                return 0
            with opening as opened:
                origin |= {"model": model_digest(model)}
                origin["stream"] = opened.fingerprint() if following is None else followed_log(stream)
                if run is not None:
                    if endless and place_of(model) == place_of(out):
                        origin["model"] = run.origin.get("model")  # it was replaced on the way
                    require_same_run(run, origin, opened, checkpoint)
                    _require_skip(run, checkpoint, on_bad_row)
                    run.leave_unseen = run.origin["leave_unseen"] = leave_unseen
                else:
                    begin = following.start if following else None
                    run = _new_run(deployed, opened, stream, origin, begin, out=out, at=model, resume=resume)
                    if run is None:
                        checkpoint.unlink(missing_ok=True)  # it holds nothing, or is not wanted
                        return 0
                if bad is not None:
                    run.bad_rows, run.origin["on_bad_row"] = bad, on_bad_row
                for note in opened.notes:
                    say(note)
                if not run.finished:
                    waits = predictions is not None and predictions.is_fifo()  # until somebody reads it
                    try:
                        with signals.interruptible() if waits else nullcontext():
                            outputs = _outputs(run, opened, predictions, left_out, waiting)
                    except Ended:
                        why = "anybody read the predictions"
                        return _nothing_came(deployed, model, out, written, resume=resume, before=why)
                    saves = Saves(
                        run=run,
                        checkpoint=checkpoint,
                        outputs=outputs,
                        every_rows=checkpoint_rows,
                        every_seconds=checkpoint_seconds,
                        model=out if endless else None,
                        stream=stream_name,
                        following=following,
                    )
                    if waiting is not None:
                        waiting.saves = saves
                    try:
                        if not learn(run, opened, batch, saves, endless=endless):
                            return TERMINATED if signals.terminated else INTERRUPTED
                    finally:
                        outputs.close()
                if following is not None and run.rows == run.first:
                    checkpoint.unlink(missing_ok=True)
                    return _nothing_came(deployed, model, out, written, resume=resume)
                record = coverage_record(opened.coverage(), stream, run.rows, run.origin.get("before"))
            _finish(
                run, stream_name, following.covered(run) if following else record, checkpoint, out, written
            )
        report(run, out, left_out, stderr=str(predictions) == "-")
    return 0


def _bad_rows(model: Model, *, leave_unseen: bool) -> BadRows:
    """Takes the rows that this model cannot use."""
    from ocboost.streams.bad_rows import BadRows

    hypotheses = model.hypotheses
    complete = hypotheses is not None and not hypotheses.accepts_missing
    return BadRows(None if leave_unseen else model.classifier.classes_.tolist(), complete=complete)


def _require_skip(run: Adaptation, checkpoint: Path, on_bad_row: str) -> None:
    """Refuse to go on without --on-bad-row skip; it may be added, as there were no bad rows before."""
    if run.origin.get("on_bad_row") == "skip" and on_bad_row != "skip":
        raise InputError(
            f"'{checkpoint}' belongs to a run with --on-bad-row skip. Give that too, or --restart."
        )


def _outputs(
    run: Adaptation, stream: FileStream, predictions: Path | None, left_out: Path, waiting: Waiting | None
) -> RowOutputs:
    """The files that are written row by row; those of an interrupted run continue at its checkpoint."""
    skips = run.origin.get("on_bad_row") == "skip"
    files = {PREDICTIONS: predictions, BAD_ROWS: left_out if skips else None}
    places = {what: str(place_of(path)) for what, path in files.items() if path is not None}
    before = run.origin.get("files")
    same = {what for what, place in places.items() if isinstance(before, dict) and before.get(what) == place}
    if places:
        run.origin["files"] = places
    sizes = {what: size for what, size in run.outputs.items() if what in same}
    outputs = RowOutputs(sizes, bad_rows=files[BAD_ROWS], at_once=waiting is not None)
    run.on_bad_row = outputs.bad_row
    if predictions is not None:
        labels = run.model.classifier.classes_.tolist()
        accepts = None if waiting is None else waiting.accepts
        outputs.predict_to(predictions, labels, as_json=stream.is_json, accepts=accepts)
        run.on_answer = outputs.answer
    return outputs


def _nothing_came(
    deployed: Model,
    model: Path,
    out: Path,
    written: Callable[[], None],
    *,
    resume: bool,
    before: str = "the first row came",
) -> int:
    """Ended before the first row: the model stays as it is."""
    if place_of(model) != place_of(out) and not (resume and out.exists()):
        deployed.save(out)
    written()
    say(f"ended before {before}; nothing was learnt.")
    return 0


def _new_run(
    deployed: Model,
    opened: Stream,
    stream: Path,
    origin: dict[str, Any],
    start: StartingPoint | None,
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
    if start is None:
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


def _finish(
    run: Adaptation,
    stream: str,
    record: Covered,
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
