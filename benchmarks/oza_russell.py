"""Oza and Russell's online boosting here, in River and in MOA: python benchmarks/oza_russell.py [--data DIR].

Three streams of two classes, gone through row by row: every row is answered, then learnt. All have ten
members, of the same kinds with the same settings. Streams whose files are not there are left out. See
benchmarks/README.md for what came out and why.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from harness import UnavailableError, machine, new_console, write_results
from peers import moa_oza
from rich.console import Console
from rich.table import Table
from river import base, ensemble, naive_bayes, tree

from ocboost.estimators.base_learners import BaseLearner
from ocboost.lineage import OzaRussellClassifier
from ocboost.streams import open_stream

OUT = Path(__file__).parent / "results" / "oza_russell.json"
MEMBERS = 10
VOTES = ("answers", "probabilities")  # what our members vote with
FILES = {"elec2": "elec2.csv.gz", "insects": "insects_gradual_balanced.csv.gz"}
RIVERS: dict[str, Callable[[], Any]] = {
    "Hoeffding trees": tree.HoeffdingTreeClassifier,
    "naive Bayes": naive_bayes.GaussianNB,
}
MOAS = {"Hoeffding trees": "trees.HoeffdingTree", "naive Bayes": "bayes.NaiveBayes"}

# Streams -------------------------------------------------------------------------------------------------


def folder_of(data: Path | None) -> Path | None:
    """Where the files of the streams are: the folder given, or `streams` in it."""
    if data is None:
        return None
    return data / "streams" if (data / "streams").is_dir() else data


def stream(name: str, data: Path | None, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The first rows of a stream, and its labels, 0 and 1."""
    if name == "generated":
        return generated(rows, 2001)
    label, drop = ("up", ["date"]) if name == "elec2" else ("species", [])
    folder = folder_of(data)
    assert folder is not None
    with open_stream(folder / FILES[name], label=label, drop=drop, batch_size=rows) as batches:
        batch = next(iter(batches))
    X, y = batch.X, batch.y
    return X, y.astype(int) if name == "elec2" else np.isin(y, [0, 1, 2]).astype(int)


