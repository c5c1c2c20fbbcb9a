"""The cost of letting other threads read: updates with the lock and without it, in one run.

"Without" is the same class with nothing around the method that adds examples. No other thread reads: this is
the cost that every user pays.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np

import ocboost


class Unlocked(ocboost.BoostingSketch):
    """A sketch that only one thread may use."""

    def _take(self, rows: Any, weights: Any, labels: Any, batch_size: int) -> None:
        self._take_all(rows, weights, batch_size)


def one_by_one(sketch: Any, rows: Any) -> None:
    for row in rows:
        sketch.update(row)


def in_batches(sketch: Any, rows: Any) -> None:
    for at in range(0, len(rows), 64):
        sketch.update_many(rows[at : at + 64], batch_size=64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=51)
    parser.add_argument("--hypotheses", type=int, default=100)
    given = parser.parse_args()
    J = given.hypotheses
    rng = np.random.default_rng(0)
    rows = np.where(rng.random((6_400, J)) < rng.uniform(0.5, 0.65, J), 1, -1).astype(np.int8)
    print(f"J = {J}, CPU time of the fastest of {given.rounds} rounds")
    for name, feed, n in (("one by one", one_by_one, 1_000), ("batches of 64", in_batches, 6_400)):
        for head in (1, 500):
            seconds: dict[type, list[float]] = {ocboost.BoostingSketch: [], Unlocked: []}
            for k in range(given.rounds + 1):
                for kind in sorted(seconds, key=lambda kind: (kind is Unlocked) == (k % 2 == 0)):
                    sketch = kind(J, head=head)
                    sketch.update_many(rows[:600])
                    begun = time.process_time()
                    feed(sketch, rows[:n])
                    if k:  # the first round compiles
                        seconds[kind].append(time.process_time() - begun)
            with_it, without = seconds[ocboost.BoostingSketch], seconds[Unlocked]
            least = [min(each) / n * 1e6 for each in (with_it, without)]
            middle = [statistics.median(each) for each in (with_it, without)]
            print(
                f"{name:14s} head {head:3d}: {least[0]:7.3f} µs an example with, {least[1]:7.3f} without: "
                f"{least[0] / least[1] - 1:+.2%} (by the medians {middle[0] / middle[1] - 1:+.2%})"
            )


if __name__ == "__main__":
    main()
