"""Scalers: numbers shifted, scaled, clipped, or divided by the length of their row."""

from __future__ import annotations

from typing import Any

import numpy as np

from ocboost.errors import InputError
from ocboost.foreign.base import (
    Floats,
    Mask,
    PortableStep,
    as_floats,
    choice,
    numbers,
    require_present,
    width,
)
from ocboost.foreign.slots import Planned, Slot, claim_numbers, made_slots


class Affine(PortableStep):
    """Subtract, divide, multiply, add and clip, in this order; what is None is left out.

    >>> Affine(1, subtract=np.array([1.0]), divide=np.array([2.0]))(np.array([[2.0]]))
    array([[0.5]])
    """

    kind = "Affine"
    _entries = ("n_columns", "subtract", "divide", "multiply", "add", "clip")

    def __init__(
        self,
        n_columns: int,
        subtract: Floats | None = None,
        divide: Floats | None = None,
        multiply: Floats | None = None,
        add: Floats | None = None,
        clip: Floats | None = None,
    ) -> None:
        self.n_columns = self.n_out = width(n_columns, "n_columns")
        given = {"subtract": subtract, "divide": divide, "multiply": multiply, "add": add}
        for name, value in given.items():
            if value is not None:
                numbers(value, name, n_columns)
        if divide is not None and not divide.all():
            raise InputError("divide must not be zero. Fit the scaler again.")
        if clip is not None and numbers(clip, "clip", 2)[0] > clip[1]:
            raise InputError(f"clip must be the lowest and the highest value; got {clip.tolist()}.")
        self.subtract, self.divide, self.multiply, self.add = subtract, divide, multiply, add
        self.clip = clip

    def __call__(self, X: Floats) -> Floats:
        """Scale each column."""
        out = X.copy()
        if self.subtract is not None:
            out -= self.subtract
        if self.divide is not None:
            out /= self.divide
        if self.multiply is not None:
            out *= self.multiply
        if self.add is not None:
            out += self.add
        if self.clip is not None:
            np.clip(out, self.clip[0], self.clip[1], out=out)
        return out


class RowNorms(PortableStep):
    """Each row divided by its length."""

    kind = "RowNorms"
    _entries = ("n_columns", "norm")

    def __init__(self, n_columns: int, norm: str) -> None:
        self.n_columns = self.n_out = width(n_columns, "n_columns")
        self.norm = choice(norm, "norm", ("l1", "l2", "max"))

    def __call__(self, X: Floats) -> Floats:
        """Divide the rows; one of zeros stays."""
        require_present(X, "a Normalizer")
        X = np.ascontiguousarray(X)
        if self.norm == "l2":
            length = np.sqrt(np.einsum("ij,ij->i", X, X))
        elif self.norm == "l1":
            length = np.abs(X).sum(axis=1)
        else:
            length = np.abs(X).max(axis=1, initial=0.0)
        length[length == 0.0] = 1.0
        return np.asarray(X / length[:, None])

    def missing_after(self, missing: Mask) -> Mask | None:
        """It refuses missing values."""
        return None if missing.any() else missing

    def needs(self, wanted: Mask) -> Mask:
        """All columns count for the length."""
        return np.ones(self.n_columns, np.bool_)


def plan_affine(fitted: Any, slots: list[Slot], where: str) -> Planned:
    """StandardScaler, RobustScaler, MinMaxScaler or MaxAbsScaler."""
    claim_numbers(slots, where)
    n, parts = len(slots), _AFFINE[type(fitted).__name__](fitted)
    step = Affine(
        n, **{key: as_floats(value, *(() if key == "clip" else (n,))) for key, value in parts.items()}
    )
    return Planned(lambda: step, made_slots(n, where))


def _standard(fitted: Any) -> dict[str, Any]:
    centre = {"subtract": fitted.mean_} if fitted.with_mean else {}
    return centre | ({"divide": fitted.scale_} if fitted.with_std else {})


def _robust(fitted: Any) -> dict[str, Any]:
    centre = {"subtract": fitted.center_} if fitted.with_centering else {}
    return centre | ({"divide": fitted.scale_} if fitted.with_scaling else {})


def _min_max(fitted: Any) -> dict[str, Any]:
    clip = {"clip": fitted.feature_range} if fitted.clip else {}
    return {"multiply": fitted.scale_, "add": fitted.min_, **clip}


def _max_abs(fitted: Any) -> dict[str, Any]:
    clip = {"clip": (-1.0, 1.0)} if getattr(fitted, "clip", False) else {}
    return {"divide": fitted.scale_, **clip}


_AFFINE = {
    "StandardScaler": _standard,
    "RobustScaler": _robust,
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": _max_abs,
}


def plan_norms(fitted: Any, slots: list[Slot], where: str) -> Planned:
    """Normalizer."""
    claim_numbers(slots, where)
    step = RowNorms(len(slots), fitted.norm)
    return Planned(lambda: step, made_slots(len(slots), where))
