"""Metrics of predictions: of all so far, of a sliding window, and as curves; all in bounded memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_count
from ocboost.errors import InputError


def one_minus_auc(votes: NDArray[np.floating[Any]], positive: NDArray[np.bool_]) -> float:
    """The area above the ROC curve: the share of pairs of a positive and a negative in the wrong order.

    Ties count half. Counted in whole numbers, so that areas of 1e-9 keep their digits, which 1 minus an area
    near 1 would lose.

    >>> one_minus_auc(np.array([0.9, 0.2, 0.5, 0.2]), np.array([True, True, False, False]))
    0.375
    """
    positives, negatives = votes[positive], np.sort(votes[~positive])
    if not positives.size or not negatives.size:
        raise InputError(
            f"positive must hold both kinds; got {positives.size} positives and {negatives.size} negatives. "
            "Test on both."
        )
    if not np.isfinite(votes).all():
        raise InputError("votes must be finite numbers. Look for NaN in the weights.")
    below = np.searchsorted(negatives, positives, "left") + np.searchsorted(negatives, positives, "right")
    pairs = 2 * positives.size * negatives.size
    return (pairs - int(below.sum())) / pairs


Codes = NDArray[np.int64]
Probabilities = NDArray[np.float64]
Values = dict[str, float | None]


@dataclass(frozen=True)
class Metric:
    """How tables, figures and reports show a metric. Its values are computed by `Tally` and `Window`."""

    title: str  # in figures
    explanation: str  # a sentence of reports
    heading: str = ""  # of its column, if that is not the title
    caption: str = ""  # what the heading means, below the table
    lowest: float = 0.0  # that it can be, as is the highest
    highest: float = 1.0
    larger_is_better: bool = True
    importance: float = 1  # tables that are too wide leave out the columns of least importance
    shown_with_spread: bool = True  # whether tables with spreads, which are wide, have a column of it

    @property
    def column(self) -> str:
        """The heading of its column."""
        return self.heading or self.title


# Every metric there is, in the order of the tables. To add one, add it here and compute it below, in
# `_of_confusion`, or in `Tally.values` and `Window.values`.
METRIC_TABLE = {
    "accuracy": Metric(
        "accuracy", "Accuracy flatters methods that always answer the frequent class.", importance=math.inf
    ),
    "balanced_accuracy": Metric(
        "balanced accuracy",
        "Balanced accuracy is the mean over the classes.",
        heading="balanced",
        caption="accuracy averaged over the classes",
    ),
    "kappa": Metric(
        "Cohen's kappa",
        "Cohen's kappa is 0 for guesses by frequency alone.",
        heading="kappa",
        lowest=-1.0,
        importance=6,
    ),
    "auc": Metric(
        "AUC", "The AUC is about the order of the probabilities.", importance=7, shown_with_spread=False
    ),
    "log_loss": Metric(
        "log-loss",
        "Log-loss is about the size of the probabilities, taken as at least 1e-15.",
        highest=math.inf,
        larger_is_better=False,
        importance=5,
    ),
}
METRICS = tuple(METRIC_TABLE)

MIN_PROBABILITY = 1e-15  # that log-loss sees: one certain and wrong answer costs 34.5
SCORE_BINS = 8192
MAX_BINNED_SCORE = math.asinh(750.0)  # the log-odds of the smallest positive double are -745
MAX_CURVE_POINTS = 2000


class Tally:
    """The metrics of everything added so far.

    Parameters
    ----------
    n_classes : int
        K, at least 2.

    Notes
    -----
    Log-loss takes probabilities below 1e-15 as 1e-15, so one example costs at most 34.5.

    The AUC comes from a histogram of 8,192 bins over asinh(log-odds): scores within about 0.2 % (0.002
    around even odds) share a bin and count as ties. It is off by at most `auc_bound`, half the share of
    the pairs in bins that hold different scores. With more than two classes it is the mean over
    the classes seen so far, each against the rest.

    An undefined metric is None: all of them before the first example, and all but accuracy and log-loss
    while only one class has been seen (kappa also where chance always agrees).

    Examples
    --------
    >>> tally = Tally(2)
    >>> tally.add(np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]), np.array([0, 1, 1]))
    >>> {name: round(value, 3) for name, value in tally.values().items()}
    {'accuracy': 0.667, 'balanced_accuracy': 0.75, 'kappa': 0.4, 'auc': 1.0, 'log_loss': 0.607}
    """

    def __init__(self, n_classes: int) -> None:
        K = as_count(n_classes, "n_classes", 2, None, "A classifier has at least two classes.")
        self.confusion: NDArray[np.int64] = np.zeros((K, K), np.int64)  # truth, prediction
        self._loss = 0.0
        n = 1 if K == 2 else K
        self._bins = np.zeros((n, 2, SCORE_BINS), np.int64)  # class, whether it was that class, bin
        self._lowest = np.full((n, SCORE_BINS), np.inf)  # score in each bin
        self._highest = np.full((n, SCORE_BINS), -np.inf)

    @property
    def n(self) -> int:
        """Examples added."""
        return int(self.confusion.sum())

    def add(self, probabilities: Probabilities, codes: Codes, predicted: Codes | None = None) -> None:
        """Add examples: probabilities (n, K), true classes (n,), predicted ones (the likeliest if None)."""
        if predicted is None:
            predicted = probabilities.argmax(axis=1)
        self.confusion += confusion_of(codes, predicted, len(self.confusion))
        self._loss += float(losses(probabilities, codes).sum())
        for c, (score, positive) in enumerate(_one_against_rest(probabilities, codes)):
            bins = _bins_of(score)
            self._bins[c, 0] += np.bincount(bins[~positive], minlength=SCORE_BINS)
            self._bins[c, 1] += np.bincount(bins[positive], minlength=SCORE_BINS)
            np.minimum.at(self._lowest[c], bins, score)
            np.maximum.at(self._highest[c], bins, score)

    @property
    def auc_bound(self) -> float | None:
        """An upper bound of the AUC's error; None where there is no AUC."""
        mixed = self._lowest < self._highest
        return _mean([_pairs_in(self._bins[c], mixed[c]) / 2.0 for c in self._defined()])

    def values(self) -> Values:
        """Every metric by its name."""
        n = self.n
        return {
            **_of_confusion(self.confusion),
            "auc": _mean([_auc_from_bins(*self._bins[c]) for c in self._defined()]),
            "log_loss": self._loss / n if n else None,
        }

    def _defined(self) -> list[int]:
        return [c for c, histogram in enumerate(self._bins) if histogram.any(axis=1).all()]


