"""Labelled rows in the order of a stream, and what a reader should know of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """A stream held as arrays.

    Parameters
    ----------
    X : array or SciPy CSR matrix of shape (n, F)
        The features, in the order of the stream; NaN where one is missing.
    y : array of shape (n,)
        The labels.
    source : str
        One sentence for reports: where the rows came from.
    notes : list of str
        What was done to them.
    """

    X: Any
    y: NDArray[Any]
    source: str
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if len(self.X.shape) != 2 or self.y.shape != self.X.shape[:1]:
            raise InputError(
                f"X and y must have as many rows; got shapes {self.X.shape} and {self.y.shape}. Give a label "
                "for each row."
            )

    def __len__(self) -> int:
        return len(self.y)

    @property
    def classes(self) -> list[Any]:
        """The different labels, in order."""
        labels: list[Any] = np.unique(self.y).tolist()
        return labels
