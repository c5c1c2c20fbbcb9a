"""Rows that are left out: the others come with the numbers they have in the file, wherever one begins."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from ocboost.errors import InputError
from ocboost.streams import Column, Schema, open_stream, source
from ocboost.streams.bad_rows import BadRows

SCHEMA = Schema((Column("a"), Column("b"), Column("c", "category", ("x", "y"))), "label", "integer")

BAD_CSV = {
    b"1,2\n": "wrong number of fields",
    b"1,2,x,0,5\n": "wrong number of fields",
    b"1,2,\xff,0\n": "not UTF-8",
    b"one,2,x,0\n": "not a number",
    b'1,inf,"x",0\n': "not finite",
    b"1,2,x,maybe\n": "bad label",
    b'1,"2\n3",x\n': "wrong number of fields",
    b"1,2,x,7\n": "unknown class",
}
BAD_JSON = {
    b'{"a": 1, "b"\n': "broken JSON",
    b"[1, 2]\n": "broken JSON",
    b'{"a": 1, "a": 2}\n': "broken JSON",
    b'{"a": 1, "c": "\xff"}\n': "not UTF-8",
    b'{"a": "one", "b": 2}\n': "not a number",
    b'{"a": 1e999, "b": 2}\n': "not finite",
    b'{"other": 1}\n': "no known column",
    b'{"a": 1, "label": 7}\n': "unknown class",
}


def mixed(format, n, share, rng):
    """A file with bad rows, and what each row should become: features and a label, or a reason."""
    data, wanted = [] if format == "jsonl" else [b"a,b,c,label\n"], []
    for i in range(n):
        if rng.random() < share:
            text, reason = rng.choice(list((BAD_CSV if format == "csv" else BAD_JSON).items()))
            data.append(text)
            wanted.append((reason, text))
        elif format == "csv":
            quoted = '"x"' if rng.random() < 0.3 else "x"
            data.append(f"{i},0.5,{quoted},{i % 2}\n".encode())
            wanted.append((i, i % 2))
        else:
            row = {"a": i, "b": 0.5, "c": "x", "label": i % 2}
            data.append((json.dumps(dict(rng.sample(list(row.items()), 4))) + "\n").encode())
            wanted.append((i, i % 2))
        if rng.random() < 0.1:
            data.append(b"\n")
    return b"".join(data), wanted


def read(path, skip=0, **how):
    bad, good = BadRows([0, 1]), []
    with open_stream(path, schema=SCHEMA, skip=skip, batch_size=20, bad_rows=bad, **how) as stream:
        for rows in stream:
            assert rows.y is not None or not len(rows)
            for number, x, y, known in zip(
                rows.rows, rows.X, rows.y if len(rows) else [], rows.known, strict=True
            ):
                good.append((int(number), x[0], int(y) if known else None))
    return good, list(bad.waiting)


@pytest.mark.parametrize("as_they_come", [False, True])
@pytest.mark.parametrize("format", ["csv", "jsonl"])
@pytest.mark.parametrize(("share", "seed"), [(0.0, 0), (0.05, 1), (0.4, 2), (1.0, 3)])
def test_each_row_is_where_it_belongs(format, share, seed, as_they_come, tmp_path, monkeypatch):
    rng = random.Random(seed)
    data, wanted = mixed(format, 120, share, rng)
    path = tmp_path / f"s.{format}"
    path.write_bytes(data)
    for chunk, skip in ((37, 0), (1000, 0), (1 << 19, 0), (1 << 19, 1), (200, 57), (1000, 119)):
        monkeypatch.setattr(source, "CHUNK_BYTES", chunk)
        good, bad = read(path, skip, as_they_come=as_they_come)
        usable = [(i, entry) for i, entry in enumerate(wanted) if i >= skip and isinstance(entry[0], int)]
        labelled = [row for row in good if row[2] is not None]
        assert labelled == [(i, float(a), label) for i, (a, label) in usable]
        left = [(i, entry) for i, entry in enumerate(wanted) if i >= skip and isinstance(entry[0], str)]
        assert [(one.number, one.reason, one.text + b"\n") for one in bad] == [
            (i, *entry) for i, entry in left
        ]
        unknown = {i for i, entry in left if entry[0] == "unknown class"}
        assert (
            {row[0] for row in good if row[2] is None}
            == unknown
            == {one.number for one in bad if one.predicted}
        )
        lines = data.split(b"\n")
        for one in bad:
            assert lines[one.line - 1] == one.text.split(b"\n")[0]


def test_missing_numbers_where_every_one_is_needed(tmp_path):
    path = tmp_path / "s.csv"
    path.write_bytes(b"a,b,c,label\n1,2,x,0\n1,,x,0\n1,2,x,1\n")
    bad = BadRows([0, 1], complete=True)
    with open_stream(path, schema=SCHEMA, bad_rows=bad) as stream:
        assert np.concatenate([rows.rows for rows in stream]).tolist() == [0, 2]
    assert [(one.number, one.line, one.reason) for one in bad.waiting] == [(1, 3, "missing number")]


def test_the_end_of_a_file(tmp_path):
    path = tmp_path / "s.csv"
    for end, reason in ((b'1,"2', "wrong number of fields"), (b"1,2", "wrong number of fields")):
        path.write_bytes(b"a,b,c,label\n1,2,x,0\n" + end)
        good, bad = read(path)
        assert [row[0] for row in good] == [0]
        assert [(one.number, one.reason, one.text) for one in bad] == [(1, reason, end)]


def test_rows_left_out_before_are_not_looked_at_again(tmp_path):
    path = tmp_path / "s.csv"
    path.write_bytes(b"a,b,c,label\n1,2,x,0\nbad\n3,2,x,0\n")
    with open_stream(path, schema=SCHEMA, skip=2) as stream:
        assert next(stream).X[0, 0] == 3.0
    with open_stream(path, schema=SCHEMA, skip=1) as stream, pytest.raises(InputError, match="4 fields"):
        next(stream)


def test_not_for_parquet(tmp_path):
    from tests.support.stream_files import write_parquet

    path = write_parquet(tmp_path / "s.parquet", ["a", "b", "c", "label"], [[1, 2, "x", 0]])
    with pytest.raises(InputError, match="Parquet"):
        open_stream(path, schema=SCHEMA, bad_rows=BadRows())
