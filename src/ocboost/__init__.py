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

from .adaboost import (
    AdaBoostSums,
    IncrementalAdaBoost,
    adaboost_sums,
    adaboost_weights,
    approximation_error,
)
from .errors import InputError, MissingExtraError, ModelFileError, OcboostError
from .oza_russell import OzaRussell
from .sketch import BoostingSketch
from .threads import get_num_threads, set_num_threads

__version__ = "0.1.0"

__all__ = [
    "AdaBoostSums",
    "BoostingSketch",
    "IncrementalAdaBoost",
    "InputError",
    "MissingExtraError",
    "ModelFileError",
    "OcboostError",
    "OzaRussell",
    "adaboost_sums",
    "adaboost_weights",
    "approximation_error",
    "get_num_threads",
    "set_num_threads",
]
