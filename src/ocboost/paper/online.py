"""How long the parts of an experiment take.

One online method: how it starts, and its weights at each checkpoint.

What is kept of a run depends on this file (see `ocboost.paper.online`): names for readers are given
elsewhere.

Keeps the weights of the online methods between runs: one entry for each method on each stream of margins.

An entry is found by the content of the margins and their order, by the method's settings, and by a digest of
the source files that decide the result, so that changed code never meets what older code has left.

The online methods of the MNIST and the face experiment, each beside AdaBoost retrained.

Both experiments do the same once hypotheses have answered: AdaBoost is trained on everything seen at each
checkpoint, and each online method starts from AdaBoost on the first examples and goes through the others.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import cache as once
from importlib.metadata import version
from importlib.resources import files
from threading import Event, Lock
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from ocboost import BoostingSketch, OzaRussell, adaboost_weights
from ocboost._core.threads import get_num_threads
from ocboost.paper.cache import Cache


class timed:  # noqa: N801 - reads as a statement
    """Adds the time spent in its block to one entry of a table.

    >>> seconds = {"work": 0.0}
    >>> with timed(seconds, "work"):
    ...     pass
    >>> seconds["work"] > 0.0
    True
    """

    def __init__(self, table: dict[str, float], key: str) -> None:
        self.table, self.key = table, key

    def __enter__(self) -> None:
        self.began = time.perf_counter()

    def __exit__(self, *exc: object) -> None:
        self.table[self.key] += time.perf_counter() - self.began


Floats = npt.NDArray[np.float64]
Margins = npt.NDArray[np.int8]
Going = Callable[[], bool]


@dataclass(frozen=True)
class Method:
    """One line of the comparison.

    Parameters
    ----------
    key : str
        Its name in ``results.json``.
    label : str
        Its name for readers.
    kind : {"adaboost", "oza-russell", "ocb"}
        AdaBoost is retrained at each checkpoint; the others go on from where they were.
    order : int, optional
        Order K of the sketch; None takes every earlier coordinate.
    head : int or "auto"
        Examples that the sketch keeps.
    keep : {"heavy", "newest"}, optional
        Which of them; None is the sketch's default.
    correction : str
        Of the sketch.
    batch_size : int
        Examples that the sketch adds at once. Oza and Russell's method takes them one by one.
    """

    key: str
    label: str
    kind: Literal["adaboost", "oza-russell", "ocb"] = "ocb"
    order: int | None = None
    head: int | Literal["auto"] = 1
    keep: Literal["heavy", "newest"] | None = None
    correction: str = "balanced"
    batch_size: int = 1

    def follow(
        self,
        margins: Margins,
        start: int,
        points: Sequence[int],
        smoothing: float,
        going: Going = lambda: True,
    ) -> Floats:
        """Its weights at each checkpoint, a row each; ends early, with rows of zeros, when not `going`."""
        alphas = np.zeros((len(points), margins.shape[1]))
        booster = None if self.kind == "adaboost" else self._begin(margins[:start], smoothing)
        seen = start
        for c, n in enumerate(points):
            if not going():
                break
            if booster is None:
                alphas[c] = adaboost_weights(margins[:n], smoothing=smoothing)
                continue
            booster.update_many(margins[seen:n], batch_size=self.batch_size)
            alphas[c] = booster.alpha
            seen = n
        return alphas

    def _begin(self, first: Margins, smoothing: float) -> BoostingSketch | OzaRussell:
        if self.kind == "oza-russell":
            return OzaRussell.from_margins(first, smoothing=smoothing)
        order = None if self.order is None else min(self.order, first.shape[1])
        return BoostingSketch.from_margins(
            first,
            order=order,
            head=self.head,
            keep=self.keep,
            smoothing=smoothing,
            correction=self.correction,
        )


class Kept:
    """The weights of online methods, fetched where they are kept, else made and kept.

    Parameters
    ----------
    cache : Cache or None
        None keeps nothing.
    margins : ndarray of int8, shape (n, J)
        All margins, in their first order: their content is hashed here, once.
    """

    def __init__(self, cache: Cache | None, margins: Margins) -> None:
        self._cache = cache if cache is None or cache.folder is not None else None
        self._code = None if self._cache is None else code_digest()
        self._margins = None if self._cache is None else self._cache.key("margins", margins=margins)

    def weights(
        self,
        method: Method,
        make: Callable[[], Floats],
        *,
        order: np.ndarray[tuple[int], np.dtype[np.int64]] | None,
        points: Sequence[int],
        start: int,
        smoothing: float,
        going: Going,
    ) -> Floats:
        """A method's weights at each checkpoint.

        Parameters
        ----------
        method : Method
        make : callable
            Makes them.
        order : ndarray of int64, optional
            Which margin comes when; None is their first order.
        points, start, smoothing
            As for `Method.follow`.
        going : callable
            Whether nobody has asked to stop; what was made until then is not whole, and not kept.
        """
        cache = self._cache
        if cache is None or self._code is None:
            return make()
        settings = {name: value for name, value in asdict(method).items() if name != "label"}
        key = cache.key(
            "online",
            code=self._code,
            margins=self._margins,
            order=order,
            method=settings,
            points=list(points),
            start=start,
            smoothing=smoothing,
        )
        found = cache.get(key)
        if found is not None and "alphas" in found[1]:
            return found[1]["alphas"]
        alphas = make()
        if going():
            cache.put(key, {}, {"alphas": alphas})
        return alphas


@once
def code_digest() -> str | None:
    """A hash of the source that decides the weights and of what it runs on; None where there is no source."""
    package = files("ocboost")
    digest = hashlib.sha256()
    try:
        names = sorted(
            f"{folder}{each.name}"
            for folder in ("", "kernels/")
            for each in (package / folder).iterdir()
            if each.name.endswith(".py")
        )
        for name in [*names, "reproduce/method.py"]:
            content = package.joinpath(*name.split("/")).read_bytes()
            digest.update(f"{name} {len(content)}\n".encode())
            digest.update(content)
    except OSError:
        return None
    for name in ("numpy", "numba"):
        digest.update(f"{name} {version(name)}\n".encode())
    return digest.hexdigest()


Progress = Callable[[str, int, int], None]
T = TypeVar("T")

# The words that every report needs for the two corrections.
BALANCED = (
    "In AdaBoost all the weight that leaves one coordinate enters the next: this is the total. The theorem's "
    "factors do not keep it. The balanced correction, which is ours, scales each row of sums so that the "
    "total is kept."
)


def paper_methods(*, order: int, head: int | Literal["auto"], batch_size: int) -> list[Method]:
    """The methods that both experiments compare, AdaBoost first.

    ``ocb-order-400-theorem`` is the paper's own update, its sign mended; the others have our balanced
    correction. ``ocb-head`` keeps the examples that weigh, ``ocb-head-newest`` the newest ones.

    >>> [method.label for method in paper_methods(order=400, head=20_000, batch_size=64)][2:4]
    ["OCB, order 400, the paper's theorem", 'OCB, order 400, balanced']
    >>> [method.label for method in paper_methods(order=400, head=20_000, batch_size=64)][4:]
    ['OCB, full order, balanced', 'OCB, head of 20,000', 'OCB, head of 20,000, the newest']
    """
    kept = "OCB, automatic head" if head == "auto" else f"OCB, head of {head:,}"
    return [
        Method("adaboost", "AdaBoost, retrained", "adaboost"),
        Method("oza-russell", "Oza and Russell", "oza-russell"),
        Method(
            "ocb-order-400-theorem",
            f"OCB, order {order}, the paper's theorem",
            order=order,
            correction="theorem",
            batch_size=batch_size,
        ),
        Method("ocb-order-400", f"OCB, order {order}, balanced", order=order, batch_size=batch_size),
        Method("ocb-full", "OCB, full order, balanced", batch_size=batch_size),
        Method("ocb-head", kept, head=head, batch_size=batch_size),
        Method("ocb-head-newest", f"{kept}, the newest", head=head, keep="newest", batch_size=batch_size),
    ]


FEWEST_CHECKPOINTS = 6  # with fewer, an experiment's sizes are fitted to its data


def checkpoints(n: int, *, start: int, every: int) -> list[int]:
    """Numbers of examples at which errors are taken: multiples of `every` after the start, and all n.

    >>> checkpoints(100_000, start=5000, every=10_000)[:2], checkpoints(7000, start=5000, every=5000)
    ([10000, 20000], [7000])
    """
    points = [m for m in range(every, n + 1, every) if m > start]
    return points if points and points[-1] == n else [*points, n]


def used_of(source: str, all_of: tuple[int, int], used: tuple[int, int], noun: str) -> str:
    """The sentence on where data came from, with how many were used where these were not all.

    >>> used_of("Some files: 9 training and 5 test images.", (9, 5), (3, 2), "images")
    'Some files: 9 training and 5 test images; of these 3 training and 2 test images were used.'
    """
    if used == all_of:
        return source
    return f"{source.removesuffix('.')}; of these {used[0]:,} training and {used[1]:,} test {noun} were used."


def follow_all(
    methods: Sequence[Method],
    margins: Margins,
    points: Sequence[int],
    *,
    start: int,
    smoothing: float,
    seconds: dict[str, float],
    told: Callable[[str], None] = lambda label: None,
    kept: Kept | None = None,
    order: npt.NDArray[np.int64] | None = None,
) -> dict[str, Floats]:
    """Every method's weights at each checkpoint; the methods run side by side, a thread each.

    Parameters
    ----------
    margins : ndarray of int8, shape (n, J)
        In their first order.
    seconds : dict
        The time each method took is added to its key. Side by side they sum to more than went by.
    told : callable, optional
        Called with a method's label when it is done.
    kept : Kept, optional
        Made from the same margins: what an earlier run has kept is taken from there.
    order : ndarray of int64, optional
        Which margin comes when; by default the order they are in.
    """
    stream = _Stream(margins, order)
    keeping = Kept(None, margins) if kept is None else kept

    def task(method: Method) -> Callable[[Going], Floats]:
        def work(going: Going) -> Floats:
            began = time.perf_counter()
            alphas = keeping.weights(
                method,
                lambda: method.follow(stream.margins, start, points, smoothing, going),
                order=order,
                points=points,
                start=start,
                smoothing=smoothing,
                going=going,
            )
            seconds[method.key] += time.perf_counter() - began
            return alphas

        return work

    labels = {method.key: method.label for method in methods}
    return side_by_side({method.key: task(method) for method in methods}, lambda key: told(labels[key]))


class _Stream:
    """Margins in an order, put into it when the first method asks: none does where all weights are kept."""

    def __init__(self, margins: Margins, order: npt.NDArray[np.int64] | None) -> None:
        self._base, self._order, self._lock = margins, order, Lock()
        self._ordered = margins if order is None else None

    @property
    def margins(self) -> Margins:
        with self._lock:
            if self._ordered is None:
                self._ordered = self._base[self._order]
            return self._ordered


def side_by_side(
    tasks: Mapping[str, Callable[[Going], T]], told: Callable[[str], None] = lambda key: None
) -> dict[str, T]:
    """Run tasks in as many threads as a fold may use; an error or Ctrl-C in one ends them all.

    Parameters
    ----------
    tasks : mapping of str to callable
        Each is called with a function that says whether to go on; it should look at it about once a second.
    told : callable, optional
        Called in this thread with a task's key when it is done.

    Examples
    --------
    >>> side_by_side({"a": lambda going: 1, "b": lambda going: 2})
    {'a': 1, 'b': 2}
    """
    stop = Event()
    with ThreadPoolExecutor(get_num_threads(), thread_name_prefix="ocboost-online") as pool:
        futures: dict[Future[Any], str] = {
            pool.submit(task, lambda: not stop.is_set()): key for key, task in tasks.items()
        }
        try:
            waiting = set(futures)
            while waiting:
                # A timeout, so that Ctrl-C is heard while nothing is done yet.
                done, waiting = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                    told(futures[future])
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
    return {key: future.result() for future, key in futures.items()}
