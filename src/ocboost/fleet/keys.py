"""Keys: whom a row belongs to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ocboost._kernels.arrays import Ints
from ocboost.errors import InputError
from ocboost.streams.encoding import MAX_KEY_BYTES


def as_key(key: Any) -> bytes:
    r"""A key as bytes: texts in UTF-8, whole numbers as they are written.

    >>> as_key("Zürich"), as_key(17), as_key(b"17")
    (b'Z\xc3\xbcrich', b'17', b'17')
    """
    if isinstance(key, str):
        try:
            found = key.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"a key must be text that UTF-8 can hold; got {key!r:.80}. Give bytes."
            ) from None
    elif isinstance(key, bytes):
        found = bytes(key)
    elif isinstance(key, int | np.integer) and not isinstance(key, bool | np.bool_):
        found = _digits(int(key))
    else:
        raise InputError(
            f"a key must be a text, bytes or a whole number; got {key!r:.80} of type {type(key).__name__}."
        )
    if not 1 <= len(found) <= MAX_KEY_BYTES:
        raise InputError(
            f"a key must have 1 to {MAX_KEY_BYTES} bytes; got {len(found):,}: {found[:40]!r}. "
            "Give a digest of longer ones."
        )
    return found


def _digits(number: int) -> bytes:
    """A whole number as it is written; of one that is far too long, as many digits as tell so."""
    return str(number).encode() if number.bit_length() < 4 * MAX_KEY_BYTES else b"0" * (MAX_KEY_BYTES + 1)


@dataclass(frozen=True)
class KeyGroups:
    """The different keys of some rows, and which of them each row has."""

    keys: list[bytes]
    index: Ints  # (n,)

    @classmethod
    def of(cls, keys: Any, n: int) -> KeyGroups:
        """Group n rows by their keys."""
        given = listed(keys)
        if len(given) != n:
            raise InputError(f"keys must be one for each of the {n} rows of X; got {len(given)}.")
        place: dict[Any, int] = {}
        index = np.fromiter((place.setdefault(_distinct(key), len(place)) for key in given), np.int64, n)
        found = [as_key(key[1]) for key in place]
        if len(set(found)) == len(found):
            return cls(found, index)
        first: dict[bytes, int] = {}  # 17 and "17" are one key
        same = np.array([first.setdefault(key, len(first)) for key in found], np.int64)
        return cls(list(first), same[index])

    def grouped(self, rows: slice) -> tuple[Ints, Ints, Ints]:
        """Of some rows: their keys, where each key's rows begin, and the rows in the order of their keys."""
        index = self.index[rows]
        order = np.argsort(index, kind="stable")
        members, counts = np.unique(index, return_counts=True)
        return members, np.append(0, np.cumsum(counts)), order


def _distinct(key: Any) -> tuple[type, Any]:
    """Something hashable that tells keys apart: 1 and True are equal, and not both keys."""
    try:
        hash(key)
    except TypeError:
        as_key(key)
    return type(key), key


def listed(keys: Any) -> list[Any]:
    """Keys as a list; something that is no sequence is refused."""
    if isinstance(keys, str | bytes) or not isinstance(keys, Iterable) or getattr(keys, "ndim", 1) == 0:
        raise InputError(
            f"keys must be a sequence, one for each row of X; got {keys!r:.80}. Write [{keys!r:.40}]."
        )
    if hasattr(keys, "to_pylist"):  # of Arrow
        return list(keys.to_pylist())
    of_times = getattr(getattr(keys, "dtype", None), "kind", "") in ("M", "m")  # which would become numbers
    return keys.tolist() if hasattr(keys, "tolist") and not of_times else list(keys)
