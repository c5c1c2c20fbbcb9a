"""Boosters: what turns the margins of weak hypotheses into their weights.

`Booster` is what they have in common; `BOOSTERS` has each by its name. ``OCBClassifier(booster=…)`` takes a
name or an object of one of these classes.

>>> sorted(BOOSTERS)[:3]
['eg', 'huang', 'logistic']
"""

from typing import TYPE_CHECKING, Any

from ..booster import Booster
from .registry import BOOSTERS, class_at

if TYPE_CHECKING:
    from ..sketch import BoostingSketch
    from .exponentiated_gradient import EGPlusMinus
    from .huang import HuangBooster
    from .linear import OnlineLogistic, PassiveAggressive, Perceptron
    from .oza_russell import OzaRussell
    from .winnow import Winnow

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
]


def __getattr__(name: str) -> Any:
    if name in __all__:  # the classes, imported when first asked for
        place = next(each.place for each in BOOSTERS.values() if each.place.endswith(f":{name}"))
        return class_at(place)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
