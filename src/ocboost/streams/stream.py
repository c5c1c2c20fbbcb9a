"""What all streams have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Self

from ocboost.streams.coverage import Coverage, Fit
from ocboost.streams.rows import Rows
from ocboost.streams.schema import Schema


class Stream(ABC):
    """Batches of rows, once through; a context manager that closes what it reads.

    Attributes
    ----------
    schema : Schema
        What the columns are.
    batch_size : int
        Rows of each batch; the last one may be shorter.
    notes : list of str
        What a user should know about how the columns were read.
    """

    def __init__(self, schema: Schema, batch_size: int, notes: list[str]) -> None:
        self.schema = schema
        self.batch_size = batch_size
        self.notes = notes
        self._batches: Iterator[Rows] = iter(())

    def __iter__(self) -> Iterator[Rows]:
        return self

    def __next__(self) -> Rows:
        return next(self._batches)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give up what is not read yet; closing twice does nothing."""
        self._batches = iter(())

    @property
    @abstractmethod
    def bytes_read(self) -> int:
        """Bytes read so far, as they are stored: of a compressed file, the compressed ones."""

    @property
    @abstractmethod
    def bytes_total(self) -> int | None:
        """Bytes there are; None where nobody knows."""

    @abstractmethod
    def fingerprint(self) -> dict[str, Any] | None:
        """How the data begin, to recognise them later; None where they cannot be read twice."""

    @abstractmethod
    def matches(self, fingerprint: object) -> bool:
        """Whether the data begin as the `fingerprint` says; they may have grown since."""

    def coverage(self) -> Coverage | None:
        """All that has been read, once the stream has come to its end; None where that is not kept."""
        return None

    def fits(self, coverages: Sequence[object]) -> list[Fit]:
        """How the data fit each of several coverages: "other", the "same", "longer" or "completed"."""
        return ["other"] * len(coverages)

    def start_at(self, row: int) -> None:
        """Begin at another row than it was opened for, before the first batch is taken."""
        raise NotImplementedError
