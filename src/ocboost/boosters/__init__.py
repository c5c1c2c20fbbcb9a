"""Boosters turn the margins of weak hypotheses into their weights.

`Booster` is their contract; `BOOSTERS` has each by its name. ``OCBClassifier(booster=…)`` takes a
name or an object of one of these classes. Boosting that finds its own hypotheses in features, FilterBoost
and Oza and Russell's with members that learn, is in ``ocboost.estimators``.

>>> sorted(BOOSTERS)[:3]
['eg', 'huang', 'logistic']
"""

from typing import TYPE_CHECKING

from ocboost._core.lazy import lazy_names
from ocboost.boosters.base import Booster
from ocboost.boosters.registry import BOOSTERS

if TYPE_CHECKING:
    from ocboost.boosters.exponentiated_gradient import EGPlusMinus
    from ocboost.boosters.huang import HuangBooster
    from ocboost.boosters.linear import OnlineLogistic, PassiveAggressive, Perceptron
    from ocboost.boosters.oza_russell import OzaRussell
    from ocboost.boosters.sketch import BoostingSketch
    from ocboost.boosters.sketch.merge_tree import merge_all
    from ocboost.boosters.winnow import Winnow

__all__ = [
    "BOOSTERS",
    "Booster",
    "BoostingSketch",
    "EGPlusMinus",
    "HuangBooster",
    "OnlineLogistic",
    "OzaRussell",
    "PassiveAggressive",
    "Perceptron",
    "Winnow",
    "merge_all",
]

_PLACES = {each.place.split(":")[1]: each.place.split(":")[0].lstrip(".") for each in BOOSTERS.values()}
__getattr__, __dir__ = lazy_names(__name__, {**_PLACES, "merge_all": "boosters.sketch.merge_tree"})
