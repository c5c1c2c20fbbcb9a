"""The classifier that a fleet begins with."""

from __future__ import annotations

import copy
import hashlib
import os
from typing import Any

import numpy as np

from ocboost._core.file_format import to_bytes
from ocboost.boosters.sketch.sketch import BoostingSketch
from ocboost.deployment.model import Model
from ocboost.errors import InputError
from ocboost.estimators.adaptive.classifier import AdaptiveClassifier
from ocboost.estimators.classifier import OCBClassifier
from ocboost.estimators.classifier_file import CLASSIFIER_KIND, classifier_tree
from ocboost.estimators.committee import Committee
from ocboost.estimators.decisions import is_balanced

FORGETTING = 0.9998  # of the common weights: half of what they know is of the last 3,500 rows of all keys
MAX_CLASSES = 256
MAX_ALPHA = 1e6


def deployed_model(model: Any) -> Model:
    """The model that a fleet begins with: an `OCBClassifier` without growth, and its history.

    Of an `AdaptiveClassifier` it is the OCB that it was deployed with, or that drives its pool.
    """
    if isinstance(model, str | os.PathLike):
        model = Model.load(model)
    history = model.history if isinstance(model, Model) else ()
    clf = model.classifier if isinstance(model, Model) else model
    if isinstance(clf, AdaptiveClassifier):
        clf = _ocb_of(clf)
    if not isinstance(clf, OCBClassifier):
        raise InputError(
            f"model must be an OCBClassifier, an AdaptiveClassifier or a model's file; got "
            f"{type(clf).__name__}. Adopt it first: OCBClassifier.from_fitted(model, X, y)."
        )
    if not hasattr(clf, "committee_"):
        raise InputError("model must be fitted; this one is not. Call fit first.")
    clf = copy.copy(clf)
    if clf.committee_.offset is not None:
        raise InputError("model must have no offset in a fleet; this one has. Fit one without it.")
    if is_balanced(clf.class_weight):
        raise InputError(
            "class_weight='balanced' has no meaning in a fleet, whose keys have different shares of the "
            "classes. Set class_weight to a dictionary, or a threshold."
        )
    if len(clf.classes_) > MAX_CLASSES:
        raise InputError(f"model must have at most {MAX_CLASSES} classes; it has {len(clf.classes_)}.")
    if any(np.abs(alpha).max() > MAX_ALPHA for alpha in clf.alpha_):
        raise InputError(
            f"model must have weights of at most {MAX_ALPHA:g}; this one has larger ones. Fit it again."
        )
    if clf.grow is not None:  # the hypotheses are shared, and stay
        clf.set_params(grow=None)
        clf.follow_settings()
    return Model(clf, None, list(history))


def _ocb_of(clf: AdaptiveClassifier) -> OCBClassifier:
    """The OCB in an adaptive classifier, with its classes and columns."""
    if not hasattr(clf, "bank_"):
        raise InputError("model must be fitted; this one is not. Call fit first.")
    adopted, pool = clf.bank_.deployed, clf.bank_.pool
    if adopted is not None:
        if not isinstance(adopted.model, OCBClassifier):
            raise InputError(
                f"a fleet needs weak hypotheses to share, and this model has adopted a {adopted.title}. Make "
                "one of it: OCBClassifier.from_fitted(model, X, y), or ocboost fit --method ocb."
            )
        found = copy.copy(adopted.model)
        own = {name: getattr(clf, name) for name in ("class_weight", "threshold", "costs")}
        if any(value is not None for value in own.values()):  # else it decides as the adopted one does
            found.set_params(**own)
        return found
    if pool is None:
        raise InputError("model must have learnt enough rows to have hypotheses; this one has none yet.")
    found = copy.copy(pool.driver)
    found.classes_ = clf.classes_
    found.set_params(class_weight=clf.class_weight, threshold=clf.threshold, costs=clf.costs)
    if clf.schema_ is not None:
        found.n_features_in_, found.schema_ = clf.schema_.n_features, None
        found.set_schema(clf.schema_)
    return found


def common_committee(clf: OCBClassifier) -> Committee:
    """The committee that goes on learning from the rows of all keys."""
    settings = dict(clf.committee_.settings)
    if (
        clf.committee_.kind is BoostingSketch
        and settings.get("tail", True)
        and settings["forgetting"] != FORGETTING
    ):
        committee = copy.copy(clf.committee_)
        committee.apply_settings({**settings, "forgetting": FORGETTING})
        return committee
    return copy.copy(clf.committee_)


def digest_of(clf: OCBClassifier) -> str:
    """What stands for a model: all of it but its history."""
    tree = {key: value for key, value in classifier_tree(clf).items() if key != "history"}
    return hashlib.sha256(to_bytes(CLASSIFIER_KIND, tree)).hexdigest()
