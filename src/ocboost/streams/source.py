"""How data begin, to recognise them when they are read again.

The bytes of a file or of standard input, unpacked if they are gzip.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ocboost.errors import InputError
from ocboost.streams.coverage import Coverage, Fit, TextDigest, fits_of_text

LONGEST = 65_536

Beginning = Callable[[int], bytes]  # the first so many bytes, or fewer if there are no more


def fingerprint_of(beginning: Beginning) -> dict[str, Any]:
    """The number of bytes looked at, and their SHA-256.

    >>> fingerprint_of(lambda n: b"a,b")["bytes"]
    3
    """
    data = beginning(LONGEST)
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def fits(beginning: Beginning, fingerprint: object) -> bool:
    """Whether the data begin so. Anything that is no fingerprint fits nothing.

    >>> fits(lambda n: b"a,b,c"[:n], fingerprint_of(lambda n: b"a,b"))
    True
    """
    if not isinstance(fingerprint, dict):
        return False
    length = fingerprint.get("bytes")
    if type(length) is not int or not 0 <= length <= LONGEST:
        return False
    data = beginning(length)
    return len(data) == length and hashlib.sha256(data).hexdigest() == fingerprint.get("sha256")


CHUNK = 1 << 19
STDIN = "-"
_GZIP = b"\x1f\x8b"
_OTHERS = {
    b"ocboost\n": "a model of ocboost, not data. Give a table of rows",
    b"PAR1": "a Parquet file. Give format='parquet', or a name that ends in .parquet",
    b"PK\x03\x04": "a zip archive or a spreadsheet. Unpack it, or save it as CSV",
    b"\x28\xb5\x2f\xfd": "packed with zstd. Unpack it first: zstd -d",
    b"\xfd7zXZ": "packed with xz. Unpack it first: unxz",
    b"BZh": "packed with bzip2. Unpack it first: bunzip2",
    b"\xff\xfe": "UTF-16 text. Convert it first: iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "UTF-16 text. Convert it first: iconv -f UTF-16 -t UTF-8",
}
_BOM = b"\xef\xbb\xbf"


def name_of(path: str | os.PathLike[str]) -> str:
    """What messages call it."""
    return "standard input" if os.fspath(path) == STDIN else os.fspath(path)


def size_of(path: str | os.PathLike[str]) -> int | None:
    """The length of an ordinary file; None for standard input, pipes and the like."""
    if os.fspath(path) == STDIN:
        return None
    status = os.stat(path)
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"path must be a file; {os.fspath(path)} is a folder. Give one of the files in it.")
    return status.st_size if stat.S_ISREG(status.st_mode) else None


class Identity:
    """What a file is recognised by; standard input and pipes cannot be recognised."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._can = size_of(path) is not None

    def _beginning(self, length: int) -> bytes:
        with self._path.open("rb") as file:
            return file.read(length)

    def fingerprint(self) -> dict[str, Any] | None:
        """How the file begins."""
        return fingerprint_of(self._beginning) if self._can else None

    def matches(self, fingerprint: object) -> bool:
        """Whether the file begins so; None fits only what cannot be recognised."""
        return fits(self._beginning, fingerprint) if self._can else fingerprint is None


