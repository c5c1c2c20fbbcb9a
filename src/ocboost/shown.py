"""Words from outside on their way to a terminal."""

from __future__ import annotations

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
