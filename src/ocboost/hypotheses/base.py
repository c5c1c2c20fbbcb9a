"""Rows of features: checked once, and laid out feature by feature for hypotheses that look at single ones.

What every set of weak hypotheses has in common: it answers ±1, it votes, it can be saved.

Hypotheses as files of version 1 had them: a kind with parameters, and named arrays.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree, read
from ocboost._core.kinds import HYPOTHESES, tree_within, within
from ocboost._core.old_format import Arrays, parts_of, tree_of
from ocboost._core.storage import load, save
from ocboost._core.threads import get_num_threads, run
from ocboost._kernels.answers import block_to_rows, tally
from ocboost._kernels.stumps import gather_dense, gather_sparse
from ocboost.errors import InputError

MOST_FEATURES = (1 << 31) - 1
PRECISIONS = ("double", "single")
DOUBLE = np.dtype(np.float64)  # asked for by `is`, it takes nanoseconds


def as_features(X: Any, *, sparse: bool, what: str) -> Any:
    """Check rows of features: C-contiguous float32 or float64, or CSR where ``what`` accepts that.

    >>> as_features([[1, 2]], sparse=False, what="Stumps")
    array([[1., 2.]])
    """
    if hasattr(X, "tocsr"):
        if not sparse:
            raise InputError(f"X must be a dense array for {what}; got a sparse matrix. Use X.toarray().")
        X = X.tocsr()
        return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    try:
        X = np.asarray(X)
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"X must be a matrix of numbers; {error}. Encode text first.") from None
    return np.ascontiguousarray(X)


def rounded_down(threshold: NDArray[np.float64]) -> NDArray[np.float32]:
    """The largest float32 that is not above: for float32 features the comparison is then the same."""
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
    return np.where(single > threshold, np.nextafter(single, np.float32(-np.inf)), single)


class FeatureLines:
    """The features in use, each as one contiguous line over the rows of a block.

    Parameters
    ----------
    used : array of whole numbers
        The features, without repeats.
    n_features : int
        Features of a row.
    precision : {"double", "single"}
        "single" rounds to float32, as scikit-learn's trees do.
    """

    def __init__(self, used: NDArray[np.int64], n_features: int, precision: str) -> None:
        self._used = used
        self._n_features = n_features
        self._precision = precision
        self._place: NDArray[np.int64] | None = None

    def gather(self, X: Any) -> NDArray[Any]:
        """The features of these rows, (used, rows), as float32 or float64."""
        lines = np.empty(
            (self._used.size, X.shape[0]), np.float32 if self._precision == "single" else X.dtype
        )
        if isinstance(X, np.ndarray):
            gather_dense(X, self._used, lines)
        else:
            gather_sparse(X.data, X.indices, X.indptr, self._places(), lines)
        return lines

    def _places(self) -> NDArray[np.int64]:
        if self._place is None:
            place = np.full(self._n_features, -1)
            place[self._used] = np.arange(self._used.size)
            self._place = place
        return self._place


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


def hypotheses_parts(hypotheses: Hypotheses) -> tuple[list[Any], Arrays]:
    """The kind and the parameters of hypotheses, and their arrays."""
    return parts_of(tree_within(hypotheses, HYPOTHESES))


def hypotheses_from_parts(kind: str, parameters: Tree, arrays: Arrays, name: str) -> Hypotheses:
    """Hypotheses of what `hypotheses_parts` gave; whatever makes no sense is a `ModelFileError`."""
    tree = {"kind": kind, **tree_of(kind, parameters, arrays, name)}
    made: Hypotheses = read(tree, name, within(HYPOTHESES))
    return made
