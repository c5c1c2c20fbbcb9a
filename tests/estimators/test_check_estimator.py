"""scikit-learn's own checks, whole, but for two kinds.

One is not meant for classifiers that draw, or that learn row by row: that a weight of two is the same as the
example twice, in another order, to the last digit. The other asks that a table whose columns come in another
order is refused: ours finds columns by name (`tests/estimators/test_tables.py` has the rest of that check).
"""

from __future__ import annotations

import warnings

import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import estimator_checks

from ocboost import AdaptiveClassifier, OCBClassifier
from ocboost.learners import BallLearner
from ocboost.lineage import FilterBoost, OzaRussellClassifier

KINDS = {
    "stumps": OCBClassifier(n_hypotheses=10),
    "balls": OCBClassifier("ball", 10, random_state=0),
    "trees": OCBClassifier(DecisionTreeClassifier(max_depth=2), 5, random_state=0),
    "window": OCBClassifier(n_hypotheses=10, tail=False, head=50),
    "growing": OCBClassifier(n_hypotheses=10, grow=15, random_state=0),
    "filterboost": FilterBoost(n_hypotheses=8, sample=60, most_examples=5_000, random_state=0),
    "filterboost balls": FilterBoost(
        BallLearner(n_sample=50), n_hypotheses=5, sample=60, most_examples=3_000, random_state=0
    ),
    "adaptive": AdaptiveClassifier(n_hypotheses=5, random_state=0),
    "oza poisson": OzaRussellClassifier(n_estimators=3, random_state=0),
    "oza weighted": OzaRussellClassifier(n_estimators=3, updates="weighted", random_state=0),
}
NEEDS_SETTING = {"check_array_api_input", "check_array_api_input_and_values"}  # SCIPY_ARRAY_API=1
ON_DENSE = "check_sample_weight_equivalence_on_dense_data"
ON_SPARSE = "check_sample_weight_equivalence_on_sparse_data"
DRAWN_OR_ORDERED = {
    "balls": {ON_DENSE},
    **{kind: {ON_DENSE, ON_SPARSE} for kind in KINDS if kind.startswith(("adaptive", "filterboost", "oza"))},
}

BY_NAME = "check_dataframe_column_names_consistency"
TAKE_TABLES = [kind for kind in KINDS if not kind.startswith(("filterboost", "oza"))]


def checks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        for kind, estimator in KINDS.items():
            found = estimator_checks.estimator_checks_generator(estimator)
            for number, (instance, check) in enumerate(found):
                called = getattr(check, "func", check).__name__
                if called == BY_NAME and kind in TAKE_TABLES:
                    continue
                if called not in DRAWN_OR_ORDERED.get(kind, ()):
                    yield pytest.param(instance, check, called, id=f"{kind}-{number}-{called}")


@pytest.mark.parametrize(("estimator", "check", "called"), list(checks()))
def test_check(estimator, check, called):
    if called in NEEDS_SETTING:
        pytest.skip("array API: needs SCIPY_ARRAY_API=1, and a float64 NumPy array is all that is taken")
    check(estimator)


@pytest.mark.parametrize("kind", ["stumps", "adaptive", "filterboost", "oza poisson"])
def test_nothing_else_is_left_out(kind):
    called = [param.values[2] for param in checks() if param.id.startswith(f"{kind}-")]
    assert len([each for each in called if each not in NEEDS_SETTING]) > 45
    assert "check_classifiers_train" in called
    if kind == "stumps":
        assert {ON_DENSE, ON_SPARSE} <= set(called)
