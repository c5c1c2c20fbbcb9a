"""Fixtures of the tests of streams."""

from __future__ import annotations

import pytest

from ocboost.streams import source


@pytest.fixture(params=[1 << 19, 32])
def chunk(request, monkeypatch):
    """Large and small chunks."""
    monkeypatch.setattr(source, "CHUNK_BYTES", request.param)
