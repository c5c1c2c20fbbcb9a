"""Locks that let any number of threads read an object while one changes it.

Every object that learns has a `Guard`. Methods that change the object are marked `writes`, methods that need
all of its state are marked `reads`; both hold the guard's lock, so writers take turns, and nobody sees or
saves a half-done change. Most readers want only α or the votes. These are a *view*, a value that never
changes once it is made, and `Guard.view` returns it:

- A view of the current state is kept until the next write begins. Reading it takes no lock.
- During a write readers get the view from before it, if there was one. A long fold publishes α, solved with
  the whole head, before it changes the sums (`Guard.publish`); an object that votes with that α publishes it
  too (`Guard.passing_on`).
- If there is no view, the first reader makes it while it holds the lock, and the others wait. During a write
  that had no view before it they wait until it ends, until a fold publishes one, or until the end of the
  writer's current block of about a tenth of a second (`Guard.wanted`). A committee of several boosters, or
  one that still has deployed weights, has no single α to publish: once a reader has had to wait, it makes a
  view before each long fold (`Guard.keep`).

So a reader sees the state before a call or after it, the α of a fold within it, or, where a call takes longer
than a tenth of a second, the state between two blocks. Readers do not change the writer's arithmetic. Scratch
memory needs no copies: it belongs to whoever holds the lock. Locks are taken from the outside in: classifier,
committee, booster.

Estimators are fitted as drafts (`ocboost._core.interrupts.all_or_nothing`) whose attributes replace the old
ones all at once; predictions take a snapshot of all attributes first (`GuardedEstimator._snapshot`).

Nothing here relies on the GIL: names are bound to finished values, all else happens under the lock. Locks are
taken by ``with`` alone, which Ctrl-C cannot split, or while Ctrl-C is delayed.

A fork waits until other threads have finished their writes. After `FORK_SECONDS` it goes ahead, and an object
that was being changed then is refused in the child.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401 - its hook must run after ours, and hooks run last one first
import copy
import os
import threading
import time
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, Generic, Protocol, Self, TypeVar, cast

from ocboost._ctrl_c import uninterrupted
from ocboost.errors import OcboostError

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")
V = TypeVar("V")

POLL_SECONDS = 0.001  # between two looks for a view that has been published
YIELD_SECONDS = 0.00005  # that a writer leaves to waiting readers
FORK_SECONDS = 5.0  # that a fork waits for writers

# Not a WeakSet: it runs Python code when an object is freed, and would swallow a Ctrl-C that comes just then.
_guards: set[weakref.ref[Guard[Any]]] = set()


class Guard(Generic[V]):
    """Lets one thread at a time change an object, and gives readers a view of it.

    >>> guard = Guard()
    >>> guard.view(lambda: "made"), guard.view(lambda: "not made again")
    ('made', 'made')
    """

    __slots__ = ("__weakref__", "_before", "_outer", "_present", "_wanted", "contended", "lock")

    def __init__(self) -> None:
        self.lock: Any = threading.RLock()
        self._present: V | None = None  # a view of the current state; None during a write
        self._before: V | None = None  # what readers get during a write
        self._wanted = False  # whether a reader is waiting for a view
        self.contended = False  # whether a reader has ever had to wait
        self._outer: tuple[Guard[Any], Callable[[V], Any]] | None = None
        _guards.add(weakref.ref(self, _guards.discard))

    def publish(self, view: V) -> None:
        """Give readers this view until the write ends."""
        self._before = view
        self._wanted = False
        if self._outer is not None:
            outer, view_there = self._outer
            outer.publish(view_there(view))

    def turn(self) -> Any:
        """The lock, to be taken by ``with``; somebody who waits for it, such as a fork, comes first."""
        if self._wanted and not self.lock._is_owned():
            time.sleep(YIELD_SECONDS)
        return self.lock

    def passing_on(self, outer: Guard[Any], view_there: Callable[[V], Any]) -> _PassingOn:
        """During a write of the object that this is a part of: publish there, too, what is published here."""
        return _PassingOn(self, (outer, view_there))

    def keep(self, make: Callable[[], V]) -> None:
        """Before a long change: make a view for readers, if there have been any that had to wait."""
        if self.contended and self._before is None:
            self._before = make()

    @property
    def wanted(self) -> bool:
        """Whether a reader is waiting, so that the writer should publish a view."""
        return self._wanted or (self._outer is not None and self._outer[0].wanted)

    def view(self, make: Callable[[], V]) -> V:
        """The view of the state, made by ``make`` if there is none; nobody may change it."""
        view = self._present
        if view is not None:
            return view
        if self.lock._is_owned():  # the writer itself sees its own changes
            return make()
        wait = 0.0
        while True:
            found, view = self._try_view(make, wait)
            if found:
                return cast(V, view)
            self._wanted = self.contended = True
            wait = POLL_SECONDS

    def _try_view(self, make: Callable[[], V], wait: float) -> tuple[bool, V | None]:
        """Whether there is a view or one can be made within ``wait`` seconds, and the view."""
        with uninterrupted():  # no Ctrl-C between taking the lock and releasing it
            if not self.lock.acquire(timeout=wait):
                view = self._before
                return view is not None, view
            try:
                self._wanted = False
                if self._present is None:
                    self._before = None
                    self._present = make()
                return True, self._present
            finally:
                self.lock.release()

    def __reduce__(self) -> tuple[type[Guard[Any]], tuple[()]]:
        return Guard, ()  # a copy has a guard of its own

    def __deepcopy__(self, memo: dict[int, Any]) -> Guard[V]:
        return Guard()


class _PassingOn:
    """The context of `Guard.passing_on`; a generator would cost a microsecond for each example."""

    __slots__ = ("_guard", "_to")

    def __init__(self, guard: Guard[Any], to: tuple[Guard[Any], Callable[[Any], Any]]) -> None:
        self._guard, self._to = guard, to

    def __enter__(self) -> None:
        self._guard._outer = self._to

    def __exit__(self, *args: object) -> None:
        self._guard._outer = None


class GuardedEstimator:
    """Makes an estimator's guard when it is first needed: scikit-learn wants no such attribute before."""

    @property
    def _guard(self) -> Guard[Any]:
        guard: Guard[Any] | None = self.__dict__.get("_guard_kept")
        if guard is None:  # of two threads at once, one wins
            guard = self.__dict__.setdefault("_guard_kept", Guard())
        return guard

    def _snapshot(self) -> Self:
        """A snapshot: an estimator whose attributes are those of now."""
        other = type(self).__new__(type(self))
        other.__dict__ = self.__dict__.copy()
        return other


