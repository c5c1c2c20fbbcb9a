"""All four panels of the paper's figure 1 in one figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ocboost.reporting.figure_style import GREY, house_style
from ocboost.reproduce import mnist_figure, synthetic_figure
from ocboost.reproduce.mnist import MnistResult
from ocboost.reproduce.part import Part, Picture
from ocboost.reproduce.synthetic import SyntheticResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ocboost.reproduce.faces import FacesResult

STEM = "figure1"
WHAT = ("approximation error", "combined test error, %", "approximation error", "1 − AUC")
_LEFT = (0.052, 0.555)
_BOTTOM = (0.535, 0.065)
_SIZE = (0.297, 0.345)


def draw(synthetic: SyntheticResult, mnist: MnistResult, faces: FacesResult) -> Figure:
    """Draw the three experiments as the paper does: a and b above, c and d below.

    Parameters
    ----------
    synthetic, mnist, faces
        What the experiments returned.
    """
    from ocboost.reproduce import faces_figure

    with house_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(13, 9.4))
        places = [(left, bottom, *_SIZE) for bottom in _BOTTOM for left in _LEFT]
        panels = [figure.add_axes(place) for place in places]
        for axes in panels:
            axes.tick_params(labelsize=10.5)
        synthetic_figure.panel(panels[0], synthetic, compact=True)
        mnist_figure.panel(panels[1], mnist, compact=True)
        faces_figure.approximation_panel(panels[2], faces, compact=True)
        faces_figure.auc_panel(panels[3], faces, compact=True)
        titled = zip(panels, "abcd", titles(mnist, faces), strict=True)
        for axes, letter, title in titled:
            axes.set_title(f"{letter}   {title}", loc="left", fontsize=12.5, fontweight="bold", pad=10)
            axes.set_ylabel("")
            axes.xaxis.label.set_fontsize(11)
        heading = "Online Coordinate Boosting beside AdaBoost retrained"
        figure.text(_LEFT[0], 0.966, heading, fontsize=17, fontweight="bold", va="center")
        quick = synthetic.settings.quick or mnist.settings.quick or faces.settings.quick
        note = f"{'Quick run: a subset. ' if quick else ''}After figure 1 of the paper. Lower is better."
        figure.text(_LEFT[0], 0.936, note, color=GREY, fontsize=11.5, va="center")
        return figure


def titles(mnist: MnistResult, faces: FacesResult) -> list[str]:
    """What each panel shows, of which data."""
    whose = ("Synthetic", mnist.name, faces.name, faces.name)
    return [f"{name}: {what}" for name, what in zip(whose, WHAT, strict=True)]


def picture(parts: list[Part], synthetic: SyntheticResult, mnist: MnistResult, faces: FacesResult) -> Picture:
    """The figure with its words, those of the parts' own pictures."""
    said = [(part.title.partition(":")[0], picture) for part in parts for picture in part.pictures[:1]]
    return Picture(
        stem=STEM,
        alt="Four panels: " + "; ".join(titles(mnist, faces)),
        says=(
            "accuracy improves with higher order (a); OCB and AdaBoost achieve lower test error rates than "
            "Oza and Russell's algorithm (b); OCB best approximates AdaBoost (c); OCB and AdaBoost have "
            "almost identical performance on the test set (d)."
        ),
        figure=draw(synthetic, mnist, faces),
        shows=" ".join(f"{title}: {picture.shows}" for title, picture in said),
    )
