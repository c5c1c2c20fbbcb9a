"""The idx files of MNIST: a few numbers that say the shape, then bytes; compressed with gzip.

::

    2 bytes   zero
    1 byte    type of the entries, 8 for unsigned bytes
    1 byte    number of dimensions
    4 bytes   each dimension, big-endian
    ...       the entries, C order

Reading trusts nothing: no more is unpacked than the shape promises, and memory grows with what has
been unpacked and not with what is promised.
"""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError

LARGEST = 1 << 28  # bytes unpacked; MNIST's largest file has 47 million
_UNSIGNED_BYTES = 8
_CHUNK = 1 << 20


def read_idx(path: Path, n_dimensions: int) -> NDArray[np.uint8]:
    """Read an idx file of unsigned bytes; anything wrong with it is an `InputError`."""
    if not path.is_file():
        raise InputError(
            f"data must be a folder that holds {path.parent.name}/{path.name}; there is no file '{path}'. "
            "Put it there, or leave data out to use images that need no file."
        )
    try:
        with gzip.open(path, "rb") as file:
            shape = _shape(file.read(4 + 4 * n_dimensions), n_dimensions, path)
            size = math.prod(shape)
            if size > LARGEST:
                raise _damaged(path, f"its header promises {size:,} bytes, more than {LARGEST:,}")
            content = bytearray()
            while len(content) <= size:  # one byte more is asked for, so that the checksum is reached
                piece = file.read(min(_CHUNK, size + 1 - len(content)))
                if not piece:
                    break
                content += piece
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged(path, f"it cannot be unpacked ({error})") from error
    except OSError as error:
        raise InputError(
            f"data must be a folder whose files can be read; '{path}' cannot be ({error.strerror or error}). "
            "Check its permissions."
        ) from error
    if len(content) != size:
        found = f"only {len(content):,}" if len(content) < size else "more"
        raise _damaged(path, f"its header promises {size:,} bytes and {found} follow")
    return np.frombuffer(content, np.uint8).reshape(shape)


def _shape(header: bytes, n_dimensions: int, path: Path) -> tuple[int, ...]:
    expected = bytes([0, 0, _UNSIGNED_BYTES, n_dimensions])
    if header[:4] != expected:
        raise _damaged(path, f"it begins with {header[:4].hex(' ') or 'nothing'} and not {expected.hex(' ')}")
    if len(header) < 4 + 4 * n_dimensions:
        raise _damaged(path, "it ends within its header")
    return struct.unpack(f">{n_dimensions}I", header[4:])


def _damaged(path: Path, what: str) -> InputError:
    return InputError(
        f"'{path}' must be an idx file of unsigned bytes in gzip; {what}. Get a fresh copy of the file."
    )
