"""How far a stream has been read, in a form that finds the same rows again at the beginning of a longer one.

A coverage is a small dictionary for JSON: how long the beginning is, and its SHA-256. Of text it counts
bytes as they are after unpacking, so that a log may be packed anew; of a table it counts rows, and digests
values, so that a Parquet file may be written anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

Coverage = dict[str, Any]
# The data begin otherwise, are just these, go on after them, or go on within their last line.
Fit = Literal["other", "same", "longer", "completed"]

_ENDS = b"\r\n"


class TextDigest:
    """What has been read of a text so far.

    >>> digest = TextDigest()
    >>> digest.update(b"a,b")
    >>> digest.coverage()["bytes"], digest.coverage()["closed"]
    (3, False)
    """

    def __init__(self) -> None:
        self._sha = hashlib.sha256()
        self._length = 0
        self._closed = True

    def update(self, data: bytes) -> None:
        """More has been read."""
        if data:
            self._sha.update(data)
            self._length += len(data)
            self._closed = data.endswith(b"\n")

    def coverage(self) -> Coverage:
        """The length, the SHA-256, and whether the last line has an end: if not, it might go on."""
        return {"bytes": self._length, "sha256": self._sha.hexdigest(), "closed": self._closed}


def length_in(coverage: object, unit: str) -> int | None:
    """The length of a coverage in bytes or rows; None if it is none of that kind, whatever a file says."""
    if not isinstance(coverage, Mapping) or not isinstance(coverage.get("sha256"), str):
        return None
    length = coverage.get(unit)
    return length if type(length) is int and length >= 0 else None


class _Beginning:
    """A text that begins as it should: what follows decides."""

    def __init__(self, place: int, closed: bool) -> None:
        self.place, self.closed = place, closed
        self.first: int | None = None
        self.more = False

    def see(self, data: bytes) -> None:
        if data and self.first is None:
            self.first = data[0]
        self.more = self.more or bool(data.strip(_ENDS))

    @property
    def fit(self) -> Fit:
        if not self.closed and self.first is not None and self.first not in _ENDS:
            return "completed"
        return "longer" if self.more else "same"


def fits_of_text(read: Callable[[], bytes], coverages: Sequence[object]) -> list[Fit]:
    r"""How a text fits each of several coverages, in one pass and no farther than needed.

    >>> digest = TextDigest()
    >>> digest.update(b"a\n1\n")
    >>> [fits_of_text(iter([text, b""]).__next__, [digest.coverage()])[0]
    ...  for text in (b"a\n1\n", b"a\n1\n2\n", b"a\n2\n")]
    ['same', 'longer', 'other']
    """
    fits: list[Fit] = ["other"] * len(coverages)
    lengths = {i: n for i, each in enumerate(coverages) if (n := length_in(each, "bytes")) is not None}
    waiting = sorted(lengths, key=lambda i: lengths[i])
    begun: list[_Beginning] = []
    sha, at = hashlib.sha256(), 0
    while waiting or not all(each.more for each in begun):
        data = read()
        for each in begun:
            each.see(data)
        while waiting and (end := lengths[waiting[0]] - at) <= len(data):
            place = waiting.pop(0)
            coverage = coverages[place]
            assert isinstance(coverage, Mapping)
            here = sha.copy()
            here.update(data[:end])
            if here.hexdigest() == coverage["sha256"]:
                begun.append(_Beginning(place, coverage.get("closed") is True))
                begun[-1].see(data[end:])
        if not data:
            break
        sha.update(data)
        at += len(data)
    for each in begun:
        fits[each.place] = each.fit
    return fits


class TableDigest:
    """The rows of a table so far; how they are cut into record batches makes no difference.

    Parameters
    ----------
    fields : iterable of (name, type)
        The columns, with their types in words.
    """

    def __init__(self, fields: Iterable[tuple[str, str]]) -> None:
        self._fields = list(fields)
        self._shas = [(hashlib.sha256(), hashlib.sha256()) for _ in self._fields]
        self.rows = 0

    def update(self, batch: Any) -> None:
        """More rows."""
        from ocboost.streams.encoding import row_bytes

        for (presence, values), column in zip(self._shas, batch.columns, strict=True):
            for sha, data in zip((presence, values), row_bytes(column), strict=True):
                sha.update(data)
        self.rows += batch.num_rows

    def coverage(self) -> Coverage:
        """The number of rows, and one SHA-256 for all."""
        sha = hashlib.sha256()
        for (name, kind), pair in zip(self._fields, self._shas, strict=True):
            sha.update(repr((name, kind)).encode(errors="backslashreplace"))
            for each in pair:
                sha.update(each.digest())
        return {"rows": self.rows, "sha256": sha.hexdigest()}


def fits_of_table(
    batches: Iterable[Any], digest: TableDigest, n_rows: int, coverages: Sequence[object]
) -> list[Fit]:
    """How a table of so many rows fits each of several coverages; the digest goes to its end."""
    fits: list[Fit] = ["other"] * len(coverages)
    lengths = {i: n for i, each in enumerate(coverages) if (n := length_in(each, "rows")) is not None}
    marks = sorted({n for n in lengths.values() if n <= n_rows} - {0})
    for whole in batches:
        batch = whole
        while batch.num_rows:
            end = next((mark for mark in marks if mark > digest.rows), n_rows) - digest.rows
            digest.update(batch.slice(0, end))
            batch = batch.slice(min(end, batch.num_rows))
            found = digest.coverage() if digest.rows in marks else None
            for place, length in lengths.items():
                if found is not None and length == digest.rows and found == coverages[place]:
                    fits[place] = "same" if length == n_rows else "longer"
    return fits
