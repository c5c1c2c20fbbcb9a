"""Batch AdaBoost over fixed hypotheses in their order, and the exact incremental form of it.

Schapire and Singer's form: d_1 = w, W^σ_j = Σ_{i: m_ij = σ} d_ij, α_j = ½ log(W⁺_j / W⁻_j) and
d_{i,j+1} = d_ij exp(-α_j m_ij). The hypotheses stay as they are and in their order; only α is learnt.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ocboost._core.checks import as_count, as_margins, as_number, as_row, as_weight, as_weights
from ocboost._core.locks import Guard, reads, writes
from ocboost._ctrl_c import uninterrupted
from ocboost._kernels.arrays import Floats, Head, Int8s
from ocboost._kernels.bits import pack_rows
from ocboost._kernels.solve import Solution, make_solution, solve
from ocboost._kernels.tail import BALANCED
from ocboost.boosters.base import SMOOTHING_ADVICE, Copied
from ocboost.boosters.sketch.fold import Workspace, fold_pairs
from ocboost.boosters.sketch.state import (
    copied_arrays,
    dense_sums,
    empty_head,
    empty_tail,
    resized_head,
    ring_blocks,
)
from ocboost.errors import InputError


class AdaBoostSums(NamedTuple):
    """AdaBoost's weights and the sums a sketch can start from (the paper's Option 2).

    Attributes
    ----------
    alpha : array of shape (J,)
        The weights.
    W_plus : array of shape (J, J)
        Pair sums of what is right, as `adaboost_sums` has them.
    W_minus : array of shape (J, J)
        The same of what is wrong.
    """

    alpha: Floats  #: (J,)
    W_plus: Floats  #: (J, J): W⁺_jk for k <= j, the weight at j of margin +1 at both j and k
    W_minus: Floats  #: (J, J): W⁻_jk, likewise for margin -1


def _packed(margins: Int8s, weights: Floats) -> Head:
    n, J = margins.shape
    head = empty_head(J, ring_blocks(n))
    pack_rows(margins, head.words, 0)
    head.weight[:n] = weights
    return head


def _solve(head: Head, n: int, n_fold: int, smoothing: float, solution: Solution) -> Floats:
    """AdaBoost is a solve with no tail."""
    no_tail = empty_tail(solution.alpha.size, 1, pairs=False)
    solve(no_tail, 1, BALANCED, head, 0, n, n_fold, smoothing, 1.0, 0, solution, False)
    return solution.alpha.copy()


def adaboost_weights(
    margins: ArrayLike, *, smoothing: float = 1.0, sample_weight: ArrayLike | None = None
) -> Floats:
    """Batch AdaBoost's weights of fixed hypotheses, in column order.

    Parameters
    ----------
    margins : array of shape (n, J)
        ``y_i h_j(x_i)``: +1 where hypothesis j is right on example i, -1 where it is wrong.
    smoothing : float, default 1.0
        ε, in units of sample weight: with weights of one it is worth so many examples.
        ``α_j = ½ log((W⁺_j + ε_j) / (W⁻_j + ε_j))`` with ``ε_j = ε (W⁺_j + W⁻_j) / Σw``.
    sample_weight : array of shape (n,), optional
        Weights of the examples, finite and not negative; all one if left out.

    Returns
    -------
    array of shape (J,)
        α, finite for any margins.

    Examples
    --------
    >>> adaboost_weights([[1, 1], [1, -1], [1, 1], [-1, 1]], smoothing=0).round(3)
    array([0.549, 0.805])
    """
    rows = as_margins(margins)
    weights = as_weights(sample_weight, rows.shape[0])
    smoothing = as_number(smoothing, "smoothing", 0.0, np.inf, SMOOTHING_ADVICE)
    n, J = rows.shape
    return _solve(_packed(rows, weights), n, 0, smoothing, make_solution(J, 1, n))


def adaboost_sums(
    margins: ArrayLike,
    *,
    order: int | None = None,
    smoothing: float = 1.0,
    sample_weight: ArrayLike | None = None,
) -> AdaBoostSums:
    """Batch AdaBoost's weights together with its pair sums W⁺ and W⁻.

    ``W_plus[j, j]`` is the weight, at coordinate j, of the examples that hypothesis j gets right, and
    ``W_plus[j, k]`` (k < j, within ``order``) the part of it that k gets right as well; ``W_minus``
    likewise for wrong. Parameters as for `adaboost_weights`.

    Parameters
    ----------
    margins : array of shape (n, J), each -1 or +1
        As for `adaboost_weights`, like those that follow.
    order : int, optional
        How many earlier coordinates the sums look back to; all if left out.
    smoothing : float, default 1.0
        ε.
    sample_weight : array of shape (n,), optional
        1 each if left out.

    Returns
    -------
    AdaBoostSums
        The weights and the sums.

    Examples
    --------
    >>> sums = adaboost_sums([[1, 1], [1, -1], [1, 1], [-1, 1]])
    >>> sums.W_plus[0, 0], sums.W_minus[0, 0]
    (np.float64(3.0), np.float64(1.0))
    """
    rows = as_margins(margins)
    n, J = rows.shape
    weights = as_weights(sample_weight, n)
    order = J if order is None else as_count(order, "order", 1, J, "None takes every earlier coordinate.")
    smoothing = as_number(smoothing, "smoothing", 0.0, np.inf, SMOOTHING_ADVICE)
    head, work, tail = _packed(rows, weights), Workspace(J, n, n), empty_tail(J, order)
    alpha = _solve(head, n, n, smoothing, work.solution)
    fold_pairs(tail, head, 0, n, order, BALANCED, work)
    return AdaBoostSums(alpha, *dense_sums(tail, order))


def approximation_error(reference: ArrayLike, alpha: ArrayLike) -> float:
    """How far two weight vectors point apart: ``½ ‖reference/‖reference‖₁ - alpha/‖alpha‖₁‖₁``.

    0 for vectors of one direction, 1 for opposite ones (section 4 of the paper). A vector of zeros has no
    direction: against another one of zeros the error is 0, against anything else ½.

    Parameters
    ----------
    reference : array of shape (J,)
        The weights to compare with.
    alpha : array of shape (J,)
        Other weights.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    InputError
        If they differ in shape, or are not finite.

    Examples
    --------
    >>> approximation_error([1, 1], [2, 2]), approximation_error([1, 1], [1, 0])
    (0.0, 0.5)
    """
    a, b = np.asarray(reference), np.asarray(alpha)
    if a.dtype.kind not in "iuf" or b.dtype.kind not in "iuf":
        raise InputError(
            f"reference and alpha must be vectors of numbers; got arrays of dtype {a.dtype} and {b.dtype}."
        )
    a, b = a.astype(np.float64), b.astype(np.float64)
    if a.ndim != 1 or a.shape != b.shape or a.size == 0:
        raise InputError(
            f"reference and alpha must be vectors of the same length; got shapes {a.shape} and {b.shape}."
        )
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise InputError("reference and alpha must be finite; got a NaN or an infinity.")

    def direction(x: Floats) -> Floats:
        largest = float(np.abs(x).max())
        if largest == 0.0:
            return x
        x = x / largest  # so that the sum cannot overflow
        return x / float(np.abs(x).sum())

    return float(0.5 * np.abs(direction(a) - direction(b)).sum())


class IncrementalAdaBoost(Copied):
    """AdaBoost retrained at every example, the yardstick that an online algorithm is measured by.

    The exact incremental form (equation 7), ``W^σ_j = Σ_{i: m_ij=σ} d^N_ij Π_{k<j} e^{-Δα_k m_ik} + g^σ_j``,
    needs the margins of all earlier examples. With them at hand the sum regroups to AdaBoost's own,
    ``d^N_ij Π_{k<j} e^{-Δα_k m_ik} = exp(-Σ_{k<j} α^{N+1}_k m_ik)``, and that is computed: memory grows by
    J/8 bytes for each example, and the weights after the n-th one cost O(n J) when they are read.

    Parameters
    ----------
    n_hypotheses : int
        J.
    smoothing : float, default 1.0
        As for `adaboost_weights`.

    Examples
    --------
    >>> exact = IncrementalAdaBoost(2)
    >>> exact.update_many([[1, 1], [1, -1], [1, 1], [-1, 1]])
    >>> bool(np.allclose(exact.alpha, adaboost_weights([[1, 1], [1, -1], [1, 1], [-1, 1]])))
    True
    """

    def __init__(self, n_hypotheses: int, *, smoothing: float = 1.0) -> None:
        self.n_hypotheses = as_count(n_hypotheses, "n_hypotheses", 1, None, "")
        self.smoothing = as_number(smoothing, "smoothing", 0.0, np.inf, SMOOTHING_ADVICE)
        self._head = empty_head(self.n_hypotheses, 1)
        self._n = 0
        self._guard: Guard[Floats] = Guard()

    def __repr__(self) -> str:
        return f"IncrementalAdaBoost({self.n_hypotheses}, smoothing={self.smoothing!r})"

    @property
    def n_seen(self) -> int:
        """Examples taken in."""
        return self._n

    @property
    def alpha(self) -> Floats:
        """The weights of AdaBoost on everything seen, (J,)."""
        return self._guard.view(self._weights).copy()

    def _weights(self) -> Floats:
        solution = make_solution(self.n_hypotheses, 1, self._n)
        return _solve(self._head, self._n, 0, self.smoothing, solution)

    def update(self, row: ArrayLike, sample_weight: float = 1.0) -> None:
        """Add one example.

        Parameters
        ----------
        row : array of shape (J,), each -1 or +1
            Its margins.
        sample_weight : float, default 1.0
            Not negative.
        """
        self._take(as_row(row, self.n_hypotheses), as_weight(sample_weight))

    def update_many(self, margins: ArrayLike, *, sample_weight: ArrayLike | None = None) -> None:
        """Add several examples.

        Parameters
        ----------
        margins : array of shape (n, J), each -1 or +1
            A row for each example.
        sample_weight : array of shape (n,), optional
            1 each if left out.
        """
        rows = as_margins(margins, self.n_hypotheses)
        self._take(rows, as_weights(sample_weight, rows.shape[0]))

    @writes
    def _take(self, rows: Int8s, weights: Floats) -> None:
        n = self._n + rows.shape[0]
        with uninterrupted():
            if n > self._head.weight.size:
                self._head = resized_head(
                    self._head, 0, self._n, max(ring_blocks(n), 2 * self._head.words.shape[0])
                )
            pack_rows(rows, self._head.words, self._n)
            self._head.weight[self._n : n] = weights
            self._n = n

    @reads
    def copy(self) -> Self:
        """One of its own with the same examples.

        Returns
        -------
        IncrementalAdaBoost
            It learns by itself.
        """
        other = type(self)(self.n_hypotheses, smoothing=self.smoothing)
        other._head, other._n = copied_arrays(self._head), self._n
        return other
