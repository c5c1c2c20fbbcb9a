"""Folders that several tests of commands work in."""

from __future__ import annotations

import pytest

from tests.support.toy_cascade import write_cascade_inputs


@pytest.fixture
def cascade_folder(tmp_path, monkeypatch):
    """A folder with a detector and mosaics of faces and others; the working directory."""
    monkeypatch.chdir(tmp_path)
    return write_cascade_inputs(tmp_path)
