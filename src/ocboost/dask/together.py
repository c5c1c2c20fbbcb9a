"""One long task on each worker, all of which must be there to the end: started, watched, and tried again."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ocboost._core.escaping import shown
from ocboost._shards.fit import BoosterPart, agree
from ocboost._shards.plan import FitPlan
from ocboost.dask.collectives import Exchange, Group, PeerLostError, abort, has_xgboost, start_tracker
from ocboost.dask.tasks import fit_on_worker
from ocboost.errors import ClusterError, InputError

TASK_SECONDS = 0.05  # between looks at the tasks, which need no message
CANCELLED = (
    asyncio.CancelledError,
    concurrent.futures.CancelledError,
)  # which of them depends on the version
ASK_SECONDS = 0.5  # between looks at the workers
STOP_SECONDS = 5.0  # for tasks to end that are no longer wanted
FETCH_SECONDS = 10.0  # for the first attempt to fetch a result; each later one has twice as long
UNEVEN = 1.1  # a worker may keep so many times its share of the rows, rather than send some to another


def share_out(
    holders: Mapping[Any, Sequence[str]], sizes: Mapping[Any, int], workers: Sequence[str]
) -> dict[str, list[Any]]:
    """Which worker takes which partition: one that has it, unless that one would have far more than others.

    >>> share_out({"a": ["w1"], "b": ["w1"], "c": ["w1"]}, {"a": 5, "b": 5, "c": 1}, ["w1", "w2"])
    {'w1': ['a', 'c'], 'w2': ['b']}
    """
    most = UNEVEN * sum(sizes.values()) / len(workers)
    load = dict.fromkeys(workers, 0)
    taken: dict[str, list[Any]] = {worker: [] for worker in workers}
    for partition in sorted(sizes, key=lambda key: -sizes[key]):
        here = [worker for worker in holders.get(partition, ()) if worker in load]
        fits = [worker for worker in here if load[worker] + sizes[partition] <= most]
        worker = min(fits or workers, key=lambda name: load[name])
        taken[worker].append(partition)
        load[worker] += sizes[partition]
    return {worker: parts for worker, parts in taken.items() if parts}


class BinnedRows(NamedTuple):
    """Partitions that lie binned on the workers, as futures, and what they are made from."""

    partitions: Sequence[Any]
    features: Any  # a future: while it is kept, partitions can be made again


def fit_together(
    client: Any,
    bin_rows: Callable[[], BinnedRows],
    sizes: Sequence[int],
    plan: FitPlan,
    *,
    timeout: float,
    retries: int,
) -> list[list[BoosterPart]]:
    """Fit partitions of these sizes; what each worker found.

    When a worker is lost the others stop, Dask makes its partitions anew, and the fit begins again with the
    workers that are there.
    """
    binned, attempt = bin_rows(), 0
    while True:
        try:
            wait_for_all(client, binned.partitions, timeout)
            return _attempt(client, binned.partitions, sizes, plan, timeout)
        except PeerLostError as error:
            reason = str(error)
        if attempt == retries:
            raise ClusterError(
                f"the fit was given up after {retries + 1} attempts, as a worker was lost in each. The last "
                f"one: {shown(reason)!s:.300} Look at the logs of the workers: were they out of memory, or "
                f"busy with other work for longer than timeout={timeout:g} seconds?"
            )
        attempt += 1
        if any(each.status not in ("pending", "finished") for each in binned.partitions):
            binned = bin_rows()  # all that held the features are gone


def _attempt(
    client: Any, partitions: Sequence[Any], sizes: Sequence[int], plan: FitPlan, timeout: float
) -> list[list[BoosterPart]]:
    workers = sorted(client.nthreads())
    if not workers:
        raise PeerLostError("no worker is left.")
    holders = {key: list(found) for key, found in client.who_has(partitions).items()}
    by_key = {each.key: each for each in partitions}
    sizes_by_key = {each.key: size for each, size in zip(partitions, sizes, strict=True) if size}
    taken = share_out(holders, sizes_by_key, workers)
    ranks = {worker: rank for rank, worker in enumerate(taken)}
    name = f"ocboost-fit-{uuid.uuid4().hex}"
    group, exchange = _group(client, name, list(ranks), timeout)
    futures: list[Any] = []
    try:
        for worker, rank in ranks.items():
            own = [by_key[key] for key in taken[worker]]
            how = {"workers": [worker], "allow_other_workers": False, "pure": False, "retries": 0}
            task = (own, plan, group, rank, exchange)
            futures.append(client.submit(fit_on_worker, *task, key=f"{name}-{rank}", priority=10, **how))
        found = _watched(client, futures, list(ranks))
    except BaseException:
        _stop(client, name, exchange, dict(zip(ranks, futures, strict=False)))
        raise
    if not agree(found):
        raise ClusterError(
            "the workers found different stumps from the same sums; do their processors or versions of NumPy "
            "differ? Use workers that are alike."
        )
    return found


def wait_for_all(client: Any, futures: Sequence[Any], timeout: float) -> None:
    """Wait for tasks that Dask does again when a worker is lost; the first error is raised."""
    asked = seen = time.monotonic()
    while True:
        for each in futures:
            if each.status not in ("pending", "finished"):
                raise_error_of(each)
        if all(each.status == "finished" for each in futures):
            return
        if time.monotonic() - asked > ASK_SECONDS:
            asked = time.monotonic()
            seen = asked if client.nthreads() else seen
            if asked - seen > timeout:
                raise ClusterError(
                    f"the cluster must have workers; it has had none for {timeout:g} seconds. Start some."
                )
        time.sleep(TASK_SECONDS)


def _group(client: Any, name: str, workers: Sequence[str], timeout: float) -> tuple[Group, Any]:
    """A group of workers: with XGBoost if all have it and are processes of their own, else with an actor."""
    size = len(workers)
    if size == 1:
        return Group(name, 1, timeout, None), None
    if _all_have_xgboost(client, workers, timeout):
        host = urlsplit(workers[0]).hostname
        started = _answers(client, start_tracker, size, host, timeout, workers=[workers[0]], timeout=timeout)
        tracker = started.get(workers[0])
        if isinstance(tracker, dict):
            return Group(name, size, timeout, tracker), None
    exchange = client.submit(
        Exchange, size, timeout, actor=True, workers=[workers[0]], pure=False, key=f"{name}-exchange"
    )
    try:
        return Group(name, size, timeout, None), exchange.result(timeout)
    except Exception as error:  # whatever a worker that is about to die says
        raise PeerLostError(f"a worker did not answer: {error!s:.200}") from error


def _answers(client: Any, function: Any, *args: Any, workers: Sequence[str], timeout: float) -> Any:
    """What a function gives on each of some workers, or its error there."""
    try:
        return client.run(function, *args, workers=list(workers), on_error="return", callback_timeout=timeout)
    except (OSError, TimeoutError) as error:
        raise PeerLostError(f"a worker did not answer within {timeout:g} seconds.") from error


def _all_have_xgboost(client: Any, workers: Sequence[str], timeout: float) -> bool:
    if any(urlsplit(worker).scheme != "tcp" for worker in workers):
        return False  # threads of one process, or a network that XGBoost does not speak
    found = _answers(client, has_xgboost, workers=workers, timeout=timeout)
    processes = _answers(client, os.getpid, workers=workers, timeout=timeout)
    apart = {(urlsplit(worker).hostname, processes.get(worker)) for worker in workers}
    return len(apart) == len(workers) and all(found.get(worker) is True for worker in workers)


def _watched(client: Any, futures: Sequence[Any], workers: Sequence[str]) -> list[list[BoosterPart]]:
    """What the tasks give; an error as soon as one fails, or its worker is gone."""
    asked = time.monotonic()
    while True:
        for each in futures:
            if each.status not in ("pending", "finished"):
                raise_error_of(each)
        if all(each.status == "finished" for each in futures):
            return [_result(client, *each) for each in zip(futures, workers, strict=True)]
        if time.monotonic() - asked > ASK_SECONDS:
            gone = set(workers) - set(client.nthreads())
            if gone:
                raise PeerLostError(f"the worker at {', '.join(sorted(gone))} was lost.")
            asked = time.monotonic()
        time.sleep(TASK_SECONDS)


def _result(client: Any, future: Any, worker: str) -> list[BoosterPart]:
    """Fetch what a task gave. Were its worker lost now, Dask would wait for that very worker to come back."""
    seconds = FETCH_SECONDS
    while True:
        try:
            found: list[BoosterPart] = future.result(seconds)
            return found
        except TimeoutError as error:
            if worker not in client.nthreads() or future.status != "finished":
                raise PeerLostError(f"the worker at {worker} was lost.") from error
            seconds *= 2.0
        except (*CANCELLED, OSError) as error:  # its worker was lost with it
            raise PeerLostError(f"a worker was lost: {error!s:.200}") from error


def raise_error_of(future: Any) -> None:
    """Raise what a task failed with: as it is if it is about the input, else as a lost worker."""
    if future.status == "error":
        error = future.exception()
        if isinstance(error, InputError | PeerLostError):
            raise error
        if isinstance(error, MemoryError):
            raise ClusterError("a worker ran out of memory. Use more workers, or fewer rows.") from error
        lost = type(error).__name__ in ("KilledWorker", "CommClosedError", "FutureCancelledError")
        if not lost and "Worker holding Actor was lost" not in str(error):
            raise error
        raise PeerLostError(f"a worker was lost: {error!s:.200}") from error
    raise PeerLostError("a worker was lost.")


def _stop(client: Any, name: str, exchange: Any, futures: Mapping[str, Any]) -> None:
    """Let all tasks of an attempt end, each on a worker, and wait a little until they have."""
    with suppress(Exception, *CANCELLED):  # workers may be gone
        client.run(abort, name, on_error="ignore", callback_timeout=STOP_SECONDS)
    if exchange is not None:
        with suppress(Exception, *CANCELLED):
            exchange.stop().result(STOP_SECONDS)
    with suppress(Exception, *CANCELLED):
        there, deadline = client.nthreads(), time.monotonic() + STOP_SECONDS
        running = [future for worker, future in futures.items() if worker in there]
        while any(each.status == "pending" for each in running) and time.monotonic() < deadline:
            time.sleep(TASK_SECONDS)
    with suppress(Exception, *CANCELLED):
        client.cancel(list(futures.values()), force=True)
