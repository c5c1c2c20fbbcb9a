"""The hypotheses that an adopted model brings along."""

from __future__ import annotations

import numpy as np

from ocboost.errors import OcboostError
from ocboost.estimators.adaptive.deployed import DeployedModel
from ocboost.hypotheses import Hypotheses
from ocboost.foreign.columns import Columns
from ocboost.foreign.convert import portable_steps
from ocboost.hypotheses.sklearn import member_trees, unwrapped
from ocboost.hypotheses.transformed import Transformed


def adopted_hypotheses(
    deployed: DeployedModel, n_features: int, n_boosters: int, n_hypotheses: int
) -> Hypotheses | None:
    """The trees of a model as hypotheses over encoded features: the first, a quarter of ``n_hypotheses``.

    The others are learnt. Trees alone fit the rows that they were fitted on too well, and are too few
    thresholds for neighbours. None if it has no trees, or if what comes before them is Python code that no
    file holds.
    """
    try:
        transformers, final = unwrapped(deployed.model)
        found = member_trees(final)
        if found is None:
            return None
        found = leading(found, n_boosters, max(1, n_hypotheses // 4))
        if transformers:
            step, vocabularies = portable_steps(transformers)
            found = Transformed(step, found, vocabularies)
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
