"""What the face experiment has to say: figures 1c and 1d in numbers, in words, and a picture."""

from __future__ import annotations

from ocboost._report.tables import Row, Table
from ocboost.paper import faces_figure
from ocboost.paper.faces import ONE_BY_ONE, FacesResult
from ocboost.paper.online import Floats
from ocboost.paper.section import Headline, Part, Picture, in_digits

THEOREM = "ocb-order-400-theorem"
ONLINE = ("oza-russell", THEOREM, "ocb-order-400", "ocb-full", "ocb-head", "ocb-head-newest")
OCB = ONLINE[1:]
BALANCED_ONES = ONLINE[2:5]


def part(result: FacesResult) -> Part:
    """The experiment's share of the report.

    Parameters
    ----------
    result : FacesResult
        What `ocboost.paper.faces.run_faces` returned.
    """
    settings = result.settings
    times = "once" if settings.permutations == 1 else f"{settings.permutations} times"
    return Part(
        name="faces",
        title=f"{result.name}: box filters, and the training windows in many orders",
        about=(
            f"AdaBoost with resampling chooses {result.n_found:,} thresholded box filters that tell faces "
            f"from other windows. The {result.n_train:,} training windows are put in random order {times}. "
            f"AdaBoost on the first {settings.start:,} gives the online methods their start; every "
            f"{settings.every:,} windows their weights are compared with AdaBoost retrained on everything "
            f"seen so far, and all of them rank {result.n_test:,} test windows."
        ),
        source=result.source,
        words=findings(result),
        tables=tables(result),
        pictures=(
            Picture(
                stem="faces",
                alt=(
                    "Left: approximation error of each method against the number of training windows. "
                    "Right: 1 - AUC on the test windows"
                ),
                says=(
                    "OCB best approximates AdaBoost (figure 1c), and OCB and AdaBoost have almost identical "
                    "performance on the test set (figure 1d); OCB of order 400 achieves better average AUC "
                    "rates than Oza and Russell's algorithm."
                ),
                figure=faces_figure.draw(result),
                shows=_shows(result),
            ),
        ),
        chosen=result.chosen(),
        seeds=(
            f"The filters are drawn from the seed pair ({settings.seed}, 0), the order of permutation p, "
            f"counted from one, from ({settings.seed}, p)."
        ),
        seconds=result.seconds,
        notes=tuple(result.notes),
        quick=settings.quick,
        results=result.as_dict(),
        headline=_headline(result),
    )


def tables(result: FacesResult) -> tuple[Table, ...]:
    """Figures 1c and 1d in numbers: at the first checkpoint, half-way and at the end."""
    quick = "; a small set, not the paper's" if result.fallback else ""
    quick += " (quick)" if result.settings.quick else ""
    some = _some(result)
    heads = tuple(f"{result.examples[c]:,}" for c in some)
    far, areas = [], []
    for key, label in result.labels.items():
        errors, area = result.approximation_error[key], result.one_minus_auc[key]
        if len(errors) < result.settings.permutations:
            label += f" ({len(errors)} {'permutation' if len(errors) == 1 else 'permutations'})"
        at = [float(value) for value in errors.mean(axis=0)[some]]
        if key != "adaboost":
            cells = [in_digits(value) for value in at]
            oza = _end(result.approximation_error["oza-russell"][: len(errors)])  # of the same permutations
            far.append(Row((label, *cells, _spread(errors, ".4f"), _ratio(at[-1], oza))))
        at = [float(value) for value in area.mean(axis=0)[some]]
        ada = _end(result.one_minus_auc["adaboost"][: len(area)])
        cells = [f"{value:.3e}" for value in at]
        areas.append(Row((label, *cells, _spread(area, ".1e"), _ratio(at[-1], ada))))
    n = result.settings.permutations
    mean = f"Means over {n} permutations; ± is their standard deviation" if n > 1 else "One permutation"
    caption = f"{mean}{' at the end' if n > 1 else ''}. The paper draws these curves and prints no numbers."
    return (
        Table(
            f"Figure 1c: approximation error after so many windows{quick}",
            ("method", *heads, "±", "to Oza and Russell"),
            tuple(far),
            caption,
        ),
        Table(
            f"Figure 1d: 1 − AUC after so many windows{quick}",
            ("method", *heads, "±", "to AdaBoost"),
            tuple(areas),
            caption,
        ),
    )


