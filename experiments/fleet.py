"""Does a fleet pay? One model for all keys, one per key from scratch, and a fleet, row by row.

    python experiments/fleet.py [--data DIR] [--choose] [--seeds 2] [--rows 120000] [--quick] [--out FILE]

Fleets of 1,000 keys are generated: each key's classes follow a rule that it shares in part with all others.
Flights out of New York are keyed by their carrier (16 keys) or their destination (about 100). The model is
fitted on the first twentieth of a generated fleet, or on the flights of January, 100 stumps; every later row
is predicted and then learnt by

- the deployed model, which does not learn;
- one common model: OCB that remembers everything, and one with the forgetting of a fleet's common weights;
- one per key from scratch: OCB over the same stumps and a bias, with a window of 200, and one that remembers
  everything (33 times the memory);
- the fleet, window 200.

`--choose` runs the settings that were chosen from (how many examples draw a key's weights to the common ones)
on flights by carrier and half of the kinds of generated fleets. The figures that are reported, without it,
are of flights by destination and of the other kinds, with seeds that nothing was chosen on.

Tables go to stdout, a progress bar to stderr, and everything measured to a JSON file.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

import ocboost
from ocboost import BoostingSketch, OCBClassifier
from ocboost._report.output import OutputFolder, to_json, versions
from ocboost.fleet import Fleet, scoring
from ocboost.streams import open_stream

OUT = Path(__file__).parent / "results" / "fleet.json"
KEYS, FEATURES, HYPOTHESES, WINDOW = 1_000, 10, 100, 200
JANUARY = 27_004 - 400  # flights whose arrival was recorded, about
CUTS = (-0.7, 0.0, 0.7)
AGES = (0, 10, 30, 100, 300)  # rows of a key that were seen before
DEPLOYED, COMMON, COMMON_ALL, OWN, OWN_ALL, FLEET = (
    "deployed",
    "common, forgetting",
    "common",
    "own, window",
    "own",
    "fleet",
)
METHODS = (DEPLOYED, COMMON_ALL, COMMON, OWN, OWN_ALL, FLEET)
SMOOTHINGS = (15.0, 30.0, 60.0, 120.0, 240.0)
# How much of a rule is the key's own; how much classes differ in frequency; what changes half-way.
TO_CHOOSE: dict[str, dict[str, Any]] = {
    "a fifth own": {"own": 0.2},
    "four fifths own": {"own": 0.8},
    "own frequencies": {"own": 0.0, "bias": 1.0},
    "the common rule changes": {"own": 0.2, "changes": "common"},
    "one key of ten is different": {"own": 0.8, "different": 0.1},
    "few rows": {"own": 0.5, "share": 0.2, "even": True},
}
TO_REPORT: dict[str, dict[str, Any]] = {
    "all alike": {"own": 0.0},
    "half own": {"own": 0.5},
    "nothing in common": {"own": 1.0},
    "a fifth own, own frequencies": {"own": 0.2, "bias": 0.5},
    "own rules change": {"own": 0.5, "changes": "own"},
    "noisy": {"own": 0.3, "scale": 0.7},
}

Rows = tuple[np.ndarray, np.ndarray, list[str], int]  # features, classes, keys, and how many rows to fit on


def generated(
    seed: int,
    rows: int,
    *,
    own: float,
    bias: float = 0.0,
    scale: float = 3.0,
    changes: str = "",
    different: float = 1.0,
    share: float = 1.0,
    even: bool = False,
) -> Rows:
    """A fleet: the log-odds of a row are ``√(1 - own)`` of a common rule and ``√own`` of its key's."""
    rng = np.random.default_rng([seed, *map(ord, repr((own, bias, scale, changes, different, even)))])
    n, terms = int(rows * share), FEATURES * len(CUTS)
    weights = np.ones(KEYS) if even else 1.0 / np.arange(1, KEYS + 1)
    keys = rng.choice(KEYS, n, p=0.5 * weights / weights.sum() + 0.5 / KEYS)
    X = rng.normal(size=(n, FEATURES))
    steps = np.tanh(3.0 * (X[:, :, None] - np.array(CUTS))).reshape(n, -1)
    common = rng.normal(size=(2, terms)) / np.sqrt(terms)
    rules = rng.normal(size=(2, KEYS, terms)) / np.sqrt(terms)
    part = np.where(rng.random(KEYS) < different, own, 0.0)[keys]
    late = (np.arange(n) > n // 2).astype(int)
    shared = (steps * common[late if changes == "common" else 0 * late]).sum(axis=1)
    alone = (steps * rules[late if changes == "own" else 0 * late, keys]).sum(axis=1)
    score = scale * (np.sqrt(1.0 - part) * shared + np.sqrt(part) * alone)
    score += bias * rng.normal(size=KEYS)[keys]
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * score))).astype(int)
    return X, y, [f"key {k}" for k in keys], n // 20


