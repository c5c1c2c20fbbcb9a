"""The figure of the synthetic experiment, after figure 1a of the paper."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ocboost._report.figures import BLUES, GREEN, GREY, ORANGE, PINK, PURPLE, RED, house_style, name_lines
from ocboost.paper.synthetic import ORDERS, SyntheticResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Key, text at the line's end, the same in short, and how it is drawn.
# Lines without a text are for study: thin and pale.
LINES: tuple[tuple[str, str | None, str | None, dict[str, Any]], ...] = (
    ("ocb-listing-order-1", None, None, {"color": PINK, "lw": 1.0}),
    ("ocb-listing-order-5", None, None, {"color": PINK, "lw": 1.0}),
    ("ocb-listing-order-10", None, None, {"color": PINK, "lw": 1.0}),
    (
        "ocb-listing",
        "OCB as printed, order 20",
        "20 as printed",
        {"color": RED, "lw": 1.8, "ls": (0, (4, 1.5))},
    ),
    ("oza-russell", "Oza and Russell", "Oza and Russell", {"color": ORANGE, "lw": 2.4}),
    ("ocb-order-1", "theorem, order 1", "theorem, order 1", {"color": BLUES[0], "lw": 2.2}),
    ("ocb-order-5", "theorem, order 5", "order 5", {"color": BLUES[1], "lw": 2.2}),
    ("ocb-order-10", "theorem, order 10", "order 10", {"color": BLUES[2], "lw": 2.2}),
    ("ocb-order-20", "theorem, order 20", "order 20", {"color": BLUES[3], "lw": 2.2}),
    ("ocb-balanced", "balanced, cold start", "balanced, cold", {"color": PURPLE, "lw": 2.6}),
    (
        "ocb-head-newest",
        "head of the newest, cold start",
        "newest head",
        {"color": GREEN, "lw": 1.8, "ls": (0, (4, 1.5))},
    ),
    ("ocb-head", "head, cold start", "with a head", {"color": GREEN, "lw": 2.6}),
)


def draw(result: SyntheticResult) -> Figure:
    """Draw the mean error of every method against the number of examples.

    Parameters
    ----------
    result : SyntheticResult
        What `ocboost.paper.synthetic.run_synthetic` returned.

    Returns
    -------
    matplotlib.figure.Figure
        Error on a log scale, drifts marked, each line named at its end.
    """
    with house_style():
        from matplotlib.figure import Figure

        settings = result.settings
        figure = Figure(figsize=(12, 6.75))
        axes = figure.add_axes((0.08, 0.105, 0.665, 0.735))
        panel(axes, result)
        axes.set_ylabel("approximation error to batch AdaBoost")
        figure.text(0.08, 0.945, _title(result), fontsize=18, fontweight="bold", va="center")
        note = (
            f"{'Quick run: ' if settings.quick else ''}{settings.in_words.replace(' x ', ' × ')}. "
            "Lower is better. Pale red: as printed, orders 1, 5, 10."
        )
        figure.text(0.08, 0.893, note, color=GREY, fontsize=12.5, va="center")
        return figure


def panel(axes: Axes, result: SyntheticResult, *, compact: bool = False) -> None:
    """Draw the lines on given axes, without a heading.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        With room for names to its right.
    result : SyntheticResult
    compact : bool, default=False
        One panel of several: thinner lines, shorter names, none of the lines for study.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

    axes.set_yscale("log")
    ends = []
    for rank, (key, text, short, how) in enumerate(LINES):
        if text is None and compact:
            continue
        curve = result.curve(key)
        thin = {"lw": 0.75 * how["lw"]} if compact else {}
        # An error of exactly 0 (a head that still holds everything) has no place on a log axis.
        shown = np.where(curve > 0, curve, np.nan)
        axes.plot(result.examples, shown, zorder=3 + rank / 100, **{**how, **thin})
        if text is not None and short is not None:
            ends.append((float(curve[-1]), short if compact else text, how["color"]))

    low, high = _range(result)
    axes.set_ylim(low, high)
    axes.set_xlim(0, result.settings.examples)
    ticks = [step * 10.0**-power for power in range(1, 7) for step in (1, 2, 5)]
    axes.yaxis.set_major_locator(FixedLocator([t for t in ticks if low <= t <= high]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    axes.set_xlabel("training examples")
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
    orders = [result.mean_error(f"ocb-order-{order}") for order in ORDERS]
    falls = all(after < before for before, after in pairwise(orders))
    if falls and result.mean_error("ocb-balanced") <= orders[-1]:
        return "Higher orders stay closer to AdaBoost, and no warm start is needed"
    return "How close online weights stay to batch AdaBoost"


def _range(result: SyntheticResult) -> tuple[float, float]:
    """Lower and upper end of the error axis: all of the curves after the stream's first tenth.

    Before that a head may still hold everything, and its error of almost 0 would fill the axis with decades
    in which nothing else happens.
    """
    curves = np.stack([result.curve(key) for key, *_ in LINES])
    settled = curves[:, np.array(result.examples) >= result.settings.examples / 10]
    positive = settled[settled > 0]
    low = float(positive.min()) if positive.size else 1e-4
    return max(low * 0.8, 1e-6), max(float(curves.max()), 2 * low) * 1.25
