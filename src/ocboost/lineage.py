"""The methods that Online Coordinate Boosting descends from or is compared with, with the same verbs."""

from typing import TYPE_CHECKING

from ocboost._core.lazy import lazy_names

if TYPE_CHECKING:
    from ocboost.boosters.exponentiated_gradient import EGPlusMinus
    from ocboost.boosters.huang import HuangBooster
    from ocboost.boosters.linear import OnlineLogistic, PassiveAggressive, Perceptron
    from ocboost.boosters.winnow import Winnow
    from ocboost.estimators.filterboost import FilterBoost
    from ocboost.estimators.oza_russell_classifier import OzaRussellClassifier

__all__ = [
    "EGPlusMinus",
    "FilterBoost",
    "HuangBooster",
    "OnlineLogistic",
    "OzaRussellClassifier",
    "PassiveAggressive",
    "Perceptron",
    "Winnow",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "EGPlusMinus": "boosters.exponentiated_gradient",
        "FilterBoost": "estimators.filterboost",
        "HuangBooster": "boosters.huang",
        "OnlineLogistic": "boosters.linear",
        "OzaRussellClassifier": "estimators.oza_russell_classifier",
        "PassiveAggressive": "boosters.linear",
        "Perceptron": "boosters.linear",
        "Winnow": "boosters.winnow",
    },
)
