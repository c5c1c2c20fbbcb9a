"""How the MNIST experiment is shown: tables 1 and 2 beside the paper's, findings, and figure 1b."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ocboost._report.figures import house_style
from ocboost._report.tables import Row, Table
from ocboost.paper.experiment import (
    ADABOOST,
    BALANCED,
    FULL,
    HEAD,
    NEWEST,
    ONLINE,
    OZA_RUSSELL,
    THEOREM,
    Floats,
)
from ocboost.paper.mnist import PAPER_APPROXIMATION_ERROR, PAPER_TEST_ERROR, MnistResult
from ocboost.paper.section import (
    IN_PAPER,
    LINES,
    CaptionedFigure,
    HeadlineRow,
    Section,
    at_end,
    headed_figure,
    image_panel,
    ratio,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The paper's OCB is its own update, so that its numbers stand beneath the theorem's.
PRINTED = {ADABOOST: ADABOOST, OZA_RUSSELL: OZA_RUSSELL, THEOREM: BALANCED}
MARKERS = {OZA_RUSSELL: "s", THEOREM: "v", BALANCED: "o", FULL: "D", NEWEST: "x", HEAD: "^"}


def section(result: MnistResult) -> Section:
    """The experiment's section of the report."""
    settings = result.settings
    return Section(
        title=f"{result.name}: ten digits, each against the rest",
        about=(
            "For each digit AdaBoost with sampling finds balls around training images that tell it from the "
            f"others. AdaBoost on the first {settings.start:,} images gives the online methods their start; "
            f"they see the others, {result.examples[-1]:,} in all, in the order of the file. At checkpoints "
            "their weights are compared with AdaBoost retrained on everything seen so far, and all of them "
            f"classify {result.n_test:,} test images. The combined answer is the digit with the highest vote."
        ),
        findings=findings(result),
        tables=tables(result),
        figure=CaptionedFigure(
            stem="mnist",
            alt=(
                "Left: combined test error of each method against the number of training images. "
                "Right: approximation error of each digit at the end"
            ),
            paper_says=(
                "OCB and AdaBoost achieve lower combined test error rates than Oza and Russell's "
                "algorithm (figure 1b)."
            ),
            figure=draw(result),
            shows=_shows(result),
        ),
        seeds=f"Digit d draws its samples from the seed pair ({settings.seed}, d).",
        headline=_headline(result),
        results=result.as_dict(),
    )


def tables(result: MnistResult) -> tuple[Table, ...]:
    """Table 1, the test errors; table 2, the approximation errors; and the means of both."""
    of_what = "; digits of scikit-learn, not MNIST" if result.fallback else ""
    of_what += " (quick)" if result.settings.quick else ""
    combined = {key: float(e[-1]) for key, e in result.combined_test_error.items()}
    far = {key: rows for key, rows in result.approximation_error.items() if key != ADABOOST}
    return (
        _by_digit(
            f"Table 1: test error in %{of_what}", result, result.test_error, PAPER_TEST_ERROR, combined
        ),
        _by_digit(f"Table 2: approximation error{of_what}", result, far, PAPER_APPROXIMATION_ERROR),
        _of_means(f"Means over the digits{of_what}", result),
    )


def _by_digit(
    title: str,
    result: MnistResult,
    errors: Mapping[str, Floats],
    paper: Mapping[str, tuple[float, ...]],
    combined: Mapping[str, float] | None = None,
) -> Table:
    rows = []
    for key, found in errors.items():
        cells = [f"{e:.2f}" if combined else f"{e:.3f}" for e in found[:, -1]]
        rows.append(Row((result.labels[key], *cells, *([f"{combined[key]:.2f}"] if combined else []))))
        theirs = paper.get(PRINTED.get(key, ""))
        if theirs is not None and not result.fallback and len(result.digits) == len(theirs):
            printed = [f"{e:.2f}" for e in theirs]
            rows.append(Row((_in_paper(key), *printed, *(["–"] if combined else [])), quiet=True))
    caption = ""
    if combined:
        caption = "All: by the highest of the votes"
        caption += "." if result.fallback else "; the paper draws it and prints no numbers."
    return Table(
        title, ("method", *map(str, result.digits), *(["all"] if combined else [])), tuple(rows), caption
    )


