"""Sums over the workers of a cluster: by XGBoost's allreduce where it is there, by a Dask actor otherwise.

Both are behind `Group`: the client makes one for an attempt at a fit, and each worker joins it in its task.
XGBoost's is called experimental by its makers, so all that is used of it stands here.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np

from ocboost._kernels.arrays import Floats
from ocboost._shards.collective import Collective
from ocboost.errors import OcboostError

_aborted: set[str] = set()  # attempts that this process takes no further part in


class PeerLostError(OcboostError):
    """A worker that others waited for did not answer."""


class Group(NamedTuple):
    """The workers of one attempt."""

    attempt: str
    size: int
    timeout: float  # seconds to wait for the others
    tracker: dict[str, Any] | None  # where XGBoost's tracker is; None where there is an actor


def abort(attempt: str) -> None:
    """Let the tasks of an attempt on this worker end with their next sum."""
    _aborted.add(attempt)


class _Abortable(Collective):
    def __init__(self, group: Group, rank: int) -> None:
        self.group, self.rank, self.size = group, rank, group.size

    def sum(self, values: Floats) -> Floats:
        """The sum over all workers."""
        if self.group.attempt in _aborted:
            raise PeerLostError("another worker was lost, or the fit was stopped.")
        if self.size == 1:
            return values.copy()
        return self._sum(values)

    def _sum(self, values: Floats) -> Floats:
        raise NotImplementedError


@contextmanager
def joined(group: Group, rank: int, exchange: Any) -> Iterator[Collective]:
    """Join a group, as the worker of this rank; ``exchange`` is the actor, where there is one."""
    if group.size == 1:
        yield _Abortable(group, rank)
    elif group.tracker is None:
        yield ActorCollective(group, rank, exchange)
    else:
        with _xgboost_joined(group, rank) as collective:
            yield collective


# XGBoost ----------------------------------------------------------------------------------------------


def has_xgboost() -> bool:
    """Whether XGBoost is there, with the collective that this module knows."""
    try:
        from xgboost import collective
        from xgboost.tracker import RabitTracker
    except Exception:  # an installation may be broken in any way
        return False
    return hasattr(collective, "allreduce") and hasattr(RabitTracker, "worker_args")


def start_tracker(size: int, host: str, timeout: float) -> dict[str, Any]:
    """Start XGBoost's tracker on this worker, which brings a group together; how the others find it."""
    from xgboost.tracker import RabitTracker

    tracker = RabitTracker(n_workers=size, host_ip=host, sortby="task", timeout=max(1, int(timeout)))
    tracker.start()

    def wait() -> None:
        with suppress(Exception):  # a worker was lost: those that are left say so
            tracker.wait_for()
        with suppress(Exception):  # it says the same once more
            tracker.free()

    found = dict(tracker.worker_args())
    threading.Thread(target=wait, name="ocboost-tracker", daemon=True).start()
    return found


@contextmanager
def _xgboost_joined(group: Group, rank: int) -> Iterator[Collective]:
    from xgboost import collective
    from xgboost.core import XGBoostError

    assert group.tracker is not None
    seconds = max(1, int(group.timeout))
    how = {**group.tracker, "dmlc_task_id": f"{rank:08d}", "dmlc_timeout": seconds, "dmlc_retry": 3}
    try:
        with collective.CommunicatorContext(**how):
            yield XGBoostCollective(group, collective.get_rank())
    except XGBoostError as error:
        raise PeerLostError(f"a worker did not answer: {_reason(str(error)):.200}") from error


def _reason(text: str) -> str:
    r"""What an error of XGBoost says, without the stack it prints after that.

    >>> _reason("[12:00:00] comm.cc:42: Timeout: 2s\nStack trace:\n  [bt] (0) libxgboost.so")
    '[12:00:00] comm.cc:42: Timeout: 2s'
    """
    lines = text.partition("Stack trace:")[0].strip().splitlines()
    return lines[-1] if lines else "no reason was given"


class XGBoostCollective(_Abortable):
    """Sums by XGBoost's allreduce."""

    def _sum(self, values: Floats) -> Floats:
        from xgboost import collective

        flat = np.ascontiguousarray(values, np.float64)
        summed: Floats = collective.allreduce(flat, collective.Op.SUM)
        return summed.reshape(values.shape)


# Actors -----------------------------------------------------------------------------------------------


class Exchange:
    """An actor that adds up what workers send: each sum has a number, and waits until all have sent theirs.

    The sum is made in the order of the workers, so that it does not depend on who comes first.
    """

    def __init__(self, size: int, timeout: float) -> None:
        self._size, self._timeout = size, timeout
        self._parts: dict[int, dict[int, Floats]] = {}
        self._sums: dict[int, asyncio.Future[Floats]] = {}
        self._taken: dict[int, int] = {}

    async def add(self, number: int, rank: int, values: Floats) -> Floats:
        """Take one worker's part of a sum, and give the sum when it is complete."""
        parts = self._parts.setdefault(number, {})
        waiting = self._sums.setdefault(number, asyncio.get_running_loop().create_future())
        parts[rank] = values
        if len(parts) == self._size:
            waiting.set_result(sum(parts[r] for r in range(1, self._size)) + parts[0])
        try:
            total = await asyncio.wait_for(asyncio.shield(waiting), self._timeout)
        except TimeoutError:
            raise PeerLostError(f"a worker did not answer within {self._timeout:g} seconds.") from None
        self._taken[number] = self._taken.get(number, 0) + 1
        if self._taken[number] == self._size:
            del self._parts[number], self._sums[number], self._taken[number]
        return total

    async def stop(self) -> None:
        """Let all that wait give up."""
        for waiting in self._sums.values():
            if not waiting.done():
                waiting.set_exception(PeerLostError("another worker was lost, or the fit was stopped."))
                waiting.exception()  # nobody may be left to ask


class ActorCollective(_Abortable):
    """Sums by an `Exchange`."""

    def __init__(self, group: Group, rank: int, exchange: Any) -> None:
        super().__init__(group, rank)
        self._exchange, self._number = exchange, 0

    def _sum(self, values: Floats) -> Floats:
        self._number += 1
        try:
            found = self._exchange.add(self._number, self.rank, values).result(self.group.timeout + 30.0)
        except (OSError, RuntimeError, TimeoutError) as error:
            raise PeerLostError(f"the worker that adds up was lost: {error!s:.200}") from error
        return np.array(found)
