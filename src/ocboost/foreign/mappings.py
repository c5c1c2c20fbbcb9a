"""Steps that bend the values of columns: powers and products, bins, quantiles, power transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError
from ocboost.foreign.base import (
    Floats,
    Mask,
    PortableStep,
    as_floats,
    choice,
    flag,
    integers,
    numbers,
    offsets,
    require_present,
    width,
)
from ocboost.foreign.columns import Chain
from ocboost.foreign.encoders import OneHot
from ocboost.foreign.scalers import Affine
from ocboost.foreign.slots import Planned, Slot, claim_numbers, made_slots

MAX_DEGREE = 64  # of a product of features
NEAREST = 1e-7  # to a bound: closer values count as the bound itself, as in scikit-learn


class Products(PortableStep):
    """Products of columns: those that ``factors`` lists from ``first[d]`` to ``first[d + 1]``.

    >>> Products(2, np.array([0, 0, 1]), np.array([0, 0, 3]))(np.array([[2.0, 5.0]]))  # 1, and a·a·b
    array([[ 1., 20.]])
    """

    kind = "Products"
    _entries = ("n_columns", "factors", "first")

    def __init__(self, n_columns: int, factors: NDArray[np.int64], first: NDArray[np.int64]) -> None:
        self.n_columns = width(n_columns, "n_columns")
        self.factors = integers(factors, "factors", None, least=0, most=self.n_columns - 1)
        self.first = offsets(first, "first", self.factors.size)
        if np.diff(self.first).max() > MAX_DEGREE:
            raise InputError(f"first must give at most {MAX_DEGREE} factors to a product.")
        self.n_out = width(self.first.size - 1, "the number of products")

    def __call__(self, X: Floats) -> Floats:
        """Multiply from the last factor to the first, as scikit-learn rounds."""
        require_present(X, "PolynomialFeatures")
        out = np.ones((X.shape[0], self.n_out))
        for d in range(self.n_out):
            for f in self.factors[self.first[d] : self.first[d + 1]][::-1]:
                out[:, d] *= X[:, f]
        return out

    def missing_after(self, missing: Mask) -> Mask | None:
        """It refuses missing values."""
        return None if missing.any() else np.zeros(self.n_out, np.bool_)

    def needs(self, wanted: Mask) -> Mask:
        """All, as none may be missing."""
        return np.ones(self.n_columns, np.bool_)


class Intervals(PortableStep):
    """The number of the interval that a value lies in: how many of the column's inner edges are not above."""

    kind = "Intervals"
    _entries = ("edges", "first")

    def __init__(self, edges: Floats, first: NDArray[np.int64]) -> None:
        self.edges = numbers(edges, "edges", None)
        self.first = offsets(first, "first", self.edges.size)
        self.n_columns = self.n_out = width(self.first.size - 1, "the number of columns")
        for c in range(self.n_columns):
            if (np.diff(self._of(c)) < 0).any():
                raise InputError(f"edges must rise; those of column {c} do not.")

    def _of(self, c: int) -> Floats:
        return self.edges[self.first[c] : self.first[c + 1]]

    def __call__(self, X: Floats) -> Floats:
        """Count the edges."""
        require_present(X, "a KBinsDiscretizer")
        out = np.empty(X.shape)
        for c in range(self.n_columns):
            out[:, c] = np.searchsorted(self._of(c), X[:, c], side="right")
        return out

    def missing_after(self, missing: Mask) -> Mask | None:
        """It refuses missing values."""
        return None if missing.any() else missing

    def needs(self, wanted: Mask) -> Mask:
        """All, as none may be missing."""
        return np.ones(self.n_columns, np.bool_)


class QuantileMap(PortableStep):
    """Values to the share of the fitted values below them, or to a normal distribution."""

    kind = "QuantileMap"
    _entries = ("quantiles", "references", "normal")

    def __init__(self, quantiles: Floats, references: Floats, normal: bool) -> None:
        self.references = numbers(references, "references", None)
        self.quantiles = numbers(quantiles, "quantiles", self.references.size, None)
        self.normal = flag(normal, "normal")
        self.n_columns = self.n_out = width(self.quantiles.shape[1], "the number of columns")
        rising = self.references.size > 0 and (np.diff(self.references) >= 0).all()
        if not rising or (np.diff(self.quantiles, axis=0) < 0).any():
            raise InputError("quantiles and references must rise.")
        if (self.references < 0.0).any() or (self.references > 1.0).any():
            raise InputError("references must lie between 0 and 1.")

    def __call__(self, X: Floats) -> Floats:
        """Interpolate, upwards and downwards: equal quantiles then give the middle."""
        from scipy.special import ndtri

        out = np.empty(X.shape)
        near = NEAREST if self.normal else 0.0
        for c, points in enumerate(self.quantiles.T):
            x = X[:, c]
            up = np.interp(x, points, self.references)
            down = np.interp(-x, -points[::-1], -self.references[::-1])
            column = 0.5 * (up - down)
            low, high = x == points[0], x == points[-1]
            if self.normal:
                low, high = x - near < points[0], x + near > points[-1]
            column[high] = 1.0
            column[low] = 0.0
            if self.normal:
                edge = near - np.spacing(1)
                column = np.clip(ndtri(column), ndtri(edge), ndtri(1 - edge))
            column[np.isnan(x)] = np.nan
            out[:, c] = column
        return out


