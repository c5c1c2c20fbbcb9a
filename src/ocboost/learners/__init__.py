"""Learners: what finds weak hypotheses in examples."""

from .ball_learner import BallLearner
from .base import Learner
from .choose import learner_for
from .sklearn_learner import SklearnLearner
from .stump_learner import StumpLearner

__all__ = ["BallLearner", "Learner", "SklearnLearner", "StumpLearner", "learner_for"]
