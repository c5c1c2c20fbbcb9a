"""How an experiment is shown: the section of the report that each makes, and what their figures share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ocboost._report.figures import BLUES, GREEN, GREY, INK, ORANGE, PALE, RED, name_lines
from ocboost._report.tables import Row, Table
from ocboost.paper.experiment import (
    ADABOOST,
    BALANCED,
    FULL,
    HEAD,
    NEWEST,
    OZA_RUSSELL,
    THEOREM,
    Floats,
    ImageSettings,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The columns of the report's first table; an experiment's rows for it are `Section.headline`.
HEADLINE_COLUMNS = (
    "experiment",
    "Oza and Russell",
    "OCB, the paper's theorem",
    "OCB, balanced",
    "OCB, balanced, full order",
    "OCB with a head",
    "OCB, head of the newest",
)
IN_PAPER = "  in the paper"
DASHED = (0, (4, 1.5))
# How the methods on images are named in short and drawn.
LINES: dict[str, tuple[str, dict[str, Any]]] = {
    ADABOOST: ("AdaBoost", {"color": INK, "lw": 2.4}),
    OZA_RUSSELL: ("Oza and Russell", {"color": ORANGE, "lw": 2.2}),
    THEOREM: ("order {order}, theorem", {"color": RED, "lw": 2.0}),
    BALANCED: ("order {order}, balanced", {"color": BLUES[1], "lw": 2.2}),
    FULL: ("full order, balanced", {"color": BLUES[3], "lw": 2.2}),
    NEWEST: ("head of the newest", {"color": GREEN, "lw": 1.5, "ls": DASHED}),
    HEAD: ("head", {"color": GREEN, "lw": 2.2}),
}


def in_digits(value: float, form: str = ".4f") -> str:
    """A number as it is to be written; one too small for that has an exponent.

    >>> in_digits(0.0242), in_digits(0.0), in_digits(1.234e-5)
    ('0.0242', '0.0000', '1.2e-05')
    """
    text = format(value, form)
    return f"{value:.1e}" if value > 0.0 == float(text) else text


def ratio(value: float, yardstick: float, form: str = ".2f") -> str:
    """How many times the yardstick a value is, if that is not 0."""
    return in_digits(value / yardstick, form) if yardstick > 0.0 else "–"


def at_end(rows: Floats) -> float:
    """At the last checkpoint, mean over the rounds."""
    return float(rows[:, -1].mean())


@dataclass(frozen=True)
class HeadlineRow:
    """One row of the report's first table, with its numbers unrounded; a quiet one is the paper's own.

    >>> HeadlineRow("some error", (0.25, None, 0.125, 0.5, 1.0, 1.0), ".2f").row.cells
    ('some error', '0.25', '–', '0.12', '0.50', '1.00', '1.00')
    """

    name: str
    values: tuple[float | None, ...]  # one for each column but the first; None where there is none
    form: str
    quiet: bool = False

    @property
    def row(self) -> Row:
        """As it stands in the table."""
        cells = ("–" if value is None else in_digits(value, self.form) for value in self.values)
        return Row((self.name, *cells), quiet=self.quiet)


@dataclass(frozen=True)
class CaptionedFigure:
    """A figure with its words."""

    stem: str  # the name of its files, without ``.png`` and ``.svg``
    alt: str  # what is drawn, for those who do not see it
    paper_says: str  # about its own figure, without "The paper: "
    figure: Figure
    shows: str  # what follows from our numbers, without "Here: "


@dataclass(frozen=True)
class Section:
    """An experiment's section of the report."""

    title: str
    about: str  # what is done, a paragraph in plain words
    findings: tuple[str, ...]  # sentences that follow from the numbers
    tables: tuple[Table, ...]  # with the paper's numbers in quiet rows
    figure: CaptionedFigure
    seeds: str
    headline: tuple[HeadlineRow, ...]  # rows for the report's first table
    results: dict[str, Any]  # for ``results.json``; source, notes, times and choices are shown from here


def headed_figure(size: tuple[float, float], left: float, title: str, note: str) -> Figure:
    """A figure with a title and a line below it, and no axes yet."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size)
    figure.text(left, 0.945, title, fontsize=18, fontweight="bold", va="center")
    figure.text(left, 0.893, note, color=GREY, fontsize=12.5, va="center")
    return figure


def plot_line(
    axes: Axes, examples: Sequence[int], rows: Floats, style: dict[str, Any], *, compact: bool
) -> None:
    """The mean of a method's rows, thinner where this is one panel of several."""
    width = style["lw"] * (0.75 if compact else 1.0)
    axes.plot(examples, rows.mean(axis=0), **{"ms": 2.5 if compact else 3.5, **style, "lw": width})


def count_examples(axes: Axes, noun: str, n_ticks: int | None = None) -> None:
    """Let the axis below count examples."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.set_xlabel(f"training {noun}")
    if n_ticks is not None:
        axes.xaxis.set_major_locator(MaxNLocator(n_ticks, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))


def image_panel(
    axes: Axes,
    settings: ImageSettings,
    examples: Sequence[int],
    errors: dict[str, Floats],
    lines: dict[str, tuple[str, dict[str, Any]]],
    *,
    compact: bool,
    unit: float = 1.0,
    places: int = 2,
    n_ticks: int = 3,
    from_zero: bool = False,
) -> None:
    """A line for each method with the spread of its rounds, named at its end."""
    ends = []
    for key, (pattern, style) in lines.items():
        if key not in errors:
            continue
        rows, colour = errors[key] / unit, style["color"]
        plot_line(axes, examples, rows, {"marker": "o", **style}, compact=compact)
        mean = rows.mean(axis=0)
        if len(rows) > 1:
            deviation = rows.std(axis=0, ddof=1)
            low = np.maximum(mean - deviation, 0.0)  # no error is below
            axes.fill_between(examples, low, mean + deviation, color=colour, alpha=0.13, lw=0)
        name = pattern.format(order=settings.used_order)
        text = name if compact else f"{mean[-1]:.{places}f}  {name}"
        ends.append((float(mean[-1]), text, GREY if colour == PALE else colour))  # letters need a darker ink
    if from_zero:
        axes.set_ylim(bottom=-0.02 * axes.get_ylim()[1])  # so that a line at the bottom is seen
    count_examples(axes, settings.NOUN, n_ticks)
    name_lines(axes, ends, size=10.5 if compact else 12)