def findings(result: FacesResult) -> tuple[str, ...]:
    """What the tables show, in plain words that follow from their numbers."""
    errors = result.approximation_error
    oza = _end(errors["oza-russell"])
    end = {key: _end(rows) for key, rows in errors.items()}
    order = _order(result)
    ratios = ", ".join(
        f"{in_digits(end[key])} {what} ({_ratio(end[key], oza)})"
        for key, what in zip(
            BALANCED_ONES, (f"at order {order}", "at full order", "with a head"), strict=True
        )
    )
    closer = sum(end[key] < oza for key in BALANCED_ONES)
    with_ours = {3: "holds", 0: "does not hold"}.get(closer, f"holds for {closer} of these three")
    by_theirs = "is reproduced" if end[THEOREM] < oza else "is not reproduced"
    words = [
        f"By the paper's own update (its theorem, the listing's sign mended) OCB of order {order} ends at an "
        f"approximation error of {end[THEOREM]:.4f}, {_ratio(end[THEOREM], oza)} times that of Oza and "
        f"Russell ({oza:.4f}): the claim of figure 1c, that OCB best approximates AdaBoost, {by_theirs} by "
        "it here.",
        f"With our balanced correction OCB ends at {ratios}; in brackets the ratio to Oza and Russell. With "
        f"it the claim {with_ours}. The head keeps the windows that weigh; one of the newest ends at "
        f"{in_digits(end['ocb-head-newest'])}.",
        *filter(None, (_early(result, key) for key in OCB)),
        _deteriorates(end["ocb-full-theorem"], end[THEOREM], order),
        "Where each sum has its own factor but the total is not kept, OCB ends at "
        f"{end['ocb-order-400-own']:.4f} at order {order} and at {end['ocb-full-own']:.4f} at full order.",
    ]
    words += [_one_by_one(result, key) for key in ONE_BY_ONE if key in errors]
    return (*words, _areas(result), _better_areas(result))


def _one_by_one(result: FacesResult, key: str) -> str:
    """How a method fares window by window, beside itself in batches."""
    alone = result.approximation_error[key]
    together, oza = (
        result.approximation_error[other][: len(alone)] for other in (ONE_BY_ONE[key], "oza-russell")
    )
    return (
        f"Window by window, as in the paper, {result.labels[ONE_BY_ONE[key]]}, ends at {_end(alone):.4f} "
        f"where batches of {result.settings.batch_size} end at {_end(together):.4f} and Oza and Russell at "
        f"{_end(oza):.4f} on the same {'permutation' if len(alone) == 1 else 'permutations'}; after "
        f"{result.examples[0]:,} windows it was at {alone[:, 0].mean():.4f} against "
        f"{together[:, 0].mean():.4f} in batches."
    )


def _deteriorates(full: float, some: float, order: int) -> str:
    shown = "The theorem's errors show it here" if full > some else "The theorem's errors do not show it here"
    return (
        'The paper remarks that "the approximation deteriorates as the order is increased too much". '
        f"{shown}: {full:.4f} at full order, {some:.4f} at order {order}."
    )


def _better_areas(result: FacesResult) -> str:
    """Whether order 400 ranks better than Oza and Russell, as the paper says."""
    oza = result.one_minus_auc["oza-russell"]
    found = []
    for key, how in ((THEOREM, "by the paper's theorem"), ("ocb-order-400", "with our balanced correction")):
        ours = result.one_minus_auc[key]
        holds = "holds" if _end(ours) < _end(oza) else "does not hold"
        times = int((ours[:, -1] < oza[:, -1]).sum())
        found.append(f"{holds} {how} ({_end(ours):.4e}, lower in {times} of {len(ours)})")
    return (
        'The paper says that OCB of order 400 "achieves better average AUC rates than Oza and Russell\'s". '
        f"At order {_order(result)} this {' and '.join(found)}: 1 − AUC at the end, mean over the "
        f"permutations, where Oza and Russell's is {_end(oza):.4e}."
    )


