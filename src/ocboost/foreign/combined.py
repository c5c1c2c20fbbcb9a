"""Models made of models: after steps, by votes, with a threshold of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost.errors import InputError
from ocboost.foreign.base import (
    Floats,
    Mask,
    PortableClassifier,
    PortableStep,
    codes_of_model,
    flag,
    is_scored,
    model_from,
    n_classes_of,
    needs_of_model,
    numbers,
    part_tree,
    scores_of_model,
    step_from,
)


class Piped(PortableClassifier):
    """A model that is given what a step makes of the rows."""

    kind = "Piped"

    def __init__(self, step: PortableStep, model: Any) -> None:
        if step.n_out != model.n_columns:
            raise InputError(
                f"the model must take the columns that the steps give; got {step.n_out} for a model of "
                f"{model.n_columns}."
            )
        self.step, self.model = step, model
        self.n_columns, self.n_classes = step.n_columns, n_classes_of(model)
        after = step.missing_after(np.ones(step.n_columns, np.bool_))
        inside = bool(getattr(model, "accepts_missing", True))
        self.accepts_missing = after is not None and (inside or not after.any())
        self.scored = is_scored(model)

    def probabilities(self, X: Floats) -> Floats:
        """What the model says to the transformed rows."""
        found: Floats = self.model.probabilities(self.step(X))
        return found

    def scores(self, X: Floats) -> Floats:
        """The model's decision function."""
        return scores_of_model(self.model, self.step(X))

    def predict_codes(self, X: Floats) -> NDArray[np.int64]:
        """What the model predicts."""
        return codes_of_model(self.model, self.step(X))

    def needs(self) -> Mask:
        """What the steps need for what the model looks at."""
        return self.step.needs(needs_of_model(self.model))

    def tree(self) -> Tree:
        """What a file holds."""
        return {"step": part_tree(self.step), "model": part_tree(self.model)}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """The model that `tree` described."""
        return fields.make(cls, fields.read("step", step_from), fields.read("model", model_from))


class VotingModel(PortableClassifier):
    """The mean of several models' probabilities, or the share of their votes."""

    kind = "VotingModel"

    def __init__(self, models: Sequence[Any], weights: Floats | None, hard: bool) -> None:
        sizes = {(model.n_columns, n_classes_of(model)) for model in models}
        if len(sizes) != 1:
            raise InputError("models must be of the same columns and classes.")
        self.models = list(models)
        self.n_columns, self.n_classes = sizes.pop()
        self.weights = None if weights is None else numbers(weights, "weights", len(self.models))
        self.hard = flag(hard, "hard")
        if self.weights is not None and ((self.weights < 0.0).any() or not self.weights.sum() > 0.0):
            raise InputError("weights must not be negative, and not all zero.")
        self.accepts_missing = all(getattr(model, "accepts_missing", True) for model in self.models)

    def probabilities(self, X: Floats) -> Floats:
        """The mean, weighted."""
        if self.hard:
            shares = [np.eye(self.n_classes)[codes_of_model(model, X)] for model in self.models]
        else:
            shares = [model.probabilities(X) for model in self.models]
        return np.asarray(np.average(np.asarray(shares), axis=0, weights=self.weights))

    def needs(self) -> Mask:
        """What any of the models looks at."""
        return np.asarray(np.any([needs_of_model(model) for model in self.models], axis=0))

    def tree(self) -> Tree:
        """What a file holds."""
        models = [part_tree(model) for model in self.models]
        return {"models": models, "weights": self.weights, "hard": self.hard}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """The model that `tree` described."""
        models = fields.read_all("models", model_from)
        return fields.make(cls, models, fields.take("weights"), fields.take("hard"))


class ThresholdModel(PortableClassifier):
    """A model of two classes whose prediction is the positive one from a threshold on.

    ``threshold`` is one number, compared with the probability of the positive class, or with its score where
    ``by_score`` says so.
    """

    kind = "ThresholdModel"

    def __init__(self, model: Any, threshold: Floats, positive: bool, by_score: bool) -> None:
        if n_classes_of(model) != 2:
            raise InputError(f"the model must have two classes; got {n_classes_of(model)}.")
        self.model, self.n_columns, self.n_classes = model, model.n_columns, 2
        self.threshold = numbers(threshold, "threshold", 1)
        self.positive, self.by_score = flag(positive, "positive"), flag(by_score, "by_score")
        self.accepts_missing = bool(getattr(model, "accepts_missing", True))
        self.scored = is_scored(model)
        if self.by_score and not self.scored:
            raise InputError("the model must have scores to be compared with a threshold of scores.")

    def probabilities(self, X: Floats) -> Floats:
        """Those of the model inside."""
        found: Floats = self.model.probabilities(X)
        return found

    def scores(self, X: Floats) -> Floats:
        """Those of the model inside."""
        return scores_of_model(self.model, X)

    def predict_codes(self, X: Floats) -> NDArray[np.int64]:
        """Compare with the threshold."""
        if self.by_score:
            scores = self.scores(X) if self.positive else -self.scores(X)
        else:
            scores = self.probabilities(X)[:, int(self.positive)]
        return np.where(scores >= self.threshold[0], int(self.positive), 1 - int(self.positive))

    def needs(self) -> Mask:
        """What the model inside looks at."""
        return needs_of_model(self.model)

    def tree(self) -> Tree:
        """What a file holds."""
        own = {"threshold": self.threshold, "positive": self.positive, "by_score": self.by_score}
        return {"model": part_tree(self.model), **own}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """The model that `tree` described."""
        entries = {key: fields.take(key) for key in ("threshold", "positive", "by_score")}
        return fields.make(cls, fields.read("model", model_from), **entries)
