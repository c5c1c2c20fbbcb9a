"""The contract of all boosters, which turn margins into weights, and what most of them share."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import (
    MAX_SETTING,
    as_array,
    as_count,
    as_margins,
    as_number,
    as_row,
    as_weight,
    as_weights,
)
from ocboost._core.codec import Fields, Tree, read
from ocboost._core.file_format import load, save
from ocboost._core.locks import Guard, reads, writes
from ocboost._ctrl_c import uninterrupted
from ocboost._kernels.arrays import Floats, Int8s
from ocboost.errors import InputError

MAX_HYPOTHESES = 1 << 24  # their pairs can still be counted; memory ends long before
# Additions, about, in one call of a kernel: a tenth of a second. Ctrl-C and waiting readers are heard between
# two calls.
WORK_PER_CALL = 100_000_000

SMOOTHING_ADVICE = "It is worth so many examples of weight one; 1 is the usual choice, 0 switches it off."
FORGETTING_ADVICE = "1 forgets nothing, 0.99 halves a weight in 69 examples."

Settings = dict[str, Any]


class Copied(ABC):
    """Something whose `copy` is what Python copies and pickles."""

    @abstractmethod
    def copy(self) -> Self:
        """One of its own with the same state.

        Returns
        -------
        Booster
            It learns by itself.
        """

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        return self.copy().__dict__  # of its own, as it is written later


class Booster(Copied):
    """Turns margins into weights, example by example.

    A booster implements `nbytes`, `copy`, ``_weights``, which solves for α, ``_take``, which gets checked
    margins, weights and labels, ``_arrays``, and `tree` and `from_tree`, which say what is saved; its
    parameters besides ``n_hypotheses`` are named in ``settings``, and are attributes of the same names.
    ``KernelBooster`` has most of this where the state is a few arrays. A line in
    ``ocboost.boosters.registry`` gives it a name, under which classifiers and the command line know it.

    The rest has a default that suits every booster. Those that can do more override it: `forgetting`,
    `window_size`, `head` and `n_head` say what it remembers; `with_settings` changes its settings; `appended`
    and `without` add and remove hypotheses, where ``can_grow`` says so; ``SummingBooster`` adds ``decay`` and
    ``merge``.

    Any number of threads may read one while another learns (``ocboost._core.locks``): what changes it is
    marked ``writes``, what needs all of its state ``reads``.

    Parameters
    ----------
    n_hypotheses : int
        J.
    """

    kind: ClassVar[str]  # its name in files
    settings: ClassVar[tuple[str, ...]]  # the names of its parameters, besides n_hypotheses
    later_settings: ClassVar[Settings] = {}  # those that older files lack, with the values they stood for
    can_grow: ClassVar[bool] = False
    can_correct: ClassVar[bool] = False  # an offset: weights w·exp(-y F₀) stand for it in exponential loss

    def __init__(self, n_hypotheses: int) -> None:
        advice = "It is the number of columns of the margins."
        self._J = as_count(n_hypotheses, "n_hypotheses", 1, MAX_HYPOTHESES, advice)
        self._n = 0  # examples taken in
        self._guard: Guard[Any] = Guard()

    # What it is -------------------------------------------------------------------------------------------

    @property
    def n_hypotheses(self) -> int:
        """J."""
        return self._J

    @property
    def n_seen(self) -> int:
        """Examples taken in."""
        return self._n

    @property
    def alpha(self) -> Floats:
        """The weights of the hypotheses, (J,) float64, always finite; cached until the next example."""
        return self._solved().copy()

    @abstractmethod
    def _weights(self) -> Any:
        """α of the present state in an array of its own, or what `_alpha_of` finds it in."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of what it remembers."""

    @property
    @abstractmethod
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays that it writes to."""

    def _solved(self) -> Floats:
        """α as its guard has it, which must not be changed."""
        return self._alpha_of(self._guard.view(self._weights))

    @staticmethod
    def _alpha_of(view: Any) -> Floats:
        """α of what its guard publishes."""
        alpha: Floats = view
        return alpha

    # What it remembers ------------------------------------------------------------------------------------

    @property
    def forgetting(self) -> float:
        """The forgetting λ: an example of n examples ago weighs λⁿ."""
        return 1.0

    @property
    def window_size(self) -> int | None:
        """The size of a sliding window, if the last examples are all that it remembers; else None."""
        return None

    @property
    def head(self) -> int:
        """How many examples it may keep, whose margins `appended` needs."""
        return 0

    @property
    def n_head(self) -> int:
        """How many such examples it keeps now."""
        return 0

    def folds_long(self, n: int, batch_size: int = 1) -> bool:
        """Whether taking in n examples more takes so long that readers should not wait for it.

        Parameters
        ----------
        n : int
            How many.
        batch_size : int, default 1
            Examples added at once.

        Returns
        -------
        bool
            False for every booster that has no head.
        """
        return False

    # Learning ---------------------------------------------------------------------------------------------

    @abstractmethod
    def _take(self, rows: Int8s, weights: Floats, labels: Int8s | None, batch_size: int) -> None:
        """Take in examples that have been checked; without labels all are of one class."""

    def _in_calls(self, n: int, batch_size: int, cost: float, learn: Callable[[slice], None]) -> None:
        """Learn n examples, as many whole batches in one call as `WORK_PER_CALL` allows.

        ``cost`` is that of an example, in additions.
        """
        step = max(1, int(WORK_PER_CALL / cost) // batch_size) * batch_size
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            with uninterrupted():
                learn(part)
                self._n += part.stop - part.start
            if part.stop < n and self._guard.wanted:
                self._guard.publish(self._weights())

    def _begin(self, rows: Int8s, weights: Floats, labels: Int8s | None) -> None:
        """Take in the first examples, all at once."""
        self._take(rows, weights, labels, len(rows))

    @classmethod
    def from_margins(
        cls,
        margins: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        **parameters: Any,
    ) -> Self:
        """Start from a first set of examples, all added at once (the paper's Option 2).

        Parameters
        ----------
        margins : array of shape (n, J)
            +1 where the hypothesis is right, -1 where it is wrong.
        sample_weight : array of shape (n,), optional
            Finite and not negative.
        labels : array of shape (n,), optional
            The classes of the examples, -1 and +1, for boosters that tell them apart; all of one if left
            out.
        **parameters
            Those of the class, without ``n_hypotheses``.

        Returns
        -------
        Booster
            It has learnt these examples.
        """
        rows = as_margins(margins)
        weights, own = as_weights(sample_weight, len(rows)), as_signs(labels, len(rows))
        booster = cls(rows.shape[1], **parameters)
        booster._begin(rows, weights, own)
        return booster

    def update(self, row: ArrayLike, sample_weight: float = 1.0, label: object = None) -> None:
        """Take in one example: its margins, and its class where that matters.

        Parameters
        ----------
        row : array of shape (J,), each -1 or +1
            The margins y·h_j(x).
        sample_weight : float, default 1.0
            Not negative.
        label : {-1, +1}, optional
            The class, for boosters that look at it.
        """
        own = None if label is None else as_signs(np.asarray([label]), 1)
        self._take(as_row(row, self._J), as_weight(sample_weight), own, 1)

    def update_many(
        self,
        margins: ArrayLike,
        *,
        batch_size: int = 1,
        sample_weight: ArrayLike | None = None,
        labels: ArrayLike | None = None,
    ) -> None:
        """Take in several examples, in order.

        Parameters
        ----------
        margins : array of shape (n, J)
            +1 where the hypothesis is right, -1 where it is wrong.
        batch_size : int, default 1
            Examples added at once; 1 is ``update`` in a loop.
        sample_weight : array of shape (n,), optional
            Finite and not negative.
        labels : array of shape (n,), optional
            The classes of the examples, -1 and +1, for boosters that tell them apart; all of one if left
            out.

        Notes
        -----
        After Ctrl-C the booster holds the examples taken in by then, whole batches of them; ``n_seen`` says
        how many.
        """
        rows = as_margins(margins, self._J)
        weights = as_weights(sample_weight, rows.shape[0])
        own = as_signs(labels, rows.shape[0])
        batch_size = as_count(batch_size, "batch_size", 1, None, "1 adds example by example.")
        self._take(rows, weights, own, min(batch_size, MAX_SETTING))

    def advance(self, rows: Int8s, weights: Floats, labels: Int8s | None) -> Floats:
        """Take in examples that have been checked, one by one, and give α, which must not be changed.

        For whoever owns the booster alone: nobody else may read it meanwhile.

        Parameters
        ----------
        rows : int8 array of shape (n, J)
            Margins.
        weights : float64 array of shape (n,)
            Sample weights.
        labels : int8 array of shape (n,) or None
            The classes, ±1.

        Returns
        -------
        array of shape (J,)
            The weights after the last one.
        """
        self._take(rows, weights, labels, 1)
        return self._solved()

    # Settings ---------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, n_hypotheses: int, settings: Settings) -> Self:
        """A new one with these settings.

        Parameters
        ----------
        n_hypotheses : int
            J.
        settings : dict
            Parameters by name.

        Returns
        -------
        Booster
            It has learnt nothing.
        """
        return cls(n_hypotheses, **settings)

    @classmethod
    def check_settings(cls, settings: Settings, n_hypotheses: int = 1) -> None:
        """Refuse settings that no booster of so many hypotheses can have.

        Parameters
        ----------
        settings : dict
            Parameters by name.
        n_hypotheses : int, default 1
            J.
        """
        cls.create(n_hypotheses, settings)

    def has_settings(self, settings: Settings) -> bool:
        """Whether it has these settings.

        Parameters
        ----------
        settings : dict
            Parameters by name.

        Returns
        -------
        bool
            True if no parameter differs.
        """
        return set(settings) == set(self.settings) and settings == self.given_settings

    @property
    def given_settings(self) -> Settings:
        """Its settings by name."""
        return {name: getattr(self, name) for name in self.settings}

    def with_settings(self, settings: Settings, before: Settings) -> Self:
        """A booster of the same examples with other settings than those before.

        Parameters
        ----------
        settings : dict
            Parameters by name.
        before : dict
            Those it was made with.

        Returns
        -------
        Booster
            A copy; this one is not changed.

        Raises
        ------
        InputError
            If such a booster cannot change them.
        """
        changed = sorted(name for name in settings if settings[name] != before.get(name))
        raise InputError(
            f"the settings of {type(self).__name__} cannot change once it has learnt; got another "
            f"{', '.join(changed)}. Fit again."
        )

    @classmethod
    def read_settings(cls, fields: Fields, names: Iterable[str]) -> Settings:
        """Settings from a file; the constructor checks them.

        Parameters
        ----------
        fields : mapping
            What the file holds.
        names : iterable of str
            Which to read.

        Returns
        -------
        dict
            Parameters by name.
        """
        older = cls.later_settings
        return {
            name: fields.plain(name) if name in fields or name not in older else older[name] for name in names
        }

    # More and fewer hypotheses ----------------------------------------------------------------------------

    def appended(self, margins: ArrayLike) -> Self:
        """A booster of the same examples with further hypotheses after those it has.

        Parameters
        ----------
        margins : array of shape (n_head, k), each -1 or +1
            What the k new hypotheses say to the examples that are kept.

        Returns
        -------
        Booster
            A copy; this one is not changed.

        Raises
        ------
        InputError
            If such a booster has the hypotheses it was made with.
        """
        raise self._fixed()

    def without(self, members: ArrayLike) -> Self:
        """A booster of the same examples without some of the hypotheses.

        Parameters
        ----------
        members : array of int
            Which to leave out.

        Returns
        -------
        Booster
            A copy; this one is not changed.

        Raises
        ------
        InputError
            If such a booster has the hypotheses it was made with.
        """
        raise self._fixed()

    def _fixed(self) -> InputError:
        return InputError(
            f"the hypotheses of {type(self).__name__} cannot change: none can be added or removed later. Use "
            "BoostingSketch."
        )

    # Files ------------------------------------------------------------------------------------------------

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
        """A booster of what `tree` gave; a state that makes no sense is a `ModelFileError`.

        Parameters
        ----------
        fields : mapping
            What `tree` gave.

        Returns
        -------
        Booster
            It learns on exactly as that one would have.
        """

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, in ocboost's own format (no pickle); an old file is replaced at the very end.

        Parameters
        ----------
        path : path
            The file.
        """
        save(path, self.kind, self.copy().tree())  # written while others may learn

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load what `save` has written; it learns on exactly as the saved one would have.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Booster
            It learns on.

        Raises
        ------
        ModelFileError
            If the file is damaged, of another version, or not such a booster. Nothing in a file is executed.
        """
        return read(load(path, cls.kind), os.fspath(path), cls.from_tree)


class KernelBooster(Booster):
    """A booster whose state is a few arrays, which a kernel changes.

    It implements ``_weights``, ``_learn``, which calls the kernel, ``_state`` and ``_check``.
    """

    array_name: ClassVar[str]  # that of an array in its files that has J entries or more

    def __repr__(self) -> str:
        given = "".join(f", {name}={value!r}" for name, value in self.given_settings.items())
        return f"{type(self).__name__}({self._J}{given})"

    @property
    @abstractmethod
    def _state(self) -> dict[str, NDArray[Any]]:
        """What it has learnt, under the names that files have for it."""

    @abstractmethod
    def _check(self, fields: Fields) -> None:
        """Refuse a state, read from a file, that no examples lead to."""

    @abstractmethod
    def _learn(self, rows: Int8s, weights: Floats, labels: Int8s | None, batch_size: int) -> None:
        """Change the state by these examples, ``batch_size`` at once."""

    def _cost(self, batch_size: int) -> float:
        """What an example costs, in additions."""
        return 4.0 * self._J

    @property
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return tuple(self._state.values())

    @property
    def nbytes(self) -> int:
        """Bytes of what it remembers."""
        return sum(array.nbytes for array in self._arrays)

    @writes
    def _take(self, rows: Int8s, weights: Floats, labels: Int8s | None, batch_size: int) -> None:
        batch_size = min(batch_size, len(rows))

        def learn(part: slice) -> None:
            self._learn(rows[part], weights[part], None if labels is None else labels[part], batch_size)

        self._in_calls(len(rows), batch_size, self._cost(batch_size), learn)

    def advance(self, rows: Int8s, weights: Floats, labels: Int8s | None) -> Floats:
        """Take in examples that have been checked, one by one, and give α, which must not be changed.

        Parameters
        ----------
        rows : int8 array of shape (n, J)
            Margins.
        weights : float64 array of shape (n,)
            Sample weights.
        labels : int8 array of shape (n,) or None
            The classes, ±1.

        Returns
        -------
        array of shape (J,)
            The weights after the last one.
        """
        self._learn(rows, weights, labels, 1)
        self._n += len(rows)
        self._guard._present = None
        return self._alpha_of(self._weights())

    @reads
    def copy(self) -> Self:
        """A booster of its own with the same state.

        Returns
        -------
        Booster
            It learns by itself.
        """
        other = type(self)(self._J, **self.given_settings)
        for name, array in other._state.items():
            array[...] = self._state[name]
        other._n = self._n
        return other

    @reads
    def tree(self) -> Tree:
        """What a file holds: plain values and arrays by name.

        Returns
        -------
        dict
            Plain values and arrays, by name.
        """
        return {"n_hypotheses": self._J, **self.given_settings, "n_seen": self._n, **self._state}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """A booster of what `tree` gave; a state that makes no sense is a `ModelFileError`.

        Parameters
        ----------
        fields : mapping
            What `tree` gave.

        Returns
        -------
        Booster
            It learns on exactly as that one would have.
        """
        n, J = fields.count("n_seen"), fields.count("n_hypotheses", 1)
        if fields.size(cls.array_name) < J:  # refused before any memory is asked for
            fields.array(cls.array_name, shape=(J,))
        booster = fields.make(cls, J, **cls.read_settings(fields, cls.settings))
        fields.fill(booster._state)
        booster._check(fields)
        booster._n = n
        return booster


class SummingBooster(Booster):
    """A booster whose state is sums over the examples: they can be smoothed, forgotten and merged."""

    def __init__(self, n_hypotheses: int, *, smoothing: float, forgetting: float) -> None:
        super().__init__(n_hypotheses)
        self._smoothing = as_number(smoothing, "smoothing", 0.0, np.inf, SMOOTHING_ADVICE)
        self._forgetting = as_number(forgetting, "forgetting", 0.0, 1.0, FORGETTING_ADVICE, low_open=True)

    @property
    def smoothing(self) -> float:
        """The smoothing ε."""
        return self._smoothing

    @property
    def forgetting(self) -> float:
        """The forgetting λ."""
        return self._forgetting

    @writes
    def decay(self, factor: float) -> None:
        """Let everything seen so far weigh ``factor`` times as much.

        Parameters
        ----------
        factor : float
            Above 0, at most 1.
        """
        factor = as_number(factor, "factor", 0.0, 1.0, "0.5 halves the weight of the past.", low_open=True)
        with uninterrupted():
            self._decay(factor)

    @abstractmethod
    def _decay(self, factor: float) -> None:
        """``decay`` by a factor that has been checked."""

    @abstractmethod
    def merge(self, other: Any) -> Self:
        """A new booster of both streams."""

    def __add__(self, other: Any) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.merge(other)


def as_signs(labels: ArrayLike | None, n: int) -> Int8s | None:
    """Classes of examples, checked: int8 of ±1; None is all of one."""
    if labels is None:
        return None
    given = as_array(labels)
    if given.shape != (n,):
        raise InputError(
            f"labels must have one class for each of the {n} examples, shape ({n},); got shape "
            f"{given.shape}. Leave them out if the classes are not known."
        )
    if given.dtype.kind not in "iuf" or not ((given == 1) | (given == -1)).all():
        raise InputError(
            f"labels must be -1 and +1; got {labels!r:.80}. Convert with np.where(positive, 1, -1)."
        )
    return np.ascontiguousarray(given, dtype=np.int8)
