"""One key of a fleet as a classifier of its own."""

from __future__ import annotations

import copy

import numpy as np

from ocboost._kernels.arrays import Floats
from ocboost._kernels.fleet import KeyStates
from ocboost.estimators.booster_settings import SKETCH_DEFAULTS
from ocboost.estimators.classifier import OCBClassifier
from ocboost.estimators.committee import spans
from ocboost.estimators.committee_classifier import adjustable
from ocboost.estimators.deployed_weights import DeployedWeights
from ocboost.fleet.scoring import Scorer
from ocboost.hypotheses import Stumps, join_tightly


def always_yes(n_features: int) -> Stumps:
    """A stump that always answers +1."""
    return Stumps([0], [np.inf], [1], [1], n_features=n_features)


def exported(clf: OCBClassifier, scorer: Scorer, keys: KeyStates, weights: Floats) -> OCBClassifier:
    """A classifier that votes with the weights of the only key of ``keys``, and goes on with its window."""
    other = copy.copy(clf)
    bias = always_yes(scorer.hypotheses.n_features)
    sets = [join_tightly([scorer.hypotheses[c], bias]) for c in scorer.columns]
    other.set_params(**{**SKETCH_DEFAULTS, "head": scorer.window, "tail": False}, booster="ocb", grow=None)
    other.grower_ = None
    columns = spans(sets)
    kind, settings = other._booster_settings(columns, None)
    committee = type(clf.committee_)(join_tightly(sets), columns, settings, None, kind)
    held = min(int(keys.seen[0]), scorer.window)
    if held:
        # The oldest first: the window is a ring.
        oldest = int(keys.seen[0]) % scorer.window if held == scorer.window else 0
        rows = np.roll(keys.windows[0, :held], -oldest, axis=0)
        answers, codes = scorer.code.unpacked(rows)
        yes = np.ones((held, 1), np.int8)
        all_answers = np.hstack([part for c in scorer.columns for part in (answers[:, c], yes)])
        scale = np.full(held, other.weight_scale_)
        committee.learn(np.ascontiguousarray(all_answers), codes, scale)
    alphas = [part.copy() for part in scorer.parts(weights)]
    committee.deployed_weights = DeployedWeights(alphas, None, 1.0, None)
    committee.deployed_weights.enter_window(scorer.window, committee.boosters[0].n_head)
    committee.remember_start()
    other.committee_ = committee
    other._applied = adjustable(other.__dict__)
    return other