class Window:
    """The exact metrics of the most recent examples.

    Parameters
    ----------
    n_classes : int
    size : int
        How many examples are kept.

    Examples
    --------
    >>> window = Window(2, size=2)
    >>> window.add(np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]), np.array([0, 1, 1]))
    >>> window.n, window.values()["accuracy"]
    (2, 0.5)
    """

    def __init__(self, n_classes: int, size: int) -> None:
        self._K = as_count(n_classes, "n_classes", 2, None, "A classifier has at least two classes.")
        self._size = as_count(size, "window", 1, None, "It is the number of recent examples a curve shows.")
        self._probabilities = np.empty((self._size, self._K))
        self._codes: Codes = np.empty(self._size, np.int64)
        self._predicted: Codes = np.empty(self._size, np.int64)
        self._added = 0

    @property
    def n(self) -> int:
        """Examples in the window."""
        return min(self._added, self._size)

    def add(self, probabilities: Probabilities, codes: Codes, predicted: Codes | None = None) -> None:
        """Add examples, as `Tally.add` does; the oldest are dropped."""
        if predicted is None:
            predicted = probabilities.argmax(axis=1)
        m = min(len(codes), self._size)
        self._added += len(codes)
        place = np.arange(self._added - m, self._added) % self._size
        self._probabilities[place] = probabilities[len(codes) - m :]
        self._codes[place] = codes[len(codes) - m :]
        self._predicted[place] = predicted[len(codes) - m :]

    def values(self) -> Values:
        """Every metric by its name."""
        n = self.n
        probabilities, codes = self._probabilities[:n], self._codes[:n]
        areas = [
            _auc_of_ranks(score, positive)
            for score, positive in _one_against_rest(probabilities, codes)
            if 0 < positive.sum() < n
        ]
        return {
            **_of_confusion(confusion_of(codes, self._predicted[:n], self._K)),
            "auc": _mean(areas),
            "log_loss": float(losses(probabilities, codes).mean()) if n else None,
        }


