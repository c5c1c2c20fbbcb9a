"""The categories of a column: numbers, or texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import NotSavableError


def as_categories(
    listed: Mapping[int, Sequence[Any]], what: str
) -> tuple[dict[int, NDArray[np.float64]], dict[int, tuple[str, ...]]]:
    """Columns of numbers with their values, and columns of texts with their vocabularies, by position.

    >>> as_categories({0: ["red", "blue", None], 2: [3, 1]}, "a model")
    ({2: array([3., 1.])}, {0: ('red', 'blue')})
    """
    codes, vocabularies = {}, {}
    for column, values in listed.items():
        known = list(values)
        while known and (known[-1] is None or known[-1] != known[-1]):  # missing is no category, and last
            known.pop()
        if all(isinstance(value, str) for value in known):
            vocabularies[column] = tuple(str(value) for value in known)
        elif all(isinstance(value, bool | np.bool_ | int | float | np.number) for value in known):
            codes[column] = np.array(known, dtype=np.float64)
        else:
            types = sorted({type(value).__name__ for value in known})
            raise NotSavableError(
                f"{what} with categories in column {column} that are {', '.join(types)!s:.60} cannot be "
                "saved: categories must be all texts or all numbers. Convert the column to text first."
            )
    return codes, vocabularies
