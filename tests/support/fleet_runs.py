"""Rows of several keys, and what the store of a fleet holds, for the tests of its commands."""

from __future__ import annotations

import numpy as np

from tests.support.cli_runs import table
from tests.support.cli_runs import write as write_rows

KEYED = ["id", "a", "b", "c", "d", "y"]


def keyed_table(n, seed=0, keys=7, classes=2):
    """Rows of `table` with keys; for every second key the classes are the other way round."""
    rng = np.random.default_rng(1_000 + seed)
    rows = []
    for row, k in zip(table(n, seed, classes, drift=False), rng.integers(keys, size=n).tolist(), strict=True):
        y = classes - 1 - row[-1] if k % 2 else row[-1]
        rows.append([f"k{k:03d}", *row[:-1], y])
    return rows


def write(path, rows, names=KEYED):
    """Keyed rows as a file of the format its name says."""
    return write_rows(path, rows, names)


def entries(store):
    """Everything in a store, byte for byte."""
    import lmdb

    with (
        lmdb.open(str(store), readonly=True, lock=False, max_dbs=2) as env,
        env.begin() as txn,
    ):
        return {
            (name, key): value
            for name in (b"fleet", b"keys")
            for key, value in txn.cursor(env.open_db(name, txn, create=False))
        }


def learnt(store):
    """Everything in a store but what it knows of the files that it has read."""
    return without_files(entries(store))


def without_files(held):
    """The same of what `entries` gave."""
    return {place: value for place, value in held.items() if not place[1].startswith(b"source:")}


def damage(store, *keys):
    """Change a byte in the records of keys."""
    import lmdb

    with lmdb.open(str(store), max_dbs=2) as env, env.begin(write=True) as txn:
        own = env.open_db(b"keys", txn)
        for key in keys:
            record = bytearray(txn.get(key, db=own))
            record[-1] ^= 1
            txn.put(key, bytes(record), db=own)
