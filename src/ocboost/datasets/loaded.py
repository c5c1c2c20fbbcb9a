"""The rows of a named stream, and what a reader should know of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ocboost.rows import Rows


@dataclass(frozen=True, eq=False)
class Loaded:
    """A stream held in memory.

    Parameters
    ----------
    rows : Rows
        In the order of the stream, with labels.
    source : str
        One sentence for reports: where the rows came from.
    notes : list of str
        What was done to them.
    """

    rows: Rows
    source: str
    notes: list[str] = field(default_factory=list)
