"""Fitted models of every kind, adopted by AdaptiveClassifier, beside themselves as they were and retrained.

    python experiments/adopt.py [--data DIR] [--streams elec2,insects,flights] [--kinds all]
                                [--first 2000] [--rows 12000] [--seeds 0] [--jobs N]

Each model is fitted on the first rows of a stream. From there on each row is predicted and then learnt by

- left: the model as it was;
- adopted: AdaptiveClassifier.from_fitted(model, first rows);
- retrained: the same kind of model, fitted again every 1,000 rows on the last 5,000;
- nothing adopted: AdaptiveClassifier, fitted on the same first rows without the model;
- refit: LightGBM's own way, new values in the leaves of its trees every 1,000 rows (decay_rate 0.9).

The table has the accuracy, in percent, over all rows after the first 2,000 that were learnt, and over those
2,000. "same" says whether predictions and probabilities of the adopted model were the model's own to the bit
on the next 500 rows before the first label. Results go to experiments/results/adopt.json.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import ocboost
from ocboost.datasets.drift import stream_named

RESULTS = Path(__file__).parent / "results" / "adopt.json"
SETTLING = 2000  # rows after which the accuracy is compared
EVERY = 1000  # rows between two fits of a model that is retrained
KEPT = 5000  # rows that it is fitted on


def lightgbm(seed: int) -> Any:
    """LightGBM's classifier."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, verbose=-1, n_jobs=1)


def xgboost(seed: int) -> Any:
    """XGBoost's classifier."""
    from xgboost import XGBClassifier

    return XGBClassifier(random_state=seed, n_jobs=1)


def stumps(seed: int) -> Any:
    """AdaBoost of 100 stumps."""
    return AdaBoostClassifier(n_estimators=100, random_state=seed)


def forest(seed: int) -> Any:
    """A random forest of 100 trees."""
    return RandomForestClassifier(n_estimators=100, random_state=seed)


KINDS: dict[str, Callable[[int], Any]] = {
    "AdaBoost": stumps,
    "AdaBoost of trees": lambda seed: AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=3), n_estimators=50, random_state=seed
    ),
    "RandomForest": forest,
    "ExtraTrees": lambda seed: ExtraTreesClassifier(n_estimators=100, random_state=seed),
    "GradientBoosting": lambda seed: GradientBoostingClassifier(random_state=seed),
    "HistGradientBoosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "Pipeline": lambda seed: make_pipeline(
        SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=1000)
    ),
    "Pipeline of HGB": lambda seed: make_pipeline(
        StandardScaler(), HistGradientBoostingClassifier(random_state=seed)
    ),
    "GridSearchCV": lambda seed: GridSearchCV(stumps(seed), {"learning_rate": [0.5, 1.0]}, cv=3),
    "Calibrated": lambda seed: CalibratedClassifierCV(
        RandomForestClassifier(n_estimators=50, random_state=seed), cv=3
    ),
    "decision only": lambda seed: make_pipeline(StandardScaler(), LinearSVC(random_state=seed)),
    "naive Bayes": lambda seed: GaussianNB(),
}


def accuracy(right: np.ndarray) -> list[float]:
    """In percent, after the first rows and on them."""
    return [100.0 * float(right[SETTLING:].mean()), 100.0 * float(right[:SETTLING].mean())]


def adapted(model: Any, X: np.ndarray, y: np.ndarray, first: int, seed: int) -> dict[str, Any]:
    """How an adopted model does, row by row."""
    clf = ocboost.AdaptiveClassifier.from_fitted(model, X[:first], y[:first], random_state=seed)
    nearby = X[first : first + 500]
    same = bool((clf.predict(nearby, issue=False) == model.predict(nearby)).all())
    if hasattr(model, "predict_proba"):
        same = same and bool((clf.predict_proba(nearby, issue=False) == model.predict_proba(nearby)).all())
    right = np.empty(len(X) - first, bool)
    began = time.process_time()
    for i in range(first, len(X)):
        right[i - first] = clf.predict_one(X[i]) == y[i]
        clf.learn_one(X[i], y[i])
    micros = 1e6 * (time.process_time() - began) / len(right)
    return {"same": same, "adopted": accuracy(right), "microseconds": micros}


def fresh(stream: str, seed: int, given: argparse.Namespace) -> list[float]:
    """How AdaptiveClassifier does that was fitted on the first rows, and has adopted nothing."""
    ocboost.set_num_threads(1)
    X, y = rows_of(stream, seed, given)
    clf = ocboost.AdaptiveClassifier(random_state=seed).fit(X[: given.first], y[: given.first])
    right = np.empty(len(X) - given.first, bool)
    for i in range(given.first, len(X)):
        right[i - given.first] = clf.predict_one(X[i]) == y[i]
        clf.learn_one(X[i], y[i])
    return accuracy(right)


