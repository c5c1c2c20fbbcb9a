"""What Oza and Russell's booster is given to boost, checked against how it is to learn and to vote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InputError
from .base_learners import BaseLearner, RiverLearner, SklearnMember, as_base_learner
from .naive_bayes import NaiveBayes

UPDATES = ("poisson", "weighted")
VOTES = ("answers", "probabilities")


def prototypes_of(estimator: Any, updates: str, votes: str) -> list[BaseLearner]:
    """The base learners to copy; naive Bayes where None is given.

    >>> prototypes_of(None, "poisson", "answers")
    [NaiveBayes(var_smoothing=1e-09)]
    """
    given = NaiveBayes() if estimator is None else estimator
    several: Sequence[Any] = given if isinstance(given, list | tuple) else [given]
    if not several:
        raise InputError("estimator must be a classifier or a list of at least one; got an empty list.")
    prototypes = [as_base_learner(each) for each in several]
    if updates not in UPDATES:
        raise InputError(
            f'updates must be "poisson" or "weighted"; got {updates!r:.80}. The paper has "poisson".'
        )
    if updates == "weighted":
        for each in prototypes:
            require_weights(each)
    require_votes(prototypes, votes)
    return prototypes


def require_weights(learner: BaseLearner) -> None:
    """Refuse a base learner that cannot learn a weighted example."""
    if not learner.takes_weights:
        called = type(learner.model).__name__
        what = (
            "w in its learn_one" if isinstance(learner, RiverLearner) else "sample_weight in its partial_fit"
        )
        raise InputError(
            f'updates must be "poisson" for an estimator that takes no weights; got "weighted", and {called} '
            f'has no {what}. With updates="poisson" it learns an example several times instead.'
        )


def require_votes(learners: Sequence[BaseLearner], votes: str) -> None:
    """Refuse a way to vote that there is not, or that a base learner cannot."""
    if votes not in VOTES:
        raise InputError(
            f'votes must be "answers" or "probabilities"; got {votes!r:.80}. The paper has "answers".'
        )
    for learner in learners:
        if votes == "answers" or learner.gives_probabilities:
            continue
        if isinstance(learner, RiverLearner):
            what = "predict_proba_one"
        else:
            what = "predict_proba" if isinstance(learner, SklearnMember) else "method probabilities"
        called = type(learner.model).__name__
        raise InputError(
            'votes must be "answers" for an estimator that gives no probabilities; got "probabilities", and '
            f"{called} has no {what}. scikit-learn's SGDClassifier with loss='log_loss' or "
            "GaussianNB would do, river's HoeffdingTreeClassifier, GaussianNB or LogisticRegression, or "
            "ocboost.lineage.naive_bayes.NaiveBayes."
        )
