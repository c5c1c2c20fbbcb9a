"""What it costs to keep heavy examples: updates beside those that keep the newest, in one run.

    python benchmarks/keeping.py [--rounds 7] [--hypotheses 100,400,1520] [--ways] [--out FILE]

Batches of 64 with the automatic head, in one thread, once the head is full: folds come at intervals, so a
round is what goes by between two folds, or several of them, and the two take turns. CPU time of the median
round. Then the bytes at the end and the most that was allocated at once, beside the memory given. `--ways`
adds other rules: with pairs and without, and folds of a fourth, an eighth and a sixteenth of the head, with
their error to AdaBoost.
"""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from harness import write_results

import ocboost
from ocboost.boosters.sketch.settings import Capacity, automatic_memory, example_bits, pair_bytes, row_bytes

OUT = Path(__file__).parent / "results" / "keeping.json"
BATCH = 64
KEEPS = ("newest", "heavy")
LIMITS = {100: 3.0, 400: 3.0, 1520: 1.5}
RING = {100: 65_536, 400: 65_536, 1520: 32_768}  # examples, gone through again and again
MIN_EXAMPLES_PER_ROUND = 4096  # examples in a round


def columns(J: int, n: int, seed: int = 0) -> np.ndarray:
    """Independent columns, right with a chance of 0.5 to 0.65."""
    rng = np.random.default_rng([seed, J])
    p = rng.uniform(0.5, 0.65, J)
    margins = np.empty((n, J), np.int8)
    for at in range(0, n, 8192):
        block = margins[at : at + 8192]
        block[...] = np.where(rng.random(block.shape) < p, 1, -1)
    return margins


