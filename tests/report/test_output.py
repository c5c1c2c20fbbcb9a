"""A folder filled file by file: all of them appear, or none."""

from __future__ import annotations

import os

import pytest

from ocboost._report.output import StagedFolder
from ocboost.errors import InputError


def content(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def failing_at(monkeypatch, name):
    """Let the system fail to put one file in its place."""
    replace = os.replace

    def fails(source, target):
        if target.name == name and source.parent.name.startswith(".part"):
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fails)


def fill(folder):
    with StagedFolder(folder) as staged:
        for name in ("a", "b", "c", "d"):
            staged.add(name, b"new " + name.encode())
        return staged.finish()


def test_older_files_are_replaced(tmp_path):
    for name in ("a", "z"):
        (tmp_path / name).write_text(f"old {name}")
    assert fill(tmp_path) == [tmp_path / name for name in "abcd"]
    assert content(tmp_path) == {"a": "new a", "b": "new b", "c": "new c", "d": "new d", "z": "old z"}


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("name", ["a", "c", "d"])
def test_a_failure_is_undone(tmp_path, monkeypatch, name, links):
    older = {name: f"old {name}" for name in ("a", "c", "z")}
    for own, text in older.items():
        (tmp_path / own).write_text(text)
    failing_at(monkeypatch, name)
    if not links:

        def refuses(*_, **__):
            raise PermissionError(1, "no links here")

        monkeypatch.setattr(os, "link", refuses)
    with pytest.raises(InputError, match=f"{name} could not be put .*No space left.* nothing was changed"):
        fill(tmp_path)
    assert content(tmp_path) == older


def test_a_new_folder_is_removed_again(tmp_path, monkeypatch):
    failing_at(monkeypatch, "c")
    with pytest.raises(InputError, match="nothing was changed"):
        fill(tmp_path / "x" / "y")
    assert list(tmp_path.iterdir()) == []


def test_the_same_name_twice(tmp_path):
    with StagedFolder(tmp_path) as staged:
        staged.add("a", b"one")
        with pytest.raises(InputError, match="name must be new; a was added already"):
            staged.add("a", b"two")
        staged.finish()
    assert content(tmp_path) == {"a": "one"}
