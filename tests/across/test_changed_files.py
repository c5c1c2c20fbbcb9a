"""Files of every kind and both versions, changed at random under a checksum that fits: refused, or read.

Never another exception than those that say what is wrong, and never more memory than a file could be worth.
"""

from __future__ import annotations

import copy
import hashlib
import json
import struct
import tracemalloc

import numpy as np
import pytest

from ocboost import InputError, ModelFileError
from ocboost._core.file_format import MAGIC
from ocboost.cli.info import load_saved
from tests.old_files import make
from tests.support.saved_trees import found, places

VALUES = [
    *(None, True, False, 0, 1, 2, -1, 7, 1 << 31, 1 << 62, 10**30, -(10**30), 10**400),
    *(0.0, -0.0, 0.5, -1.0, 1e300, 5e-324, float("nan"), float("inf")),
    *(
        "",
        "auto",
        "heavy",
        "stump",
        "Stumps",
        "Joined",
        "Winnow",
        "Adaptation",
        "given",
        "ff",
        "a\0",
        "\ud800",
    ),
    *([], {}, [0], [[0, 1]], [1, 2], ["f8", [0]], {"kind": "Stumps"}, {"kind": "ScaledOffset"}),
]
NUMBERS = [0.0, -1.0, 1.0, 2.0, 1e-300, 1e300, np.inf, -np.inf, np.nan]


def sealed(version, header, body):
    text = json.dumps(header).encode()
    data = struct.pack("<8sII", MAGIC, version, len(text)) + text + body
    return data + hashlib.sha256(data).digest()


def taken_apart(data):
    _, version, length = struct.unpack_from("<8sII", data)
    return version, json.loads(data[16 : 16 + length]), data[16 + length : -32]


def change(rng, header, body):
    """One change of the header or of the numbers; where in the header is drawn level by level."""

    def one(options):
        return options[int(rng.integers(len(options)))]

    if body and rng.random() < 0.25:
        at = int(rng.integers(len(body) // 8)) * 8 if len(body) >= 8 else 0
        number = one([struct.pack("<d", one(NUMBERS)), struct.pack("<q", int(rng.integers(-70, 70)))])
        return header, body[:at] + number[: len(body) - at] + body[at + 8 :]
    path = one(list(places(header)))[: int(rng.integers(1, 9))]
    inside, last = found(header, path[:-1]), path[-1]
    other = copy.deepcopy(found(header, one(list(places(header)))))
    value = one([copy.deepcopy(one(VALUES)), other])
    what = one(["set", "set", "delete", "add", "swap"])
    if what == "set":
        inside[last] = value
    elif what == "delete":
        del inside[last]
    elif what == "swap":
        key = one(list(inside) if isinstance(inside, dict) else list(range(len(inside))))
        inside[last], inside[key] = inside[key], inside[last]
    elif isinstance(inside, dict):
        inside[one(["more", "kind", "n", "", "sets", *inside])] = value
    else:
        inside.insert(last, value)
    return header, body


def read_changed(data, path, rng, times):
    """How many of so many changed files were refused."""
    refused = 0
    version, header, body = taken_apart(data)
    for _ in range(times):
        changed, spoilt = copy.deepcopy(header), body
        for _ in range(int(rng.integers(1, 4))):
            changed, spoilt = change(rng, changed, spoilt)
            if not isinstance(changed, dict) or not changed:
                break
        path.write_bytes(sealed(version, changed, spoilt))
        try:
            load_saved(path)
        except (ModelFileError, InputError):
            refused += 1
    return refused


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", [*make.MODELS, make.ENTRY])
def test_changed_anywhere_it_is_refused_or_read(name, version, tmp_path):
    path = tmp_path / "changed.ocb"
    if version == 1:
        path.write_bytes(make.place(name).read_bytes())
    elif name == make.ENTRY:
        make.save_entry(path)
    else:
        make.save(name, make.MODELS[name](), path)
    data = path.read_bytes()
    assert taken_apart(data)[0] == version
    load_saved(path)  # whatever is imported or compiled has been so then
    rng = np.random.default_rng([version, len(name), len(data)])
    tracemalloc.start()
    try:
        refused = read_changed(data, path, rng, 20)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()
    assert refused
