"""How the synthetic experiment is shown: its figure, after figure 1a of the paper, a table and findings."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ocboost._report.figures import BLUES, GREEN, GREY, ORANGE, PINK, PURPLE, RED, house_style, name_lines
from ocboost._report.tables import Row, Table
from ocboost.paper.experiment import HEAD, NEWEST, OZA_RUSSELL
from ocboost.paper.section import (
    DASHED,
    CaptionedFigure,
    HeadlineRow,
    Section,
    count_examples,
    headed_figure,
    plot_line,
    ratio,
)
from ocboost.paper.synthetic import ORDERS, SyntheticResult, listing_key, theorem_key

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Key, name at the line's end, the same in short, and how it is drawn.
# Lines without a name are for study: thin and pale.
LINES: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    *((listing_key(order), "", "", {"color": PINK, "lw": 1.0}) for order in ORDERS[:-1]),
    (
        listing_key(ORDERS[-1]),
        "OCB as printed, order 20",
        "20 as printed",
        {"color": RED, "lw": 1.8, "ls": DASHED},
    ),
    (OZA_RUSSELL, "Oza and Russell", "Oza and Russell", {"color": ORANGE, "lw": 2.4}),
    *(
        (
            theorem_key(order),
            f"theorem, order {order}",
            f"order {order}" if order > 1 else "theorem, order 1",
            {"color": BLUES[k], "lw": 2.2},
        )
        for k, order in enumerate(ORDERS)
    ),
    ("ocb-balanced", "balanced, cold start", "balanced, cold", {"color": PURPLE, "lw": 2.6}),
    (NEWEST, "head of the newest, cold start", "newest head", {"color": GREEN, "lw": 1.8, "ls": DASHED}),
    (HEAD, "head, cold start", "with a head", {"color": GREEN, "lw": 2.6}),
)


def section(result: SyntheticResult) -> Section:
    """The experiment's section of the report."""
    settings, record = result.settings, result.as_dict()
    pairs = [f"({seed}, {run})" for seed, run in record["seeds"]]
    balanced = "ocb-balanced"  # its order is the full one
    compared = (OZA_RUSSELL, theorem_key(ORDERS[-1]), balanced, balanced, HEAD, NEWEST)
    errors = tuple(result.mean_error(key) for key in compared)
    return Section(
        title="Synthetic data: margins that drift",
        about=(
            f"Each of {settings.n_hypotheses} hypotheses is right with a probability of its own. "
            f"{settings.in_words}: from one matrix to the next the probabilities move a little. The online "
            "methods see the margins one by one; at each checkpoint their weights are compared with those of "
            "AdaBoost on everything seen so far, by ½‖α_ada/‖α_ada‖₁ - α/‖α‖₁‖₁."
        ),
        findings=findings(result),
        tables=(table(result),),
        figure=CaptionedFigure(
            stem="synthetic",
            alt="Approximation error to AdaBoost of each method against the number of training examples",
            paper_says=(
                "the approximation error as examples come, concept drift every 10,000, mean of 5 runs; "
                "accuracy improves with higher order (figure 1a)."
            ),
            figure=draw(result),
            shows=_shows(result),
        ),
        seeds=f"Run r draws from the seed pair (seed, r): {', '.join(pairs)}.",
        headline=(HeadlineRow("Synthetic, mean approximation error", errors, ".4f"),),
        results=record,
    )


def table(result: SyntheticResult) -> Table:
    """Every method: mean error, final error, and the ratio to Oza and Russell."""
    settings = result.settings
    oza = result.mean_error(OZA_RUSSELL)
    rows = [
        Row(
            (
                method.label + (" (diverged)" if result.diverged[key] else ""),
                f"{settings.start} rows" if method.warm else "cold",
                f"{result.mean_error(key):.4f}",
                f"{result.final_error(key):.4f}",
                ratio(result.mean_error(key), oza),
            )
        )
        for key, method in result.methods.items()
    ]
    return Table(
        f"Approximation error to batch AdaBoost{' (quick)' if settings.quick else ''}",
        ("method", "start", "mean error", "final error", "to Oza and Russell"),
        tuple(rows),
        f"{settings.in_words}. The paper prints no numbers for this experiment.",
    )


