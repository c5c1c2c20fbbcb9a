"""Encoders: categories, numbers or codes of texts, turned into columns of 0 and 1, or into numbers.

The categories of all columns stand one after the other in ``keys``, those of each column sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError
from ocboost.foreign.base import (
    Floats,
    Mask,
    PortableStep,
    as_floats,
    integers,
    is_missing,
    not_portable,
    numbers,
    offsets,
    width,
)
from ocboost.foreign.slots import Planned, Slot, claim_values, made_slots

NO_COLUMN = -1  # all columns of a category are 0
REFUSED = -2  # a value that the encoder has no answer to


class _Categories(PortableStep):
    """What all encoders share: finding values among the categories of their column."""

    keys: Floats
    first: NDArray[np.int64]

    def _set_categories(self, keys: Any, first: Any) -> None:
        self.keys = numbers(keys, "keys", None)
        self.first = offsets(first, "first", self.keys.size)
        self.n_columns = width(self.first.size - 1, "the number of columns")
        inside = np.ones(max(self.keys.size - 1, 0), np.bool_)
        inside[self.first[(self.first > 0) & (self.first < self.keys.size)] - 1] = (
            False  # between two columns
        )
        if (np.diff(self.keys)[inside] <= 0).any():
            raise InputError("keys must rise within each column.")

    def _found(self, X: Floats, c: int) -> tuple[NDArray[np.int64], Mask, Mask]:
        """For each row the place in ``keys``, whether it is known, and whether it is missing."""
        start, stop = self.first[c], self.first[c + 1]
        x, keys = X[:, c], self.keys[start:stop]
        if not keys.size:
            return np.zeros(x.size, np.int64), np.zeros(x.size, np.bool_), np.isnan(x)
        at = np.minimum(np.searchsorted(keys, x), keys.size - 1)
        return at + start, keys[at] == x, np.isnan(x)

    def _refuses(self, c: int) -> tuple[bool, bool]:
        """Whether a column may not be missing, and whether it may not be unknown."""
        raise NotImplementedError

    def _require_known(self, X: Floats, c: int, known: Mask, missing: Mask) -> None:
        """Refuse values that the encoder was fitted to refuse."""
        for refused, wrong in zip(self._refuses(c), (missing, ~known & ~missing), strict=True):
            if refused and wrong.any():
                what = "a missing value" if wrong is missing else "a category that is not known"
                row = int(np.argmax(wrong))
                raise InputError(
                    f"X must have categories that the model was fitted on; got {what} in row {row}, column "
                    f"{c} of what its encoder is given, and X must be finite there. Fit the encoder again "
                    "with handle_unknown='ignore'."
                )

    def _never_refused(self, wanted: Mask) -> Mask:
        """The wanted columns, and those that the encoder may refuse."""
        return wanted | np.array([any(self._refuses(c)) for c in range(self.n_columns)], np.bool_)


class OneHot(_Categories):
    """Columns of 0 and 1: each category has one, shares one with others, or has none.

    ``places`` has the column of each key, ``missing`` and ``unknown`` those of such values: -1 for none, -2
    where they are refused.
    """

    kind = "OneHot"
    _entries = ("keys", "first", "places", "missing", "unknown", "n_out")

    def __init__(
        self,
        keys: Floats,
        first: NDArray[np.int64],
        places: NDArray[np.int64],
        missing: NDArray[np.int64],
        unknown: NDArray[np.int64],
        n_out: int,
    ) -> None:
        self._set_categories(keys, first)
        self.n_out = width(n_out, "n_out")
        if self.n_out > self.keys.size + 2 * self.n_columns:
            raise InputError(f"n_out must be at most one for each category; got {n_out}.")
        last = self.n_out - 1
        self.places = integers(places, "places", self.keys.size, least=NO_COLUMN, most=last)
        self.missing = integers(missing, "missing", self.n_columns, least=REFUSED, most=last)
        self.unknown = integers(unknown, "unknown", self.n_columns, least=REFUSED, most=last)

    def __call__(self, X: Floats) -> Floats:
        """Encode each column."""
        out = np.zeros((X.shape[0], self.n_out))
        for c in range(self.n_columns):
            at, known, missing = self._found(X, c)
            self._require_known(X, c, known, missing)
            place = np.where(missing, self.missing[c], self.unknown[c])
            place[known] = self.places[at[known]]
            rows = np.flatnonzero(place >= 0)
            out[rows, place[rows]] = 1.0
        return out

    def _refuses(self, c: int) -> tuple[bool, bool]:
        return bool(self.missing[c] == REFUSED), bool(self.unknown[c] == REFUSED)

    def missing_after(self, missing: Mask) -> Mask | None:
        """0 and 1 are never missing."""
        return None if (missing & (self.missing == REFUSED)).any() else np.zeros(self.n_out, np.bool_)

    def needs(self, wanted: Mask) -> Mask:
        """The columns whose categories are wanted."""
        needed = np.zeros(self.n_columns, np.bool_)
        for c in range(self.n_columns):
            ends = np.array([self.missing[c], self.unknown[c]])
            places = np.concatenate([self.places[self.first[c] : self.first[c + 1]], ends])
            needed[c] = wanted[places[places >= 0]].any()
        return self._never_refused(needed)


class ValueLookup(_Categories):
    """Numbers in place of categories: G for each column, side by side.

    ``refused`` says for each column whether missing values and unknown ones are refused.
    """

    kind = "ValueLookup"
    _entries = ("keys", "first", "values", "missing", "unknown", "refused")

    def __init__(
        self,
        keys: Floats,
        first: NDArray[np.int64],
        values: Floats,
        missing: Floats,
        unknown: Floats,
        refused: NDArray[np.int64],
    ) -> None:
        self._set_categories(keys, first)
        self.values = numbers(values, "values", self.keys.size, None, missing=True)
        self._each = self.values.shape[1]
        if not self._each:
            raise InputError("values must be at least one for each category; got none.")
        self.missing = numbers(missing, "missing", self.n_columns, self._each, missing=True)
        self.unknown = numbers(unknown, "unknown", self.n_columns, self._each, missing=True)
        self.refused = integers(refused, "refused", self.n_columns, 2, least=0, most=1)
        self.n_out = width(self.n_columns * self._each, "the number of columns")

    def __call__(self, X: Floats) -> Floats:
        """Look up each value."""
        out = np.empty((X.shape[0], self.n_out))
        for c in range(self.n_columns):
            at, known, missing = self._found(X, c)
            self._require_known(X, c, known, missing)
            span = slice(c * self._each, (c + 1) * self._each)
            found = np.where(missing[:, None], self.missing[c], self.unknown[c])
            found[known] = self.values[at[known]]
            out[:, span] = found
        return out

    def _refuses(self, c: int) -> tuple[bool, bool]:
        return bool(self.refused[c, 0]), bool(self.refused[c, 1])

    def missing_after(self, missing: Mask) -> Mask | None:
        """NaN comes out where the encoder says so."""
        if (missing & (self.refused[:, 0] > 0)).any():
            return None
        after = np.isnan(self.unknown) | (np.isnan(self.missing) & missing[:, None])
        for c in range(self.n_columns):
            after[c] |= np.isnan(self.values[self.first[c] : self.first[c + 1]]).any(axis=0)
        return after.ravel()

    def needs(self, wanted: Mask) -> Mask:
        """The columns whose numbers are wanted."""
        return self._never_refused(np.asarray(wanted.reshape(self.n_columns, self._each).any(axis=1)))


# Reading ----------------------------------------------------------------------------------------------------


class _Known(NamedTuple):
    """The categories of a column: those that are values, their places among all, and that of missing."""

    values: list[Any]
    places: list[int]
    missing: int | None


def _known(categories: Any, slot: Slot, where: str) -> _Known:
    """Read the categories of one column, and say so to its slot."""
    array = np.asarray(categories)
    if array.dtype.kind not in "OUbiufT":
        raise not_portable(
            f"{where}, whose categories of {slot.name} are of type {array.dtype}",
            "They must be all texts, or all numbers.",
        )
    values = array.tolist()
    gaps = [i for i, value in enumerate(values) if is_missing(value)]
    if len(gaps) > 1:
        raise not_portable(
            f"{where}, which knows None and NaN as two categories of {slot.name}",
            "Use one of them for missing values.",
        )
    present = claim_values(slot, values, where)
    places = [i for i in range(len(values)) if i not in gaps]
    return _Known(present, places, gaps[0] if gaps else None)


def _grouped(fitted: Any, i: int, *, keep_missing: bool) -> tuple[list[int], int | None]:
    """For each category the place it has once rare ones are one, and the place of the rare ones.

    With ``keep_missing`` the missing category keeps its place and is not counted.
    """
    categories = np.asarray(fitted.categories_[i]).tolist()
    every = getattr(fitted, "infrequent_categories_", None)
    if every is None or every[i] is None:
        return list(range(len(categories))), None
    rare = {_key(value) for value in np.asarray(every[i], dtype=object).tolist()}
    common = [
        _key(value)
        for value in categories
        if _key(value) not in rare and not (keep_missing and is_missing(value))
    ]
    order = {key: place for place, key in enumerate(common)}
    together = len(common)
    places = [
        at if keep_missing and is_missing(value) else order.get(_key(value), together)
        for at, value in enumerate(categories)
    ]
    return places, together


def _key(value: Any) -> Any:
    """A value that can be compared and put in a set, with one form of missing."""
    return None if is_missing(value) else value


def plan_one_hot(fitted: Any, slots: list[Slot], where: str) -> Planned:
    """OneHotEncoder: dropped, rare, missing and unknown categories as it was fitted."""
    known = [_known(c, slot, where) for c, slot in zip(fitted.categories_, slots, strict=True)]
    dropped = getattr(fitted, "drop_idx_", None)
    places, missing, unknown, start = [], [], [], 0
    for i, (found, categories) in enumerate(zip(known, fitted.categories_, strict=True)):
        grouped, together = _grouped(fitted, i, keep_missing=False)
        own = np.array(grouped, dtype=np.int64)
        n_own, rare = (int(own.max()) + 1 if own.size else 0), together
        if dropped is not None and dropped[i] is not None:
            gone = own[int(dropped[i])]
            own = np.where(own == gone, NO_COLUMN, np.where(own > gone, own - 1, own))
            n_own -= 1
            rare = None if together is None or together == gone else together - (together > gone)
        own = np.where(own >= 0, own + start, NO_COLUMN)
        other = REFUSED
        if fitted.handle_unknown != "error":
            rarely = fitted.handle_unknown in ("infrequent_if_exist", "warn") and rare is not None
            other = start + int(rare) if rarely and rare is not None else NO_COLUMN
        assert len(own) == len(categories)
        places.append(own[found.places])
        missing.append(other if found.missing is None else int(own[found.missing]))
        unknown.append(other)
        start += n_own

    def build() -> PortableStep:
        keys, first, order = _sorted_keys(known, slots)
        flat = np.concatenate([*places, np.empty(0, np.int64)])[order]
        return OneHot(keys, first, flat, np.array(missing), np.array(unknown), start)

    return Planned(build, made_slots(start, where))


def plan_ordinal(fitted: Any, slots: list[Slot], where: str) -> Planned:
    """OrdinalEncoder: missing, unknown and rare categories as it was fitted."""
    known = [_known(c, slot, where) for c, slot in zip(fitted.categories_, slots, strict=True)]
    strict = fitted.handle_unknown == "error"
    other = np.nan if strict else float(fitted.unknown_value)
    values, missing, refused = [], [], []
    for i, found in enumerate(known):
        grouped, _ = _grouped(fitted, i, keep_missing=True)
        values.append(np.array(grouped, dtype=np.float64)[found.places])
        missing.append(other if found.missing is None else float(fitted.encoded_missing_value))
        refused.append((strict and found.missing is None, strict))
    unknown = np.full((len(slots), 1), other)
    return _lookup(known, slots, values, as_floats(missing)[:, None], unknown, refused, where)


def plan_target(fitted: Any, slots: list[Slot], where: str) -> Planned:
    """TargetEncoder, as it transforms rows that it was not fitted on."""
    known = [_known(c, slot, where) for c, slot in zip(fitted.categories_, slots, strict=True)]
    each = len(fitted.classes_) if fitted.target_type_ == "multiclass" else 1
    mean = as_floats(fitted.target_mean_).reshape(-1)
    values, missing = [], []
    for i, found in enumerate(known):
        own = np.stack([as_floats(e) for e in fitted.encodings_[i * each : (i + 1) * each]], axis=1)
        values.append(own[found.places])
        missing.append(mean if found.missing is None else own[found.missing])
    unknown = np.tile(mean, (len(slots), 1))
    never = [(False, False)] * len(slots)
    return _lookup(known, slots, values, np.stack(missing), unknown, never, where)


def _lookup(
    known: Sequence[_Known],
    slots: list[Slot],
    values: Sequence[Floats],
    missing: Floats,
    unknown: Floats,
    refused: Sequence[tuple[bool, bool]],
    where: str,
) -> Planned:
    each = missing.shape[1]

    def build() -> PortableStep:
        keys, first, order = _sorted_keys(known, slots)
        flat = np.concatenate([value.reshape(-1, each) for value in values])[order]
        return ValueLookup(keys, first, flat, missing, unknown, np.array(refused, dtype=np.int64))

    return Planned(build, made_slots(len(slots) * each, where))


def _sorted_keys(
    known: Sequence[_Known], slots: Sequence[Slot]
) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """All categories as numbers, where each column's begin, and where each was before."""
    keys, order, start = [np.empty(0)], [np.empty(0, np.int64)], 0
    for found, slot in zip(known, slots, strict=True):
        own = slot.codes(found.values)
        by_size = np.argsort(own, kind="stable")
        keys.append(own[by_size])
        order.append(by_size + start)
        start += own.size
    first = np.cumsum([0, *(len(each) for each in keys[1:])])
    return np.concatenate(keys), first, np.concatenate(order)


def plan_recoding(
    vocabularies: dict[int, tuple[str, ...]], slots: list[Slot], where: str
) -> Callable[[], Any]:
    """The codes of columns in a model's own vocabularies, from those of the whole; other columns stay."""
    for i, texts in vocabularies.items():
        slots[i].add(texts, where)

    def build() -> PortableStep:
        from ocboost.foreign.columns import Beside, Chain, Columns

        parts: list[PortableStep] = []
        for i, slot in enumerate(slots):
            parts.append(Columns([i], len(slots)))
            if i in vocabularies:
                codes = slot.codes(vocabularies[i])
                order = np.argsort(codes)
                one = np.full((1, 1), -1.0)
                lookup = ValueLookup(
                    codes[order],
                    np.array([0, codes.size]),
                    order.astype(np.float64)[:, None],
                    np.full((1, 1), np.nan),
                    one,
                    np.zeros((1, 2), np.int64),
                )
                parts[-1] = Chain([parts[-1], lookup])
        return Beside(parts)

    return build
