"""Text from outside, made safe for a terminal; and what to do when standard output has failed."""

from __future__ import annotations

import io
import os
import sys
import unicodedata


def shown(name: object) -> str:
    r"""A text with everything escaped that would move the cursor, change colours or reverse the writing.

    These are control characters (also those above 127), line separators, marks of direction and lone
    surrogates.

    >>> shown("red\x1b[31m")
    'red\\x1b[31m'
    """
    return "".join(
        c if c.isprintable() or unicodedata.category(c) == "Zs" else ascii(c)[1:-1] for c in str(name)
    )


def one_line(text: object) -> str:
    """The same on one line: runs of white space become single spaces."""
    return shown(" ".join(str(text).split()))


def forget_output() -> None:
    """Discard what standard output could not take: it would fail again when the process ends."""
    try:
        discard(sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):  # not a file of the system
        sys.stdout = io.StringIO()


def discard(descriptor: int) -> None:
    """Discard from now on what is written to a descriptor."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(devnull, descriptor)
    finally:
        os.close(devnull)
