"""Keeping a warning quiet while threads work side by side.

`warnings.catch_warnings` puts the filters back that it found: of two threads in it at once, the one that
leaves last puts back those of the other. Here the first to come adds a filter, and the last to go takes it
out.

How many threads large folds use, and the pool they run in.

The kernels release the GIL, so plain threads do; a pool of them survives being used from several
threads at once, and is made anew in a forked child.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from ocboost._core.checks import as_count
from ocboost.errors import InputError

_lock = threading.Lock()
_inside: dict[str, list[Any]] = {}  # for each message: the filter, and how many are in it


@contextmanager
def without_warning(message: str) -> Iterator[None]:
    """Ignore warnings that begin like this, in all threads, until nobody wants it any more.

    >>> with without_warning("never mind"):
    ...     warnings.warn("never mind this")
    """
    with _lock:
        if message not in _inside:
            warnings.filterwarnings("ignore", message=message)
            _inside[message] = [warnings.filters[0], 0]
        _inside[message][1] += 1
    try:
        yield
    finally:
        with _lock:
            _inside[message][1] -= 1
            if _inside[message][1] == 0:
                with suppress(ValueError):  # somebody has put other filters in place
                    warnings.filters.remove(_inside[message][0])  # type: ignore[attr-defined]
                del _inside[message]


A = TypeVar("A")

_pool: ThreadPoolExecutor | None = None
_n_threads: int | None = None


def _default() -> int:
    text = os.environ.get("OCBOOST_NUM_THREADS")
    if text is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    try:
        return as_count(int(text), "OCBOOST_NUM_THREADS", 1, 1024, "")
    except ValueError:
        raise InputError(
            f"the environment variable OCBOOST_NUM_THREADS must be a whole number, 1 to 1024; got {text!r}."
        ) from None


def get_num_threads() -> int:
    """How many threads a large fold may use."""
    global _n_threads
    if _n_threads is None:
        _n_threads = _default()
    return _n_threads


def set_num_threads(n: int) -> None:
    """Let large folds use n threads; the result is the same bit for bit.

    The default is the number of cores this process may use, or the environment variable
    ``OCBOOST_NUM_THREADS``.
    """
    global _n_threads, _pool
    _n_threads = as_count(n, "n", 1, 1024, "")
    _pool = None  # a fold that is under way ends in the old one


def run(task: Callable[[A], None], items: Iterable[A]) -> None:
    """Run a task on each item, in the pool; the first error is raised here."""
    global _pool
    pool = _pool  # another thread may set another number meanwhile
    if pool is None:
        pool = _pool = ThreadPoolExecutor(get_num_threads(), thread_name_prefix="ocboost")
    for _ in pool.map(task, items):
        pass


def _forget_pool() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
