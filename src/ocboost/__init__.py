"""Online Coordinate Boosting: keeps the weights of a boosted classifier learning after it is deployed.

The weights of AdaBoost over fixed ±1 weak hypotheses are updated example by example, without keeping the
data, and stay close to those of AdaBoost retrained on everything (Pelossof, Jones, Vovsha and Rudin).

>>> import numpy as np, ocboost
>>> rng = np.random.default_rng(0)
>>> margins = np.where(rng.random((1000, 3)) < [0.8, 0.7, 0.6], 1, -1)
>>> sketch = ocboost.BoostingSketch(3)
>>> sketch.update_many(margins)
>>> ocboost.approximation_error(ocboost.adaboost_weights(margins), sketch.alpha) < 0.001
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .adaboost import (
    AdaBoostSums,
    IncrementalAdaBoost,
    adaboost_sums,
    adaboost_weights,
    approximation_error,
)
from .boosters.oza_russell import OzaRussell
from .errors import InputError, MissingExtraError, ModelFileError, NotSavableError, OcboostError
from .sketch import BoostingSketch
from .threads import get_num_threads, set_num_threads

if TYPE_CHECKING:
    from . import boosters, evaluation, hypotheses, learners, lineage, offsets, streams
    from .classifier import OCBClassifier
    from .growth import Growth
    from .model import Model

__version__ = "0.1.0"

__all__ = [
    "AdaBoostSums",
    "BoostingSketch",
    "Growth",
    "IncrementalAdaBoost",
    "InputError",
    "MissingExtraError",
    "Model",
    "ModelFileError",
    "NotSavableError",
    "OCBClassifier",
    "OcboostError",
    "OzaRussell",
    "adaboost_sums",
    "adaboost_weights",
    "approximation_error",
    "boosters",
    "evaluation",
    "get_num_threads",
    "hypotheses",
    "learners",
    "lineage",
    "offsets",
    "set_num_threads",
    "streams",
]

# Imported when first asked for: they need scikit-learn, which takes its time.
_LATER = {"OCBClassifier": "classifier", "Growth": "growth", "Model": "model"}
_PACKAGES = ("boosters", "evaluation", "hypotheses", "learners", "lineage", "offsets", "streams")


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
