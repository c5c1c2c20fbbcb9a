"""The figure of the curve: a panel for each subject, error against memory, on logarithmic axes."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocboost._report.figures import BLUES, GREEN, GREY, ORANGE, house_style, render

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOLDER = Path(__file__).parent.parent.parent / "docs" / "figures"
STEM = "error_against_memory"
LOOKS: dict[str, dict[str, Any]] = {
    "newest, order 16": {"color": BLUES[0], "marker": "s"},
    "newest, full order": {"color": BLUES[3], "marker": "D"},
    "heavy": {"color": GREEN, "marker": "o"},
}
MIN_ERROR = 1e-6  # smaller errors are drawn here, hollow; mostly 0, where all examples fit
_LEFT, _BOTTOM, _SIZE = (0.09, 0.58), (0.525, 0.085), (0.4, 0.31)


def draw(record: Sequence[dict[str, Any]]) -> "Figure":
    """Four panels, or as many as were measured."""
    with house_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9.4, 7))
        keys = list(dict.fromkeys(each["subject"] for each in record))
        for k, key in enumerate(keys):
            axes = figure.add_axes((_LEFT[k % 2], _BOTTOM[k // 2], *_SIZE))
            _panel(axes, [each for each in record if each["subject"] == key])
            if k % 2 == 0:
                axes.set_ylabel("error to AdaBoost", fontsize=11)
            if k >= len(keys) - 2:
                axes.set_xlabel("memory for sums and examples", fontsize=11)
        title = "Keeping heavy examples: error against memory"
        figure.text(_LEFT[0], 0.966, title, fontsize=16, fontweight="bold", va="center")
        from matplotlib.lines import Line2D

        handles = [Line2D([], [], lw=2.2, ms=7, label=line, **look) for line, look in LOOKS.items()]
        handles.append(Line2D([], [], color=ORANGE, lw=1.6, ls=(0, (5, 2)), label="Oza and Russell"))
        handles.append(
            Line2D(
                [], [], label="0, or below 10⁻⁶", ls="", marker="o", color=GREY, mfc="white", mew=1.6, ms=7
            )
        )
        figure.legend(
            handles=handles,
            loc="center left",
            bbox_to_anchor=(_LEFT[0] - 0.01, 0.921),
            ncol=5,
            frameon=False,
            fontsize=10,
            columnspacing=1.3,
        )
        return figure


def _panel(axes: "Axes", record: Sequence[dict[str, Any]]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    first = record[0]
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(2**15.6, 2**25.4)
    axes.set_ylim(MIN_ERROR / 2, 1.0)
    for each in record:
        if each["line"] not in LOOKS:
            axes.axhline(each["errors"][0], color=ORANGE, lw=1.6, ls=(0, (5, 2)), zorder=1)
    for line, look in LOOKS.items():
        points = [(each["memory"], each["errors"][0]) for each in record if each["line"] == line]
        if not points:
            continue
        x, y = zip(*((memory, max(error, MIN_ERROR)) for memory, error in points), strict=True)
        axes.plot(x, y, lw=2.2, ms=5.5, zorder=3, **look)
        none = [memory for memory, error in points if error < MIN_ERROR]
        axes.plot(
            none, [MIN_ERROR] * len(none), ls="", ms=8, mfc="white", mew=1.8, zorder=4, clip_on=False, **look
        )
    axes.xaxis.set_major_locator(FixedLocator([2**k for k in range(16, 26, 2)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(_memory))
    axes.yaxis.set_major_locator(FixedLocator([10.0**k for k in range(-6, 1)]))
    axes.yaxis.set_major_formatter(FuncFormatter(_error))
    axes.tick_params(labelsize=10)
    axes.set_title(
        f"{first['heading']}: J = {first['J']:,}, {first['n']:,} examples",
        loc="left",
        fontsize=11,
        fontweight="bold",
        pad=9,
    )


def _error(y: float, _: object) -> str:
    if y <= 1.01 * MIN_ERROR:
        return "0"
    return f"{y:g}" if y >= 0.001 else f"$10^{{{math.log10(y):.0f}}}$"


def _memory(x: float, _: object) -> str:
    return f"{x / 2**10:g} KiB" if x < 2**20 else f"{x / 2**20:g} MiB"


def write(record: Sequence[dict[str, Any]], folder: Path) -> None:
    """The figure as an SVG file."""
    folder.mkdir(parents=True, exist_ok=True)
    content = render(draw(record), STEM)[f"{STEM}.svg"]
    path = folder / f"{STEM}.svg"
    path.write_bytes(content)
    print(f"{os.path.relpath(path)}: {len(content) / 1e3:.0f} kB")
