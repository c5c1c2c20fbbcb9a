"""Votes of hypotheses as offsets."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.frozen import FrozenEstimator

from ocboost import InputError, OCBClassifier
from ocboost.hypotheses import Stumps, from_sklearn
from ocboost.offsets import VotedOffset
from tests.support.offset_examples import examples, pool


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_deployed_adaboost_is_on_the_scale_it_was_boosted_on(n_classes):
    X, y = examples(n_classes, 200)
    deployed = AdaBoostClassifier(n_estimators=12, random_state=0).fit(X, y)
    votes = sum(
        weight / 2 * np.where(member.predict(X)[:, None] == np.arange(n_classes), 1, -1)
        for weight, member in zip(deployed.estimator_weights_, deployed.estimators_, strict=True)
    )
    for offset in (deployed, FrozenEstimator(deployed), VotedOffset.from_adaboost(deployed)):
        clf = OCBClassifier.from_offset(offset, from_sklearn(deployed))
        np.testing.assert_array_equal(clf.predict(X), deployed.predict(X))
        expected = votes[:, 1] if n_classes == 2 else votes
        np.testing.assert_allclose(clf.decision_function(X), expected, atol=1e-12)
        assert np.abs(expected).max() > 1.5 * np.abs(deployed.decision_function(X)).max()
    clf.partial_fit(X, y)


def test_a_sum_of_leaves():
    X, _ = examples()
    up, down = np.array([0.7, 0.1]), np.array([-0.2, 0.4])
    stumps = Stumps([0, 1], [0.0, 0.3], [1, -1], n_features=4)
    offset = VotedOffset(stumps, (up - down) / 2, ((up + down) / 2).sum())
    expected = np.where(stumps.answers(X) > 0, up, down).sum(axis=1)
    np.testing.assert_allclose(offset(X), expected, atol=1e-12)


def test_votes_that_make_no_sense():
    with pytest.raises(InputError, match="one weight for each of the 20 hypotheses"):
        VotedOffset(pool(), np.ones(19))
    with pytest.raises(InputError, match="shift must be one number, or one for each class"):
        VotedOffset(pool(), np.ones((3, 20)), np.ones(2))
    with pytest.raises(InputError, match=r"hypotheses must be of ocboost\.hypotheses"):
        VotedOffset("stump", np.ones(2))
