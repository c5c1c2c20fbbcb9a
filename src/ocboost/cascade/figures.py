"""Boxes on a copy of an image, and the ROC curves of cascades: misses against false positives per window."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ocboost._report.figures import BLUES, GREEN, GREY, INK, ORANGE, PURPLE, RED, any_script, house_style
from ocboost._report.page import printable
from ocboost.cascade.measure import Measurement
from ocboost.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Box = tuple[int, int, int, int]
CURVE_COLOURS = (GREY, BLUES[2], ORANGE, GREEN, PURPLE, RED)
FLAT_CURVE_NOTE = "Where a curve goes flat: windows that earlier stages reject stay rejected."
CURVE_STYLES = ("-", (0, (5, 1.5)), (0, (1.5, 1.5)))
LINE, EDGE = (255, 214, 10), (20, 20, 20)  # bright, with dark edges: seen on any picture


def draw_boxes(colour: NDArray[np.uint8], boxes: Sequence[Box]) -> bytes:
    """The image with the boxes on it, as the bytes of a PNG.

    A box is x, y, width and height in pixels. Lines lie inside their box, thicker on larger images.
    """
    try:
        from PIL import Image, ImageDraw
    except ModuleNotFoundError as error:
        raise MissingExtraError("pillow", "vision", "Drawing on images") from error

    image = Image.fromarray(colour)
    pen = ImageDraw.Draw(image)
    thick = max(2, round(min(image.size) / 300))
    edge = max(1, thick // 3)
    for x, y, width, height in boxes:
        for inset, ink, thickness in ((0, EDGE, thick + 2 * edge), (edge, LINE, thick)):
            corners = [x + inset, y + inset, x + width - 1 - inset, y + height - 1 - inset]
            if corners[2] > corners[0] and corners[3] > corners[1]:
                pen.rectangle(corners, outline=ink, width=thickness)
    png = io.BytesIO()
    image.save(png, format="PNG")
    return png.getvalue()


def draw_roc(measurements: Sequence[Measurement], *, note: str = "") -> Figure:
    """Draw a line for each cascade, and a dot for it with its own thresholds.

    Both axes are logarithmic. What is 0 lies on the edge of the figure. Where the score is that of the last
    stage, a second line below the title, after the note, says why the curve goes flat.
    """
    with house_style(), any_script():
        from matplotlib.figure import Figure
        from matplotlib.ticker import FuncFormatter, NullFormatter

        figure = Figure(figsize=(10, 7))
        axes = figure.add_axes((0.115, 0.105, 0.85, 0.735))
        left = 0.6 / max(s.curve.n_others for s in measurements)
        bottom = 60.0 / max(s.curve.n_faces for s in measurements)
        axes.set(xscale="log", yscale="log", xlim=(left, 1.0), ylim=(bottom, 100.0))
        for rank, measured in enumerate(measurements):
            curve = measured.curve.thinned()
            first = int(np.searchsorted(curve.false_positives, 0, "right")) - 1  # the best without any
            colour = CURVE_COLOURS[rank % len(CURVE_COLOURS)]
            style = CURVE_STYLES[rank // len(CURVE_COLOURS) % len(CURVE_STYLES)]
            x = np.append(np.maximum(curve.rates[first:], left), 1.0)  # what is never accepted stays missed
            y = np.maximum(100.0 * np.append(curve.misses[first:], curve.misses[-1]), bottom)
            name = printable(measured.name, 60)
            axes.plot(x, y, drawstyle="steps-post", color=colour, ls=style, lw=2.2, label=name)
            draw_dot(
                axes, max(measured.false_positives, left), max(100.0 * (1.0 - measured.hits), bottom), colour
            )
        axes.plot([], [], "o", ms=9, color=INK, mec="white", label="with its own thresholds")
        axes.grid(True, axis="x")
        axes.set_xlabel("false positives per window")
        axes.set_ylabel("faces missed")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.legend(loc="upper right", frameon=True, facecolor="white", edgecolor="none", framealpha=0.9)
        figure.text(
            0.115, 0.945, "Faces missed, false positives", fontsize=17, fontweight="bold", va="center"
        )
        flat = any(measured.kind == "last stage" for measured in measurements)
        figure.text(0.115, 0.902 if flat else 0.893, note, color=GREY, fontsize=12, va="center")
        if flat:
            figure.text(0.115, 0.866, FLAT_CURVE_NOTE, color=GREY, fontsize=12, va="center")
        return figure


def draw_dot(axes: Axes, x: float, y: float, colour: str) -> None:
    """Mark where a detector is with its own thresholds."""
    axes.plot(x, y, "o", ms=9, color=colour, mec="white", mew=1.4, clip_on=False, zorder=3)
