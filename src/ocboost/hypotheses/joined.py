"""Several sets of hypotheses, of any kinds, as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._core.kinds import HYPOTHESES, nested_reader, nested_tree
from ocboost.errors import InputError
from ocboost.hypotheses.base import Hypotheses
from ocboost.hypotheses.stumps import Stumps


class Joined(Hypotheses):
    """The hypotheses of several sets over the same features, one set after the other.

    Parameters
    ----------
    sets : sequence of Hypotheses
        In their order.
    """

    kind = "Joined"

    def __init__(self, sets: Sequence[Hypotheses]) -> None:
        # A set of sets is laid out flat, as a file has it.
        self.sets: list[Hypotheses] = []
        for each in sets:
            self.sets += each.sets if isinstance(each, Joined) else [each]
        if len({each.n_features for each in self.sets}) != 1:
            counts = [each.n_features for each in self.sets]
            raise InputError(f"sets must be over the same features; got sets for {counts} features.")
        ends = np.cumsum([len(each) for each in self.sets]).tolist()
        self._spans = list(zip([0, *ends], ends, strict=False))
        self.n_hypotheses, self.n_features = ends[-1], self.sets[0].n_features
        self.thread_safe = all(each.thread_safe for each in self.sets)
        self.accepts_missing = all(each.accepts_missing for each in self.sets)
        self.accepts_sparse = all(each.accepts_sparse for each in self.sets)

    def __repr__(self) -> str:
        sets = ", ".join(repr(each).strip("<>") for each in self.sets[:5])
        more = f", … ({len(self.sets)} sets)" if len(self.sets) > 5 else ""
        return f"<{len(self)} hypotheses: {sets}{more}>"

    def check(self, X: Any) -> Any:
        """Check rows of features, for each of the sets.

        Parameters
        ----------
        X : array of shape (n, n_features), or SciPy CSR
            The rows.

        Returns
        -------
        array or CSR matrix
            Contiguous, in a type that the kernels take.
        """
        for each in self.sets:
            X = each.check(X)
        return X

    def _fill(self, X: Any, block: NDArray[np.int8]) -> None:
        for each, (start, stop) in zip(self.sets, self._spans, strict=True):
            each._fill(X, block[start:stop])

    def __getitem__(self, members: Any) -> Self:
        wanted = self._indices(members)
        pieces: list[Hypotheses] = []
        which = np.searchsorted([stop for _, stop in self._spans], wanted, side="right")
        cuts = np.flatnonzero(np.diff(which)) + 1
        for run, owner in zip(np.split(wanted, cuts), which[np.concatenate([[0], cuts])], strict=True):
            pieces.append(self.sets[owner][run - self._spans[owner][0]])
        return type(self)(pieces)

    def tree(self) -> Tree:
        """What a file holds.

        Returns
        -------
        dict
            Plain values and arrays, by name.
        """
        return {"sets": [nested_tree(each, HYPOTHESES) for each in self.sets]}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """Several sets from what a file holds.

        Parameters
        ----------
        fields : mapping
            What `tree` gave.

        Returns
        -------
        Hypotheses
            They answer the same.
        """
        sets = fields.read_all("sets", nested_reader(HYPOTHESES))
        fields.require(bool(sets) and not any(isinstance(each, cls) for each in sets), "a set is not known")
        return fields.make(cls, sets)


def join(sets: Sequence[Hypotheses]) -> Hypotheses:
    """One set of all the hypotheses; stumps become one set of stumps, which reads each feature once.

    Parameters
    ----------
    sets : sequence of Hypotheses
        Over the same features, in their order.

    Returns
    -------
    Hypotheses
        All of them.

    Examples
    --------
    >>> join([Stumps([0], [1.0], [1], n_features=2), Stumps([1], [2.0], [-1], n_features=2)])
    <2 stumps over 2 of 2 features>
    """
    if len(sets) == 1:
        return sets[0]
    stumps = Stumps.concatenated(sets)
    return Joined(sets) if stumps is None else stumps


def join_tightly(sets: Sequence[Hypotheses]) -> Hypotheses:
    """As `join`, with neighbours of one kind as one set: for sets that grow by a few members at a time.

    Parameters
    ----------
    sets : sequence of Hypotheses
        Over the same features, in their order.

    Returns
    -------
    Hypotheses
        All of them.
    """
    tight: list[Hypotheses] = []
    for each in sets:
        for one in each.sets if isinstance(each, Joined) else [each]:
            both = tight[-1].beside(one) if tight else None
            if both is None:
                tight.append(one)
            else:
                tight[-1] = both
    return tight[0] if len(tight) == 1 else Joined(tight)
