"""Every method beside its batch counterpart, on one split of stationary data.

Each function yields outcomes: the test error of the method after one pass over the stream of the first
sample, of its counterpart on the same rows, and of its counterpart on the other sample.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from ocboost import BoostingSketch, OCBClassifier, OzaRussell, adaboost_weights
from ocboost.estimators.base_learners import NaiveBayes
from ocboost.hypotheses import Hypotheses
from ocboost.learners import StumpLearner
from ocboost.lineage import (
    EGPlusMinus,
    FilterBoost,
    HuangBooster,
    OnlineLogistic,
    OzaRussellClassifier,
    PassiveAggressive,
    Perceptron,
    Winnow,
)
from parts.stationary_data import SOURCES, Sample, Split

J, BUDGET = 100, 150
WINDOW = 2_000
MEMBERS = 5
PASSES = 10
DRAWN = 20  # hypotheses of FilterBoost where it draws from the rows
DRAWING: dict[str, dict[str, Any]] = {
    "FilterBoost, drawing from the rows": {},
    "FilterBoost, drawing ten times as much": {"sample": 5000, "tau": 0.1, "most_examples": 2_000_000},
}
EPSILON = 1.0  # the boosters' own default smoothing

Alpha = np.ndarray
Rows = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Outcome:
    """Test errors; ``batch`` and ``other`` are None for a method that has no batch counterpart."""

    method: str
    error: float
    batch: float | None = None
    other: float | None = None
    notes: dict[str, Any] = field(default_factory=dict)


# Batch counterparts over fixed hypotheses: answers and labels in, weights out ------------------------------


def adaboost(answers: np.ndarray, y: np.ndarray) -> Alpha:
    """AdaBoost over the hypotheses in their order."""
    return adaboost_weights(answers * y[:, None])


def adaboost_last(answers: np.ndarray, y: np.ndarray) -> Alpha:
    """AdaBoost on the last rows alone."""
    return adaboost(answers[-WINDOW:], y[-WINDOW:])


def exponential(answers: np.ndarray, y: np.ndarray) -> Alpha:
    """The minimum of the exponential loss, margins being their opposite with the booster's own chance q."""
    margins = (answers * y[:, None]).astype(np.float64)
    n, width = margins.shape
    q = EPSILON / (n + 2.0 * EPSILON)

    def weighed(alpha: Alpha) -> tuple[float, np.ndarray, Alpha, Alpha]:
        """The logarithm of the loss, every example's share in it, and the slopes of margins +1 and -1."""
        up, down = np.exp(alpha), np.exp(-alpha)
        right, wrong = (1 - q) * down + q * up, (1 - q) * up + q * down
        a, b = np.log(right), np.log(wrong)
        scores = margins @ ((a - b) / 2) + (a + b).sum() / 2
        top = scores.max()
        chances = np.exp(scores - top)
        slopes = (q * up - (1 - q) * down) / right, ((1 - q) * up - q * down) / wrong
        return float(top + np.log(chances.mean())), chances / chances.sum(), *slopes

    def loss(alpha: Alpha) -> tuple[float, Alpha]:
        value, chances, a, b = weighed(alpha)
        return value, (a + b) / 2 + (chances @ margins) * (a - b) / 2

    def curvature(alpha: Alpha) -> np.ndarray:
        _, chances, a, b = weighed(alpha)
        slopes = (a + b) / 2 + margins * ((a - b) / 2)
        mean = chances @ slopes
        within = np.diag(1.0 - chances @ slopes**2)
        return (slopes * chances[:, None]).T @ slopes - np.outer(mean, mean) + within

    found = minimize(loss, np.zeros(width), jac=True, hess=curvature, method="trust-exact")
    return found.x


def exponential_last(answers: np.ndarray, y: np.ndarray) -> Alpha:
    """The same on the last rows alone."""
    return exponential(answers[-WINDOW:], y[-WINDOW:])


def logistic(answers: np.ndarray, y: np.ndarray) -> Alpha:
    """scikit-learn's logistic regression without intercept."""
    model = LogisticRegression(fit_intercept=False, solver="newton-cholesky")
    return model.fit(answers.astype(np.float64), y).coef_[0] / 2


def hinge(answers: np.ndarray, y: np.ndarray) -> Alpha:
    """scikit-learn's linear support vector machine without intercept."""
    model = LinearSVC(loss="hinge", fit_intercept=False, max_iter=5000, random_state=0)
    with warnings.catch_warnings():  # columns that repeat each other slow its last digits down
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(answers.astype(np.float64), y).coef_[0]


def _huang(answers: np.ndarray, y: np.ndarray, **how: Any) -> Alpha:
    booster = HuangBooster(answers.shape[1], **how)
    booster.update_many(answers * y[:, None], labels=y)
    return booster.alpha


