"""Learners that go through a stream one row at a time: river's ensembles, scikit-learn's SGD, and ours.

`LEARNERS` has each by the name that ``adaptive.py`` gives it. One is made from the first rows, which it has
learnt then. What the clock covers is `predict` and `learn`: the examples are prepared before, and what was
predicted is turned into probabilities after it.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from harness import UnavailableError
from numpy.typing import NDArray

from ocboost.evaluation.contenders import Contender
from ocboost.evaluation.first_rows import FirstRows
from ocboost.streams.rows import Rows

MEMBERS = 10
MAX_COLUMNS = 1_000  # beyond them river, which looks at each feature of each row, takes seconds for a row


class StreamLearner(Protocol):
    """What is measured."""

    def prepared(self, X: Any, codes: NDArray[np.int64]) -> list[Any]:
        """The rows as the library wants them, each with its label."""

    def predict(self, example: Any) -> Any:
        """A prediction, in whatever form the library gives it."""

    def learn(self, example: Any) -> None:
        """Learn one row."""

    def probabilities(self, given: Any) -> NDArray[np.float64]:
        """A prediction as probabilities of the classes."""


class OfRiver:
    """A model of river; features are named 0, 1, 2 and so on, and missing ones are left out."""

    def __init__(self, model: Any, n_classes: int) -> None:
        self._n_classes = n_classes
        self.predict = lambda example: model.predict_proba_one(example[0])
        self.learn = lambda example: model.learn_one(*example)

    def prepared(self, X: Any, codes: NDArray[np.int64]) -> list[Any]:
        """Dictionaries with their labels."""
        rows = [{j: x for j, x in enumerate(row) if x == x} for row in X.tolist()]
        return list(zip(rows, codes.tolist(), strict=True))

    def probabilities(self, given: Any) -> NDArray[np.float64]:
        """They are made to sum to one; even ones where there are none."""
        share = np.array([given.get(code) or 0.0 for code in range(self._n_classes)])
        total = share.sum()
        return share / total if 0.0 < total < np.inf else np.full(self._n_classes, 1.0 / self._n_classes)


class Standardised:
    """Means and deviations of the features so far (Welford). A missing number becomes the mean."""

    def __init__(self, n_features: int) -> None:
        self._n, self._mean, self._squares = np.zeros((3, n_features))

    def take(self, x: NDArray[np.float64]) -> None:
        """Count a matrix of one row."""
        known = x[0] == x[0]
        self._n += known
        before = np.where(known, x[0] - self._mean, 0.0)
        self._mean += before / np.maximum(self._n, 1.0)
        self._squares += np.where(known, before * (x[0] - self._mean), 0.0)

    def scaled(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """A matrix of one row, standardised."""
        deviation = np.sqrt(self._squares / np.maximum(self._n, 1.0))
        z = (x - self._mean) / np.where(deviation > 0.0, deviation, 1.0)
        return np.where(z == z, z, 0.0)


class Unscaled:
    """Sparse rows are zeros and ones, and stay so: divided by deviations, rare words would count most."""

    def take(self, x: Any) -> None:
        """Nothing to count."""

    def scaled(self, x: Any) -> Any:
        """As it is."""
        return x


class OfSklearn:
    """A linear model of scikit-learn, behind a running standardisation."""

    def __init__(self, model: Any, first_rows: FirstRows) -> None:
        self._model = model
        self._classes = np.arange(len(first_rows.classes))
        sparse = hasattr(first_rows.X, "toarray")
        self._features = Unscaled() if sparse else Standardised(first_rows.X.shape[1])

    def prepared(self, X: Any, codes: NDArray[np.int64]) -> list[Any]:
        """Matrices of one row with their labels."""
        return [(X[i : i + 1], codes[i : i + 1]) for i in range(len(codes))]

    def predict(self, example: Any) -> Any:
        """By what was learnt before this row."""
        return self._model.predict_proba(self._features.scaled(example[0]))

    def learn(self, example: Any) -> None:
        """The features first, then the label."""
        x, code = example
        self._features.take(x)
        self._model.partial_fit(self._features.scaled(x), code, classes=self._classes)

    def probabilities(self, given: Any) -> NDArray[np.float64]:
        """Those of the row."""
        return np.asarray(given[0], np.float64)


class Ours:
    """A contender of `ocboost compare`. Each row is by itself, so nothing is computed for many at once."""

    def __init__(self, contender: Contender, classes: list[Any]) -> None:
        contender.begin(classes)
        self.predict, self.learn = contender.predict, contender.learn

    def prepared(self, X: Any, codes: NDArray[np.int64]) -> list[Any]:
        """Rows of their own."""
        return [Rows.of(X[i : i + 1], codes[i : i + 1]) for i in range(len(codes))]

    def probabilities(self, given: Any) -> NDArray[np.float64]:
        """Those of the row."""
        return np.asarray(given[0], np.float64)


def _trained(learner: StreamLearner, first_rows: FirstRows) -> StreamLearner:
    for example in learner.prepared(first_rows.X, first_rows.codes):
        learner.learn(example)
    return learner


def _of_river(make: Callable[[int], Any]) -> Callable[[FirstRows], StreamLearner]:
    def begin(first_rows: FirstRows) -> StreamLearner:
        columns = first_rows.X.shape[1]
        if columns > MAX_COLUMNS:
            raise UnavailableError(f"too slow on {columns:,} columns")
        try:
            model = make(first_rows.seed)
        except ModuleNotFoundError as missing:
            raise UnavailableError("river is not installed: pip install 'ocboost[river]'") from missing
        return _trained(OfRiver(model, len(first_rows.classes)), first_rows)

    return begin


def _arf(seed: int) -> Any:
    from river.forest import ARFClassifier

    return ARFClassifier(n_models=MEMBERS, seed=seed)


def _srp(seed: int) -> Any:
    from river.ensemble import SRPClassifier

    return SRPClassifier(n_models=MEMBERS, seed=seed)


def _leveraging_bagging(seed: int) -> Any:
    from river.ensemble import LeveragingBaggingClassifier
    from river.tree import HoeffdingTreeClassifier

    return LeveragingBaggingClassifier(HoeffdingTreeClassifier(), n_models=MEMBERS, seed=seed)


def _sgd(first_rows: FirstRows) -> StreamLearner:
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss="log_loss", random_state=first_rows.seed)
    return _trained(OfSklearn(model, first_rows), first_rows)


def _adaptive(first_rows: FirstRows) -> StreamLearner:
    from ocboost.evaluation.methods import METHODS

    if "adaptive" not in METHODS:
        raise UnavailableError("this version of ocboost has no method called adaptive")
    return Ours(METHODS["adaptive"].contender(first_rows), first_rows.classes)


# Title and how it begins, in the order of the tables; ours is first.
LEARNERS: dict[str, tuple[str, Callable[[FirstRows], StreamLearner]]] = {
    "adaptive": ("AdaptiveClassifier", _adaptive),
    "arf": ("ARF", _of_river(_arf)),
    "srp": ("SRP", _of_river(_srp)),
    "lb": ("leveraging bagging", _of_river(_leveraging_bagging)),
    "sgd": ("SGD", _sgd),
}
