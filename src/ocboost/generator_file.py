"""The state of a generator of random numbers in a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from .fields import Fields, Tree


def generator_tree(rng: np.random.Generator) -> Tree:
    """What a file holds of NumPy's usual generator; its words of 128 bits in hexadecimal digits."""
    state: dict[str, Any] = dict(rng.bit_generator.state)
    return {
        **{key: f"{word:x}" for key, word in state["state"].items()},
        "has_uint32": int(state["has_uint32"]),
        "uinteger": int(state["uinteger"]),
    }


def generator_from(fields: Fields) -> np.random.Generator:
    """One that goes on as the one that was saved.

    >>> from ocboost.fields import read
    >>> rng = np.random.default_rng(0)
    >>> again = read(generator_tree(rng), "a file", generator_from)
    >>> bool(again.random() == rng.random())
    True
    """
    words = {key: _word(fields, key) for key in ("state", "inc")}
    fields.require(words["inc"] % 2 == 1, "the increment of its random numbers must be odd")
    bits: Any = np.random.PCG64()
    bits.state = {
        "bit_generator": "PCG64",
        "state": words,
        "has_uint32": fields.count("has_uint32", 0, 1),
        "uinteger": fields.count("uinteger", 0, (1 << 32) - 1),
    }
    return np.random.Generator(bits)


def _word(fields: Fields, key: str) -> int:
    digits = fields.text(key, 32)
    fields.require(
        bool(digits) and set(digits) <= set("0123456789abcdef"), f"{key} must be hexadecimal digits"
    )
    return int(digits, 16)
