"""Which columns a step is given, steps in a row and side by side, and texts as codes.

A text column comes as codes: the index into the column's vocabulary, NaN for a missing value, -1 for a text
that is not in the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ocboost._core.codec import Fields, Tree
from ocboost.errors import InputError
from ocboost.foreign.base import (
    MAX_WIDTH,
    Floats,
    Mask,
    PortableStep,
    integers,
    is_missing,
    part_tree,
    step_from,
    width,
)
from ocboost.streams.encoding import MISSING

UNKNOWN = -1.0  # the code of a text that is not in the vocabulary


def index_of(vocabulary: Sequence[str]) -> dict[str, float]:
    """The code of each text that a column can hold, those that stand for a missing value included.

    >>> index_of(("Bern", "?"))["?"]
    1.0
    """
    index = dict.fromkeys(MISSING, np.nan)
    index.update({text: float(code) for code, text in enumerate(vocabulary)})
    return index


def codes_of_texts(values: Iterable[Any], vocabulary: Sequence[str] | Mapping[str, float]) -> Floats:
    """A column of texts as codes.

    Parameters
    ----------
    values : texts
        None, NaN and pandas' NA are missing, and so is a text that stands for a missing value ("NA", "?", …)
        unless the vocabulary has it. Anything else that is no text is not in the vocabulary.
    vocabulary : texts, or what `index_of` made of them
        For single rows it is quicker to make the index once.

    Examples
    --------
    >>> codes_of_texts(["Rome", None, "Oslo", "NA"], ("Bern", "Rome"))
    array([ 1., nan, -1., nan])
    """
    index = vocabulary if isinstance(vocabulary, Mapping) else index_of(vocabulary)
    return np.array(
        [
            index.get(value, UNKNOWN) if isinstance(value, str) else np.nan if is_missing(value) else UNKNOWN
            for value in values
        ],
        dtype=np.float64,
    )


class Columns(PortableStep):
    """Some of the columns, in any order; one may come several times.

    >>> Columns([2, 0], 3)(np.array([[1.0, 2.0, 3.0]]))
    array([[3., 1.]])
    """

    kind = "Columns"
    _entries = ("indices", "n_columns")

    def __init__(self, indices: ArrayLike, n_columns: int) -> None:
        self.n_columns = width(n_columns, "n_columns")
        given = np.asarray(indices)
        whole = given.astype(np.int64) if given.dtype.kind in "iu" or not given.size else indices
        self.indices = integers(whole, "indices", None, least=0, most=self.n_columns - 1)
        self.n_out = width(self.indices.size, "the number of indices")

    def __call__(self, X: Floats) -> Floats:
        """Gather the columns."""
        return np.ascontiguousarray(X[:, self.indices])

    def missing_after(self, missing: Mask) -> Mask:
        """Those of the columns that are taken."""
        return missing[self.indices]

    def needs(self, wanted: Mask) -> Mask:
        """Those that are taken."""
        needed = np.zeros(self.n_columns, np.bool_)
        needed[self.indices[wanted]] = True
        return needed


class Chain(PortableStep):
    """Steps one after the other."""

    kind = "Chain"

    def __init__(self, steps: Sequence[PortableStep]) -> None:
        if not steps:
            raise InputError("steps must be at least one; got none.")
        self.steps: list[PortableStep] = []
        for step in steps:
            self.steps += step.steps if isinstance(step, Chain) else [step]
        self.n_columns, self.n_out = self.steps[0].n_columns, self.steps[-1].n_out
        self.thread_safe = all(step.thread_safe for step in self.steps)
        for one, two in zip(self.steps, self.steps[1:], strict=False):
            if one.n_out != two.n_columns:
                raise InputError(
                    f"each step must take the columns that the one before it gives; got {one.n_out} from "
                    f"{one.kind} for {two.kind}, which takes {two.n_columns}."
                )

    def __call__(self, X: Floats) -> Floats:
        """Transform by all steps."""
        for step in self.steps:
            X = step(X)
        return X

    def missing_after(self, missing: Mask) -> Mask | None:
        """What the last step leaves."""
        found: Mask | None = missing
        for step in self.steps:
            found = None if found is None else step.missing_after(found)
        return found

    def needs(self, wanted: Mask) -> Mask:
        """What the first step needs."""
        for step in reversed(self.steps):
            wanted = step.needs(wanted)
        return wanted

    def tree(self) -> Tree:
        """What a file holds."""
        return {"steps": [part_tree(step) for step in self.steps]}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """Steps from what a file holds."""
        return fields.make(cls, fields.read_all("steps", step_from))


class Beside(PortableStep):
    """Steps that all see the same columns; what they give stands side by side."""

    kind = "Beside"

    def __init__(self, steps: Sequence[PortableStep]) -> None:
        self.steps = list(steps)
        counts = {step.n_columns for step in self.steps}
        if len(counts) != 1:
            raise InputError(f"steps must take the same columns; got steps for {sorted(counts)} columns.")
        self.n_columns = counts.pop()
        ends = np.cumsum([step.n_out for step in self.steps]).tolist()
        self._spans = [slice(start, stop) for start, stop in zip([0, *ends], ends, strict=False)]
        self.n_out = width(ends[-1], "the number of columns that the steps give")
        self.thread_safe = all(step.thread_safe for step in self.steps)

    def __call__(self, X: Floats) -> Floats:
        """Transform by each step."""
        out = np.empty((X.shape[0], self.n_out))
        for step, span in zip(self.steps, self._spans, strict=True):
            out[:, span] = step(X)
        return out

    def missing_after(self, missing: Mask) -> Mask | None:
        """What each step leaves."""
        parts = [step.missing_after(missing) for step in self.steps]
        present = [part for part in parts if part is not None]
        return np.concatenate(present) if len(present) == len(parts) else None

    def needs(self, wanted: Mask) -> Mask:
        """What any of the steps needs."""
        needed = np.zeros(self.n_columns, np.bool_)
        for step, span in zip(self.steps, self._spans, strict=True):
            needed |= step.needs(wanted[span])
        return needed

    def tree(self) -> Tree:
        """What a file holds."""
        return {"steps": [part_tree(step) for step in self.steps]}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """Steps from what a file holds."""
        return fields.make(cls, fields.read_all("steps", step_from))


def all_columns(n: int) -> Columns:
    """The step that changes nothing."""
    if n > MAX_WIDTH:
        raise InputError(f"a step must take at most {MAX_WIDTH:,} columns; got {n:,}.")
    return Columns(np.arange(n), n)
