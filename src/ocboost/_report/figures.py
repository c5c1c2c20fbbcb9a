"""How the project's figures look, and how they become files.

Only matplotlib's object interface is used: no backend is chosen, no global state is changed.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ocboost.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1f2328"
GREY = "#6e7781"
FAINT = "#d0d7de"
BLUES = ("#8bbde3", "#5ba3d6", "#2272b5", "#08396f")
ORANGE = "#e8710a"
RED = "#c0392b"
PINK = "#e8b4ae"
GREEN = "#1a7f37"
PURPLE = "#8250df"
PALE = "#a5adb6"
LANE = "#e6eaee"
HUES = {  # for lines beyond the colours above
    "brown": "#8f3d0b",
    "teal": "#1b9e9e",
    "magenta": "#c2378f",
    "rose": "#d9485f",
    "olive": "#7a7400",
    "sky": "#3b9bd1",
    "mauve": "#a05195",
    "slate": "#5b7083",
    "ochre": "#c08a1e",
    "sea": "#0b7f79",
    "clay": "#a9746a",
}

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
    png, svg = io.BytesIO(), io.BytesIO()
    with house_style(), any_script():
        figure.savefig(png, format="png", dpi=160, metadata={"Software": None})
        figure.savefig(svg, format="svg", metadata={"Date": None})
    return {f"{stem}.png": png.getvalue(), f"{stem}.svg": svg.getvalue()}


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

    Call it when the axes have their place, scale and limits.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    ends : sequence of (float, str, str)
        For each line its last value, its name, and its colour.
    size : float, default=12.5
        Of the letters, in points.
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
