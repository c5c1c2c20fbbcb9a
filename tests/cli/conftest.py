"""Folders and models that several tests of commands work with."""

from __future__ import annotations

import pytest

from tests.support.cli_runs import fitted
from tests.support.redis_fixtures import client, redis_process, server
from tests.support.toy_cascade import write_cascade_inputs

__all__ = ["client", "redis_process", "server"]


@pytest.fixture
def cascade_folder(tmp_path, monkeypatch):
    """A folder with a detector and mosaics of faces and others; the working directory."""
    monkeypatch.chdir(tmp_path)
    return write_cascade_inputs(tmp_path)


@pytest.fixture(scope="module", params=["ocb", "adaptive"])
def model(request, tmp_path_factory):
    """A model of either kind, as `ocboost fit` makes it."""
    return fitted(tmp_path_factory.mktemp("model"), "--method", request.param)


@pytest.fixture(scope="module")
def ocb(tmp_path_factory):
    """One of --method ocb."""
    return fitted(tmp_path_factory.mktemp("ocb"))
