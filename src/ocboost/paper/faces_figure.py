"""The figure of the face experiment, after figures 1c and 1d of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ocboost._report.figures import GREY, PALE, RED, house_style, name_lines
from ocboost.paper.faces import FacesResult
from ocboost.paper.mnist_figure import LOOKS, SHORT
from ocboost.paper.online import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# For study, and not in the paper's figure.
STUDY: dict[str, dict[str, Any]] = {
    "ocb-full-theorem": {"color": RED, "lw": 1.6, "ls": (0, (4, 1.5))},
    "ocb-order-400-own": {"color": PALE, "lw": 1.6},
    "ocb-full-own": {"color": PALE, "lw": 1.6, "ls": (0, (4, 1.5))},
}
NAMES_OF_STUDY = {
    "ocb-full-theorem": "full order, theorem",
    "ocb-order-400-own": "order {order}, total not kept",
    "ocb-full-own": "full order, total not kept",
}
INKS = {PALE: GREY}  # letters need a darker one than lines


def draw(result: FacesResult) -> Figure:
    """Draw approximation error and 1 - AUC, means over the permutations with their spread.

    Parameters
    ----------
    result : FacesResult
        What `ocboost.paper.faces.run_faces` returned.
    """
    with house_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(14, 6.6))
        left = figure.add_axes((0.05, 0.115, 0.285, 0.68))
        right = figure.add_axes((0.595, 0.115, 0.215, 0.68))
        left.set_title("approximation error", loc="left", fontsize=13)
        approximation_panel(left, result)
        right.set_title(f"1 − AUC on the test windows{_in_units(result)}", loc="left", fontsize=13)
        auc_panel(right, result)
        title = f"{result.name}: the online methods beside AdaBoost retrained"
        figure.text(0.05, 0.945, title, fontsize=18, fontweight="bold", va="center")
        n = result.settings.permutations
        spread = f"mean of {n} permutations, shaded: ± one standard deviation" if n > 1 else "one permutation"
        note = (
            f"{'Quick run. ' if result.settings.quick else ''}{result.n_train:,} training and "
            f"{result.n_test:,} test windows, {result.n_found:,} box filters; {spread}. Lower is better."
        )
        figure.text(0.05, 0.893, note, color=GREY, fontsize=12.5, va="center")
        return figure


def approximation_panel(axes: Axes, result: FacesResult, *, compact: bool = False) -> None:
    """Draw the approximation error on given axes, without a heading.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        With room for names to its right.
    result : FacesResult
    compact : bool, default=False
        One panel of several: thinner lines, and none of those for study.
    """
    names = _names(result, SHORT)
    del names["adaboost"]  # all zeros
    if not compact:
        names |= _names(result, NAMES_OF_STUDY)
    _lines(axes, result, result.approximation_error, names, 1.0, 3, compact=compact, bottom=0.0)


def auc_panel(axes: Axes, result: FacesResult, *, compact: bool = False) -> None:
    """Draw 1 - AUC on given axes, without a heading; the parameters are those of `approximation_panel`."""
    names = _names(result, SHORT)
    unit = _unit(result)
    _lines(axes, result, result.one_minus_auc, names, unit, 2, compact=compact)
    if compact and unit != 1.0:
        unit_name = _in_units(result).lstrip(", ")
        axes.text(1.0, 1.02, unit_name, transform=axes.transAxes, fontsize=9.5, color=GREY, ha="right")


def _names(result: FacesResult, patterns: dict[str, str]) -> dict[str, str]:
    order = min(result.settings.order, result.settings.n_hypotheses)
    return {key: pattern.format(order=order) for key, pattern in patterns.items() if key in result.labels}


def _unit(result: FacesResult) -> float:
    """The power of ten that the areas are drawn in."""
    end = float(result.one_minus_auc["adaboost"][:, -1].mean())
    return 1.0 if end <= 0.0 or end >= 0.1 else 10.0 ** np.floor(np.log10(end))


def _in_units(result: FacesResult) -> str:
    unit = _unit(result)
    power = str(round(np.log10(unit))).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return "" if unit == 1.0 else f", in 10{power}"


def _lines(
    axes: Axes,
    result: FacesResult,
    errors: dict[str, Floats],
    names: dict[str, str],
    unit: float,
    places: int,
    *,
    compact: bool,
    bottom: float | None = None,
) -> None:
    """A line for each method with its spread, named at its end."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    ends = []
    for key, name in names.items():
        rows, how = errors[key] / unit, {**LOOKS, **STUDY}[key]
        mean = rows.mean(axis=0)
        thin = {"lw": 0.75 * how["lw"]} if compact else {}
        axes.plot(result.examples, mean, marker="o", ms=2.5 if compact else 3.5, **{**how, **thin})
        if len(rows) > 1:
            spread = rows.std(axis=0, ddof=1)
            low = np.maximum(mean - spread, 0.0)  # no error is below
            axes.fill_between(result.examples, low, mean + spread, color=how["color"], alpha=0.13, lw=0)
        ink = INKS.get(how["color"], how["color"])
        ends.append((float(mean[-1]), name if compact else f"{mean[-1]:.{places}f}  {name}", ink))
    if bottom is not None:
        axes.set_ylim(bottom=bottom - 0.02 * axes.get_ylim()[1])  # so that a line at the bottom is seen
    axes.set_xlabel("training windows")
    axes.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    name_lines(axes, ends, size=10.5 if compact else 12)
