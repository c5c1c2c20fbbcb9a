"""``ocboost adapt``: a model keeps learning from a stream, and an interruption loses nothing."""

from __future__ import annotations

import copy
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, validators

from ocboost._core.escaping import shown
from ocboost._core.interrupts import Ended, Signals
from ocboost._core.log_address import LogAddress
from ocboost.cli.adapt_broker import BrokerOptions, DataOrLog, adapt_from_log, refuse_options
from ocboost.cli.adapt_learn import Saves, Waiting, learn
from ocboost.cli.adapt_page import RunPage, watch
from ocboost.cli.adapt_report import print_report
from ocboost.cli.adapt_run import bad_rows_for, finish, new_run, nothing_came, outputs_of, require_skip
from ocboost.cli.decisions import DecisionOptions
from ocboost.cli.files import (
    bad_rows_of,
    check_apart,
    check_out,
    check_page,
    check_side_files,
    checkpoint_of,
    place_of,
    require_files,
)
from ocboost.cli.following import Following, complete, require_log
from ocboost.cli.options import (
    Count,
    DropUnknown,
    FileFormat,
    Flag,
    MethodOptions,
    UsageError,
    no_option,
)
from ocboost.cli.resume import (
    load_checkpoint,
    remove_temporary_files,
    require_same_run,
)
from ocboost.cli.terminal import after_writing, say

if TYPE_CHECKING:
    pass

ROWS_PER_READ = 500
INTERRUPTED, TERMINATED = 130, 143  # exit codes
Skip = Annotated[int, Parameter(validator=validators.Number(gte=0))]
Seconds = Annotated[float, Parameter(validator=validators.Number(gt=0))]
Lines = Annotated[Path | None, Parameter(allow_leading_hyphen=True, validator=no_option)]


def adapt(
    model: Path,
    stream: DataOrLog,
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
    on_bad_row: Literal["stop", "skip"] | None = None,
    bad_rows: Path | None = None,
    report: Path | None = None,
    broker: BrokerOptions = BrokerOptions(),  # noqa: B008
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

    With a page of how it went, beside the model as it was:
        ocboost adapt model.ocb stream.csv --out model.ocb --report page.html

    Requests and labels from a broker, answered there, until Ctrl-C or SIGTERM:
        ocboost adapt model.ocb 'redis://localhost/0?stream=loans' --out model.ocb

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
        What to do with a row that cannot be used: stop there (the default), or skip it, with an empty
        prediction. With a log in a broker skip is the default, and the answer says what is wrong.
    bad_rows
        Where skipped rows are added, as JSON lines; by default OUT.bad-rows.jsonl.
    report
        Write a page to this file, which needs nothing but itself: accuracy and log-loss of the model as it
        was and as it adapts, drift alarms, what has changed in it, and its last mistakes. Each row is then
        predicted by both.
    """
    require_files(model, None if follow or isinstance(stream, LogAddress) else stream)

    from ocboost._core.file_lock import locked
    from ocboost.cli.columns import is_endless, open_for
    from ocboost.cli.method import booster_of, makes_adaptive
    from ocboost.cli.next_lines import require_no_settings
    from ocboost.deployment.adaptation import model_digest
    from ocboost.deployment.model import Model
    from ocboost.deployment.resume import coverage_record, followed_log
    from ocboost.streams.encoding import leave_signals_alone

    if isinstance(stream, LogAddress):
        refuse_options(
            resume=resume, follow=follow, predictions=predictions, bad_rows=bad_rows, batch=batch != 1,
            label=label, format=format, skip=skip, again=again, new=new, drop=drop, leave_unseen=leave_unseen,
        )  # fmt: skip
        return adapt_from_log(
            model, stream, out=out, restart=restart, options=options, decisions=decisions, broker=broker,
            checkpoint_rows=checkpoint_rows, checkpoint_seconds=checkpoint_seconds,
            strict=on_bad_row == "stop", report=report,
        )  # fmt: skip
    broker.require_none()
    on_bad_row = on_bad_row or "stop"
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
    written_beside = {"--predictions": predictions, "--bad-rows": left_out, "--report": report}
    check_side_files(out, written_beside, stream=stream, model=model)
    check_page(report, stream, model)
    checkpoint = checkpoint_of(out)
    endless = follow or is_endless(stream)
    if endless:
        leave_signals_alone()
    stream_name = shown(stream.name) if str(stream) != "-" else "standard input"
    page = None if report is None else RunPage(report, out, stream_name)
    with after_writing("the model", out) as written, Signals(in_order=endless) as signals:
        with locked(out):  # nobody else writes the model, its checkpoint or their temporary files
            if resume or restart:
                remove_temporary_files(out, checkpoint, *([] if report is None else [report]))
            run = None if restart else load_checkpoint(checkpoint, resume=resume)
            deployed = Model.load(model) if run is None else run.model
            if follow and run is not None and run.finished:
                complete(run, out, checkpoint)
                run = None
            elif run is None:
                require_no_settings(deployed, options, model)
            waiting = Waiting(signals) if endless else None
            bad = bad_rows_for(deployed, leave_unseen=leave_unseen) if on_bad_row == "skip" else None
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
                    return nothing_came(deployed, model, out, written, resume=resume)
                watch(run, page, None)
                finish(run, stream_name, following.covered(run), checkpoint, out, written, page)
                return 0
            with opening as opened:
                origin |= {"model": model_digest(model)}
                origin["stream"] = opened.fingerprint() if following is None else followed_log(stream)
                if run is not None:
                    if endless and place_of(model) == place_of(out):
                        origin["model"] = run.origin.get("model")  # it was replaced on the way
                    require_same_run(run, origin, opened, checkpoint)
                    require_skip(run, checkpoint, on_bad_row)
                    run.leave_unseen = run.origin["leave_unseen"] = leave_unseen
                    watch(run, page, None)
                else:
                    begin = following.start if following else None
                    as_it_was = deployed if page is None else Model(copy.copy(deployed.classifier))
                    run = new_run(deployed, opened, stream, origin, begin, out=out, at=model, resume=resume)
                    if run is None:
                        checkpoint.unlink(missing_ok=True)  # it holds nothing, or is not wanted
                        return 0
                    watch(run, page, as_it_was)
                if bad is not None:
                    run.bad_rows, run.origin["on_bad_row"] = bad, on_bad_row
                for note in opened.notes:
                    say(note)
                if not run.finished:
                    waits = predictions is not None and predictions.is_fifo()  # until somebody reads it
                    try:
                        with signals.interruptible() if waits else nullcontext():
                            outputs = outputs_of(run, opened, predictions, left_out, waiting)
                    except Ended:
                        why = "anybody read the predictions"
                        return nothing_came(deployed, model, out, written, resume=resume, before=why)
                    saves = Saves(
                        run=run,
                        checkpoint=checkpoint,
                        outputs=outputs,
                        every_rows=checkpoint_rows,
                        every_seconds=checkpoint_seconds,
                        model=out if endless else None,
                        stream=stream_name,
                        following=following,
                        page=page,
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
                    return nothing_came(deployed, model, out, written, resume=resume)
                record = coverage_record(opened.coverage(), stream, run.rows, run.origin.get("before"))
            covered = following.covered(run) if following else record
            finish(run, stream_name, covered, checkpoint, out, written, page)
        print_report(
            run,
            out,
            left_out,
            stderr=str(predictions) == "-",
            page=None if run.watched is None else report,
        )
    return 0
