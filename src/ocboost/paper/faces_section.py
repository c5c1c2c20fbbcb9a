"""How the face experiment is shown: figures 1c and 1d in numbers, in words, and drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ocboost._report.figures import GREY, PALE, RED, house_style
from ocboost._report.tables import Row, Table
from ocboost.paper.experiment import ADABOOST, BALANCED, FULL, HEAD, NEWEST, ONLINE, OZA_RUSSELL, THEOREM
from ocboost.paper.faces import ONE_BY_ONE, FacesResult
from ocboost.paper.section import (
    DASHED,
    LINES,
    CaptionedFigure,
    HeadlineRow,
    Section,
    at_end,
    headed_figure,
    image_panel,
    in_digits,
    ratio,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# For study, and not in the paper's figure.
STUDY_LINES: dict[str, tuple[str, dict[str, Any]]] = {
    "ocb-full-theorem": ("full order, theorem", {"color": RED, "lw": 1.6, "ls": DASHED}),
    "ocb-order-400-own": ("order {order}, total not kept", {"color": PALE, "lw": 1.6}),
    "ocb-full-own": ("full order, total not kept", {"color": PALE, "lw": 1.6, "ls": DASHED}),
}
# The two of order 400, and how sentences call them.
TWO_CORRECTIONS = ((THEOREM, "by the paper's theorem"), (BALANCED, "with our balanced correction"))


def section(result: FacesResult) -> Section:
    """The experiment's section of the report."""
    settings = result.settings
    times = "once" if settings.permutations == 1 else f"{settings.permutations} times"
    return Section(
        title=f"{result.name}: box filters, and the training windows in many orders",
        about=(
            f"AdaBoost with resampling chooses {result.n_found:,} thresholded box filters that tell faces "
            f"from other windows. The {result.examples[-1]:,} training windows are put in random order "
            f"{times}. AdaBoost on the first {settings.start:,} gives the online methods their start; every "
            f"{settings.every:,} windows their weights are compared with AdaBoost retrained on everything "
            f"seen so far, and all of them rank {result.n_test:,} test windows."
        ),
        findings=findings(result),
        tables=tables(result),
        figure=CaptionedFigure(
            stem="faces",
            alt=(
                "Left: approximation error of each method against the number of training windows. "
                "Right: 1 - AUC on the test windows"
            ),
            paper_says=(
                "OCB best approximates AdaBoost (figure 1c), and OCB and AdaBoost have almost identical "
                "performance on the test set (figure 1d); OCB of order 400 achieves better average AUC "
                "rates than Oza and Russell's algorithm."
            ),
            figure=draw(result),
            shows=_shows(result),
        ),
        seeds=(
            f"The filters are drawn from the seed pair ({settings.seed}, 0), the order of permutation p, "
            f"counted from one, from ({settings.seed}, p)."
        ),
        headline=_headline(result),
        results=result.as_dict(),
    )


