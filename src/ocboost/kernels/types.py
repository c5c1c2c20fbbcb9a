"""Names for the arrays that kernels pass around."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Whole: TypeAlias = Any  # a whole number, which in a kernel is int64 and in Python an int or an np.int64
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Units: TypeAlias = NDArray[np.int32]
Words: TypeAlias = NDArray[np.uint64]
WordVector: TypeAlias = NDArray[np.uint64]
Int8Matrix: TypeAlias = NDArray[np.int8]
Halves: TypeAlias = NDArray[np.uint16]  # the bits of float16


class Tail(NamedTuple):
    """The sums over all examples that have left the head, at the α they were taken at.

    A sketch has one tail (t = 1); while two sketches are merged there are two.

    Row j of a sign σ holds ``p^σ_jk = W^σ_jk / W^σ_jj`` for the coordinates k of its band, the ``order``
    ones just before j, and ``W^σ_jj`` as a scaled number (`ocboost.kernels.scaled`). Storing p and not
    W_jk keeps every pair in [0, 1], whatever the weights; the log scale lives on the diagonal alone.

    A coordinate that was appended later (`ocboost.reshaping`) holds only the examples since then, a share of
    those of the coordinate before it.
    """

    p_plus: Floats  # (t, pairs): rows of the band, one after the other, see `row_start`
    p_minus: Floats
    W: Floats  # (t, 2, J): W⁺_jj, W⁻_jj
    W_unit: Ints
    alpha: Floats  # (t, J): the α at which the sums were taken
    exp_alpha: Floats  # (t, J): exp(α), where |α| is moderate: it saves an exponential for each row
    share: Floats  # (t, J): of what leaves the coordinate before, how much row j holds; 1 but for latecomers
    total: Floats  # (t,): T₀ = Σw of the examples in the tail
    total_unit: Ints


class Head(NamedTuple):
    """The most recent examples, kept exactly: margins as bits in a ring of blocks, and weights."""

    words: Words  # (blocks, J)
    weight: Floats  # (64 · blocks,)
    weight_unit: Units  # (64 · blocks,)


class Light(NamedTuple):
    """The sums over the light examples, carried by a weighted sample of them (`ocboost.kernels.carried`).

    A sketch has one (t = 1); while two sketches are merged there are two. The sample itself lies in the
    head, before the examples that are kept exactly.
    """

    L: Floats  # (t, 2, J): L⁺_j, L⁻_j, all light examples' weight at the anchor
    L_unit: Units
    A: Floats  # (t, 2, J): A⁺_j, A⁻_j, their sample's
    A_unit: Units
    anchor: Floats  # (t, J): the α at which these sums were taken
    delta: Halves  # (t, 2, pairs + PAD): δ^σ_jk, row after row; without pairs (t, 2, 0)
