"""How the project's figures look, and how they become files.

Only matplotlib's object interface is used: no backend is chosen, no global state is changed.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ocboost.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Every colour by name, on white and on black paper: on a page each follows the reader's choice.
COLOURS = {
    "ink": ("#1f2328", "#e6edf3"),
    "grey": ("#6e7781", "#9198a1"),
    "faint": ("#d0d7de", "#30363d"),
    "pale": ("#a5adb6", "#656c76"),
    "lane": ("#e6eaee", "#262c36"),
    "red": ("#c0392b", "#ff7b72"),
    "palest": ("#8bbde3", "#47719f"),
    "light": ("#5ba3d6", "#4a8fdb"),
    "blue": ("#2272b5", "#6cb2ff"),
    "deep": ("#08396f", "#b6e0ff"),
    "green": ("#1a7f37", "#3fb950"),
    "orange": ("#e8710a", "#f0883e"),
    "pink": ("#e8b4ae", "#6e3630"),
    "purple": ("#8250df", "#b392f0"),
    "brown": ("#8f3d0b", "#d18a5f"),
    "teal": ("#1b9e9e", "#39c5cf"),
    "magenta": ("#c2378f", "#f778ba"),
    "rose": ("#d9485f", "#ff8fa0"),
    "olive": ("#7a7400", "#c9be3a"),
    "sky": ("#3b9bd1", "#58b4ea"),
    "mauve": ("#a05195", "#cf8ac4"),
    "slate": ("#5b7083", "#93a9bd"),
    "ochre": ("#c08a1e", "#e3b341"),
    "sea": ("#0b7f79", "#2fb3ab"),
    "clay": ("#a9746a", "#d09f96"),
    "paper": ("#ffffff", "#0d1117"),
    "shade": ("#f6f8fa", "#161b22"),
}
HUES = {name: light for name, (light, _) in COLOURS.items()}
INK, GREY, FAINT, PALE, LANE = (HUES[name] for name in ("ink", "grey", "faint", "pale", "lane"))
RED, PINK, ORANGE, GREEN, PURPLE = (HUES[name] for name in ("red", "pink", "orange", "green", "purple"))
BLUES = tuple(HUES[name] for name in ("palest", "light", "blue", "deep"))

STYLE: dict[Any, Any] = {
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 13,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "lines.solid_capstyle": "round",
    "svg.fonttype": "none",
    "svg.hashsalt": "ocboost",  # the same result gives the same bytes
}


def require_matplotlib() -> None:
    """Raise `MissingExtraError` where matplotlib is not installed; call it before long work."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtraError("matplotlib", "all", "Drawing figures") from error


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in the project's style inside the block."""
    require_matplotlib()
    import matplotlib

    with matplotlib.rc_context(STYLE):
        yield


@contextmanager
def any_script() -> Iterator[None]:
    """Names may be in a script that the figure's font does not have; they get boxes, not warnings."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def render(figure: Figure, stem: str) -> dict[str, bytes]:
    """The figure as the files ``stem.png`` and ``stem.svg``."""
    png = io.BytesIO()
    with house_style(), any_script():
        figure.savefig(png, format="png", dpi=160, metadata={"Software": None})
    return {f"{stem}.png": png.getvalue(), f"{stem}.svg": as_svg(figure)}


def as_svg(figure: Figure) -> bytes:
    """The figure as SVG: text as text, places in hundredths of a point, the font named once."""
    svg = io.BytesIO()
    with house_style(), any_script():
        figure.savefig(svg, format="svg", metadata={"Date": None})
    text = re.sub(rb"\n\s+", b"\n", rounded_paths(svg.getvalue()))
    text = re.sub(rb' transform="rotate\(-?0 [^)]*\)"', b"", text)
    text = text.replace(b"font-family: 'DejaVu Sans'; ", b"")
    return text.replace(b"<svg ", b"<svg font-family=\"'DejaVu Sans', Verdana, sans-serif\" ", 1)


def rounded_paths(svg: bytes) -> bytes:
    r"""Round paths and places to two decimals.

    >>> rounded_paths(b'<path id="p1.234" d="M 1.23456 7 \nL -0.001 2.5 \nz"/><use x="3.14159"/>')
    b'<path id="p1.234" d="M1.23 7L0 2.5z"/><use x="3.14"/>'
    """

    def rounded(number: re.Match[bytes]) -> bytes:
        value = round(float(number[0]), 2) + 0.0  # not -0
        return f"{value:.2f}".rstrip("0").rstrip(".").encode()

    def shorter(found: re.Match[bytes]) -> bytes:
        numbers = re.sub(rb"-?\d+\.\d+", rounded, found[2])
        return found[1] + re.sub(rb"\s*([MLCQHVZz])\s*", rb"\1", numbers).rstrip()

    return re.sub(rb'(\s(?:d|x|y|x1|y1|x2|y2)="|translate\()([^")]*)', shorter, svg)


def spread_out(positions: Sequence[float], gap: float) -> list[float]:
    """Move label positions apart, each as little as needed, keeping their order.

    Neighbours closer than `gap` join a block that is centred on the mean of its members.

    >>> spread_out([0.0, 0.5, 3.0], gap=1.0)
    [-0.25, 0.75, 3.0]
    """
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    blocks: list[tuple[float, list[int]]] = []  # centre, members
    for i in order:
        block = (positions[i], [i])
        while blocks:
            centre, members = blocks[-1]
            if block[0] - centre >= gap * (len(members) + len(block[1])) / 2:
                break
            blocks.pop()
            joined = members + block[1]
            block = (sum(positions[k] for k in joined) / len(joined), joined)
        blocks.append(block)
    moved = list(positions)
    for centre, members in blocks:
        for rank, i in enumerate(members):
            moved[i] = centre + gap * (rank - (len(members) - 1) / 2)
    return moved


def name_lines(axes: Axes, ends: Sequence[tuple[float, str, str]], *, size: float = 12.5) -> None:
    """Write each line's name to the right of its end, moved apart where lines end close together.

    ``ends`` holds for each line its last value, its name and its colour; ``size`` is that of the letters, in
    points. Call it when the axes have their place, scale and limits.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    inches = figure.get_figheight() * axes.get_position().height
    wide = 72.0 * figure.get_figwidth() * axes.get_position().width  # points
    low, high = axes.get_ylim()
    x = axes.get_xlim()[0]
    heights = []
    for value, _, _ in ends:
        inside = axes.transData.transform((x, min(max(value, low), high)))
        heights.append(float(axes.transAxes.inverted().transform(inside)[1]))
    places = spread_out(heights, gap=1.42 * size / 72.0 / inches)
    right: dict[str, Any] = {"transform": axes.transAxes}
    for place, end, (_, text, colour) in zip(places, heights, ends, strict=True):
        near, far = 1.0 + 3.0 / wide, 1.0 + 13.0 / wide
        axes.plot([near, far], [end, place], clip_on=False, color=colour, lw=1.0, **right)
        axes.text(1.0 + 17.0 / wide, place, text, color=colour, fontsize=size, va="center", **right)
