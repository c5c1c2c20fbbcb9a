"""Discrete AdaBoost over any scikit-learn classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError
from ocboost.hypotheses import Hypotheses
from ocboost.hypotheses.sklearn import from_sklearn, input_tags
from ocboost.learners.base import CheckedExamples, Learner
from ocboost.learners.boosting import MIN_EDGE, step, worth_of_one

_EXAMPLE = "For example DecisionTreeClassifier(max_depth=3)."


class SklearnLearner(Learner):
    """Finds hypotheses by AdaBoost: each is a scikit-learn classifier, fitted to the weights so far.

    A classifier whose ``fit`` has no ``sample_weight`` is fitted to as many examples drawn with replacement,
    by their weights. Weights are given with a mean of one, so that penalties keep their usual meaning.

    Learning stops after a classifier that is right on every example of some weight, and before one that is no
    better than chance. So there can be fewer hypotheses than asked for, but always one.

    Trees give `Stumps` or `Trees`, which can be saved; other classifiers give `Callables`, which cannot.

    Parameters
    ----------
    estimator : scikit-learn classifier
        It is cloned for each hypothesis, and each ``random_state`` within it gets a new seed.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    >>> trees = SklearnLearner(DecisionTreeClassifier(max_depth=2)).learn(X, y, n_hypotheses=5, rng=rng)
    >>> trees.answers(X).shape
    (200, 5)
    """

    def __init__(self, estimator: Any) -> None:
        missing = [name for name in ("fit", "predict", "get_params") if not hasattr(estimator, name)]
        if isinstance(estimator, type) or missing:
            raise InputError(
                f"estimator must be a scikit-learn classifier; got {estimator!r:.80}. {_EXAMPLE}"
            )
        from sklearn.base import is_classifier

        if not is_classifier(estimator):
            raise InputError(f"estimator must be a classifier; got {estimator!r:.80}. {_EXAMPLE}")
        self.estimator = estimator
        self.accepts_sparse, self.accepts_missing = input_tags(estimator)

    def __repr__(self) -> str:
        return f"SklearnLearner({self.estimator!r})"

    @property
    def _name(self) -> str:
        return repr(self.estimator)

    def _learn(self, examples: CheckedExamples, n_hypotheses: int, rng: np.random.Generator) -> Hypotheses:
        from sklearn.utils.validation import has_fit_parameter

        X, y, weights = examples
        weighted = has_fit_parameter(self.estimator, "sample_weight")
        one = worth_of_one(weights)
        counts = weights > 0.0
        d = weights / weights.sum()
        members: list[Any] = []
        while len(members) < n_hypotheses:
            member = _unfitted(self.estimator, rng)
            if weighted:
                member.fit(X, y, sample_weight=d * d.size)
            else:
                rows = _drawn(d, y, rng)
                member.fit(X[rows], y[rows])
            wrong = np.asarray(member.predict(X)) != y
            error = float(d[wrong].sum())
            chance = error >= 0.5 - MIN_EDGE
            if not chance or not members:
                members.append(member)
            if chance or not (wrong & counts).any():
                break
            of_right, of_wrong = step(1.0 - error, error, one)
            d *= np.where(wrong, of_wrong, of_right)
            d /= d.sum()
        return from_sklearn(members, classes=np.array([-1, 1]))


def _unfitted(estimator: Any, rng: np.random.Generator) -> Any:
    from sklearn.base import clone

    copy = clone(estimator)
    seeds = [key for key in sorted(copy.get_params()) if f"__{key}".endswith("__random_state")]
    return copy.set_params(**{key: int(rng.integers(1 << 31)) for key in seeds})


def _drawn(d: NDArray[np.float64], labels: NDArray[np.int8], rng: np.random.Generator) -> NDArray[np.int64]:
    """As many examples as there are, drawn by their weights; at least one of each class that has weight."""
    rows = rng.choice(d.size, d.size, p=d)
    for label in (-1, 1):
        share = np.where(labels == label, d, 0.0)
        if share.sum() > 0.0 and not (labels[rows] == label).any():
            rows[0] = rng.choice(d.size, p=share / share.sum())
    return rows
