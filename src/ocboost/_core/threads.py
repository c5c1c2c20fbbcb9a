"""The thread pool that large folds run in, and warning filters that are safe to use from several threads.

The kernels release the GIL, so plain threads run them in parallel. The pool may be used from several threads
at once; a forked child makes one of its own.
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

A = TypeVar("A")

_pool: ThreadPoolExecutor | None = None
_n_threads: int | None = None


def get_num_threads() -> int:
    """How many threads a large fold may use.

    Returns
    -------
    int
        At least 1.
    """
    global _n_threads
    if _n_threads is None:
        _n_threads = _default_num_threads()
    return _n_threads


def _default_num_threads() -> int:
    text = os.environ.get("OCBOOST_NUM_THREADS")
    if text is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    try:
        return as_count(int(text), "OCBOOST_NUM_THREADS", 1, 1024, "")
    except ValueError:
        raise InputError(
            f"the environment variable OCBOOST_NUM_THREADS must be a whole number, 1 to 1024; got {text!r}."
        ) from None


def set_num_threads(n: int) -> None:
    """Let large folds use n threads; the result is the same bit for bit.

    The default is the number of cores this process may use, or the environment variable
    ``OCBOOST_NUM_THREADS``.

    Parameters
    ----------
    n : int
        At least 1.
    """
    global _n_threads
    _n_threads = as_count(n, "n", 1, 1024, "")
    _forget_pool()  # a fold that is running ends in the old one


def run(task: Callable[[A], None], items: Iterable[A]) -> None:
    """Run a task on each item, in the pool; the first error is raised here."""
    global _pool
    pool = _pool  # another thread may change the number meanwhile
    if pool is None:
        pool = _pool = ThreadPoolExecutor(get_num_threads(), thread_name_prefix="ocboost")
    for _ in pool.map(task, items):
        pass


def _forget_pool() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


_limit_lock = threading.Lock()
_limited: list[int] = []  # the number to restore, once for each thread inside `one_thread`


@contextmanager
def one_thread() -> Iterator[None]:
    """Let large folds use one thread, until the last thread has left this block.

    It is for threads that share the cores among them: the number is the same for the whole process.

    >>> with one_thread():
    ...     get_num_threads()
    1
    """
    with _limit_lock:
        _limited.append(_limited[0] if _limited else get_num_threads())
        if get_num_threads() != 1:
            set_num_threads(1)
    try:
        yield
    finally:
        with _limit_lock:
            before = _limited.pop()
            if not _limited and before != get_num_threads() == 1:
                set_num_threads(before)


_filters_lock = threading.Lock()
_filters: dict[str, list[Any]] = {}  # for each message: its filter, and how many threads want it


@contextmanager
def without_warning(message: str) -> Iterator[None]:
    """Ignore warnings that begin like this, in all threads, until the last thread has left this block.

    `warnings.catch_warnings` restores the filters that it found: of two threads inside at once, the one that
    leaves last would restore the other's.

    >>> with without_warning("never mind"):
    ...     warnings.warn("never mind this")
    """
    with _filters_lock:
        if message not in _filters:
            warnings.filterwarnings("ignore", message=message)
            _filters[message] = [warnings.filters[0], 0]
        _filters[message][1] += 1
    try:
        yield
    finally:
        with _filters_lock:
            _filters[message][1] -= 1
            if _filters[message][1] == 0:
                with suppress(ValueError):  # somebody has replaced the filters
                    warnings.filters.remove(_filters[message][0])  # type: ignore[attr-defined]
                del _filters[message]
