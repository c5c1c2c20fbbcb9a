"""Dask clusters for tests, and tasks that their workers run."""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

PATIENCE = 60.0  # seconds for what takes a moment


@contextmanager
def local_cluster(**options):
    """A cluster of this machine, any port will do."""
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    usual = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "memory_limit": None}
    # A busy machine may take longer than the usual 15 s to start a lost worker again, which is then given up.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "600s"}),
        distributed.LocalCluster(**{**usual, **options}) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="module")
def processes():
    """Two workers, each a process that is started again when it is lost."""
    with local_cluster(n_workers=2, processes=True) as cluster:
        yield cluster


@pytest.fixture
def threads():
    """One worker, a thread of this process, so that it starts fast."""
    with local_cluster(n_workers=1, processes=False, protocol="tcp") as cluster:
        yield cluster


def eventually(condition):
    """Wait until something holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.02)


def busy(cluster):
    """How many tasks the workers have."""
    return sum(len(worker.processing) for worker in list(cluster.scheduler.workers.values()))


def begins_and_waits(link, item):
    """Leave a file with the process's number, wait for the file go, and return the square."""
    folder, n = item
    Path(folder, f"{n} {os.getpid()}").touch()
    eventually(Path(folder, "go").exists)
    return n * n


def begun(folder):
    """Which tasks have begun, and in which process."""
    return [tuple(map(int, path.name.split())) for path in Path(folder).iterdir() if " " in path.name]


def works_while_wanted(link, item):
    """Work until nobody wants it any more, and leave a file."""
    folder, n = item
    Path(folder, f"{n} {os.getpid()}").touch()
    eventually(lambda: not link.wanted())
    Path(folder, f"ended-{n}").touch()


def tells(link, n):
    """Tell how far it is."""
    link.tell(f"at \x1b[31m{n}", 0.5)
    time.sleep(0.5)
    return n


def number_of_threads(link, n):
    from ocboost import get_num_threads

    return get_num_threads()


def ends_its_worker(link, n):
    os.kill(os.getpid(), signal.SIGKILL)


def fails(link, text):
    raise RuntimeError(text)
