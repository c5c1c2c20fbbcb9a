"""Any number of threads may read while one learns: how that works, in one place.

Every object that learns has a `Guard`. Methods that change the object are marked `writes`, methods that look
at all of its state are marked `reads`; both hold the guard's lock, so writers take turns, and nobody sees or
saves what is half-done. What most readers want, α or the votes, is a *view*: a value that never changes once
it is made. `Guard.view` hands it out:

- A view of the present state is kept until the next write begins. Whoever asks for it takes no lock.
- While a write goes on, the view of the state before it is handed out, if there was one. A long fold puts α
  in its place, solved with the whole head, before it touches the sums (`Guard.publish`), and whatever votes
  with that α passes it on (`Guard.passing_on`).
- Where there is no view, the first reader makes it while it holds the lock. Others wait for it, and all of
  them for a write that had no view before it: until it ends, until a fold publishes one, or until the end of
  the piece of about a tenth of a second that the writer is at (`Guard.wanted`). A committee of several
  boosters, or one that still remembers deployed weights, has no such α of one moment: where a reader has had
  to wait once, it keeps a view before a fold that is long (`Guard.keep`).

So a reader sees the state before a call or after it, or the α of a fold within it, and of a call that takes
longer than a tenth of a second perhaps that between two pieces; a writer that is read by others does the
same arithmetic as one that is not; and scratch memory needs no copies, as it belongs to whoever holds the
lock. Locks are taken from the outside in: classifier, committee, booster.

Estimators are fitted as drafts (`ocboost._core.interrupts`) whose attributes take the place of the old ones
all
at once; who predicts takes hold of all of them once (`GuardedEstimator._snapshot`).

Nothing here relies on the interpreter's own lock. Names are bound to finished values, which threads may do at
any time, and all else happens under the guard's lock. Kernels release the interpreter's lock, so readers
compute side by side. Locks are taken by ``with`` alone, which no Ctrl-C comes between, or while Ctrl-C is
held back.

A process may fork while other threads learn: the fork waits for them to come to the end of what they do.
After `FORK_PATIENCE` seconds it goes on without, and whatever was being changed then is refused in the child.
"""

from __future__ import annotations

import copy
import os
import threading
import time
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, Generic, Protocol, Self, TypeVar, cast

from ocboost._core.interrupts import uninterrupted
from ocboost.errors import OcboostError

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")
V = TypeVar("V")

POLL = 0.001  # seconds between two looks for a view that has been published
PAUSE = 0.00005  # seconds that a writer leaves to those who wait
FORK_PATIENCE = 5.0

# All there are. A WeakSet runs Python when one of them goes, and would swallow a Ctrl-C that comes just then.
_guards: set[weakref.ref[Guard[Any]]] = set()


class Guard(Generic[V]):
    """Lets one thread change an object at a time, and hands out a view of it.

    >>> guard = Guard()
    >>> guard.view(lambda: "made"), guard.view(lambda: "not made again")
    ('made', 'made')
    """

    __slots__ = ("__weakref__", "_before", "_outer", "_present", "_wanted", "contended", "lock")

    def __init__(self) -> None:
        self.lock: Any = threading.RLock()
        self._present: V | None = None  # a view of the state as it is; None while it is being changed
        self._before: V | None = None  # what readers get meanwhile
        self._wanted = False  # whether a reader waits for a view
        self.contended = False  # whether one has ever had to
        self._outer: tuple[Guard[Any], Callable[[V], Any]] | None = None
        _guards.add(weakref.ref(self, _guards.discard))

    def publish(self, view: V) -> None:
        """Let readers have this until the state is whole again."""
        self._before = view
        self._wanted = False
        if self._outer is not None:
            outer, seen_there = self._outer
            outer.publish(seen_there(view))

    def passing_on(self, outer: Guard[Any], seen_there: Callable[[V], Any]) -> _PassingOn:
        """Within a write of what this is a part of: let its readers, too, have what is published here."""
        return _PassingOn(self, (outer, seen_there))

    def keep(self, make: Callable[[], V]) -> None:
        """Before a change that takes long: see to it that readers need not wait, if there are any."""
        if self.contended and self._before is None:
            self._before = make()

    @property
    def wanted(self) -> bool:
        """Whether a reader waits for a view, and the writer does well to publish one."""
        return self._wanted or (self._outer is not None and self._outer[0].wanted)

    def view(self, make: Callable[[], V]) -> V:
        """The view of the state, made by ``make`` where there is none; it must never be changed."""
        view = self._present
        if view is not None:
            return view
        if self.lock._is_owned():  # the writer itself, which sees its own work
            return make()
        wait = 0.0
        while True:
            found, view = self._tried(make, wait)
            if found:
                return cast(V, view)
            self._wanted = self.contended = True
            wait = POLL

    def _tried(self, make: Callable[[], V], wait: float) -> tuple[bool, V | None]:
        """A view, if there is one or it can be made within ``wait`` seconds."""
        with uninterrupted():  # no Ctrl-C between taking the lock and letting it go
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
        return Guard, ()  # a copy is guarded on its own

    def __deepcopy__(self, memo: dict[int, Any]) -> Guard[V]:
        return Guard()


