"""How an experiment is run: its rounds one after the other here, or all at once on a Dask cluster.

On a cluster each search for hypotheses and each method of each round is a task. Its result is stored in the
cache here, under the same key as a result of this machine: workers cache nothing.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import joblib
import numpy as np
import numpy.typing as npt

from ocboost import approximation_error
from ocboost._core.cluster import Cluster
from ocboost._core.cluster_worker import Link
from ocboost._core.threads import get_num_threads
from ocboost.errors import InputError
from ocboost.paper.cache import Cache, as_bits, as_margins_again
from ocboost.paper.experiment import (
    ADABOOST,
    ExperimentSettings,
    Floats,
    Margins,
    OnlineMethod,
    Progress,
    checkpoints,
)

Examples = tuple[
    npt.NDArray[Any], npt.NDArray[np.int8], npt.NDArray[Any]
]  # to train on, their signs, to test
Followed = dict[str, tuple[Floats, bool]]  # a method's weights at each checkpoint, and whether it diverged
T = TypeVar("T")
FIRST_LOOK = 0.5  # seconds, so that Ctrl-C is heard while nothing is done yet


@dataclass(frozen=True, eq=False)
class PackedMargins:
    """Answers or margins as bits, an eighth of their size: as they are cached and sent.

    >>> answers = PackedMargins.of(np.array([[1, -1, 1], [-1, 1, -1]], np.int8))
    >>> answers.times(np.array([1, -1], np.int8)).unpacked()
    array([[ 1, -1,  1],
           [ 1, -1,  1]], dtype=int8)
    """

    bits: npt.NDArray[np.uint8]
    n_columns: int

    @classmethod
    def of(cls, margins: Margins) -> PackedMargins:
        """Pack margins."""
        return cls(*as_bits(margins))

    def times(self, signs: npt.NDArray[np.int8]) -> PackedMargins:
        """Each row times its sign."""
        return PackedMargins(np.where(signs[:, None] > 0, self.bits, ~self.bits), self.n_columns)

    def unpacked(self, order: npt.NDArray[np.int64] | None = None) -> Margins:
        """The margins again, perhaps in another order."""
        return as_margins_again(self.bits if order is None else self.bits[order], self.n_columns)

    @functools.cached_property
    def digest(self) -> str:
        """What they are known by in the cache."""
        return str(joblib.hash([self.bits, self.n_columns]))


class ExperimentRun:
    """Runs every method through the rounds of an experiment, beside AdaBoost retrained.

    ``progress(what, done, total)`` is called after each of `n_steps`: blocks of `step`, and methods in each
    round. A cache stores hypotheses' answers and the methods' weights for the next run. Where there is a
    cluster, its workers find them.
    """

    def __init__(
        self,
        settings: ExperimentSettings,
        n_examples: int,
        *,
        n_steps: int,
        began: float | None = None,
        cache: Cache | None = None,
        progress: Progress | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        self._settings, self._cache, self.methods = settings, cache, settings.methods()
        self._cluster = cluster
        self.points = checkpoints(n_examples, start=settings.start, every=settings.every)
        self._began = time.perf_counter() if began is None else began
        self._progress = progress or (lambda what, done, total: None)
        self._done, self._total, self._what = 0, n_steps, ""
        self._lock = Lock()  # rounds on a cluster count side by side
        self._shared: WeakKeyDictionary[PackedMargins, Any] = WeakKeyDictionary()
        self.seconds: dict[str, float] = {}
        self.errors: dict[str, list[list[float]]] = {method.key: [] for method in self.methods}
        self.diverged = dict.fromkeys(self.errors, False)

    def rounds(self, n: int, work: Callable[[int], T]) -> Iterator[T]:
        """What ``work`` returns for each of n rounds, in order."""
        if self._cluster is None:
            yield from map(work, range(n))
        else:
            yield from all_at_once(self._cluster, [functools.partial(work, r) for r in range(n)])

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """A block of work that reports progress."""
        self._tell(what)
        yield
        self._finish_step()

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Count the time of a block under a name."""
        began = time.perf_counter()
        yield
        self._count(name, time.perf_counter() - began)

    def _count(self, name: str, seconds: float) -> None:
        with self._lock:
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def _fetch(
        self,
        step: str,
        inputs: Mapping[str, Any],
        timed_as: str,
        here: Callable[[], T],
        there: Callable[[Cluster], tuple[T, float]],
    ) -> T:
        """A result from the cache, or made now; its time, a worker's if it has one, counts under a name."""
        cluster = self._cluster

        def make() -> T:
            if cluster is None:
                return here()
            try:
                result, seconds = there(cluster)
            except BaseException as error:
                cluster.stop(error)  # the other threads wait for results that nobody needs any more
                raise
            self._count(timed_as, seconds)
            return result

        began = time.perf_counter()
        found = make() if self._cache is None else self._cache.fetch(step, inputs, make)
        if cluster is None:
            self._count(timed_as, time.perf_counter() - began)
        return found

    def answers(
        self, learner: Any, examples: Examples, load: Callable[[], Examples], *, seed: int, timed_as: str
    ) -> tuple[PackedMargins, PackedMargins]:
        """What learnt hypotheses answer to the training and the test examples.

        ``load`` gives the same examples on another machine.
        """
        J, seeds = self._settings.n_hypotheses, [self._settings.seed, seed]
        digest = "" if self._cache is None and self._cluster is None else joblib.hash(list(examples))
        inputs = {"learner": learner, "n_hypotheses": J, "seeds": seeds, "examples": digest}
        of_train, of_test = self._fetch(
            "answers",
            inputs,
            timed_as,
            lambda: _learnt_answers(learner, examples, J, seeds),
            lambda cluster: cluster.call(_answers_there, learner, load, J, seeds, digest),
        )
        return PackedMargins(*of_train), PackedMargins(*of_test)

    def follow(
        self,
        margins: Margins | PackedMargins,
        what: str,
        *,
        order: npt.NDArray[np.int64] | None = None,
        without: Sequence[str] = (),
    ) -> Followed:
        """One round: every method's weights at each checkpoint. The methods run side by side, a thread each.

        `order` says which margins come when, and `without` has the keys of methods that take no part.
        """
        self._tell(what)
        packed = margins if isinstance(margins, PackedMargins) else PackedMargins.of(margins)
        methods = [method for method in self.methods if method.key not in without]
        for method in methods:  # in this order, however long they take
            self._count(method.key, 0.0)
        settings = self._settings
        common = {
            "margins": "" if self._cache is None else packed.digest,
            "order": order,
            "points": self.points,
            "start": settings.start,
            "smoothing": settings.smoothing,
        }
        lock = Lock()
        ordered = functools.cache(lambda: packed.unpacked(order))
        shared_order = functools.cache(lambda cluster: None if order is None else cluster.share(order))

        def task(method: OnlineMethod, going: Callable[[], bool]) -> tuple[Floats, bool]:
            def here() -> tuple[Floats, bool]:
                with lock:
                    stream = ordered()
                return method.follow(stream, settings.start, self.points, settings.smoothing, going)

            def there(cluster: Cluster) -> tuple[tuple[Floats, bool], float]:
                with lock:
                    data = self._share(cluster, packed), shared_order(cluster)
                return cluster.call(
                    _followed_there, *data, method, settings.start, self.points, settings.smoothing
                )

            inputs = {**common, "method": replace(method, label="")}
            return self._fetch("online", inputs, method.key, here, there)

        tasks = {method.key: functools.partial(task, method) for method in methods}
        n_threads = None if self._cluster is None else len(tasks)  # which only wait
        return side_by_side(tasks, lambda key: self._finish_step(), n_threads)

    def _share(self, cluster: Cluster, margins: PackedMargins) -> Any:
        """Margins on the cluster, where they stay as long as these."""
        with self._lock:
            if margins not in self._shared:
                self._shared[margins] = cluster.share(margins)
            return self._shared[margins]

    def record(self, found: Followed) -> dict[str, Floats]:
        """Keep the errors of the next round; each method's weights at each checkpoint."""
        exact = found[ADABOOST][0]
        for key, (weights, diverged) in found.items():
            pairs = zip(exact, weights, strict=True)
            self.errors[key].append([approximation_error(alpha, other) for alpha, other in pairs])
            self.diverged[key] |= diverged
        return {key: weights for key, (weights, _) in found.items()}

    def result_fields(self, *, notes: Sequence[str] = (), **more: Any) -> dict[str, Any]:
        """What every result has of a run, and more of its own."""
        of_cache = [self._cache.note] if self._cache is not None and self._cache.note else []
        return {
            "settings": self._settings,
            "examples": self.points,
            "approximation_error": {key: np.array(rows) for key, rows in self.errors.items() if rows},
            "seconds": {**self.seconds, "total": time.perf_counter() - self._began},
            "notes": [*notes, *of_cache],
            **more,
        }

    def _tell(self, what: str) -> None:
        with self._lock:
            self._what = what
            done = self._done
        self._progress(what, done, self._total)

    def _finish_step(self) -> None:
        with self._lock:
            self._done += 1
            what, done = self._what, self._done
        self._progress(what, done, self._total)


