"""The methods that Online Coordinate Boosting descends from or is compared with, with the same verbs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .exponentiated_gradient import EGPlusMinus
    from .filterboost import FilterBoost
    from .huang import HuangBooster
    from .linear import OnlineLogistic, PassiveAggressive, Perceptron
    from .oza_boost import OzaRussellClassifier
    from .winnow import Winnow

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
    "EGPlusMinus": "exponentiated_gradient",
    "FilterBoost": "filterboost",
    "HuangBooster": "huang",
    "OnlineLogistic": "linear",
    "OzaRussellClassifier": "oza_boost",
    "PassiveAggressive": "linear",
    "Perceptron": "linear",
    "Winnow": "winnow",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
