"""What every set of weak hypotheses has in common: it answers ±1, it votes, it can be saved."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.codec import Fields, Tree, read
from ocboost._core.file_format import load, save
from ocboost._core.kinds import HYPOTHESES, nested_reader, nested_tree
from ocboost._core.old_format import Arrays, parts_of, tree_of
from ocboost._core.threads import get_num_threads, run
from ocboost._kernels.answers import block_to_rows, tally
from ocboost._kernels.stumps import gather_dense, gather_sparse
from ocboost.errors import InputError

MAX_COLUMNS = (1 << 31) - 1  # of X
FLOAT64 = np.dtype(np.float64)  # comparing with `is` takes nanoseconds
ROWS_PER_BLOCK = 256  # rows answered at once: what they need stays in the cache
MIN_ANSWERS_FOR_THREADS = 1 << 22


class Ballot(NamedTuple):
    """How one class counts: ``up_j`` for a +1 of hypothesis ``first + j``, ``down_j`` for a -1.

    Attributes
    ----------
    first : int
        The first hypothesis that counts.
    up : array of shape (k,)
        What a +1 of each counts.
    down : array of shape (k,)
        What a -1 of each counts.
    """

    first: int
    up: NDArray[np.float64]
    down: NDArray[np.float64]

    @classmethod
    def of(cls, alpha: NDArray[np.float64], first: int = 0) -> Self:
        """AdaBoost's votes: Σ α_j h_j.

        Parameters
        ----------
        alpha : array of shape (k,)
            The weights.
        first : int, default 0
            The first hypothesis that counts.

        Returns
        -------
        Ballot
            α_j for a +1, -α_j for a -1.
        """
        return cls(first, alpha, -alpha)


class Hypotheses(ABC):
    """J weak hypotheses, each of which answers +1 or -1 to a row of features.

    A subclass sets ``n_hypotheses`` and ``n_features`` and implements ``_fill``, which answers some rows
    hypothesis by hypothesis, `tree` and `from_tree`, which define the file format, and ``__getitem__``. If it
    consists of arrays, it inherits most of this from ``ArrayHypotheses``.

    Attributes
    ----------
    n_hypotheses : int
        J.
    n_features : int
        Features of a row.
    """

    kind: ClassVar[str]
    accepts_missing: bool = False
    accepts_sparse: bool = False
    thread_safe: bool = True
    n_hypotheses: int
    n_features: int

    @abstractmethod
    def _fill(self, X: Any, block: NDArray[np.int8]) -> None:
        """Write the answers to the rows X into ``block``, (J, rows)."""

    @abstractmethod
    def __getitem__(self, members: Any) -> Self:
        """Some of the hypotheses, in the order given."""

    def _indices(self, members: Any) -> NDArray[np.int64]:
        """The places of some hypotheses, from anything that NumPy takes as an index."""
        return np.atleast_1d(np.arange(self.n_hypotheses)[members])

    def beside(self, other: Hypotheses) -> Hypotheses | None:
        """These and then the others as one set of this kind; None where there is no such set.

        Parameters
        ----------
        other : Hypotheses
            Those that come last.

        Returns
        -------
        Hypotheses or None
            None where there is no such set.
        """
        return None

    @abstractmethod
    def tree(self) -> Tree:
        """What a file holds: plain values and arrays by name.

        Returns
        -------
        dict
            Plain values and arrays, by name.
        """

    @classmethod
    @abstractmethod
    def from_tree(cls, fields: Fields) -> Self:
        """Build hypotheses from what `tree` returned; invalid contents raise `ModelFileError`.

        Parameters
        ----------
        fields : mapping
            What `tree` gave.

        Returns
        -------
        Hypotheses
            They answer the same.
        """

    def __len__(self) -> int:
        return self.n_hypotheses

    def __getstate__(self) -> dict[str, Any]:
        # A copy: hypotheses are shared by all who use them, and a thread that needs an attribute computed
        # once may add it while another one copies or pickles them.
        return self.__dict__.copy()

    def answers(self, X: Any) -> NDArray[np.int8]:
        """What each hypothesis says to each row.

        Parameters
        ----------
        X : array of shape (n, n_features), float32 or float64, or SciPy CSR where ``accepts_sparse``
            The rows.

        Returns
        -------
        int8 array of shape (n, J)
            -1 and +1.
        """
        X = self.check(X)
        out = np.empty((X.shape[0], self.n_hypotheses), np.int8)
        if X.shape[0] == 1:  # a block of one row is that row
            self._fill(X, out.reshape(-1, 1))
        else:
            self._by_blocks(X, lambda block, rows: block_to_rows(block, out[rows]))
        return out

    def votes(self, X: Any, ballots: Sequence[Ballot]) -> NDArray[np.float64]:
        """Each row's sum of votes for each ballot; the answers are never held all at once.

        Parameters
        ----------
        X : array of shape (n, n_features), or SciPy CSR
            The rows.
        ballots : sequence of Ballot
            How each class counts.

        Returns
        -------
        array of shape (n, K)
            A column for each ballot.

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

        def count(block: NDArray[np.int8], rows: slice) -> None:
            for total, ballot in zip(out, ballots, strict=True):
                tally(block[ballot.first :], ballot.up, ballot.down, total[rows])

        self._by_blocks(X, count)
        return out.T

    def _by_blocks(self, X: Any, use: Callable[[NDArray[np.int8], slice], None]) -> None:
        """Answer the rows block by block, and pass on each block's answers, (J, rows), and its rows."""

        def answer(start: int) -> None:
            rows = slice(start, start + ROWS_PER_BLOCK)
            some = X[rows]
            block = np.empty((self.n_hypotheses, some.shape[0]), np.int8)
            self._fill(some, block)
            use(block, rows)

        n = X.shape[0]
        if 0 < n <= ROWS_PER_BLOCK:  # saves time where rows come one by one
            answer(0)
        else:
            many = n * self.n_hypotheses >= MIN_ANSWERS_FOR_THREADS
            for_each(answer, range(0, n, ROWS_PER_BLOCK), parallel=many and self.thread_safe)

    def check(self, X: Any) -> Any:
        """Check rows of features; returns C-contiguous float32 or float64, or CSR.

        Parameters
        ----------
        X : array of shape (n, n_features), or SciPy CSR
            The rows.

        Returns
        -------
        array or CSR matrix
            Contiguous, in a type that the kernels take.

        Raises
        ------
        InputError
            If they have another number of features, or values that the hypotheses cannot answer.
        """
        plain = type(X) is np.ndarray and X.dtype is FLOAT64 and X.flags.c_contiguous
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
        """Save to a file, in ocboost's own format (no pickle).

        Parameters
        ----------
        path : path
            The file.
        """
        save(path, self.kind, self.tree())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load what `save` has written. Nothing in a file is executed.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Hypotheses
            They answer the same.
        """
        return read(load(path, cls.kind), os.fspath(path), cls.from_tree)


class ArrayHypotheses(Hypotheses):
    """Hypotheses made of arrays: a subclass names them once to be saved, indexed and put together.

    All names are attributes and arguments of the constructor. Unless the methods are overridden, each array
    has one entry for each hypothesis.
    """

    _arrays: ClassVar[dict[str, tuple[Any, ...]]]  # the type, and the shape, that a file must have
    _settings: ClassVar[dict[str, Callable[[Fields, str], Any]]] = {}  # how a file's value is checked

    def _own_settings(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in self._settings}

    def __getitem__(self, members: Any) -> Self:
        at = self._indices(members)
        return type(self)(**{key: getattr(self, key)[at] for key in self._arrays}, **self._own_settings())

    def beside(self, other: Hypotheses) -> Self | None:
        """These and then the others, if they are of the same kind.

        Parameters
        ----------
        other : Hypotheses
            Those that come last.

        Returns
        -------
        Hypotheses or None
            None where there is no such set.
        """
        return self.concatenated([self, other])

    @classmethod
    def concatenated(cls, sets: Sequence[Hypotheses]) -> Self | None:
        """All hypotheses of several sets as one, if they differ in nothing but their members.

        Parameters
        ----------
        sets : sequence of Hypotheses
            In their order.

        Returns
        -------
        Hypotheses or None
            None where they differ.
        """
        same = [each for each in sets if type(each) is cls]
        if len(same) < len(sets) or any(each._own_settings() != same[0]._own_settings() for each in same):
            return None
        arrays = {key: [getattr(each, key) for each in same] for key in cls._arrays}
        if any(len({(part.dtype, part.shape[1:]) for part in parts}) > 1 for parts in arrays.values()):
            return None
        joined = {key: np.concatenate(parts) for key, parts in arrays.items()}
        return cls(**joined, **same[0]._own_settings())

    def tree(self) -> Tree:
        """What a file holds.

        Returns
        -------
        dict
            Plain values and arrays, by name.
        """
        return {**self._own_settings(), **{key: getattr(self, key) for key in self._arrays}}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """Build hypotheses from what `tree` returned; invalid contents raise `ModelFileError`.

        Parameters
        ----------
        fields : mapping
            What `tree` gave.

        Returns
        -------
        Hypotheses
            They answer the same.
        """
        arrays = {key: fields.array(key, *spec) for key, spec in cls._arrays.items()}
        return fields.make(cls, **arrays, **{key: of(fields, key) for key, of in cls._settings.items()})


def hypotheses_parts(hypotheses: Hypotheses) -> tuple[list[Any], Arrays]:
    """Hypotheses as files of version 1 had them: kind and parameters, and their arrays by name.

    Parameters
    ----------
    hypotheses : Hypotheses
        What is saved.

    Returns
    -------
    tuple
        ``[kind, parameters]``, and a dict of arrays.
    """
    return parts_of(nested_tree(hypotheses, HYPOTHESES))


def hypotheses_from_parts(kind: str, parameters: Tree, arrays: Arrays, name: str) -> Hypotheses:
    """Hypotheses from what `hypotheses_parts` returned; invalid contents raise `ModelFileError`.

    Parameters
    ----------
    kind : str
        Which class.
    parameters : dict
        Plain values by name.
    arrays : dict
        Arrays by name.
    name : str
        The file, for messages.

    Returns
    -------
    Hypotheses
        They answer the same.
    """
    made: Hypotheses = read(
        {"kind": kind, **tree_of(kind, parameters, arrays, name)}, name, nested_reader(HYPOTHESES)
    )
    return made


def for_each(task: Callable[[Any], None], items: Sequence[Any], *, parallel: bool = True) -> None:
    """Run a task on each item, in several threads if there are several and ``parallel`` allows it."""
    if parallel and len(items) > 1 and get_num_threads() > 1:
        run(task, items)
    else:
        for item in items:
            task(item)


# Checks -----------------------------------------------------------------------------------------------


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


def as_signs(values: ArrayLike | None, name: str, n: int) -> NDArray[np.int8]:
    """Check n answers of ±1; None is all +1."""
    array = np.ones(n, np.int8) if values is None else np.array(values)
    if array.shape != (n,) or not np.isin(array, (-1, 1)).all():
        raise InputError(f"{name} must be {n} answers, each -1 or +1; got {values!r:.80}.")
    return array.astype(np.int8)


def as_thresholds(values: ArrayLike, n: int, what: str) -> NDArray[np.float64]:
    """Check n thresholds; they may be infinite."""
    array = np.array(values, dtype=np.float64)
    if array.shape != (n,) or np.isnan(array).any():
        raise InputError(f"threshold must be {n} numbers, one for each {what}; got {values!r:.80}.")
    return array


# Single features --------------------------------------------------------------------------------------


class FeatureLines:
    """The features that stumps or trees look at, each as one contiguous line over the rows of a block.

    ``feature`` has the features, -1 at a leaf where ``leaves`` allows it; ``lines`` says which line each of
    them is. The precision "single" rounds to float32, as scikit-learn's trees do.
    """

    def __init__(
        self, feature: NDArray[Any], n_features: int | None, precision: str, *, leaves: bool = False
    ) -> None:
        if precision not in ("double", "single"):
            raise InputError(f"precision must be 'double' or 'single'; got {precision!r:.80}.")
        needed = max(1, int(feature.max()) + 1)
        self.n_features = needed if n_features is None else int(n_features)
        if feature.min() < (-1 if leaves else 0) or self.n_features < needed:
            or_leaf = ", or be -1 at a leaf" if leaves else ""
            raise InputError(
                f"feature must lie between 0 and n_features - 1 = {self.n_features - 1}{or_leaf}; "
                f"got {int(feature.min())} to {needed - 1}."
            )
        inner = feature >= 0
        self.lines = np.zeros(feature.size, np.int64)
        self._used, self.lines[inner] = np.unique(feature[inner].astype(np.int64), return_inverse=True)
        self._single = precision == "single"
        self._place: NDArray[np.int64] | None = None

    def __str__(self) -> str:
        return f"{self._used.size} of {self.n_features} features"

    def gather(self, X: Any) -> NDArray[Any]:
        """The features of these rows, (lines, rows), as float32 or float64."""
        lines = np.empty((self._used.size, X.shape[0]), np.float32 if self._single else X.dtype)
        if isinstance(X, np.ndarray):
            gather_dense(X, self._used, lines)
            return lines
        if self._place is None:
            place = np.full(self.n_features, -1)
            place[self._used] = np.arange(self._used.size)
            self._place = place
        gather_sparse(X.data, X.indices, X.indptr, self._place, lines)
        return lines


def rounded_down(threshold: NDArray[np.float64]) -> NDArray[np.float32]:
    """The largest float32 that is not above: for float32 features the comparison is then the same."""
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
    return np.where(single > threshold, np.nextafter(single, np.float32(-np.inf)), single)


SINGLE_FEATURE_SETTINGS: dict[str, Callable[[Fields, str], Any]] = {
    "n_features": lambda fields, key: fields.count(key, 1, MAX_COLUMNS),
    "precision": Fields.text,
}