def _booster(kind: Callable, passes: int = 1, **how: Any) -> Callable[[np.ndarray, np.ndarray], Alpha]:
    def learn(answers: np.ndarray, y: np.ndarray) -> Alpha:
        booster = kind(answers.shape[1], **how)
        for _ in range(passes):
            booster.update_many(answers * y[:, None])
        return booster.alpha

    return learn


WEIGHERS: dict[str, tuple[Callable, Callable | None]] = {
    "OCB, head 1": (_booster(BoostingSketch, head=1), adaboost),
    "OCB, head auto": (_booster(BoostingSketch, head="auto"), adaboost),
    "OCB, head 1, order 10": (
        lambda answers, y: _booster(BoostingSketch, head=1, order=min(10, answers.shape[1]))(answers, y),
        adaboost,
    ),
    "OCB, window 2,000": (_booster(BoostingSketch, head=WINDOW, tail=False), adaboost_last),
    "Oza and Russell, weights alone": (_booster(OzaRussell), adaboost),
    "Huang": (_huang, exponential),
    "Huang, window 2,000 alone": (
        lambda answers, y: _huang(answers, y, share=1.0, window=WINDOW, absorb=False, every=100),
        exponential_last,
    ),
    "EG±": (_booster(EGPlusMinus), logistic),
    "EG±, a tenth of the rate": (_booster(EGPlusMinus, rate=1.0 / 3000.0), logistic),
    "EG±, a hundredth, ten passes": (_booster(EGPlusMinus, PASSES, rate=1.0 / 30_000.0), logistic),
    "online logistic": (_booster(OnlineLogistic), logistic),
    "online logistic, a tenth of the rate": (_booster(OnlineLogistic, rate=0.003), logistic),
    "online logistic, a hundredth, ten passes": (_booster(OnlineLogistic, PASSES, rate=0.0003), logistic),
    "passive-aggressive": (_booster(PassiveAggressive), hinge),
    "passive-aggressive, C = 0.001": (_booster(PassiveAggressive, C=0.001), hinge),
    "passive-aggressive, C = 0.0001, ten passes": (_booster(PassiveAggressive, PASSES, C=0.0001), hinge),
    "perceptron": (_booster(Perceptron), hinge),
    "Winnow": (_booster(Winnow), None),
}


def weighers(split: Split) -> Iterator[Outcome]:
    """Methods that weight the answers of the same fixed stumps."""
    stumps = StumpLearner().learn(split.one.first_X, split.one.first_y, n_hypotheses=J)
    one, other, test = (stumps.answers(X) for X in (split.one.X, split.other.X, split.X))

    def wrong(alpha: Alpha) -> float:
        return _share((test @ alpha > 0.0) != (split.y > 0))

    @lru_cache
    def batch(counterpart: Callable) -> Rows:
        return wrong(counterpart(one, split.one.y)), wrong(counterpart(other, split.other.y))

    for name, (learn, counterpart) in WEIGHERS.items():
        error = wrong(learn(one, split.one.y))
        pair = (None, None) if counterpart is None else batch(counterpart)
        yield Outcome(name, error, *pair, notes={"hypotheses": len(stumps)})


# Methods that find their hypotheses -----------------------------------------------------------------------


class Trees(ClassifierMixin, BaseEstimator):
    """One of river's Hoeffding trees, taught rows with weights in one pass, for scikit-learn's AdaBoost."""

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> "Trees":
        """Teach it every row, the weights scaled to a mean of 1."""
        from river.tree import HoeffdingTreeClassifier

        self.classes_ = np.unique(y)
        self.tree_ = HoeffdingTreeClassifier()
        weights = np.ones(len(y)) if sample_weight is None else sample_weight * (len(y) / sample_weight.sum())
        for x, label, weight in zip(X.tolist(), y.tolist(), weights.tolist(), strict=True):
            if weight > 0.0:
                self.tree_.learn_one(dict(enumerate(x)), label, w=weight)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Its answers; the first class where it has none."""
        said = [self.tree_.predict_one(dict(enumerate(x))) for x in X.tolist()]
        return np.array([self.classes_[0] if each is None else each for each in said])


def oza_bayes(split: Split, seed: int, var_smoothing: float) -> Iterator[Outcome]:
    """Oza and Russell over naive Bayes."""
    online = OzaRussellClassifier(NaiveBayes(var_smoothing), 2 * MEMBERS, random_state=seed)
    bayes = GaussianNB(var_smoothing=var_smoothing)
    error = _of(online, split.one, split)
    batch = [
        _of(AdaBoostClassifier(bayes, n_estimators=2 * MEMBERS), sample, split) for sample in _both(split)
    ]
    yield Outcome("Oza and Russell, naive Bayes", error, *batch)


def oza_trees(split: Split, seed: int) -> Iterator[Outcome]:
    """Oza and Russell over Hoeffding trees, beside the same trees and scikit-learn's of that size."""
    from river.tree import HoeffdingTreeClassifier

    online = OzaRussellClassifier(HoeffdingTreeClassifier(), n_estimators=MEMBERS, random_state=seed)
    error = _of(online, split.one, split)
    leaves = max(2, *(tree.n_leaves or 1 for tree in online.members_))
    for name, tree in (
        ("Oza and Russell, Hoeffding trees", Trees()),
        ("the same beside CART", DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0)),
    ):
        batch = [
            _of(AdaBoostClassifier(tree, n_estimators=MEMBERS), sample, split) for sample in _both(split)
        ]
        yield Outcome(name, error, *batch, notes={"leaves": leaves})


