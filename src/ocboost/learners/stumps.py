"""Discrete AdaBoost over decision stumps, on binned features."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_count
from ocboost._core.threads import get_num_threads
from ocboost._kernels.binning import MAX_BINS
from ocboost._kernels.learn_stumps import TIE, answer_column, renormalise, reweigh, sides, weigh
from ocboost.errors import InputError
from ocboost.hypotheses import Stumps
from ocboost.learners.base import CheckedExamples, Learner, weights_for_each
from ocboost.learners.bins import Bins, bins_of
from ocboost.learners.boosting import MIN_EDGE, step, worth_of_one

CRITERIA = ("error", "gini")
THREADS_ADVICE = "None takes as many as ocboost.get_num_threads() says."


class StumpLearner(Learner):
    """Finds stumps by AdaBoost: each next one errs least under the weights that the ones before left.

    Every feature is cut into bins once, at its distinct values or, where there are more than ``max_bins``, at
    its quantiles; missing values have a bin of their own. In every round the cut of least weighted error is
    taken, over all features, all edges of their bins, both signs and both answers to a missing value; the
    cut above all values, which always answers the same or only asks whether the value is missing, is one
    of them. Of equally good ones it is the first feature, at its lowest threshold. For another measure than
    the error see ``criterion``.

    A stump that is right on every example leaves the weights unchanged, and would be found for ever. Its
    feature is excluded from then on, so that others are there when a stream changes. Learning stops when no
    stump is better than chance: there can be fewer than asked for, but always one.

    Sparse matrices (CSR) are not made dense: a round visits the stored entries only.

    Parameters
    ----------
    max_bins : int, default 255
        The most bins of values that a feature gets, 2 to 255.
    criterion : {"error", "gini"}, default "error"
        What the next stump is best at: the least weighted error, or the least Gini impurity of its two sides,
        as in scikit-learn's AdaBoost. By impurity a missing value is on one of the sides, and each side
        answers as most of its weight wants. If both want the same, the stump is constant, with an infinite
        threshold. Many are, and fewer stumps differ. On fresh examples of the same kind "gini" is often a
        little better for that; in streams that change, where the weights of these stumps must follow, it was
        worse in most cases (``experiments/criterion.py``). Hence the default.
    n_threads : int, optional
        Threads that share the features; the stumps do not depend on it.
    edges : sequence of arrays, optional
        Where each feature is cut, in rising order, instead of at its values: at most ``max_bins`` - 1 edges
        for each of the features. With the edges that another fit has found (`ocboost.dask.DaskOCBClassifier`
        has them as ``edges_``) the same stumps are looked at. Not for sparse matrices.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [2.0, 3.0], [3.0, 4.0], [4.0, 2.0]])
    >>> stumps = StumpLearner().learn(X, np.array([1, 1, -1, -1]), n_hypotheses=3)
    >>> stumps.feature, stumps.threshold
    (array([0, 1, 1]), array([2.5, 2.5, 4.5]))
    >>> stumps.answers(X).T
    array([[ 1,  1, -1, -1],
           [ 1,  1,  1, -1],
           [ 1, -1, -1, -1]], dtype=int8)
    """

    accepts_missing = True
    accepts_sparse = True

    def __init__(
        self,
        max_bins: int = MAX_BINS,
        criterion: str = "error",
        n_threads: int | None = None,
        edges: Sequence[ArrayLike] | None = None,
    ) -> None:
        self.max_bins = as_count(max_bins, "max_bins", 2, MAX_BINS, "A bin's number must fit into a byte.")
        if criterion not in CRITERIA:
            raise InputError(
                f"criterion must be 'error' or 'gini'; got {criterion!r:.80}. "
                "'gini' cuts as scikit-learn's trees do."
            )
        self.criterion = criterion
        self.n_threads = (
            n_threads if n_threads is None else as_count(n_threads, "n_threads", 1, 1024, THREADS_ADVICE)
        )
        self.edges = None if edges is None else [_as_edges(each, f, max_bins) for f, each in enumerate(edges)]

    def __repr__(self) -> str:
        given = f"max_bins={self.max_bins}, criterion={self.criterion!r}, n_threads={self.n_threads}"
        given += "" if self.edges is None else f", edges=<of {len(self.edges)} features>"
        return f"StumpLearner({given})"

    def _learn(self, examples: CheckedExamples, n_hypotheses: int, rng: np.random.Generator) -> Stumps:
        return self._boost_each([examples], n_hypotheses)[0]

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
            The rows.
        targets : list of arrays of shape (n,), each of ±1
            The side each row is on.
        n_hypotheses : int
            The most for each target.
        sample_weight : array of shape (n,), or (targets, n) where they differ, optional
            1 each if left out.
        rng : numpy.random.Generator, optional
            Not used.
        n_jobs : int, optional
            Targets boosted at the same time, as joblib counts; the threads are shared among them.

        Returns
        -------
        list of Stumps
            One set for each target.
        """
        n_hypotheses = as_count(n_hypotheses, "n_hypotheses", 1, None, "")
        work: list[CheckedExamples] = []
        for y, own in zip(targets, weights_for_each(sample_weight, len(targets)), strict=True):
            work.append(self._examples(X, y, own))
            X = work[0].X  # converted once
        return self._boost_each(work, n_hypotheses, n_jobs)

    def _boost_each(
        self, work: list[CheckedExamples], n_hypotheses: int, n_jobs: int | None = None
    ) -> list[Stumps]:
        """Stumps for each target; all have the same X."""
        if not work:
            return []
        n_threads = get_num_threads() if self.n_threads is None else self.n_threads
        bins = bins_of(work[0].X, self.max_bins, n_threads, self.edges)
        gini, stop = self.criterion == "gini", threading.Event()
        if n_jobs is None or n_jobs == 1 or len(work) < 2:
            return [_boost(bins, y, w, n_hypotheses, gini, n_threads, stop) for _, y, w in work]
        from joblib import Parallel, delayed, effective_n_jobs

        share = max(1, n_threads // min(len(work), effective_n_jobs(n_jobs)))
        try:
            found: list[Stumps] = Parallel(n_jobs, prefer="threads")(
                delayed(_boost)(bins, y, w, n_hypotheses, gini, share, stop) for _, y, w in work
            )
        finally:
            stop.set()  # after Ctrl-C the other targets' threads end with their next round
        return found


def _boost(
    bins: Bins,
    y: NDArray[np.int8],
    weights: NDArray[np.float64],
    n_hypotheses: int,
    gini: bool,
    n_threads: int,
    stop: threading.Event,
) -> Stumps:
    n, one = bins.n_rows, worth_of_one(weights)
    d = weights.copy()
    rows, values = np.empty(n, np.uint32), np.empty(n)
    answers = np.empty(n, np.int8)
    search = bins.search(n_threads, y if gini else None)
    found: list[tuple[int, float, int, int]] = []
    factor, count = 0.0, n
    while len(found) < n_hypotheses and search.n_left and not stop.is_set():
        if len(found) % bins.refresh == 0:
            renormalise(d, y, rows, values)
            factor, count = 0.0, n
        f, cut, to_left = search.best(factor, rows[:count], values[:count])
        column = bins.column(f)
        weighed = sides(column, cut, d * y)
        if gini:
            left, right_answer, missing = answers_of_sides(*weighed, to_left)
            cut = cut if left != right_answer else int(bins.n_bins[f]) - 1
        else:
            left, missing = answers_of_least_error(*weighed)
        answer_column(column, cut, left, missing, answers)
        right, wrong, n_wrong = weigh(answers, y, d)
        if found and right - wrong <= MIN_EDGE * (right + wrong):
            break
        found.append((int(bins.feature[f]), bins.threshold(f, cut), left, missing))
        if wrong == 0.0:
            if np.unique(y[weights > 0.0]).size < 2:
                break  # there is nothing to tell apart
            search.exclude(f)
            factor, count = 1.0, 0
            continue
        up, down = step(right, wrong, one)
        listed = 2 * n_wrong > n  # list the fewer: the right ones, or the wrong ones
        count = reweigh(answers, y, d, up, down, listed, rows, values)
        factor = down if listed else up
    if not found:  # no feature tells examples apart: always the answer of the greater weight
        found.append((0, np.inf, 1 if weights @ y >= 0.0 else -1, 1 if weights @ y >= 0.0 else -1))
    feature, threshold, left_answer, missing_answer = zip(*found, strict=True)
    return Stumps(feature, threshold, left_answer, missing_answer, n_features=bins.n_features)


def _as_edges(edges: ArrayLike, f: int, max_bins: int) -> NDArray[np.float64]:
    """Check the edges of feature f."""
    given = np.asarray(edges)
    if given.ndim != 1 or given.dtype.kind not in "iuf" or not np.isfinite(given).all():
        raise InputError(f"edges must be lists of finite numbers; those of feature {f} are {edges!r:.80}.")
    if given.size >= max_bins or (given[1:] <= given[:-1]).any():
        raise InputError(
            f"edges must be at most max_bins - 1 = {max_bins - 1} for each feature, in rising order; feature "
            f"{f} has {given.size}: {edges!r:.80}."
        )
    return given.astype(np.float64)


def answers_of_least_error(below: float, above: float, other: float) -> tuple[int, int]:
    """The answers at or below the cut and to a missing value; above it is the opposite of below."""
    left = _wanted(below - above) or 1
    return left, _wanted(other) or -left


def answers_of_sides(below: float, above: float, other: float, to_left: bool) -> tuple[int, int, int]:
    """What most of the weight of each side wants: below, above, and for a missing value, which is on one.

    A side that is undecided answers the opposite of the other.
    """
    below, above = (below + other, above) if to_left else (below, above + other)
    left = _wanted(below) or -_wanted(above) or 1
    right = _wanted(above) or -left
    return left, right, left if to_left else right


def _wanted(signed: float) -> int:
    """The answer that a signed weight asks for; 0 where it is undecided but for rounding."""
    return 0 if abs(signed) <= TIE else 1 if signed > 0.0 else -1
