"""What every set of weak hypotheses has in common: it answers ±1, it votes, it can be saved."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..fields import Fields, Tree, read
from ..kernels.answers import block_to_rows, tally
from ..storage import load, save
from ..threads import get_num_threads, run
from .features import DOUBLE, as_features

BLOCK = 256  # rows answered at once: what they need stays in the cache
SHARE = 1 << 22  # answers from which on several threads are worth their start


class Ballot(NamedTuple):
    """How one class counts: ``up_j`` for a +1 of hypothesis ``first + j``, ``down_j`` for a -1."""

    first: int
    up: NDArray[np.float64]
    down: NDArray[np.float64]

    @classmethod
    def of(cls, alpha: NDArray[np.float64], first: int = 0) -> Self:
        """AdaBoost's votes: Σ α_j h_j."""
        return cls(first, alpha, -alpha)


class Hypotheses(ABC):
    """J weak hypotheses, each of which answers +1 or -1 to a row of features.

    A subclass implements ``_fill``, which answers some rows hypothesis by hypothesis, `tree` and
    `from_tree`, which say what is saved, and ``__getitem__``.
    """

    kind: ClassVar[str]
    accepts_missing: bool = False
    accepts_sparse: bool = False

    @property
    @abstractmethod
    def n_hypotheses(self) -> int:
        """J."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """How many features a row has."""

    @abstractmethod
    def _fill(self, X: Any, block: NDArray[np.int8]) -> None:
        """Write the answers to the rows X into ``block``, (J, rows)."""

    @abstractmethod
    def __getitem__(self, members: Any) -> Self:
        """Some of the hypotheses, in the order given."""

    def beside(self, other: Hypotheses) -> Hypotheses | None:
        """These and then the others as one set of this kind; None where there is no such set."""
        return None

    def _beside_by_members(self, other: Hypotheses) -> Self | None:
        """The same, for kinds whose every array has an entry for each member."""
        if type(other) is not type(self):
            return None
        mine, theirs = self.tree(), other.tree()
        for key, value in mine.items():
            if isinstance(value, np.ndarray):
                if value.dtype != theirs[key].dtype or value.shape[1:] != theirs[key].shape[1:]:
                    return None
                mine[key] = np.concatenate([value, theirs[key]])
            elif value != theirs[key]:
                return None
        return read(mine, self.kind, self.from_tree)

    @abstractmethod
    def tree(self) -> Tree:
        """What a file holds: plain values and arrays by name."""

    @classmethod
    @abstractmethod
    def from_tree(cls, fields: Fields) -> Self:
        """Make hypotheses of what `tree` gave; whatever makes no sense is a `ModelFileError`."""

    def __len__(self) -> int:
        return self.n_hypotheses

    def answers(self, X: Any) -> NDArray[np.int8]:
        """What each hypothesis says to each row: (n, J) of -1 and +1.

        Parameters
        ----------
        X : array of shape (n, n_features), float32 or float64, or SciPy CSR where `accepts_sparse`
        """
        X = self.check(X)
        out = np.empty((X.shape[0], self.n_hypotheses), np.int8)
        if X.shape[0] == 1:  # a block of one row is that row
            self._fill(X, out.reshape(-1, 1))
            return out

        def answer(start: int) -> None:
            rows = X[start : start + BLOCK]
            block = np.empty((self.n_hypotheses, rows.shape[0]), np.int8)
            self._fill(rows, block)
            block_to_rows(block, out[start : start + BLOCK])

        self._by_blocks(answer, X.shape[0])
        return out

    def votes(self, X: Any, ballots: Sequence[Ballot]) -> NDArray[np.float64]:
        """Each row's sum of votes for each ballot, (n, K); the answers are never held all at once.

        Examples
        --------
        >>> from ocboost.hypotheses import Stumps
        >>> stumps = Stumps([0, 0], [1.0, 2.0], [1, 1])
        >>> stumps.votes(np.array([[0.5], [1.5], [2.5]]), [Ballot.of(np.array([0.7, 0.2]))])
        array([[ 0.9],
               [-0.5],
               [-0.9]])
        """
        X = self.check(X)
        out = np.zeros((len(ballots), X.shape[0]))

        def count(start: int) -> None:
            rows = X[start : start + BLOCK]
            block = np.empty((self.n_hypotheses, rows.shape[0]), np.int8)
            self._fill(rows, block)
            for total, ballot in zip(out, ballots, strict=True):
                tally(block[ballot.first :], ballot.up, ballot.down, total[start : start + BLOCK])

        self._by_blocks(count, X.shape[0])
        return out.T

    def _by_blocks(self, task: Any, n: int) -> None:
        starts = range(0, n, BLOCK)
        if get_num_threads() > 1 and n * self.n_hypotheses >= SHARE and self._may_share:
            run(task, starts)
        else:
            for start in starts:
                task(start)

    @property
    def _may_share(self) -> bool:
        """Whether several threads may answer at once."""
        return True

    def check(self, X: Any) -> Any:
        """Check rows of features, and give them as C-contiguous float32 or float64, or as CSR."""
        plain = type(X) is np.ndarray and X.dtype is DOUBLE and X.flags.c_contiguous
        if plain and X.ndim == 2 and X.shape[1] == self.n_features:
            return X
        X = as_features(X, sparse=self.accepts_sparse, what=self.kind)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise InputError(
                f"X must have shape (rows, {self.n_features}), one column for each feature the hypotheses "
                f"were made for; got shape {X.shape}."
            )
        return X

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, in ocboost's own format (no pickle)."""
        save(path, self.kind, self.tree())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load what `save` has written. Nothing in a file is executed."""
        return read(load(path, cls.kind), os.fspath(path), cls.from_tree)
