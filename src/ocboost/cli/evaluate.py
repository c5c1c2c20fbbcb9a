"""``ocboost evaluate``: what would have followed a stream best, side by side."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, validators

from ocboost.cli.options import Count, Data, Flag, Format, MaybeCount, Names, Seed, UsageError, source
from ocboost.cli.terminal import results, say, stream_progress
from ocboost.errors import InputError
from ocboost.shown import shown

if TYPE_CHECKING:
    from ocboost.classifier import OCBClassifier
    from ocboost.evaluation import View
    from ocboost.streams import Batch

COLD = (
    "Oza-Russell and logistic SGD began with nothing, since the rows the model was fitted on are not here; "
    "OCB began with what the model remembers of them."
)
FILES = ["report.html", "curves.png", "curves.svg", "results.json"]
Rate = Annotated[float, Parameter(validator=validators.Number(gt=0, lt=1))]
Delay = Annotated[int, Parameter(validator=validators.Number(gte=0))]


def evaluate(
    stream: Data,
    /,
    *,
    label: str | None = None,
    model: Path | None = None,
    drop: Names = None,
    start: Count = 2_000,
    hypotheses: Count = 100,
    windows: Annotated[tuple[Count, ...], Parameter(consume_multiple=True, negative="")] = (20, 200),
    forgetting: Annotated[tuple[Rate, ...], Parameter(consume_multiple=True, negative="")] = (0.995,),
    delay: Delay = 0,
    step: Count = 1,
    curve: Count = 1_000,
    rates: Annotated[tuple[Rate, ...], Parameter(consume_multiple=True, negative="")] = (0.03,),
    rows: MaybeCount = None,
    out: Path = Path("results/evaluate"),
    no_drift: Flag = False,
    seed: Seed = 0,
    format: Format | None = None,
) -> int:
    """Compare a static model, OCB and others on a stream: predict, then learn.

    What would have been best:
        ocboost evaluate stream.csv --label y

    For a deployed model:
        ocboost evaluate stream.csv --model model.ocb

    Where labels come 500 rows late:
        ocboost evaluate stream.csv --label y --delay 500

    Compared are the model as it was at the start; OCB with the whole history,
    with forgetting and with windows; Oza and Russell's boosting; logistic
    regression by stochastic gradients, all over the same weak hypotheses; the
    most frequent class; and the last label. A table is shown. The folder gets
    report.html, which needs nothing but itself, the curves as PNG and SVG, and
    results.json.

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
        Learn hypotheses and first weights from so many rows; the comparison begins after them.
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
    """
    from ocboost.cli.columns import open_for
    from ocboost.evaluation import figure, prequential, report, table
    from ocboost.evaluation.lineup import lineup
    from ocboost.model import Model
    from ocboost.reporting.environment import versions
    from ocboost.reporting.figure_style import require_matplotlib
    from ocboost.reporting.output import OutputFolder, to_json
    from ocboost.streams import open_stream

    require_matplotlib()
    deployed = None if model is None else Model.load(model)
    if deployed is None and label is None:
        raise UsageError(
            "--label must name the column that holds the class, or --model a model that knows it."
        )
    with OutputFolder(out, FILES) as folder:
        with (
            open_stream(source(stream), label=label, drop=tuple(drop or ()), format=format)
            if deployed is None
            else open_for(deployed, stream, batch_size=1_000, label=label, drop=drop, format=format)
        ) as opened:
            for note in opened.notes:
                say(note)
            batches: Iterator[Batch] = iter(opened)
            left = "no labelled row is left to compare on; give a longer stream, or a smaller --start."
            clf, first = None if deployed is None else deployed.classifier, None
            if clf is None:
                clf, first, rest = _started(batches, start, hypotheses, seed, opened.schema.label)
                batches = itertools.chain(rest, batches)
            if rows is not None:
                batches = _at_most(batches, rows)
            one = next(batches, None)
            if one is None:
                raise InputError(left)
            batches = itertools.chain([one], batches)
            contenders = lineup(clf, first, windows=windows, forgetting=forgetting, rates=rates, seed=seed)
            with stream_progress("evaluating") as show:
                result = prequential(
                    batches,
                    contenders,
                    classes=clf.classes_.tolist(),
                    step=step,
                    delay=delay,
                    window=curve,
                    drift=not no_drift,
                    progress=lambda done: show(opened, done, ""),
                )
        if result.n_scored == 0:
            raise InputError(left)
        if first is None:
            result.notes.insert(0, COLD)
        name = shown(stream.name) if str(stream) != "-" else "standard input"
        about = {
            "stream": name,
            "label": opened.schema.label,
            "hypotheses": repr(clf.hypotheses_).strip("<>"),
            "learnt from": f"the first {start:,} rows" if model is None else shown(model),
            "seed": seed,
        }
        made_with = versions("scikit-learn", "river", "pyarrow")
        files = figure.render(figure.draw(result, title=name), "curves")
        files["report.html"] = report.as_html(
            result, title=f"Following {name}", about=about, versions=made_with
        ).encode()
        files["results.json"] = to_json({"about": about, **result.as_dict(), "versions": made_with})
        folder.write(files)
    console = results()
    console.print(table.as_table(result, title=name, width=console.width))
    for remark in result.notes:
        say(remark)
    console.print(f"Wrote {', '.join(FILES)} to {folder.path.resolve()}", soft_wrap=True, markup=False)
    return 130 if result.interrupted else 0


def _started(
    batches: Iterator[Batch], start: int, hypotheses: int, seed: int, label: str | None
) -> tuple[OCBClassifier, View, list[Batch]]:
    """A classifier fitted on the first rows, those rows, and what is left of the batch they end in."""
    import numpy as np

    from ocboost.classifier import OCBClassifier
    from ocboost.evaluation import View
    from ocboost.labels import require_class_labels

    Xs, ys, seen = [], [], 0
    rest: list[Batch] = []
    for batch in batches:
        part, left = batch.parted(start - seen)
        assert part.y is not None
        Xs.append(part.X[part.known])
        ys.append(part.y[part.known])
        seen += len(part)
        if seen == start:
            rest = [left] if len(left) else []
            break
    X, y = np.concatenate(Xs), np.concatenate(ys)
    if len(set(y.tolist())) < 2:
        advice = (
            "Take more with --start."
            if seen == start
            else "There are no more rows: is the label in another column?"
        )
        raise InputError(
            f"the first {seen:,} rows must hold at least two classes; they hold {len(set(y.tolist()))}. "
            f"{advice}"
        )
    require_class_labels(y, f"the label column '{label}'")
    clf = OCBClassifier(n_hypotheses=hypotheses, random_state=seed).fit(X, y)
    codes = np.searchsorted(clf.classes_, y)
    return clf, View.of(X, codes), rest


def _at_most(batches: Iterator[Batch], rows: int) -> Iterator[Batch]:
    """Batches up to that row of the stream."""
    for batch in batches:
        part, left = batch.parted(rows - batch.first)
        if len(part):
            yield part
        if len(left):
            return
