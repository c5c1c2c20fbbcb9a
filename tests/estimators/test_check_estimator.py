"""scikit-learn's own checks, whole: none is expected to fail.

One is not meant for balls, which are found in examples drawn at random: that a weight of two is the same as
the example twice, in another order, to the last digit.
"""

from __future__ import annotations

import warnings

import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import estimator_checks

from ocboost import OCBClassifier

KINDS = {
    "stumps": OCBClassifier(n_hypotheses=10),
    "balls": OCBClassifier("ball", 10, random_state=0),
    "trees": OCBClassifier(DecisionTreeClassifier(max_depth=2), 5, random_state=0),
    "window": OCBClassifier(n_hypotheses=10, tail=False, head=50),
    "growing": OCBClassifier(n_hypotheses=10, grow=15, random_state=0),
}
NEEDS_SETTING = {"check_array_api_input", "check_array_api_input_and_values"}  # SCIPY_ARRAY_API=1
DRAWN = ("balls", "check_sample_weight_equivalence_on_dense_data")


def checks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        for kind, estimator in KINDS.items():
            found = estimator_checks.estimator_checks_generator(estimator)
            for number, (instance, check) in enumerate(found):
                called = getattr(check, "func", check).__name__
                if (kind, called) != DRAWN:
                    yield pytest.param(instance, check, called, id=f"{kind}-{number}-{called}")


@pytest.mark.parametrize(("estimator", "check", "called"), list(checks()))
def test_check(estimator, check, called):
    if called in NEEDS_SETTING:
        pytest.skip("array API: needs SCIPY_ARRAY_API=1, and a float64 NumPy array is all that is taken")
    check(estimator)


def test_nothing_is_left_out():
    called = [param.values[2] for param in checks() if param.id.startswith("stumps-")]
    assert len(called) > 45
    assert "check_sample_weight_equivalence_on_dense_data" in called
    assert "check_sample_weight_equivalence_on_sparse_data" in called
    assert "check_classifiers_train" in called
