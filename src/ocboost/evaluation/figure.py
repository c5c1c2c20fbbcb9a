"""The curves of an evaluation: how each contender did over a moving window, and where alarms were raised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..reporting import figure_style
from ..reporting.figure_style import (
    BLUES,
    GREEN,
    GREY,
    INK,
    LANE,
    ORANGE,
    PALE,
    PURPLE,
    RED,
    any_script,
    house_style,
    spread_out,
)
from ..reporting.page import printable
from .metrics import LOSSES, METRICS
from .result import Result, Standing
from .wording import NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TEAL = "#1b9e9e"
OCB_COLOURS = (BLUES[2], ORANGE, GREEN, PURPLE, TEAL, BLUES[0], BLUES[3], "#a0522d")
RIVAL_COLOURS = ("#7d8590", "#a9746a", "#8b8b4a", "#6c8ea0", "#94769a")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (2, 1.2)), (0, (6, 1.5, 1, 1.5)))
LEFT, RIGHT = 0.06, 0.72  # the axes' sides; names stand to the right
LONGEST = 30  # letters of a name
MOST_POINTS = 250  # of a line: more of them would only be scribble


def draw(
    result: Result,
    *,
    title: str | None = None,
    metrics: Sequence[str] = ("accuracy", "kappa"),
    alarms: Sequence[str] | None = None,
) -> Figure:
    """Draw windowed metrics against the rows of the stream, one panel for each metric.

    Parameters
    ----------
    result : Result
    title : str, optional
        Without one ("") there is no heading, for a page that has its own.
    metrics : sequence of str, default ("accuracy", "kappa")
        One of `ocboost.evaluation.METRICS` for each panel.
    alarms : sequence of str, optional
        The contenders whose drift alarms are marked; by default those that never learn, or the first one.

    Returns
    -------
    matplotlib.figure.Figure
        OCB in colour, a fixed model in black, others in grey, each named at the end of its line with its
        figure over the whole stream.
    """
    for metric in metrics:
        if metric not in METRICS:
            raise InputError(f"metrics must be among {', '.join(METRICS)}; got {metric!r:.80}.")
    marked = _marked(result, alarms)
    with house_style(), any_script():
        from matplotlib.figure import Figure

        tall = [max(3.4, 0.27 * len(result.standings) + 0.3)] + [2.4] * (len(metrics) - 1)  # inches
        strip = 0.28 * len(marked)
        head = 0.6 if title == "" else 1.35
        height = head + sum(tall) + strip + 0.5 * len(tall) + 0.25
        figure = Figure(figsize=(12.5, height))
        top = height - head
        panels: list[Axes] = []
        for rank, (metric, inches) in enumerate(zip(metrics, tall, strict=True)):
            box = (LEFT, (top - inches) / height, RIGHT - LEFT, inches / height)
            axes = figure.add_axes(box, sharex=panels[0] if panels else None)
            _panel(axes, result, metric, inches, named=rank == 0)
            panels.append(axes)
            top -= inches + 0.5
            if rank == 0 and marked:
                top -= strip
                box = (LEFT, (top + 0.35) / height, RIGHT - LEFT, strip / height)
                _alarms(figure.add_axes(box, sharex=axes), marked)
        _along(panels, result)
        if title != "":
            heading = printable("Learning as the stream goes by" if title is None else title, 90)
            style: dict[str, Any] = {"va": "center", "parse_math": False}
            figure.text(LEFT, 1 - 0.40 / height, heading, fontsize=18, fontweight="bold", **style)
            figure.text(LEFT, 1 - 0.76 / height, _note(result), color=GREY, fontsize=12.5, **style)
        return figure


def _marked(result: Result, names: Sequence[str] | None) -> list[Standing]:
    if names is not None:
        return [result[name] for name in names]
    if not result.settings["drift"]:
        return []
    fixed = [standing for standing in result.standings if standing.role == "static"]
    return fixed or result.standings[:1]


def looks(standings: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """How the line of each thing with a name and a role is drawn, by name."""
    found: dict[str, dict[str, Any]] = {}
    seen = {"ocb": 0, "static": 0, "rival": 0, "baseline": 0}
    for standing in standings:
        rank = seen[standing.role]
        seen[standing.role] += 1
        if standing.role == "ocb":
            colour, lines = (
                OCB_COLOURS[rank % len(OCB_COLOURS)],
                DASHES[rank // len(OCB_COLOURS) % len(DASHES)],
            )
            how: dict[str, Any] = {"color": colour, "lw": 2.0, "ls": lines, "zorder": 5}
        elif standing.role == "static":
            how = {"color": INK, "lw": 1.8, "ls": DASHES[rank % len(DASHES)], "zorder": 4}
        elif standing.role == "rival":
            colour, lines = (
                RIVAL_COLOURS[rank % len(RIVAL_COLOURS)],
                DASHES[rank // len(RIVAL_COLOURS) % len(DASHES)],
            )
            how = {"color": colour, "lw": 1.4, "ls": lines, "zorder": 3}
        else:
            how = {"color": PALE, "lw": 1.0, "ls": DASHES[rank % len(DASHES)], "zorder": 2}
        found[standing.name] = how
    return found


def _panel(axes: Axes, result: Result, metric: str, inches: float, *, named: bool) -> None:
    full = _start(result)
    rows = np.array(result.curve_rows[full:])
    how = looks(result.standings)
    curves = {
        standing.name: np.array([np.nan if v is None else v for v in standing.curve[metric][full:]], float)
        for standing in result.standings
    }
    together = -(-len(rows) // MOST_POINTS)  # so many points become one
    rows, curves = _means(rows.astype(float), together), {k: _means(v, together) for k, v in curves.items()}
    for name, curve in curves.items():
        axes.plot(rows, curve, **how[name])
    low, high = _range(list(curves.values()), metric)
    axes.set_ylim(low, high)
    better = ", less is better" if metric in LOSSES else ""
    span = min(result.settings["window"] + (together - 1) * result.settings["every"], result.n_scored)
    filling = bool(result.curve_counts) and result.curve_counts[full] < result.settings["window"]
    what = "means over" if together > 1 else "over at most the last" if filling else "over the last"
    axes.set_title(
        f"{NAMES[metric]}, {what} {span:,} examples{better}",
        loc="left",
        fontsize=13,
    )
    if not named:
        return
    ends = []
    for standing in result.standings:
        known = curves[standing.name][~np.isnan(curves[standing.name])]
        overall = standing.metrics[metric]
        if known.size and overall is not None:
            ends.append((float(known[-1]), standing.name, overall))
    heights = [min(max((end - low) / (high - low), 0.0), 1.0) for end, _, _ in ends]
    gap = 0.245 / inches
    places = within(spread_out(heights, gap), gap)
    right = axes.transAxes
    for place, end, (_, name, overall) in zip(places, heights, ends, strict=True):
        colour = how[name]["color"]
        axes.plot([1.004, 1.022], [end, place], transform=right, clip_on=False, color=colour, lw=0.9)
        style: dict[str, Any] = {"transform": right, "color": colour, "fontsize": 12, "va": "center"}
        axes.text(1.027, place, f"{overall:.3f}", **style)
        axes.text(1.094, place, printable(name, LONGEST), parse_math=False, **style)
    axes.text(
        1.027, max([1.0, *places]) + 0.75 * gap, "whole stream", transform=right, color=GREY, fontsize=11
    )


def _means(values: Any, together: int) -> Any:
    """The mean of every so many values; NaN where fewer than half of them are known.

    >>> _means(np.array([1.0, 2.0, 3.0, np.nan, np.nan]), 2)
    array([1.5, 3. , nan])
    """
    if together <= 1:
        return values
    short = -len(values) % together
    groups = np.concatenate([values, np.full(short, np.nan)]).reshape(-1, together)
    known = ~np.isnan(groups)
    count = known.sum(axis=1)
    sums = np.where(known, groups, 0.0).sum(axis=1)
    return np.where(2 * count >= together, sums / np.maximum(count, 1), np.nan)


def within(places: list[float], gap: float) -> list[float]:
    """Push names back into the panel from its top, and from its bottom where there is room."""
    order = sorted(range(len(places)), key=lambda i: -places[i])
    limit = 1.0
    for i in order:
        places[i] = min(places[i], limit)
        limit = places[i] - gap
    limit = min(0.0, 1.0 - gap * (len(places) - 1))
    for i in reversed(order):
        places[i] = max(places[i], limit)
        limit = places[i] + gap
    return places


def _alarms(axes: Axes, marked: list[Standing]) -> None:
    from matplotlib.ticker import NullLocator

    axes.set_ylim(len(marked) - 0.5, -0.5)
    axes.grid(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.yaxis.set_major_locator(NullLocator())
    axes.tick_params(axis="x", length=0, labelbottom=False)
    for lane, standing in enumerate(marked):
        n = len(standing.alarms)
        axes.axhline(lane, color=LANE, lw=0.8, zorder=1)
        axes.plot(standing.alarms, [lane] * n, ls="", marker="|", ms=9, mew=1.4, color=RED, zorder=3)
        text = f"{n:,} drift alarm{'' if n == 1 else 's'}: {printable(standing.name, 18)}"
        axes.text(
            1.027, lane, text, transform=axes.get_yaxis_transform(), color=RED, fontsize=11.5, va="center",
            parse_math=False,
        )  # fmt: skip


def _along(panels: list[Axes], result: Result) -> None:
    from matplotlib.ticker import FuncFormatter

    for axes in panels[:-1]:
        axes.tick_params(axis="x", labelbottom=False)
    last = panels[-1]
    last.set_xlabel("row of the stream")
    last.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    if result.first_row is not None and result.last_row is not None:
        last.set_xlim(result.first_row, max(result.last_row, result.first_row + 1))


def _start(result: Result) -> int:
    """The first point of the curves: where the window is full, unless it is so only late."""
    full = next((i for i, n in enumerate(result.curve_counts) if n >= result.settings["window"]), None)
    return full if full is not None and full <= len(result.curve_counts) // 2 else 0


def _range(curves: list[Any], metric: str) -> tuple[float, float]:
    """Both ends of the axis, with a little air; a loss is cut where its highest two hundredths begin."""
    values = np.concatenate([curve[~np.isnan(curve)] for curve in curves]) if curves else np.empty(0)
    if values.size == 0:
        return 0.0, 1.0
    low, high = np.quantile(values, [0.0, 0.98 if metric in LOSSES else 1.0])
    air = max(0.04 * (high - low), 0.01)
    most = np.inf if metric in LOSSES else 1.0
    return float(low - air), float(min(high + air, most + 0.005))


def _note(result: Result) -> str:
    settings = result.settings
    parts = [f"{result.n_predicted:,} rows"]
    parts.append("predicted, then learnt" if settings["step"] == 1 else f"in steps of {settings['step']:,}")
    if settings["delay"]:
        parts.append(f"labels {settings['delay']:,} rows late")
    if result.interrupted:
        parts.append("interrupted")
    note = ", ".join(parts) + "."
    marks = any(standing.alarms for standing in _marked(result, None))
    return note + (" Red marks: ADWIN found that the rate of error had changed." if marks else "")


def render(figure: Figure, stem: str) -> dict[str, bytes]:
    """The figure as the files ``stem.png`` and ``stem.svg``."""
    return figure_style.render(figure, stem)
