"""Pictures of a comparison: curves with bands over the seeds, mean ranks, and points behind the best."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..reporting.figure_style import (
    BLUES,
    GREEN,
    GREY,
    INK,
    LANE,
    ORANGE,
    PURPLE,
    RED,
    any_script,
    house_style,
    spread_out,
)
from ..reporting.page import printable
from .arena_board import DRAWN, Board, thinned
from .arena_summary import Summary
from .arena_table import title_of
from .figure import LEFT, LONGEST, RIGHT, TEAL, looks, within
from .learner import Role
from .methods import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAP = 0.245  # inches from a name to the next
OWN = {  # OCB that grows has a colour akin to that of OCB with the same memory
    "ocb": BLUES[2],
    "ocb-forgetting": ORANGE,
    "ocb-window-200": GREEN,
    "ocb-window-20": PURPLE,
    "growing": BLUES[3],
    "growing-forgetting": "#8f3d0b",
    "growing-window-200": TEAL,
    "growing-window-20": "#c2378f",
}


def styles_of(places: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """How each method is drawn, by name: the same in every figure, whoever else takes part.

    Parameters
    ----------
    places : sequence
        Things with a name and a role.
    """
    known = [SimpleNamespace(name=name, role=role_of(name)) for name in METHODS]
    found = looks([*known, *(place for place in places if place.name not in METHODS)])
    return {name: {**how, "color": OWN.get(name, how["color"])} for name, how in found.items()}


def role_of(name: str) -> Role:
    """The role of a method of `METHODS`."""
    if name in OWN:
        return "ocb"
    return "static" if name == "static" else "baseline" if METHODS[name].kind == "baseline" else "rival"


def draw_curves(board: Board, *, title: str, most_points: int = 250) -> Figure:
    """Windowed accuracy along the stream: the mean over the seeds, and its standard deviation as a band.

    Parameters
    ----------
    board : Board
    title : str
        Without one ("") there is no heading.
    most_points : int
        Of a curve; more are averaged.
    """
    with house_style(), any_script():
        from matplotlib.figure import Figure

        inches = max(3.6, (GAP + 0.01) * len(board.places) + 0.3)
        head = 0.75 if title == "" else 1.35
        height = head + inches + 0.75
        figure = Figure(figsize=(12.5, height))
        axes = figure.add_axes((LEFT, 0.75 / height, RIGHT - LEFT, inches / height))
        _lines(axes, board, inches, most_points)
        if title != "":
            style: dict[str, Any] = {"va": "center", "parse_math": False}
            figure.text(
                LEFT, 1 - 0.40 / height, printable(title, 90), fontsize=18, fontweight="bold", **style
            )
            figure.text(LEFT, 1 - 0.76 / height, _note(board), color=GREY, fontsize=12.5, **style)
        return figure


def _note(board: Board) -> str:
    n = len(board.seeds)
    over = f"means of {n} seeds, bands (OCB only): one standard deviation" if n > 1 else "one seed"
    cut = ", interrupted" if board.interrupted else ""
    return f"{board.n_scored:,} rows after the first {board.start:,}; {over}{cut}."


def said_of(board: Board) -> str:
    """What a reader must know of the curves."""
    n, window = len(board.seeds), board.settings["window"]
    text = f"Each point is the accuracy over the last {window:,} examples"
    if n == 1:
        return f"{text}; one seed, so no bands."
    what = "which draw other streams" if DRAWN in board.notes else "which begin with other rows of the start"
    bands = any(place.role == "ocb" and any(x is not None for x in place.band) for place in board.places)
    shaded = (
        f" A shaded band reaches one standard deviation over these seeds ({what}) to either side; only OCB "
        "has one, so that the others can be told apart."
        if bands
        else ""
    )
    return f"{text}, the mean over {n} seeds.{shaded}"


def _lines(axes: Axes, board: Board, inches: float, most_points: int) -> None:
    from matplotlib.ticker import FuncFormatter

    together = -(-len(board.curve_rows) // most_points)
    rows = np.array(thinned(board.curve_rows, together), float)
    how = styles_of(board.places)
    drawn = []  # all that the axes must hold
    curves = {place.name: _array(thinned(place.curve, together)) for place in board.places}
    for place in board.places:
        curve, style = curves[place.name], how[place.name]
        axes.plot(rows, curve, **style)
        drawn.append(curve)
        band = _array(thinned(place.band, together))
        if place.role == "ocb" and not np.isnan(band).all():
            axes.fill_between(
                rows, curve - band, curve + band, color=style["color"], alpha=0.15, lw=0, zorder=1
            )
            drawn += [curve - band, curve + band]
    low, high = _range(drawn)
    axes.set_ylim(low, high)
    if len(rows) > 1:
        axes.set_xlim(rows[0], rows[-1])
    axes.set_title(f"accuracy over the last {board.settings['window']:,} examples", loc="left", fontsize=13)
    axes.set_xlabel("row of the stream")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    ends = []
    for place in board.places:
        known = curves[place.name][~np.isnan(curves[place.name])]
        overall = place.mean("accuracy")
        if known.size and overall is not None:
            ends.append((float(known[-1]), place, overall))
    heights = [min(max((end - low) / (high - low), 0.0), 1.0) for end, _, _ in ends]
    gap = GAP / inches
    places = within(spread_out(heights, gap), gap)
    right = axes.transAxes
    for spot, end, (_, place, overall) in zip(places, heights, ends, strict=True):
        colour = how[place.name]["color"]
        axes.plot([1.004, 1.022], [end, spot], transform=right, clip_on=False, color=colour, lw=0.9)
        style = {"transform": right, "color": colour, "fontsize": 12, "va": "center"}
        axes.text(1.027, spot, f"{overall:.3f}", **style)
        axes.text(1.094, spot, printable(place.title, LONGEST), parse_math=False, **style)
    top = max([1.0, *places]) + 0.75 * gap
    axes.text(1.027, top, "whole stream", transform=right, color=GREY, fontsize=11)


def _array(values: list[float | None]) -> Any:
    return np.array([np.nan if value is None else value for value in values], float)


def _range(curves: list[Any]) -> tuple[float, float]:
    values = np.concatenate([curve[~np.isnan(curve)] for curve in curves]) if curves else np.empty(0)
    if values.size == 0:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    air = max(0.04 * (high - low), 0.01)
    return max(low - air, -0.005), min(high + air, 1.005)  # a band may reach where no accuracy is


def draw_ranks(summary: Summary) -> Figure:
    """Mean ranks over the streams, the best on top; a bar shows how far apart must be more than chance."""
    with house_style(), any_script():
        from matplotlib.figure import Figure

        names = [name for name in summary.names if summary.mean_rank(name) is not None]
        inches = 0.3 * len(names) + 0.6
        height = inches + 1.3
        figure = Figure(figsize=(9.5, height))
        axes = figure.add_axes((0.33, 0.55 / height, 0.62, inches / height))
        how = styles_of([place for name in names for place in _first_place(summary, name)])
        for lane, name in enumerate(names):
            ranks = [summary.rank(board, name) for board in summary.complete]
            colour = how[name]["color"]
            axes.axhline(lane, color=LANE, lw=0.8, zorder=1)
            axes.plot(ranks, [lane] * len(ranks), ls="", marker="o", ms=4, color=colour, alpha=0.3, mew=0)
            axes.plot([float(np.mean(ranks))], [lane], ls="", marker="o", ms=9, color=colour, zorder=3)
        axes.set_yticks(range(len(names)), [title_of(name) for name in names])
        axes.tick_params(axis="y", length=0)
        axes.grid(False)
        axes.set_ylim(len(names) - 0.5, -1.5)
        axes.set_xlim(0.5, len(names) + 0.5)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("rank by accuracy; large dots: the mean, small ones: each stream")
        gap = summary.critical
        best = summary.mean_rank(names[0]) if names else None
        if gap is not None and best is not None:
            end = min(best + gap, len(names) + 0.5)
            axes.plot([best, end], [-0.7, -0.7], color=RED, lw=2.5, solid_capstyle="butt")
            said = "as far from the best as this may be chance"
            axes.text(best, -1.15, said, color=RED, fontsize=11, va="center")
        figure.text(
            0.02, 1 - 0.35 / height, f"Ranks over {len(summary.complete)} streams",
            fontsize=16, fontweight="bold", va="center",
        )  # fmt: skip
        return figure


def _first_place(summary: Summary, name: str) -> list[Any]:
    return [place for board in summary.boards for place in board.places if place.name == name][:1]


def draw_behind(summary: Summary, *, most: float = 10.0) -> Figure:
    """Percentage points behind the best: a row for each method, a column for each stream.

    Parameters
    ----------
    summary : Summary
    most : float
        As far behind as this is the darkest.
    """
    with house_style(), any_script():
        from matplotlib.colors import LinearSegmentedColormap
        from matplotlib.figure import Figure

        names, boards = summary.names, summary.boards
        wide, tall = 3.9 + 0.62 * len(boards), 0.3 * len(names) + 1.95
        figure = Figure(figsize=(wide, tall))
        axes = figure.add_axes((3.1 / wide, 0.1 / tall, 0.62 * len(boards) / wide, 0.3 * len(names) / tall))
        gaps = np.array([_array([summary.behind(board, name) for board in boards]) for name in names])
        colours = LinearSegmentedColormap.from_list("behind", ["#ffffff", BLUES[0], BLUES[2], BLUES[3]])
        axes.pcolormesh(
            np.ma.masked_invalid(np.minimum(gaps, most)), cmap=colours, vmin=0.0, vmax=most, rasterized=False
        )
        for i, j in np.ndindex(gaps.shape):
            gap = gaps[i, j]
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9.5}
            if np.isnan(gap):
                axes.text(j + 0.5, i + 0.5, "–", color=GREY, **style)
            else:
                best = gap < 0.05
                text = "best" if best else f"{gap:.1f}" if gap < 9.95 else f"{gap:.0f}"
                colour = "#ffffff" if gap > 0.45 * most else INK
                axes.text(
                    j + 0.5, i + 0.5, text, color=colour, fontweight="bold" if best else "normal", **style
                )
        axes.set_ylim(len(names), 0)
        axes.set_xlim(0, len(boards))
        axes.grid(False)
        for side in axes.spines.values():
            side.set_visible(False)
        axes.set_yticks(np.arange(len(names)) + 0.5, [title_of(name) for name in names], fontsize=11)
        axes.xaxis.tick_top()
        axes.set_xticks(
            np.arange(len(boards)) + 0.5, [b.stream for b in boards], rotation=50, ha="left", fontsize=11
        )
        axes.tick_params(length=0)
        figure.text(
            0.15 / wide, 1 - 0.3 / tall, "Percentage points behind the best",
            fontsize=16, fontweight="bold", va="center",
        )  # fmt: skip
        return figure