def filterboost(split: Split, seed: int) -> Iterator[Outcome]:
    """FilterBoost over the stream, over a longer one, and drawing from the rows."""
    once = FilterBoost(random_state=seed).fit_stream([(split.one.X, split.one.y)])
    yield _filtered("FilterBoost, the stream once", once, _both(split), split)
    if split.long:
        clf = FilterBoost(random_state=seed).fit_stream([(split.long[0].X, split.long[0].y)])
        yield _filtered("FilterBoost, a longer stream once", clf, split.long, split)
    for name, how in DRAWING.items():
        clf = FilterBoost(n_hypotheses=DRAWN, random_state=seed, **how).fit(split.one.X, split.one.y)
        yield _filtered(name, clf, _both(split), split)


def _filtered(name: str, clf: FilterBoost, samples: tuple[Sample, Sample], split: Split) -> Outcome:
    """FilterBoost beside AdaBoost of as many stumps, found on all rows; without any there is none."""
    found = len(clf.alpha_[0])
    batch = [_stumps(sample, found, split) for sample in samples] if found else []
    notes = {"hypotheses": found, "stopped": clf.stopped_, "let through": clf.n_accepted_[0]}
    return Outcome(name, _share(clf.predict(split.X) != split.y), *batch, notes=notes)


def growing(split: Split, seed: int) -> Iterator[Outcome]:
    """Growing OCB beside one fitted on all rows with as many hypotheses; and one that does not grow.

    And growing OCB beside AdaBoost over the very hypotheses that it has at the end: the weights alone.
    """

    def rows(sample: Sample) -> Rows:
        return np.concatenate([sample.first_X, sample.X]), np.concatenate([sample.first_y, sample.y])

    def refitted(sample: Sample, n: int) -> float:
        return _share(OCBClassifier(n_hypotheses=n).fit(*rows(sample)).predict(split.X) != split.y)

    for name, budget in (("growing OCB", BUDGET), ("OCB that does not grow", None)):
        clf = OCBClassifier(n_hypotheses=J, grow=budget, random_state=seed)
        clf.fit(split.one.first_X, split.one.first_y).partial_fit(split.one.X, split.one.y)
        n = len(clf.hypotheses_)
        error = _share(clf.predict(split.X) != split.y)
        notes = {"hypotheses": n, "grown": clf.n_grown_ if budget else 0}
        yield Outcome(name, error, *(refitted(sample, n) for sample in _both(split)), notes=notes)
        if budget:
            batch = [_over(clf.hypotheses_, *rows(sample), split) for sample in _both(split)]
            yield Outcome("growing OCB, weights alone", error, *batch, notes=notes)


def _stumps(sample: Sample, n: int, split: Split) -> float:
    """Test error of AdaBoost, which finds and weights n stumps on a sample."""
    stumps = StumpLearner().learn(sample.X, sample.y, n_hypotheses=n)
    return _over(stumps, sample.X, sample.y, split)


def _over(hypotheses: Hypotheses, X: np.ndarray, y: np.ndarray, split: Split) -> float:
    """Test error of AdaBoost over given hypotheses."""
    alpha = adaboost(hypotheses.answers(X), y)
    return _share((hypotheses.answers(split.X) @ alpha > 0.0) != (split.y > 0))


def _of(clf: Any, sample: Sample, split: Split) -> float:
    """Test error of a classifier taught a sample's stream."""
    return _share(clf.fit(sample.X, sample.y).predict(split.X) != split.y)


def _both(split: Split) -> tuple[Sample, Sample]:
    return split.one, split.other


def _share(wrong: np.ndarray) -> float:
    return float(np.mean(wrong))


def outcomes(name: str, split: Split, seed: int) -> Iterator[Outcome]:
    """All methods on one split."""
    source = SOURCES[name]
    yield from weighers(split)
    yield from oza_bayes(split, seed, source.var_smoothing)
    if source.trees:
        yield from oza_trees(split, seed)
    yield from filterboost(split, seed)
    yield from growing(split, seed)
