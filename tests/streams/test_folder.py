"""A folder of files as one stream: its rows, in several passes, its schema, and files that change."""

from __future__ import annotations

import os
import re
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ocboost import InputError
from ocboost._extras import install_line
from ocboost.streams import filling, folder_look, open_stream
from ocboost.streams.folder import open_folder
from ocboost.streams.folder_files import list_folder
from tests.support.folders import (
    NAMES,
    columns,
    every_format,
    names_of,
    refused,
    table,
    write,
)
from tests.support.stream_files import all_rows

# Rows ------------------------------------------------------------------------------------------------


@every_format
@pytest.mark.parametrize("batch_size", [1, 7, 100])
def test_the_rows_of_all_files_in_order(ending, batch_size, tmp_path):
    tables = {name: table(n, seed=n) for name, n in (("part-1", 20), ("part-2", 7), ("part-10", 33))}
    for name, rows in tables.items():
        write(tmp_path / f"{name}.{ending}", NAMES, rows)
    folder = open_folder(tmp_path, label="y")
    assert folder.format == ending.removesuffix(".gz")
    assert names_of(folder) == [f"{name}.{ending}" for name in tables]
    assert folder.n_bytes == sum(path.stat().st_size for path in tmp_path.iterdir())
    assert folder.n_rows == (60 if ending == "parquet" else None)
    assert (folder.schema.label, folder.schema.label_kind) == ("y", "integer")
    assert folder.notes == []
    for _ in range(2):  # it can be read again
        pairs = list(folder.batches(batch_size))
        assert [index for index, _ in pairs] == sorted(index for index, _ in pairs)
        for index, path in enumerate(folder.files):
            own = [rows for i, rows in pairs if i == index]
            assert all(len(rows) == batch_size for rows in own[:-1])
            assert own[0].first == 0
            with open_stream(path, schema=folder.schema) as alone:
                for mine, theirs in zip(all_rows(own), all_rows(alone), strict=True):
                    assert mine.tobytes() == theirs.tobytes()
                    assert mine.dtype == theirs.dtype


@every_format
def test_one_file_has_the_schema_that_it_has_alone(ending, tmp_path):
    path = write(tmp_path / f"t.{ending}", NAMES, table(200))
    with open_stream(path, label="y") as stream:
        assert open_folder(tmp_path, label="y").schema == stream.schema


@every_format
def test_starting_somewhere_else(ending, tmp_path):
    for k in range(3):
        write(tmp_path / f"{k}.{ending}", NAMES, table(11, seed=k))
    folder = open_folder(tmp_path, label="y")
    everything = [
        (i, r, x.tobytes()) for i, rows in folder.batches(1) for r, x in zip(rows.rows, rows.X, strict=True)
    ]
    for start_file, start_row in ((0, 0), (1, 0), (1, 10), (1, 11), (2, 3), (3, 0)):
        found = [
            (i, r, x.tobytes())
            for i, rows in folder.batches(4, start_file=start_file, start_row=start_row)
            for r, x in zip(rows.rows, rows.X, strict=True)
        ]
        assert found == [each for each in everything if each[:2] >= (start_file, start_row)]
    with pytest.raises(InputError, match=rf"1\.{ending} must hold the 12 rows to skip; it holds 11"):
        list(folder.batches(start_file=1, start_row=12))
    with pytest.raises(InputError, match="start_file"):
        folder.batches(start_file=4)


@every_format
def test_columns_are_found_by_name(ending, tmp_path):
    rows = table(9)
    write(tmp_path / f"a.{ending}", NAMES, rows)
    write(tmp_path / f"b.{ending}", NAMES[::-1], [row[::-1] for row in rows])
    (_, one), (_, other) = open_folder(tmp_path, label="y").batches()
    assert one.X.tobytes() == other.X.tobytes()
    assert one.y.tolist() == other.y.tolist()


def test_no_label(tmp_path):
    columns(tmp_path, "csv", a={"x": [1, 2]}, b={"x": [3, 4]})
    folder = open_folder(tmp_path)
    assert folder.schema.label is None
    for _, rows in folder.batches():
        assert rows.y is None
        assert not rows.known.any()


@pytest.mark.parametrize("n_features", [1, 3])
def test_a_batch_grows_when_it_must(n_features, tmp_path, monkeypatch):
    monkeypatch.setattr(filling, "FIRST_CELLS", 4)
    data = {f"x{j}": [float(i * j) for i in range(50)] for j in range(n_features)}
    columns(tmp_path, "parquet", a=data)
    ((_, rows),) = open_folder(tmp_path).batches(1000)
    np.testing.assert_array_equal(rows.X, np.column_stack(list(data.values())))


def test_progress(tmp_path):
    for k in range(3):
        write(tmp_path / f"{k}.csv", NAMES, table(50, seed=k))
    folder = open_folder(tmp_path, label="y")
    with folder.batches(10) as reading:
        assert (reading.bytes_read, reading.bytes_total) == (0, folder.n_bytes)
        seen = [reading.bytes_read for _ in reading]
    assert seen == sorted(seen)
    assert reading.bytes_read == folder.n_bytes
    assert folder.batches(start_file=1).bytes_read == folder.files[0].stat().st_size
    with folder.batches(10) as reading:
        next(reading)
    assert list(reading) == []


