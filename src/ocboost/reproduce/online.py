"""The online methods of the MNIST and the face experiment, each beside AdaBoost retrained.

Both experiments do the same once hypotheses have answered: AdaBoost is trained on everything seen at each
checkpoint, and each online method starts from AdaBoost on the first examples and goes through the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event, Lock
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from ocboost.reproduce.kept import Kept
from ocboost.reproduce.method import Floats, Going, Margins, Method
from ocboost.threads import get_num_threads

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
