"""Parameters of a fit over shards, as `ocboost.OCBClassifier` has them."""

from __future__ import annotations

from typing import Any

from ocboost._shards.weights import LEAST_SMOOTHING
from ocboost.boosters.base import Settings
from ocboost.boosters.sketch.settings import plan_head
from ocboost.boosters.sketch.sketch import BoostingSketch
from ocboost.errors import InputError
from ocboost.estimators.booster_settings import SKETCH_DEFAULTS, booster_settings
from ocboost.learners import StumpLearner


def stump_learner(estimator: Any) -> StumpLearner:
    """What finds stumps; anything else is refused."""
    if estimator is None or (isinstance(estimator, str) and estimator == "stump"):
        return StumpLearner()
    if isinstance(estimator, StumpLearner):
        return estimator
    raise InputError(
        "estimator must be None, 'stump', a StumpLearner or hypotheses where rows are in several places; got "
        f"{estimator!r:.80}. Others need all rows at once: ocboost.OCBClassifier."
    )


def as_sketch_settings(n_hypotheses: int, head: Any, memory: Any, smoothing: Any) -> Settings:
    """The settings of sketches that keep heavy examples."""
    given = {**SKETCH_DEFAULTS, "head": head, "memory": memory, "smoothing": smoothing}
    settings = booster_settings("ocb", given, most=n_hypotheses, growth=None, has_offset=False)[1]
    BoostingSketch.check_settings(settings, n_hypotheses)
    if settings["smoothing"] < LEAST_SMOOTHING:
        raise InputError(
            f"smoothing must be at least {LEAST_SMOOTHING:g} where rows are in several places; got "
            f"{smoothing!r}."
        )
    wanted: Any = ("keep", "memory", "head", "order", "tail", "correction")
    if plan_head(n_hypotheses, **{name: settings[name] for name in wanted}).capacity is None:
        raise InputError(f"head must be 'auto' or at least 2 examples; got {head!r:.40}.")
    return settings
