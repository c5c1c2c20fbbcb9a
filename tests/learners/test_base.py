"""What a learner of one's own gets from the base class."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost import InputError, OCBClassifier
from ocboost.hypotheses import Stumps
from ocboost.learners import Learner, StumpLearner

X = np.array([[1, 4], [2, 3], [3, 2], [4, 1]])
Y = [1, 1, -1, -1]


class FirstFeature(Learner):
    """One stump at the mean of the first feature; remembers what it was given."""

    def _learn(self, examples, n_hypotheses, rng):
        self.given = examples, n_hypotheses, rng
        return Stumps([0], [examples.X[:, 0].mean()], [examples.y[0]], n_features=examples.X.shape[1])


def test_it_learns_from_checked_examples():
    learner = FirstFeature()
    found = learner.learn(X, Y, n_hypotheses=3)
    assert found.answers(X).ravel().tolist() == Y
    examples, n_hypotheses, rng = learner.given
    assert n_hypotheses == 3
    assert isinstance(rng, np.random.Generator)
    assert (examples.X.dtype, examples.y.dtype) == (np.float64, np.int8)
    assert examples.weights.tolist() == [1.0] * 4


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"X": X[0]}, "X must be a matrix"),
        ({"y": [1, 2, 3, 4]}, "y must be -1 and"),
        ({"sample_weight": np.zeros(4)}, "sample_weight must have a finite sum above zero"),
        ({"n_hypotheses": 0}, "n_hypotheses must"),
    ],
)
def test_what_is_wrong_does_not_reach_it(wrong, text):
    learner = FirstFeature()
    with pytest.raises(InputError, match=text):
        learner.learn(**{"X": X, "y": Y, "n_hypotheses": 1, **wrong})
    assert not hasattr(learner, "given")


def test_it_fits_a_classifier():
    clf = OCBClassifier(FirstFeature()).fit(X, Y)
    assert clf.predict(X).tolist() == Y


def test_one_that_implements_nothing():
    with pytest.raises(NotImplementedError, match="implements neither _learn nor learn"):
        type("Nothing", (Learner,), {})().learn(X, Y, n_hypotheses=1)


@pytest.mark.parametrize("learner", [FirstFeature(), StumpLearner()])
def test_no_targets(learner):
    assert learner.learn_each(X, [], n_hypotheses=1) == []
