"""The hypotheses that an adopted model brings along."""

from __future__ import annotations

import numpy as np

from ocboost.errors import OcboostError
from ocboost.estimators.adaptive.deployed import DeployedModel
from ocboost.hypotheses import Hypotheses
from ocboost.hypotheses.transformed import Columns, Transformed, converted
from ocboost.hypotheses.sklearn import member_trees, unwrapped


def adopted_hypotheses(
    deployed: DeployedModel, n_features: int, n_boosters: int, most: int
) -> Hypotheses | None:
    """The trees of a model as hypotheses over encoded features, at most so many for each class.

    None if it has none, or if what comes before them is Python code that no file holds.
    """
    try:
        transformers, final = unwrapped(deployed.model)
        found = member_trees(final)
        if found is None:
            return None
        found = leading(found, n_boosters, most)
        if transformers:
            found = Transformed(converted(transformers), found)
        if deployed.places is not None:
            found = Transformed(Columns(deployed.places, n_features), found)
    except OcboostError:
        return None
    return found if found.accepts_missing and found.n_features == n_features else None


def leading(hypotheses: Hypotheses, n_boosters: int, most: int) -> Hypotheses:
    """At most so many of each class's hypotheses, the first ones; classes have equal parts of them."""
    own = len(hypotheses) // n_boosters
    if own <= most:
        return hypotheses
    return hypotheses[np.concatenate([np.arange(most) + k * own for k in range(n_boosters)])]
