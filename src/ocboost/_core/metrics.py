"""Metrics of predictions: of all so far, of a sliding window, and as curves; all in bounded memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_count
from ocboost._core.codec import Fields, Tree
from ocboost._core.score_bins import ScoreBins, exact_auc, exact_average_precision
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
    first_table: bool = True  # or only that of reports that is about probabilities

    @property
    def column(self) -> str:
        """The heading of its column."""
        return self.heading or self.title


CALIBRATION_BINS = 15  # of the top probability, for the calibration error

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
        importance=7.5,
    ),
    "f1": Metric(
        "F1",
        "F1 is the harmonic mean of precision and recall: of the second class where there are two, averaged "
        "over the classes (macro) where there are more.",
        caption="of the second of two classes, the mean over the classes of more",
        importance=6.5,
        shown_with_spread=False,
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
    "pr_auc": Metric(
        "PR-AUC",
        "The PR-AUC, the area under the precision–recall curve (average precision; of each class against the "
        "rest where there are more than two), is about their order where a class is rare.",
        importance=1.5,
        first_table=False,
    ),
    "log_loss": Metric(
        "log-loss",
        "Log-loss is about the size of the probabilities, taken as at least 1e-15.",
        highest=math.inf,
        larger_is_better=False,
        importance=5,
    ),
    "brier": Metric(
        "Brier score",
        "The Brier score is the squared error of the probability: of the second of two classes, summed over "
        "the classes of more.",
        heading="Brier",
        highest=2.0,
        larger_is_better=False,
        importance=0.5,
        first_table=False,
    ),
    "ece": Metric(
        "calibration error",
        f"The calibration error (ECE) is how far the likeliest class's probability is from how often that "
        f"class is right, on average over {CALIBRATION_BINS} bins of equal width.",
        heading="ECE",
        larger_is_better=False,
        importance=0.7,
        first_table=False,
    ),
}
METRICS = tuple(METRIC_TABLE)

MIN_PROBABILITY = 1e-15  # that log-loss sees: one certain and wrong answer costs 34.5
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

    AUC and PR-AUC come from a histogram of 8,192 bins over asinh(log-odds): scores within about 0.2 % (0.002
    around even odds) share a bin and count as ties. They are off by at most `auc_bound` and `pr_auc_bound`.
    With more than two classes they are means over the classes seen so far, each against the rest, and so is
    F1, which otherwise is that of the second class.

    The Brier score of two classes is the mean of (p - y)² of the second one; of more the sum over the
    classes. The calibration error has 15 bins of equal width over the top probability, and is about the
    likeliest class also where another was predicted.

    An undefined metric is None: all of them before the first example, and balanced accuracy, F1, kappa, AUC
    and PR-AUC while only one class has been seen (kappa also where chance always agrees).

    Examples
    --------
    >>> tally = Tally(2)
    >>> tally.add(np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]), np.array([0, 1, 1]))
    >>> {name: round(value, 3) for name, value in tally.values().items()}
    {'accuracy': 0.667, 'balanced_accuracy': 0.75, 'f1': 0.667, 'kappa': 0.4, 'auc': 1.0, 'pr_auc': 1.0,
    'log_loss': 0.607, 'brier': 0.22, 'ece': 0.4}
    """

    def __init__(self, n_classes: int) -> None:
        K = as_count(n_classes, "n_classes", 2, None, "A classifier has at least two classes.")
        self.confusion: NDArray[np.int64] = np.zeros((K, K), np.int64)  # truth, prediction
        self._loss = self._square = 0.0
        self._calibration = np.zeros((3, CALIBRATION_BINS))  # examples, probabilities, right
        self.bins = [ScoreBins() for _ in range(1 if K == 2 else K)]  # of two classes that of the second

    @property
    def n(self) -> int:
        """Examples added."""
        return int(self.confusion.sum())

    def add(self, probabilities: Probabilities, codes: Codes, predicted: Codes | None = None) -> None:
        """Add examples: probabilities (n, K), true classes (n,), predicted ones (the likeliest if None).

        Parameters
        ----------
        probabilities : array of shape (n, K)
            Of each example, the probability of each class.
        codes : array of shape (n,)
            The true classes.
        predicted : array of shape (n,), optional
            What was predicted; the likeliest class if left out.
        """
        if predicted is None:
            predicted = probabilities.argmax(axis=1)
        self.confusion += confusion_of(codes, predicted, len(self.confusion))
        self._loss = _added(self._loss, losses(probabilities, codes))
        self._square = _added(self._square, squares(probabilities, codes))
        _add_calibration(self._calibration, probabilities, codes)
        for bins, (score, positive) in zip(self.bins, _one_against_rest(probabilities, codes), strict=True):
            bins.add(score, positive)

    @property
    def auc_bound(self) -> float | None:
        """An upper bound of the AUC's error; None where there is no AUC."""
        return _mean([bins.auc_bound for bins in self._defined()])

    @property
    def pr_auc_bound(self) -> float | None:
        """An upper bound of the PR-AUC's error; None where there is no PR-AUC."""
        return _mean([bins.average_precision_bound for bins in self._defined()])

    def values(self) -> Values:
        """Every metric by its name.

        Returns
        -------
        dict
            None where a metric is not defined.
        """
        n, defined = self.n, self._defined()
        found = {
            **_of_confusion(self.confusion),
            "auc": _mean([bins.auc for bins in defined]),
            "pr_auc": _mean([bins.average_precision for bins in defined]),
            "log_loss": self._loss / n if n else None,
            "brier": self._square / n if n else None,
            "ece": _calibration_error(self._calibration),
        }
        return {name: found[name] for name in METRICS}

    def _defined(self) -> list[ScoreBins]:
        return [bins for bins in self.bins if bins.has_both]

    def tree(self) -> Tree:
        """What a file holds.

        Returns
        -------
        dict
            Plain values and arrays, by name.
        """
        return {
            "confusion": self.confusion,
            "loss": self._loss,
            "square": self._square,
            "calibration": self._calibration,
            "bins": [bins.tree() for bins in self.bins],
        }

    @classmethod
    def from_tree(cls, fields: Fields, n_classes: int) -> Self:
        """A tally from what `tree` gave.

        Parameters
        ----------
        fields : mapping
            What `tree` gave.
        n_classes : int
            K.

        Returns
        -------
        Tally
            It counts on from there.
        """
        tally = cls(n_classes)
        fields.fill({"confusion": tally.confusion, "calibration": tally._calibration})
        tally._loss, tally._square = (fields.number(key, 0.0, np.inf) for key in ("loss", "square"))
        fits = (tally.confusion >= 0).all() and (tally._calibration >= 0.0).all()
        fields.require(bool(fits and np.isfinite(tally._calibration).all()), "its sums make no sense")
        tally.bins = fields.read_all("bins", ScoreBins.from_tree, len(tally.bins))
        return tally