def rows_of(stream: str, seed: int, given: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    """Features without gaps, and classes as numbers, which XGBoost wants."""
    rows = stream_named(stream).load(given.data, rows=given.rows, seed=seed).rows
    y = np.asarray(rows.y)
    return np.nan_to_num(np.asarray(rows.X)), np.unique(
        y.astype(str) if y.dtype == object else y, return_inverse=True
    )[1]


def retrained(model: Any, X: np.ndarray, y: np.ndarray, first: int) -> list[float]:
    """How the same kind of model does if it is fitted again every so often, on the last rows."""
    right = np.empty(len(X) - first, bool)
    for start in range(first, len(X), EVERY):
        part = slice(start, start + EVERY)
        right[start - first : start - first + EVERY] = model.predict(X[part]) == y[part]
        if start + EVERY < len(X):
            last = slice(max(0, start + EVERY - KEPT), start + EVERY)
            model = clone(model).fit(X[last], y[last])
    return accuracy(right)


def refitted(model: Any, X: np.ndarray, y: np.ndarray, first: int) -> list[float]:
    """How LightGBM does with new values in the leaves of its trees every so often."""
    booster, classes = model.booster_, model.classes_
    codes = np.searchsorted(classes, y)
    right = np.empty(len(X) - first, bool)
    for start in range(first, len(X), EVERY):
        part = slice(start, start + EVERY)
        said = booster.predict(X[part])
        best = said.argmax(axis=1) if said.ndim == 2 else (said > 0.5).astype(int)
        right[start - first : start - first + EVERY] = best == codes[part]
        if start + EVERY < len(X):
            booster = booster.refit(X[part], codes[part], decay_rate=0.9, verbose=-1)
    return accuracy(right)


def run(kind: str, stream: str, seed: int, given: argparse.Namespace) -> dict[str, Any]:
    """Everything about one kind of model on one stream."""
    ocboost.set_num_threads(1)
    X, y = rows_of(stream, seed, given)
    first = given.first
    model = KINDS[kind](seed).fit(X[:first], y[:first])
    found = {
        "left": accuracy(np.asarray(model.predict(X[first:])) == y[first:]),
        **adapted(model, X, y, first, seed),
        "retrained": retrained(model, X, y, first),
    }
    if kind == "LightGBM":
        found["refit"] = refitted(model, X, y, first)
    return found


def main() -> None:
    """Run, print a table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
    parser.add_argument("--streams", default="elec2,insects,flights")
    parser.add_argument("--kinds", default="all")
    parser.add_argument("--first", type=int, default=2_000)
    parser.add_argument("--rows", type=int, default=12_000)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    given.data = None if given.data is None else Path(given.data)
    streams = given.streams.split(",")
    kinds = list(KINDS) if given.kinds == "all" else given.kinds.split(",")
    seeds = [int(seed) for seed in given.seeds.split(",")]
    work = [(stream, kind, seed) for stream in streams for kind in kinds for seed in seeds]
    found = Parallel(given.jobs)(delayed(run)(kind, stream, seed, given) for stream, kind, seed in work)
    alone = [(stream, seed) for stream in streams for seed in seeds]
    without = Parallel(given.jobs)(delayed(fresh)(stream, seed, given) for stream, seed in alone)
    nothing = {
        stream: [own for (s, _), own in zip(alone, without, strict=True) if s == stream] for stream in streams
    }
    record: dict[str, Any] = {}
    for (stream, kind, _), each in zip(work, found, strict=True):
        record.setdefault(stream, {}).setdefault(kind, []).append(each)
    for stream in streams:
        print(f"\n{stream:38s} after {SETTLING:,} rows learnt        on these {SETTLING:,}")
        print(
            f"{'':22s} {'left':>7s} {'adopted':>8s} {'retrained':>10s} {'left':>9s} {'adopted':>8s}"
            "  same     µs"
        )
        for kind in kinds:
            runs = record[stream][kind]
            means = {
                key: np.mean([each[key] for each in runs], axis=0) for key in ("left", "adopted", "retrained")
            }
            cells = " ".join(f"{means[key][0]:9.2f}" for key in ("left", "adopted", "retrained"))
            soon = " ".join(f"{means[key][1]:8.2f}" for key in ("left", "adopted"))
            same = "yes" if all(each["same"] for each in runs) else "NO"
            micros = np.mean([each["microseconds"] for each in runs])
            refit = [each["refit"][0] for each in runs if "refit" in each]
            note = f"  refit {np.mean(refit):.2f}" if refit else ""
            print(f"{kind:20s} {cells} {soon}  {same:4s} {micros:6.0f}{note}")
        later, soon_after = np.mean(nothing[stream], axis=0)
        print(f"{'nothing adopted':20s} {'':9s} {later:9.2f} {'':9s} {'':8s} {soon_after:8.2f}")
    about = {
        "first": given.first,
        "rows": given.rows,
        "seeds": seeds,
        "settling": SETTLING,
        "every": EVERY,
        "kept": KEPT,
    }
    RESULTS.write_text(
        json.dumps({"about": about, "nothing_adopted": nothing, "streams": record}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
