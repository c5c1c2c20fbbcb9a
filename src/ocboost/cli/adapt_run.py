"""The steps of a run of ``ocboost adapt``: how it begins, what it writes, how it ends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocboost.cli.adapt_learn import Waiting
from ocboost.cli.adapt_page import RunPage
from ocboost.cli.files import place_of
from ocboost.cli.outputs import BAD_ROWS, PREDICTIONS, RowOutputs
from ocboost.cli.resume import StartingPoint, starting_point
from ocboost.cli.terminal import say
from ocboost.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ocboost.deployment.adaptation import Adaptation
    from ocboost.deployment.model import Model
    from ocboost.deployment.resume import Covered
    from ocboost.streams import Stream
    from ocboost.streams.bad_rows import BadRows
    from ocboost.streams.open import FileStream


def bad_rows_for(model: Model, *, leave_unseen: bool) -> BadRows:
    """Takes the rows that this model cannot use."""
    from ocboost.streams.bad_rows import BadRows

    hypotheses = model.hypotheses
    complete = hypotheses is not None and not hypotheses.accepts_missing
    return BadRows(None if leave_unseen else model.classifier.classes_.tolist(), complete=complete)


def require_skip(run: Adaptation, checkpoint: Path, on_bad_row: str) -> None:
    """Refuse to go on without --on-bad-row skip; it may be added, as there were no bad rows before."""
    if run.origin.get("on_bad_row") == "skip" and on_bad_row != "skip":
        raise InputError(
            f"'{checkpoint}' belongs to a run with --on-bad-row skip. Give that too, or --restart."
        )


def outputs_of(
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


def nothing_came(
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


def new_run(
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


def finish(
    run: Adaptation,
    stream: str,
    record: Covered,
    checkpoint: Path,
    out: Path,
    written: Callable[[], None],
    page: RunPage | None,
) -> None:
    """Write the page and the model; if that fails, --resume completes it without learning a row twice.

    The checkpoint is removed last, when the model is safe in its place.
    """
    from ocboost._ctrl_c import uninterrupted

    with uninterrupted():
        run.finish(stream, record)
        run.save(checkpoint)
        if page is not None:
            page.write(run, ended=True)
        run.model.save(out)
        written()
        try:
            checkpoint.unlink()
        except OSError as error:
            say(
                f"the model was written to '{out}', but '{checkpoint}' could not be removed "
                f"({error.strerror}). Remove it."
            )
