"""Discrete AdaBoost over decision stumps, on binned features."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..hypotheses import Stumps
from ..kernels.binning import MOST
from ..kernels.learn_stumps import answer_column, renormalise, reweigh, sides, weigh
from ..margins import as_count
from ..threads import get_num_threads
from .base import Learner
from .binned import Bins, bins_of
from .examples import as_examples, as_labels
from .reweighting import CHANCE, step, worth_of_one

THREADS_ADVICE = "None takes as many as ocboost.get_num_threads() says."


class StumpLearner(Learner):
    """Finds stumps by AdaBoost: each next one errs least under the weights that the ones before left.

    Every feature is cut into bins once, at its distinct values or, where there are more than ``max_bins``, at
    its quantiles; missing values have a bin of their own. In every round the cut of least weighted error is
    taken, over all features, all edges of their bins, both signs and both answers to a missing value; the
    cut above all values, which answers always the same or asks only whether the value is missing, is among
    them. Of equally good ones it is the first feature, at its lowest threshold.

    A stump that is right on every example leaves the weights as they were, and would be found for ever:
    learning stops after it. It stops as well when no stump is better than chance. So there can be fewer
    stumps than asked for, but always one.

    Sparse matrices (CSR) are not made dense: a round visits the stored entries only.

    Parameters
    ----------
    max_bins : int, default 255
        At most so many bins of values for each feature, 2 to 255.
    n_threads : int, optional
        Threads that share the features; the stumps do not depend on it.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [2.0, 1.0], [3.0, 4.0], [4.0, 2.0]])
    >>> stumps = StumpLearner().learn(X, np.array([1, 1, -1, -1]), n_hypotheses=10)
    >>> stumps.feature, stumps.threshold, stumps.left
    (array([0]), array([2.5]), array([1], dtype=int8))
    """

    accepts_missing = True
    accepts_sparse = True

    def __init__(self, max_bins: int = MOST, n_threads: int | None = None) -> None:
        self.max_bins = as_count(max_bins, "max_bins", 2, MOST, "A bin's number must fit into a byte.")
        self.n_threads = (
            n_threads if n_threads is None else as_count(n_threads, "n_threads", 1, 1024, THREADS_ADVICE)
        )

    def __repr__(self) -> str:
        return f"StumpLearner(max_bins={self.max_bins}, n_threads={self.n_threads})"

    def learn(
        self,
        X: Any,
        y: NDArray[np.int8],
        *,
        n_hypotheses: int,
        sample_weight: NDArray[np.float64] | None = None,
        rng: np.random.Generator | None = None,
    ) -> Stumps:
        """Find at most ``n_hypotheses`` stumps; ``rng`` is not used."""
        return self.learn_each(X, [y], n_hypotheses=n_hypotheses, sample_weight=sample_weight)[0]

    def learn_each(
        self,
        X: Any,
        targets: Sequence[NDArray[np.int8]],
        *,
        n_hypotheses: int,
        sample_weight: NDArray[np.float64] | None = None,
        rng: np.random.Generator | None = None,
        n_jobs: int | None = None,
    ) -> list[Stumps]:
        """Find stumps for each of several targets; the features are binned once for all of them.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, F), float32 or float64
        targets : list of arrays of shape (n,), each of ±1
        n_hypotheses : int
            At most so many for each target.
        sample_weight : array of shape (n,), optional
        rng : numpy.random.Generator, optional
            Not used.
        n_jobs : int, optional
            Targets boosted at the same time, as joblib counts; the threads are shared among them.
        """
        n_hypotheses = as_count(n_hypotheses, "n_hypotheses", 1, None, "")
        X, weights = as_examples(X, sample_weight, sparse=True, what="StumpLearner")
        labels = [as_labels(y, X.shape[0]) for y in targets]
        n_threads = get_num_threads() if self.n_threads is None else self.n_threads
        bins = bins_of(X, self.max_bins, n_threads)
        stop = threading.Event()
        if n_jobs is None or n_jobs == 1 or len(labels) < 2:
            return [_boost(bins, y, weights, n_hypotheses, n_threads, stop) for y in labels]
        from joblib import Parallel, delayed, effective_n_jobs

        share = max(1, n_threads // min(len(labels), effective_n_jobs(n_jobs)))
        try:
            found: list[Stumps] = Parallel(n_jobs, prefer="threads")(
                delayed(_boost)(bins, y, weights, n_hypotheses, share, stop) for y in labels
            )
        finally:
            stop.set()  # after Ctrl-C the other targets' threads end with their next round
        return found


def _boost(
    bins: Bins,
    y: NDArray[np.int8],
    weights: NDArray[np.float64],
    n_hypotheses: int,
    n_threads: int,
    stop: threading.Event,
) -> Stumps:
    n, one = bins.n_rows, worth_of_one(weights)
    d = weights.copy()
    rows, values = np.empty(n, np.uint32), np.empty(n)
    answers = np.empty(n, np.int8)
    search = bins.search(n_threads)
    found: list[tuple[int, float, int, int]] = []
    factor, count = 0.0, n
    while len(found) < n_hypotheses and bins.feature.size and not stop.is_set():
        if len(found) % bins.refresh == 0:
            renormalise(d, y, rows, values)
            factor, count = 0.0, n
        f, cut = search.best(factor, rows[:count], values[:count])
        column = bins.column(f)
        difference, other = sides(column, cut, d * y)
        left = 1 if difference >= 0.0 else -1
        missing = (1 if other > 0.0 else -1) if bins.missing[f] and other != 0.0 else -left
        answer_column(column, cut, left, missing, answers)
        right, wrong, n_wrong = weigh(answers, y, d)
        if found and right - wrong <= CHANCE * (right + wrong):
            break
        found.append((int(bins.feature[f]), bins.threshold(f, cut), left, missing))
        if wrong == 0.0:
            break
        up, down = step(right, wrong, one)
        listed = 2 * n_wrong > n  # list the fewer: the right ones, or the wrong ones
        count = reweigh(answers, y, d, up, down, listed, rows, values)
        factor = down if listed else up
    if not found:  # no feature tells examples apart: always the answer of the greater weight
        found.append((0, np.inf, 1 if weights @ y >= 0.0 else -1, 1 if weights @ y >= 0.0 else -1))
    feature, threshold, left_answer, missing_answer = zip(*found, strict=True)
    return Stumps(feature, threshold, left_answer, missing_answer, n_features=bins.n_features)
