"""Reading α eight coordinates at once, against an older version of the library, in one run.

Two processes, one with each version, hold the same sketches and take turns. Before each reading the
sketch gets one more example, outside the clock, so that α has to be solved for again.

    git archive 57290a0 src | tar -x -C /tmp/before
    python benchmarks/blocks.py --against /tmp/before/src
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

COLUMNS = (20, 104, 400, 1520)
HEADS = (1, 64, 500, 1600, 5_000, 40_000, 92_000, 200_000)
ROWS_PER_BATCH = 8192


def rows(J: int, n: int, seed: int) -> np.ndarray:
    """Margins of weak hypotheses, each right with a chance of its own."""
    rng = np.random.default_rng([seed, J])
    least = rng.uniform(0.35, 0.5, J) * 256
    return np.where(rng.integers(0, 256, (n, J), np.uint8) >= least.astype(np.uint8), 1, -1).astype(np.int8)


def cases() -> dict[str, dict[str, object]]:
    """What is read: the columns, the examples taken in, and the options of the sketch."""
    found: dict[str, dict[str, object]] = {}
    for J in COLUMNS:
        for n in HEADS:
            found[f"window of {n:,}, J={J:,}"] = {"J": J, "n": n, "head": n, "tail": False, "keep": "newest"}
    for keep in ("newest", "heavy"):
        for J, n in ((400, 60_000), (1520, 100_000)):
            found[f"{keep}, automatic head, J={J:,}"] = {"J": J, "n": n, "head": "auto", "keep": keep}
        found[f"{keep}, head of 210,000, J=400"] = {"J": 400, "n": 200_000, "head": 210_000, "keep": keep}
    found["AdaBoost on 100,000 margins, J=1,520"] = {"J": 1520, "n": 100_000}
    found["AdaBoost on 200,000 margins, J=400"] = {"J": 400, "n": 200_000}
    found["fold, newest, head of 20,000, J=100"] = {"J": 100, "n": 17_500, "head": 20_000, "keep": "newest"}
    found["fold, heavy, head of 20,000, J=100"] = {"J": 100, "n": 20_000, "head": 20_000, "keep": "heavy"}
    found["fold, heavy, head of 20,000, J=1,520"] = {"J": 1520, "n": 20_000, "head": 20_000, "keep": "heavy"}
    return found


def prepared(name: str, case: dict[str, object], seed: int) -> Callable[[], float]:
    """What does the work of a case once and says how much CPU time it took."""
    import ocboost

    ocboost.set_num_threads(1)
    J, n = case["J"], case["n"]
    if name.startswith("AdaBoost"):
        margins = rows(J, n, seed)

        def batch() -> float:
            began = time.thread_time()
            ocboost.adaboost_weights(margins)
            return time.thread_time() - began

        return batch
    sketch = ocboost.BoostingSketch(J, **{key: case[key] for key in case if key not in ("J", "n")})
    for start in range(0, n, ROWS_PER_BATCH):
        sketch.update_many(rows(J, min(ROWS_PER_BATCH, n - start), seed + start), batch_size=ROWS_PER_BATCH)
    more = rows(J, 64, seed + 1)
    if name.startswith("fold"):
        rest = rows(J, case["head"], seed + 2)

        def fold() -> float:  # from a full head but one to the end of its fold
            other = sketch.copy()
            missing = other.head - other.n_head
            if missing > 1:
                other.update_many(rest[: missing - 1])
            began = time.thread_time()
            other.update(rest[-1])
            return time.thread_time() - began

        return fold
    at = iter(range(1 << 60))

    def read() -> float:
        sketch.update(more[next(at) % 64])
        began = time.thread_time()
        sketch.alpha  # noqa: B018
        return time.thread_time() - began

    return read


def work(seed: int) -> None:
    """Read names of cases, one a line, and answer each with the least time of a few readings."""
    known, ready = cases(), {}
    for line in sys.stdin:
        name, count = json.loads(line)
        if name is None:
            ready.clear()
            answer = 0.0
        else:
            if name not in ready:
                ready[name] = prepared(name, known[name], seed)
                ready[name]()
            answer = min(ready[name]() for _ in range(count))
        print(json.dumps(answer), flush=True)


class Worker:
    """A process with one version of the library."""

    def __init__(self, path: Path, seed: int) -> None:
        environment = {**os.environ, "PYTHONPATH": str(path)}
        command = [sys.executable, __file__, "--worker", "--seed", str(seed)]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, name: str | None, count: int = 1) -> float:
        """Seconds that a case took."""
        self._process.stdin.write(json.dumps([name, count]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    """Print a table of both versions' times and their ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", type=Path, help="the src folder of the older version")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seed", type=int, default=2008)
    parser.add_argument("--out", type=Path, help="a file for every round's times")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        work(args.seed)
        return
    if args.against is None:
        parser.error("--against is needed: the src folder of an older version")
    here = Path(__file__).resolve().parent.parent / "src"
    workers = {"before": Worker(args.against.resolve(), args.seed), "now": Worker(here, args.seed)}
    results = {}
    print(f"{'':46} {'before, ms':>11} {'now, ms':>9} {'times as fast':>14}")
    try:
        for name in (name for name in cases() if args.only in name):
            took: dict[str, list[float]] = {which: [] for which in workers}
            for worker in workers.values():
                worker.ask(name)
            for number in range(args.rounds):
                for which in sorted(workers, reverse=number % 2 == 0):
                    count = max(1, min(50, int(0.02 / max(min(took[which], default=0.002), 1e-5))))
                    took[which].append(workers[which].ask(name, count))
            for worker in workers.values():
                worker.ask(None)
            before, now = (1e3 * statistics.median(took[which]) for which in ("before", "now"))
            ratio = statistics.median(b / a for b, a in zip(took["before"], took["now"], strict=True))
            print(f"{name:46} {before:11.3f} {now:9.3f} {ratio:14.2f}", flush=True)
            results[name] = {**took, "ratio": ratio}
    finally:
        for worker in workers.values():
            worker.close()
    if args.out is not None:
        args.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
