"""What the face experiment has to say: figures 1c and 1d in numbers, in words, and a picture."""

from __future__ import annotations

from ocboost.reporting.tables import Row, Table
from ocboost.reproduce import faces_figure
from ocboost.reproduce.faces import FacesResult
from ocboost.reproduce.online import Floats
from ocboost.reproduce.part import Part, Picture

ONLINE = ("oza-russell", "ocb-order-400", "ocb-full", "ocb-head")
OCB = ONLINE[1:]
PAIRS = {"ocb-order-400": "ocb-order-400-own", "ocb-full": "ocb-full-own"}


def part(result: FacesResult) -> Part:
    """The experiment's share of the report.

    Parameters
    ----------
    result : FacesResult
        What `ocboost.reproduce.faces.run_faces` returned.
    """
    settings = result.settings
    times = "once" if settings.permutations == 1 else f"{settings.permutations} times"
    return Part(
        name="faces",
        title="Faces: box filters, and the training windows in many orders",
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
                    "performance on the test set (figure 1d)."
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
    quick = " (quick)" if result.settings.quick else ""
    some = _some(result)
    heads = tuple(f"{result.examples[c]:,}" for c in some)
    oza = _end(result.approximation_error["oza-russell"])
    ada = _end(result.one_minus_auc["adaboost"])
    far, areas = [], []
    for key, label in result.labels.items():
        errors, area = result.approximation_error[key], result.one_minus_auc[key]
        at = [float(value) for value in errors.mean(axis=0)[some]]
        if key != "adaboost":
            cells = [f"{value:.4f}" for value in at]
            far.append(Row((label, *cells, _spread(errors, ".4f"), _ratio(at[-1], oza), str(len(errors)))))
        at = [float(value) for value in area.mean(axis=0)[some]]
        cells = [f"{value:.3e}" for value in at]
        areas.append(Row((label, *cells, _spread(area, ".1e"), _ratio(at[-1], ada), str(len(area)))))
    caption = "Means over the permutations; ± is their standard deviation at the end. The paper draws these "
    caption += "curves and prints no numbers."
    return (
        Table(
            f"Figure 1c: approximation error after so many windows{quick}",
            ("method", *heads, "±", "to Oza and Russell", "permutations"),
            tuple(far),
            caption,
        ),
        Table(
            f"Figure 1d: 1 − AUC after so many windows{quick}",
            ("method", *heads, "±", "to AdaBoost", "permutations"),
            tuple(areas),
            caption,
        ),
    )


def findings(result: FacesResult) -> tuple[str, ...]:
    """What the tables show, in plain words that follow from their numbers."""
    labels, errors = result.labels, result.approximation_error
    oza = _end(errors["oza-russell"])
    ratios = ", ".join(
        f"{labels[key]} {_end(errors[key]):.4f} ({_ratio(_end(errors[key]), oza)})" for key in OCB
    )
    words = [
        f"Approximation error at the end, and its ratio to that of Oza and Russell ({oza:.4f}): {ratios}.",
        *filter(None, (_early(result, key) for key in OCB)),
        "Without keeping the total weight, "
        + "; ".join(
            f"{labels[kept]} becomes {_end(errors[dropped]):.4f}, as the paper's theorem stands "
            f"{_end(errors[dropped.replace('own', 'theorem')]):.4f}"
            for kept, dropped in PAIRS.items()
        )
        + ".",
    ]
    if "ocb-order-400-one-by-one" in errors:
        first = errors["ocb-order-400-one-by-one"]
        together = errors["ocb-order-400"][: len(first)]
        words.append(
            f"Window by window, as in the paper, {labels['ocb-order-400']} ends at {_end(first):.4f} where "
            f"batches of {result.settings.batch_size} end at {_end(together):.4f} on the same "
            f"{'permutation' if len(first) == 1 else 'permutations'}; after {result.examples[0]:,} windows "
            f"it was at {first[:, 0].mean():.4f} against {together[:, 0].mean():.4f}."
        )
    return (*words, _areas(result))


def _areas(result: FacesResult) -> str:
    area = {key: _end(rows) for key, rows in result.one_minus_auc.items()}
    ada = area["adaboost"]
    if ada == 0.0:
        return "AdaBoost ranks every test window right, so that 1 − AUC says little here."
    worst = max(abs(area[key] / ada - 1.0) for key in OCB)
    oza = area["oza-russell"] / ada - 1.0
    than = "the same as" if abs(oza) < 0.005 else ("lower than" if oza < 0.0 else "higher than")
    size = "" if than == "the same as" else f" by {abs(oza):.0%}"
    return (
        f"1 − AUC at the end: AdaBoost {ada:.2e}; OCB's is within {worst:.1%} of it. Oza and Russell's, "
        f"{area['oza-russell']:.2e}, is {than} AdaBoost's{size}: closeness to AdaBoost's weights is not the "
        "same as ranking well."
    )


def _early(result: FacesResult, key: str) -> str:
    """A sentence for as long as a method is farther from AdaBoost than Oza and Russell, or nothing."""
    ours = result.approximation_error[key].mean(axis=0)
    oza = result.approximation_error["oza-russell"].mean(axis=0)
    worse = [c for c in range(len(oza)) if ours[c] > oza[c]]
    if not worse:
        return ""
    last = worse[-1]
    until = f"up to {result.examples[last]:,} windows" if last > 0 else f"at {result.examples[0]:,} windows"
    return (
        f"{result.labels[key]} is farther from AdaBoost than Oza and Russell {until} "
        f"({ours[worse[0]]:.3f} against {oza[worse[0]]:.3f} after {result.examples[worse[0]]:,})."
    )


def _shows(result: FacesResult) -> str:
    ends = {key: _end(result.approximation_error[key]) for key in ONLINE}
    best = min(ends, key=lambda key: ends[key])
    claim = (
        "OCB ends closest to AdaBoost" if best != "oza-russell" else "Oza and Russell end closest to AdaBoost"
    )
    named = ", ".join(f"{result.labels[key]} {value:.3f}" for key, value in ends.items())
    area = {key: _end(result.one_minus_auc[key]) for key in ("adaboost", "ocb-order-400", "oza-russell")}
    return (
        f"{claim}: {named}. 1 − AUC ends at {area['adaboost']:.2e} for AdaBoost, {area['ocb-order-400']:.2e} "
        f"for {result.labels['ocb-order-400']} and {area['oza-russell']:.2e} for Oza and Russell."
    )


def _headline(result: FacesResult) -> tuple[Row, ...]:
    far = (f"{_end(result.approximation_error[key]):.4f}" for key in ONLINE)
    areas = (f"{_end(result.one_minus_auc[key]):.2e}" for key in ONLINE)
    ada = _end(result.one_minus_auc["adaboost"])
    return (
        Row(("Faces, approximation error at the end", *far)),
        Row((f"Faces, 1 − AUC (AdaBoost {ada:.2e})", *areas)),
    )


def _some(result: FacesResult) -> list[int]:
    """Up to four checkpoints, the first and the last among them."""
    last = len(result.examples) - 1
    return sorted({0, last // 4, last // 2, last})


def _end(rows: Floats) -> float:
    """At the last checkpoint, mean over the permutations."""
    return float(rows[:, -1].mean())


def _spread(rows: Floats, form: str) -> str:
    return format(float(rows[:, -1].std(ddof=1)), form) if len(rows) > 1 else "–"


def _ratio(value: float, yardstick: float) -> str:
    return f"{value / yardstick:.2f}" if yardstick > 0.0 else "–"
