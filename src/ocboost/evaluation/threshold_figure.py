"""A figure of what other thresholds would give: recall of each class, precision, accuracy; of two classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ocboost._report.figures import BLUES, GREEN, GREY, INK, ORANGE, RED, any_script, house_style
from ocboost._report.page import printable
from ocboost.evaluation.board import Board, BoardEntry
from ocboost.evaluation.figures import looks_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_CURVES = 6  # of precision by recall, the best by PR-AUC


def shown_entry(board: Board) -> BoardEntry | None:
    """Whose thresholds are drawn: the highest PR-AUC, of those that can be deployed if there are any."""
    known = [entry for entry in board.entries if entry.thresholds is not None]
    return max(known, key=lambda entry: (entry.deployable, entry.mean("pr_auc") or 0.0), default=None)


def draw_thresholds(board: Board) -> Figure:
    """Recall, precision and accuracy of the best by the threshold; precision by recall of several."""
    entry = shown_entry(board)
    assert entry is not None
    with house_style(), any_script():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(12.5, 5.4))
        left = figure.add_axes((0.06, 0.14, 0.40, 0.60))
        right = figure.add_axes((0.53, 0.14, 0.42, 0.60))
        _by_threshold(left, board, entry)
        _by_recall(right, board)
        return figure


def _by_threshold(axes: Axes, board: Board, entry: BoardEntry) -> None:
    assert entry.thresholds is not None
    curve, (first, second) = entry.thresholds, (printable(label, 16) for label in board.classes)
    lines = {
        "recall": (f"recall of {second}", ORANGE, "-"),
        "precision": (f"precision of {second}", GREEN, (0, (5, 1.5))),
        "recall_of_others": (f"recall of {first}", BLUES[2], "-"),
        "accuracy": ("accuracy", GREY, (0, (2, 1.2))),
    }
    for name, (label, colour, dash) in lines.items():
        axes.plot(curve["threshold"], curve[name], color=colour, ls=dash, lw=2.0, label=label)
    least = board.least_probability
    if least is not None:
        axes.axvline(least, color=RED, lw=1.6, label=f"threshold {least:.3g}")
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, 1.005)
    axes.set_xlabel(f"{second} is predicted from this probability on", parse_math=False)
    title = f"{printable(entry.title, 32)}, by the threshold"
    axes.set_title(title, loc="left", fontsize=13, y=1.25, parse_math=False)
    _legend(axes)


def _by_recall(axes: Axes, board: Board) -> None:
    known = [entry for entry in board.entries if entry.thresholds is not None]
    known = sorted(known, key=lambda entry: -(entry.mean("pr_auc") or 0.0))[:MAX_CURVES]
    how = looks_of([entry.name for entry in board.entries], {p.name: p.role for p in board.entries})
    for entry in known:
        assert entry.thresholds is not None
        label = f"{entry.mean('pr_auc') or 0.0:.3f}  {printable(entry.title, 21)}"
        axes.plot(
            entry.thresholds["recall"], entry.thresholds["precision"], label=label, **how[entry.name].line
        )
    first = known[0].confusion
    if first is not None:
        share = sum(first[1]) / sum(map(sum, first))
        axes.axhline(share, color=INK, ls=(0, (1, 2)), lw=1.0)
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, 1.005)
    axes.set_xlabel(f"recall of {printable(board.classes[1], 16)}", parse_math=False)
    title = "Precision by recall, and PR-AUC"
    axes.set_title(title, loc="left", fontsize=13, y=1.25)
    _legend(axes)


def _legend(axes: Axes) -> None:
    legend = axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.02, 1.0),
        ncols=2,
        fontsize=10.5,
        frameon=False,
        borderaxespad=0.2,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
