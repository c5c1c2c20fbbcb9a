"""Figures of a comparison: curves along the stream, mean ranks, and points behind the best.

A method's line looks the same in every figure and on every page. The adaptive classifier is red, OCB has
strong lines, a fixed model is black, baselines are grey, and the others have thinner lines that are not
solid. Methods that take part by default have colours of their own; the others share one only with a method
whose line is dashed differently.

>>> looks_of(["ocb", "mine"])["ocb"] == looks_of(["eg", "OCB, all history"])["OCB, all history"]
True
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from ocboost._core.metrics import METRIC_TABLE
from ocboost._report.document import Key
from ocboost._report.figures import (
    BLUES,
    GREEN,
    GREY,
    HUES,
    INK,
    LANE,
    ORANGE,
    PALE,
    PURPLE,
    RED,
    any_script,
    house_style,
)
from ocboost._report.page import printable
from ocboost.errors import InputError
from ocboost.evaluation.board import MAX_BOARD_POINTS, Board, BoardEntry, board_of, thinned
from ocboost.evaluation.contenders import Role
from ocboost.evaluation.result import Result
from ocboost.evaluation.summary import Summary
from ocboost.evaluation.tables import marked, marked_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Dash = tuple[float, ...]  # lengths of strokes and gaps, in widths of the line; none is a solid line
DASHES: tuple[Dash, ...] = ((5, 1.5), (2, 1.2), (6, 1.5, 1, 1.5), (9, 2, 3, 2))
STRONG = (BLUES[2], ORANGE, GREEN, PURPLE, BLUES[3], HUES["brown"], HUES["teal"], HUES["magenta"])
THIN = tuple(HUES[name] for name in ("rose", "olive", "sky", "mauve", "slate", "ochre", "sea", "clay"))


@dataclass(frozen=True)
class Look:
    """How a line is drawn: its width in points; those of a higher layer are drawn over the others."""

    colour: str
    dash: Dash
    width: float
    layer: int

    @property
    def line(self) -> dict[str, Any]:
        """The same in matplotlib's words."""
        style = (0, self.dash) if self.dash else "-"
        return {"color": self.colour, "ls": style, "lw": self.width, "zorder": self.layer}


def looks_of(names: Sequence[str], roles: Mapping[str, Role] | None = None) -> dict[str, Look]:
    """The look of each of these methods, by name.

    Names and titles of `METHODS` look the same whoever else takes part. Others take what is left, in their
    order; ``roles`` has their roles, rivals if left out.
    """
    known = _known()
    taken = set(known.values())
    colours = {known[name].colour for name in names if name in known}
    found: dict[str, Look] = {}
    for name in names:
        look = known.get(name)
        if look is None:
            all_ = list(_all((roles or {}).get(name, "rival")))
            free = [each for each in all_ if each not in taken] or all_
            look = next((each for each in free if each.colour not in colours), free[0])
            taken.add(look)
            colours.add(look.colour)
        found[name] = look
    return found


def _all(role: Role) -> Iterator[Look]:
    """All looks that a role may have, the plainest first."""
    solid: tuple[Dash, ...] = ((),)
    if role == "adaptive":
        yield from (Look(RED, dash, 2.4, 6) for dash in solid + DASHES)
    elif role == "ocb":
        yield from (Look(colour, dash, 2.0, 5) for dash, colour in product(solid + DASHES, STRONG))
    elif role == "static":
        yield from (Look(INK, dash, 1.8, 4) for dash in solid + DASHES)
    elif role == "baseline":
        yield from (Look(colour, dash, 1.2, 2) for dash, colour in product(solid + DASHES, (PALE, GREY)))
    else:  # neighbours differ in both, for those who see few colours
        for round_, entry in product(range(len(DASHES)), range(len(THIN))):
            yield Look(THIN[entry], DASHES[(round_ + entry) % len(DASHES)], 1.5, 3)


@cache
def _known() -> dict[str, Look]:
    """The looks of all methods, by name and by title; those that take part by default choose first."""
    from ocboost.evaluation.methods import METHODS

    left: dict[Role, Iterator[Look]] = {role: _all(role) for role in get_args(Role)}
    ranked = sorted(METHODS.values(), key=lambda method: not (method.usual or method.role == "ocb"))
    looks = [(method, next(left[method.role])) for method in ranked]
    return {key: look for method, look in looks for key in (method.name, method.title)}


