"""A deployed AdaBoost on four real streams, as it is and adopted: right over the last 1,000 rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.ensemble import AdaBoostClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from ocboost import AdaptiveClassifier
from ocboost.datasets.drift import STREAMS

from .heavy_margins import Folders

NAMES = ("elec2", "insects", "flights", "spam")
START = 2_000  # rows that AdaBoost is fitted on
STUMPS = 100
WINDOW, POINTS = 1_000, 160


def measure(quick: bool, folders: Folders) -> Iterator[dict[str, Any]]:
    """Each stream once, seed 0: every row is predicted, then learnt by the adopted model."""
    for name in NAMES:
        stream = STREAMS[name]
        if not folders.has(stream.file):
            continue
        rows = stream.load(folders.data, rows=4_000 if quick else None).rows
        X, y = rows.X, np.asarray(rows.y)
        deployed = AdaBoostClassifier(n_estimators=STUMPS, random_state=0)
        if not issparse(X) and np.isnan(X).any():
            deployed = make_pipeline(SimpleImputer(), deployed)
        deployed.fit(X[:START], y[:START])
        clf = AdaptiveClassifier.from_fitted(deployed, X[:START], y[:START], random_state=0)
        right = {
            "deployed": deployed.predict(X[START:]) == y[START:],
            "adapted": np.zeros(len(y) - START, bool),
        }
        for i in range(START, len(y)):
            if issparse(X):
                guess = clf.predict(X[i : i + 1])[0]
                clf.partial_fit(X[i : i + 1], y[i : i + 1])
            else:
                guess = clf.predict_one(X[i])
                clf.learn_one(X[i], y[i])
            right["adapted"][i - START] = guess == y[i]
        at = np.unique(np.linspace(WINDOW, len(y) - START, POINTS).astype(int))
        found: dict[str, Any] = {
            "stream": name,
            "title": stream.title,
            "rows": len(y) - START,
            "at": at.tolist(),
        }
        for line, each in right.items():
            sums = np.concatenate([[0], np.cumsum(each)])
            found[line] = round(float(each.mean()), 5)
            found[f"{line}_curve"] = np.round((sums[at] - sums[at - WINDOW]) / WINDOW, 4).tolist()
        print(
            f"{stream.title}: {found['deployed']:.3f} as deployed, {found['adapted']:.3f} adapted", flush=True
        )
        yield found