def tables(result: FacesResult) -> tuple[Table, ...]:
    """Figures 1c and 1d in numbers: at up to four checkpoints, the first and the last among them."""
    of_what = "; a small set, not the paper's" if result.fallback else ""
    of_what += " (quick)" if result.settings.quick else ""
    n, last = result.settings.permutations, len(result.examples) - 1
    some = sorted({0, last // 4, last // 2, last})
    mean = f"Means over {n} permutations; ± is their standard deviation" if n > 1 else "One permutation"
    caption = f"{mean}{' at the end' if n > 1 else ''}. The paper draws these curves and prints no numbers."
    made = []
    for title, errors, yardstick, form, spread_form in (
        ("Figure 1c: approximation error", result.approximation_error, OZA_RUSSELL, ".4f", ".4f"),
        ("Figure 1d: 1 − AUC", result.one_minus_auc, ADABOOST, ".3e", ".1e"),
    ):
        rows = []
        for key, label in result.labels.items():
            if key == ADABOOST != yardstick:
                continue  # all zeros
            found = errors[key]
            if len(found) < n:
                label += f" ({len(found)} {'permutation' if len(found) == 1 else 'permutations'})"
            cells = [in_digits(float(value), form) for value in found.mean(axis=0)[some]]
            deviation = in_digits(float(found[:, -1].std(ddof=1)), spread_form) if len(found) > 1 else "–"
            same_rounds = errors[yardstick][: len(found)]
            rows.append(Row((label, *cells, deviation, ratio(at_end(found), at_end(same_rounds)))))
        to = f"to {'AdaBoost' if yardstick == ADABOOST else 'Oza and Russell'}"
        columns = ("method", *(f"{result.examples[c]:,}" for c in some), "±", to)
        made.append(Table(f"{title} after so many windows{of_what}", columns, tuple(rows), caption))
    return tuple(made)


def findings(result: FacesResult) -> tuple[str, ...]:
    """What the tables show, in plain words that follow from their numbers."""
    errors = result.approximation_error
    end = {key: at_end(rows) for key, rows in errors.items()}
    oza, order = end[OZA_RUSSELL], result.settings.used_order
    balanced = {BALANCED: f"at order {order}", FULL: "at full order", HEAD: "with a head"}
    ratios = ", ".join(
        f"{in_digits(end[key])} {what} ({ratio(end[key], oza)})" for key, what in balanced.items()
    )
    closer = sum(end[key] < oza for key in balanced)
    with_ours = {3: "holds", 0: "does not hold"}.get(closer, f"holds for {closer} of these three")
    by_theirs = "is reproduced" if end[THEOREM] < oza else "is not reproduced"
    full = end["ocb-full-theorem"]
    shown = "show" if full > end[THEOREM] else "do not show"
    return (
        f"By the paper's own update (its theorem, the listing's sign corrected) OCB of order {order} ends at "
        f"an approximation error of {end[THEOREM]:.4f}, {ratio(end[THEOREM], oza)} times that of Oza and "
        f"Russell ({oza:.4f}): the claim of figure 1c, that OCB best approximates AdaBoost, {by_theirs} by "
        "it here.",
        f"With our balanced correction OCB ends at {ratios}; in brackets the ratio to Oza and Russell. With "
        f"it the claim {with_ours}. The head keeps the heaviest windows; one of the newest ends at "
        f"{in_digits(end[NEWEST])}.",
        *filter(None, (_farther(result, key) for key in ONLINE[1:])),
        'The paper remarks that "the approximation deteriorates as the order is increased too much". '
        f"The theorem's errors {shown} it here: {full:.4f} at full order, {end[THEOREM]:.4f} at order "
        f"{order}.",
        "Where each sum has its own factor but the total is not kept, OCB ends at "
        f"{end['ocb-order-400-own']:.4f} at order {order} and at {end['ocb-full-own']:.4f} at full order.",
        *(_one_by_one(result, key) for key in ONE_BY_ONE if key in errors),
        _areas(result),
        _better_areas(result),
    )


def _one_by_one(result: FacesResult, key: str) -> str:
    """How a method does window by window, beside itself in batches."""
    alone = result.approximation_error[key]
    together, oza = (
        result.approximation_error[other][: len(alone)] for other in (ONE_BY_ONE[key], OZA_RUSSELL)
    )
    return (
        f"Window by window, as in the paper, {result.labels[ONE_BY_ONE[key]]}, ends at {at_end(alone):.4f} "
        f"where batches of {result.settings.batch_size} end at {at_end(together):.4f} and Oza and Russell at "
        f"{at_end(oza):.4f} on the same {'permutation' if len(alone) == 1 else 'permutations'}; after "
        f"{result.examples[0]:,} windows it was at {alone[:, 0].mean():.4f} against "
        f"{together[:, 0].mean():.4f} in batches."
    )


def _better_areas(result: FacesResult) -> str:
    """Whether order 400 ranks better than Oza and Russell, as the paper says."""
    oza = result.one_minus_auc[OZA_RUSSELL]
    found = []
    for key, how in TWO_CORRECTIONS:
        ours = result.one_minus_auc[key]
        holds = "holds" if at_end(ours) < at_end(oza) else "does not hold"
        times = int((ours[:, -1] < oza[:, -1]).sum())
        found.append(f"{holds} {how} ({at_end(ours):.4e}, lower in {times} of {len(ours)})")
    return (
        'The paper says that OCB of order 400 "achieves better average AUC rates than Oza and Russell\'s". '
        f"At order {result.settings.used_order} this {' and '.join(found)}: 1 − AUC at the end, mean over "
        f"the permutations, where Oza and Russell's is {at_end(oza):.4e}."
    )


def _areas(result: FacesResult) -> str:
    area = {key: at_end(rows) for key, rows in result.one_minus_auc.items()}
    far = {key: at_end(rows) for key, rows in result.approximation_error.items()}
    ada, oza, balanced = area[ADABOOST], area[OZA_RUSSELL], (BALANCED, FULL, HEAD)
    if ada == 0.0:
        return "AdaBoost ranks every test window right, so that 1 − AUC says little here."
    worst = max(abs(area[key] / ada - 1.0) for key in balanced)
    change = oza / ada - 1.0
    than = "the same as AdaBoost's"
    if abs(change) >= 0.005:
        than = f"{'lower' if change < 0.0 else 'higher'} than AdaBoost's by {abs(change):.0%}"
    passed = [result.labels[key] for key in balanced if oza <= area[key] and far[OZA_RUSSELL] > far[key]]
    lesson = (
        f" Oza and Russell rank at least as well as {'; '.join(passed)}, though they are farther from "
        "AdaBoost: closeness to AdaBoost's weights is not the same as ranking well."
        if passed
        else ""
    )
    return (
        f"1 − AUC at the end: AdaBoost {ada:.2e}; OCB's, balanced, is within {worst:.1%} of it, by the "
        f"theorem at order {result.settings.used_order} within {abs(area[THEOREM] / ada - 1.0):.1%}. Oza and "
        f"Russell's, {oza:.2e}, is {than}.{lesson}"
    )


def _farther(result: FacesResult, key: str) -> str:
    """A sentence on where a method is farther from AdaBoost than Oza and Russell, or nothing."""
    ours = result.approximation_error[key].mean(axis=0)
    oza = result.approximation_error[OZA_RUSSELL].mean(axis=0)
    worse = np.flatnonzero(ours > oza)
    if not worse.size:
        return ""
    first, at = worse[0], [f"{result.examples[c]:,}" for c in worse]
    if len(worse) == len(oza):
        where = f"at all {len(oza)} checkpoints"
    elif len(worse) == 1:
        where = f"at {at[0]} windows"
    elif len(worse) <= 3:
        where = f"at {', '.join(at[:-1])} and {at[-1]} windows"
    else:
        where = f"at {len(worse)} of {len(oza)} checkpoints, the last {at[-1]} windows"
    when = f" after {at[0]}" if len(worse) > 1 else ""
    return (
        f"{result.labels[key]}, is farther from AdaBoost than Oza and Russell {where} "
        f"({in_digits(ours[first])} against {in_digits(oza[first])}{when})."
    )


def _shows(result: FacesResult) -> str:
    ends = {key: at_end(result.approximation_error[key]) for key in ONLINE}
    claim = "; ".join(
        f"{how} at order {result.settings.used_order} OCB ends "
        f"{'closer' if ends[key] < ends[OZA_RUSSELL] else 'no closer'} to AdaBoost than Oza and Russell"
        for key, how in TWO_CORRECTIONS
    )
    named = "; ".join(f"{result.labels[key]} {in_digits(value)}" for key, value in ends.items())
    some = (ADABOOST, THEOREM, BALANCED, OZA_RUSSELL)
    areas = "; ".join(f"{result.labels[key]} {at_end(result.one_minus_auc[key]):.2e}" for key in some)
    return f"{claim}. Approximation error at the end: {named}. 1 − AUC at the end: {areas}."


def _headline(result: FacesResult) -> tuple[HeadlineRow, ...]:
    ada = at_end(result.one_minus_auc[ADABOOST])
    return tuple(
        HeadlineRow(f"{result.name}, {what}", tuple(at_end(errors[key]) for key in ONLINE), form)
        for what, errors, form in (
            ("approximation error at the end", result.approximation_error, ".4f"),
            (f"1 − AUC (AdaBoost {ada:.3e})", result.one_minus_auc, ".3e"),
        )
    )


def draw(result: FacesResult) -> Figure:
    """Approximation error and 1 - AUC, means over the permutations with their spread."""
    with house_style():
        n = result.settings.permutations
        shaded = f"mean of {n} permutations, shaded: ± one standard deviation" if n > 1 else "one permutation"
        note = (
            f"{'Quick run. ' if result.settings.quick else ''}{result.examples[-1]:,} training and "
            f"{result.n_test:,} test windows, {result.n_found:,} box filters; {shaded}. Lower is better."
        )
        title = f"{result.name}: the online methods beside AdaBoost retrained"
        figure = headed_figure((14, 6.6), 0.05, title, note)
        left = figure.add_axes((0.05, 0.115, 0.285, 0.68))
        left.set_title("approximation error", loc="left", fontsize=13)
        approximation_panel(left, result)
        right = figure.add_axes((0.595, 0.115, 0.215, 0.68))
        unit_name = _unit(result)[1]
        suffix = f", {unit_name}" if unit_name else ""
        right.set_title(f"1 − AUC on the test windows{suffix}", loc="left", fontsize=13)
        auc_panel(right, result)
        return figure


def approximation_panel(axes: Axes, result: FacesResult, *, compact: bool = False) -> None:
    """Draw the approximation error; `compact` is for one panel of several, without the lines for study."""
    errors = {key: e for key, e in result.approximation_error.items() if key != ADABOOST}  # all zeros
    lines = LINES if compact else {**LINES, **STUDY_LINES}
    image_panel(
        axes, result.settings, result.examples, errors, lines, compact=compact, places=3, from_zero=True
    )


def auc_panel(axes: Axes, result: FacesResult, *, compact: bool = False) -> None:
    """Draw 1 - AUC; `compact` is for one panel of several."""
    unit, name = _unit(result)
    image_panel(
        axes, result.settings, result.examples, result.one_minus_auc, LINES, compact=compact, unit=unit
    )
    if compact and name:
        axes.text(1.0, 1.02, name, transform=axes.transAxes, fontsize=9.5, color=GREY, ha="right")


def _unit(result: FacesResult) -> tuple[float, str]:
    """The power of ten that the areas are drawn in, and what it is called; none has no name."""
    end = at_end(result.one_minus_auc[ADABOOST])
    if end <= 0.0 or end >= 0.1:
        return 1.0, ""
    power = int(np.floor(np.log10(end)))
    return 10.0**power, f"in 10{str(power).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
