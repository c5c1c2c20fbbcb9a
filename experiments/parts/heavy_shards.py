"""Eight shards that differ, a sketch each, merged one after the other: the error, and the time of a merge.

Time is measured in one thread. That of the pairs is the time in the kernel that folds them.
"""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import ocboost
from ocboost import BoostingSketch, adaboost_weights, approximation_error
from ocboost._kernels import heavy_pairs

from .common import independent_columns
from .heavy_common import BATCH, KEEPS, show
from .heavy_margins import Folders

SPREADS = ("up to 0.1", "0.1 up or down", "0.1 up or down, all columns together")


class Clock:
    """Replaces a function, and adds up the time in it."""

    def __init__(self, function: Any) -> None:
        self.function, self.seconds = function, 0.0

    def __call__(self, *given: Any) -> Any:
        """What the function gives."""
        start = time.perf_counter()
        found = self.function(*given)
        self.seconds += time.perf_counter() - start
        return found


def differ(rng: np.random.Generator, J: int, spread: str) -> np.ndarray:
    """How far a shard's chances are from the common ones."""
    if spread == SPREADS[0]:
        return rng.uniform(-0.1, 0.1, J)
    size = J if spread == SPREADS[1] else 1
    return rng.choice(np.array([-0.1, 0.1]), size)


def measure(quick: bool, folders: Folders) -> Iterator[dict[str, Any]]:
    """Merged beside averaged, and milliseconds a merge: all, and besides the pairs."""
    J, n, k = (50, 3_000, 4) if quick else (400, 20_000, 8)
    threads = ocboost.get_num_threads()
    ocboost.set_num_threads(1)
    clock = Clock(heavy_pairs.shift_pairs)
    try:
        for spread in SPREADS:
            rng = np.random.default_rng(0)
            p = rng.uniform(0.5, 0.65, J)
            parts = [independent_columns(rng, n, p + differ(rng, J, spread)) for _ in range(k)]
            exact = adaboost_weights(np.concatenate(parts))
            print(f"{k} shards of {n:,}, {J} columns whose chances differ by {spread}")
            for keep in KEEPS:
                sketches = []
                for part in parts:
                    sketches.append(BoostingSketch(J, head="auto", keep=keep))
                    sketches[-1].update_many(part, batch_size=BATCH)
                average = np.mean([sketch.alpha for sketch in sketches], axis=0)
                yield show(f"{keep}, α averaged", [approximation_error(exact, average)], shards=spread)
                heavy_pairs.shift_pairs = clock
                whole, merges = sketches[0], []
                for sketch in sketches[1:]:
                    clock.seconds, start = 0.0, time.perf_counter()
                    whole = whole + sketch
                    all_of_it = time.perf_counter() - start
                    merges.append({"all": 1e3 * all_of_it, "pairs": 1e3 * clock.seconds})
                heavy_pairs.shift_pairs = clock.function
                error = approximation_error(exact, whole.alpha)
                yield show(f"{keep}, merged", [error], size=whole.nbytes, shards=spread, milliseconds=merges)
                rest = sorted(merge["all"] - merge["pairs"] for merge in merges)
                total = sorted(merge["all"] for merge in merges)
                print(
                    f"    a merge takes {total[0]:.1f} to {total[-1]:.1f} ms, besides the pairs "
                    f"{rest[0]:.1f} to {rest[-1]:.1f} ms (median {rest[len(rest) // 2]:.1f})"
                )
    finally:
        heavy_pairs.shift_pairs = clock.function
        ocboost.set_num_threads(threads)
