"""How long a user waits for a first result: the import, first calls and commands, with compiled code cached.

``python benchmarks/startup.py`` measures the commands, in CPU time, which other work changes less.
`speed.py` measures the import and first calls.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import harness

RESULTS = Path(__file__).parent / "results" / "startup.json"
# What is done, the words of the command, and the CPU seconds that it may take. They run in this order.
COMMANDS = (
    ("--help", 0.3),
    ("--version", 0.3),
    ("fit --help", 0.3),
    ("fit no.csv --label y --out out.ocb", 0.5),
    ("adapt no.ocb no.csv --out out.ocb", 0.5),
    ("predict no.ocb no.csv", 0.5),
    ("evaluate no.csv --label y", 0.5),
    ("compare no.csv --label y", 0.5),
    ("info no.ocb", 0.5),
    ("explain no.ocb no.csv", 0.5),
    ("export no.ocb out.onnx", 0.5),
    ("serve no.ocb", 0.5),
    ("fleet info no", 0.5),
    ("cascade info no.xml", 0.5),
    ("fit rows.csv --label y --out model.ocb", 2.0),
    ("fit rows.csv --label y --method ocb --out ocb.ocb", 2.0),
    ("adapt model.ocb rows.csv --out adapted.ocb --again", None),
    ("predict model.ocb rows.csv", None),
    ("info model.ocb", None),
)

IMPORT = """
import time
began, cpu = time.perf_counter(), time.process_time()
import ocboost
print(time.perf_counter() - began, time.process_time() - cpu)
"""

FIRST_CALL = """
import time
import numpy as np
import ocboost
margins = np.where(np.random.default_rng(0).random((64, 20)) < 0.6, 1, -1).astype(np.int8)
began, cpu = time.perf_counter(), time.process_time()
{call}
print(time.perf_counter() - began, time.process_time() - cpu)
"""

SKETCH = """
sketch = ocboost.BoostingSketch(20)
sketch.update_many(margins, batch_size=16)
sketch.alpha
"""

CALLS = {
    "import ocboost": IMPORT,
    "first BoostingSketch update_many and alpha": FIRST_CALL.format(call=SKETCH),
    "first adaboost_weights": FIRST_CALL.format(call="ocboost.adaboost_weights(margins)"),
}


def measure(runs: int) -> dict[str, dict[str, object]]:
    """Wall and CPU seconds of each in fresh processes, after one that fills the cache; or the error."""
    results: dict[str, dict[str, object]] = {}
    for name, script in CALLS.items():
        seconds, cpu_seconds = [], []
        for number in range(runs + 1):
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
            if done.returncode:
                results[name] = {"error": done.stderr.strip().splitlines()[-1]}
                break
            if number:
                wall, cpu = map(float, done.stdout.split())
                seconds.append(wall)
                cpu_seconds.append(cpu)
        else:
            results[name] = {
                "seconds": statistics.median(seconds),
                "cpu_seconds": statistics.median(cpu_seconds),
                "rounds": seconds,
            }
    return results


def write_rows(path: Path) -> None:
    """1,000 rows of eight numbers and a class."""
    draw = random.Random(0)
    lines = [",".join([*(f"f{j}" for j in range(8)), "y"])]
    for _ in range(1_000):
        row = [draw.gauss(0, 1) for _ in range(8)]
        label = "yes" if row[0] + row[1] * row[2] + draw.gauss(0, 0.5) > 0 else "no"
        lines.append(",".join([*(f"{value:.4f}" for value in row), label]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def cpu_seconds(words: list[str], folder: Path) -> float:
    """User and system time of Python with these arguments, in a new process."""
    before = os.times()
    subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def measure_commands(runs: int) -> list[dict[str, object]]:
    """The CPU seconds of each command, after a run that fills the caches."""
    rows: list[dict[str, object]] = []
    with TemporaryDirectory() as folder:
        place = Path(folder)
        write_rows(place / "rows.csv")
        for name in ("sklearn.base", "numba"):  # what any fit has to import, to scale the rest by
            seconds = [cpu_seconds(["-c", f"import {name}"], place) for _ in range(runs + 1)][1:]
            middle = statistics.median(seconds)
            rows.append({"command": f"import {name}", "cpu_seconds": middle, "rounds": seconds})
            print(f"import {name}: {middle:.2f} s", flush=True)
        for line, limit in COMMANDS:
            words = ["-m", "ocboost", *line.split()]
            seconds = [cpu_seconds(words, place) for _ in range(runs + 1)][1:]
            middle = statistics.median(seconds)
            rows.append({"command": line, "cpu_seconds": middle, "limit": limit, "rounds": seconds})
            slow = ": too slow" if limit is not None and middle > limit else ""
            verdict = "" if limit is None else f", may be {limit} s{slow}"
            print(f"ocboost {line}: {middle:.2f} s{verdict}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15, help="of each command; the median counts")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows = measure_commands(given.runs)
    harness.write_results(given.out, {"runs": given.runs, "rows": rows, "machine": harness.machine()})


if __name__ == "__main__":
    main()