LEFT, RIGHT = 0.06, 0.68  # the axes' sides; names stand to the right
NAME_INCHES = 0.245  # from a name to the next
MAX_NAME_LETTERS = 32
BANDED: tuple[Role, ...] = ("adaptive", "ocb")  # have a band of one standard deviation, if drawn
DEFAULT_PANELS = ("accuracy", "kappa")
# Of a map of numbers, the same on light and dark paper: none is a colour that pages replace in the dark.
SHADES, DARK = ("#fefefe", "#8bbde4", "#2373b5", "#09396f"), "#14181d"


def draw(
    result: Board | Result,
    *,
    title: str | None = None,
    metrics: Sequence[str] | None = None,
    alarms: Sequence[str] | None = None,
    most_points: int = MAX_BOARD_POINTS,
    named: bool = True,
) -> Figure:
    """Draw windowed metrics against the rows of the stream, one panel for each metric.

    By default accuracy, and kappa if there are curves of it. Over several seeds the lines are means, and OCB
    has bands of one standard deviation. ``alarms`` are the methods whose drift alarms are marked, by default
    those that never learn, or the first one. An empty title leaves out the heading; lines that are not
    ``named`` beside the first panel are named by `keys_of`. Curves of more than ``most_points`` are averaged.
    """
    board = board_of(result)
    there = list(board.entries[0].curves)
    metrics = [metric for metric in DEFAULT_PANELS if metric in there] if metrics is None else metrics
    for metric in metrics:
        if metric not in there:
            raise InputError(f"metrics must be among {', '.join(there)}; got {metric!r:.80}.")
    lanes = _lanes(board, alarms)
    right = RIGHT if named else 0.985
    with house_style(), any_script():
        from matplotlib.figure import Figure

        least = NAME_INCHES * (len(board.entries) + 1) if named else 0.0
        tall = [max(3.6, least)] + [2.4] * (len(metrics) - 1)  # inches
        strip = 0.28 * len(lanes)
        head = 0.6 if title == "" else 1.35
        height = head + sum(tall) + strip + 0.5 * len(tall) + 0.25
        figure = Figure(figsize=(12.5, height))
        top = height - head
        panels: list[Axes] = []
        for rank, (metric, inches) in enumerate(zip(metrics, tall, strict=True)):
            box = (LEFT, (top - inches) / height, right - LEFT, inches / height)
            axes = figure.add_axes(box, sharex=panels[0] if panels else None)
            _panel(axes, board, metric, most_points)
            if named and rank == 0:
                _names(axes, board, metric, inches)
            panels.append(axes)
            top -= inches + 0.5
            if rank == 0 and lanes:
                top -= strip
                box = (LEFT, (top + 0.35) / height, right - LEFT, strip / height)
                _alarms(figure.add_axes(box, sharex=axes), lanes, beside=named)
        _along(panels, board, lanes)
        if title != "":
            heading = printable("Learning as the stream goes by" if title is None else title, 90)
            style: dict[str, Any] = {"va": "center", "parse_math": False}
            figure.text(LEFT, 1 - 0.40 / height, heading, fontsize=18, fontweight="bold", **style)
            figure.text(LEFT, 1 - 0.76 / height, _note(board), color=GREY, fontsize=12.5, **style)
        return figure


def keys_of(result: Board | Result, metric: str = "accuracy") -> list[Key]:
    """What each line stands for, the best over the whole stream first."""
    board = board_of(result)
    how = _looks(board)
    found = []
    for entry, overall in _ranked(board, metric):
        look = how[entry.name]
        found.append(Key(marked(entry), f"{overall:.3f}", look.colour, look.dash, look.width))
    return found


def _looks(board: Board) -> dict[str, Look]:
    return looks_of([entry.name for entry in board.entries], {p.name: p.role for p in board.entries})


def _ranked(board: Board, metric: str) -> list[tuple[BoardEntry, float]]:
    """Those that have a value over the whole stream, the best first."""
    known = [(entry, value) for entry in board.entries if (value := entry.mean(metric)) is not None]
    return sorted(known, key=lambda pair: -pair[1] if METRIC_TABLE[metric].larger_is_better else pair[1])


