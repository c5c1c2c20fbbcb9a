"""What the parts share: options, results, and drawing margins."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np


class MissingDataError(Exception):
    """A file that a part needs is missing; the text says which."""


@dataclass(frozen=True)
class Options:
    """What the command line said."""

    data: Path | None = None
    seeds: int | None = None

    def file(self, name: str) -> Path:
        """A file of the data folder."""
        if self.data is None:
            raise MissingDataError(f"it needs {name}; name its folder with --data or OCBOOST_DATA")
        path = self.data / name
        if not path.is_file():
            raise MissingDataError(f"{path} is missing")
        return path


@dataclass(frozen=True)
class Table:
    """A table to print; cells are text already."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Figures:
    """What a part measured: tables to read, remarks under them, and the same as a record for JSON."""

    tables: Sequence[Table]
    record: dict[str, Any]
    remarks: Sequence[str] = field(default_factory=tuple)


def progress(message: str) -> None:
    """One line on stderr, if that is a terminal."""
    if sys.stderr.isatty():
        print(message, file=sys.stderr, flush=True)


def independent_columns(rng: np.random.Generator, n: int, p: np.ndarray) -> np.ndarray:
    """Margins, (n, J) int8: column j is +1 with chance p_j, independently of the others.

    The same as ``np.where(rng.random((n, J)) < p, 1, -1)``, drawn in blocks to spare memory.
    """
    margins = np.empty((n, p.size), np.int8)
    for at in range(0, n, 8192):
        block = margins[at : at + 8192]
        block[...] = np.where(rng.random(block.shape) < p, 1, -1)
    return margins


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Mean, least and greatest of one value a seed, and the values themselves."""
    array = np.asarray(values, np.float64)
    return {
        "mean": float(array.mean()),
        "min": float(array.min()),
        "max": float(array.max()),
        "values": array.tolist(),
    }


def cells(values: Sequence[float]) -> list[str]:
    """Mean, least and greatest as cells of a table."""
    found = spread(values)
    return [number(found[key]) for key in ("mean", "min", "max")]


def number(value: float) -> str:
    """Four decimals; two digits where the number is smaller than that shows."""
    return f"{value:.4f}" if value == 0.0 or abs(value) >= 0.001 else f"{value:.1e}"
