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

from typing import TYPE_CHECKING

from ocboost._core.lazy import lazy_names
from ocboost.errors import (
    InputError,
    LeftOutWarning,
    MissingExtraError,
    ModelFileError,
    NotSavableError,
    OcboostError,
)

if TYPE_CHECKING:
    from ocboost import boosters, evaluation, hypotheses, learners, lineage, offsets, streams
    from ocboost._core.threads import get_num_threads, set_num_threads
    from ocboost.boosters.adaboost import (
        AdaBoostSums,
        IncrementalAdaBoost,
        adaboost_sums,
        adaboost_weights,
        approximation_error,
    )
    from ocboost.boosters.oza_russell import OzaRussell
    from ocboost.boosters.sketch.sketch import BoostingSketch
    from ocboost.deployment.model import Model
    from ocboost.estimators.adaptive.classifier import AdaptiveClassifier
    from ocboost.estimators.classifier import OCBClassifier
    from ocboost.estimators.growth import Growth

__version__ = "0.2.0"

__all__ = [
    "AdaBoostSums",
    "AdaptiveClassifier",
    "BoostingSketch",
    "Growth",
    "IncrementalAdaBoost",
    "InputError",
    "LeftOutWarning",
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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AdaBoostSums": "boosters.adaboost",
        "AdaptiveClassifier": "estimators.adaptive.classifier",
        "BoostingSketch": "boosters.sketch.sketch",
        "Growth": "estimators.growth",
        "IncrementalAdaBoost": "boosters.adaboost",
        "Model": "deployment.model",
        "OCBClassifier": "estimators.classifier",
        "OzaRussell": "boosters.oza_russell",
        "adaboost_sums": "boosters.adaboost",
        "adaboost_weights": "boosters.adaboost",
        "approximation_error": "boosters.adaboost",
        "boosters": "",
        "evaluation": "",
        "get_num_threads": "_core.threads",
        "hypotheses": "",
        "learners": "",
        "lineage": "",
        "offsets": "",
        "set_num_threads": "_core.threads",
        "streams": "",
    },
)
