"""Labelled rows: what streams give, classifiers learn and comparisons share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from time import perf_counter_ns
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError, OcboostError

Where = slice | NDArray[np.int64]
_ONE = np.ones(1)  # the weight of one row; nobody writes to it


class Answering(Protocol):
    """What answers rows: hypotheses."""

    def answers(self, X: Any) -> NDArray[np.int8]:
        """What each hypothesis says to each row, (n, J) of ±1."""


class Scoring(Protocol):
    """What scores rows: a committee that has an offset, or not; or voters."""

    def scores_of(self, X: Any) -> NDArray[np.float64] | None:
        """The scores of each row, (n, boosters), if there are any: a committee's are those of its offset."""


class Clock:
    """The time that went into weak answers."""

    def __init__(self) -> None:
        self.ns = 0


class _Table:
    """The arrays that some rows, and all parts of them, are cut from, and what was computed of them."""

    __slots__ = (
        "X",
        "__weakref__",
        "_answers",
        "_scores",
        "clock",
        "codes",
        "known",
        "names",
        "numbers",
        "weights",
        "y",
    )

    def __init__(
        self,
        X: Any,
        y: NDArray[Any] | None,
        known: NDArray[np.bool_] | None,
        codes: NDArray[np.int64] | None,
        weights: NDArray[np.float64] | None,
        numbers: NDArray[np.int64] | int,
        names: Sequence[Any] | None,
        clock: Clock | None,
    ) -> None:
        self.X, self.y, self.known, self.codes, self.weights = X, y, known, codes, weights
        self.numbers = numbers  # of the rows in the stream, or of the first of them
        self.names = names
        self.clock = clock
        # What answered is kept beside its answers, so that no other object can get its id.
        self._answers: dict[int, tuple[Answering, NDArray[np.int8]]] = {}
        self._scores: tuple[Scoring | None, NDArray[np.float64] | None] = (None, None)

    def answers(self, hypotheses: Answering) -> NDArray[np.int8]:
        held = self._answers.get(id(hypotheses))
        if held is None:
            start = perf_counter_ns()
            held = hypotheses, hypotheses.answers(self.X)
            self._answers[id(hypotheses)] = held
            if self.clock is not None:
                self.clock.ns += perf_counter_ns() - start
        return held[1]

    def scores(self, scoring: Scoring) -> NDArray[np.float64] | None:
        if self._scores[0] is not scoring:
            self._scores = scoring, scoring.scores_of(self.X)
        return self._scores[1]


