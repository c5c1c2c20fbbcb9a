"""Comparisons on named streams on a Dask cluster find what processes find."""

from __future__ import annotations

import gzip
import os
import signal
from functools import partial

import pytest

from ocboost.errors import ClusterError, InputError
from ocboost.evaluation.cluster_jobs import run_on_cluster
from ocboost.evaluation.jobs import FinishedBoards, Task, boards_of, run_tasks
from tests.support.dask_clusters import processes

__all__ = ["processes"]

pytest.importorskip("river")


def tasks_of(name, rows=300, seeds=2):
    return [Task(name, seed, ("static", "oza"), hypotheses=5, start=60, rows=rows) for seed in range(seeds)]


TASKS = [task for name in ("sea", "phishing") for task in tasks_of(name)]


def metrics_of(found):
    """What was found by stream and seed, without times."""
    return {
        (task.stream, task.seed): (result.notes, [run.standing.metrics for run in result.comparison.runs])
        for task, result in found
    }


@pytest.fixture(scope="module")
def alone():
    return metrics_of(run_tasks(TASKS, jobs=1))


def test_the_same_is_found(processes, alone):
    progress = []
    found = list(run_on_cluster(processes.scheduler_address, TASKS, lambda *news: progress.append(news)))
    assert metrics_of(found) == alone
    assert progress[0] == ("asking the workers", 0.0, 4)
    assert progress[-1][1:] == (4, 4)


def test_a_lost_worker_changes_nothing(processes, alone):
    lost = []

    def lose(what, done, total):
        if not lost and "seed" in what:
            lost.append(next(iter(processes.workers.values())).pid)
            os.kill(lost[0], signal.SIGKILL)

    assert metrics_of(run_on_cluster(processes.scheduler_address, TASKS, lose)) == alone
    assert lost


def test_a_task_that_is_refused_does_not_stop_the_others(processes, alone):
    bad = Task("sea", 0, ("static",), rows=5)
    found = dict(run_on_cluster(processes.scheduler_address, [bad, *TASKS[:1]]))
    assert isinstance(found[bad], InputError)
    assert "at least 10 rows" in str(found.pop(bad))
    assert metrics_of(found.items()) == {("sea", 0): alone["sea", 0]}


def test_boards_are_cached_here(processes, tmp_path):
    finished = FinishedBoards(tmp_path / "kept")
    run = partial(run_on_cluster, processes.scheduler_address)
    first = boards_of(["sea"], tasks_of, run=run, finished=finished)
    assert list(first[0]) == ["sea"]
    nowhere = partial(run_on_cluster, "tcp://127.0.0.1:1")  # nobody is asked when nothing is left to do
    assert boards_of(["sea"], tasks_of, run=nowhere, finished=finished) == first


class TestFiles:
    @pytest.fixture
    def task(self, tmp_path, monkeypatch):
        """A task on a file of a folder that is given relative to the working directory."""
        monkeypatch.chdir(tmp_path)
        path = tmp_path / "data" / "streams" / "usenet1.csv.gz"
        path.parent.mkdir(parents=True)
        rows = "".join(f"{k % 7},{k % 3},{int(k % 7 > 3)}\n" for k in range(200))
        path.write_bytes(gzip.compress(f"a,b,label\n{rows}".encode()))
        return Task("usenet", 0, ("static",), "data", hypotheses=5, start=60)

    def test_workers_read_them(self, processes, task):
        ((_, found),) = run_on_cluster(processes.scheduler_address, [task])
        ((_, here),) = run_tasks([task])
        assert metrics_of([(task, found)]) == metrics_of([(task, here)])

    def test_they_must_be_the_same_everywhere(self, processes, task, monkeypatch):
        sizes = os.path.getsize
        monkeypatch.setattr(os.path, "getsize", lambda path: sizes(path) + 1)
        with pytest.raises(ClusterError, match=r"has another version of '.*usenet1.csv.gz'"):
            list(run_on_cluster(processes.scheduler_address, [task]))
