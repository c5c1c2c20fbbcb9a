"""The boosters' contract: what turns margins into weights, example by example, and the verbs that feed it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
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
from ocboost._core.interrupts import uninterrupted
from ocboost._core.locks import Guard
from ocboost._core.storage import load, save
from ocboost.boosters.adaboost import SMOOTHING_ADVICE
from ocboost.errors import InputError

MOST_HYPOTHESES = 1 << 24  # their pairs can still be counted; memory ends long before
FORGETTING_ADVICE = "1 forgets nothing, 0.99 halves a weight in 69 examples."

Settings = dict[str, Any]


class Booster(ABC):
    """Turns margins into weights, example by example.

    A booster implements `nbytes`, `copy`, ``_weights``, which solves for α, ``_take``, which gets
    checked margins, weights and labels, and `tree` and `from_tree`, which say what is saved; its parameters
    besides ``n_hypotheses`` are named in `settings`, and are attributes of the same names. A line in
    `ocboost.boosters.registry` gives it a name, under which classifiers and the command line know it.

    The rest has a meaning for every booster, which those that can do more replace: `forgetting`, `last_only`,
    `head` and `n_head` say what it remembers; `followed` goes on with other settings; `appended` and
    `without` bring more and fewer hypotheses, where `can_grow` says so; `SummingBooster` adds `decay` and
    `merge`.

    Any number of threads may read one while another learns (`ocboost._core.locks`): what changes it is marked
    ``writes``, what needs all of its state ``reads``.
    """

    kind: ClassVar[str]  # its name in files
    settings: ClassVar[tuple[str, ...]]  # the names of its parameters, besides n_hypotheses
    can_grow: ClassVar[bool] = False
    can_correct: ClassVar[bool] = False  # an offset: weights w·exp(-y F₀) stand for it in exponential loss

    def __init__(self, n_hypotheses: int) -> None:
        self._J = as_count(
            n_hypotheses, "n_hypotheses", 1, MOST_HYPOTHESES, "It is the number of columns of the margins."
        )
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
    def alpha(self) -> NDArray[np.float64]:
        """The weights of the hypotheses, (J,) float64, always finite; kept until the next example."""
        return self._solved().copy()

    @abstractmethod
    def _weights(self) -> Any:
        """α of the present state, or what `_alpha_of` finds it in: an array of its own."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of what it remembers."""

    @property
    @abstractmethod
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        """All that it writes to."""

    def _solved(self) -> NDArray[np.float64]:
        """α as its guard has it; not to be changed."""
        return self._alpha_of(self._guard.view(self._weights))

    @staticmethod
    def _alpha_of(view: Any) -> NDArray[np.float64]:
        """α of what its guard publishes."""
        alpha: NDArray[np.float64] = view
        return alpha

    # What it remembers ------------------------------------------------------------------------------------

    @property
    def forgetting(self) -> float:
        """λ: an example of n examples ago weighs λⁿ."""
        return 1.0

    @property
    def last_only(self) -> int | None:
        """How many examples it remembers, the last ones and nothing else; None if it is no such window."""
        return None

    @property
    def head(self) -> int:
        """How many examples may be kept whose margins `appended` needs."""
        return 0

    @property
    def n_head(self) -> int:
        """How many such examples there are now."""
        return 0

    def folds_long(self, n: int, batch_size: int = 1) -> bool:
        """Whether taking in n examples more takes so long that readers should not wait for it."""
        return False

    # Learning ---------------------------------------------------------------------------------------------

    @abstractmethod
    def _take(
        self,
        rows: NDArray[np.int8],
        weights: NDArray[np.float64],
        labels: NDArray[np.int8] | None,
        batch_size: int,
    ) -> None:
        """Take in examples that have been checked; without labels all are of one class."""

    def _by_pieces(self, n: int, piece: int, learn: Callable[[slice], None]) -> None:
        """Learn n examples, so many at a time; between the pieces Ctrl-C and waiting readers are heard."""
        for start in range(0, n, piece):
            part = slice(start, min(start + piece, n))
            with uninterrupted():
                learn(part)
                self._n += part.stop - part.start
            if self._guard.wanted:
                self._guard.publish(self._weights())

    def _begin(
        self, rows: NDArray[np.int8], weights: NDArray[np.float64], labels: NDArray[np.int8] | None
    ) -> None:
        """Take in the first examples, all at once; a booster that learns by steps does so one by one."""
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
        """
        rows = as_margins(margins)
        weights, own = as_weights(sample_weight, len(rows)), as_signs(labels, len(rows))
        booster = cls(rows.shape[1], **parameters)
        booster._begin(rows, weights, own)
        return booster

    def update(self, row: ArrayLike, sample_weight: float = 1.0, label: object = None) -> None:
        """Take in one example: its margins y·h_j(x), of shape (J,), and its class, ±1, where that matters."""
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

    # Settings ---------------------------------------------------------------------------------------------

    @classmethod
    def made(cls, n_hypotheses: int, settings: Settings) -> Self:
        """An empty one of these settings."""
        return cls(n_hypotheses, **settings)

    @classmethod
    def check_settings(cls, settings: Settings, n_hypotheses: int = 1) -> None:
        """Refuse settings that no booster of so many hypotheses has."""
        cls.made(n_hypotheses, settings)

    def made_with(self, settings: Settings) -> bool:
        """Whether it is one of these settings."""
        return set(settings) == set(self.settings) and settings == self.chosen

    @property
    def chosen(self) -> Settings:
        """Its settings by name."""
        return {name: getattr(self, name) for name in self.settings}

    def followed(self, settings: Settings, before: Settings) -> Self:
        """One of the same examples that goes on with other settings than those before."""
        changed = sorted(name for name in settings if settings[name] != before.get(name))
        raise InputError(
            f"the settings of {type(self).__name__} cannot change once it has learnt; got another "
            f"{', '.join(changed)}. Fit anew."
        )

    # More and fewer hypotheses ----------------------------------------------------------------------------

    def appended(self, margins: ArrayLike) -> Self:
        """One of the same examples with further hypotheses behind those it has."""
        raise self._fixed()

    def without(self, members: ArrayLike) -> Self:
        """One of the same examples without some of the hypotheses."""
        raise self._fixed()

    def _fixed(self) -> InputError:
        return InputError(
            f"the hypotheses of {type(self).__name__} stay as they are: it can bring none in later. Use "
            "BoostingSketch."
        )

    # Copies and files -------------------------------------------------------------------------------------

    @abstractmethod
    def copy(self) -> Self:
        """A booster of its own with the same state."""

    @abstractmethod
    def tree(self) -> Tree:
        """What a file holds: plain values and arrays by name."""

    @classmethod
    @abstractmethod
    def from_tree(cls, fields: Fields) -> Self:
        """A booster of what `tree` gave; whatever makes no sense is a `ModelFileError`."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, in ocboost's own format (no pickle); an old one stays until this one is whole."""
        save(path, self.kind, self.copy().tree())  # written while others may learn

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load what `save` has written; it goes on exactly as the saved one would have.

        Raises
        ------
        ModelFileError
            If the file is damaged, of another version, or not such a booster. Nothing in a file is executed.
        """
        return read(load(path, cls.kind), os.fspath(path), cls.from_tree)

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        return self.copy().__dict__  # of its own, as it is written later


class SummingBooster(Booster):
    """A booster whose state is sums over the examples: they can be smoothed, forgotten and merged."""

    def __init__(self, n_hypotheses: int, *, smoothing: float, forgetting: float) -> None:
        super().__init__(n_hypotheses)
        self._smoothing = as_number(smoothing, "smoothing", 0.0, np.inf, SMOOTHING_ADVICE)
        self._forgetting = as_number(forgetting, "forgetting", 0.0, 1.0, FORGETTING_ADVICE, low_open=True)

    @property
    def smoothing(self) -> float:
        """ε."""
        return self._smoothing

    @property
    def forgetting(self) -> float:
        """λ."""
        return self._forgetting

    @abstractmethod
    def decay(self, factor: float) -> None:
        """Let everything seen so far weigh ``factor`` times as much, 0 < factor <= 1."""

    @abstractmethod
    def merge(self, other: Any) -> Self:
        """A new booster of both streams."""

    def __add__(self, other: Any) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.merge(other)


def as_signs(labels: ArrayLike | None, n: int) -> NDArray[np.int8] | None:
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
