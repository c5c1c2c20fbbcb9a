"""How each method of a comparison begins: as a contender that has learnt the first rows.

Every function here gives a maker, which takes a `Start` and a title. What a maker needs beyond ocboost's core
is imported when it is called.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from ocboost.boosters.registry import BOOSTERS, Registered
from ocboost.evaluation.contender import Contender
from ocboost.evaluation.contenders import (
    OCB,
    Filled,
    Fixed,
    OverAnswers,
    Retrained,
    RiverContender,
    SklearnContender,
)
from ocboost.evaluation.first_rows import MEMORY, Start

Maker = Callable[[Start, str], Contender]


def static(start: Start, title: str) -> Contender:
    """The classifier of the start, which never learns."""
    return Fixed(copy.copy(start.classifier), title)


def over_answers(booster: Registered) -> Maker:
    """A booster over the hypotheses of the start."""

    def make(start: Start, title: str) -> Contender:
        if booster.place == BOOSTERS["ocb"].place:
            return OCB(start.following(booster.settings), title)
        kind = booster.load()
        if start.classifier.committee_.offset is not None and not kind.can_correct:  # it goes without
            beside = OverAnswers.beside(start.classifier, lambda n: kind(n, **booster.settings), name=title)
            return _taught(beside, start)
        return OCB(start.weighed(kind(1, **booster.settings)), title)

    return make


def going_on(start: Start, title: str) -> Contender:
    """The classifier of the start, which goes on as it is."""
    return OCB(copy.copy(start.classifier), title)


def growing(settings: Mapping[str, Any]) -> Maker:
    """OCB whose hypotheses come and go; there may be half as many more as at the start."""
    memory = {**MEMORY, **settings}
    return lambda start, title: OCB(start.fitted(grow=start.hypotheses * 3 // 2, **memory), title)


def oza_bayes(start: Start, title: str) -> Contender:
    """Oza and Russell's boosting of naive Bayes, whose members vote with probabilities."""
    from ocboost.lineage import OzaRussellClassifier

    estimator = OzaRussellClassifier(votes="probabilities", random_state=start.seed)
    return _taught(Filled(SklearnContender(estimator, title), start.means), start)


def oza_trees(start: Start, title: str) -> Contender:
    """The same of river's Hoeffding trees."""
    from ocboost.lineage import OzaRussellClassifier

    estimator = OzaRussellClassifier(hoeffding(start.seed), votes="probabilities", random_state=start.seed)
    return _taught(Filled(SklearnContender(estimator, title), start.means), start)


def filterboost(start: Start, title: str) -> Contender:
    """FilterBoost over stumps, content with rough estimates: with its defaults it takes 10,000s of rows."""
    from ocboost.lineage import FilterBoost

    estimator = FilterBoost(
        n_hypotheses=start.hypotheses, tau=0.9, delta=0.25, sample=200, random_state=start.seed
    )
    return _taught(SklearnContender(estimator, title), start)


def retrained(start: Start, title: str) -> Contender:
    """The classifier of the start, learnt anew from time to time."""
    return Retrained(start, name=title)


def guest_of_river(model: Callable[[int], Any]) -> Maker:
    """A classifier of river; what makes it is given the seed."""
    return lambda start, title: _taught(RiverContender(model(start.seed), title), start)


def baseline(kind: Callable[[str], Contender]) -> Maker:
    """One that needs no start."""
    return lambda start, title: kind(title)


def _taught(contender: Contender, start: Start) -> Contender:
    contender.begin(start.classes)
    if start.view is not None:
        contender.learn(start.view)
    return contender


# Models of river ------------------------------------------------------------------------------------------


def hoeffding(seed: int) -> Any:
    """A tree that grows."""
    from river.tree import HoeffdingTreeClassifier

    return HoeffdingTreeClassifier()


def hoeffding_adaptive(seed: int) -> Any:
    """A tree that replaces branches."""
    from river.tree import HoeffdingAdaptiveTreeClassifier

    return HoeffdingAdaptiveTreeClassifier(seed=seed)


def adaboost(seed: int) -> Any:
    """River's online AdaBoost of ten trees."""
    from river.ensemble import AdaBoostClassifier

    return AdaBoostClassifier(hoeffding(seed), n_models=10, seed=seed)


def forest(seed: int) -> Any:
    """River's adaptive random forest of ten trees."""
    from river.forest import ARFClassifier

    return ARFClassifier(n_models=10, seed=seed)