class Series:
    """Values recorded every so many examples, for curves.

    When there are 2,000 points, every second one is dropped and the next ones are taken half as often.

    Examples
    --------
    >>> series = Series(every=10)
    >>> series.due_after(0), series.due_after(10), series.due_after(14)
    (10, 20, 20)
    """

    def __init__(self, every: int) -> None:
        self.every = as_count(every, "every", 1, None, "It is the distance between two points of a curve.")
        self.rows: list[int] = []
        self.counts: list[int] = []
        self.values: dict[str, list[float | None]] = {name: [] for name in METRICS}

    def __len__(self) -> int:
        return len(self.rows)

    def due_after(self, n: int) -> int:
        """How many examples will have been scored when the next point is due."""
        return n - n % self.every + self.every

    def record(self, row: int, count: int, values: Values) -> None:
        """Add a point: the row it was taken after, the examples in the window, and what they gave."""
        self.rows.append(row)
        self.counts.append(count)
        for name, column in self.values.items():
            column.append(values[name])
        if len(self) == MAX_CURVE_POINTS:
            self.every *= 2
            self.rows, self.counts = self.rows[1::2], self.counts[1::2]
            self.values = {name: column[1::2] for name, column in self.values.items()}


def losses(probabilities: Probabilities, codes: Codes) -> NDArray[np.float64]:
    """Log-loss of each example; probabilities below 1e-15 count as 1e-15."""
    return -np.log(np.clip(probabilities[np.arange(len(codes)), codes], MIN_PROBABILITY, 1.0))


def confusion_of(codes: Codes, predicted: Codes, n_classes: int) -> NDArray[np.int64]:
    """How often each class (row) was predicted as each (column)."""
    return np.bincount(codes * n_classes + predicted, minlength=n_classes**2).reshape(n_classes, n_classes)


def _of_confusion(confusion: NDArray[np.int64]) -> Values:
    n = int(confusion.sum())
    if n == 0:
        return {"accuracy": None, "balanced_accuracy": None, "kappa": None}
    right, truth, given = confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0)
    accuracy = float(right.sum() / n)
    seen = truth > 0
    chance = float((truth / n) @ (given / n))
    return {
        "accuracy": accuracy,
        "balanced_accuracy": float((right[seen] / truth[seen]).mean()) if seen.sum() > 1 else None,
        "kappa": (accuracy - chance) / (1.0 - chance) if seen.sum() > 1 and chance < 1.0 else None,
    }


def _one_against_rest(probabilities: Probabilities, codes: Codes) -> list[tuple[Any, Any]]:
    """Log-odds of each class, and whether it was that class; of two classes only for the second one."""
    K = probabilities.shape[1]
    with np.errstate(divide="ignore"):  # certainty has infinite log-odds
        if K == 2:  # from both columns: near certainty one of them has many more digits
            return [(np.log(probabilities[:, 1]) - np.log(probabilities[:, 0]), codes == 1)]
        odds = np.log(probabilities) - np.log1p(-probabilities)
    return [(odds[:, c], codes == c) for c in range(K)]


def _bins_of(score: NDArray[np.float64]) -> NDArray[np.int64]:
    share = np.clip((np.arcsinh(score) / MAX_BINNED_SCORE + 1.0) / 2.0, 0.0, 1.0)
    return np.minimum((share * SCORE_BINS).astype(np.int64), SCORE_BINS - 1)


def _auc_from_bins(negative: NDArray[np.int64], positive: NDArray[np.int64]) -> float:
    """The area; scores in one bin count as ties."""
    down, up = negative / negative.sum(), positive / positive.sum()
    return float(up @ (np.cumsum(down) - down / 2.0))


def _pairs_in(histogram: NDArray[np.int64], bins: NDArray[np.bool_]) -> float:
    """The share of pairs of a positive and a negative that are both in one of these bins."""
    down, up = histogram / histogram.sum(axis=1, keepdims=True)
    return float(up[bins] @ down[bins])


def _auc_of_ranks(score: NDArray[np.float64], positive: NDArray[np.bool_]) -> float:
    """The exact area; equal scores share the mean of their ranks."""
    _, place, counts = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2.0)[place]
    p = int(positive.sum())
    return float((rank[positive].sum() - p * (p + 1) / 2.0) / (p * (len(score) - p)))


def _mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