class Source:
    """Chunks of text in bytes, without a byte order mark; an error comes after the bytes before it.

    Parameters
    ----------
    path : str or path
    tracked : bool, default False
        Whether to note what is read, for `coverage`; only of an ordinary file.
    """

    def __init__(self, path: str | os.PathLike[str], *, tracked: bool = False) -> None:
        self.name = name_of(path)
        self._path = path
        self.bytes_total = size_of(path)
        self.bytes_read = 0
        self._digest = TextDigest() if tracked and self.bytes_total is not None else None
        self._own = os.fspath(path) != STDIN
        if self._own:
            self._file: Any = open(path, "rb", buffering=0)  # noqa: SIM115  closed by close()
        elif sys.stdin is None:
            raise InputError("path is '-', and there is no standard input. Give the name of a file.")
        else:
            self._file = getattr(sys.stdin, "buffer", sys.stdin)
        try:
            self._chunks = self._unpacked()
            self._first: bytes | None = self._without_mark()
        except BaseException:
            self.close()
            raise

    def read(self) -> bytes:
        """The next bytes, as soon as there are some; none at the end."""
        if self._first is not None:
            chunk, self._first = self._first, None
        else:
            chunk = next(self._chunks, b"")
        if self._digest is not None:
            self._digest.update(chunk)
        return chunk

    def begins_with(self, sign: bytes) -> bool:
        """Whether the first thing besides blanks and line ends is this; nothing is taken."""
        while not (self._first or b"").strip() and (more := next(self._chunks, b"")):
            self._first = (self._first or b"") + more
        return (self._first or b"").lstrip().startswith(sign)

    def coverage(self) -> Coverage | None:
        """All that has been read; None if it was not tracked."""
        return None if self._digest is None else self._digest.coverage()

    def fits(self, coverages: Sequence[object]) -> list[Fit]:
        """How the file fits each of several coverages; it is read once more for that."""
        if self._digest is None or not coverages:
            return ["other"] * len(coverages)
        again = Source(self._path)
        try:
            if not os.path.samestat(os.fstat(again._file.fileno()), os.fstat(self._file.fileno())):
                raise InputError(f"{self.name} was replaced just now, while it was being opened. Try again.")
            return fits_of_text(again._until_damaged, coverages)
        finally:
            again.close()

    def _until_damaged(self) -> bytes:
        try:
            return self.read()
        except InputError:  # whoever reads the rows will say so
            return b""

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._own:
            self._file.close()

    def _raw(self) -> bytes:
        data: bytes = (getattr(self._file, "read1", None) or self._file.read)(CHUNK)
        self.bytes_read += len(data)
        return data

    def _unpacked(self) -> Iterator[bytes]:
        data = self._raw()
        while data and len(data) < 8 and (more := self._raw()):
            data += more
        for magic, what in _OTHERS.items():
            if data.startswith(magic):
                raise InputError(f"{self.name} must be text in UTF-8, plain or gzip; it is {what}.")
        if data.startswith(_GZIP):
            yield from self._gunzipped(data)
            return
        while data:
            yield data
            data = self._raw()

    def _gunzipped(self, data: bytes) -> Iterator[bytes]:
        unpacker = zlib.decompressobj(wbits=31)
        while True:
            before = unpacker.copy()
            try:
                text = unpacker.decompress(data, CHUNK)
            except zlib.error as error:
                yield from _readable(before, data)
                raise InputError(
                    f"{self.name} is damaged: its gzip data make no sense ({error}). "
                    "The rows before are good; get a fresh copy."
                ) from None
            if text:
                yield text
            data = unpacker.unconsumed_tail
            if unpacker.eof:  # another member may follow, or zeros that fill a block
                data = unpacker.unused_data.lstrip(b"\0")
                while not data:
                    data = self._raw()
                    if not data:
                        return
                    data = data.lstrip(b"\0")
                unpacker = zlib.decompressobj(wbits=31)
            elif not data and len(text) < CHUNK:
                data = self._raw()
                if not data:
                    raise InputError(
                        f"{self.name} is cut short: its gzip data end too early. "
                        "The rows before are good; get a fresh copy."
                    )

    def _without_mark(self) -> bytes:
        data = b""
        while len(data) < len(_BOM) and (more := next(self._chunks, b"")):
            data += more
        return data.removeprefix(_BOM)


def _readable(unpacker: Any, data: bytes) -> Iterator[bytes]:
    """What can be unpacked of damaged data, byte by byte up to the damage."""
    text = b""
    try:
        for place in range(len(data)):
            text += unpacker.decompress(data[place : place + 1])
            if len(text) >= CHUNK:
                yield text
                text = b""
    except zlib.error:
        pass
    if text:
        yield text
