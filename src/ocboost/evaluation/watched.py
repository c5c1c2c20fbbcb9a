"""A comparison as the document of a page: curves of every method, drift alarms, what the best consists of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ocboost._core.escaping import shown
from ocboost._watch.document import document, feature_shares, model_parts
from ocboost.evaluation.board import thinned

if TYPE_CHECKING:
    from ocboost.evaluation.board import Board, BoardEntry
    from ocboost.evaluation.comparison import Comparison, MethodRun
    from ocboost.evaluation.result import Result

MAX_WATCHED_METHODS = 20
MAX_WATCHED_POINTS = 512  # of a curve
MAX_WATCHED_ALARMS = 200
METHODS_WITH_ALARMS = 5  # the best ones, beside the deployed model
_CURVES = ("accuracy", "log_loss")


def comparison_document(
    comparison: Comparison, board: Board, *, title: str, label: str | None = None, schema: Any = None
) -> dict[str, Any]:
    """What a page shows of a comparison; ``label`` is its column, ``schema`` names the others.

    Of several seeds it is the first. Members, hypotheses and features are those of the adaptive classifier if
    that is the best or level with it, else of the best, where the comparison has kept their models.
    """
    result = comparison.result
    runs = [run for run in comparison.runs if run.seed == board.seeds[0]]
    ranked = sorted(board.entries, key=lambda entry: entry.rank)
    kept = {entry.name for entry in ranked[:MAX_WATCHED_METHODS]}
    runs = [run for run in runs if run.method in kept]
    remarks = _remarks(board, label)
    sections, whose = _inside(comparison, board, schema)
    if whose is not None:
        remarks.append(f"What is said of members, hypotheses and features is about {whose} at the end.")
    if not result.settings["drift"]:
        remarks.append("Drift was not looked for.")
    best = board.best()
    return document(
        "comparison",
        title,
        subtitle=" ".join(remarks),
        classes=result.classes,
        status={
            "labels": result.n_scored,
            "learnt": result.n_learnt,
            "accuracy": best[0].mean("accuracy") if best else None,
        },
        models={run.method: run.standing.name for run in runs},
        series={"all": _series(result, runs)},
        events=_events(result, runs, ranked),
        parts=sections,
        mistakes=[],
        versions=[],
    )


def _remarks(board: Board, label: str | None) -> list[str]:
    """Rows, label, seeds, and what a point of the curves is about."""
    begun = f", after {board.start:,} to begin with" if board.start else ""
    column = "" if label is None else f"; the label is {shown(label)}"
    seeds = f"seed{'' if len(board.seeds) == 1 else 's'} {', '.join(map(str, board.seeds))}"
    remarks = [
        f"{board.n_scored:,} of {board.n_predicted:,} rows scored{begun}{column}; {seeds}.",
        f"A point of a curve is about the last {board.settings['window']:,} labels.",
    ]
    if len(board.seeds) > 1:
        remarks.append(f"The curves are those of seed {board.seeds[0]}.")
    if board.interrupted:
        remarks.append("Interrupted: this is about the rows before that.")
    return remarks


def _series(result: Result, runs: Sequence[MethodRun]) -> dict[str, Any]:
    """The windowed curves, by the labels scored so far, and the means over all labels."""
    labels = _labels_at_points(result)
    rising = [i for i, n in enumerate(labels) if i == 0 or n > labels[i - 1]]
    per_point = -(-len(rising) // MAX_WATCHED_POINTS) or 1
    last = [rising[min(at + per_point, len(rising)) - 1] for at in range(0, len(rising), per_point)]
    curves = {
        metric: {
            run.method: thinned([run.standing.curve[metric][i] for i in rising], per_point) for run in runs
        }
        for metric in _CURVES
    }
    return {
        "labels": [labels[i] for i in last],
        "times": None,
        "counts": [result.curve_counts[i] for i in last],
        **curves,
        "window": result.settings["window"],
        "means": {
            metric: {run.method: run.standing.metrics.get(metric) for run in runs} for metric in _CURVES
        },
    }


def _labels_at_points(result: Result) -> list[int]:
    """How many labels had been scored at each point of the curves; the last may be between two."""
    every = result.settings["every"]
    return [min((i + 1) * every, result.n_scored) for i in range(len(result.curve_rows))]


def _events(result: Result, runs: Sequence[MethodRun], ranked: Sequence[BoardEntry]) -> list[dict[str, Any]]:
    """The drift alarms of the five best methods and of the deployed model; the last ones if they are many."""
    wanted = {entry.name for entry in ranked[:METHODS_WITH_ALARMS]}
    wanted |= {entry.name for entry in ranked if entry.role == "static"}
    rows = [(result.first_row or 0) - 1, *result.curve_rows]
    labels = [0, *_labels_at_points(result)]
    found = []
    for run in runs:
        standing = run.standing
        if run.method not in wanted:
            continue
        for row, (before, after) in zip(standing.alarms, standing.alarm_rates, strict=True):
            label = round(float(np.interp(row, rows, labels)))
            found.append((label, run.method, standing.name, before, after))
    found.sort(key=lambda each: each[0])
    return [
        {
            "number": number,
            "kind": "drift",
            "label": label,
            "time": None,
            "of": method,
            "better": after < before,
            "text": f"{name}: the rate of error {'fell' if after < before else 'rose'} from "
            f"{100 * before:.1f} % to {100 * after:.1f} %.",
        }
        for number, (label, method, name, before, after) in enumerate(found, start=1)
    ][-MAX_WATCHED_ALARMS:]


def _inside(comparison: Comparison, board: Board, schema: Any) -> tuple[dict[str, Any], str | None]:
    """Members, hypotheses and features of the method that would be deployed, and its title."""
    near = [*board.best(), *board.level()]
    wanted = [entry for entry in near if entry.role == "adaptive"] or near[:1]
    wanted += [entry for entry in board.entries if entry.role == "adaptive"]
    for entry in wanted:
        if entry.name in comparison.models:
            now, began = comparison.models[entry.name]
            return model_parts(now, schema, feature_shares(began, schema)), entry.title
    return {"members": [], "hypotheses": [], "features": []}, None