def _of_means(title: str, result: MnistResult) -> Table:
    oza = at_end(result.approximation_error[OZA_RUSSELL])
    printed_oza = _printed_mean(PAPER_APPROXIMATION_ERROR, OZA_RUSSELL)
    rows = []
    for key in ONLINE:
        far, test = at_end(result.approximation_error[key]), at_end(result.test_error[key])
        rows.append(Row((result.labels[key], f"{far:.4f}", ratio(far, oza, ".3f"), f"{test:.3f}")))
        if key in PRINTED and not result.fallback:
            far = _printed_mean(PAPER_APPROXIMATION_ERROR, key)
            test = _printed_mean(PAPER_TEST_ERROR, key)
            cells = (_in_paper(key), f"{far:.3f}", ratio(far, printed_oza, ".3f"), f"{test:.3f}")
            rows.append(Row(cells, quiet=True))
    return Table(title, ("method", "approximation error", "to Oza and Russell", "test error, %"), tuple(rows))


def findings(result: MnistResult) -> tuple[str, ...]:
    """What the tables show, in plain words that follow from their numbers."""
    mean = {key: at_end(result.approximation_error[key]) for key in ONLINE}
    apart = {
        key: float(np.abs(result.test_error[key] - result.test_error[ADABOOST])[:, -1].max())
        for key in ONLINE
    }
    oza, order = mean[OZA_RUSSELL], result.settings.used_order
    held_all = ", which held every image" if mean[HEAD] < 1e-9 else ""
    closer = sum(mean[key] < oza for key in (BALANCED, FULL, HEAD))
    who = {3: "All three are", 1: "One of these three is", 0: "None of these three is"}.get(
        closer, f"{closer} of these three are"
    )
    nearest = min(ONLINE, key=lambda key: apart[key])
    theorem = "below" if mean[THEOREM] < oza else "not below"
    return (
        f"By the paper's own update (its theorem, at order {order}) the mean approximation error is "
        f"{mean[THEOREM]:.4f}, {theorem} Oza and Russell's {oza:.4f}; it is closer to AdaBoost for "
        + _counts(result, THEOREM, paper=not result.fallback),
        f"With our balanced correction the mean approximation error is {mean[BALANCED]:.4f} at order "
        f"{order}, {mean[FULL]:.4f} at full order, {mean[HEAD]:.4f} with a head{held_all}. {who} "
        f"closer to AdaBoost than Oza and Russell. At order {order} it is closer for "
        + _counts(result, BALANCED),
        f"Balanced at full order OCB's test error is within {apart[FULL]:.2f} points of AdaBoost's for "
        f"every digit, the theorem's at order {order} within {apart[THEOREM]:.2f}, Oza and Russell's within "
        f"{apart[OZA_RUSSELL]:.2f}; the nearest is {result.labels[nearest]}.",
    )


def _counts(result: MnistResult, key: str, *, paper: bool = False) -> str:
    """For how many digits a method is below Oza and Russell at the end: in distance, and in test error."""
    counts = []
    for errors, printed in (
        (result.approximation_error, PAPER_APPROXIMATION_ERROR),
        (result.test_error, PAPER_TEST_ERROR),
    ):
        here = int((errors[key][:, -1] < errors[OZA_RUSSELL][:, -1]).sum())
        there = sum(a < b for a, b in zip(printed[BALANCED], printed[OZA_RUSSELL], strict=True))
        counts.append((here, f" (in the paper, at order 400, {there})" if paper else ""))
    (far, far_there), (test, test_there) = counts
    return (
        f"{far} of {len(result.digits)} digits{far_there}, and has the lower test error for "
        f"{test}{test_there}."
    )


