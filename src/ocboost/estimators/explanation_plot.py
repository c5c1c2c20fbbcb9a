"""Explanations, changes of weights and importances as bars. Everything here needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.escaping import shown
from ocboost.errors import InputError, MissingExtraError
from ocboost.estimators.explanation import Explanation, WeightChanges

FOR, AGAINST, GREY_OF_REST = "#2272b5", "#c0392b", "#a5adb6"
MAX_LETTERS_DRAWN = 48


def _axes(ax: Any, n_bars: int) -> Any:
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as error:
        raise MissingExtraError("matplotlib", "plot", "Drawing an explanation") from error
    if ax is None:
        _, ax = pyplot.subplots(figsize=(8.0, 1.4 + 0.34 * max(n_bars, 2)), layout="constrained")
    return ax


def drawn_name(text: object) -> str:
    """A name for a figure: one line, not too long, and no mathematics between dollar signs."""
    name = shown(text)
    name = name if len(name) <= MAX_LETTERS_DRAWN else name[: MAX_LETTERS_DRAWN - 1] + "…"
    return name.replace("$", r"\$")


def _bars(
    ax: Any, names: Sequence[str], values: Sequence[float], colours: Sequence[str], form: str = "{:+.2f}"
) -> None:
    """Horizontal bars, the first on top, each with its number at its end."""
    places = np.arange(len(names))
    ax.barh(places, values, color=list(colours), height=0.7)
    ax.set_yticks(places, [drawn_name(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.axvline(0.0, color="0.4", linewidth=0.8)
    for place, value in zip(places.tolist(), values, strict=True):
        side = 3 if value >= 0.0 else -3
        ax.annotate(
            form.format(value),
            (value, place),
            xytext=(side, 0),
            textcoords="offset points",
            va="center",
            ha="left" if side > 0 else "right",
            fontsize="small",
        )
    ax.margins(x=0.18)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def draw_explanation(why: Explanation, of: str, ax: Any = None) -> Any:
    """The contributions of the features or hypotheses of one prediction: blue for it, red against it."""
    if of not in ("features", "hypotheses"):
        raise InputError(f"of must be 'features' or 'hypotheses'; got {of!r:.80}.")
    adds_up = of == "hypotheses" or why.other_features is not None
    parts: list[tuple[str, float]]
    if of == "hypotheses":
        parts = [(f"{h.words}: {'yes' if h.answer > 0 else 'no'}", h.contribution) for h in why.hypotheses]
        rest, what = why.other_hypotheses, f"{why.n_other_hypotheses:,} others"
    else:
        parts = [(f"{f.name} = {f.value}", f.contribution) for f in why.features]
        rest, what = why.other_features or 0.0, "others"
    colours = [FOR if value >= 0.0 else AGAINST for _, value in parts]
    more = [(what, rest)] if rest else []
    more += [("offset", why.offset)] if adds_up and why.offset is not None else []
    parts, colours = parts + more, colours + [GREY_OF_REST] * len(more)
    ax = _axes(ax, len(parts))
    scale = 1.0 if adds_up else 100.0
    _bars(
        ax, [n for n, _ in parts], [scale * v for _, v in parts], colours, "{:+.2f}" if adds_up else "{:+.1f}"
    )
    unit = "contribution to the score" if adds_up else "points of probability that are lost without it"
    ax.set(xlabel=unit)
    ax.set_title(f"class {drawn_name(why.prediction)}, {why.probability:.1%}", loc="left", fontsize="medium")
    return ax


def draw_weight_changes(changes: WeightChanges, ax: Any = None) -> Any:
    """The weights then, in grey, and now: blue where one has gained, red where it has lost."""
    lines = changes.hypotheses
    ax = _axes(ax, len(lines))
    several = len({shown(each.label) for each in lines}) > 1
    names = []
    for each in lines:
        marks = [f"class {shown(each.label)}"] if several else []
        marks += ["new"] if each.came else ["gone"] if each.went else []
        names.append(drawn_name(each.words) + (f" ({', '.join(marks)})".replace("$", r"\$") if marks else ""))
    places = np.arange(len(lines))
    before, now = (np.array([getattr(each, name) for each in lines], float) for name in ("before", "now"))
    ax.hlines(places, before, now, color=[FOR if c >= 0.0 else AGAINST for c in now - before], linewidth=3)
    ax.scatter(before, places, color=GREY_OF_REST, zorder=3)
    ax.scatter(now, places, color=[FOR if c >= 0.0 else AGAINST for c in now - before], zorder=3)
    ax.set_yticks(places, names)
    ax.set_ylim(len(lines) - 0.4, -0.6)
    ax.axvline(0.0, color="0.4", linewidth=0.8)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set(xlabel="weight when the model was deployed (grey) and now")
    return ax


def draw_importances(names: Sequence[str], found: NDArray[np.float64], top: int, ax: Any = None) -> Any:
    """The largest importances."""
    order = np.argsort(-found, kind="stable")[:top].tolist()
    ax = _axes(ax, len(order))
    _bars(ax, [names[c] for c in order], found[order].tolist(), [FOR] * len(order), "{:.1%}")
    ax.set(xlabel="importance", xlim=(0.0, max(1.15 * float(found.max()), 1e-9)))
    return ax