class PowerMap(PortableStep):
    """The power transform of Yeo and Johnson, or of Box and Cox."""

    kind = "PowerMap"
    _entries = ("powers", "method")

    def __init__(self, powers: Floats, method: str) -> None:
        self.powers = numbers(powers, "powers", None)
        self.method = choice(method, "method", ("yeo-johnson", "box-cox"))
        self.n_columns = self.n_out = width(self.powers.size, "the number of columns")

    def __call__(self, X: Floats) -> Floats:
        """Transform each column."""
        if self.method == "box-cox":
            from scipy.special import boxcox

            if (X <= 0.0).any():
                raise InputError(
                    f"X must be above zero for a PowerTransformer with method='box-cox'; got {np.nanmin(X)}. "
                    "Leave such rows out."
                )
            return np.asarray(boxcox(X, self.powers))
        out = np.empty(X.shape)
        for c, power in enumerate(self.powers):
            out[:, c] = _yeo_johnson(X[:, c], power)
        return out


def _yeo_johnson(x: Floats, power: float) -> Floats:
    """scipy.stats.yeojohnson with a given power, without importing all of scipy.stats."""
    out = np.full_like(x, np.nan)
    up, down = x >= 0.0, x < 0.0
    with np.errstate(over="ignore"):
        if abs(power) < np.spacing(1.0):
            out[up] = np.log1p(x[up])
        else:
            out[up] = np.expm1(power * np.log1p(x[up])) / power
        if abs(power - 2.0) > np.spacing(1.0):
            out[down] = -np.expm1((2.0 - power) * np.log1p(-x[down])) / (2.0 - power)
        else:
            out[down] = -np.log1p(-x[down])
    return out


# Reading ----------------------------------------------------------------------------------------------------


def plan_products(fitted: Any, slots: list[Slot], where: str) -> Planned:
    """PolynomialFeatures."""
    claim_numbers(slots, where)
    lists = [np.repeat(np.arange(len(slots)), row) for row in fitted.powers_]
    first = np.cumsum([0, *map(len, lists)])
    step = Products(len(slots), np.concatenate([*lists, np.empty(0, np.int64)]).astype(np.int64), first)
    return Planned(lambda: step, made_slots(step.n_out, where))


def plan_intervals(fitted: Any, slots: list[Slot], where: str) -> Planned:
    """KBinsDiscretizer, with any of its encodings."""
    claim_numbers(slots, where)
    inner = [as_floats(edges)[1:-1] for edges in fitted.bin_edges_]
    step: PortableStep = Intervals(np.concatenate(inner), np.cumsum([0, *map(len, inner)]))
    if fitted.encode != "ordinal":
        counts = [len(edges) + 1 for edges in inner]
        keys, first = np.concatenate([np.arange(float(n)) for n in counts]), np.cumsum([0, *counts])
        never = np.full(len(slots), -2)
        step = Chain([step, OneHot(keys, first, np.arange(keys.size), never, never, int(keys.size))])
    return Planned(lambda: step, made_slots(step.n_out, where))


def plan_quantiles(fitted: Any, slots: list[Slot], where: str) -> Planned:
    """QuantileTransformer."""
    claim_numbers(slots, where)
    step = QuantileMap(
        as_floats(fitted.quantiles_), as_floats(fitted.references_), fitted.output_distribution == "normal"
    )
    return Planned(lambda: step, made_slots(step.n_out, where))


def plan_power(fitted: Any, slots: list[Slot], where: str) -> Planned:
    """PowerTransformer."""
    claim_numbers(slots, where)
    step: PortableStep = PowerMap(as_floats(fitted.lambdas_), fitted.method)
    if fitted.standardize:
        scaler = fitted._scaler
        step = Chain(
            [step, Affine(len(slots), subtract=as_floats(scaler.mean_), divide=as_floats(scaler.scale_))]
        )
    return Planned(lambda: step, made_slots(step.n_out, where))