class Runner:
    """A sketch with a full head, fed from a ring."""

    def __init__(
        self, sketch: ocboost.BoostingSketch, ring: np.ndarray, *, fill: bool = True, call: int = 1 << 30
    ) -> None:
        self.sketch, self.ring, self.at, self.call = sketch, ring, 0, call
        if fill:  # the first fold, then one more
            self.feed(self.sketch.head + BATCH)
            self.feed(self.until_fold())
        self.examples = self.until_fold() * max(1, MIN_EXAMPLES_PER_ROUND // self.until_fold())

    def until_fold(self) -> int:
        """Examples between two folds, in whole batches."""
        room = getattr(
            self.sketch._store, "capacity", None
        )  # `--ways` gives it another one than its parameters do
        left = (self.sketch.head + 7) // 8 if room is None else self.sketch.head - room.after_fold
        return BATCH * max(1, -(-left // BATCH))

    def feed(self, n: int) -> float:
        """Seconds of CPU for n examples more, at most so many a call."""
        spent = 0.0
        while n > 0:
            part = self.ring[self.at : self.at + min(n, self.call)]
            start = time.process_time()
            self.sketch.update_many(part, batch_size=BATCH)
            spent += time.process_time() - start
            self.at = (self.at + len(part)) % len(self.ring)
            n -= len(part)
        return spent


def rooms(J: int) -> dict[str, Capacity]:
    """The ways to keep heavy examples in the automatic memory."""
    left, bits = automatic_memory(J) - row_bytes(J), example_bits(J)
    first = 8 * left // bits
    found: dict[str, Capacity] = {}
    for pairs, slack in product((True, False), (4, 8, 16)):
        head = 8 * (left - pair_bytes(J)) // bits if pairs else first
        kind = type(
            "Tried",
            (Capacity,),
            {"after_fold": property(lambda self, slack=slack: self.head - -(-self.head // slack))},
        )
        found[f"{'pairs' if pairs else 'no pairs'}, folds of 1/{slack}"] = kind(first, head, pairs)
    return found


def costs(J: int, rounds: int) -> dict[str, Any]:
    """Microseconds an example: newest and heavy in turn."""
    ring = columns(J, RING[J])
    runners = {keep: Runner(ocboost.BoostingSketch(J, head="auto", keep=keep), ring) for keep in KEEPS}
    spent: dict[str, list[float]] = {keep: [] for keep in KEEPS}
    for k in range(rounds):
        for keep in KEEPS if k % 2 else KEEPS[::-1]:
            runner = runners[keep]
            spent[keep].append(1e6 * runner.feed(runner.examples) / runner.examples)
    middle = {keep: statistics.median(spent[keep]) for keep in KEEPS}
    ratio = middle["heavy"] / middle["newest"]
    print(
        f"J = {J:5d}: newest {middle['newest']:8.2f} µs, heavy {middle['heavy']:8.2f} µs, {ratio:.2f} "
        f"times (at most {LIMITS.get(J, float('nan'))}); rounds of {runners['newest'].examples:,} and "
        f"{runners['heavy'].examples:,} examples",
        flush=True,
    )
    return {"J": J, "microseconds": middle, "rounds": spent, "ratio": ratio, "limit": LIMITS.get(J)}


def memory(J: int) -> dict[str, Any]:
    """Bytes kept at the end, and the most that was allocated at once, beside the memory given."""
    ring, asked = columns(J, RING[J]), automatic_memory(J)
    found: dict[str, Any] = {"J": J, "asked": asked}
    for keep in KEEPS:
        tracemalloc.start()
        sketch = ocboost.BoostingSketch(J, head="auto", keep=keep)
        runner = Runner(sketch, ring, call=BATCH)  # or the check of a large input would be the most
        between, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        found[keep] = {"kept": runner.sketch.nbytes, "between_folds": between, "most": most}
        print(
            f"J = {J:5d}, {keep}: asked {asked / 1e6:.3f} MB, kept {runner.sketch.nbytes / 1e6:.3f}; used "
            f"{between / 1e6:.3f} between folds and {most / 1e6:.3f} at most ({most / asked:.2f} times)",
            flush=True,
        )
    return found


def ways(J: int, n: int, rounds: int) -> list[dict[str, Any]]:
    """Cost and error of other rules, in the same bytes; the error after n examples that are all different."""
    ring, margins = columns(J, RING[J]), columns(J, n, seed=1)
    exact = ocboost.adaboost_weights(margins)
    found, runners = [], {}
    for name, room in rooms(J).items():
        sketch = ocboost.BoostingSketch(J, head="auto", keep="heavy")
        sketch._store.capacity = room
        sketch.update_many(margins, batch_size=BATCH)
        error = ocboost.approximation_error(exact, sketch.alpha)
        runners[name] = Runner(sketch, ring, fill=False)
        found.append({"way": name, "J": J, "examples": n, "error": error, "folds": sketch._store.state.folds})
    spent: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(rounds):
        for name, runner in runners.items():
            spent[name].append(1e6 * runner.feed(runner.examples) / runner.examples)
    for each in found:
        each["microseconds"] = statistics.median(spent[each["way"]])
        print(
            f"J = {J:5d}, {each['way']:24s}: {each['microseconds']:8.2f} µs, error {each['error']:.6f} "
            f"after {n:,} examples and {each['folds']} folds",
            flush=True,
        )
    return found


def main() -> None:
    """Measure, print and write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--hypotheses", default="100,400,1520", help="separated by commas")
    parser.add_argument("--ways", action="store_true", help="other rules too, which takes minutes")
    parser.add_argument("--out", type=Path, help=f"by default {OUT.name} in results")
    given = parser.parse_args()
    sizes = [int(J) for J in given.hypotheses.split(",")]
    if not set(sizes) <= set(RING):
        parser.error(f"--hypotheses takes some of {', '.join(map(str, RING))}; got {given.hypotheses}")
    ocboost.set_num_threads(1)
    record: dict[str, Any] = {"costs": [costs(J, given.rounds) for J in sizes]}
    record["memory"] = [memory(J) for J in sizes]
    if given.ways:
        of = {100: 100_000, 400: 200_000, 1520: 250_000}
        record["ways"] = [way for J in sizes for way in ways(J, of[J], max(3, given.rounds // 2))]
    write_results(OUT if given.out is None else given.out, record)


if __name__ == "__main__":
    main()
