"""The page about stationary data: what is noise, the tables, and what they say."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ocboost._report.document import Code, Heading, Items, Paragraph, as_markdown
from ocboost._report.tables import Row, Table
from ocboost._report.tables import as_markdown as table_in_markdown
from parts.stationary_data import LONGER, SOURCES

MARKS = {"within": "", "worse": " ✗", "better": " ▾"}


@dataclass(frozen=True)
class Method:
    """A method's counterpart, and what keeps it from there where it is worse."""

    counterpart: str
    reason: str = ""


SHORT = (
    "Such short steps have not reached its weights, which are large where the classes are nearly separable, "
    "or where rows are few."
)
METHODS = {
    "OCB, head 1": Method("AdaBoost"),
    "OCB, head auto": Method("AdaBoost"),
    "OCB, head 1, order 10": Method(
        "AdaBoost",
        "Each stump's sums are corrected for the ten before it only, and these stumps are similar.",
    ),
    "OCB, window 2,000": Method("AdaBoost on the last 2,000"),
    "Oza and Russell, weights alone": Method(
        "AdaBoost",
        "Its sums are never corrected: what a stump was credited with while the ones before it had other "
        "weights stays. With similar stumps that fades slowly.",
    ),
    "Huang": Method(
        "least exponential loss",
        "Four fifths of its loss are those of the last 500 rows, which 100 weights fit too well; the rest "
        "assumes that the stumps are independent.",
    ),
    "Huang, window 2,000 alone": Method("least exponential loss on the last 2,000"),
    "EG±": Method(
        "logistic regression",
        "Its steps do not get shorter, so that it can follow a stream that changes, and the last rows count "
        "too much. See the next lines.",
    ),
    "EG±, a tenth of the rate": Method(
        "logistic regression", "Now the steps are too short on some, and still too long on others."
    ),
    "EG±, a hundredth, ten passes": Method(
        "logistic regression", f"{SHORT} On Agrawal they sum to 30, and U = 10 does not allow that."
    ),
    "online logistic": Method(
        "logistic regression", "Steps of constant length, as for EG±. See the next lines."
    ),
    "online logistic, a tenth of the rate": Method(
        "logistic regression", "Now the steps are too short on some, and still too long on others."
    ),
    "online logistic, a hundredth, ten passes": Method("logistic regression", SHORT),
    "passive-aggressive": Method(
        "linear SVM",
        "Every row with a margin below 1 moves the weights as far as needed, wrong labels too.",
    ),
    "passive-aggressive, C = 0.001": Method(
        "linear SVM", "Steps of at most a tenth of what one row may need: too short for so few rows."
    ),
    "passive-aggressive, C = 0.0001, ten passes": Method("linear SVM", SHORT),
    "perceptron": Method(
        "linear SVM",
        "Where no weights are right on every row it never converges, and depends on the last mistake. The "
        "SVM is the nearest batch method, not its limit.",
    ),
    "Winnow": Method(""),
    "Oza and Russell, naive Bayes": Method(
        "AdaBoost over GaussianNB",
        "The later members have learnt much from early mistakes of the first ones.",
    ),
    "Oza and Russell, Hoeffding trees": Method(
        "AdaBoost over the same trees", "A tree that splits while its rows' weights change keeps the split."
    ),
    "the same beside CART": Method(
        "AdaBoost over CART of as many leaves",
        "Hoeffding trees split once they are sure enough; CART looks at all rows at once.",
    ),
    "FilterBoost, the stream once": Method("AdaBoost of as many stumps"),
    "FilterBoost, a longer stream once": Method(
        "AdaBoost of as many stumps",
        "Each stump is found on 500 rows, and its edge is estimated from below.",
    ),
    "FilterBoost, drawing from the rows": Method(
        "AdaBoost of 20 stumps",
        "Each stump is found on 500 drawn rows instead of all, and its edge is estimated from below, by a "
        "third, so that the early stumps' mistakes are corrected more slowly.",
    ),
    "FilterBoost, drawing ten times as much": Method(
        "AdaBoost of 20 stumps",
        "It still draws, and weights rows by the logistic loss, not the exponential one.",
    ),
    "growing OCB": Method(
        "fitted on all rows, as many stumps",
        "Most of its stumps were found on the rows before the stream, a sixth of those that the counterpart "
        "uses.",
    ),
    "growing OCB, weights alone": Method("AdaBoost over the stumps it ended with"),
    "OCB that does not grow": Method(
        "fitted on all rows, as many stumps", "All of its stumps were found on a sixth of the rows."
    ),
}


