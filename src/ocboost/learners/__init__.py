"""Learners: each finds weak hypotheses in labelled examples."""

from __future__ import annotations

from typing import Any

from ocboost.errors import InputError
from ocboost.hypotheses import Hypotheses
from ocboost.learners.balls import BallLearner
from ocboost.learners.base import Learner
from ocboost.learners.boxes import BoxLearner
from ocboost.learners.sklearn import SklearnLearner
from ocboost.learners.stumps import StumpLearner

__all__ = ["BallLearner", "BoxLearner", "Learner", "SklearnLearner", "StumpLearner", "learner_for"]

LEARNERS: dict[str, type[Learner]] = {"stump": StumpLearner, "ball": BallLearner, "box": BoxLearner}


def learner_for(estimator: Any) -> Learner | Hypotheses:
    """The learner that ``estimator`` names; learners and hypotheses are returned unchanged.

    Parameters
    ----------
    estimator : None, str, learner, hypotheses or scikit-learn classifier
        As of `OCBClassifier`.

    Returns
    -------
    Learner or Hypotheses
        What finds hypotheses, or is them.

    Raises
    ------
    InputError
        If it is none of these.

    Examples
    --------
    >>> type(learner_for("ball")).__name__
    'BallLearner'
    """
    if estimator is None:
        return StumpLearner()
    if isinstance(estimator, Learner | Hypotheses):
        return estimator
    if isinstance(estimator, str) and estimator in LEARNERS:
        return LEARNERS[estimator]()
    if hasattr(estimator, "fit") and hasattr(estimator, "predict"):
        return SklearnLearner(estimator)
    raise InputError(
        "estimator must be None, 'stump', 'ball', 'box', a learner of ocboost.learners, hypotheses of "
        f"ocboost.hypotheses, or a classifier with fit and predict; got {estimator!r:.80}. "
        "None learns decision stumps."
    )