def findings(result: SyntheticResult) -> tuple[str, ...]:
    """What the table shows, in plain words that follow from its numbers."""
    theorem, listing = result.by_order()
    oza, balanced, head, newest = map(result.mean_error, (OZA_RUSSELL, "ocb-balanced", HEAD, NEWEST))
    falls = "falls with every order" if _falling(theorem) else "does not fall with every order"
    rises = "gets worse with order" if _falling(listing[::-1]) else "does not get worse with every order"
    closer = "at least as close as" if balanced <= theorem[-1] else "less close than"
    helps = "closer still" if head < balanced else "no closer"
    diverged = [label for key, label in result.labels.items() if result.diverged[key]]
    return (
        f"By the paper's theorem, from a warm start, OCB's error {falls} "
        f"({theorem[0]:.4f} to {theorem[-1]:.4f}; Oza and Russell {oza:.4f}).",
        f"The listing as printed {rises} ({listing[0]:.4f} to {listing[-1]:.4f}).",
        f"With our balanced correction and from a cold start OCB is {closer} the theorem at order "
        f"{ORDERS[-1]} from a warm one ({balanced:.4f}); with a head of the heaviest examples it is {helps} "
        f"({head:.5f}; of the newest {newest:.4f}).",
        *([f"Diverged in some run: {'; '.join(diverged)}."] if diverged else []),
    )


def _shows(result: SyntheticResult) -> str:
    theorem, listing = result.by_order()
    oza = result.mean_error(OZA_RUSSELL)
    order = "accuracy improves with every order" if _falling(theorem) else "higher order is not always better"
    printed = "above" if listing[-1] > oza else "not above"
    return (
        f"{order}, to {theorem[-1]:.4f} at order {ORDERS[-1]}; the listing as printed ends up {printed} "
        f"Oza and Russell on average ({listing[-1]:.4f} against {oza:.4f})."
    )


def _falling(values: list[float]) -> bool:
    return all(after < before for before, after in pairwise(values))


def draw(result: SyntheticResult) -> Figure:
    """The mean error of every method against the number of examples: log scale, drifts marked."""
    with house_style():
        settings = result.settings
        note = (
            f"{'Quick run: ' if settings.quick else ''}{settings.in_words}. Lower is better. Pale red: as "
            "printed, orders 1, 5, 10."
        )
        figure = headed_figure((12, 6.75), 0.08, _title(result), note)
        axes = figure.add_axes((0.08, 0.105, 0.665, 0.735))
        panel(axes, result)
        axes.set_ylabel("approximation error to batch AdaBoost")
        return figure


def panel(axes: Axes, result: SyntheticResult, *, compact: bool = False) -> None:
    """Draw the lines; `compact` is for one panel of several, without the lines for study."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    # An error of exactly 0 (a head that still holds everything) has no place on a log axis.
    axes.set_yscale("log", nonpositive="mask")
    ends = []
    for rank, (key, name, short, style) in enumerate(LINES):
        if name or not compact:
            rows = result.approximation_error[key]
            plot_line(axes, result.examples, rows, {**style, "zorder": 3 + rank / 100}, compact=compact)
        if name:
            ends.append((result.final_error(key), short if compact else name, style["color"]))
    low, high = _range(result)
    axes.set_ylim(low, high)
    axes.set_xlim(0, result.settings.examples)
    ticks = [step * 10.0**-power for power in range(1, 7) for step in (1, 2, 5)]
    axes.yaxis.set_major_locator(FixedLocator([t for t in ticks if low <= t <= high]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    count_examples(axes, "examples")
    for drift in result.settings.drifts:
        axes.axvline(drift, color=GREY, lw=1.2, ls=(0, (1, 2)), zorder=1)
        axes.annotate(
            "drift",
            (drift, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(5, -4),
            textcoords="offset points",
            color=GREY,
            fontsize=10.5 if compact else 11.5,
            va="top",
        )
    name_lines(axes, ends, size=10.5 if compact else 12.5)


def _title(result: SyntheticResult) -> str:
    """What the figure shows: the finding where these data show it, the question otherwise."""
    theorem, _ = result.by_order()
    if _falling(theorem) and result.mean_error("ocb-balanced") <= theorem[-1]:
        return "Higher orders stay closer to AdaBoost, and no warm start is needed"
    return "How close online weights stay to batch AdaBoost"


def _range(result: SyntheticResult) -> tuple[float, float]:
    """Lower and upper end of the error axis: all of the curves after the stream's first tenth.

    Before that a head may still hold everything, and its error of almost 0 would fill the axis with decades
    in which nothing else happens.
    """
    curves = np.stack([result.approximation_error[key].mean(axis=0) for key, *_ in LINES])
    settled = curves[:, np.array(result.examples) >= result.settings.examples / 10]
    positive = settled[settled > 0]
    low = float(positive.min()) if positive.size else 1e-4
    return max(low * 0.8, 1e-6), max(float(curves.max()), 2 * low) * 1.25
