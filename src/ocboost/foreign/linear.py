"""Linear models and projections."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError
from ocboost.foreign.base import (
    Floats,
    Make,
    Mask,
    PortableClassifier,
    PortableStep,
    as_floats,
    choice,
    flag,
    numbers,
    require_present,
    width,
)
from ocboost.foreign.slots import Planned, Slot, claim_numbers, made_slots

LINKS = ("logistic", "softmax", "huber")
_MAX_PRODUCTS = 1 << 20  # computed at a time


def products(X: Floats, weights: Floats) -> Floats:
    """X·weightsᵀ, (n, K).

    Not with BLAS, where a row's sum would depend on how many others come with it.
    """
    X = np.ascontiguousarray(X)
    out = np.empty((X.shape[0], len(weights)))
    step = max(1, _MAX_PRODUCTS // max(1, X.shape[1]))
    for start in range(0, X.shape[0], step):
        for k, row in enumerate(weights):
            out[start : start + step, k] = (X[start : start + step] * row).sum(axis=1)
    return out


def softmax(scores: Floats) -> Floats:
    """Probabilities in proportion to exp(score)."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


class LinearClassifier(PortableClassifier):
    """Scores x·coef + intercept, one for two classes or one for each, and a link to probabilities.

    The link "logistic" is 1 / (1 + exp(-score)), for several scores divided by their sum; "softmax" of a
    single score d is that of -d and d; "huber" is the score cut to ±1, as SGDClassifier's modified_huber.
    ``scored`` says whether the scores are a ``decision_function``.
    """

    kind = "LinearClassifier"
    _entries = ("coef", "intercept", "link", "scored")

    def __init__(self, coef: Floats, intercept: Floats, link: str, scored: bool = True) -> None:
        self.coef = numbers(coef, "coef", None, None)
        rows, self.n_columns = self.coef.shape
        width(self.n_columns, "the columns of coef")
        self.intercept = numbers(intercept, "intercept", rows)
        self.link, self.scored = choice(link, "link", LINKS), flag(scored, "scored")
        if not rows:
            raise InputError("coef must have a row for each score; got none.")
        self.n_classes = 2 if rows == 1 else rows

    def _raw(self, X: Floats) -> Floats:
        require_present(X, "a linear model")
        with np.errstate(over="ignore", invalid="ignore"):
            return products(X, self.coef) + self.intercept

    def scores(self, X: Floats) -> Floats:
        """The decision function."""
        raw = self._raw(X)
        return raw[:, 0] if len(self.coef) == 1 else raw

    def probabilities(self, X: Floats) -> Floats:
        """The link of the scores."""
        with np.errstate(invalid="ignore"):
            return linked(self._raw(X), self.link)

    def predict_codes(self, X: Floats) -> NDArray[np.int64]:
        """The sign of the score, or the largest score."""
        raw = self._raw(X)
        found = raw[:, 0] > 0.0 if len(self.coef) == 1 else np.argmax(raw, axis=1)
        return found.astype(np.int64)


def linked(raw: Floats, link: str) -> Floats:
    """Scores (n, 1) or (n, K) as probabilities, rounded as scikit-learn does."""
    from scipy.special import expit

    if link == "softmax":
        return softmax(np.hstack([-raw, raw]) if raw.shape[1] == 1 else raw)
    share = expit(raw) if link == "logistic" else (np.clip(raw, -1.0, 1.0) + 1.0) / 2.0
    if share.shape[1] == 1:
        return np.hstack([1.0 - share, share])
    total = share.sum(axis=1)
    none = total == 0.0
    share[none], total[none] = 1.0, share.shape[1]
    return np.asarray(share / total[:, None])


class Projection(PortableStep):
    """Products with components, minus ``subtract``, divided by ``divide``: PCA and the like."""

    kind = "Projection"
    _entries = ("components", "subtract", "divide")

    def __init__(self, components: Floats, subtract: Floats, divide: Floats) -> None:
        self.components = numbers(components, "components", None, None)
        self.n_out, self.n_columns = self.components.shape
        width(max(self.components.shape), "the components")
        self.subtract = numbers(subtract, "subtract", self.n_out)
        self.divide = numbers(divide, "divide", self.n_out)
        if not self.divide.all():
            raise InputError("divide must not be zero.")

    def __call__(self, X: Floats) -> Floats:
        """Project the rows."""
        require_present(X, "a projection (PCA, TruncatedSVD)")
        return np.asarray((products(X, self.components) - self.subtract) / self.divide)

    def missing_after(self, missing: Mask) -> Mask | None:
        """It refuses missing values."""
        return None if missing.any() else np.zeros(self.n_out, np.bool_)

    def needs(self, wanted: Mask) -> Mask:
        """All, as none may be missing."""
        return np.ones(self.n_columns, np.bool_)


# Reading ----------------------------------------------------------------------------------------------------


def plan_projection(fitted: Any, slots: list[Slot], where: str) -> Planned:
    """PCA, IncrementalPCA or TruncatedSVD."""
    claim_numbers(slots, where)
    components = as_floats(fitted.components_)
    mean = getattr(fitted, "mean_", None)
    subtract = np.zeros(len(components)) if mean is None else products(as_floats(mean)[None], components)[0]
    divide = np.ones(len(components))
    if getattr(fitted, "whiten", False):
        divide = np.maximum(np.sqrt(as_floats(fitted.explained_variance_)), np.finfo(np.float64).eps)
    step = Projection(components, subtract, divide)
    return Planned(lambda: step, made_slots(step.n_out, where))


def plan_linear(fitted: Any, slots: list[Slot], where: str) -> Make:
    """A linear classifier; one that only decides gets the logistic link, or softmax for several classes."""
    claim_numbers(slots, where)
    coef = np.atleast_2d(as_floats(_dense(fitted.coef_)))
    model = LinearClassifier(coef, as_floats(fitted.intercept_, len(coef)), _link(fitted))
    return lambda: model


def _dense(coef: Any) -> Any:
    return coef.toarray() if hasattr(coef, "toarray") else coef  # after sparsify()


def _link(fitted: Any) -> str:
    name, two = type(fitted).__name__, len(fitted.classes_) == 2
    if name.startswith("LogisticRegression"):
        way = getattr(fitted, "multi_class", "auto")  # before scikit-learn 1.8
        ovr = way == "ovr" or (way != "multinomial" and (two or fitted.solver == "liblinear"))
        return "logistic" if ovr else "softmax"
    if name == "SGDClassifier" and fitted.loss in ("log_loss", "modified_huber"):
        return "logistic" if fitted.loss == "log_loss" else "huber"
    return "logistic" if two else "softmax"


def plan_multinomial(fitted: Any, slots: list[Slot], where: str) -> Make:
    """MultinomialNB: its joint log-likelihood is linear."""
    claim_numbers(slots, where)
    coef = as_floats(fitted.feature_log_prob_)
    model = LinearClassifier(coef, as_floats(fitted.class_log_prior_, len(coef)), "softmax", False)
    return lambda: model
