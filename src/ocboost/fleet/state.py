"""What all keys of a fleet share: common weights, and how far to trust a key's own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._kernels.arrays import Bytes, Floats, Ints
from ocboost._kernels.fleet import N_SCORES, Trust
from ocboost.fleet.record import ExampleCode
from ocboost.hypotheses.adaboost import MAX_WEIGHT

STATE_KIND = "FleetState"
REFRESH = 500  # rows, of any keys, after which the common weights are computed anew
N_AGES = 10  # a key's age is the power of two that its examples have passed
EVIDENCE = np.array([-2.0, 2.0, 8.0])  # between the kinds of keys by evidence
N_CELLS = N_AGES * (len(EVIDENCE) + 1)
AT_FIRST = (1.0, 0.0, 0.5)  # trust in the common weights, in what the deployed ones add, and a key's own


def cells_of(seen: Ints, evidence: Floats) -> Ints:
    """Which trust applies to keys of so many examples and this evidence.

    >>> cells_of(np.array([0, 3, 1_000]), np.array([0.0, 9.0, -5.0])).tolist()
    [1, 11, 36]
    """
    age = np.minimum(np.log2(seen + 1.0).astype(np.int64), N_AGES - 1)
    cells: Ints = age * (len(EVIDENCE) + 1) + np.digitize(evidence, EVIDENCE)
    return cells


def trust_at_first() -> Trust:
    """Before any row: the common weights, and half of what a key adds."""
    return Trust(np.tile(np.array(AT_FIRST), (N_CELLS, 1)), np.zeros((N_CELLS, N_SCORES, N_SCORES)))


@dataclass(frozen=True)
class FleetState:
    """The shared part of a fleet after some rows; a change makes another one."""

    alphas: list[Floats]  # the common weights, of each booster
    trust: Trust
    pending: Bytes  # rows since the common weights were computed
    rows: int = 0
    right: int = 0
    deployed_right: int = 0

    def draft(self) -> Self:
        """A copy whose trust may be changed."""
        return replace(self, trust=Trust(self.trust.beta.copy(), self.trust.gram.copy()))

    def tree(self) -> Tree:
        """What the store holds."""
        return {
            "alphas": list(self.alphas),
            "beta": self.trust.beta,
            "gram": self.trust.gram,
            "pending": self.pending.view(np.int8),
            "rows": self.rows,
            "right": self.right,
            "deployed_right": self.deployed_right,
        }

    @classmethod
    def from_tree(cls, fields: Fields, sizes: list[int], code: ExampleCode) -> Self:
        """From what `tree` gave, for boosters of these numbers of hypotheses."""
        alphas = fields.items("alphas", len(sizes))
        for alpha, size in zip(alphas, sizes, strict=True):
            fits = isinstance(alpha, np.ndarray) and alpha.dtype == np.float64 and alpha.shape == (size,)
            fields.require(fits and (np.abs(alpha) < MAX_WEIGHT).all(), "its weights must be finite")
        trust = Trust(
            fields.array("beta", np.float64, (N_CELLS, N_SCORES)),
            fields.array("gram", np.float64, (N_CELLS, N_SCORES, N_SCORES)),
        )
        fields.require(all(np.isfinite(each).all() for each in trust), "its trust must be finite")
        pending: NDArray[Any] = fields.array("pending", np.int8, (None, code.n_bytes))
        fields.require(len(pending) < REFRESH, "too many rows are pending")
        rows = fields.count("rows")
        right, deployed_right = fields.count("right", 0, rows), fields.count("deployed_right", 0, rows)
        return cls(alphas, trust, pending.view(np.uint8), rows, right, deployed_right)