@dataclass(frozen=True)
class Judged:
    """A method's difference to its counterpart on one data set, in points of test error."""

    difference: float
    error: float  # standard error of the difference
    spread: float  # of the counterpart between two samples
    own: float  # test error, %
    batch: float  # test error of the counterpart, %

    @property
    def verdict(self) -> str:
        """Whether the difference is noise, and if not, whose favour it is in."""
        if abs(self.difference) <= max(2.0 * self.error, self.spread):
            return "within"
        return "worse" if self.difference > 0.0 else "better"


def judged(runs: dict[str, list[Any]] | None) -> Judged | None:
    """Compare a method with its counterpart over the seeds; None where some seed has no counterpart."""
    if runs is None or any(value is None for value in (*runs["batch"], *runs["other"])):
        return None
    own, batch, other = (100.0 * np.array(runs[key]) for key in ("error", "batch", "other"))
    difference = own - batch
    return Judged(
        float(difference.mean()),
        float(difference.std(ddof=1) / math.sqrt(len(difference))),
        float(np.sqrt(np.mean((other - batch) ** 2))),
        float(own.mean()),
        float(batch.mean()),
    )


def all_judged(record: dict[str, Any]) -> dict[str, dict[str, Judged | None]]:
    """For each method, and each data set."""
    data = record["data"]
    return {method: {name: judged(data[name].get(method)) for name in data} for method in METHODS}


def _blocks(record: dict[str, Any]) -> list[Table]:
    found, data = all_judged(record), record["data"]
    titles = tuple(SOURCES[name].title for name in data)

    def difference(method: str, name: str) -> str:
        one = found[method][name]
        if one is not None:
            return f"{one.difference:+.2f} ± {one.error:.2f}{MARKS[one.verdict]}"
        return "none found" if method.startswith("FilterBoost") and method in data[name] else ""

    def own(method: str, name: str) -> str:
        runs = data[name].get(method)
        return "" if runs is None else f"{100 * np.mean(runs['error']):.2f}"

    def batch(method: str, name: str) -> str:
        one = found[method][name]
        return "" if one is None else f"{one.batch:.2f} ({one.spread:.2f})"

    with_one = [method for method in METHODS if METHODS[method].counterpart]
    first: dict[str, str] = {}  # counterparts that several share stand once
    for method in with_one:
        shared = METHODS[method].counterpart
        first.setdefault(shared if "as many" not in shared else f"{shared}: {method}", method)
    return [
        Table(
            "Points of test error more than the batch counterpart, ± standard error",
            ("method", "counterpart", *titles),
            tuple(
                Row((method, METHODS[method].counterpart, *(difference(method, name) for name in data)))
                for method in with_one
            ),
            "✗ worse by more than noise, ▾ better by more than noise. None found: no stump, with some seed.",
        ),
        Table(
            "Test error in % of the counterparts, in brackets their spread between two samples",
            ("counterpart", *titles),
            tuple(Row((label, *(batch(method, name) for name in data))) for label, method in first.items()),
        ),
        Table(
            "Test error in % of the methods",
            ("method", *titles),
            tuple(Row((method, *(own(method, name) for name in data))) for method in METHODS),
        ),
    ]


def tables(record: dict[str, Any]) -> list[str]:
    """The tables, in Markdown."""
    return [table_in_markdown(table) for table in _blocks(record)]


def _said(method: str, of: dict[str, Judged | None]) -> str:
    """One sentence or two about a method."""
    known = {name: one for name, one in of.items() if one is not None}
    out = {name: one for name, one in known.items() if one.verdict != "within"}
    if not out:
        return f"{method}: within noise on all {len(known)}."
    parts = []
    for verdict in ("worse", "better"):
        cells = [
            f"{SOURCES[name].title} ({one.difference:+.2f}, spread {one.spread:.2f})"
            for name, one in out.items()
            if one.verdict == verdict
        ]
        if cells:
            parts.append(f"{verdict} on {', '.join(cells)}")
    reason = METHODS[method].reason if any(one.verdict == "worse" for one in out.values()) else ""
    inside = f"within noise on {len(known) - len(out)} of {len(known)}"
    return f"{method}: {inside}; {'; '.join(parts)}. {reason}".strip()


