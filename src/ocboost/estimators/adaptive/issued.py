"""Predictions that wait for their labels, in bounded memory.

A prediction is found again by the id that it was issued with, or, without ids, by the row itself: of equal
rows the first issued is the first labelled. One that has waited much longer than others do, while an equal
row has been predicted since, is taken for one whose label never came. Keys are digests of 16 bytes. When
there are too many the oldest are dropped; their labels then count as those of rows that were never predicted.
"""

from __future__ import annotations

import hashlib
import struct
from collections import deque
from typing import Any, NamedTuple, Self

import numpy as np

from ocboost._core.codec import Fields, Tree
from ocboost._kernels.answers import first_unusable
from ocboost._kernels.arrays import Floats
from ocboost.errors import InputError

MAX_ISSUED = 10_000
MAX_ISSUED_BYTES = 1 << 26
KEY_BYTES = 16
ELSEWHERE = -1  # the number of a prediction that somebody else keeps
_ISSUED = struct.Struct("<IIqq")  # rows of the record, last, since, learnt; then the record


def key_of_row(X: Any) -> bytes:
    """The key of a row, (1, F), dense or CSR."""
    values = X if isinstance(X, np.ndarray) else X.data
    if first_unusable(values.reshape(-1), False) >= 0:  # there are many NaNs
        values = np.where(np.isnan(values), np.nan, values)
    if values.ndim == 2:
        return hashlib.blake2b(values.tobytes(), digest_size=KEY_BYTES).digest()
    digest = hashlib.blake2b(b"sparse", digest_size=KEY_BYTES)
    digest.update(X.indices.astype(np.int64).tobytes())
    digest.update(values.tobytes())
    return digest.digest()


def same_row(one: Any, other: Any) -> bool:
    """Whether two rows, (1, F), both dense or both CSR, are equal to the last bit."""
    if isinstance(one, np.ndarray):
        return bool(one.tobytes() == other.tobytes())
    same_columns = one.indices.tobytes() == other.indices.tobytes()
    return bool(same_columns and one.data.tobytes() == other.data.tobytes())


def key_of_id(row_id: Any) -> bytes:
    """The key of a row's id: a text, a whole number or bytes."""
    value = row_id.item() if isinstance(row_id, np.generic) else row_id
    if isinstance(value, bool) or not isinstance(value, str | int | bytes):
        raise InputError(
            f"ids must be texts, whole numbers or bytes, one for each row; got {row_id!r:.80}. Give str(id)."
        )
    return hashlib.blake2b(repr(value).encode(), digest_size=KEY_BYTES, person=b"id").digest()


def key_of_number(number: int) -> bytes:
    """The key of a row's number in a stream, which no id of a user has."""
    return hashlib.blake2b(str(number).encode(), digest_size=KEY_BYTES, person=b"number").digest()


class Issued(NamedTuple):
    """A prediction that was issued."""

    record: Floats
    number: int  # of the prediction
    last: int  # the newest label known then
    since: int = 0  # predictions issued after that label came
    learnt: int = 0  # labels learnt before it
    alone: bool = True  # whether no other waited under its key

    def to_bytes(self) -> bytes:
        """What somebody else keeps until its label comes, see `issued_from_bytes`."""
        return _ISSUED.pack(len(self.record), self.last, self.since, self.learnt) + self.record.tobytes()


def issued_from_bytes(data: bytes, sizes: tuple[int, ...], n_classes: int) -> Issued | None:
    """A prediction that was kept elsewhere; None if a bank of such records did not issue it.

    ``sizes`` are the possible numbers of rows of a record.
    """
    if len(data) < _ISSUED.size:
        return None
    rows, last, since, learnt = _ISSUED.unpack_from(data)
    if rows not in sizes or len(data) != _ISSUED.size + 8 * rows * n_classes or last > n_classes:
        return None
    record = np.frombuffer(data, np.float64, rows * n_classes, _ISSUED.size).reshape(rows, n_classes).copy()
    if min(since, learnt) < 0 or not np.isfinite(record).all():
        return None
    return Issued(record, ELSEWHERE, last, since, learnt)


