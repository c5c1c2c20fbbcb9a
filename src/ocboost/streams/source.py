"""The bytes of a text file or of standard input, unpacked if they are gzip.

A coverage says how far a stream has been read, so that the same rows are found again at the beginning of a
longer one. It is a small dictionary for JSON: the length of that beginning, and its SHA-256. Text is counted
in unpacked bytes, so that a log may be compressed again; a Parquet file in rows, with a digest of the values,
so that it may be rewritten.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Protocol, Self

from ocboost.errors import InputError

Coverage = dict[str, Any]
# The data begin differently, are exactly these, continue after them, or continue within their last line.
Fit = Literal["other", "same", "longer", "completed"]

CHUNK_BYTES = 1 << 19
PIPE_BYTES = 1 << 16  # read at once where rows are taken as they come
STDIN = "-"
LINE_ENDS = b"\r\n"
GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OTHER_FORMATS = {
    b"ocboost\n": "a model of ocboost, not data. Give a table of rows",
    b"PAR1": "a Parquet file. Give format='parquet', or a name that ends in .parquet",
    b"PK\x03\x04": "a zip archive or a spreadsheet. Unpack it, or save it as CSV",
    b"\x28\xb5\x2f\xfd": "compressed with zstd. Unpack it first: zstd -d",
    b"\xfd7zXZ": "compressed with xz. Unpack it first: unxz",
    b"BZh": "compressed with bzip2. Unpack it first: bunzip2",
    b"\xff\xfe": "UTF-16 text. Convert it first: iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "UTF-16 text. Convert it first: iconv -f UTF-16 -t UTF-8",
}


class Patience(Protocol):
    """What happens while rows are awaited that come one by one; either method may raise to end the stream."""

    def check(self) -> None:
        """Called before more is read, when all rows that came before have been taken."""

    def wait(self, file: int | None) -> None:
        """Return when there is something to read from a descriptor; where there is none, after a moment."""


def name_of(path: str | os.PathLike[str]) -> str:
    """The name for messages."""
    return "standard input" if os.fspath(path) == STDIN else os.fspath(path)


def size_of(path: str | os.PathLike[str]) -> int | None:
    """The length of a regular file; None for standard input, pipes and the like."""
    if os.fspath(path) == STDIN:
        return None
    status = os.stat(path)
    if stat.S_ISDIR(status.st_mode):
        raise InputError(
            f"path must be a file; {os.fspath(path)} is a folder. Give one of the files in it. "
            "A whole folder, larger than memory, is for fit."
        )
    return status.st_size if stat.S_ISREG(status.st_mode) else None


class Source:
    """Chunks of text in bytes, without a byte order mark; an error comes after the bytes before it.

    If ``tracked``, and if it is a regular file, what is read is digested for `coverage`. With ``patience``
    nothing blocks but its ``wait``. ``first_row`` is the number of the first row it gives, other than 0 where
    rows before were left out. ``chunk_bytes`` are read at once, if only the beginning is wanted.
    """

    first_row = 0

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        tracked: bool = False,
        patience: Patience | None = None,
        chunk_bytes: int | None = None,
    ) -> None:
        self.name = name_of(path)
        self.patience = patience
        self._chunk_bytes = chunk_bytes
        self._path = path
        self.bytes_total = size_of(path)
        self.bytes_read = 0
        self._digest = TextDigest() if tracked and self.bytes_total is not None else None
        self._is_stdin = os.fspath(path) == STDIN
        if not self._is_stdin:
            opener = None if patience is None else _open_at_once
            self._file: Any = open(path, "rb", buffering=0, opener=opener)  # noqa: SIM115  closed by close()
        elif sys.stdin is None:
            raise InputError("path is '-', and there is no standard input. Give the name of a file.")
        else:
            self._file = getattr(sys.stdin, "buffer", sys.stdin)
        try:
            self._chunks = self._unpacked()
            first = b""
            while len(first) < len(BYTE_ORDER_MARK) and (more := next(self._chunks, b"")):
                first += more
            self._first: bytes | None = first.removeprefix(BYTE_ORDER_MARK)
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
        """Whether the text begins so after blanks and line ends; nothing is consumed."""
        while not (self._first or b"").strip() and (more := next(self._chunks, b"")):
            self._first = (self._first or b"") + more
        return (self._first or b"").lstrip().startswith(sign)

    def coverage(self) -> Coverage | None:
        """Everything read so far; None if it was not tracked."""
        return None if self._digest is None else self._digest.coverage()

    def fits(self, coverages: Sequence[object]) -> list[Fit]:
        """How the file fits each of several coverages; it is read once more for that."""
        if self._digest is None or not coverages:
            return ["other"] * len(coverages)
        again = Source(self._path)
        try:
            if not os.path.samestat(os.fstat(again._file.fileno()), os.fstat(self._file.fileno())):
                raise InputError(f"{self.name} was replaced just now, while it was being opened. Try again.")
            return fits_of_text(again._read_until_damaged, coverages)
        finally:
            again.close()

    def _read_until_damaged(self) -> bytes:
        try:
            return self.read()
        except InputError:  # reading the rows will raise it
            return b""

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if not self._is_stdin:
            self._file.close()

    def _raw(self) -> bytes:
        if self.patience is not None and (file := _descriptor(self._file)) is not None:
            self.patience.wait(file)
        length = PIPE_BYTES if self.patience is not None else self._chunk_bytes or CHUNK_BYTES
        data: bytes = (getattr(self._file, "read1", None) or self._file.read)(length)
        self.bytes_read += len(data)
        return data

    def _unpacked(self) -> Iterator[bytes]:
        data = self._raw()
        while data and may_become_another_format(data) and (more := self._raw()):
            data += more
        refuse_other_formats(self.name, data)
        if data.startswith(GZIP_MAGIC):
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
                text = unpacker.decompress(data, CHUNK_BYTES)
            except zlib.error as error:
                yield from _readable(before, data)
                raise InputError(
                    f"{self.name} is damaged: its gzip data cannot be unpacked ({error}). "
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
            elif not data and len(text) < CHUNK_BYTES:
                data = self._raw()
                if not data:
                    raise InputError(
                        f"{self.name} is cut short: its gzip data end too early. "
                        "The rows before are good; get a fresh copy."
                    )


def refuse_other_formats(name: str, data: bytes) -> None:
    """Refuse data that begin as a file of another kind does; ``name`` is for the message."""
    for magic, what in _OTHER_FORMATS.items():
        if data.startswith(magic):
            raise InputError(f"{name} must be text in UTF-8, plain or gzip; it is {what}.")


def _descriptor(file: Any) -> int | None:
    """The descriptor of a file; None for one that is not the system's."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return int(file.fileno())
    return None


