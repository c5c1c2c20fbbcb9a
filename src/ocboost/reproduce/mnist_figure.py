"""The figure of the MNIST experiment, after figure 1b of the paper, and the errors behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ocboost.reporting.figure_style import BLUES, GREEN, GREY, INK, ORANGE, house_style, spread_out
from ocboost.reproduce.mnist import METHODS, MnistResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS: dict[str, dict[str, Any]] = {
    "adaboost": {"color": INK, "lw": 2.4},
    "oza-russell": {"color": ORANGE, "lw": 2.2},
    "ocb-order-400": {"color": BLUES[1], "lw": 2.2},
    "ocb-full": {"color": BLUES[3], "lw": 2.2},
    "ocb-head": {"color": GREEN, "lw": 2.2, "ls": (0, (4, 1.5))},
}


def draw(result: MnistResult) -> Figure:
    """Draw the combined test error as training goes on, and how far each digit's weights are from AdaBoost's.

    Parameters
    ----------
    result : MnistResult
        What `ocboost.reproduce.mnist.run_mnist` returned.
    """
    with house_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(13, 6.6))
        left = figure.add_axes((0.065, 0.115, 0.335, 0.68))
        right = figure.add_axes((0.645, 0.115, 0.335, 0.68))
        _combined(left, result)
        _digits(right, result)
        title = "Ten digits: the online methods beside AdaBoost retrained"
        figure.text(0.065, 0.945, title, fontsize=18, fontweight="bold", va="center")
        quick = "Quick run. " if result.settings.quick else ""
        note = (
            f"{quick}{result.examples[-1]:,} training and {result.n_test:,} test images, up to "
            f"{max(result.n_found):,} balls a digit. Lower is better."
        )
        figure.text(0.065, 0.893, note, color=GREY, fontsize=12.5, va="center")
        return figure


def _combined(axes: Axes, result: MnistResult) -> None:
    from matplotlib.ticker import FuncFormatter

    axes.set_title("combined test error, %", loc="left", fontsize=13)
    ends = []
    for key, name in METHODS.items():
        curve = result.combined_test_error[key]
        axes.plot(result.examples, curve, marker="o", ms=3.5, **LOOKS[key])
        ends.append((float(curve[-1]), f"{curve[-1]:.2f}  {name}", LOOKS[key]["color"]))
    low, high = axes.get_ylim()
    axes.set_xlabel("training images")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    heights = [(end - low) / (high - low) for end, _, _ in ends]
    for at, end, (_, text, colour) in zip(spread_out(heights, gap=0.065), heights, ends, strict=True):
        axes.plot([1.01, 1.04], [end, at], transform=axes.transAxes, clip_on=False, color=colour, lw=1.0)
        axes.text(1.05, at, text, transform=axes.transAxes, color=colour, fontsize=12, va="center")


def _digits(axes: Axes, result: MnistResult) -> None:
    axes.set_title("approximation error of each digit at the end", loc="left", fontsize=13)
    for key, errors in result.approximation_error.items():
        how = {**LOOKS[key], "lw": 0.8, "ls": ":"}
        axes.plot(result.digits, errors[:, -1], marker="o", ms=7, **how)
    axes.set_ylim(bottom=0.0)
    axes.set_xticks(result.digits)
    axes.set_xlabel("digit")
