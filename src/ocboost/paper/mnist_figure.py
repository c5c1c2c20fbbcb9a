"""The figure of the MNIST experiment, after figure 1b of the paper, and the errors behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ocboost._report.figures import BLUES, GREEN, GREY, INK, ORANGE, RED, house_style, name_lines
from ocboost.paper.mnist import MnistResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS: dict[str, dict[str, Any]] = {
    "adaboost": {"color": INK, "lw": 2.4},
    "oza-russell": {"color": ORANGE, "lw": 2.2},
    "ocb-order-400-theorem": {"color": RED, "lw": 2.0},
    "ocb-order-400": {"color": BLUES[1], "lw": 2.2},
    "ocb-full": {"color": BLUES[3], "lw": 2.2},
    "ocb-head-newest": {"color": GREEN, "lw": 1.5, "ls": (0, (4, 1.5))},
    "ocb-head": {"color": GREEN, "lw": 2.2},
}
SHORT = {
    "adaboost": "AdaBoost",
    "oza-russell": "Oza and Russell",
    "ocb-order-400-theorem": "order {order}, theorem",
    "ocb-order-400": "order {order}, balanced",
    "ocb-full": "full order, balanced",
    "ocb-head-newest": "head of the newest",
    "ocb-head": "head",
}
MARKERS = {
    "oza-russell": "s",
    "ocb-order-400-theorem": "v",
    "ocb-order-400": "o",
    "ocb-full": "D",
    "ocb-head-newest": "x",
    "ocb-head": "^",
}


def draw(result: MnistResult) -> Figure:
    """Draw the combined test error as training goes on, and how far each digit's weights are from AdaBoost's.

    Parameters
    ----------
    result : MnistResult
        What `ocboost.paper.mnist.run_mnist` returned.
    """
    with house_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(13, 6.6))
        left = figure.add_axes((0.055, 0.115, 0.375, 0.68))
        right = figure.add_axes((0.675, 0.115, 0.31, 0.68))
        left.set_title("combined test error, %", loc="left", fontsize=13)
        panel(left, result)
        _digits(right, result)
        title = f"{result.name}: the online methods beside AdaBoost retrained"
        figure.text(0.055, 0.945, title, fontsize=18, fontweight="bold", va="center")
        quick = "Quick run. " if result.settings.quick else ""
        other = "Not MNIST. " if result.fallback else ""
        note = (
            f"{quick}{other}{result.examples[-1]:,} training and {result.n_test:,} test images, up to "
            f"{max(result.n_found):,} balls a digit. Lower is better."
        )
        figure.text(0.055, 0.893, note, color=GREY, fontsize=12.5, va="center")
        return figure


def panel(axes: Axes, result: MnistResult, *, compact: bool = False) -> None:
    """Draw the combined test error on given axes, without a heading.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        With room for names to its right.
    result : MnistResult
    compact : bool, default=False
        One panel of several: thinner lines, smaller names without figures.
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    ends = []
    order = min(result.settings.order, result.settings.n_hypotheses)
    for key in result.labels:
        name = SHORT[key].format(order=order)
        curve, how = result.combined_test_error[key], LOOKS[key]
        thin = {"lw": 0.75 * how["lw"]} if compact else {}
        axes.plot(result.examples, curve, marker="o", ms=2.5 if compact else 3.5, **{**how, **thin})
        text = name if compact else f"{curve[-1]:.2f}  {name}"
        ends.append((float(curve[-1]), text, how["color"]))
    axes.set_xlabel("training images")
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    name_lines(axes, ends, size=10.5 if compact else 12)


def _digits(axes: Axes, result: MnistResult) -> None:
    axes.set_title("approximation error of each digit at the end", loc="left", fontsize=13)
    for key, marker in MARKERS.items():
        how = {**LOOKS[key], "lw": 0.8, "ls": ":"}
        axes.plot(
            result.digits,
            result.approximation_error[key][:, -1],
            marker=marker,
            ms=7,
            clip_on=False,
            zorder=3,
            **how,
        )
    axes.set_ylim(bottom=-0.03 * axes.get_ylim()[1])
    axes.set_xticks(result.digits)
    axes.set_xlabel("digit")
