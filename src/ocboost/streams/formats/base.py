"""What the readers of the formats have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from ocboost.errors import InputError
from ocboost.streams.coverage import Coverage, Fit
from ocboost.streams.source import Source

SAMPLE_ROWS = 10_000
SAMPLE_BYTES = 1 << 22

Role = Literal["number", "text", "label"]


class Records(ABC):
    """The rows of a file as Arrow record batches, before they are encoded.

    Attributes
    ----------
    name : str
        What messages call the file.
    names : list of str
        Its columns, in their order.
    notes : list of str
        What a user should know about them.
    typed : bool
        Whether the file says which values are texts; in CSV all are.
    """

    name: str
    names: list[str]
    notes: list[str]
    typed: bool

    @abstractmethod
    def sample(self) -> Mapping[str, Any]:
        """The first rows: each column as an Arrow array. Columns that cannot be used are left out."""

    @abstractmethod
    def batches(self, roles: Mapping[str, Role], skip: int) -> Iterator[Any]:
        """Record batches of the columns in `roles` and perhaps others, after the first `skip` rows.

        If the file is broken, the rows before come first.
        """

    @property
    @abstractmethod
    def bytes_read(self) -> int:
        """Bytes read so far."""

    @property
    @abstractmethod
    def bytes_total(self) -> int | None:
        """Bytes there are, if known."""

    @abstractmethod
    def coverage(self) -> Coverage | None:
        """All that has been read, once the rows have come to their end; None if it was not tracked."""

    @abstractmethod
    def fits(self, coverages: Sequence[object]) -> list[Fit]:
        """How the file fits each of several coverages."""

    @abstractmethod
    def close(self) -> None:
        """Close the file."""


class TextRecords(Records):
    """The rows of a file of lines, which is read from its beginning to its end."""

    _source: Source

    @property
    def bytes_read(self) -> int:
        """Bytes read so far."""
        return self._source.bytes_read

    @property
    def bytes_total(self) -> int | None:
        """Bytes there are, if known."""
        return self._source.bytes_total

    def coverage(self) -> Coverage | None:
        """All that has been read."""
        return self._source.coverage()

    def fits(self, coverages: Sequence[object]) -> list[Fit]:
        """How the text fits each of several coverages."""
        return self._source.fits(coverages)

    def close(self) -> None:
        """Close the file."""
        self._source.close()


def too_short(name: str, skip: int, n: int) -> InputError:
    """The error where fewer rows are there than were to be passed over."""
    return InputError(
        f"{name} must hold the {skip} rows that skip passes over; it holds {n}. Is it the same file?"
    )


def no_rows(name: str) -> InputError:
    """The error of a file without rows."""
    return InputError(f"{name} holds no rows. Give a file with at least one row of data.")
