"""Which files of a folder are read, in what order, and which are refused."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ocboost import InputError
from ocboost.streams import open_stream
from ocboost.streams.folder import open_folder
from tests.support.folders import (
    NAMES,
    columns,
    every_format,
    names_of,
    refused,
    table,
    write,
)
from tests.support.stream_files import write_bytes


def test_order_folders_and_hidden_files(tmp_path):
    wanted = ["a=2/part-9.csv", "a=10/part-1.csv", "part-2.csv", "part-10.csv", "part-010.csv.gz", "Z.CSV"]
    for name in wanted:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        text = b"x,y\n1,2\n"
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    for name in ("_SUCCESS", ".part-2.csv.crc", "_temporary/part-3.csv", ".hidden/part-3.csv", "_x.csv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"nonsense")
    folder = open_folder(tmp_path, label="y")
    assert names_of(folder) == [
        "Z.CSV",
        "a=2/part-9.csv",
        "a=10/part-1.csv",
        "part-2.csv",
        "part-10.csv",
        "part-010.csv.gz",
    ]
    assert folder.schema.feature_names == ("x",)
    (note,) = folder.notes
    assert "column=value are just folders" in note


def test_mixed_formats(tmp_path):
    rows = table(5)
    for name in ("a.csv", "b.csv", "c.parquet", "d.jsonl"):
        write(tmp_path / name, NAMES, rows)
    (tmp_path / "README.md").write_text("hello")
    refused(
        tmp_path,
        "must hold files of one format",
        "2 of csv, 1 of jsonl, 1 of parquet",
        "Choose one with format",
    )
    folder = open_folder(tmp_path, label="y", format="parquet")
    assert names_of(folder) == ["c.parquet"]
    assert folder.notes == [
        "Files that are not parquet are passed over: 'README.md', 'a.csv', 'b.csv' and 1 more."
    ]
    refused(tmp_path, "files of format tsv", "2 of csv", format="tsv")
    refused(tmp_path, "format must be one of", "'xls'", format="xls")


def test_files_without_an_ending_need_a_format(tmp_path):
    for k in range(2):
        write(tmp_path / f"{k}.csv", NAMES, table(5)).rename(tmp_path / f"part-0000{k}")
    refused(tmp_path, "endings tell their format", "'part-00000', 'part-00001'", "give format")
    assert names_of(open_folder(tmp_path, label="y", format="csv")) == ["part-00000", "part-00001"]


def test_nothing_to_read(tmp_path):
    refused(tmp_path, "must hold files of rows; it holds none")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "empty").mkdir()
    refused(tmp_path, "must hold files of rows; it holds none")
    path = write(tmp_path / "sub" / "a.csv", NAMES, table(3))
    refused(path, "must be a folder", "is a file", "open_stream")
    with pytest.raises(FileNotFoundError):
        open_folder(tmp_path / "nowhere")


def test_open_stream_says_who_takes_folders(tmp_path):
    for name in ("data", "data.parquet", "data.csv"):
        folder = tmp_path / name
        folder.mkdir()
        with pytest.raises(InputError, match=r"is a folder\. Give one of the files in it\..* for fit"):
            open_stream(folder)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_a_file_of_no_bytes(ending, tmp_path):
    write(tmp_path / f"a.{ending}", NAMES, table(5))
    write_bytes(tmp_path / f"b.{ending}", b"")
    refused(tmp_path, f"b.{ending} is empty")


@every_format
def test_a_file_without_rows(ending, tmp_path):
    rows = table(5)
    write(tmp_path / f"a.{ending}", NAMES, rows)
    write(tmp_path / f"c.{ending}", NAMES, rows)
    if ending == "parquet":
        pq.write_table(pq.read_table(tmp_path / "a.parquet").slice(0, 0), tmp_path / "b.parquet")
    else:
        write(tmp_path / f"b.{ending}", NAMES, [])
    folder = open_folder(tmp_path, label="y")
    assert folder.notes == [f"Files without rows are passed over: 'b.{ending}'."]
    assert names_of(folder) == [f"a.{ending}", f"c.{ending}"]
    assert [(i, len(each)) for i, each in folder.batches()] == [(0, 5), (1, 5)]
    (tmp_path / f"a.{ending}").unlink()
    (tmp_path / f"c.{ending}").unlink()
    refused(tmp_path, "must hold rows; none of its 1 files has one")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_without_rows_must_fit_too(ending, tmp_path):
    columns(tmp_path, ending, a={"x": [1.0], "y": [1]}, b={"x": [1.0], "y": [1]})
    if ending == "parquet":
        pq.write_table(pa.table({"y": pa.array([], "int64")}), tmp_path / "c.parquet")
    else:
        (tmp_path / "c.csv").write_text("y\n")
    refused(tmp_path, "must have the column 'x'", f"'c.{ending}'")


def test_unreadable_files(tmp_path, monkeypatch):
    write(tmp_path / "a.csv", NAMES, table(5))
    write(tmp_path / "b.csv", NAMES, table(5))
    real = open

    def no_entry(path, *args, **more):
        if os.fspath(path).endswith("b.csv"):
            raise PermissionError(13, "Permission denied", path)
        return real(path, *args, **more)

    with monkeypatch.context() as patch:
        patch.setattr("builtins.open", no_entry)
        refused(tmp_path, "b.csv must be a readable file", "Permission denied")

    def no_list(path):
        raise PermissionError(13, "Permission denied", path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", no_list)
        refused(tmp_path, "must be readable", "Permission denied")


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_a_file_of_another_kind(ending, tmp_path):
    write(tmp_path / f"a.{ending}", NAMES, table(5))
    (tmp_path / f"b.{ending}").write_bytes(b"\xff\xfe\x00\x01" * 20)
    refused(tmp_path, f"b.{ending}", label="y")


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="there are no links")
def test_links(tmp_path):
    inner = tmp_path / "data"
    write(inner / "a.csv", NAMES, table(5))
    write(tmp_path / "elsewhere" / "b.csv", NAMES, table(5))
    (inner / "b").symlink_to(tmp_path / "elsewhere")
    (inner / "c.csv").symlink_to(tmp_path / "elsewhere" / "b.csv")
    folder = open_folder(inner, label="y")
    assert names_of(folder) == ["a.csv", "b/b.csv", "c.csv"]
    assert folder.notes == ["'b/b.csv', 'c.csv' are the same file: its rows are read 2 times."]

    (inner / "readme.txt").symlink_to("nowhere")  # nobody reads it
    assert "'readme.txt'" in open_folder(inner, label="y").notes[0]
    (inner / "d.csv").symlink_to("nowhere")
    refused(inner, "d.csv must be a readable file; it is a link that leads nowhere")
    (inner / "d.csv").unlink()
    (inner / "e.csv").symlink_to("e.csv")
    refused(inner, "e.csv must be a readable file; it is a link that leads nowhere")
    (inner / "e.csv").unlink()
    (inner / "loop").symlink_to(inner)
    refused(inner, "loop must not lead back to a folder that holds it")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe(tmp_path):
    write(tmp_path / "a.csv", NAMES, table(5))
    os.mkfifo(tmp_path / "b.csv")
    refused(tmp_path, "b.csv must be a regular file, since it is read several times")


@pytest.mark.skipif(os.name != "posix", reason="such names are not possible")
@every_format
def test_strange_names(ending, tmp_path):
    strange = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9 \x1b[31mred\n." + ending.encode())
    write(tmp_path / f"a.{ending}", NAMES, table(5))
    write(tmp_path / f"b.{ending}", NAMES, table(6))
    os.rename(tmp_path / f"b.{ending}", strange)
    folder = open_folder(tmp_path, label="y")
    assert folder.files[1] == Path(strange)
    assert [len(rows) for _, rows in folder.batches()] == [5, 6]
    assert len(folder.fingerprint) == 64
    os.rename(strange, strange + ".txt")
    assert all(note.isprintable() for note in open_folder(tmp_path, label="y").notes)
    write(tmp_path / f"b.{ending}", ["x"], [(1.0,)])
    os.rename(tmp_path / f"b.{ending}", strange)
    message = refused(tmp_path, "label column 'y'", r"\udce9 \x1b[31mred\n", label="y")
    assert "\x1b" not in message
    write_bytes(tmp_path / f"b.{ending}", b"{" if ending.startswith("json") else b"")
    os.rename(tmp_path / f"b.{ending}", strange)
    refused(tmp_path, r"\udce9 \x1b[31mred\n", label="y")
