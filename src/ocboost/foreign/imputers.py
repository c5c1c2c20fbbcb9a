"""Imputers: missing values filled, and columns that say where they were."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError
from ocboost.foreign.base import (
    Floats,
    Mask,
    PortableStep,
    flag,
    integers,
    is_missing,
    not_portable,
    numbers,
    width,
)
from ocboost.foreign.columns import Beside
from ocboost.foreign.slots import Planned, Slot, claim_values, made_slots


class Filled(PortableStep):
    """Some of the columns, with a value in place of what counts as missing.

    ``marker`` has for each column the number or code that counts as missing; NaN is NaN itself. Where it is a
    number, NaN is refused, as scikit-learn does.
    """

    kind = "Filled"
    _entries = ("n_columns", "indices", "values", "marker")

    def __init__(self, n_columns: int, indices: NDArray[np.int64], values: Floats, marker: Floats) -> None:
        self.n_columns = width(n_columns, "n_columns")
        self.indices = integers(indices, "indices", None, least=0, most=self.n_columns - 1)
        self.n_out = self.indices.size
        self.values = numbers(values, "values", self.n_out)
        self.marker = numbers(marker, "marker", self.n_columns, missing=True)
        if np.unique(self.indices).size != self.n_out:
            raise InputError("indices must be different columns.")

    def __call__(self, X: Floats) -> Floats:
        """Fill the gaps."""
        missing = where_missing(X, self.marker)[:, self.indices]
        return np.where(missing, self.values, X[:, self.indices])

    def missing_after(self, missing: Mask) -> Mask | None:
        """None is missing any more; where a number marks it, NaN is refused."""
        return None if (missing & ~np.isnan(self.marker)).any() else np.zeros(self.n_out, np.bool_)

    def needs(self, wanted: Mask) -> Mask:
        """Those that are kept, and those where NaN is refused."""
        needed = ~np.isnan(self.marker)
        needed[self.indices[wanted]] = True
        return needed


class MissingFlags(PortableStep):
    """1 where a column is missing, else 0; a column that must not be missing is refused where it is."""

    kind = "MissingFlags"
    _entries = ("n_columns", "indices", "marker", "refuse_others")

    def __init__(
        self, n_columns: int, indices: NDArray[np.int64], marker: Floats, refuse_others: bool
    ) -> None:
        self.n_columns = width(n_columns, "n_columns")
        self.indices = integers(indices, "indices", None, least=0, most=self.n_columns - 1)
        self.n_out = width(self.indices.size, "the number of indices")
        self.marker = numbers(marker, "marker", self.n_columns, missing=True)
        self.refuse_others = flag(refuse_others, "refuse_others")
        self._others = np.setdiff1d(np.arange(self.n_columns), self.indices)

    def __call__(self, X: Floats) -> Floats:
        """Say which are missing."""
        missing = where_missing(X, self.marker)
        if self.refuse_others and missing[:, self._others].any():
            column = self._others[np.argmax(missing[:, self._others].any(axis=0))]
            raise InputError(
                f"X must have missing values only where the MissingIndicator was fitted on some; got one in "
                f"column {column} of what it is given. Fit it again with error_on_new=False."
            )
        return missing[:, self.indices].astype(np.float64)

    def missing_after(self, missing: Mask) -> Mask | None:
        """None of the answers is missing."""
        refused = ~np.isnan(self.marker)
        if self.refuse_others:
            refused[self._others] = True
        return None if (missing & refused).any() else np.zeros(self.n_out, np.bool_)

    def needs(self, wanted: Mask) -> Mask:
        """Those it speaks of, and those where it refuses NaN."""
        needed = ~np.isnan(self.marker)
        needed[self.indices[wanted]] = True
        if self.refuse_others:
            needed[self._others] = True
        return needed


def where_missing(X: Floats, marker: Floats) -> Mask:
    """Which values count as missing; NaN is refused in columns that have another marker."""
    nan, by_number = np.isnan(X), ~np.isnan(marker)
    if not by_number.any():
        return nan
    if nan[:, by_number].any():
        column = int(np.argmax(nan.any(axis=0) & by_number))
        raise InputError(
            f"X must be finite for an imputer with missing_values={marker[column]:g}; got NaN in column "
            f"{column} of what it is given. Fit it again with missing_values=np.nan."
        )
    return np.where(by_number, marker == X, nan)


# Reading ----------------------------------------------------------------------------------------------------


def plan_imputer(fitted: Any, slots: list[Slot], where: str) -> Planned:
    """SimpleImputer, with or without the columns of its indicator."""
    statistics = np.asarray(fitted.statistics_).tolist()
    kept = [i for i, value in enumerate(statistics) if fitted.keep_empty_features or not is_missing(value)]
    for i in kept:
        if is_missing(statistics[i]):
            raise not_portable(f"{where}, a SimpleImputer that fills {slots[i].name} with a missing value")
        claim_values(slots[i], [statistics[i]], where)
    markers = _planned_markers(fitted.missing_values, slots, where)
    flags = None
    if fitted.add_indicator:
        flags = _planned_flags(fitted.indicator_, slots, where)

    def build() -> PortableStep:
        values = [slots[i].codes([statistics[i]])[0] for i in kept]
        filled = Filled(len(slots), np.array(kept, np.int64), np.array(values, np.float64), markers())
        return filled if flags is None else Beside([filled, flags.build()])

    return Planned(build, [slots[i] for i in kept] + ([] if flags is None else flags.out))


def plan_flags(fitted: Any, slots: list[Slot], where: str) -> Planned:
    """MissingIndicator."""
    return _planned_flags(fitted, slots, where)


def _planned_flags(fitted: Any, slots: list[Slot], where: str) -> Planned:
    markers = _planned_markers(fitted.missing_values, slots, where)
    only = fitted.features == "missing-only"
    indices = np.asarray(fitted.features_, dtype=np.int64)
    return Planned(
        lambda: MissingFlags(len(slots), indices, markers(), bool(only and fitted.error_on_new)),
        made_slots(indices.size, where),
    )


def _planned_markers(missing_values: Any, slots: list[Slot], where: str) -> Any:
    """What counts as missing in each column: a number, a text's code, or NaN; made when texts have codes."""
    if not is_missing(missing_values):
        for slot in slots:
            claim_values(slot, [missing_values], where)
        return lambda: np.array([slot.codes([missing_values])[0] for slot in slots])
    return lambda: np.full(len(slots), np.nan)
