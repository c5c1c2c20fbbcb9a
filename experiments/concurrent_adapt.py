"""Pairs of ``ocboost adapt`` that write one model at the same time: no run's learning may be lost.

Each run of a pair has a stream of its own, and both write the same model. A run must either succeed, and its
rows are in the model, or be refused, having learnt nothing.

    python experiments/concurrent_adapt.py --pairs 100

Exits with 1 if a run was lost, or counted that was refused.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from ocboost import Model

FIRST = 500
SECOND_RUN_OPTIONS = ([], ["--resume"], ["--restart"])  # how the second of a pair is started
REFUSAL = "is being written by another run, process "


def write_rows(path: Path, n: int, rng: np.random.Generator) -> Path:
    """A table of four numbers and a class."""
    X = rng.normal(size=(n, 4)).round(4)
    y = (X[:, 0] + 0.7 * X[:, 1] + 0.3 * rng.normal(size=n) > 0).astype(int)
    lines = [",".join(map(str, [*row, label])) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    path.write_text("a,b,c,d,y\n" + "\n".join(lines) + "\n")
    return path


def ocboost(*words: object) -> subprocess.Popen[str]:
    """A run of the command line as a process."""
    command = [sys.executable, "-m", "ocboost", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def run(pairs: int, seed: int, folder: Path) -> tuple[Counter[str], list[str]]:
    """What became of the runs, and what was wrong."""
    rng, delays = np.random.default_rng(seed), random.Random(seed)
    model = folder / "model.ocb"
    fitting = ocboost(
        "fit",
        write_rows(folder / "first.csv", FIRST, rng),
        "--label",
        "y",
        "--out",
        model,
        "--method",
        "ocb",
        "--hypotheses",
        20,
    )
    fitting.communicate()
    assert fitting.returncode == 0
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    learnt, names = FIRST, []
    for pair in range(pairs):
        streams = [
            write_rows(folder / f"{pair}{which}.csv", delays.randrange(50, 3000), rng) for which in "ab"
        ]
        running = []
        for stream, way in zip(
            streams, ([], SECOND_RUN_OPTIONS[pair % len(SECOND_RUN_OPTIONS)]), strict=True
        ):
            running.append(ocboost("adapt", model, stream, "--out", model, *way))
            time.sleep(delays.choice([0.0, 0.05, 0.3, 1.0, 3.0]))
        ends = [(each.communicate()[1], each.returncode) for each in running]
        history = Model.load(model).history
        for stream, (message, code) in zip(streams, ends, strict=True):
            events = [event for event in history if event.get("stream") == stream.name]
            if code == 0:
                learnt += len(stream.read_text().splitlines()) - 1
                names.append(stream.name)
                if len(events) != 1:
                    wrong.append(f"{stream.name}: exit status 0, and {len(events)} times in the history")
            else:
                if events:
                    wrong.append(f"{stream.name}: exit status {code}, and it is in the history")
                if REFUSAL not in message:
                    wrong.append(f"{stream.name}: exit status {code}, and says {message.strip()!r}")
        good = sum(code == 0 for _, code in ends)
        counts[{2: "both learnt, one after the other", 1: "one learnt, one refused", 0: "none"}[good]] += 1
    at_the_end = Model.load(model)
    if [event["stream"] for event in at_the_end.history[1:] if event["stream"] not in names]:
        wrong.append("the history holds a run that nobody counted")
    seen = at_the_end.classifier.boosters_[0].n_seen
    if seen != learnt:
        wrong.append(f"the model has seen {seen:,} rows, and those of the runs that succeeded are {learnt:,}")
    left = sorted(path.name for path in folder.iterdir() if path.suffix in (".checkpoint", ".lock", ".tmp"))
    if left:
        wrong.append(f"left in the folder: {left}")
    return counts, wrong


def main() -> int:
    """Run the pairs and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="a file for the counts, as JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts, wrong = run(given.pairs, given.seed, Path(folder))
    for what, n in sorted(counts.items()):
        print(f"{n:>5}  {what}")
    for each in wrong:
        print(each)
    print(f"{len(wrong)} lost or wrong in {given.pairs} pairs")
    if given.out is not None:
        found = {
            "pairs": given.pairs,
            "seed": given.seed,
            "counts": dict(sorted(counts.items())),
            "wrong": wrong,
        }
        given.out.write_text(json.dumps(found, indent=2) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
