"""A Redis server for tests, as fixtures: import them in a conftest."""

from __future__ import annotations

import pytest

from tests.support.redis_server import RedisServer, missing


@pytest.fixture(scope="module")
def redis_process(tmp_path_factory):
    """A Redis server for the tests of one file; one that is killed must be started again."""
    if (why := missing()) is not None:
        pytest.skip(why)
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def server(redis_process):
    """The same, empty."""
    with redis_process.client() as client:
        client.flushall()
    return redis_process


@pytest.fixture
def client(server):
    with server.client() as client:
        yield client
