"""The line that installs an extra fits how ocboost was installed."""

from __future__ import annotations

import importlib.metadata
import json
import os
from pathlib import Path

import pytest

import ocboost
from ocboost._extras import install_line, line_for

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the lines are quoted for a POSIX shell")
ROOT = Path(ocboost.__file__).parents[2]


@pytest.mark.parametrize(
    ("origin", "line"),
    [
        ({}, "pip install 'ocboost[plot]'"),
        ({"url": "file:///home/a%20b/ocboost", "dir_info": {}}, "pip install '/home/a b/ocboost[plot]'"),
        (
            {"url": "file:///home/it's", "dir_info": {"editable": True}},
            """pip install -e '/home/it'"'"'s[plot]'""",
        ),
        (
            {"url": "file:///tmp/ocboost-0.2.0-py3-none-any.whl", "archive_info": {}},
            "pip install 'ocboost[plot] @ file:///tmp/ocboost-0.2.0-py3-none-any.whl'",
        ),
        (
            {"url": "https://me:secret@host/o.git", "vcs_info": {"vcs": "git", "commit_id": "a1b2"}},
            "pip install 'ocboost[plot] @ git+https://host/o.git@a1b2'",
        ),
        ({"url": "https://host/\x1b[31m", "archive_info": {}}, "pip install 'ocboost[plot]'"),
        ({"url": 5}, "pip install 'ocboost[plot]'"),
    ],
)
def test_the_line(origin, line):
    assert line_for("plot", origin) == line


class Installed:
    def __init__(self, text):
        self.text = text

    def read_text(self, name):
        assert name == "direct_url.json"
        return self.text


@pytest.mark.parametrize("text", [None, "", "[]", "3"])
def test_from_a_registry(text, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Installed(text))
    assert install_line("plot") == "pip install 'ocboost[plot]'"


def test_from_a_folder(monkeypatch):
    text = json.dumps({"url": "file:///clone", "dir_info": {}})
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Installed(text))
    assert install_line("plot") == "pip install '/clone[plot]'"
    assert str(ocboost.MissingExtraError("lmdb", "fleet", "A fleet")).endswith(
        "with: pip install '/clone[fleet]'"
    )


@pytest.mark.skipif(not (ROOT / "pyproject.toml").is_file(), reason="this is no clone")
def test_a_clone_that_was_not_installed(monkeypatch):
    def none(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", none)
    assert install_line("plot") == f"pip install -e '{ROOT}[plot]'"
