"""Comparisons on named streams on a Dask cluster: a task for each stream and seed, each on one worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ocboost._core.cluster import Running, connected
from ocboost._core.cluster_worker import Link
from ocboost.datasets.drift import stream_named
from ocboost.errors import InputError
from ocboost.evaluation.jobs import Progress, Task, TaskResult, of_task, run_task

SHOWN = 3  # tasks that the progress bar names


def run_on_cluster(
    address: str, tasks: Sequence[Task], progress: Progress | None = None
) -> Iterator[tuple[Task, TaskResult | InputError]]:
    """Run tasks on the cluster of the scheduler at an address; yield each result, or why there is none.

    Workers read the files of real streams themselves, at the same path as here.

    Raises
    ------
    ClusterError
        If the cluster cannot be used, or was lost.
    """
    tasks = [_anywhere(task) for task in tasks]
    if not tasks:
        return
    progress = progress or (lambda what, done, total: None)

    def tick(running: dict[int, Running], left: int) -> None:
        texts = [of_task(tasks[n], news.what, news.share) for n, news in running.items()]
        more = f"; {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
        done_in_part = float(sum(news.share for news in running.values()))
        progress("; ".join(texts[:SHOWN]) + more, len(tasks) - left + done_in_part, len(tasks))

    with connected(address) as cluster:
        progress("asking the workers", 0.0, len(tasks))
        cluster.require_files(_files(tasks))
        yield from cluster.run(_run, tasks, tick)


def _anywhere(task: Task) -> Task:
    """The same task with a path that does not depend on the working directory."""
    return task if task.data is None else replace(task, data=str(Path(task.data).absolute()))


def _files(tasks: Sequence[Task]) -> list[Path]:
    files = {
        Path(task.data) / stream_named(task.stream).file
        for task in tasks
        if task.data is not None and stream_named(task.stream).origin == "file"
    }
    return sorted(files)


def _run(link: Link, task: Task) -> TaskResult:
    return run_task(task, link.tell)