def on_all_machines(data: Path | None) -> Path | None:
    """A data folder by a name that does not depend on the working directory."""
    return None if data is None else data.absolute()


def _learnt_answers(
    learner: Any, examples: Examples, n_hypotheses: int, seeds: list[int]
) -> list[tuple[npt.NDArray[np.uint8], int]]:
    train, signs, test = examples
    found = learner.learn(train, signs, n_hypotheses=n_hypotheses, rng=np.random.default_rng(seeds))
    return [as_bits(found.answers(train)), as_bits(found.answers(test))]


def _answers_there(
    link: Link, learner: Any, load: Callable[[], Examples], n_hypotheses: int, seeds: list[int], digest: str
) -> list[tuple[npt.NDArray[np.uint8], int]]:
    """The same on a worker, which loads the examples itself."""
    examples = load()
    if joblib.hash(list(examples)) != digest:
        raise InputError(
            "every worker must have the same images as this machine; one has others. Give a folder with "
            "--data that holds the same files at the same path on all of them."
        )
    return _learnt_answers(learner, examples, n_hypotheses, seeds)


def _followed_there(
    link: Link,
    margins: PackedMargins,
    order: npt.NDArray[np.int64] | None,
    method: OnlineMethod,
    start: int,
    points: list[int],
    smoothing: float,
) -> tuple[Floats, bool]:
    """What a method does in a round, on a worker."""
    return method.follow(margins.unpacked(order), start, points, smoothing, link.wanted)


