"""Labelled rows: what streams yield, classifiers learn and comparisons share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError, OcboostError

_ONE = np.ones(1)  # the weight of a single row; never written to


class HasAnswers(Protocol):
    """Hypotheses, or anything else that answers rows as they do."""

    def answers(self, X: Any) -> NDArray[np.int8]:
        """The answer of each hypothesis to each row, (n, J) of ±1."""


class HasScores(Protocol):
    """A committee, which has the scores of its offset if there is one, or other voters."""

    def scores_of(self, X: Any) -> NDArray[np.float64] | None:
        """The scores of each row, (n, boosters), if there are any."""


class Stopwatch:
    """Adds up the nanoseconds that hypotheses take to answer."""

    def __init__(self) -> None:
        self.ns = 0


@dataclass(slots=True, weakref_slot=True, eq=False)
class _SharedArrays:
    """The arrays that some rows and all their slices share, and what was computed from them."""

    X: Any
    y: NDArray[Any] | None
    known: NDArray[np.bool_] | None
    codes: NDArray[np.int64] | None
    weights: NDArray[np.float64] | None
    row_numbers: NDArray[np.int64] | int  # in the stream; or only that of the first row
    names: Sequence[Any] | None
    stopwatch: Stopwatch | None
    keys: NDArray[Any] | None = None
    # The hypotheses are kept with their answers, so that no other object can get their id.
    _answers: dict[int, tuple[HasAnswers, NDArray[np.int8]]] = field(default_factory=dict)
    _scores: tuple[HasScores | None, NDArray[np.float64] | None] = (None, None)

    def answers(self, hypotheses: HasAnswers) -> NDArray[np.int8]:
        found = self._answers.get(id(hypotheses))
        if found is None:
            start = perf_counter_ns()
            found = self._answers[id(hypotheses)] = hypotheses, hypotheses.answers(self.X)
            if self.stopwatch is not None:
                self.stopwatch.ns += perf_counter_ns() - start
        return found[1]

    def scores(self, scorer: HasScores) -> NDArray[np.float64] | None:
        if self._scores[0] is not scorer:
            self._scores = scorer, scorer.scores_of(self.X)
        return self._scores[1]


class Rows:
    """Rows of features in order, with their labels, codes and weights.

    A part of them, ``rows[2:5]`` or ``rows[[0, 3]]``, is not a copy. The answers of hypotheses are computed
    when they are first needed, once for all rows, and shared by all parts.

    Parameters
    ----------
    X : array of shape (n, F), or SciPy CSR matrix
        The features, float64 or float32; a missing number is NaN.
    y : array of shape (n,), optional
        The labels; any value where a label is missing.
    known : bool array of shape (n,), optional
        Which rows have a label. By default those with a code, or all, or none if there are no labels.
    first : int, default 0
        The number of the first row in its stream.
    codes : int64 array of shape (n,), optional
        The index of each label among the classes, -1 where there is none; see `coded`.
    weights : float64 array of shape (n,), optional
        Sample weights; 1 by default.
    row_numbers : int64 array of shape (n,), optional
        The numbers of the rows in the stream, if they are not consecutive.
    names : sequence, optional
        The names of the features; by default their indices.
    stopwatch : Stopwatch, optional
        Measures the time that answers take.
    keys : object array of shape (n,), optional
        Whose rows they are, texts; None where a row has no key.

    Examples
    --------
    >>> from ocboost.hypotheses import Stumps
    >>> rows = Rows(np.array([[0.5], [1.5], [2.5]]), np.array(["no", "yes", "no"])).coded(["no", "yes"])
    >>> rows[1:].codes, rows[1:].answers(Stumps([0], [2.0], [1])).ravel()
    (array([1, 0]), array([ 1, -1], dtype=int8))
    """

    __slots__ = ("_dictionaries", "_index", "_n", "_table")

    def __init__(
        self,
        X: Any,
        y: NDArray[Any] | None = None,
        known: NDArray[np.bool_] | None = None,
        first: int = 0,
        *,
        codes: NDArray[np.int64] | None = None,
        weights: NDArray[np.float64] | None = None,
        row_numbers: NDArray[np.int64] | None = None,
        names: Sequence[Any] | None = None,
        stopwatch: Stopwatch | None = None,
        keys: NDArray[Any] | None = None,
    ) -> None:
        n: int = X.shape[0]
        columns = {"y": y, "known": known, "codes": codes, "weights": weights, "keys": keys}
        for name, column in columns.items():
            if column is not None and column.shape != (n,):
                raise InputError(
                    f"{name} must be one for each of the {n} rows of X; got shape {column.shape}."
                )
        numbers = first if row_numbers is None else row_numbers
        self._table = _SharedArrays(X, y, known, codes, weights, numbers, names, stopwatch, keys)
        self._index: slice | NDArray[np.int64] = slice(0, n)
        self._n = n
        self._dictionaries: list[dict[Any, Any]] | None = None

    @classmethod
    def of(cls, X: Any, codes: Any) -> Self:
        """Rows with the codes of their classes.

        Parameters
        ----------
        X : array of shape (n, F)
            The features.
        codes : array of int, shape (n,)
            The index of each class.

        Returns
        -------
        Batch
            With these codes.
        """
        return cls(X, codes=np.asarray(codes, np.int64))

    @classmethod
    def one(cls, x: NDArray[Any], code: int, weight: NDArray[np.float64] | None) -> Self:
        """A single row, (1, F), which must have been checked already.

        Parameters
        ----------
        x : array of shape (1, F)
            Its features.
        code : int
            The index of its class.
        weight : array of shape (1,) or None
            Its sample weight; None is 1.

        Returns
        -------
        Batch
            Of one row.
        """
        rows = object.__new__(cls)
        rows._table = _SharedArrays(x, None, None, np.array([code]), weight, 0, None, None)
        rows._index, rows._n, rows._dictionaries = slice(0, 1), 1, None
        return rows

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, members: Any) -> Self:
        """Some of the rows, by a slice, a mask or indices, without a copy."""
        other = object.__new__(type(self))
        other._table, other._dictionaries = self._table, None
        index = self._index
        if isinstance(members, slice) and members.step in (None, 1) and isinstance(index, slice):
            start, stop, _ = members.indices(self._n)
            other._n = max(0, stop - start)
            other._index = slice(index.start + start, index.start + start + other._n)
        else:
            all_rows = np.arange(index.start, index.stop) if isinstance(index, slice) else index
            other._index = chosen = all_rows[members]
            other._n = len(chosen)
        return other

    # Columns ----------------------------------------------------------------------------------------------

    @property
    def X(self) -> Any:
        """The features, (n, F)."""
        return self._table.X[self._index]

    @property
    def y(self) -> NDArray[Any] | None:
        """The labels, (n,), if there are any."""
        y = self._table.y
        return None if y is None else y[self._index]

    @property
    def codes(self) -> NDArray[np.int64]:
        """The index of each label among the classes, -1 where there is none.

        Raises
        ------
        InputError
            If the rows have only labels.
        """
        codes = self._table.codes
        if codes is None:
            raise InputError("the rows must have codes of classes; these have labels. Call coded(classes).")
        return codes[self._index]

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each row."""
        weights = self._table.weights
        if weights is None:
            return _ONE if self._n == 1 else np.ones(self._n)
        return weights[self._index]

    @property
    def keys(self) -> NDArray[Any] | None:
        """The key of each row, (n,) texts, if there are any; None where a row has none."""
        keys = self._table.keys
        return None if keys is None else keys[self._index]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which rows have a label."""
        table = self._table
        if table.known is not None:
            return table.known[self._index]
        if table.codes is not None:
            return table.codes[self._index] >= 0
        return np.full(self._n, table.y is not None)

    @property
    def classes(self) -> list[Any]:
        """The different labels, in order."""
        y = self.y
        found: list[Any] = [] if y is None else np.unique(y[self.known]).tolist()
        return found

    @property
    def rows(self) -> NDArray[np.int64]:
        """The numbers of the rows in the stream."""
        numbers, index = self._table.row_numbers, self._index
        if not isinstance(numbers, int):
            return numbers[index]
        return numbers + (np.arange(index.start, index.stop) if isinstance(index, slice) else index)

    @property
    def first(self) -> int:
        """The number of the first row in the stream."""
        numbers, index = self._table.row_numbers, self._index
        at = index.start if isinstance(index, slice) else int(index[0]) if self._n else 0
        return numbers + at if isinstance(numbers, int) else int(numbers[at]) if self._n else 0

    @property
    def end(self) -> int:
        """The number after that of the last row in the stream."""
        return self.first + self._n if self._n < 2 or self._consecutive else int(self.rows[-1]) + 1

    @property
    def nbytes(self) -> int:
        """Bytes of the features, labels, codes and weights."""
        columns = (self._table.y, self._table.codes, self._table.weights)
        X = self.X
        size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
        return int(size) + sum(column[self._index].nbytes for column in columns if column is not None)

    # Computed from them -----------------------------------------------------------------------------------

    def answers(self, hypotheses: HasAnswers) -> NDArray[np.int8]:
        """The answers of hypotheses to the rows.

        Parameters
        ----------
        hypotheses : Hypotheses
            What answers.

        Returns
        -------
        int8 array of shape (n, J)
            Of ±1.
        """
        return self._table.answers(hypotheses)[self._index]

    def scores(self, scorer: HasScores) -> NDArray[np.float64] | None:
        """The scores of the rows, if there are any; those of the latest scorer are kept.

        Parameters
        ----------
        scorer : Offset or None
            What gives scores.

        Returns
        -------
        array of shape (n, boosters) or None
            None if there is no scorer.
        """
        scores = self._table.scores(scorer)
        return None if scores is None else scores[self._index]

    def dictionaries(self) -> list[dict[Any, Any]]:
        """Each row as a dictionary from names to features, as River expects; built once.

        Returns
        -------
        list of dict
            One for each row.
        """
        if self._dictionaries is None:
            names = range(self._table.X.shape[1]) if self._table.names is None else self._table.names
            self._dictionaries = [dict(zip(names, row, strict=True)) for row in self.X.tolist()]
        return self._dictionaries

    # Other rows -------------------------------------------------------------------------------------------

    def weighted(self, weights: NDArray[np.float64]) -> Self:
        """The same rows, which have codes, with these weights; answers that were computed are kept.

        Parameters
        ----------
        weights : array of shape (n,)
            Sample weights.

        Returns
        -------
        Batch
            The rows are not copied.
        """
        before, index = self._table, self._index
        shown = {id_: (who, found[index]) for id_, (who, found) in before._answers.items()}
        other = type(self)(
            self.X, self.y, codes=self.codes, weights=weights, row_numbers=self.rows, keys=self.keys
        )
        other._table._answers = shown
        scorer, scores = before._scores
        other._table._scores = scorer, None if scores is None else scores[index]
        return other

    def coded(self, classes: Sequence[Any], *, leave_unseen: bool = False) -> Self:
        """The same rows with the index of each label in ``classes``.

        Parameters
        ----------
        classes : sequence
            All labels, each once.
        leave_unseen : bool, default False
            Whether a row with another label counts as unlabelled; otherwise it is an `UnseenLabelError`.

        Returns
        -------
        Batch
            The rows are not copied.

        Raises
        ------
        UnseenLabelError
            If a row has a label that is not among them.
        """
        codes = np.full(self._n, -1, np.int64)
        y = self.y
        if y is not None:
            code_of = {label: code for code, label in enumerate(classes)}
            labels = y.tolist() if isinstance(y, np.ndarray) else list(y)
            codes[:] = [code_of.get(label, -1) for label in labels]
            known = self.known
            unseen = known & (codes < 0)
            if unseen.any() and not leave_unseen:
                i = int(np.argmax(unseen))
                raise UnseenLabelError(labels[i], i, int(self.rows[i]), list(classes))
            codes[~known] = -1
        return type(self)(self.X, y, codes >= 0, codes=codes, **self._carried_over())

    def detached(self, start: int = 0, stop: int | None = None, stopwatch: Stopwatch | None = None) -> Self:
        """Some of the rows with answers of their own: use it for a few rows of very many.

        Parameters
        ----------
        start : int, default 0
            The first.
        stop : int, optional
            The one after the last; the end if left out.
        stopwatch : Stopwatch, optional
            Measures the time that answers take.

        Returns
        -------
        Batch
            The features are not copied.
        """
        part = self if start == 0 and stop is None else self[start:stop]
        known = None if self._table.known is None else part.known
        codes = None if self._table.codes is None else part.codes
        return type(self)(part.X, part.y, known, codes=codes, stopwatch=stopwatch, **part._carried_over())

    def labelled(self) -> Self:
        """Those rows that have a label.

        Returns
        -------
        Batch
            The rows are not copied.
        """
        known = self.known
        return self if known.all() else self[np.flatnonzero(known)]

    @property
    def _consecutive(self) -> bool:
        """Whether the row numbers are known to be consecutive, without looking at them."""
        return isinstance(self._table.row_numbers, int) and isinstance(self._index, slice)

    def _carried_over(self) -> dict[str, Any]:
        """The arguments for the same weights, names, keys and row numbers."""
        numbers = {"first": self.first} if self._consecutive else {"row_numbers": self.rows}
        weights = None if self._table.weights is None else self.weights
        return {"weights": weights, "names": self._table.names, "keys": self.keys, **numbers}


class UnseenLabelError(InputError):
    """A label that is none of the classes.

    ``place`` is the index of its row in the batch, ``row`` the row's number in the stream.
    """

    def __init__(self, label: object, place: int, row: int, classes: list[Any]) -> None:
        super().__init__(
            f"classes must hold every label of the stream; got {label!r:.80} at row {row}, and the classes "
            f"are {classes!s:.80}. Add it to classes, or mark such rows as unlabelled."
        )
        self.label, self.place, self.row = label, place, row


def join_rows(parts: Sequence[Rows], stopwatch: Stopwatch | None = None) -> Rows:
    """One `Rows` from several, with answers of its own; either all parts have codes, or none has."""
    if len(parts) == 1:
        return parts[0].detached(stopwatch=stopwatch)
    tables = [part._table for part in parts]
    labels = [part.y for part in parts]
    dtype = next((y.dtype for y in labels if y is not None), None)
    y = None
    if dtype is not None:  # a part without labels gets zeros, or empty texts
        y = np.concatenate(
            [
                np.zeros(len(part), dtype) if own is None else own
                for own, part in zip(labels, parts, strict=True)
            ]
        )
    all_alike = all(table.known is None for table in tables) and len({own is None for own in labels}) == 1
    weighted = any(table.weights is not None for table in tables)
    keyed = any(table.keys is not None for table in tables)
    first, consecutive = parts[0].first, True
    for part in parts:
        consecutive = consecutive and part._consecutive and part.first == first
        first += len(part)
    return Rows(
        stack_matrices([part.X for part in parts]),
        y,
        None if all_alike else np.concatenate([part.known for part in parts]),
        first=parts[0].first,
        codes=None if tables[0].codes is None else np.concatenate([part.codes for part in parts]),
        weights=np.concatenate([part.weights for part in parts]) if weighted else None,
        row_numbers=None if consecutive else np.concatenate([part.rows for part in parts]),
        names=tables[0].names,
        stopwatch=stopwatch,
        keys=np.concatenate([_keys_or_none(part) for part in parts]) if keyed else None,
    )


def _keys_or_none(rows: Rows) -> NDArray[Any]:
    return np.full(len(rows), None) if rows.keys is None else rows.keys


def rebatch(parts: Iterable[Rows], size: int, stopwatch: Stopwatch | None = None) -> Iterator[Rows]:
    """The same rows in batches of another size; the last batch may be smaller.

    If the source of the parts fails, the rows before the failure come first, and then the error.
    """
    waiting: list[Rows] = []
    n_waiting = 0
    failure: Exception | None = None
    arriving = iter(parts)
    while True:
        try:
            rows = next(arriving, None)
        except (OcboostError, OSError) as error:
            failure, rows = error, None
        if rows is None:
            break
        at = 0
        while at < len(rows):
            part = rows[at : at + size - n_waiting]
            waiting.append(part)
            at, n_waiting = at + len(part), n_waiting + len(part)
            if n_waiting == size:
                yield join_rows(waiting, stopwatch)
                waiting, n_waiting = [], 0
    if n_waiting:
        yield join_rows(waiting, stopwatch)
    if failure is not None:
        raise failure


def stack_matrices(matrices: list[Any]) -> Any:
    """Matrices on top of one another; sparse if one of them is."""
    if len(matrices) == 1:
        return matrices[0]
    if all(isinstance(each, np.ndarray) for each in matrices):
        return np.concatenate(matrices)
    from scipy.sparse import csr_matrix, vstack

    return vstack(
        [csr_matrix(each) if isinstance(each, np.ndarray) else each for each in matrices], format="csr"
    )
