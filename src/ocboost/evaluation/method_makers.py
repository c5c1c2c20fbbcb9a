"""How each method of a comparison begins: as a contender that has learnt the first rows.

Every function here gives a maker, which takes a `Start` and a title. What a maker needs beyond ocboost's core
is imported when it is called.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from .arena_contenders import Filled, Retrained, WithLabels
from .contenders import OCB, Fixed, OverAnswers
from .guests import RiverContender, SklearnContender
from .learner import Contender
from .start import Start

Maker = Callable[[Start, str], Contender]

# How much of the past OCB remembers.
ALL: dict[str, Any] = {"forgetting": 1.0, "tail": True, "head": "auto"}
FORGETTING: dict[str, Any] = {"forgetting": 0.995, "tail": True, "head": 500}
WINDOW_200: dict[str, Any] = {"forgetting": 1.0, "tail": False, "head": 200}
WINDOW_20: dict[str, Any] = {"forgetting": 1.0, "tail": False, "head": 20}


def static(start: Start, title: str) -> Contender:
    """The classifier of the start, which never learns."""
    return Fixed(copy.copy(start.classifier), title)


def ocb(settings: dict[str, Any]) -> Maker:
    """The classifier of the start, which goes on with these settings."""

    def make(start: Start, title: str) -> Contender:
        classifier = start.classifier if settings["tail"] else start.with_newest
        return OCB(copy.copy(classifier).set_params(**settings), title)

    return make


def growing(settings: dict[str, Any]) -> Maker:
    """The same, whose hypotheses come and go; there may be half as many more as at the start."""
    return lambda start, title: OCB(start.fitted(grow=start.hypotheses * 3 // 2, **settings), title)


def booster(name: str, **settings: Any) -> Maker:
    """A booster of the lineage over the same hypotheses."""

    def make(start: Start, title: str) -> Contender:
        from .. import lineage

        kind = getattr(lineage, name)
        return _taught(OverAnswers.beside(start.classifier, lambda n: kind(n, **settings), name=title), start)

    return make


def oza_russell(**settings: Any) -> Maker:
    """Oza and Russell's weights for the same hypotheses."""

    def make(start: Start, title: str) -> Contender:
        from ..boosters.oza_russell import OzaRussell

        beside = OverAnswers.beside(start.classifier, lambda n: OzaRussell(n, **settings), name=title)
        return _taught(beside, start)

    return make


def huang(start: Start, title: str) -> Contender:
    """Huang's booster, whose offline model is AdaBoost on the first rows."""
    from ..lineage import HuangBooster

    return WithLabels(start, HuangBooster.from_margins, name=title)


def oza_bayes(start: Start, title: str) -> Contender:
    """Oza and Russell's boosting of naive Bayes, whose members vote with probabilities."""
    from ..lineage import OzaRussellClassifier

    estimator = OzaRussellClassifier(votes="probabilities", random_state=start.seed)
    return _taught(Filled(SklearnContender(estimator, title), start.means), start)


def oza_trees(start: Start, title: str) -> Contender:
    """The same of river's Hoeffding trees."""
    from ..lineage import OzaRussellClassifier

    estimator = OzaRussellClassifier(hoeffding(start.seed), votes="probabilities", random_state=start.seed)
    return _taught(Filled(SklearnContender(estimator, title), start.means), start)


def filterboost(start: Start, title: str) -> Contender:
    """FilterBoost over stumps, content with rough estimates: with its defaults it takes 10,000s of rows."""
    from ..lineage import FilterBoost

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