def flights(folder: Path, by: str, quick: bool) -> Rows:
    """Flights of 2013, keyed by a column that is then no feature."""
    path = folder / "streams" / "nycflights13.csv.gz"
    with open_stream(path, label="late15", drop=("arr_delay", by), key=by, batch_size=10_000) as stream:
        parts = list(stream)
    step = 20 if quick else 1
    X, y = (
        np.concatenate([part.X for part in parts])[::step],
        np.concatenate([part.y for part in parts])[::step],
    )
    keys = [str(key) for part in parts for key in part.keys][::step]
    return X, y.astype(int), keys, JANUARY // step


def seen_before(keys: Sequence[str]) -> np.ndarray:
    """How many rows of its key came before each row."""
    count: dict[str, int] = {}
    found = np.zeros(len(keys), int)
    for i, key in enumerate(keys):
        found[i] = count.get(key, 0)
        count[key] = found[i] + 1
    return found


def common_votes(clf: OCBClassifier, X: np.ndarray, y: np.ndarray, batch: int = 500) -> np.ndarray:
    """One model for all keys; it learns 500 rows at a time, as the fleet's common weights do."""
    clf, votes = ocboost.OCBClassifier.__copy__(clf), []
    for at in range(0, len(X), batch):
        votes.append(clf.decision_function(X[at : at + batch]))
        clf.partial_fit(X[at : at + batch], y[at : at + batch])
    return np.concatenate(votes)


def own_votes(answers: np.ndarray, y: np.ndarray, keys: Sequence[str], **settings: Any) -> np.ndarray:
    """A model for each key, from scratch, over the same hypotheses and a bias."""
    sketches: dict[str, BoostingSketch] = {}
    with_bias = np.hstack([answers, np.ones((len(answers), 1), np.int8)])
    votes = np.zeros(len(y))
    for i, key in enumerate(keys):
        sketch = sketches.get(key)
        if sketch is None:
            sketch = sketches[key] = BoostingSketch(with_bias.shape[1], **settings)
        votes[i] = sketch.alpha @ with_bias[i]
        sketch.update(with_bias[i] if y[i] else -with_bias[i])
    return votes


def fleet_votes(clf: OCBClassifier, X: np.ndarray, y: np.ndarray, keys: Sequence[str]) -> np.ndarray:
    """The votes of a fleet, each before its row is learnt."""
    with tempfile.TemporaryDirectory() as folder, Fleet(clf, store=folder, window=WINDOW) as fleet:
        parts = [
            fleet.learn_coded(keys[at : at + 5_000], X[at : at + 5_000], y[at : at + 5_000])
            for at in range(0, len(X), 5_000)
        ]
    return np.concatenate(parts)


def measured(rows: Rows, methods: Sequence[str] = METHODS) -> dict[str, Any]:
    """Accuracy in % and log-loss of each method, over all rows and by the rows of the key seen before."""
    X, y, keys, n = rows
    clf = OCBClassifier(n_hypotheses=HYPOTHESES, random_state=0).fit(X[:n], y[:n])
    X, y, keys = X[n:], y[n:], keys[n:]
    answers = clf.hypotheses_.answers(X)
    forgetting = OCBClassifier.__copy__(clf).set_params(forgetting=0.9998)
    ways = {
        DEPLOYED: lambda: clf.decision_function(X),
        COMMON_ALL: lambda: common_votes(clf, X, y),
        COMMON: lambda: common_votes(forgetting, X, y),
        OWN: lambda: own_votes(answers, y, keys, head=WINDOW, tail=False),
        OWN_ALL: lambda: own_votes(answers, y, keys, head="auto"),
        FLEET: lambda: fleet_votes(clf, X, y, keys),
    }
    before = np.digitize(seen_before(keys), AGES) - 1
    found: dict[str, Any] = {"rows": len(y), "keys": len(set(keys)), "methods": {}}
    for name in methods:
        start, votes = time.process_time(), ways[name]()
        right = (votes > 0.0) == (y > 0)
        loss = np.logaddexp(0.0, -2.0 * votes * (2 * y - 1))
        found["methods"][name] = {
            "accuracy": 100.0 * float(right.mean()),
            "log_loss": float(loss.mean()),
            "by_rows_before": {
                str(age): 100.0 * float(right[before == a].mean())
                for a, age in enumerate(AGES)
                if (before == a).any()
            },
            "cpu_us": 1e6 * (time.process_time() - start) / len(y),
        }
    found["rows_before"] = {str(age): int((before == a).sum()) for a, age in enumerate(AGES)}
    return found