class Rows:
    """Rows of features, one after the other, with their labels, codes and weights.

    A part of them, ``rows[2:5]`` or ``rows[[0, 3]]``, is made without a copy. What hypotheses answer to the
    rows is computed once, for all of them, when it is first asked for, and shared by all parts.

    Parameters
    ----------
    X : array of shape (n, F), or SciPy CSR matrix
        The features, float64 or float32; a missing number is NaN.
    y : array of shape (n,), optional
        The labels; where one is missing stands anything.
    known : bool array of shape (n,), optional
        Which rows have a label. By default those with a code, or all, or none where there are no labels.
    first : int, default 0
        The number of the first row in its stream.
    codes : int64 array of shape (n,), optional
        The place of each label among the classes, -1 where there is none; see `coded`.
    weights : float64 array of shape (n,), optional
        Sample weights; 1 if left out.
    numbers : int64 array of shape (n,), optional
        The numbers of the rows, where they do not follow one another.
    names : sequence, optional
        What the features are called; by default by their places.
    clock : Clock, optional
        Is given the time that answers take.

    Examples
    --------
    >>> from ocboost.hypotheses import Stumps
    >>> rows = Rows(np.array([[0.5], [1.5], [2.5]]), np.array(["no", "yes", "no"])).coded(["no", "yes"])
    >>> rows[1:].codes, rows[1:].answers(Stumps([0], [2.0], [1])).ravel()
    (array([1, 0]), array([ 1, -1], dtype=int8))
    """

    __slots__ = ("_dictionaries", "_n", "_table", "_where")

    def __init__(
        self,
        X: Any,
        y: NDArray[Any] | None = None,
        known: NDArray[np.bool_] | None = None,
        first: int = 0,
        *,
        codes: NDArray[np.int64] | None = None,
        weights: NDArray[np.float64] | None = None,
        numbers: NDArray[np.int64] | None = None,
        names: Sequence[Any] | None = None,
        clock: Clock | None = None,
    ) -> None:
        n: int = X.shape[0]
        for column in (y, known, codes, weights):
            if column is not None and column.shape != (n,):
                raise _not_one_each(n, y=y, known=known, codes=codes, weights=weights)
        self._table = _Table(X, y, known, codes, weights, first if numbers is None else numbers, names, clock)
        self._where: Where = slice(0, n)  # or the places of rows
        self._n = n
        self._dictionaries: list[dict[Any, Any]] | None = None

    @classmethod
    def of(cls, X: Any, codes: Any) -> Self:
        """Rows whose codes are known."""
        return cls(X, codes=np.asarray(codes, np.int64))

    @classmethod
    def one(cls, x: NDArray[Any], code: int, weight: NDArray[np.float64] | None) -> Self:
        """One row that has been checked, (1, F), without a look at anything."""
        rows = object.__new__(cls)
        rows._table = _Table(x, None, None, np.array([code]), weight, 0, None, None)
        rows._where, rows._n, rows._dictionaries = slice(0, 1), 1, None
        return rows

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, members: Any) -> Self:
        """Some of the rows, without a copy: a slice, or the places of rows."""
        other = object.__new__(type(self))
        other._table, other._dictionaries = self._table, None
        where = self._where
        if isinstance(members, slice) and members.step in (None, 1) and isinstance(where, slice):
            start, stop, _ = members.indices(self._n)
            other._n = max(0, stop - start)
            other._where = slice(where.start + start, where.start + start + other._n)
        else:
            places = np.arange(where.start, where.stop) if isinstance(where, slice) else where
            other._where = chosen = places[members]
            other._n = len(chosen)
        return other

    def parted(self, n: int) -> tuple[Self, Self]:
        """The first n rows, and the others; either may be empty."""
        n = max(0, min(n, self._n))
        return self[:n], self[n:]

    # Columns ----------------------------------------------------------------------------------------------

    @property
    def X(self) -> Any:
        """The features, (n, F)."""
        return self._table.X[self._where]

    @property
    def y(self) -> NDArray[Any] | None:
        """The labels, (n,), if there are any."""
        y = self._table.y
        return None if y is None else y[self._where]

    @property
    def codes(self) -> NDArray[np.int64]:
        """The place of each label among the classes, -1 where there is none."""
        codes = self._table.codes
        if codes is None:
            raise InputError("the rows must have codes of classes; these have labels. Call coded(classes).")
        return codes[self._where]

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each row."""
        weights = self._table.weights
        if weights is None:
            return _ONE if self._n == 1 else np.ones(self._n)
        return weights[self._where]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which rows have a label."""
        table = self._table
        if table.known is not None:
            return table.known[self._where]
        if table.codes is not None:
            return table.codes[self._where] >= 0
        return np.full(self._n, table.y is not None)

    @property
    def classes(self) -> list[Any]:
        """The different labels, in order."""
        y = self.y
        found: list[Any] = [] if y is None else np.unique(y[self.known]).tolist()
        return found

    @property
    def rows(self) -> NDArray[np.int64]:
        """Their numbers in the stream."""
        numbers, where = self._table.numbers, self._where
        if not isinstance(numbers, int):
            return numbers[where]
        return numbers + (np.arange(where.start, where.stop) if isinstance(where, slice) else where)

    @property
    def first(self) -> int:
        """The number of the first row in the stream."""
        numbers, where = self._table.numbers, self._where
        at = where.start if isinstance(where, slice) else int(where[0]) if self._n else 0
        return numbers + at if isinstance(numbers, int) else int(numbers[at]) if self._n else 0

    @property
    def nbytes(self) -> int:
        """Bytes of the features, labels, codes and weights."""
        columns = (self._table.y, self._table.codes, self._table.weights)
        X = self.X
        held = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
        return int(held) + sum(column[self._where].nbytes for column in columns if column is not None)

    # What is computed of them -----------------------------------------------------------------------------

    def answers(self, hypotheses: Answering) -> NDArray[np.int8]:
        """What the hypotheses say to the rows, (n, J) of ±1."""
        return self._table.answers(hypotheses)[self._where]

    def scores(self, scoring: Scoring) -> NDArray[np.float64] | None:
        """The scores of the rows, (n, boosters), if there are any; those of what scored last are kept."""
        scores = self._table.scores(scoring)
        return None if scores is None else scores[self._where]

    def dictionaries(self) -> list[dict[Any, Any]]:
        """Each row as a dictionary of its features by their names, as River wants them; made once."""
        if self._dictionaries is None:
            names = range(self._table.X.shape[1]) if self._table.names is None else self._table.names
            self._dictionaries = [dict(zip(names, row, strict=True)) for row in self.X.tolist()]
        return self._dictionaries

    # Other rows -------------------------------------------------------------------------------------------

    def coded(self, classes: Sequence[Any], *, leave_unseen: bool = False) -> Self:
        """The same rows with the place of each label in ``classes``.

        Parameters
        ----------
        classes : sequence
            All labels, each once.
        leave_unseen : bool, default False
            Whether rows with another label count as rows without one, or are an error.
        """
        codes = np.full(self._n, -1, np.int64)
        y = self.y
        if y is not None:
            place = {label: code for code, label in enumerate(classes)}
            labels = y.tolist() if isinstance(y, np.ndarray) else list(y)
            codes[:] = [place.get(label, -1) for label in labels]
            known = self.known
            strange = known & (codes < 0)
            if strange.any() and not leave_unseen:
                i = int(np.argmax(strange))
                raise UnseenLabelError(labels[i], i, int(self.rows[i]), list(classes))
            codes[~known] = -1
        return type(self)(
            self.X, y, codes >= 0, codes=codes, weights=self._weights_given(), **self._numbered()
        )

    def apart(self, start: int = 0, stop: int | None = None, clock: Clock | None = None) -> Self:
        """Some of the rows, which share nothing of what is computed of them; for few of very many."""
        part = self if start == 0 and stop is None else self[start:stop]
        table, known = self._table, None if self._table.known is None else part.known
        codes = None if table.codes is None else part.codes
        weights, numbers = part._weights_given(), part._numbered()
        return type(self)(part.X, part.y, known, codes=codes, weights=weights, clock=clock, **numbers)

    def labelled(self) -> Self:
        """Those rows that have a label."""
        known = self.known
        return self if known.all() else self[np.flatnonzero(known)]

    def _weights_given(self) -> NDArray[np.float64] | None:
        return None if self._table.weights is None else self.weights

    @property
    def _straight(self) -> bool:
        """Whether their numbers follow one another, which is known without a look at them."""
        return isinstance(self._table.numbers, int) and isinstance(self._where, slice)

    def _numbered(self) -> dict[str, Any]:
        numbers = {"first": self.first} if self._straight else {"numbers": self.rows}
        return {**numbers, "names": self._table.names}