def _setting(record: dict[str, Any]) -> str:
    """What was done."""
    sizes = {SOURCES[name].title: SOURCES[name].sizes.stream for name in record["data"]}
    long, seeds = max(sizes.values()), record["seeds"]
    small = [f"{title} ({n} rows)" for title, n in sizes.items() if n < long]
    return " ".join(
        [
            f"Every method sees a stream of {long:,} rows once, in order, and is tested on as many others.",
            *([f"Smaller: {', '.join(small)}."] if small else []),
            "SEA, Agrawal, RandomRBF and Hyperplane are river's, without drift; the others are shuffled, one "
            "class against the rest. Methods that weight fixed hypotheses share 100 stumps, found on rows "
            "before the stream (2,000; fewer where rows are few), and start with no examples. Growing OCB is "
            "fitted on those rows, then follows the stream. Counterparts learn in batch from the same rows.",
            f"Seeds 0 to {seeds - 1}, none omitted.",
            *([f"Only a share of {record['share']:g} of the rows."] if record["share"] != 1.0 else []),
        ]
    )


NOISE = (
    "Noise: the counterpart is trained once more, on another sample of the same size, and tested on the same "
    "rows. The root of the mean square of that change over the seeds is its spread. A method is within noise "
    "if its mean difference to the counterpart is no more than this spread, or no more than two standard "
    "errors of that mean."
)
LIMITS = (
    "With five seeds two standard errors are no 95 % interval, and of so many comparisons some fall outside "
    "by chance. On the small data sets noise is a point or more: they show little.",
    "FilterBoost finds about two stumps in 10,000 rows that it sees once, and none in a few hundred. The "
    f"longer stream has {LONGER:,} rows. That says little of the millions of rows that it is meant for.",
    "Within noise of a poor counterpart is not good: naive Bayes on MNIST is hardly a weak learner, AdaBoost "
    "over it ends after a few members, and to be better than that is no merit.",
    "Rates are the defaults and round parts of them, not the best ones. The smaller C was 0.0001 at first, "
    "which one run on five of the data sets showed to be too small for one pass. Ten passes, larger samples "
    "for FilterBoost, and the weights of growing OCB for themselves were added after a look at the rest.",
    "Where FilterBoost finds no stump it says the more frequent class. Naive Bayes has variances smoothed by "
    "0.01 on digits and MNIST, where pixels that never change make it fail otherwise.",
    "Test errors, not weights: how close α itself is to AdaBoost's is in experiments/README.md. The "
    "hypotheses that are weighted are stumps; others were not tried.",
    "The reasons given are the likely ones. Those for the constant steps and for FilterBoost were tried out "
    "(shorter steps, more passes, larger samples), the others were not.",
    "What a constant rate or a short window costs here is the price of following a stream that changes.",
)


def page(record: dict[str, Any]) -> str:
    """The page."""
    found = all_judged(record)
    first, second, third = _blocks(record)
    known = {method: [one for one in of.values() if one] for method, of in found.items()}
    known = {method: ones for method, ones in known.items() if ones}
    never = [method for method, ones in known.items() if all(one.verdict != "worse" for one in ones)]
    verdicts = [one.verdict for ones in known.values() for one in ones]
    counts = {verdict: verdicts.count(verdict) for verdict in MARKS}
    return as_markdown(
        "On data that do not change",
        [
            Code("python experiments/stationary.py --data DIR"),
            Paragraph(_setting(record)),
            Paragraph(NOISE),
            first,
            Heading("What it shows"),
            Paragraph(
                f"{counts['within']} of {len(verdicts)} comparisons are within noise, {counts['worse']} are "
                f"worse, {counts['better']} better. Nowhere worse by more than noise are {len(never)} of "
                f"{len(known)}: {'; '.join(never)}."
            ),
            Items([_said(method, found[method]) for method in known]),
            Paragraph(
                "Winnow has no batch counterpart: it minimises no loss. It stands in the last table only."
            ),
            Heading("What it does not show"),
            Items(LIMITS),
            Heading("Errors"),
            second,
            third,
        ],
    )