class Window:
    """The exact metrics of the most recent examples.

    Parameters
    ----------
    n_classes : int
        K.
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
        """Add examples, as `Tally.add` does; the oldest are dropped.

        Parameters
        ----------
        probabilities : array of shape (n, K)
            Of each example, the probability of each class.
        codes : array of shape (n,)
            The true classes.
        predicted : array of shape (n,), optional
            What was predicted; the likeliest class if left out.
        """
        if predicted is None:
            predicted = probabilities.argmax(axis=1)
        m = min(len(codes), self._size)
        self._added += len(codes)
        place = np.arange(self._added - m, self._added) % self._size
        self._probabilities[place] = probabilities[len(codes) - m :]
        self._codes[place] = codes[len(codes) - m :]
        self._predicted[place] = predicted[len(codes) - m :]

    def values(self) -> Values:
        """Every metric by its name.

        Returns
        -------
        dict
            None where a metric is not defined.
        """
        n = self.n
        probabilities, codes = self._probabilities[:n], self._codes[:n]
        scored = [
            (score, positive)
            for score, positive in _one_against_rest(probabilities, codes)
            if 0 < positive.sum() < n
        ]
        sums = np.zeros((3, CALIBRATION_BINS))
        _add_calibration(sums, probabilities, codes)
        found = {
            **_of_confusion(confusion_of(codes, self._predicted[:n], self._K)),
            "auc": _mean([exact_auc(score, positive) for score, positive in scored]),
            "pr_auc": _mean([exact_average_precision(score, positive) for score, positive in scored]),
            "log_loss": float(losses(probabilities, codes).mean()) if n else None,
            "brier": float(squares(probabilities, codes).mean()) if n else None,
            "ece": _calibration_error(sums),
        }
        return {name: found[name] for name in METRICS}


class Series:
    """Values recorded every so many examples, for curves.

    When there are 2,000 points, every second one is dropped and the next ones are taken half as often.

    Parameters
    ----------
    every : int
        Examples from one point to the next.

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
        """How many examples will have been scored when the next point is due.

        Parameters
        ----------
        n : int
            Examples scored so far.

        Returns
        -------
        int
            A number above n.
        """
        return n - n % self.every + self.every

    def record(self, row: int, count: int, values: Values) -> None:
        """Add a point.

        Parameters
        ----------
        row : int
            The row it was taken after.
        count : int
            Examples in the window.
        values : dict
            What they gave, by metric.
        """
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