def _panel(axes: Axes, board: Board, metric: str, most_points: int) -> None:
    per_point = max(1, -(-len(board.curve_rows) // most_points))  # so many points become one
    rows = _array(thinned(board.curve_rows, per_point))
    how = _looks(board)
    drawn = []  # all that the axes must hold
    for entry in board.entries:
        curve, band = (_array(thinned(each[metric], per_point)) for each in (entry.curves, entry.bands))
        axes.plot(rows, curve, **how[entry.name].line)
        drawn.append(curve)
        if entry.role in BANDED and not np.isnan(band).all():
            low, high = curve - band, curve + band
            axes.fill_between(rows, low, high, color=how[entry.name].colour, alpha=0.15, lw=0, zorder=1)
            drawn += [low, high]
    axes.set_ylim(*_range(drawn, metric))
    what = "over the last" if board.full else "over at most the last"
    shown = METRIC_TABLE[metric]
    better = "" if shown.larger_is_better else ", less is better"
    title = f"{shown.title}, {what} {board.settings['window']:,} examples{better}"
    axes.set_title(title, loc="left", fontsize=13)


def _names(axes: Axes, board: Board, metric: str, inches: float) -> None:
    """Name the lines to the right, in the order of the figures that stand with them."""
    gap = NAME_INCHES / inches
    how, right = _looks(board), axes.transAxes
    axes.text(1.081, 1.0 - 0.2 * gap, "whole stream", transform=right, color=GREY, fontsize=11, va="center")
    for rank, (entry, overall) in enumerate(_ranked(board, metric), start=1):
        spot = 1.0 - (rank + 0.1) * gap
        line = {**how[entry.name].line, "transform": right, "clip_on": False}
        axes.plot([1.02, 1.071], [spot, spot], **line)
        style: dict[str, Any] = {"transform": right, "fontsize": 12, "va": "center"}
        axes.text(1.081, spot, f"{overall:.3f}", **style)
        axes.text(1.153, spot, printable(marked(entry), MAX_NAME_LETTERS), parse_math=False, **style)


def _lanes(board: Board, names: Sequence[str] | None) -> list[BoardEntry]:
    """Whose drift alarms are marked."""
    if names is not None:
        return [board[name] for name in names]
    if not board.settings["drift"]:
        return []
    fixed = [entry for entry in board.entries if entry.role == "static"]
    return fixed or board.entries[:1]


def _alarms(axes: Axes, lanes: list[BoardEntry], *, beside: bool) -> None:
    from matplotlib.ticker import NullLocator

    axes.set_ylim(len(lanes) - 0.5, -0.5)
    axes.grid(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.yaxis.set_major_locator(NullLocator())
    axes.tick_params(axis="x", length=0, labelbottom=False)
    for lane, entry in enumerate(lanes):
        rows = sorted(row for alarms in entry.alarms for row in alarms)
        n = len(rows)
        axes.axhline(lane, color=LANE, lw=0.8, zorder=1)
        axes.plot(rows, [lane] * n, ls="", marker="|", ms=9, mew=1.4, color=RED, zorder=3)
        text = f"{n:,} drift alarm{'' if n == 1 else 's'}: {printable(entry.title, 18)}"
        spot: dict[str, Any] = {"x": 1.02} if beside else {"x": 1.0, "ha": "right"}
        axes.text(
            y=lane + (0.0 if beside else 0.4), s=text, transform=axes.get_yaxis_transform(), color=RED,
            fontsize=11.5, va="center" if beside else "top", parse_math=False, **spot,
        )  # fmt: skip


def _along(panels: list[Axes], board: Board, lanes: list[BoardEntry]) -> None:
    from matplotlib.ticker import FuncFormatter

    for axes in panels[:-1]:
        axes.tick_params(axis="x", labelbottom=False)
    last = panels[-1]
    last.set_xlabel("row of the stream")
    last.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    if len(board.curve_rows) > 1:
        early = [row for entry in lanes for alarms in entry.alarms for row in alarms]
        last.set_xlim(min([board.curve_rows[0], *early]), board.curve_rows[-1])


def _note(board: Board) -> str:
    n, step = len(board.seeds), board.settings["step"]
    parts = [f"{board.n_predicted:,} rows" + (f" after the first {board.start:,}" if board.start else "")]
    parts.append("predicted, then learnt" if step == 1 else f"in steps of {step:,}")
    if board.settings["delay"]:
        parts.append(f"labels {board.settings['delay']:,} rows late")
    if n > 1:
        parts.append(f"means of {n} seeds, bands (OCB only): one standard deviation")
    if board.interrupted:
        parts.append("interrupted")
    marks = any(alarms for entry in _lanes(board, None) for alarms in entry.alarms)
    return (
        ", ".join(parts) + "." + (" Red marks: ADWIN found a change in the rate of error." if marks else "")
    )


def _array(values: Sequence[float | None]) -> Any:
    return np.array([np.nan if value is None else value for value in values], float)


def _range(curves: list[Any], metric: str) -> tuple[float, float]:
    """Both ends of the axis, with a little air.

    A metric without a highest value is cut where its highest two hundredths begin; the axis ends where the
    metric does, even if a band reaches further.
    """
    values = np.concatenate([curve[~np.isnan(curve)] for curve in curves]) if curves else np.empty(0)
    if values.size == 0:
        return 0.0, 1.0
    lowest, highest = METRIC_TABLE[metric].lowest, METRIC_TABLE[metric].highest
    low, high = np.quantile(values, [0.0, 1.0 if np.isfinite(highest) else 0.98])
    air = max(0.04 * (high - low), 0.01)
    return float(max(low - air, lowest - 0.005)), float(min(high + air, highest + 0.005))


# Many streams ---------------------------------------------------------------------------------------------


def draw_ranks(summary: Summary) -> Figure:
    """Mean ranks over the streams, the best on top; a bar shows how far apart must be more than chance."""
    with house_style(), any_script():
        from matplotlib.figure import Figure

        names = [name for name in summary.names if summary.mean_rank(name) is not None]
        inches = 0.3 * len(names) + 0.6
        height = inches + 1.3
        figure = Figure(figsize=(9.5, height))
        axes = figure.add_axes((0.35, 0.55 / height, 0.60, inches / height))
        how = looks_of(names, {entry.name: entry.role for board in summary.boards for entry in board.entries})
        for lane, name in enumerate(names):
            ranks = [summary.rank(board, name) for board in summary.complete]
            dots: dict[str, Any] = {"ls": "", "marker": "o", "color": how[name].colour}
            axes.axhline(lane, color=LANE, lw=0.8, zorder=1)
            axes.plot(ranks, [lane] * len(ranks), ms=4, alpha=0.3, mew=0, **dots)
            filled: dict[str, Any] = {} if summary.deployable(name) else {"mfc": "white", "mew": 2}
            axes.plot([float(np.mean(ranks))], [lane], ms=9, zorder=3, **dots, **filled)
        axes.set_yticks(range(len(names)), [marked_title(name) for name in names])
        axes.tick_params(axis="y", length=0)
        axes.grid(False)
        axes.set_ylim(len(names) - 0.5, -1.5)
        axes.set_xlim(0.5, len(names) + 0.5)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("rank by accuracy; large dots: the mean, small ones: each stream")
        gap, first = summary.critical, summary.first
        best = None if first is None else summary.mean_rank(first)
        if gap is not None and best is not None:
            end = min(best + gap, len(names) + 0.5)
            axes.plot([best, end], [-0.7, -0.7], color=RED, lw=2.5, solid_capstyle="butt")
            said = "as far behind may be chance"
            axes.text(best, -1.15, said, color=RED, fontsize=11, va="center")
        n = len(summary.complete)
        figure.text(
            0.02, 1 - 0.35 / height, f"Ranks over {n} {'stream' if n == 1 else 'streams'}",
            fontsize=16, fontweight="bold", va="center",
        )  # fmt: skip
        return figure


def draw_behind(summary: Summary, *, most: float = 10.0) -> Figure:
    """Percentage points behind the best, methods by streams; ``most`` points are the darkest."""
    with house_style(), any_script():
        from matplotlib.colors import LinearSegmentedColormap
        from matplotlib.figure import Figure

        names, boards = summary.names, summary.boards
        wide, tall = 3.9 + 0.62 * len(boards), 0.3 * len(names) + 1.95
        figure = Figure(figsize=(wide, tall))
        axes = figure.add_axes((3.1 / wide, 0.1 / tall, 0.62 * len(boards) / wide, 0.3 * len(names) / tall))
        gaps = np.array([_array([summary.behind(board, name) for board in boards]) for name in names])
        colours = LinearSegmentedColormap.from_list("behind", SHADES)
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
                colour = SHADES[0] if gap > 0.45 * most else DARK
                axes.text(
                    j + 0.5, i + 0.5, text, color=colour, fontweight="bold" if best else "normal", **style
                )
        axes.set_ylim(len(names), 0)
        axes.set_xlim(0, len(boards))
        axes.grid(False)
        for side in axes.spines.values():
            side.set_visible(False)
        axes.set_yticks(np.arange(len(names)) + 0.5, [marked_title(name) for name in names], fontsize=11)
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
