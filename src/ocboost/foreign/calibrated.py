"""Classifiers whose scores are mapped to probabilities: scikit-learn's CalibratedClassifierCV."""

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
    as_floats,
    choice,
    flag,
    integers,
    is_scored,
    model_from,
    n_classes_of,
    needs_of_model,
    numbers,
    offsets,
    part_tree,
    scores_of_model,
    width,
)
from ocboost.foreign.linear import softmax

MAX_CALIBRATED_CLASSES = 1 << 16
_MAP_ENTRIES = ("method", "by_score", "x", "y", "first", "classes")
_SMALLEST = 1e-12  # added to probabilities before their logarithm, as scikit-learn does


class CalibrationMaps:
    """Maps of scores to probabilities, one for two classes or one for each.

    "sigmoid" has a slope and an intercept for each map in ``x`` and ``y``, "isotonic" the points of its
    lines, "temperature" a factor in ``x``. ``first`` says where each map begins, ``classes`` which class each
    is for, and ``by_score`` whether they are maps of the decision function, or else of probabilities.
    """

    def __init__(
        self,
        method: str,
        by_score: bool,
        x: Floats,
        y: Floats,
        first: NDArray[np.int64],
        classes: NDArray[np.int64],
        n: int,
    ) -> None:
        self.by_score = flag(by_score, "by_score")
        self.method = choice(method, "method", ("sigmoid", "isotonic", "temperature"))
        self.x = numbers(x, "x", None)
        self.y = numbers(y, "y", self.x.size)
        self.first = offsets(first, "first", self.x.size)
        self.n_classes = n
        self.classes = integers(classes, "classes", None, least=0, most=n - 1)
        sizes = np.diff(self.first)
        if (sizes < 1).any() or (method != "isotonic" and (sizes > 1).any()):
            raise InputError("first must give each map its points, one unless they are isotonic.")
        if method == "isotonic":
            if (self.y < 0.0).any() or (self.y > 1.0).any():
                raise InputError("y must be probabilities.")
            for start, stop in zip(self.first, self.first[1:], strict=False):
                if (np.diff(self.x[start:stop]) < 0.0).any():
                    raise InputError("x must rise within each map.")
        if n == 2 and method != "temperature" and (self.classes[:1] != 0).any():
            raise InputError("classes must begin with the first of two.")

    def __call__(self, raw: Floats) -> Floats:
        """Probabilities of scores, (n, 1) or (n, K)."""
        from scipy.special import expit

        if self.method == "temperature":
            return self._tempered(raw)
        out = np.zeros((raw.shape[0], self.n_classes))
        for k, column, start, stop in zip(self.classes, raw.T, self.first, self.first[1:], strict=False):
            if self.method == "sigmoid":
                share = expit(-(self.x[start] * column + self.y[start]))
            else:
                share = np.interp(column, self.x[start:stop], self.y[start:stop])
            out[:, k + 1 if self.n_classes == 2 else k] = share
        if self.n_classes == 2:
            out[:, 0] = 1.0 - out[:, 1]
        else:
            total = out.sum(axis=1, keepdims=True)
            even = np.full_like(out, 1 / self.n_classes)
            out = np.divide(out, total, out=even, where=total != 0.0)
        return _cut(out)

    def _tempered(self, raw: Floats) -> Floats:
        if self.by_score:
            logits = np.hstack([-raw, raw]) if raw.shape[1] == 1 else raw
        else:
            logits = np.log((np.hstack([1.0 - raw, raw]) if raw.shape[1] == 1 else raw) + _SMALLEST)
        return _cut(softmax(self.x[0] * logits))

    def tree(self) -> Tree:
        """What a file holds."""
        return {key: getattr(self, key) for key in _MAP_ENTRIES}

    @classmethod
    def from_tree(cls, fields: Fields, n: int) -> Self:
        """The maps that `tree` described."""
        return fields.make(cls, **{key: fields.take(key) for key in _MAP_ENTRIES}, n=n)


def _cut(shares: Floats) -> Floats:
    shares[(shares > 1.0) & (shares <= 1.0 + 1e-5)] = 1.0
    return shares


class CalibratedModel(PortableClassifier):
    """The mean of several models, each with its own maps."""

    kind = "CalibratedModel"

    def __init__(self, members: Sequence[tuple[Any, CalibrationMaps]], n_classes: int) -> None:
        if not members or len({model.n_columns for model, _ in members}) != 1:
            raise InputError("members must be models of the same columns.")
        self.members, self.n_classes = list(members), n_classes
        self.n_columns = width(members[0][0].n_columns, "n_columns")
        self.accepts_missing = all(getattr(model, "accepts_missing", True) for model, _ in members)
        for model, maps in self.members:
            given = 1 if n_classes_of(model) == 2 else n_classes_of(model)
            pairs = maps.method == "temperature" and max(given, 2) != n_classes
            if pairs or (maps.method != "temperature" and len(maps.first) - 1 < given):
                raise InputError("each score of a model must have its map.")
            if maps.by_score and not is_scored(model):
                raise InputError("each model must have the scores that its maps are for.")

    def probabilities(self, X: Floats) -> Floats:
        """The mean of what the maps make of each model's scores."""
        out = np.zeros((X.shape[0], self.n_classes))
        for model, maps in self.members:
            raw = scores_of_model(model, X) if maps.by_score else model.probabilities(X)
            if not maps.by_score and raw.shape[1] == 2:
                raw = raw[:, 1]
            out += maps(raw[:, None] if raw.ndim == 1 else raw)
        out /= len(self.members)
        return out

    def needs(self) -> Mask:
        """What any of the models looks at."""
        return np.asarray(np.any([needs_of_model(model) for model, _ in self.members], axis=0))

    def tree(self) -> Tree:
        """What a file holds."""
        return {
            "n_classes": self.n_classes,
            "members": [{"model": part_tree(model), "maps": maps.tree()} for model, maps in self.members],
        }

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """The model that `tree` described."""
        n = fields.count("n_classes", 2, MAX_CALIBRATED_CLASSES)

        def member(one: Fields) -> tuple[Any, CalibrationMaps]:
            return one.read("model", model_from), one.read(
                "maps", lambda maps: CalibrationMaps.from_tree(maps, n)
            )

        return fields.make(cls, fields.read_all("members", member), n)


def maps_of(one: Any, classes: NDArray[Any]) -> CalibrationMaps:
    """The calibrators of one fitted member of a CalibratedClassifierCV."""
    method = one.method
    if method == "sigmoid":
        x = [as_floats([each.a_]) for each in one.calibrators]
        y = [as_floats([each.b_]) for each in one.calibrators]
    elif method == "isotonic":
        x = [as_floats(each.X_thresholds_) for each in one.calibrators]
        y = [as_floats(each.y_thresholds_) for each in one.calibrators]
    else:
        x = [as_floats([each.beta_]) for each in one.calibrators]
        y = [np.zeros(1) for _ in x]
    places = np.searchsorted(classes, np.asarray(one.estimator.classes_)).astype(np.int64)
    first = np.cumsum([0, *map(len, x)])
    by_score = hasattr(one.estimator, "decision_function")
    return CalibrationMaps(
        method, by_score, np.concatenate(x), np.concatenate(y), first, places, len(classes)
    )
