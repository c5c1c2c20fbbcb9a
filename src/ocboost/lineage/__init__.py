"""The methods that Online Coordinate Boosting descends from or is compared with, with the same verbs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..boosters.exponentiated_gradient import EGPlusMinus
    from ..boosters.huang import HuangBooster
    from ..boosters.linear import OnlineLogistic, PassiveAggressive, Perceptron
    from ..boosters.winnow import Winnow
    from .filterboost import FilterBoost
    from .oza_boost import OzaRussellClassifier

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

# Imported when first asked for: some of them need scikit-learn, which takes its time.
_LATER = {
    "EGPlusMinus": "..boosters.exponentiated_gradient",
    "FilterBoost": ".filterboost",
    "HuangBooster": "..boosters.huang",
    "OnlineLogistic": "..boosters.linear",
    "OzaRussellClassifier": ".oza_boost",
    "PassiveAggressive": "..boosters.linear",
    "Perceptron": "..boosters.linear",
    "Winnow": "..boosters.winnow",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
