"""The figures that are shared, from what was measured: each as SVG for light and for dark pages."""

import base64
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from ocboost._report.figures import BLUES, COLOURS, GREEN, GREY, INK, ORANGE, RED, as_svg, house_style
from ocboost.datasets.scenes import Scene

from . import share_camera
from .heavy_curve_figure import MIN_ERROR

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES: dict[str, dict[str, Any]] = {  # of the figure of memory, as they are called in the results
    "newest, full order": {"color": BLUES[1], "marker": "D", "label": "head of the newest examples"},
    "heavy": {"color": GREEN, "marker": "o", "label": "head of the heaviest (default)"},
}
POINTS: dict[str, dict[str, Any]] = {
    "the paper": {
        "color": RED,
        "marker": "s",
        "label": "the paper's update, begun with\nAdaBoost on 5,000 examples",
    },
    "MOA": {"color": ORANGE, "marker": "X", "label": "MOA's OCBoost"},
}
TOP = 1.6  # where a method is drawn whose weights are no numbers


def write(figure: "Figure", name: str, folder: Path) -> None:
    """``name-light.svg`` and ``name-dark.svg``, without a background."""
    figure.patch.set_visible(False)
    for axes in figure.axes:
        axes.patch.set_visible(False)
    light = smaller_pictures(as_svg(figure).decode())
    dark_of = {light_hue.lower(): dark_hue for light_hue, dark_hue in COLOURS.values()}
    dark = re.sub(r"#[0-9a-f]{6}\b", lambda found: dark_of.get(found[0], found[0]), light)
    folder.mkdir(parents=True, exist_ok=True)
    for variant, text in (("light", light), ("dark", dark)):
        path = folder / f"{name}-{variant}.svg"
        path.write_text(text, encoding="utf-8")
        print(f"{path}: {len(text) / 1e3:.0f} kB")


def deployed(record: Sequence[dict[str, Any]]) -> "Figure":
    """A panel for each stream: the deployed model, and the same one adopted."""
    with house_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 5.8))
        panels = figure.subplots(2, 2)
        for axes, each in zip(panels.flat, record, strict=True):
            for line, colour, words in (
                ("deployed", GREY, "as deployed"),
                ("adapted", BLUES[2], "keeps learning"),
            ):
                curve = 100 * np.array(each[f"{line}_curve"])
                axes.plot(each["at"], curve, color=colour, lw=2.2)
                axes.annotate(
                    f"{words}\n{100 * each[line]:.1f} %",
                    (each["at"][-1], curve[-1]),
                    (8, 0),
                    textcoords="offset points",
                    va="center",
                    color=colour,
                    fontsize=10.5,
                    fontweight="bold",
                    annotation_clip=False,
                )
            axes.set_title(each["title"], loc="left", fontsize=13, fontweight="bold")
            axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
            axes.locator_params(axis="x", nbins=4)
            axes.locator_params(axis="y", nbins=5)
            axes.tick_params(labelsize=11)
        for axes in panels[:, 0]:
            axes.set_ylabel("right, %", fontsize=11)
        for axes in panels[1]:
            axes.set_xlabel("rows since it was deployed", fontsize=11)
        figure.subplots_adjust(left=0.06, right=0.865, top=0.94, bottom=0.09, wspace=0.62, hspace=0.36)
        return figure


def memory(curve: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]) -> "Figure":
    """Error to AdaBoost against memory: a panel for each subject, and one for the legend."""
    record = [*others, *curve]
    with house_style():
        from matplotlib.figure import Figure
        from matplotlib.lines import Line2D

        figure = Figure(figsize=(10, 6.4))
        panels = figure.subplots(2, 3, sharey=True)
        keys = list(dict.fromkeys(each["subject"] for each in record))
        for axes, key in zip(panels.flat, keys, strict=False):
            _memory_panel(axes, [each for each in record if each["subject"] == key])
        for axes in panels[:, 0]:
            axes.set_ylabel("distance to AdaBoost", fontsize=11)
        for axes in (*panels[1, :2], panels[0, 2]):
            axes.set_xlabel("memory", fontsize=11)
        last = panels[1, 2]
        last.axis("off")
        handles = [
            Line2D([], [], ms=7, lw=2.2 if name in LINES else 0, **look)
            for name, look in (LINES | POINTS).items()
        ]
        handles.insert(
            3, Line2D([], [], color=GREY, lw=1.6, ls=(0, (5, 2)), label="Oza and Russell: no pairs")
        )
        last.legend(
            handles=handles, loc="center left", bbox_to_anchor=(-0.06, 0.66), frameon=False, fontsize=10.5
        )
        last.text(
            -0.02,
            0.16,
            "Orange at the top: weights that are\nNaN within 100 examples.\n"
            "At 0: every example fits,\nor below 10⁻⁶.",
            transform=last.transAxes,
            fontsize=10.5,
            color=INK,
            va="center",
        )
        figure.subplots_adjust(left=0.08, right=0.985, top=0.92, bottom=0.09, wspace=0.12, hspace=0.42)
        return figure


