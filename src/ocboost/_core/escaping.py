"""Words from outside on their way to a terminal.

Standard output that has failed.
"""

from __future__ import annotations

import io
import os
import sys
import unicodedata


def shown(name: object) -> str:
    r"""A text from outside, safe to show: what would move the cursor, change colours or turn words round.

    Control characters (also those above 127), line separators, marks that change the direction of writing
    and halves of characters are spelt out.

    >>> shown("red\x1b[31m")
    'red\\x1b[31m'
    """
    return "".join(c if _is_plain(c) else ascii(c)[1:-1] for c in str(name))


def one_line(text: object) -> str:
    """The same on one line, whatever line ends are in it."""
    return shown(" ".join(str(text).split()))


def _is_plain(c: str) -> bool:
    return c.isprintable() or unicodedata.category(c) == "Zs"


def forget_output() -> None:
    """Let what has not reached standard output go nowhere: it would fail again when the process ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):  # not an output of the system
        sys.stdout = io.StringIO()
    finally:
        os.close(nowhere)