def _shows(result: MnistResult) -> str:
    end = {key: float(e[-1]) for key, e in result.combined_test_error.items()}
    order = result.settings.used_order
    named = {
        "AdaBoost": end[ADABOOST],
        f"OCB by the paper's theorem at order {order}": end[THEOREM],
        f"OCB balanced at order {order}": end[BALANCED],
        "at full order": end[FULL],
        "with a head": end[HEAD],
        "Oza and Russell": end[OZA_RUSSELL],
    }
    first = list(named)[:3]
    lower = [name for name in first if named[name] < named["Oza and Russell"]]
    others = [name for name in first if name not in lower]
    if not lower:
        claim = f"none of {_listed(others)} ends below Oza and Russell"
    else:
        claim = f"{_listed(lower)} {'ends' if len(lower) == 1 else 'end'} below Oza and Russell"
        claim += f", {_listed(others)} {'does' if len(others) == 1 else 'do'} not" if others else ""
    return f"{claim}. " + ", ".join(f"{name} {e:.2f} %" for name, e in named.items()) + "."


def _headline(result: MnistResult) -> tuple[HeadlineRow, ...]:
    rows = []
    for what, errors, paper, form in (
        ("approximation error", result.approximation_error, PAPER_APPROXIMATION_ERROR, ".4f"),
        ("test error in %", result.test_error, PAPER_TEST_ERROR, ".3f"),
    ):
        found = tuple(at_end(errors[key]) for key in ONLINE)
        rows.append(HeadlineRow(f"{result.name}, mean {what}", found, form))
        if not result.fallback:
            printed = tuple(_printed_mean(paper, key) if key in PRINTED else None for key in ONLINE)
            rows.append(HeadlineRow(_in_paper(THEOREM), printed, ".3f", quiet=True))
    last = tuple(float(result.combined_test_error[key][-1]) for key in ONLINE)
    return (*rows, HeadlineRow(f"{result.name}, combined test error in %", last, ".2f"))


def _printed_mean(paper: Mapping[str, tuple[float, ...]], key: str) -> float:
    return float(np.mean(paper[PRINTED[key]]))


def _in_paper(key: str) -> str:
    """What the paper's row is called, beneath ours: our order may be another one."""
    return f"{IN_PAPER} (order 400)" if key == THEOREM else IN_PAPER


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def draw(result: MnistResult) -> Figure:
    """The combined test error during training, and how far each digit's weights are from AdaBoost's."""
    with house_style():
        quick = "Quick run. " if result.settings.quick else ""
        other = "Not MNIST. " if result.fallback else ""
        note = (
            f"{quick}{other}{result.examples[-1]:,} training and {result.n_test:,} test images, up to "
            f"{max(result.n_found):,} balls a digit. Lower is better."
        )
        title = f"{result.name}: the online methods beside AdaBoost retrained"
        figure = headed_figure((13, 6.6), 0.055, title, note)
        left = figure.add_axes((0.055, 0.115, 0.375, 0.68))
        left.set_title("combined test error, %", loc="left", fontsize=13)
        panel(left, result)
        _digits(figure.add_axes((0.675, 0.115, 0.31, 0.68)), result)
        return figure


def panel(axes: Axes, result: MnistResult, *, compact: bool = False) -> None:
    """Draw the combined test error; `compact` is for one panel of several."""
    errors = {key: curve[np.newaxis] for key, curve in result.combined_test_error.items()}
    image_panel(axes, result.settings, result.examples, errors, LINES, compact=compact, n_ticks=5)


def _digits(axes: Axes, result: MnistResult) -> None:
    axes.set_title("approximation error of each digit at the end", loc="left", fontsize=13)
    for key, marker in MARKERS.items():
        style = {**LINES[key][1], "lw": 0.8, "ls": ":", "marker": marker, "ms": 7, "zorder": 3}
        axes.plot(result.digits, result.approximation_error[key][:, -1], clip_on=False, **style)
    axes.set_ylim(bottom=-0.03 * axes.get_ylim()[1])
    axes.set_xticks(result.digits)
    axes.set_xlabel("digit")
