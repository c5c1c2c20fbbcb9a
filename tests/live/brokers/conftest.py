from __future__ import annotations

import pytest

from ocboost.live.brokers.url import open_log
from tests.support.kafka_cluster import KafkaCluster, require_cluster
from tests.support.redis_fixtures import client, redis_process, server

__all__ = ["client", "redis_process", "server"]


@pytest.fixture(scope="module")
def cluster():
    """A mock cluster of Kafka for the tests of one file."""
    require_cluster()
    with KafkaCluster() as cluster:
        yield cluster


@pytest.fixture
def logs(monkeypatch):
    """Opens logs in Kafka, and closes them afterwards."""
    require_cluster()
    monkeypatch.setattr("ocboost.live.brokers.kafka_client.FETCH_MILLISECONDS", 10)
    opened = []

    def open_one(address):
        opened.append(open_log(address))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()
