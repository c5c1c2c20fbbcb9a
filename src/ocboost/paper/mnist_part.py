"""What the MNIST experiment has to say: tables 1 and 2 beside the paper's, in words, and a picture."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ocboost._report.tables import Row, Table
from ocboost.paper import mnist_figure
from ocboost.paper.mnist import PAPER_APPROXIMATION_ERROR, PAPER_TEST_ERROR, MnistResult
from ocboost.paper.online import Floats
from ocboost.paper.section import IN_PAPER, Headline, Part, Picture

THEOREM = "ocb-order-400-theorem"
ONLINE = ("oza-russell", THEOREM, "ocb-order-400", "ocb-full", "ocb-head", "ocb-head-newest")
BALANCED_ONES = ONLINE[2:5]
# The paper's OCB is its own update, so that its numbers stand beneath the theorem's.
PRINTED = {"adaboost": "adaboost", "oza-russell": "oza-russell", THEOREM: "ocb-order-400"}


def part(result: MnistResult) -> Part:
    """The experiment's share of the report.

    Parameters
    ----------
    result : MnistResult
        What `ocboost.paper.mnist.run_mnist` returned.
    """
    settings, record = result.settings, result.as_dict()
    return Part(
        name="mnist",
        title=f"{result.name}: ten digits, each against the rest",
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
    quick = "; digits of scikit-learn, not MNIST" if result.fallback else ""
    quick += " (quick)" if result.settings.quick else ""
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
        cells = [f"{e:.2f}" if combined else f"{e:.3f}" for e in found[:, -1]]
        rows.append(Row((result.labels[key], *cells, *([f"{combined[key]:.2f}"] if combined else []))))
        theirs = paper.get(PRINTED.get(key, ""))
        if theirs is not None and not result.fallback and len(result.digits) == len(theirs):
            printed = [f"{e:.2f}" for e in theirs]
            rows.append(Row((_in_paper(key), *printed, *(["–"] if combined else [])), quiet=True))
    heads = ("method", *map(str, result.digits), *(["all"] if combined else []))
    caption = "All: by the highest of the votes" if combined else ""
    if combined:
        caption += "." if result.fallback else "; the paper draws it and prints no numbers."
    return Table(title, heads, tuple(rows), caption)


def _of_means(title: str, result: MnistResult) -> Table:
    yardstick = _mean(result.approximation_error["oza-russell"])
    printed = float(np.mean(PAPER_APPROXIMATION_ERROR["oza-russell"]))
    rows = []
    for key in ONLINE:
        far, test = _mean(result.approximation_error[key]), _mean(result.test_error[key])
        rows.append(Row((result.labels[key], f"{far:.4f}", _ratio(far, yardstick), f"{test:.3f}")))
        if key in PRINTED and not result.fallback:
            far = float(np.mean(PAPER_APPROXIMATION_ERROR[PRINTED[key]]))
            test = float(np.mean(PAPER_TEST_ERROR[PRINTED[key]]))
            rows.append(Row((_in_paper(key), f"{far:.3f}", _ratio(far, printed), f"{test:.3f}"), quiet=True))
    return Table(title, ("method", "approximation error", "to Oza and Russell", "test error, %"), tuple(rows))


def findings(result: MnistResult) -> tuple[str, ...]:
    """What the tables show, in plain words that follow from their numbers."""
    mean = {key: _mean(result.approximation_error[key]) for key in ONLINE}
    apart = {
        key: float(np.abs(result.test_error[key] - result.test_error["adaboost"])[:, -1].max())
        for key in ONLINE
    }
    oza, order = mean["oza-russell"], _order(result)
    fits = ", which held every image" if mean["ocb-head"] < 1e-9 else ""
    closer = sum(mean[key] < oza for key in BALANCED_ONES)
    who = {3: "All three are", 1: "One of these three is", 0: "None of these three is"}.get(
        closer, f"{closer} of these three are"
    )
    nearest = min(ONLINE, key=lambda key: apart[key])
    theorem = "below" if mean[THEOREM] < oza else "not below"
    return (
        f"By the paper's own update (its theorem, at order {order}) the mean approximation error is "
        f"{mean[THEOREM]:.4f}, {theorem} Oza and Russell's {oza:.4f}; it is closer to AdaBoost for "
        + _counts(result, THEOREM, paper=not result.fallback),
        f"With our balanced correction the mean approximation error is {mean['ocb-order-400']:.4f} at order "
        f"{order}, {mean['ocb-full']:.4f} at full order, {mean['ocb-head']:.4f} with a head{fits}. {who} "
        f"closer to AdaBoost than Oza and Russell. At order {order} it is closer for "
        + _counts(result, "ocb-order-400"),
        f"Balanced at full order OCB's test error is within {apart['ocb-full']:.2f} points of AdaBoost's for "
        f"every digit, the theorem's at order {order} within {apart[THEOREM]:.2f}, Oza and Russell's within "
        f"{apart['oza-russell']:.2f}; the nearest is {result.labels[nearest]}.",
    )


def _shows(result: MnistResult) -> str:
    end = {key: float(e[-1]) for key, e in result.combined_test_error.items()}
    named = {
        "AdaBoost": end["adaboost"],
        f"OCB by the paper's theorem at order {_order(result)}": end[THEOREM],
        f"OCB balanced at order {_order(result)}": end["ocb-order-400"],
        "at full order": end["ocb-full"],
        "with a head": end["ocb-head"],
        "Oza and Russell": end["oza-russell"],
    }
    below = {name: named[name] < named["Oza and Russell"] for name in list(named)[:3]}
    lower, others = ([name for name in below if below[name] == yes] for yes in (True, False))
    claims = [f"{_both(lower)} {'ends' if len(lower) == 1 else 'end'} below Oza and Russell"] if lower else []
    claims += [f"{_both(others)} {'does' if len(others) == 1 else 'do'} not"] if lower and others else []
    claims = claims or [f"none of {_both(others)} ends below Oza and Russell"]
    return f"{', '.join(claims)}. " + ", ".join(f"{name} {e:.2f} %" for name, e in named.items()) + "."


def _headline(result: MnistResult) -> tuple[Headline, ...]:
    rows = []
    for what, errors, paper, places in (
        ("approximation error", result.approximation_error, PAPER_APPROXIMATION_ERROR, 4),
        ("test error in %", result.test_error, PAPER_TEST_ERROR, 3),
    ):
        found = tuple(_mean(errors[key]) for key in ONLINE)
        rows.append(Headline(f"{result.name}, mean {what}", found, f".{places}f"))
        if not result.fallback:
            printed = tuple(float(np.mean(paper[PRINTED[key]])) if key in PRINTED else None for key in ONLINE)
            rows.append(Headline(_in_paper(THEOREM), printed, ".3f", quiet=True))
    last = tuple(float(result.combined_test_error[key][-1]) for key in ONLINE)
    return (*rows, Headline(f"{result.name}, combined test error in %", last, ".2f"))


def _in_paper(key: str) -> str:
    """What the paper's row is called, beneath ours: our order may be another one."""
    return f"{IN_PAPER} (order 400)" if key == THEOREM else IN_PAPER


def _order(result: MnistResult) -> int:
    return min(result.settings.order, result.settings.n_hypotheses)


def _both(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _mean(errors: Floats) -> float:
    """Over the digits, at the end."""
    return float(errors[:, -1].mean())


def _ratio(value: float, yardstick: float) -> str:
    return f"{value / yardstick:.3f}" if yardstick > 0.0 else "–"


def _counts(result: MnistResult, key: str, *, paper: bool = False) -> str:
    """For how many digits a method is below Oza and Russell at the end: in distance, and in test error."""
    far, test = (
        int((errors[key][:, -1] < errors["oza-russell"][:, -1]).sum())
        for errors in (result.approximation_error, result.test_error)
    )
    theirs = [
        f" (in the paper, at order 400, {_printed(errors)})" if paper else ""
        for errors in (PAPER_APPROXIMATION_ERROR, PAPER_TEST_ERROR)
    ]
    return (
        f"{far} of {len(result.digits)} digits{theirs[0]}, and has the lower test error for "
        f"{test}{theirs[1]}."
    )


def _printed(errors: Mapping[str, tuple[float, ...]]) -> int:
    return sum(a < b for a, b in zip(errors["ocb-order-400"], errors["oza-russell"], strict=True))
