"""Folders of small files for the tests of `open_folder`."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost import InputError
from ocboost.streams.folder import open_folder
from tests.support.stream_files import write_csv, write_jsonl, write_parquet

WRITERS = {
    "csv": write_csv,
    "csv.gz": write_csv,
    "jsonl": write_jsonl,
    "jsonl.gz": write_jsonl,
    "parquet": write_parquet,
}
NAMES = ["x", "flag", "colour", "y"]
every_format = pytest.mark.parametrize("ending", WRITERS)
typed_format = pytest.mark.parametrize("ending", ["jsonl", "parquet"])


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    return [
        (
            None if rng.random() < 0.1 else float(np.round(rng.normal(), 3)),
            bool(rng.random() < 0.5),
            ("blue", "red", "é, x")[rng.integers(3)],
            None if rng.random() < 0.2 else int(rng.integers(3)),
        )
        for _ in range(n)
    ]


def write(path, names, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    return WRITERS[path.name.split(".", 1)[1]](path, names, rows)


def columns(folder, ending, **tables):
    """Files, each from its columns."""
    for name, table in tables.items():
        write(folder / f"{name}.{ending}", list(table), list(zip(*table.values(), strict=True)))
    return folder


def refused(folder, *texts, **options):
    """Opening must fail with one line that says all this."""
    with pytest.raises(InputError) as caught:
        open_folder(folder, **options)
    message = str(caught.value)
    assert message.isprintable(), message
    for text in texts:
        assert text in message, message
    return message


def names_of(folder):
    return [path.relative_to(folder.path).as_posix() for path in folder.files]
