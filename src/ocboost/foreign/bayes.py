"""Gaussian naive Bayes, and models that give every row the same answer."""

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
    as_floats,
    integers,
    largest,
    not_portable,
    numbers,
    require_present,
    width,
)
from ocboost.foreign.slots import Slot, claim_numbers


class GaussianBayes(PortableClassifier):
    """A normal distribution for each feature and class."""

    kind = "GaussianBayes"
    _entries = ("log_prior", "mean", "variance")

    def __init__(self, log_prior: Floats, mean: Floats, variance: Floats) -> None:
        self.log_prior = numbers(log_prior, "log_prior", None)
        self.n_classes = self.log_prior.size
        self.mean = numbers(mean, "mean", self.n_classes, None)
        self.n_columns = width(self.mean.shape[1], "the columns of mean")
        self.variance = numbers(variance, "variance", *self.mean.shape)
        if self.n_classes < 2 or not (self.variance > 0.0).all():
            raise InputError("mean and variance must be of two classes or more, with variances above zero.")
        self._constant = -0.5 * np.log(2.0 * np.pi * self.variance).sum(axis=1)

    def _likelihood(self, X: Floats) -> Floats:
        require_present(X, "GaussianNB")
        X = np.ascontiguousarray(X)
        out = np.empty((X.shape[0], self.n_classes))
        for k in range(self.n_classes):
            far = ((X - self.mean[k]) ** 2 / self.variance[k]).sum(axis=1)
            out[:, k] = self.log_prior[k] + (self._constant[k] - 0.5 * far)
        return out

    def probabilities(self, X: Floats) -> Floats:
        """Bayes' rule."""
        from scipy.special import logsumexp

        joint = self._likelihood(X)
        return np.asarray(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)))

    def predict_codes(self, X: Floats) -> NDArray[np.int64]:
        """The most likely class."""
        return largest(self._likelihood(X))


class FixedAnswer(PortableClassifier):
    """The same probabilities and the same class for every row."""

    kind = "FixedAnswer"
    _entries = ("n_columns", "shares", "code")
    accepts_missing = True

    def __init__(self, n_columns: int, shares: Floats, code: NDArray[np.int64]) -> None:
        self.n_columns = width(n_columns, "n_columns")
        self.shares = numbers(shares, "shares", None)
        self.n_classes = self.shares.size
        self.code = integers(code, "code", 1, least=0, most=self.n_classes - 1)
        if (self.shares < 0.0).any() or abs(self.shares.sum() - 1.0) > 1e-6:
            raise InputError(f"shares must not be negative, and sum to 1; got {shares!r:.80}.")

    def probabilities(self, X: Floats) -> Floats:
        """The shares, for each row."""
        return np.tile(self.shares, (X.shape[0], 1))

    def predict_codes(self, X: Floats) -> NDArray[np.int64]:
        """The class, for each row."""
        return np.repeat(self.code, X.shape[0])

    def needs(self) -> Mask:
        """Nothing."""
        return np.zeros(self.n_columns, np.bool_)


# Reading ----------------------------------------------------------------------------------------------------


def plan_gaussian(fitted: Any, slots: list[Slot], where: str) -> Make:
    """GaussianNB."""
    claim_numbers(slots, where)
    model = GaussianBayes(
        np.log(as_floats(fitted.class_prior_)), as_floats(fitted.theta_), as_floats(fitted.var_)
    )
    return lambda: model


def plan_dummy(fitted: Any, slots: list[Slot], where: str) -> Make:
    """DummyClassifier, unless it answers at random."""
    if fitted.strategy in ("stratified", "uniform"):
        raise not_portable(f"{where}, a DummyClassifier that answers at random")
    prior = as_floats(fitted.class_prior_)
    code = int(np.argmax(prior))
    if fitted.strategy == "constant":
        code = int(np.flatnonzero(fitted.classes_ == fitted.constant)[0])
    shares = prior if fitted.strategy == "prior" else np.eye(prior.size)[code]
    model = FixedAnswer(len(slots), shares, np.array([code]))
    return lambda: model