def _not_one_each(n: int, **columns: NDArray[Any] | None) -> InputError:
    name, shape = next((k, c.shape) for k, c in columns.items() if c is not None and c.shape != (n,))
    return InputError(f"{name} must be one for each of the {n} rows of X; got shape {shape}.")


class UnseenLabelError(InputError):
    """A label that is none of the classes.

    Parameters
    ----------
    label : object
    place : int
        Of the row among those it came with.
    row : int
        Its number in the stream.
    classes : list
    """

    def __init__(self, label: object, place: int, row: int, classes: list[Any]) -> None:
        super().__init__(
            f"classes must hold every label of the stream; got {label!r:.80} at row {row}, and the classes "
            f"are {classes!s:.80}. Add it to classes, or mark such rows as unlabelled."
        )
        self.label, self.place, self.row = label, place, row


def joined(parts: Sequence[Rows], clock: Clock | None = None) -> Rows:
    """Rows one after the other, which share nothing with the parts; all of them have codes, or none has."""
    if len(parts) == 1:
        return parts[0].apart(clock=clock)
    tables = [part._table for part in parts]
    first = tables[0]
    labelled = [table.y is not None for table in tables]
    plain = all(table.known is None for table in tables) and len(set(labelled)) == 1
    weighted = any(table.weights is not None for table in tables)
    return Rows(
        stacked([part.X for part in parts]),
        _labels(parts) if any(labelled) else None,
        None if plain else np.concatenate([part.known for part in parts]),
        codes=None if first.codes is None else np.concatenate([part.codes for part in parts]),
        weights=np.concatenate([part.weights for part in parts]) if weighted else None,
        names=first.names,
        clock=clock,
        **_numbers(parts),
    )


def _labels(parts: Sequence[Rows]) -> NDArray[Any]:
    """The labels of all parts; zeros, or the like, where one has none."""
    given = [part.y for part in parts]
    kind = next(y.dtype for y in given if y is not None)
    return np.concatenate(
        [np.zeros(len(part), kind) if y is None else y for part, y in zip(parts, given, strict=True)]
    )


def _numbers(parts: Sequence[Rows]) -> dict[str, Any]:
    """The numbers of all parts, or of the first row where they follow one another."""
    at = first = parts[0].first
    for part in parts:
        if not part._straight or part.first != at:
            return {"numbers": np.concatenate([part.rows for part in parts])}
        at += len(part)
    return {"first": first}


def cut_anew(parts: Iterable[Rows], size: int, clock: Clock | None = None) -> Iterator[Rows]:
    """The same rows, so many at a time, the last ones fewer; they share nothing with the parts.

    If what gives the parts fails, the rows before come first, and then the error.
    """
    waiting: list[Rows] = []
    held = 0
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
            part = rows[at : at + size - held]
            waiting.append(part)
            at, held = at + len(part), held + len(part)
            if held == size:
                yield joined(waiting, clock)
                waiting, held = [], 0
    if held:
        yield joined(waiting, clock)
    if failure is not None:
        raise failure


def stacked(matrices: list[Any]) -> Any:
    """Matrices under one another; sparse if one of them is."""
    if len(matrices) == 1:
        return matrices[0]
    if all(isinstance(each, np.ndarray) for each in matrices):
        return np.concatenate(matrices)
    from scipy.sparse import csr_matrix, vstack

    return vstack(
        [csr_matrix(each) if isinstance(each, np.ndarray) else each for each in matrices], format="csr"
    )
