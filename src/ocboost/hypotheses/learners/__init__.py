"""Learners: what finds weak hypotheses in examples."""

from ocboost.hypotheses.learners.balls import BallLearner
from ocboost.hypotheses.learners.base import Learner
from ocboost.hypotheses.learners.boxes import BoxLearner
from ocboost.hypotheses.learners.choose import learner_for
from ocboost.hypotheses.learners.sklearn import SklearnLearner
from ocboost.hypotheses.learners.stumps import StumpLearner

__all__ = ["BallLearner", "BoxLearner", "Learner", "SklearnLearner", "StumpLearner", "learner_for"]
