"""The online methods of the MNIST and the face experiment, each beside AdaBoost retrained.

Both experiments do the same once hypotheses have answered: AdaBoost is trained on everything seen at each
checkpoint, and each online method starts from AdaBoost on the first examples and goes through the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from ocboost import BoostingSketch, OzaRussell, adaboost_weights
from ocboost.threads import get_num_threads

Floats = npt.NDArray[np.float64]
Margins = npt.NDArray[np.int8]
Progress = Callable[[str, int, int], None]
Going = Callable[[], bool]
T = TypeVar("T")


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
        Examples that the sketch keeps exactly.
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
            first, order=order, head=self.head, smoothing=smoothing, correction=self.correction
        )


def paper_methods(*, order: int, head: int | Literal["auto"], batch_size: int) -> list[Method]:
    """The methods that both experiments compare, AdaBoost first.

    >>> [method.label for method in paper_methods(order=400, head=20_000, batch_size=64)][2:]
    ['OCB, order 400', 'OCB, full order', 'OCB, head of 20,000']
    """
    kept = "OCB, head and tail" if head == "auto" else f"OCB, head of {head:,}"
    return [
        Method("adaboost", "AdaBoost, retrained", "adaboost"),
        Method("oza-russell", "Oza and Russell", "oza-russell"),
        Method("ocb-order-400", f"OCB, order {order}", order=order, batch_size=batch_size),
        Method("ocb-full", "OCB, full order", batch_size=batch_size),
        Method("ocb-head", kept, head=head, batch_size=batch_size),
    ]


def checkpoints(n: int, *, start: int, every: int) -> list[int]:
    """Numbers of examples at which errors are taken: multiples of `every` after the start, and all n.

    >>> checkpoints(100_000, start=5000, every=10_000)[:2], checkpoints(7000, start=5000, every=5000)
    ([10000, 20000], [7000])
    """
    points = [m for m in range(every, n + 1, every) if m > start]
    return points if points and points[-1] == n else [*points, n]


def follow_all(
    methods: Sequence[Method],
    margins: Margins,
    points: Sequence[int],
    *,
    start: int,
    smoothing: float,
    seconds: dict[str, float],
    told: Callable[[str], None] = lambda label: None,
) -> dict[str, Floats]:
    """Every method's weights at each checkpoint; the methods run side by side, a thread each.

    Parameters
    ----------
    seconds : dict
        The time each method took is added to its key. Side by side they sum to more than went by.
    told : callable, optional
        Called with a method's label when it is done.
    """

    def task(method: Method) -> Callable[[Going], Floats]:
        def work(going: Going) -> Floats:
            began = time.perf_counter()
            alphas = method.follow(margins, start, points, smoothing, going)
            seconds[method.key] += time.perf_counter() - began
            return alphas

        return work

    labels = {method.key: method.label for method in methods}
    return side_by_side({method.key: task(method) for method in methods}, lambda key: told(labels[key]))


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
