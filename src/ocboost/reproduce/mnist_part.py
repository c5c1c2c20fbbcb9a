"""What the MNIST experiment has to say: tables 1 and 2 beside the paper's, in words, and a picture."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ocboost.reporting.tables import Row, Table
from ocboost.reproduce import mnist_figure
from ocboost.reproduce.mnist import (
    PAPER_APPROXIMATION_ERROR,
    PAPER_TEST_ERROR,
    MnistResult,
)
from ocboost.reproduce.online import Floats
from ocboost.reproduce.part import Part, Picture

ONLINE = ("oza-russell", "ocb-order-400", "ocb-full", "ocb-head")
IN_PAPER = "  in the paper"


def part(result: MnistResult) -> Part:
    """The experiment's share of the report.

    Parameters
    ----------
    result : MnistResult
        What `ocboost.reproduce.mnist.run_mnist` returned.
    """
    settings, record = result.settings, result.as_dict()
    return Part(
        name="mnist",
        title="MNIST: ten digits, each against the rest",
        about=(
            "For each digit AdaBoost with sampling finds balls around training images that tell it from the "
            f"others. AdaBoost on the first {settings.start:,} images gives the online methods their start; "
            f"they see the others, {result.examples[-1]:,} in all, in the order of the file. At checkpoints "
            "their weights are compared with AdaBoost retrained on everything seen so far, and all of them "
            f"classify {result.n_test:,} test images. The combined answer is the digit with the highest vote."
        ),
        source=result.source,
        words=findings(result),
        tables=tables(result),
        pictures=(
            Picture(
                stem="mnist",
                alt=(
                    "Left: combined test error of each method against the number of training images. "
                    "Right: approximation error of each digit at the end"
                ),
                says=(
                    "OCB and AdaBoost achieve lower combined test error rates than Oza and Russell's "
                    "algorithm (figure 1b)."
                ),
                figure=mnist_figure.draw(result),
                shows=_shows(result),
            ),
        ),
        chosen=record["chosen_here"],
        seeds=f"Digit d draws its samples from the seed pair ({settings.seed}, d).",
        seconds=result.seconds,
        notes=tuple(result.notes),
        quick=settings.quick,
        results=record,
        headline=_headline(result),
    )


def tables(result: MnistResult) -> tuple[Table, ...]:
    """Table 1, the test errors; table 2, the approximation errors; and the means of both."""
    quick = " (quick)" if result.settings.quick else ""
    combined = {key: float(e[-1]) for key, e in result.combined_test_error.items()}
    return (
        _of_digits(f"Table 1: test error in %{quick}", result, result.test_error, PAPER_TEST_ERROR, combined),
        _of_digits(
            f"Table 2: approximation error{quick}",
            result,
            result.approximation_error,
            PAPER_APPROXIMATION_ERROR,
        ),
        _of_means(f"Means over the digits{quick}", result),
    )


def _of_digits(
    title: str,
    result: MnistResult,
    errors: Mapping[str, Floats],
    paper: Mapping[str, tuple[float, ...]],
    combined: Mapping[str, float] | None = None,
) -> Table:
    rows = []
    for key, found in errors.items():
        cells = [f"{e:.2f}" if combined else f"{e:.4f}" for e in found[:, -1]]
        rows.append(Row((result.labels[key], *cells, *([f"{combined[key]:.2f}"] if combined else []))))
        if key in paper and len(result.digits) == len(paper[key]):
            printed = [f"{e:.2f}" for e in paper[key]]
            rows.append(Row((IN_PAPER, *printed, *(["–"] if combined else [])), quiet=True))
    heads = ("method", *map(str, result.digits), *(["all ten"] if combined else []))
    caption = "All ten: by the highest vote; the paper draws it and prints no numbers." if combined else ""
    return Table(title, heads, tuple(rows), caption)


def _of_means(title: str, result: MnistResult) -> Table:
    yardstick = _mean(result.approximation_error["oza-russell"])
    printed = float(np.mean(PAPER_APPROXIMATION_ERROR["oza-russell"]))
    rows = []
    for key in ONLINE:
        far, test = _mean(result.approximation_error[key]), _mean(result.test_error[key])
        rows.append(Row((result.labels[key], f"{far:.4f}", _ratio(far, yardstick), f"{test:.3f}")))
        if key in PAPER_APPROXIMATION_ERROR:
            far = float(np.mean(PAPER_APPROXIMATION_ERROR[key]))
            test = float(np.mean(PAPER_TEST_ERROR[key]))
            rows.append(Row((IN_PAPER, f"{far:.3f}", _ratio(far, printed), f"{test:.3f}"), quiet=True))
    return Table(title, ("method", "approximation error", "to Oza and Russell", "test error, %"), tuple(rows))


def findings(result: MnistResult) -> tuple[str, ...]:
    """What the tables show, in plain words that follow from their numbers."""
    mean = {key: _mean(result.approximation_error[key]) for key in ONLINE}
    apart = {
        key: float(np.abs(result.test_error[key] - result.test_error["adaboost"])[:, -1].max())
        for key in ONLINE
    }
    fits = ", which held every image" if mean["ocb-head"] < 1e-9 else ""
    closer = [key for key in ONLINE[1:] if mean[key] < mean["oza-russell"]]
    who = "All three" if len(closer) == 3 else f"{len(closer)} of these three"
    nearest = min(ONLINE, key=lambda key: apart[key])
    return (
        f"Mean approximation error: Oza and Russell {mean['oza-russell']:.3f}; OCB "
        f"{mean['ocb-order-400']:.3f} at order {result.settings.order}, {mean['ocb-full']:.3f} at full "
        f"order, {mean['ocb-head']:.4f} with a head{fits}. {who} are closer to AdaBoost than Oza and Russell."
        "",
        f"{result.labels['ocb-order-400']}, is closer to AdaBoost than Oza and Russell for "
        f"{_count(result.approximation_error)} of {len(result.digits)} digits (in the paper "
        f"{_printed(PAPER_APPROXIMATION_ERROR)} of 10), and has the lower test error for "
        f"{_count(result.test_error)} (in the paper {_printed(PAPER_TEST_ERROR)}).",
        f"At full order OCB's test error is within {apart['ocb-full']:.2f} points of AdaBoost's for every "
        f"digit, Oza and Russell's within {apart['oza-russell']:.2f}; the nearest is "
        f"{result.labels[nearest]}.",
    )


def _shows(result: MnistResult) -> str:
    end = {key: float(e[-1]) for key, e in result.combined_test_error.items()}
    ocb, oza, ada = end["ocb-order-400"], end["oza-russell"], end["adaboost"]
    lower = [name for name, error in (("OCB", ocb), ("AdaBoost", ada)) if error < oza]
    claim = (
        f"{' and '.join(lower)} {'end' if len(lower) == 2 else 'ends'} below Oza and Russell"
        if lower
        else "neither OCB nor AdaBoost ends below Oza and Russell"
    )
    return (
        f"{claim}: AdaBoost {ada:.2f} %, OCB {ocb:.2f} % at order {result.settings.order}, "
        f"{end['ocb-full']:.2f} % at full order, {end['ocb-head']:.2f} % with a head, Oza and Russell "
        f"{oza:.2f} %."
    )


def _headline(result: MnistResult) -> tuple[Row, ...]:
    rows = []
    for what, errors, paper, places in (
        ("approximation error", result.approximation_error, PAPER_APPROXIMATION_ERROR, 4),
        ("test error in %", result.test_error, PAPER_TEST_ERROR, 3),
    ):
        cells = (f"{_mean(errors[key]):.{places}f}" for key in ONLINE)
        rows.append(Row((f"MNIST, mean {what}", *cells)))
        printed = (f"{np.mean(paper[key]):.3f}" if key in paper else "–" for key in ONLINE)
        rows.append(Row((IN_PAPER, *printed), quiet=True))
    last = (f"{result.combined_test_error[key][-1]:.2f}" for key in ONLINE)
    return (*rows, Row(("MNIST, combined test error in %", *last)))


def _mean(errors: Floats) -> float:
    """Over the digits, at the end."""
    return float(errors[:, -1].mean())


def _ratio(value: float, yardstick: float) -> str:
    return f"{value / yardstick:.3f}" if yardstick > 0.0 else "–"


def _count(errors: Mapping[str, Floats]) -> int:
    """Digits for which order 400 is below Oza and Russell at the end."""
    return int((errors["ocb-order-400"][:, -1] < errors["oza-russell"][:, -1]).sum())


def _printed(errors: Mapping[str, tuple[float, ...]]) -> int:
    return sum(a < b for a, b in zip(errors["ocb-order-400"], errors["oza-russell"], strict=True))