def _areas(result: FacesResult) -> str:
    area = {key: _end(rows) for key, rows in result.one_minus_auc.items()}
    ada = area["adaboost"]
    if ada == 0.0:
        return "AdaBoost ranks every test window right, so that 1 − AUC says little here."
    worst = max(abs(area[key] / ada - 1.0) for key in BALANCED_ONES)
    oza = area["oza-russell"] / ada - 1.0
    than = "the same as" if abs(oza) < 0.005 else ("lower than" if oza < 0.0 else "higher than")
    size = "" if than == "the same as" else f" by {abs(oza):.0%}"
    far = {key: _end(rows) for key, rows in result.approximation_error.items()}
    passed = [
        result.labels[key]
        for key in BALANCED_ONES
        if area["oza-russell"] <= area[key] and far["oza-russell"] > far[key]
    ]
    lesson = (
        f" Oza and Russell rank at least as well as {'; '.join(passed)}, though they are farther from "
        "AdaBoost: closeness to AdaBoost's weights is not the same as ranking well."
        if passed
        else ""
    )
    return (
        f"1 − AUC at the end: AdaBoost {ada:.2e}; OCB's, balanced, is within {worst:.1%} of it, by the "
        f"theorem at order {_order(result)} within {abs(area[THEOREM] / ada - 1.0):.1%}. Oza and Russell's, "
        f"{area['oza-russell']:.2e}, is {than} AdaBoost's{size}.{lesson}"
    )


def _early(result: FacesResult, key: str) -> str:
    """A sentence on where a method is farther from AdaBoost than Oza and Russell, or nothing."""
    ours = result.approximation_error[key].mean(axis=0)
    oza = result.approximation_error["oza-russell"].mean(axis=0)
    worse = [c for c in range(len(oza)) if ours[c] > oza[c]]
    if not worse:
        return ""
    at = [f"{result.examples[c]:,}" for c in worse]
    if len(worse) == len(oza):
        where = f"at all {len(oza)} checkpoints"
    elif len(worse) == 1:
        where = f"at {at[0]} windows"
    elif len(worse) <= 3:
        where = f"at {', '.join(at[:-1])} and {at[-1]} windows"
    else:
        where = f"at {len(worse)} of {len(oza)} checkpoints, the last {at[-1]} windows"
    first = worse[0]
    when = f" after {at[0]}" if len(worse) > 1 else ""
    return (
        f"{result.labels[key]}, is farther from AdaBoost than Oza and Russell {where} "
        f"({in_digits(ours[first])} against {in_digits(oza[first])}{when})."
    )


def _shows(result: FacesResult) -> str:
    ends = {key: _end(result.approximation_error[key]) for key in ONLINE}
    oza = ends["oza-russell"]
    claim = "; ".join(
        f"{how} at order {_order(result)} OCB ends {'closer to' if ends[key] < oza else 'no closer to'} "
        "AdaBoost than Oza and Russell"
        for key, how in (
            (THEOREM, "by the paper's theorem"),
            ("ocb-order-400", "with our balanced correction"),
        )
    )
    named = "; ".join(f"{result.labels[key]} {in_digits(value)}" for key, value in ends.items())
    some = ("adaboost", THEOREM, "ocb-order-400", "oza-russell")
    areas = "; ".join(f"{result.labels[key]} {_end(result.one_minus_auc[key]):.2e}" for key in some)
    return f"{claim}. Approximation error at the end: {named}. 1 − AUC at the end: {areas}."


def _headline(result: FacesResult) -> tuple[Headline, ...]:
    far = tuple(_end(result.approximation_error[key]) for key in ONLINE)
    areas = tuple(_end(result.one_minus_auc[key]) for key in ONLINE)
    ada = _end(result.one_minus_auc["adaboost"])
    return (
        Headline(f"{result.name}, approximation error at the end", far, ".4f"),
        Headline(f"{result.name}, 1 − AUC (AdaBoost {ada:.3e})", areas, ".3e"),
    )


def _order(result: FacesResult) -> int:
    return min(result.settings.order, result.settings.n_hypotheses)


def _some(result: FacesResult) -> list[int]:
    """Up to four checkpoints, the first and the last among them."""
    last = len(result.examples) - 1
    return sorted({0, last // 4, last // 2, last})


def _end(rows: Floats) -> float:
    """At the last checkpoint, mean over the permutations."""
    return float(rows[:, -1].mean())


def _spread(rows: Floats, form: str) -> str:
    return in_digits(float(rows[:, -1].std(ddof=1)), form) if len(rows) > 1 else "–"


def _ratio(value: float, yardstick: float) -> str:
    return in_digits(value / yardstick, ".2f") if yardstick > 0.0 else "–"