class DeepState:
    """Makes an object, with all that it holds, safe to copy and pickle while another thread changes it."""

    _guard: Guard[Any]

    def __getstate__(self) -> dict[str, Any]:
        with self._guard.lock:
            return copy.deepcopy(self.__dict__)


class Guarded(Protocol):
    """An object that has a guard."""

    @property
    def _guard(self) -> Guard[Any]: ...


def written(thing: Guarded, work: Callable[[], R]) -> R:
    """Change an object by ``work``: one thread at a time; readers see it before or after."""
    guard = thing._guard
    lock = guard.lock
    if lock._is_owned():  # within another write
        return work()
    if guard._wanted:  # or a busy writer would never let a reader in
        time.sleep(YIELD_SECONDS)
    with lock:
        guard._before, guard._present = guard._present, None
        try:
            return work()
        finally:
            guard._before = None


def writes(method: F) -> F:
    """Mark a method that changes its object, see `written`."""

    @wraps(method)
    def write(self: Guarded, *args: Any, **kwargs: Any) -> Any:
        # The body of `written`: calling it would cost half a microsecond for each example.
        guard = self._guard
        lock = guard.lock
        if lock._is_owned():
            return method(self, *args, **kwargs)
        if guard._wanted:
            time.sleep(YIELD_SECONDS)
        with lock:
            guard._before, guard._present = guard._present, None
            try:
                return method(self, *args, **kwargs)
            finally:
                guard._before = None

    return cast(F, write)


def reads(method: F) -> F:
    """Mark a method that needs all of its object's state: it waits until no write is going on."""

    @wraps(method)
    def read(self: Guarded, *args: Any, **kwargs: Any) -> Any:
        with self._guard.lock:
            return method(self, *args, **kwargs)

    return cast(F, read)


def locks_of(a: Guarded, b: Guarded) -> tuple[Any, Any]:
    """The locks of two objects, always in the same order, so that two threads cannot deadlock."""
    first, second = sorted((a._guard, b._guard), key=id)
    return first.lock, second.lock


# Forking ---------------------------------------------------------------------------------------------------


class _BrokenLock:
    """Replaces the lock of an object that another thread was changing when the process forked."""

    def _refuse(self, *args: object, **kwargs: object) -> Any:
        raise OcboostError(
            "this object was being changed by another thread when the process forked, so this process has "
            "half of the change. Fork while nothing learns, or load the model again in the child."
        )

    __enter__ = acquire = _refuse

    def __exit__(self, *args: object) -> None: ...

    def release(self) -> None: ...

    def _is_owned(self) -> bool:
        return False


_forking = threading.RLock()  # one thread at a time
_taken: list[Guard[Any]] = []  # guards whose locks the forking thread holds
_broken: list[Guard[Any]] = []  # and those it could not take


def _all_guards() -> list[Guard[Any]]:
    while True:
        try:
            found = [reference() for reference in tuple(_guards)]
            return [guard for guard in found if guard is not None]
        except RuntimeError:  # another thread has just made one
            continue


def _before_fork() -> None:
    """Take all locks, so that no other thread is changing anything."""
    _forking.acquire()
    deadline = time.monotonic() + FORK_SECONDS
    with uninterrupted():
        while not _take_all() and time.monotonic() <= deadline:
            _release_all()  # a writer may need one of these to finish
            time.sleep(POLL_SECONDS)


def _take_all() -> bool:
    for guard in _all_guards():
        taken = guard.lock.acquire(blocking=False)
        if not taken:
            guard._wanted = True  # makes a busy writer pause
            taken = guard.lock.acquire(timeout=POLL_SECONDS)
            guard._wanted = not taken
        (_taken if taken else _broken).append(guard)
    return not _broken


def _release_all() -> None:
    for guard in _taken:
        guard.lock.release()
    _taken[:], _broken[:] = [], []


def _after_fork_in_parent() -> None:
    _release_all()
    _forking.release()


def _after_fork_in_child() -> None:
    for guard in _broken:
        guard.lock = _BrokenLock()
    _after_fork_in_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
    )