def side_by_side(
    tasks: Mapping[str, Callable[[Callable[[], bool]], T]],
    progress: Callable[[str], None] = lambda key: None,
    n_threads: int | None = None,
) -> dict[str, T]:
    """Run tasks in so many threads, or as many as ocboost may use; an error or Ctrl-C in one ends them all.

    Each is called with a function that says whether to continue; it should ask about once a second.
    `progress` is called in this thread with a task's key when it is done.

    >>> side_by_side({"a": lambda going: 1, "b": lambda going: 2})
    {'a': 1, 'b': 2}
    """
    stop = Event()
    with ThreadPoolExecutor(n_threads or get_num_threads(), thread_name_prefix="ocboost-online") as pool:
        futures: dict[Future[Any], str] = {
            pool.submit(task, lambda: not stop.is_set()): key for key, task in tasks.items()
        }
        try:
            waiting = set(futures)
            while waiting:
                # A timeout, so that Ctrl-C is heard while nothing is done yet.
                done, waiting = wait(waiting, timeout=FIRST_LOOK, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                    progress(futures[future])
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
    return {key: future.result() for future, key in futures.items()}


def all_at_once(cluster: Cluster, works: Sequence[Callable[[], T]]) -> Iterator[T]:
    """What each of several pieces of work returns, in order: a thread each, which waits for the cluster.

    An error or Ctrl-C in one ends them all.
    """

    def guarded(work: Callable[[], T]) -> T:
        try:
            return work()
        except BaseException as error:
            cluster.stop(error)
            raise

    with ThreadPoolExecutor(len(works), thread_name_prefix="ocboost-cluster") as pool:
        futures = [pool.submit(guarded, work) for work in works]
        try:
            for future in futures:
                while not wait([future], timeout=FIRST_LOOK).done:
                    pass
                yield future.result()
        except BaseException as error:
            cluster.stop(error)
            raise
