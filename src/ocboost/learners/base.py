"""What every learner of weak hypotheses has in common, and the checks of the examples it is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_count, as_weights
from ocboost.errors import InputError
from ocboost.hypotheses import Hypotheses
from ocboost.hypotheses.base import as_features


def as_labels(y: ArrayLike, n: int) -> NDArray[np.int8]:
    """Check labels, (n,) of -1 and +1, and return them as int8."""
    given = np.asarray(y)
    if given.shape != (n,):
        raise InputError(
            f"y must have one label for each of the {n} examples, shape ({n},); got shape {given.shape}."
        )
    if given.dtype.kind not in "iuf" or not np.isin(given, (-1, 1)).all():
        raise InputError(
            f"y must be -1 and +1; got {np.unique(given)[:5]!r:.80}. Convert with np.where(positive, 1, -1)."
        )
    return np.ascontiguousarray(given, dtype=np.int8)


class CheckedExamples(NamedTuple):
    """Examples that have been checked."""

    X: Any  # C-contiguous float32 or float64, or CSR
    y: NDArray[np.int8]
    weights: NDArray[np.float64]


class Learner:
    """Finds weak hypotheses by boosting: each next one is good where the ones before were wrong.

    A subclass implements ``_learn``, which gets checked examples, or overrides `learn`.
    """

    accepts_missing: bool = False
    accepts_sparse: bool = False

    def learn(
        self,
        X: Any,
        y: NDArray[np.int8],
        *,
        n_hypotheses: int,
        sample_weight: NDArray[np.float64] | None = None,
        rng: np.random.Generator | None = None,
    ) -> Any:
        """Find hypotheses in examples.

        Parameters
        ----------
        X : array of shape (n, F), or CSR matrix where ``accepts_sparse``
            The rows.
        y : array of shape (n,), each -1 or +1
            The side each row is on.
        n_hypotheses : int
            The most to find; at least one is found.
        sample_weight : array of shape (n,), optional
            1 each if left out.
        rng : numpy.random.Generator, optional
            For learners that draw examples.

        Returns
        -------
        Hypotheses
            In the order in which they were found.
        """
        n_hypotheses = as_count(n_hypotheses, "n_hypotheses", 1, None, "")
        examples = self._examples(X, y, sample_weight)
        return self._learn(examples, n_hypotheses, np.random.default_rng() if rng is None else rng)

    def _learn(self, examples: CheckedExamples, n_hypotheses: int, rng: np.random.Generator) -> Hypotheses:
        raise NotImplementedError(f"{type(self).__name__} implements neither _learn nor learn")

    def _examples(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> CheckedExamples:
        X = as_features(X, sparse=self.accepts_sparse, what=self._name)
        if X.ndim != 2 or 0 in X.shape:
            raise InputError(
                f"X must be a matrix of at least one example and one feature; got shape {X.shape}. "
                "One example alone is X.reshape(1, -1)."
            )
        weights = as_weights(sample_weight, X.shape[0])
        total = float(weights.sum())
        if not 0.0 < total < np.inf:
            raise InputError(
                f"sample_weight must have a finite sum above zero; got {total}. Give 1.0 to each example."
            )
        return CheckedExamples(X, as_labels(y, X.shape[0]), weights)

    @property
    def _name(self) -> str:
        """What messages call it."""
        return type(self).__name__

    def learn_each(
        self,
        X: Any,
        targets: Sequence[NDArray[np.int8]],
        *,
        n_hypotheses: int,
        sample_weight: NDArray[np.float64] | None = None,
        rng: np.random.Generator | None = None,
        n_jobs: int | None = None,
    ) -> Sequence[Hypotheses]:
        """Find hypotheses for each of several targets.

        ``sample_weight`` is of shape (n,), or (targets, n) where they differ from target to target.
        Each target draws from a generator of its own, so that ``n_jobs`` changes nothing.

        Parameters
        ----------
        X : array of shape (n, F), or CSR matrix where ``accepts_sparse``
            The rows.
        targets : sequence of arrays of shape (n,), each -1 or +1
            The side each row is on.
        n_hypotheses : int
            The most for each.
        sample_weight : array of shape (n,), or (targets, n), optional
            1 each if left out.
        rng : numpy.random.Generator, optional
            Where it draws from.
        n_jobs : int, optional
            How many are learnt at the same time.

        Returns
        -------
        list of Hypotheses
            One set for each target.
        """
        rngs = [None] * len(targets) if rng is None else rng.spawn(len(targets))

        def learn(
            y: NDArray[np.int8], weights: NDArray[np.float64] | None, own: np.random.Generator | None
        ) -> Any:
            return self.learn(X, y, n_hypotheses=n_hypotheses, sample_weight=weights, rng=own)

        work = list(zip(targets, weights_for_each(sample_weight, len(targets)), rngs, strict=True))
        if n_jobs is None or n_jobs == 1 or len(targets) < 2:
            return [learn(*each) for each in work]
        from joblib import Parallel, delayed

        found: list[Hypotheses] = Parallel(n_jobs, prefer="threads")(delayed(learn)(*each) for each in work)
        return found


def weights_for_each(
    sample_weight: NDArray[np.float64] | None, n_targets: int
) -> list[NDArray[np.float64] | None]:
    """The weights of the examples for each target: rows of a matrix, or the same for all."""
    if sample_weight is not None and np.ndim(sample_weight) == 2:
        return list(sample_weight)
    return [sample_weight] * n_targets
