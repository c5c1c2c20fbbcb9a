"""Annotation files as text: read within limits, in UTF-8, with numbers that are numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ocboost.datasets.images import refused

MAX_TEXT_BYTES = 16 << 20
MAX_LINE = 1 << 20  # characters
_DECIMAL = re.compile(r"[+-]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,4})?")


def bytes_of(path: Path, most: int = MAX_TEXT_BYTES) -> bytes:
    """A file's bytes, and no more than ``most``; pipes and devices are not opened."""
    if not path.is_file():
        raise refused(path, "be a file", "it is none", "Check the name.")
    try:
        with open(path, "rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise refused(
            path,
            "be a file that can be read",
            f"it cannot be ({error.strerror or error})",
            "Check its permissions.",
        ) from None
    if len(data) > most:
        raise refused(path, f"have at most {_size(most)}", "it has more", "Cut it into several files.")
    return data


def text_of(path: Path, most: int = MAX_TEXT_BYTES) -> str:
    """A file's text; a mark of UTF-8 at the beginning is left out."""
    return decoded(bytes_of(path, most), path)


def decoded(data: bytes, path: Path) -> str:
    """Bytes in UTF-8 as text; anything else is refused."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refused(
            path,
            "be text in UTF-8",
            f"byte {error.start:,} is not (latin-1, UTF-16, or no text at all)",
            "Save it as UTF-8.",
        ) from None
    if "\x00" in text:
        raise refused(path, "be text in UTF-8", "it holds bytes of 0", "Is it a text file? Save it as UTF-8.")
    return text


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers from 1."""
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text_of(path)), 1):
        if len(line) > MAX_LINE:
            raise refused(
                path, f"have lines of at most {MAX_LINE:,} characters", f"line {number:,} has {len(line):,}"
            )
        if line.strip():
            yield number, line.strip()


def number_in(word: str) -> float | None:
    """A decimal number, or None.

    >>> number_in("1.5e1"), number_in("nan"), number_in("1_0")
    (15.0, None, None)
    """
    return float(word) if _DECIMAL.fullmatch(word) else None


def _size(n: int) -> str:
    return f"{n >> 20} MB" if n >= 1 << 20 else f"{n:,} bytes"
