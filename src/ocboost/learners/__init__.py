"""Learners: what finds weak hypotheses in examples."""

from .ball_learner import BallLearner
from .base import Learner
from .box_learner import BoxLearner
from .choose import learner_for
from .sklearn_learner import SklearnLearner
from .stump_learner import StumpLearner

__all__ = ["BallLearner", "BoxLearner", "Learner", "SklearnLearner", "StumpLearner", "learner_for"]
