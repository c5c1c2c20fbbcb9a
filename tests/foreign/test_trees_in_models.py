"""Trees of other libraries after steps, calibrated, and with texts of their own."""

from __future__ import annotations

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

from tests.foreign.frames import check_model, frame, late, rows_of

FEW = 6
TREES = {
    "forest": RandomForestClassifier(FEW, max_depth=5, random_state=0),
    "adaboost": AdaBoostClassifier(n_estimators=FEW, random_state=0),
    "gradient": GradientBoostingClassifier(n_estimators=FEW, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=FEW),
    "lightgbm": LGBMClassifier(n_estimators=FEW, verbose=-1, n_jobs=1),
    "xgboost": XGBClassifier(n_estimators=FEW, n_jobs=1),
}


def given(table):
    return lambda made: rows_of(made, table)


def before():
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    pre = [("n", SimpleImputer(), ["price", "size"]), ("w", words, ["town"])]
    return ColumnTransformer(pre, verbose_feature_names_out=False).set_output(transform="pandas")


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", TREES)
def test_after_steps_and_calibrated(name, K):
    table, other = frame(), frame(seed=1, unknown=True)
    y = np.digitize(table["price"], np.quantile(table["price"], np.arange(1, K) / K))
    y[::7] = 0
    single = 1e-6 if name == "xgboost" else 1e-12
    pipe = make_pipeline(before(), TREES[name]).fit(table, y)
    made = check_model(pipe, other, given(other), tolerance=single)
    assert set(made.reads) <= {0, 1, 5}
    assert made.accepts_missing
    for method in ("sigmoid", "isotonic"):
        fitted = CalibratedClassifierCV(pipe, method=method, cv=2).fit(table, y)
        check_model(fitted, other, given(other), tolerance=10 * single)  # isotonic steps are steep
    if K == 2:
        fitted = FixedThresholdClassifier(pipe, threshold=0.3, response_method="predict_proba").fit(table, y)
        check_model(fitted, other, given(other), tolerance=single)


def test_texts_that_trees_know_beside_those_of_steps():
    """Each model has codes of its own; rows hold those of the union."""
    table, other = (
        frame(seed=seed, unknown=seed > 0).astype({"town": object, "kind": object, "new": int})
        for seed in (0, 1)
    )
    y = late(table)
    own = HistGradientBoostingClassifier(max_iter=FEW, categorical_features=["town", "kind"])
    check_model(own.fit(table, y), other, given(other))
    nowhere = SimpleImputer(strategy="constant", fill_value="Aix")
    words = make_pipeline(nowhere, OneHotEncoder(handle_unknown="ignore"))
    steps = make_pipeline(ColumnTransformer([("w", words, ["town"])]), TREES["forest"])
    fitted = VotingClassifier([("own", own), ("steps", steps)], voting="soft").fit(table, y)
    made = check_model(fitted, other, given(other))
    assert made.vocabularies[1] == ("Aix", "Bern", "Nice", "Oslo", "Rome")