class _PassingOn:
    """What `Guard.passing_on` gives; a generator would cost a microsecond for each example."""

    __slots__ = ("_guard", "_to")

    def __init__(self, guard: Guard[Any], to: tuple[Guard[Any], Callable[[Any], Any]]) -> None:
        self._guard, self._to = guard, to

    def __enter__(self) -> None:
        self._guard._outer = self._to

    def __exit__(self, *args: object) -> None:
        self._guard._outer = None


class GuardedEstimator:
    """Gives an estimator its guard when it first needs one: scikit-learn wants none among its attributes."""

    @property
    def _guard(self) -> Guard[Any]:
        guard: Guard[Any] | None = self.__dict__.get("_guard_kept")
        if guard is None:  # of two threads at once, one has its way
            guard = self.__dict__.setdefault("_guard_kept", Guard())
        return guard

    def _snapshot(self) -> Self:
        """The estimator as it is now: an object of its own whose attributes stay bound as they are."""
        other = type(self).__new__(type(self))
        other.__dict__ = self.__dict__.copy()
        return other


class DeepState:
    """Lets an object be copied and pickled, with all that it holds, while another thread changes it."""

    _guard: Guard[Any]

    def __getstate__(self) -> dict[str, Any]:
        with self._guard.lock:
            return copy.deepcopy(self.__dict__)


class Guarded(Protocol):
    """What has a guard."""

    @property
    def _guard(self) -> Guard[Any]: ...


def written(thing: Guarded, work: Callable[[], R]) -> R:
    """Change an object by ``work``: one thread at a time, and readers see it before or after."""
    guard = thing._guard
    lock = guard.lock
    if lock._is_owned():  # a part of another write
        return work()
    if guard._wanted:  # or a writer that goes on and on would never let a reader in
        time.sleep(PAUSE)
    with lock:
        guard._before, guard._present = guard._present, None
        try:
            return work()
        finally:
            guard._before = None


def writes(method: F) -> F:
    """Mark a method that changes its object, see `written`."""

    @wraps(method)
    def alone(self: Guarded, *args: Any, **kwargs: Any) -> Any:
        # `written` once more: a call and a closure would cost half a microsecond for each example.
        guard = self._guard
        lock = guard.lock
        if lock._is_owned():
            return method(self, *args, **kwargs)
        if guard._wanted:
            time.sleep(PAUSE)
        with lock:
            guard._before, guard._present = guard._present, None
            try:
                return method(self, *args, **kwargs)
            finally:
                guard._before = None

    return cast(F, alone)


def reads(method: F) -> F:
    """Mark a method that needs all of its object's state as it is between two writes."""

    @wraps(method)
    def between(self: Guarded, *args: Any, **kwargs: Any) -> Any:
        with self._guard.lock:
            return method(self, *args, **kwargs)

    return cast(F, between)


def locks_of(a: Guarded, b: Guarded) -> tuple[Any, Any]:
    """The locks of two objects, always in the same order, so that no two threads wait for each other."""
    first, second = sorted((a._guard, b._guard), key=id)
    return first.lock, second.lock


# Forking ---------------------------------------------------------------------------------------------------


class _Torn:
    """In the place of a lock whose object another thread was changing when the process forked."""

    def _refuse(self, *args: object, **kwargs: object) -> Any:
        raise OcboostError(
            "this object was being changed by another thread when the process forked, so this process has "
            "half of the change. Fork while nothing learns, or load the model anew in the child."
        )

    __enter__ = acquire = _refuse

    def __exit__(self, *args: object) -> None: ...

    def release(self) -> None: ...

    def _is_owned(self) -> bool:
        return False


_forking = threading.RLock()  # one thread at a time
_taken: list[Guard[Any]] = []  # guards whose locks the forking thread has taken
_torn: list[Guard[Any]] = []  # and those it could not get


def _all_guards() -> list[Guard[Any]]:
    while True:
        try:
            found = [reference() for reference in tuple(_guards)]
            return [guard for guard in found if guard is not None]
        except RuntimeError:  # another thread has made one meanwhile
            continue


def _before_fork() -> None:
    """Wait until no other thread is changing anything."""
    _forking.acquire()
    deadline = time.monotonic() + FORK_PATIENCE
    with uninterrupted():
        while not _all_taken():
            if time.monotonic() > deadline:
                break
            _let_go()  # a writer may need one of these to come to its end
            time.sleep(POLL)


def _all_taken() -> bool:
    for guard in _all_guards():
        taken = guard.lock.acquire(blocking=False)
        if not taken:
            guard._wanted = True  # a writer that goes on and on makes a pause then
            taken = guard.lock.acquire(timeout=POLL)
            guard._wanted = not taken
        (_taken if taken else _torn).append(guard)
    return not _torn


def _let_go() -> None:
    for guard in _taken:
        guard.lock.release()
    _taken[:], _torn[:] = [], []


def _after_fork_in_parent() -> None:
    _let_go()
    _forking.release()


def _after_fork_in_child() -> None:
    for guard in _torn:
        guard.lock = _Torn()
    _after_fork_in_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
    )