def _open_at_once(path: str, flags: int) -> int:
    """Open a file; a named pipe without waiting for somebody who writes to it."""
    file = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(file, True)
    return file


def may_become_another_format(data: bytes) -> bool:
    """Whether more bytes are needed to tell it from files that are no text."""
    return any(len(data) < len(magic) and magic.startswith(data) for magic in (GZIP_MAGIC, *_OTHER_FORMATS))


def _readable(unpacker: Any, data: bytes) -> Iterator[bytes]:
    """What can be unpacked of damaged data, byte by byte up to the damage."""
    text = b""
    try:
        for place in range(len(data)):
            text += unpacker.decompress(data[place : place + 1])
            if len(text) >= CHUNK_BYTES:
                yield text
                text = b""
    except zlib.error:
        pass
    if text:
        yield text


class TextDigest:
    """A digest of the text read so far.

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
        """Add what was read."""
        if data:
            self._sha.update(data)
            self._length += len(data)
            self._closed = data.endswith(b"\n")

    def copy(self) -> Self:
        """Another one, to go on from here."""
        other = type(self)()
        other._sha, other._length, other._closed = self._sha.copy(), self._length, self._closed
        return other

    @property
    def length(self) -> int:
        """How many bytes were read."""
        return self._length

    def coverage(self) -> Coverage:
        """The length, the SHA-256, and whether the last line has ended: otherwise it might continue."""
        return {"bytes": self._length, "sha256": self._sha.hexdigest(), "closed": self._closed}


def usable_coverages(coverages: Sequence[object], unit: str) -> dict[int, Coverage]:
    """Those coverages that count bytes or rows, by their index; files may hold anything in their place."""
    return {
        i: each
        for i, each in enumerate(coverages)
        if isinstance(each, dict)
        and isinstance(each.get("sha256"), str)
        and type(length := each.get(unit)) is int
        and length >= 0
    }


def fits_of_text(read: Callable[[], bytes], coverages: Sequence[object]) -> list[Fit]:
    r"""How a text fits each of several coverages, in one pass that reads no further than needed.

    >>> digest = TextDigest()
    >>> digest.update(b"a\n1\n")
    >>> [fits_of_text(iter([text, b""]).__next__, [digest.coverage()])[0]
    ...  for text in (b"a\n1\n", b"a\n1\n2\n", b"a\n2\n")]
    ['same', 'longer', 'other']
    """
    fits: list[Fit] = ["other"] * len(coverages)
    usable = usable_coverages(coverages, "bytes")
    waiting = sorted(usable, key=lambda i: usable[i]["bytes"])
    next_byte: dict[int, int | None] = {}  # after each beginning that agrees
    sha, at, content_end = hashlib.sha256(), 0, 0  # the end of what is more than line ends
    while waiting or any(content_end <= usable[i]["bytes"] for i in next_byte):
        data = read()
        for i, byte in next_byte.items():
            next_byte[i] = data[0] if byte is None and data else byte
        while waiting and (end := usable[waiting[0]]["bytes"] - at) <= len(data):
            i = waiting.pop(0)
            here = sha.copy()
            here.update(data[:end])
            if here.hexdigest() == usable[i]["sha256"]:
                next_byte[i] = data[end] if end < len(data) else None
        if not data:
            break
        sha.update(data)
        content = len(data.rstrip(LINE_ENDS))
        content_end = at + content if content else content_end
        at += len(data)
    for i, byte in next_byte.items():
        if usable[i].get("closed") is not True and byte is not None and byte not in LINE_ENDS:
            fits[i] = "completed"
        else:
            fits[i] = "longer" if content_end > usable[i]["bytes"] else "same"
    return fits
