"""Learners: what finds weak hypotheses in examples. They live in `ocboost.hypotheses.learners`."""

from ocboost.hypotheses.learners import (
    BallLearner,
    BoxLearner,
    Learner,
    SklearnLearner,
    StumpLearner,
    learner_for,
)

__all__ = ["BallLearner", "BoxLearner", "Learner", "SklearnLearner", "StumpLearner", "learner_for"]
