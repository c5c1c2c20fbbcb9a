"""Saved sketches of every kind, and files as a hostile writer would make them."""

from __future__ import annotations

import hashlib
import json
import struct

import numpy as np
import pytest

import ocboost
from ocboost._core import file_format
from ocboost.errors import ModelFileError, OcboostError
from tests.support.makers import newest_from, random_margins

SKETCHES = {
    "paper": {},
    "head": {"head": 100},
    "partly filled head": {"head": 5000},
    "window": {"head": 70, "tail": False},
    "band": {"order": 3, "head": 20},
    "forgetting": {"forgetting": 0.99, "head": 30, "smoothing": 0.2},
    "theorem": {"correction": "theorem", "smoothing": 5.0},
    "listing": {"correction": "listing", "order": 1, "smoothing": 5.0},
    "heavy": {"head": 60, "keep": "heavy", "forgetting": 0.999},
    "heavy, no pairs": {"memory": 2500, "keep": "heavy"},
    "heavy, not full": {"head": 5000, "keep": "heavy"},
}


def make_sketch(name, J=20, n=300):
    """A sketch of one of the kinds above that has learnt 100 + n examples."""
    rng = np.random.default_rng(120)
    sketch = newest_from(random_margins(rng, 100, J), **SKETCHES[name])
    sketch.update_many(random_margins(rng, n, J), batch_size=8, sample_weight=rng.uniform(0, 2, n))
    return sketch


def reseal(body):
    """Bytes with a checksum that fits, as a hostile writer would make it."""
    return body + hashlib.sha256(body).digest()


def taken_apart(data):
    """The header of a saved model as a dict, and the bytes of its arrays."""
    magic, version, length = struct.unpack_from("<8sII", data)
    assert (magic, version) == (file_format.MAGIC, file_format.VERSION)
    return json.loads(data[16 : 16 + length]), data[16 + length : -32]


def put_together(header, body, version=file_format.VERSION):
    """The reverse."""
    text = json.dumps(header).encode()
    return reseal(struct.pack("<8sII", file_format.MAGIC, version, len(text)) + text + body)


def assert_refused(path, match=None):
    """Loading a sketch must fail with an error that names the file."""
    with pytest.raises(ModelFileError, match=match) as caught:
        ocboost.BoostingSketch.load(path)
    assert isinstance(caught.value, OcboostError)
    assert str(path) in str(caught.value)
    return str(caught.value)
