"""What a worker of a Dask cluster does with a task that `ocboost._core.cluster` has sent."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ocboost._core.threads import one_thread
from ocboost.errors import ClusterError, InputError, OcboostError

TELL_SECONDS = 0.5  # between two pieces of news


@dataclass(frozen=True)
class Order:
    """Which version of ocboost a task is for, and the run and the number that its news go by."""

    version: str
    run: str
    number: int


@dataclass(frozen=True)
class Done:
    """What a task has found, and the seconds that it took."""

    result: Any
    seconds: float


@dataclass(frozen=True)
class Refused:
    """The text of an `InputError`."""

    text: str


class UnwantedError(Exception):
    """Whoever has sent this task does not want its result any more."""


class Link:
    """How a running task asks whether it is still wanted, and tells how far it is."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._worker: Any = None
        with suppress(ImportError, ValueError):  # a ValueError where this is no worker
            self._worker = import_module("distributed").get_worker()
            self._key = self._worker.get_current_task()
        self._due = 0.0

    def wanted(self) -> bool:
        """Whether the result is still wanted: Dask cannot end a task that runs, but marks it."""
        if self._worker is None:
            return True
        try:
            task = self._worker.state.tasks.get(self._key)
        except (AttributeError, RuntimeError):
            return True
        return task is not None and task.state != "cancelled"

    def tell(self, what: str, share: float) -> None:
        """Tell what is being done and the share that is done; raises `UnwantedError` if nobody wants it."""
        now = time.monotonic()
        if now < self._due or self._worker is None:
            return
        self._due = now + TELL_SECONDS
        if not self.wanted():
            raise UnwantedError
        with suppress(Exception):  # news are not worth a failure
            self._worker.log_event(
                "ocboost", [self._order.run, self._order.number, str(what)[:200], float(share)]
            )


def work(order: Order, function: Callable[..., Any], *args: Any) -> Done | Refused:
    """Run ``function(link, *args)``; the tasks of a worker run side by side, so each has one thread."""
    import ocboost

    if ocboost.__version__ != order.version:  # a worker that has come since all were asked
        raise ClusterError(
            f"a worker has joined that has ocboost {ocboost.__version__} instead of {order.version}; install "
            f"it there: pip install 'ocboost=={order.version}'"
        )
    began = time.perf_counter()
    try:
        with one_thread():
            result = function(Link(order), *args)
    except InputError as error:
        return Refused(str(error))
    except OcboostError as error:  # not all of them can be pickled
        raise ClusterError(str(error)) from None
    return Done(result, time.perf_counter() - began)


def given(value: Any) -> Any:
    """The value itself: a task that has data for others."""
    return value


def file_sizes(paths: list[str]) -> list[int | None]:
    """The size of each file, None where there is none that can be read."""
    return [os.path.getsize(p) if os.path.isfile(p) and os.access(p, os.R_OK) else None for p in paths]
