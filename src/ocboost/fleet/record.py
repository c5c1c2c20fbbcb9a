"""What the store keeps of one key: a short header, and its last examples as bits.

::

    4 bytes   CRC-32 of the key and of everything after these bytes
    1 byte    version
    3 bytes   zeros
    8 bytes   examples ever learnt, n
    8 bytes   evidence: by how much the key's own weights have made the loss smaller lately
    8 bytes   how often the fleet was right lately
    8 bytes   how often the deployed model was right on the same examples
    ...       the last min(n, window) examples, the place of example i being i mod window

All numbers are little-endian. An example is the answers of the hypotheses, a bit each, then the code of its
class in as few bits as tell the classes apart, and zeros up to a whole byte.
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._kernels.arrays import Bytes, Int8s, Ints

VERSION = 1
MAX_SEEN = 1 << 60
_HEADER = struct.Struct("<IB3xQddd")
HEADER_BYTES = _HEADER.size
_CRC_BYTES = 4


@dataclass(frozen=True)
class ExampleCode:
    """How an example becomes bytes.

    >>> code = ExampleCode(n_answers=10, n_classes=2)
    >>> code.n_bytes, code.packed(np.ones((1, 10), np.int8), np.array([0]))
    (2, array([[255,   3]], dtype=uint8))
    """

    n_answers: int
    n_classes: int

    @cached_property
    def n_label_bits(self) -> int:
        """Bits of the class."""
        return max(1, (self.n_classes - 1).bit_length())

    @cached_property
    def n_bytes(self) -> int:
        """Bytes of an example."""
        return math.ceil((self.n_answers + self.n_label_bits) / 8)

    def packed(self, answers: Int8s, codes: Ints) -> Bytes:
        """Examples as bytes, (n, n_bytes)."""
        bits = np.zeros((len(codes), self.n_answers + self.n_label_bits), np.bool_)
        np.greater(answers, 0, out=bits[:, : self.n_answers])
        for place in range(self.n_label_bits):
            bits[:, self.n_answers + place] = (codes >> place) & 1
        return np.packbits(bits, axis=1, bitorder="little")

    def unpacked(self, packed: Bytes) -> tuple[Int8s, Ints]:
        """The answers, (n, n_answers) of ±1, and the codes of the classes."""
        bits = np.unpackbits(packed, axis=1, bitorder="little")
        answers = np.where(bits[:, : self.n_answers] > 0, np.int8(1), np.int8(-1))
        codes = np.zeros(len(packed), np.int64)
        for place in range(self.n_label_bits):
            codes |= bits[:, self.n_answers + place].astype(np.int64) << place
        return answers, codes


@dataclass
class KeyState:
    """A key: how many examples it has learnt, its evidence, its recent successes, and its window."""

    seen: int
    evidence: float
    right: float
    deployed_right: float
    examples: NDArray[np.uint8]  # (min(seen, window), bytes of an example)


class DamagedRecordError(ValueError):
    """The bytes of a key cannot be what was written."""


def to_record(key: bytes, state: KeyState) -> bytes:
    """A key's bytes."""
    header = _HEADER.pack(0, VERSION, state.seen, state.evidence, state.right, state.deployed_right)
    body = header[_CRC_BYTES:] + state.examples.tobytes()
    return zlib.crc32(body, zlib.crc32(key)).to_bytes(_CRC_BYTES, "little") + body


def from_record(key: bytes, record: Any, window: int, code: ExampleCode) -> KeyState:
    """What `to_record` wrote; anything else is a `DamagedRecordError`."""
    if len(record) < HEADER_BYTES:
        raise DamagedRecordError("it is too short")
    crc, version, seen, evidence, right, deployed_right = _HEADER.unpack_from(record)
    if crc != zlib.crc32(record[_CRC_BYTES:], zlib.crc32(key)):
        raise DamagedRecordError("its checksum does not fit")
    if version != VERSION:
        raise DamagedRecordError(f"it has version {version}, and this ocboost reads version {VERSION}")
    held = min(seen, window)
    if seen > MAX_SEEN or len(record) != HEADER_BYTES + held * code.n_bytes:
        raise DamagedRecordError("its length does not fit")
    if not (math.isfinite(evidence) and 0.0 <= right < math.inf and 0.0 <= deployed_right < math.inf):
        raise DamagedRecordError("a number makes no sense")
    examples = np.frombuffer(record, np.uint8, held * code.n_bytes, HEADER_BYTES).reshape(held, code.n_bytes)
    return KeyState(seen, evidence, right, deployed_right, examples)


def require_codes(state: KeyState, code: ExampleCode) -> None:
    """Refuse an example of a class that there is not; its checksum would have to be forged."""
    can_be_wrong = code.n_classes < 1 << code.n_label_bits and state.seen > 0
    if can_be_wrong and code.unpacked(state.examples)[1].max() >= code.n_classes:
        raise DamagedRecordError("an example has a class that there is not")
