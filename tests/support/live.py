"""Small models and streams for tests of models in service."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ocboost import AdaptiveClassifier, OCBClassifier
from ocboost.deployment.model import Model

COLUMNS = ["a", "b", "colour"]


@cache
def table(n: int = 400, seed: int = 0) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Rows with numbers and a category, some missing, and labels."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 2)).round(3), columns=["a", "b"])
    X["colour"] = rng.choice(["red", "green", "blue"], n)
    y = np.where(X["a"] + (X["colour"] == "red") > rng.normal(0, 0.3, n), "yes", "no")
    X.loc[rng.random(n) < 0.05, "b"] = np.nan
    return X, tuple(y.tolist())


def records(start: int = 200, stop: int | None = None) -> list[dict[str, Any]]:
    """Rows as a service gets them: None is missing."""
    X, _ = table()
    rows: list[dict[str, Any]] = (
        X[start:stop].astype(object).where(X[start:stop].notna(), None).to_dict("records")
    )
    return rows


def labels(start: int = 200, stop: int | None = None) -> list[str]:
    return list(table()[1][start:stop])


@cache
def _fitted(kind: str) -> Model:
    X, y = table()
    clf: Any = (
        OCBClassifier(n_hypotheses=8, random_state=0)
        if kind == "ocb"
        else AdaptiveClassifier(random_state=0, n_hypotheses=8)
    )
    clf.fit(X[:200], pd.Series(y[:200], name="answer"))
    return Model(clf)


def model(kind: str = "ocb") -> Model:
    """A fitted model; the adapter copies it."""
    return _fitted(kind)


def crashed_copy(folder: Path, to: Path) -> Path:
    """What a crash of the machine would leave of a state folder, in another place."""
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns(".*"))
    return to