def generated(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten features and a hyperplane that is another one from the middle on; one label in ten is wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 10))
    planes = rng.normal(size=(2, 10))
    y = np.where(np.arange(rows) < rows // 2, X @ planes[0], X @ planes[1]) > 0
    return X, (y ^ (rng.random(rows) < 0.1)).astype(int)


# Methods: each gives answers, CPU seconds, and what members had right and wrong in the end; by what its name
# ends in, as one that learns may answer in several ways ---------------------------------------------------


def ours(X: np.ndarray, y: np.ndarray, kind: str, updates: str, seed: int, *, core: bool) -> dict:
    """`OzaRussellClassifier`, row by row; its checks of every row are inside the clock.

    How it votes makes no difference to what it learns, so that one that learns gives both ways' answers. Each
    way is charged all of the learning.
    """
    clf = OzaRussellClassifier(None if core else RIVERS[kind](), MEMBERS, updates=updates, random_state=seed)
    answers = {way: np.zeros(len(y), int) for way in VOTES}
    cpu = dict.fromkeys(VOTES, 0.0)
    learning = 0.0
    for i in range(len(y)):
        for way in VOTES if i else ():
            clf.votes = way
            began = time.process_time()
            answers[way][i] = clf.predict(X[i : i + 1])[0]
            cpu[way] += time.process_time() - began
        clf.votes = VOTES[0]
        began = time.process_time()
        clf.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
        learning += time.process_time() - began
    found = {"right": clf.lambda_right_, "wrong": clf.lambda_wrong_, "votes": 2 * clf.alpha_}
    return {f", {way}": {"answers": answers[way], "cpu": learning + cpu[way], **found} for way in VOTES}


def row_by_row(model: Any, X: np.ndarray, y: np.ndarray) -> dict:
    """River's answers to rows that it then learns; dictionaries are made inside the clock, as ours are."""
    answers = np.zeros(len(y), int)
    began = time.process_time()
    for i, label in enumerate(y.tolist()):
        x = dict(enumerate(X[i].tolist()))
        answers[i] = model.predict_one(x) or 0
        model.learn_one(x, label)
    return {"answers": answers, "cpu": time.process_time() - began}


def rivers(X: np.ndarray, y: np.ndarray, kind: str, seed: int) -> dict:
    """River's `AdaBoostClassifier`."""
    model = ensemble.AdaBoostClassifier(RIVERS[kind](), n_models=MEMBERS, seed=seed)
    found = row_by_row(model, X, y)
    right, wrong = river_sums(model)
    error = wrong / (right + wrong)
    votes = np.where(error > 0.5, 1.0, np.log((1 - error) / np.maximum(error, 1e-16)))
    return {"": {**found, "right": right, "wrong": wrong, "votes": votes}}


def river_sums(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """What its members had right and wrong."""
    right = np.array([model.correct_weight[m] for m in range(len(model))], float)
    return right, np.array([model.wrong_weight[m] for m in range(len(model))], float)


def alone(X: np.ndarray, y: np.ndarray, kind: str) -> dict:
    """One of River's members by itself."""
    return {"": row_by_row(RIVERS[kind](), X, y)}


def moas(X: np.ndarray, y: np.ndarray, kind: str, updates: str, seed: int) -> dict:
    """MOA's `OzaBoost`, and how many members vote before it stops."""
    found = moa_oza.through(X, y, MOAS[kind], weighted=updates == "weighted", seed=seed, members=MEMBERS)
    found["votes"] = until_stopped(found["votes"])
    return {"": found}


def until_stopped(votes: np.ndarray) -> np.ndarray:
    """MOA's votes: none from the first on that has none."""
    return np.where(np.logical_and.accumulate(votes > 0), votes, 0.0)


METHODS: dict[str, tuple[Callable[..., dict], dict[str, Any], bool]] = {}  # name: function, arguments, drawn
for kind in RIVERS:
    for how in ("poisson", "weighted"):
        if (kind, how) != ("naive Bayes", "weighted"):  # River's takes no weights
            arguments = {"kind": kind, "updates": how, "core": False}
            METHODS[f"ocboost, {kind}, {how}"] = (ours, arguments, how == "poisson")
    if kind == "naive Bayes":
        for how in ("poisson", "weighted"):
            arguments = {"kind": kind, "updates": how, "core": True}
            METHODS[f"ocboost, its own {kind}, {how}"] = (ours, arguments, how == "poisson")
    METHODS[f"River, {kind}"] = (rivers, {"kind": kind}, True)
    for how in ("poisson", "weighted"):
        METHODS[f"MOA, {kind}, {how}"] = (moas, {"kind": kind, "updates": how}, how == "poisson")
    METHODS[f"River, one of the {kind}"] = (alone, {"kind": kind}, False)


def job(name: str, method: str, data: Path | None, rows: int, seed: int) -> dict[str, dict] | str:
    """One method on one stream, with one seed, by what its name ends in; why not, if it cannot be run."""
    X, y = stream(name, data, rows)
    function, given, drawn = METHODS[method]
    try:
        found = function(X, y, **given, **({"seed": seed} if drawn or function is not alone else {}))
    except UnavailableError as why:
        return str(why)
    return {ending: figures(each, y) for ending, each in found.items()}


def figures(found: dict, y: np.ndarray) -> dict:
    """The figures of a run."""
    result = {"accuracy": float(np.mean(found["answers"] == y)), "cpu_us": found["cpu"] / len(y) * 1e6}
    if "votes" in found:
        error = found["wrong"] / (found["right"] + found["wrong"])
        result["above_half"] = int((error > 0.5).sum())
        result["voting"] = int((found["votes"] != 0).sum())
        result["errors"] = error.round(4).tolist()
    return result


# Same members, other votes -------------------------------------------------------------------------------


def other_votes(name: str, kind: str, data: Path | None, rows: int, seed: int) -> dict[str, float]:
    """Accuracies of one River ensemble under each rule of voting, its members and sums being the same."""
    X, y = stream(name, data, rows)
    model = ensemble.AdaBoostClassifier(RIVERS[kind](), n_models=MEMBERS, seed=seed)
    right_answers = dict.fromkeys(("River", "stop", "negative", "negative, answers"), 0)
    for i, label in enumerate(y.tolist()):
        x = dict(enumerate(X[i].tolist()))
        shares = np.zeros((MEMBERS, 2))
        for m, member in enumerate(model):
            given = member.predict_proba_one(x)
            shares[m] = [given.get(0, 0.0), given.get(1, 0.0)]
        right, wrong = river_sums(model)
        error = (wrong + 1e-16) / (right + wrong + 1e-16)
        formula = np.log((1 - error) / error, out=np.zeros(MEMBERS), where=(error > 0) & (error < 1))
        hard = np.where(shares[:, [1]] > shares[:, [0]], [[0.0, 1.0]], [[1.0, 0.0]])
        for rule, votes, ballots in (
            ("River", np.where((error == 0) | (error > 0.5), 1.0, formula), shares),
            ("stop", until_stopped(formula), shares),
            ("negative", formula, shares),
            ("negative, answers", formula, hard),
        ):
            total = votes @ ballots
            right_answers[rule] += int(total[1] > total[0]) == label
        model.learn_one(x, label)
    return {rule: count / len(y) for rule, count in right_answers.items()}


class Column(BaseLearner):
    """Answers by the sign of a feature, the next one for each copy, and learns nothing."""

    index = -1

    def begin(self, n_features: int, n_classes: int, rng: Any) -> "Column":
        """The next one."""
        self.index += 1
        other = Column()
        other.index = self.index
        return other

    def learn(self, example: Any, code: int, weight: float = 1.0) -> None:
        """Nothing to learn."""

    def answer(self, example: Any) -> int:
        """The sign of the feature."""
        return int(example.X[0, self.index] > 0)


class RiverColumn(base.Classifier):
    """The same for River."""

    def __init__(self, index: int = 0) -> None:
        self.index = index

    def learn_one(self, x: dict, y: int) -> None:
        """Nothing to learn."""

    def predict_proba_one(self, x: dict) -> dict[int, float]:
        """All on one side."""
        return {int(x[self.index] > 0): 1.0}


def constructed(rows: int, seed: int) -> dict[str, Any]:
    """Members that answer a feature each: right in 70, 30 and 65 of 100 cases, independently."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=rows)
    is_right = rng.random((rows, 3)) < [0.7, 0.3, 0.65]
    X = np.where(is_right == (y[:, None] > 0), 1.0, -1.0)
    clf = OzaRussellClassifier(Column(), 3, updates="weighted")
    model = ensemble.AdaBoostClassifier(RiverColumn(), n_models=3, seed=seed)
    for index, member in enumerate(model):
        member.index = index
    answers = {name: np.zeros(rows, int) for name in ("ocboost", "River")}
    for i in range(rows):
        x = dict(enumerate(X[i].tolist()))
        if i:
            answers["ocboost"][i] = clf.predict(X[i : i + 1])[0]
            answers["River"][i] = model.predict_one(x)
        clf.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
        model.learn_one(x, int(y[i]))
    found: dict[str, Any] = {"errors": clf.errors_.tolist(), "votes": (2 * clf.alpha_).tolist()}
    found["accuracy"] = {name: float(np.mean(given == y)) for name, given in answers.items()}
    try:
        theirs = moa_oza.through(X, y, "column", weighted=True, seed=seed, members=3)
        found["accuracy"]["MOA"] = float(np.mean(theirs["answers"] == y))
    except UnavailableError as why:
        found["MOA"] = str(why)
    return found


# The report ----------------------------------------------------------------------------------------------


def summary(found: list[dict]) -> dict[str, Any]:
    """Means and spreads over the seeds."""
    accuracies = [each["accuracy"] for each in found]
    result: dict[str, Any] = {
        "accuracy": statistics.mean(accuracies),
        "spread": statistics.stdev(accuracies) if len(found) > 1 else None,
        "cpu_us": statistics.median(each["cpu_us"] for each in found),
        "seeds": len(found),
    }
    for key in ("above_half", "voting"):
        if key in found[0]:
            result[key] = statistics.mean(each[key] for each in found)
    return {**result, "runs": found}


def shown(console: Console, name: str, rows: int, found: dict[str, dict[str, Any]]) -> None:
    table = Table(title=f"{name}, {rows:,} rows", title_justify="left")
    table.add_column("")
    for title in ("accuracy, %", "CPU µs a row", "of River's", "members above ½", "members voting"):
        table.add_column(title, justify="right")
    for method, row in found.items():
        spread = "" if row["spread"] is None else f" ± {100 * row['spread']:.1f}"
        peer = found[f"River, {'naive Bayes' if 'naive Bayes' in method else 'Hoeffding trees'}"]
        cells = [f"{100 * row['accuracy']:.1f}{spread}", f"{row['cpu_us']:.0f}"]
        cells += [f"{row['cpu_us'] / peer['cpu_us']:.2f}"]
        cells += [f"{row[key]:.1f}" if key in row else "" for key in ("above_half", "voting")]
        table.add_row(method, *cells)
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
    parser.add_argument("--rows", type=int, default=3_000, help="of each stream; half as many of insects")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    console = new_console()
    folder = folder_of(given.data)
    began = time.time()
    record: dict[str, Any] = {
        "machine": machine(),
        "settings": {"rows": given.rows, "seeds": given.seeds, "members": MEMBERS},
        "streams": {},
        "notes": [],
    }
    with ProcessPoolExecutor(given.jobs) as pool:
        waiting = {}
        for name in ("elec2", "insects", "generated"):
            if name in FILES and not (folder and (folder / FILES[name]).is_file()):
                record["notes"].append(f"{name} left out: it needs {FILES[name]}; say where with --data")
                continue
            rows = given.rows // 2 if name == "insects" else given.rows
            runs = {
                method: [
                    pool.submit(job, name, method, given.data, rows, seed)
                    for seed in range(given.seeds if drawn else 1)
                ]
                for method, (_, _, drawn) in METHODS.items()
            }
            votes = {base: pool.submit(other_votes, name, base, given.data, rows, 0) for base in RIVERS}
            waiting[name] = rows, runs, votes
        for name, (rows, runs, votes) in waiting.items():
            found = {}
            for method, futures in runs.items():
                results = [future.result() for future in futures]
                if isinstance(results[0], str):
                    record["notes"].append(f"{method} left out: {results[0]}")
                else:
                    for ending in results[0]:
                        found[method + ending] = summary([each[ending] for each in results])
            shown(console, name, rows, found)
            rules = {base: future.result() for base, future in votes.items()}
            for base, accuracies in rules.items():
                cells = ", ".join(f"{rule} {100 * accuracy:.1f}" for rule, accuracy in accuracies.items())
                console.print(f"The same {base} of River's, other votes, accuracy in %: {cells}")
            record["streams"][name] = {"rows": rows, "methods": found, "other_votes": rules}
    record["constructed"] = constructed(2_000, 0)
    console.print(f"Constructed stream: {record['constructed']}")
    for note in dict.fromkeys(record["notes"]):
        console.print(f"Note: {note}")
    record["seconds"] = time.time() - began
    write_results(given.out, record)
    console.print(f"Wrote {given.out} after {record['seconds']:.0f} s")


if __name__ == "__main__":
    main()