def _memory_panel(axes: "Axes", record: Sequence[dict[str, Any]]) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator

    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_ylim(MIN_ERROR / 1.7, 2.6)
    for line, look in LINES.items():
        points = [(each["memory"], each["errors"][0]) for each in record if each["line"] == line]
        if points:
            x, y = zip(*((at, max(error, MIN_ERROR)) for at, error in points), strict=True)
            axes.plot(x, y, lw=2.2, ms=5, clip_on=False, zorder=3, **look)
    for line, look in POINTS.items():
        for each in (each for each in record if each["line"] == line):
            error = each["errors"][0]
            y = TOP if error is None else error
            axes.plot([each["bytes"]], [y], ls="", ms=8, clip_on=False, zorder=4, **look)
    for each in (each for each in record if each["line"] == "Oza and Russell"):
        axes.axhline(each["errors"][0], color=GREY, lw=1.6, ls=(0, (5, 2)), zorder=1)
    low, high = axes.get_xlim()
    exponents = [k for k in range(12, 28, 2) if low <= 2**k <= high]
    axes.xaxis.set_major_locator(FixedLocator([2.0**k for k in exponents]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda x, _: f"{x / 2**10:g} kB" if x < 2**20 else f"{x / 2**20:g} MB")
    axes.yaxis.set_major_locator(FixedLocator([10.0**k for k in range(-6, 1)]))
    axes.yaxis.set_major_formatter(
        lambda y, _: (
            "0" if y < 1.01 * MIN_ERROR else f"{y:g}" if y > 0.0009 else f"{y:.0e}".replace("e-0", "e-")
        )
    )
    axes.tick_params(labelsize=10)
    first = record[0]
    heading = f"{first['heading'].replace(', digit', '')}: J = {first['J']:,}, {first['n']:,} rows"
    axes.set_title(heading, loc="left", fontsize=9.8, fontweight="bold", pad=7)


def camera(
    record: Sequence[dict[str, Any]], rates: dict[str, tuple[float, float]], shown: int = 3
) -> "Figure":
    """The first scenes with the boxes of both detectors, and how many faces each misses."""
    with house_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 4.9))
        pictures = share_camera.scenes(shown)
        for row, (name, words) in enumerate(
            (("shipped", "as shipped"), ("adapted", "adapted to its camera"))
        ):
            for column in range(shown):
                axes = figure.add_axes((0.012 + 0.222 * column, 0.51 - 0.44 * row, 0.216, 0.33))
                _boxes(axes, pictures[column], record[column][name])
            figure.text(0.012, 0.862 - 0.44 * row, words, fontsize=12.5, fontweight="bold")
        axes = figure.add_axes((0.8, 0.06, 0.18, 0.75))
        order = sorted(rates, key=lambda each: rates[each][0])
        at = np.arange(len(order))
        for k, (colour, words) in enumerate(((GREY, "as shipped"), (BLUES[2], "adapted"))):
            values = [100 * rates[each][k] for each in order]
            axes.barh(at + 0.2 - 0.4 * k, values, 0.36, color=colour, label=words)
            for y, value in zip(at + 0.2 - 0.4 * k, values, strict=True):
                axes.text(value + 0.6, y, f"{value:.0f}", va="center", fontsize=9, color=colour)
        names = {"none": "none"}
        axes.set_yticks(at, [names.get(each, each) for each in order], fontsize=11)
        axes.grid(False)
        axes.set_xticks([])
        axes.spines[["bottom", "left"]].set_visible(False)
        axes.tick_params(length=0)
        figure.text(0.7, 0.94, "Faces missed, %", fontsize=14, fontweight="bold")
        figure.text(0.7, 0.89, "at 0.3 false alarms a picture", fontsize=10.5, color=GREY)
        for x, colour, words in ((0.7, GREY, "as shipped"), (0.82, BLUES[2], "adapted")):
            figure.text(x, 0.843, f"■ {words}", fontsize=10.5, color=colour)
        figure.text(0.012, 0.94, "Synthetic scenes, a camera askew", fontsize=14, fontweight="bold")
        for x, colour, words in (
            (0.405, GREEN, "found"),
            (0.478, ORANGE, "missed"),
            (0.563, RED, "false alarm"),
        ):
            figure.text(x, 0.943, f"■ {words}", fontsize=10.5, color=colour)
        return figure


def _boxes(axes: "Axes", scene: Scene, found: Sequence[Sequence[int]]) -> None:
    from matplotlib.patches import Rectangle

    axes.imshow(scene.grey, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
    axes.set_axis_off()
    hit = [max((_overlap(face, box) for box in found), default=0.0) >= 0.5 for face in scene.boxes]
    right = [max((_overlap(face, box) for face in scene.boxes), default=0.0) >= 0.5 for box in found]
    boxes = [(box, GREEN if is_face else RED, "-") for box, is_face in zip(found, right, strict=True)]
    boxes += [(face, ORANGE, "--") for face, was in zip(scene.boxes, hit, strict=True) if not was]
    for (x, y, width, height), colour, style in boxes:
        axes.add_patch(Rectangle((x, y), width, height, fill=False, ec=colour, lw=2.4, ls=style))


def _overlap(a: Sequence[int], b: Sequence[int]) -> float:
    wide = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    high = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    both = max(0, wide) * max(0, high)
    return both / (a[2] * a[3] + b[2] * b[3] - both)


def tallies(record: Sequence[dict[str, Any]]) -> dict[str, tuple[int, int, int]]:
    """For each detector: faces found, faces, and false alarms over all scenes."""
    found = {}
    for name in ("shipped", "adapted"):
        hits = faces = alarms = 0
        for each in record:
            faces += len(each["faces"])
            hits += sum(any(_overlap(face, box) >= 0.5 for box in each[name]) for face in each["faces"])
            alarms += sum(all(_overlap(face, box) < 0.5 for face in each["faces"]) for box in each[name])
        found[name] = hits, faces, alarms
    return found


def smaller_pictures(svg: str) -> str:
    """Pictures inside an SVG as JPEG, which is a third of their PNG."""

    def again(found: re.Match[str]) -> str:
        picture = Image.open(io.BytesIO(base64.b64decode(found[1]))).convert("L")
        jpeg = io.BytesIO()
        picture.save(jpeg, "JPEG", quality=82)
        return "data:image/jpeg;base64," + base64.b64encode(jpeg.getvalue()).decode()

    return re.sub(r"data:image/png;base64,\s*([A-Za-z0-9+/=\s]+)", again, svg)
