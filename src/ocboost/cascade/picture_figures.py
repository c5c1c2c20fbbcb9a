"""The curves of detectors on whole pictures: faces missed against false alarms per picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ocboost._report.figures import GREY, INK, any_script, house_style
from ocboost._report.page import printable
from ocboost.cascade.figures import CURVE_COLOURS, CURVE_STYLES, draw_dot
from ocboost.cascade.picture_measure import PictureMeasurement

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EDGE_NOTE = (
    "On the left edge: no false alarm at all. Where a curve stays flat: no threshold tried finds more."
)
RIGHT = 30.0  # false alarms per picture: nobody wants more


def draw_picture_curves(
    measurements: Sequence[PictureMeasurement], ms: Mapping[str, float] | None = None, *, note: str = ""
) -> Figure:
    """Draw a line for each detector, the best over thresholds and neighbours, and a dot for it as it is.

    ``ms`` are milliseconds per picture, by name, for the legend. Without faces there is nothing to draw but
    axes, and the figure says so.
    """
    with house_style(), any_script():
        from matplotlib.figure import Figure
        from matplotlib.ticker import FuncFormatter

        figure = Figure(figsize=(10, 7))
        axes = figure.add_axes((0.115, 0.105, 0.85, 0.735))
        left = 0.5 / max(measured.n_pictures for measured in measurements)
        right = max(RIGHT, *(1.3 * measured.alarms_per_picture for measured in measurements))
        axes.set(xscale="log", xlim=(left, right))
        highest = 0.0
        labels = []
        for rank, measured in enumerate(measurements):
            colour = CURVE_COLOURS[rank % len(CURVE_COLOURS)]
            style = CURVE_STYLES[rank // len(CURVE_COLOURS) % len(CURVE_STYLES)]
            label = printable(measured.name, 50)
            if ms is not None and measured.name in ms:
                label += f", {ms[measured.name]:.3g} ms a picture"
            if measured.recall is None:
                continue
            labels.append(label)
            alarms, misses = measured.curve.best()
            x = np.append(np.maximum(alarms, left), max(right, alarms[-1]))
            y = 100.0 * np.append(misses, misses[-1])
            axes.plot(x, y, drawstyle="steps-post", color=colour, ls=style, lw=2.2, label=f"line {rank}")
            missed = 100.0 * (1.0 - measured.recall)
            highest = max(highest, missed, *y[x <= right])
            draw_dot(axes, max(measured.alarms_per_picture, left), missed, colour)
        axes.set_ylim(0.0, min(max(1.1 * highest, 5.0), 100.0))
        axes.grid(True, axis="x")
        axes.set_xlabel("false alarms per picture")
        axes.set_ylabel("faces missed")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
        if labels:
            neighbours = measurements[0].settings.min_neighbors
            labels.append(f"with its own threshold and {neighbours} neighbour{'s' * (neighbours != 1)}")
            axes.plot([], [], "o", ms=9, color=INK, mec="white", label="dot")
            legend = axes.legend(
                loc="best", frameon=True, facecolor="white", edgecolor="none", framealpha=0.9
            )
            # Labels with "_" in front would be left out, and what is between "$" would be a formula.
            for text, label in zip(legend.get_texts(), labels, strict=True):
                text.set_parse_math(False)
                text.set_text(label)
        else:
            axes.text(
                0.5, 0.5, "No face in any picture: nothing to miss.", transform=axes.transAxes, ha="center"
            )
        title = "Faces missed, false alarms, in whole pictures"
        figure.text(0.115, 0.945, title, fontsize=17, fontweight="bold", va="center")
        figure.text(0.115, 0.902, note, color=GREY, fontsize=12, va="center")
        figure.text(0.115, 0.866, EDGE_NOTE, color=GREY, fontsize=12, va="center")
        return figure
