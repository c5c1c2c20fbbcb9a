"""Where rows came from, and how far each source was learnt; a record of the store for each."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from ocboost._core.codec import MAX_COUNT
from ocboost._kernels.arrays import Ints
from ocboost.errors import InputError
from ocboost.fleet.record import DamagedRecordError

PREFIX = b"source:"  # of the names of these records
MAX_NAME_BYTES = 400
MAX_FACTS = 10_000  # characters
_CRC_BYTES = 4


@dataclass(frozen=True)
class ReadSource:
    """How far a source was learnt, and what whoever reads it wants to know of it."""

    offset: int = 0
    facts: dict[str, Any] = field(default_factory=dict)

    def record(self, name: str) -> bytes:
        """Its bytes: a checksum, and JSON."""
        body = json.dumps([self.offset, self.facts]).encode()
        return zlib.crc32(body, zlib.crc32(name.encode())).to_bytes(_CRC_BYTES, "little") + body

    @classmethod
    def from_record(cls, name: str, record: bytes) -> Self:
        """What `record` gave; anything else is a `DamagedRecordError`."""
        body = record[_CRC_BYTES:]
        if int.from_bytes(record[:_CRC_BYTES], "little") != zlib.crc32(body, zlib.crc32(name.encode())):
            raise DamagedRecordError("its checksum does not fit")
        offset, facts = json.loads(body)
        return cls(offset, facts)

    def shown(self) -> dict[str, Any]:
        """For people."""
        return {**self.facts, "offset": self.offset}


def as_source(name: Any) -> str:
    """Check the name of a source."""
    fits = type(name) is str and 1 <= len(name.encode(errors="replace")) <= MAX_NAME_BYTES
    if not fits or not _is_utf8(name):
        raise InputError(f"source must be a name of 1 to {MAX_NAME_BYTES} bytes; got {name!r:.80}.")
    found: str = name
    return found


def _is_utf8(name: str) -> bool:
    try:
        return bool(name.encode())
    except UnicodeEncodeError:
        return False


def as_facts(facts: Any) -> dict[str, Any]:
    """Check facts of a source: what JSON can hold, and not much of it."""
    try:
        text = json.dumps(facts, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"facts must be what JSON can hold; {error!s:.80}.") from None
    if not isinstance(facts, dict) or len(text) > MAX_FACTS:
        raise InputError(
            f"facts must be a dictionary of at most {MAX_FACTS:,} characters; got {len(text):,}: "
            f"{facts!r:.80}."
        )
    found: dict[str, Any] = json.loads(text)
    return found


def as_offsets(source: str | None, offset: Any, n: int) -> Ints:
    """The numbers of n rows in their source."""
    if (source is None) != (offset is None):
        raise InputError("source and offset belong together; got one of them. Give both, or neither.")
    if source is None:
        return np.zeros(n, np.int64)
    as_source(source)
    try:
        numbers = np.asarray(offset)
    except ValueError:  # lists of different lengths
        numbers = np.zeros((0, 0))
    inside = numbers.dtype.kind in "iu" and numbers.ndim < 2
    if not inside or (numbers.size and not 0 <= int(numbers.min()) <= int(numbers.max()) <= MAX_COUNT - n):
        raise InputError(
            f"offset must be a whole number from 0 to {MAX_COUNT}, or one for each row; got {offset!r:.80}."
        )
    if numbers.ndim == 0:
        return int(numbers) + np.arange(n)
    if numbers.shape != (n,) or (np.diff(numbers.astype(np.int64)) <= 0).any():
        raise InputError(f"offset must be {n} increasing numbers, one for each row; got {offset!r:.80}.")
    return numbers.astype(np.int64)
