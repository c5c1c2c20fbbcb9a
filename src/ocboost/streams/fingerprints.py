"""How data begin, to recognise them when they are read again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

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
