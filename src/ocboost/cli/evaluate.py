"""``ocboost evaluate``: what would have followed a stream best, side by side."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, validators

from ocboost._core.escaping import shown
from ocboost.cli.compare_runs import CURVES, PAGE, THRESHOLDS, compared_on_file, name_of, report_on
from ocboost.cli.decisions import DecisionOptions, decision_parameters, said_of
from ocboost.cli.files import check_page, require_files
from ocboost.cli.next_lines import MODEL, ComparedOn
from ocboost.cli.options import (
    Count,
    Data,
    Delay,
    Flag,
    Format,
    MaybeCount,
    MaybeStart,
    Names,
    Seed,
    UsageError,
    source,
)

if TYPE_CHECKING:
    from ocboost.evaluation.comparison import Comparison

FILES = ["report.html", PAGE, *CURVES, *THRESHOLDS, "results.json"]
Rate = Annotated[float, Parameter(validator=validators.Number(gt=0, lt=1))]


def evaluate(
    stream: Data,
    /,
    *,
    label: str | None = None,
    model: Path | None = None,
    drop: Names = None,
    start: MaybeStart = None,
    hypotheses: Count = 100,
    windows: Annotated[tuple[Count, ...], Parameter(consume_multiple=True, negative="")] = (20, 200),
    forgetting: Annotated[tuple[Rate, ...], Parameter(consume_multiple=True, negative="")] = (0.995,),
    decisions: DecisionOptions = DecisionOptions(),  # noqa: B008
    delay: Delay = 0,
    step: Count = 1,
    curve: Count = 1_000,
    rates: Annotated[tuple[Rate, ...], Parameter(consume_multiple=True, negative="")] = (0.03,),
    rows: MaybeCount = None,
    out: Path = Path("results/evaluate"),
    no_drift: Flag = False,
    seed: Seed = 0,
    format: Format | None = None,
    report: Path | None = None,
) -> int:
    """Compare an adaptive model, OCB and others on a stream: predict, then learn.

    What would have been best:
        ocboost evaluate stream.csv --label y

    For a deployed model:
        ocboost evaluate stream.csv --model model.ocb

    Where one class is rare, or should be predicted from another probability on:
        ocboost evaluate stream.csv --label y --class-weight balanced
        ocboost evaluate stream.csv --label y --threshold 0.3

    Where labels come 500 rows late:
        ocboost evaluate stream.csv --label y --delay 500

    Compared are the adaptive classifier, which mixes many members; the model as
    it was at the start; OCB with the whole history, with forgetting and with
    windows; Oza and Russell's boosting; logistic regression by stochastic
    gradients, all over the same weak hypotheses; the most frequent class; and the
    last label. The last two are no models, and take part for comparison only. A
    table is shown, and the lines to type that deploy the best. The folder gets
    report.html, which needs nothing but itself, page.html with curves to look into
    and what the best model consists of, which needs no more, the curves as PNG and
    SVG, what other thresholds would give (of two classes), and results.json.

    Parameters
    ----------
    stream
        CSV, JSON lines or Parquet, gzipped or not; - is standard input.
    label
        The column that holds the class; not needed with a model that knows it.
    model
        Start from this model, over its hypotheses, instead of learning from the first rows.
    drop
        Columns to leave out.
    start
        Learn hypotheses and first weights from so many rows, at most nine tenths of the stream; the
        comparison begins after them. 2,000, or a fifth of a shorter stream.
    hypotheses
        How many to learn, for each class if they are more than two.
    windows
        OCB with windows of these numbers of examples.
    forgetting
        OCB and Oza and Russell with these rates of forgetting.
    delay
        The label of a row arrives after so many further rows.
    step
        Rows predicted before any of them is learnt; more are faster.
    curve
        A point of a curve is about so many recent examples.
    rates
        Logistic regression with these learning rates.
    rows
        Stop after so many rows.
    out
        Folder for the report; made if needed, older files are replaced.
    no_drift
        Do not look for drift (ADWIN, of river).
    seed
        For what is drawn.
    format
        What the file is, where its name does not say.
    report
        Write page.html to this file as well.
    """
    require_files(model, stream)

    from ocboost.cli.columns import open_for
    from ocboost.deployment.model import Model
    from ocboost.evaluation.first_rows import FirstRows
    from ocboost.evaluation.methods import methods_for
    from ocboost.streams import open_stream

    check_page(report, stream, model)
    given_rule = decisions.given()
    deployed = None if model is None else Model.load(model)
    if deployed is not None:
        deployed.classifier.set_params(
            **decision_parameters(given_rule, deployed.classifier.classes_.tolist())
        )
    if deployed is None and label is None:
        raise UsageError(
            "--label must name the column that holds the class, or --model a model that knows it."
        )
    name = name_of(stream)

    def about(comparison: Comparison, read: Any) -> dict[str, Any]:
        given = hypotheses if deployed is None else repr(deployed.hypotheses).strip("<>")
        return {
            "stream": name,
            "label": read.schema.label,
            "hypotheses": given,
            **_rule_of(given_rule, deployed),
            "learnt from": f"the first {comparison.start:,} rows" if model is None else shown(model),
            "seed": seed,
        }

    def opened() -> Any:
        if deployed is None:
            return open_stream(source(stream), label=label, drop=tuple(drop or ()), format=format)
        return open_for(deployed, stream, batch_size=1_000, label=label, drop=drop, format=format)

    settings = {
        "seeds": (seed,),
        "start": start if deployed is None else FirstRows.of_model(deployed.classifier, seed=seed),
        "hypotheses": hypotheses,
        "all_rows": True,
        "step": step,
        "delay": delay,
        "window": curve,
        "drift": not no_drift,
        "rows": rows,
        "decisions": partial(decision_parameters, given_rule) if given_rule else None,
    }
    methods = methods_for(windows, forgetting, rates, None if deployed is None else deployed.classifier)

    compare = partial(
        compared_on_file,
        opened,
        methods,
        settings,
        name,
        about,
        record=lambda comparison, board: comparison.result.as_dict(),
        curves=("accuracy", "kappa"),
        thresholds=True,
        page=f"Following {name}",
    )
    on = ComparedOn(
        path=str(stream),
        label=label,
        drop=tuple(drop or ()),
        format=format,
        hypotheses=hypotheses,
        step=step,
        seed=seed,
        model=deployed,
        decisions=tuple(decisions.words()),
        at=str(model or MODEL),
    )
    return report_on(
        compare,
        name=name,
        title=f"Following {name}",
        out=out,
        files=FILES,
        file=True,
        on=on,
        page=report,
    )


def _rule_of(given: dict[str, Any], deployed: Any) -> dict[str, Any]:
    """How predictions were made, where it is not by the likeliest class."""
    if deployed is not None:
        return said_of(deployed.classifier)
    return {name.replace("_", " "): str(value) for name, value in given.items()}