class IssuedPredictions:
    """Records by key, first in, first out; the oldest are dropped where there are too many."""

    def __init__(self) -> None:
        self.n_issued = 0
        self.n_dropped = 0
        self._waiting: dict[int, tuple[bytes, Floats, int, int, int]] = {}  # by number, oldest first
        self._numbers: dict[bytes, deque[int]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def nbytes(self) -> int:
        """Bytes of the records."""
        return self._bytes

    def add(
        self, key: bytes, record: Floats, last: int, since: int, learnt: int = 0, *, replace: bool
    ) -> None:
        """Keep a record, issued after ``learnt`` labels; with ``replace`` others of its key are dropped."""
        numbers = self._numbers.get(key)
        if numbers is not None and replace:
            for number in list(numbers):
                self._remove(number)
            numbers = None
        if numbers is None:
            self._numbers[key] = deque((self.n_issued,))
        else:
            numbers.append(self.n_issued)
        self._waiting[self.n_issued] = key, record, last, since, learnt
        self.n_issued += 1
        self._bytes += record.nbytes
        while len(self._waiting) > MAX_ISSUED or self._bytes > MAX_ISSUED_BYTES:
            self._remove(next(iter(self._waiting)))
            self.n_dropped += 1

    def _remove(self, number: int) -> None:
        key, record, *_ = self._waiting.pop(number)
        self._bytes -= record.nbytes
        numbers = self._numbers[key]
        if len(numbers) == 1:
            del self._numbers[key]
        else:
            numbers.remove(number)

    def find(self, key: bytes) -> Issued | None:
        """The oldest record of a key, which goes on waiting; None if there is none."""
        numbers = self._numbers.get(key)
        if numbers is None:
            return None
        _, record, last, since, learnt = self._waiting[numbers[0]]
        return Issued(record, numbers[0], last, since, learnt, len(numbers) == 1)

    def drop_stale(self, key: bytes, learnt: int) -> None:
        """Drop what was issued under a key before so many labels were learnt, but for the newest."""
        numbers = self._numbers.get(key)
        while numbers is not None and len(numbers) > 1 and self._waiting[numbers[0]][4] < learnt:
            self._remove(numbers[0])
            self.n_dropped += 1

    def forget(self, issued: Issued) -> None:
        """It no longer waits."""
        if issued.number != ELSEWHERE:
            self._remove(issued.number)

    def take(self, key: bytes) -> Issued | None:
        """The oldest record of a key, which no longer waits; None if there is none."""
        found = self.find(key)
        if found is not None:
            self.forget(found)
        return found

    def copy(self) -> Self:
        """An independent copy; records never change."""
        other = type(self)()
        other.n_issued, other.n_dropped, other._bytes = self.n_issued, self.n_dropped, self._bytes
        other._waiting = dict(self._waiting)
        other._numbers = {key: deque(numbers) for key, numbers in self._numbers.items()}
        return other

    def tree(self) -> Tree:
        """What a file holds."""
        waiting = self._waiting
        keys = b"".join(key for key, *_ in waiting.values())
        return {
            "n_issued": self.n_issued,
            "n_dropped": self.n_dropped,
            "numbers": np.array(list(waiting), np.int64),
            "keys": np.frombuffer(keys, "<u8").astype(np.uint64).reshape(-1, KEY_BYTES // 8),
            "last": np.array([last for _, _, last, *_ in waiting.values()], np.int64),
            "since": np.array([since for *_, since, _ in waiting.values()], np.int64),
            "learnt": np.array([learnt for *_, learnt in waiting.values()], np.int64),
            "rows": np.array([len(record) for _, record, *_ in waiting.values()], np.int64),
            "records": np.concatenate([record.ravel() for _, record, *_ in waiting.values()])
            if waiting
            else np.zeros(0),
        }

    @classmethod
    def from_tree(cls, fields: Fields, sizes: tuple[int, ...], n_classes: int) -> Self:
        """Issued predictions of a file; ``sizes`` are the possible numbers of rows of a record."""
        issued = cls()
        n_issued, n_dropped = fields.count("n_issued"), fields.count("n_dropped")
        numbers = fields.array("numbers", np.int64, (None,))
        n = len(numbers)
        fields.require(n <= MAX_ISSUED, "too many predictions wait for their labels")
        ordered = n == 0 or (numbers[0] >= 0 and numbers[-1] < n_issued and (np.diff(numbers) > 0).all())
        fields.require(bool(ordered), "its predictions are out of order")
        keys = fields.array("keys", np.uint64, (n, KEY_BYTES // 8))
        last = fields.array("last", np.int64, (n,))
        fields.require(bool(((last >= 0) & (last <= n_classes)).all()), "its last labels do not fit")
        since = fields.array("since", np.int64, (n,))
        fields.require(bool((since >= 0).all()), "its distances do not fit")
        learnt = fields.array("learnt", np.int64, (n,))
        fields.require(n == 0 or bool(learnt[0] >= 0 and (np.diff(learnt) >= 0).all()), "its ages do not fit")
        rows = fields.array("rows", np.int64, (n,))
        fields.require(bool(np.isin(rows, sizes).all()), "its records do not fit")
        records = fields.array("records", np.float64, (int(rows.sum()) * n_classes,))
        fields.require(bool(np.isfinite(records).all()), "its records must be finite")
        ends = np.cumsum(rows * n_classes)
        for i, number in enumerate(numbers.tolist()):
            issued.n_issued = number
            part = records[int(ends[i]) - int(rows[i]) * n_classes : int(ends[i])]
            record = part.reshape(-1, n_classes).copy()
            key, ages = keys[i].astype("<u8").tobytes(), (int(since[i]), int(learnt[i]))
            issued.add(key, record, int(last[i]), *ages, replace=False)
        fields.require(len(issued) == n, "too many predictions wait for their labels")
        issued.n_issued, issued.n_dropped = n_issued, n_dropped
        return issued
