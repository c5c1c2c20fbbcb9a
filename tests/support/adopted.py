"""Fitted models of every kind that can be adopted, and the rows and tables that they were fitted on."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from ocboost import AdaptiveClassifier, OCBClassifier
from tests.support.adaptive import stream

N = 220  # rows to fit on
TOWNS = np.array(["Bern", "Rome", "Oslo"])


def rows(K=2):
    """Rows without gaps, and labels that turn half-way."""
    X, y = stream(600, K)
    return np.nan_to_num(X), y


def adopt(model, X, y, n=N, **options):
    """A small classifier that has adopted a model."""
    return AdaptiveClassifier.from_fitted(
        model, X[:n], y[:n], **{"n_hypotheses": 12, "random_state": 0, **options}
    )


class OnlyProbabilities:
    """A model that says nothing about itself."""

    def __init__(self, inside, change=lambda p: p):
        self.inside, self.change = inside, change

    def predict_proba(self, X):
        return self.change(self.inside.predict_proba(X))


class OnlyScores:
    """A model that decides, and has no ``predict``."""

    def __init__(self, inside):
        self.inside, self.classes_ = inside, inside.classes_

    def decision_function(self, X):
        return self.inside.decision_function(X)


class OwnModel(LogisticRegression):
    """A model of somebody's own class."""


WITH_TREES = {
    "AdaBoost, stumps": lambda: AdaBoostClassifier(n_estimators=5, random_state=0),
    "AdaBoost, trees": lambda: AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=3), n_estimators=4, random_state=0
    ),
    "RandomForest": lambda: RandomForestClassifier(n_estimators=5, random_state=0),
    "ExtraTrees": lambda: ExtraTreesClassifier(n_estimators=5, random_state=0),
    "GradientBoosting": lambda: GradientBoostingClassifier(n_estimators=4, random_state=0),
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(max_iter=4, random_state=0),
    "LightGBM": lambda: LGBMClassifier(n_estimators=4, verbose=-1, n_jobs=1, random_state=0),
    "XGBoost": lambda: XGBClassifier(n_estimators=4, n_jobs=1, random_state=0),
    "pipeline": lambda: make_pipeline(
        StandardScaler(), RandomForestClassifier(n_estimators=4, random_state=0)
    ),
    "search": lambda: GridSearchCV(
        AdaBoostClassifier(n_estimators=4, random_state=0), {"n_estimators": [4]}, cv=2
    ),
    "search of a pipeline": lambda: GridSearchCV(
        make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=3, random_state=0)), {}, cv=2
    ),
}
SAVED_WITHOUT_TREES = {
    "calibrated": lambda: CalibratedClassifierCV(LogisticRegression(), cv=2),
    "LinearSVC": LinearSVC,
    "Ridge": RidgeClassifier,
    "logistic": LogisticRegression,
    "naive Bayes": GaussianNB,
    "SGD": lambda: SGDClassifier(loss="log_loss", random_state=0),
    "voting": lambda: VotingClassifier(
        [("a", GaussianNB()), ("b", DecisionTreeClassifier(max_depth=2))], voting="soft"
    ),
    "OCBClassifier": lambda: OCBClassifier(n_hypotheses=8, random_state=0),
}
NEVER_SAVED = {
    "neighbours": KNeighborsClassifier,
    "own class": OwnModel,
    "only probabilities": lambda: Late(GaussianNB, OnlyProbabilities),
    "only scores": lambda: Late(LinearSVC, OnlyScores),
}
EVERY_MODEL = {**WITH_TREES, **SAVED_WITHOUT_TREES, **NEVER_SAVED}


class Late:
    """Something to fit that becomes another thing."""

    def __init__(self, inside, outside):
        self._inside, self._outside = inside, outside

    def fit(self, X, y):
        return self._outside(self._inside().fit(X, y))


@cache
def fitted_model(name, K=2):
    """The model of a name, fitted on the first rows; never changed."""
    X, y = rows(K)
    return EVERY_MODEL[name]().fit(X[:N], y[:N])


def expected(model, X):
    """What a model says: its probabilities, or the link of its scores."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    scores = model.decision_function(X)
    if scores.ndim == 1:
        right = 1.0 / (1.0 + np.exp(-scores))
        return np.stack([1.0 - right, right], axis=1)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


# Tables ----------------------------------------------------------------------------------------------------


@cache
def _table(n, K, seed):
    rng = np.random.default_rng([seed, K])
    size, price, town = rng.normal(size=n).round(2), rng.normal(size=n).round(2), rng.integers(0, 3, n)
    score = np.where(np.arange(n) < n // 2, size + (town == 1), price - (town == 2))
    score = score + 0.3 * rng.normal(size=n)
    y = np.digitize(score, np.quantile(score, np.arange(1, K) / K))
    texts = TOWNS[town].astype(object)
    size[rng.random(n) < 0.05] = np.nan
    texts[rng.random(n) < 0.05] = np.nan
    frame = pd.DataFrame(
        {
            "size": size,
            "town": texts,
            "price": price,
            "sold": pd.Timestamp("2024-01-01", tz="UTC") + pd.to_timedelta(np.arange(n), unit="h"),
            "new": rng.random(n) < 0.5,
        }
    )
    return frame, pd.Series(np.array(["low", "mid", "top"])[y], name="class")


def table(n=500, K=2, seed=0):
    """A table with missing numbers and texts, dates and truth values, and its labels."""
    frame, labels = _table(n, K, seed)
    return frame.copy(), labels.copy()


def prepared(last):
    """A pipeline for the table that ends in a model."""
    texts = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    )
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return make_pipeline(
        ColumnTransformer([("numbers", numbers, ["size", "price"]), ("texts", texts, ["town"])]), last
    )


def coded(last):
    """One whose texts become codes, unknown and missing ones too."""
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    return make_pipeline(ColumnTransformer([("texts", codes, ["town"])], remainder="drop"), last)


TABLE_MODELS = {
    "HistGradientBoosting": lambda: prepared(HistGradientBoostingClassifier(max_iter=4, random_state=0)),
    "AdaBoost": lambda: prepared(AdaBoostClassifier(n_estimators=4, random_state=0)),
    "logistic": lambda: prepared(LogisticRegression()),
    "search": lambda: GridSearchCV(
        prepared(RandomForestClassifier(n_estimators=4, random_state=0)), {}, cv=2
    ),
    "codes": lambda: coded(ExtraTreesClassifier(n_estimators=4, random_state=0)),
    "OCBClassifier": lambda: OCBClassifier(n_hypotheses=8, random_state=0),
}
