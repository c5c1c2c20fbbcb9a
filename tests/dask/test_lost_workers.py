"""A worker that is killed during a fit: the fit is tried again, and ends right or with an error."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from ocboost import OCBClassifier
from tests.support.dask_clusters import eventually, local_cluster
from tests.support.doomed_workers import die_before_joining, die_in_sum, freeze, hide_xgboost, show_xgboost
from tests.support.shards import some_rows

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from ocboost.dask import DaskOCBClassifier, together  # noqa: E402
from ocboost.dask.together import wait_for_all  # noqa: E402
from ocboost.errors import ClusterError  # noqa: E402


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(n_workers=2, processes=True) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=120)
        client.run(show_xgboost)
        yield client


def rows_and_labels():
    X, y = some_rows(300, 1)
    return X, y, da.from_array(X, chunks=(40, -1)), da.from_array(y, chunks=40)


@pytest.mark.parametrize("actors", [False, True], ids=["xgboost", "actors"])
@pytest.mark.parametrize(
    ("which", "doom"),
    [(1, (die_before_joining,)), (0, (die_in_sum, 4)), (1, (die_in_sum, 30))],
    ids=["before joining", "the first, in a sum", "the other, in a sum"],
)
def test_one_is_killed(client, actors, which, doom):
    X, y, rows, labels = rows_and_labels()
    if actors:
        client.run(hide_xgboost)
    client.run(*doom, workers=[sorted(client.nthreads())[which]])
    clf = DaskOCBClassifier(20, client, timeout=10).fit(rows, labels)
    expected = OCBClassifier(n_hypotheses=20).fit(X, y)
    assert clf.hypotheses_.threshold.tolist() == expected.hypotheses_.threshold.tolist()
    assert np.abs(clf.alpha_[0] - expected.alpha_[0]).max() < 1e-10


def test_one_is_killed_before_its_result_is_fetched(client, monkeypatch):
    X, y, rows, labels = rows_and_labels()
    pids, fetch = client.run(os.getpid), together._result

    def kill_and_fetch(client, future, worker):
        if pids:
            os.kill(pids[worker], signal.SIGKILL)
            pids.clear()
        return fetch(client, future, worker)

    monkeypatch.setattr(together, "_result", kill_and_fetch)
    monkeypatch.setattr(together, "FETCH_SECONDS", 2.0)
    clf = DaskOCBClassifier(20, client, timeout=10).fit(rows, labels)
    assert np.abs(clf.alpha_[0] - OCBClassifier(n_hypotheses=20).fit(X, y).alpha_[0]).max() < 1e-10


@pytest.mark.parametrize("actors", [False, True], ids=["xgboost", "actors"])
def test_one_answers_no_more(client, actors, monkeypatch):
    """It is there for the scheduler, but its process does nothing."""
    _, _, rows, labels = rows_and_labels()
    monkeypatch.setattr(together, "STOP_SECONDS", 1.0)
    if actors:
        client.run(hide_xgboost)
    frozen = sorted(client.nthreads())[1]
    pid = client.run(os.getpid)[frozen]
    client.run(die_in_sum, 4, freeze, workers=[frozen])
    try:
        with pytest.raises(ClusterError, match="given up after 1 attempts, as a worker was lost"):
            DaskOCBClassifier(20, client, timeout=3, retries=0).fit(rows, labels)
    finally:
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: frozen not in client.nthreads())


def test_it_gives_up(client):
    _, _, rows, labels = rows_and_labels()
    client.run(die_in_sum, 3, workers=[sorted(client.nthreads())[0]])
    with pytest.raises(ClusterError, match="given up after 1 attempts, as a worker was lost"):
        DaskOCBClassifier(20, client, timeout=10, retries=0).fit(rows, labels)


def test_no_worker_is_left():
    """Nobody comes back: an error after the timeout."""
    with local_cluster(n_workers=0, processes=False) as cluster, distributed.Client(cluster) as client:
        waiting = client.submit(abs, -1)
        with pytest.raises(ClusterError, match="none for 1 seconds"):
            wait_for_all(client, [waiting], 1.0)