# The schema ------------------------------------------------------------------------------------------


@every_format
def test_the_schema_is_that_of_all_files(ending, tmp_path):
    """A category and a fraction that only the last of several files has."""
    for k in range(4):
        colour = "green" if k == 3 else "blue"
        columns(tmp_path, ending, **{f"p{k}": {"c": [colour] * 30, "y": [k / 2] * 30}})
    folder = open_folder(tmp_path, label="y")
    assert folder.schema.columns[0].categories == ("blue", "green")
    assert folder.schema.label_kind == "number"


def test_the_sample_is_bounded_and_fair(tmp_path):
    tall = {"x": np.arange(30_000.0)}
    for name in ("a", "b", "c"):
        pq.write_table(pa.table(tall), tmp_path / f"{name}.parquet")
    pq.write_table(pa.table({"x": [1.0] * 10}), tmp_path / "d.parquet")
    looks = folder_look.look_at_all(list_folder(str(tmp_path), None), None)
    sizes = [look.n_sampled for look in looks]
    assert sizes[3] == 10
    assert all(3300 <= n <= 4000 for n in sizes[:3])


def test_notes_on_files_come_once(tmp_path):
    for name in "abcd":
        (tmp_path / f"{name}.csv").write_text("x;y\n1;2\n")
    assert open_folder(tmp_path).notes == [
        "The fields are taken to be separated by semicolons: the line of names has no comma."
    ]
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    assert open_folder(tmp_path).notes[0].startswith("'b.csv', 'c.csv', 'd.csv': The fields are taken")
    (tmp_path / "a.csv").write_text("x,y\n,2\n")
    for name in "bcd":
        (tmp_path / f"{name}.csv").write_text("x,y\nNA,2\n")
    assert open_folder(tmp_path).notes == ["Column 'x' is left out: it is empty in 4 rows from 4 files."]


def test_a_label_that_no_sampled_row_has(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("x,y\n1,\n2,\n")
    refused(tmp_path, f"{tmp_path}: the label column 'y' must have labels among the first rows", label="y")


# Broken files and changes ----------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("batch_size", [1, 4, 100])
def test_the_rows_before_a_bad_one_come_first(ending, batch_size, tmp_path, monkeypatch):
    data = {"x": [float(i) for i in range(300)], "y": [i % 2 for i in range(300)]}
    columns(tmp_path, ending, a=data)
    bad = float("inf") if ending == "parquet" else "many"
    write(tmp_path / f"b.{ending}", ["x", "y"], [(bad if i == 250 else float(i), i % 2) for i in range(300)])
    monkeypatch.setattr(folder_look, "SAMPLE_ROWS", 200)  # the bad row lies beyond the sample
    folder = open_folder(tmp_path, label="y")
    counts = [0, 0]

    def read():
        for index, rows in folder.batches(batch_size):
            counts[index] += len(rows)

    with pytest.raises(InputError) as caught:
        read()
    assert counts == [300, 250]
    message = str(caught.value)
    assert f"b.{ending}: column 'x' must hold" in message
    assert "row 250" in message


def test_a_wrong_number_of_fields_names_the_line(tmp_path):
    columns(tmp_path, "csv", a={"x": [1, 2], "y": [0, 1]})
    (tmp_path / "b.csv").write_text("x,y\n1,0\n1,0,7\n")
    folder = open_folder(tmp_path, label="y")
    with pytest.raises(InputError, match=r"b\.csv, line 3: a row must have 2 fields") as caught:
        list(folder.batches())
    assert str(caught.value).count("b.csv") == 1


@every_format
def test_the_fingerprint(ending, tmp_path):
    for name in ("a", "b"):
        write(tmp_path / f"{name}.{ending}", NAMES, table(20))

    def digest(**more):
        return open_folder(tmp_path, **{"label": "y", **more}).fingerprint

    first = digest()
    assert first == digest()
    (tmp_path / "_notes").write_text("hidden files do not count")
    assert first == digest()
    assert first != digest(drop=["flag"])
    assert first != digest(label=None)
    path = tmp_path / f"b.{ending}"
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    changed = digest()
    assert changed != first
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert first == digest()
    path.rename(tmp_path / f"c.{ending}")
    assert digest() not in (first, changed)


def test_a_file_that_changes_meanwhile(tmp_path):
    for k in range(2):
        write(tmp_path / f"{k}.csv", NAMES, table(20, seed=k))
    folder = open_folder(tmp_path, label="y")
    reading = folder.batches()
    next(reading)
    write(tmp_path / "1.csv", NAMES, table(21))
    with pytest.raises(InputError, match=r"1\.csv must stay as it is while the folder is read"):
        next(reading)
    (tmp_path / "0.csv").unlink()
    with pytest.raises(InputError, match=r"0\.csv must stay as it is.*cannot be read any more"):
        next(folder.batches())


def test_a_file_that_grows_while_it_is_read(tmp_path):
    path = write(tmp_path / "a.csv", NAMES, table(20))
    reading = open_folder(tmp_path, label="y").batches(5)
    next(reading)
    with path.open("a") as file:
        file.write("1.0,true,red,1\r\n")
    with pytest.raises(InputError, match=r"a\.csv must stay as it is"):
        list(reading)


def test_pyarrow_is_needed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=re.escape(install_line("streams"))):
        open_folder(tmp_path)