def behind(cell: dict[str, Any]) -> float:
    """By how many points the fleet is behind the best of the others; negative where it is ahead."""
    methods = cell["methods"]
    return (
        max(each["accuracy"] for name, each in methods.items() if name != FLEET) - methods[FLEET]["accuracy"]
    )


def jobs(given: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """What to run: a name, and a function that makes the rows."""
    kinds, by = (TO_CHOOSE, "carrier") if given.choose else (TO_REPORT, "dest")
    if given.data is None:
        print("No data folder (--data, OCBOOST_DATA): flights are left out.", file=sys.stderr)
    else:
        yield f"flights by {by}", lambda: flights(given.data, by, given.quick)
    for kind, settings in kinds.items():
        for seed in range(1) if given.choose else range(1, given.seeds + 1):
            name = kind if given.choose or given.seeds == 1 else f"{kind}, seed {seed}"
            yield name, lambda settings=settings, seed=seed: generated(seed, given.rows, **settings)


def run(given: argparse.Namespace) -> dict[str, Any]:
    """All cells."""
    cells: dict[str, Any] = {}
    todo = list(jobs(given))
    with Progress(disable=not sys.stderr.isatty(), transient=True) as bar:
        for name, make in bar.track(todo):
            rows = make()
            if given.choose:
                cells[name] = chosen_from(rows)
            else:
                cells[name] = measured(rows)
            print(line(name, cells[name]), flush=True)
    return cells


def chosen_from(rows: Rows) -> dict[str, Any]:
    """The fleet with each of the settings."""
    usual, found = scoring.SMOOTHING, {}
    try:
        for smoothing in SMOOTHINGS:
            scoring.SMOOTHING = smoothing
            found[f"{smoothing:g}"] = measured(rows, [FLEET])["methods"][FLEET]
    finally:
        scoring.SMOOTHING = usual
    return {"methods": found}


def line(name: str, cell: dict[str, Any]) -> str:
    """A line of the table."""
    numbers = " | ".join(f"{each['accuracy']:.2f}" for each in cell["methods"].values())
    return f"| {name} | {numbers} |"


def show_ages(cells: dict[str, Any]) -> None:
    """Accuracy by the rows of a key seen before, the mean over all cells."""
    print("\n| rows of the key before | " + " | ".join(METHODS) + " |")
    print("| --- |" + " ---: |" * len(METHODS))
    for age, following in zip(AGES, [*AGES[1:], None], strict=True):
        there = [
            cell["methods"] for cell in cells.values() if str(age) in cell["methods"][FLEET]["by_rows_before"]
        ]
        means = [np.mean([cell[m]["by_rows_before"][str(age)] for cell in there]) for m in METHODS]
        label = f"{age} and more" if following is None else f"{age} to {following - 1}"
        print(f"| {label} | " + " | ".join(f"{mean:.2f}" for mean in means) + " |")
    worst = max(cells, key=lambda name: behind(cells[name]))
    most = behind(cells[worst])
    print(f"\nThe fleet is behind the best of the others by at most {most:.2f} points ({worst}).")


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    folder = os.environ.get("OCBOOST_DATA")
    parser.add_argument("--data", type=Path, default=Path(folder) if folder else None)
    parser.add_argument("--choose", action="store_true", help="the settings that were chosen from")
    parser.add_argument("--seeds", type=int, default=2, help="of each kind of generated fleet")
    parser.add_argument("--rows", type=int, default=120_000, help="of a generated fleet")
    parser.add_argument("--quick", action="store_true", help="small, to check that it runs; writes nothing")
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args(words)
    if given.quick:
        given.rows, given.seeds = 6_000, 1
    elif given.out is None:
        given.out = OUT.with_name("fleet_choice.json") if given.choose else OUT
    return given


def main(words: Sequence[str] | None = None) -> int:
    """Run it; 2 if the results cannot be written, 130 on Ctrl-C."""
    given = arguments(words)
    names = [f"{each:g}" for each in SMOOTHINGS] if given.choose else METHODS
    print("| accuracy in % | " + " | ".join(names) + " |\n| --- |" + " ---: |" * len(names), flush=True)
    try:
        if given.out is None:
            cells = run(given)
        else:
            with OutputFolder(given.out.parent, [given.out.name]) as folder:
                cells = run(given)
                record = {"versions": versions("scikit-learn", "lmdb"), "rows": given.rows, "cells": cells}
                for path in folder.write({given.out.name: to_json(record)}):
                    print(f"\nWritten: {path}", file=sys.stderr)
        if not given.choose:
            show_ages(cells)
    except (ocboost.InputError, OSError) as error:
        print(f"fleet: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("fleet: interrupted; no result was written.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