def squares(probabilities: Probabilities, codes: Codes) -> NDArray[np.float64]:
    """The Brier score of each example: (p - y)² of the second of two classes, summed over more."""
    wrong = probabilities.copy()
    wrong[np.arange(len(codes)), codes] -= 1.0
    return wrong[:, 1] ** 2 if probabilities.shape[1] == 2 else (wrong**2).sum(axis=1)


def _added(total: float, values: NDArray[np.float64]) -> float:
    """A sum with more values, one by one: it does not depend on how they are cut into calls."""
    return float(np.cumsum(np.concatenate([[total], values]))[-1])


def _add_calibration(sums: NDArray[np.float64], probabilities: Probabilities, codes: Codes) -> None:
    """Add to each bin of the top probability: examples, these probabilities, how many are right."""
    likeliest = probabilities.argmax(axis=1)
    top = probabilities[np.arange(len(codes)), likeliest]
    bins = np.minimum((top * CALIBRATION_BINS).astype(np.int64), CALIBRATION_BINS - 1)
    for total, values in zip(sums, (1.0, top, (likeliest == codes).astype(np.float64)), strict=True):
        np.add.at(total, bins, values)


def _calibration_error(sums: NDArray[np.float64]) -> float | None:
    """The gap between probability and frequency, averaged over the examples; None without any."""
    n, sure, right = sums
    return float(np.abs(sure - right).sum() / n.sum()) if n.any() else None


def confusion_of(codes: Codes, predicted: Codes, n_classes: int) -> NDArray[np.int64]:
    """How often each class (row) was predicted as each (column)."""
    return np.bincount(codes * n_classes + predicted, minlength=n_classes**2).reshape(n_classes, n_classes)


def _of_confusion(confusion: NDArray[np.int64]) -> Values:
    n = int(confusion.sum())
    if n == 0:
        return {"accuracy": None, "balanced_accuracy": None, "f1": None, "kappa": None}
    right, truth, given = confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0)
    accuracy = float(right.sum() / n)
    seen = truth > 0
    chance = float((truth / n) @ (given / n))
    f1 = 2.0 * right[seen] / (truth[seen] + given[seen])
    return {
        "accuracy": accuracy,
        "balanced_accuracy": float((right[seen] / truth[seen]).mean()) if seen.sum() > 1 else None,
        "f1": None if seen.sum() < 2 else float(f1[1] if len(confusion) == 2 else f1.mean()),
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


def _mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
