"""From probabilities to predictions: weights of the classes, a threshold, costs of errors.

Probabilities stay what they are. The class that is predicted is the one of least expected cost,
Σ_k p_k · costs[k, j]; without costs the likeliest one, by w_k · p_k where classes have weights.

>>> rule = decision_of(np.array(["no", "yes"]), costs=[[0, 1], [5, 0]])
>>> rule.codes(np.array([[0.9, 0.1], [0.7, 0.3]])).tolist()
[0, 1]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_array
from ocboost._core.codec import Fields, Tree
from ocboost._kernels.arrays import Floats
from ocboost._kernels.class_shares import take_labels
from ocboost.errors import InputError

DECISIONS = ("class_weight", "threshold", "costs")  # the parameters of a classifier that are about them
BALANCE = "balanced"
MAX_COST = 1e100  # also the largest weight of a class
BALANCE_MEMORY = 1000.0  # labels that shares are about; chosen by experiments/costs.py


@dataclass(frozen=True)
class Decision:
    """How a prediction is made of probabilities: weights of the classes, and a threshold or costs.

    ``balanced`` weighs a class by the inverse of its share among recent labels, which is given to `codes`.
    """

    weights: Floats | None = None
    balanced: bool = False
    threshold: float | None = None
    costs: Floats | None = None

    def codes(self, probabilities: Floats, shares: Floats | None = None) -> NDArray[np.intp]:
        """The code of the class to predict, of each row; ``shares`` are those of the classes lately."""
        weights = 1.0 / shares if self.balanced and shares is not None else self.weights
        p = probabilities if weights is None else probabilities * weights
        if self.threshold is not None:
            total = 1.0 if weights is None else p.sum(axis=1)
            return (p[:, 1] >= self.threshold * total).astype(np.intp)
        expected = -p
        if self.costs is not None:
            expected = np.zeros(p.shape)
            for k, row in enumerate(self.costs):  # in one order, however many rows there are
                expected += p[:, k : k + 1] * row
        chosen: NDArray[np.intp] = expected.argmin(axis=1)
        return chosen

    @property
    def least_probability(self) -> float | None:
        """From which probability on the second of two classes is predicted; None where that changes."""
        if self.balanced or (self.costs is not None and len(self.costs) != 2):
            return None
        if self.weights is not None and len(self.weights) != 2:
            return None
        wrong = np.array([0.5, 0.5])  # the cost of each class's errors, beyond that of being right
        if self.threshold is not None:
            wrong = np.array([self.threshold, 1.0 - self.threshold])
        elif self.costs is not None:
            wrong = self.costs[[0, 1], [1, 0]] - self.costs[[0, 1], [0, 1]]
        if self.weights is not None:
            wrong = wrong * self.weights
        return float(wrong[0] / wrong.sum()) if (wrong >= 0.0).all() and wrong.any() else None


def decision_of(
    classes: NDArray[Any], class_weight: Any = None, threshold: Any = None, costs: Any = None
) -> Decision | None:
    """The decision that parameters of a classifier mean for its classes; None where none of them is set."""
    if class_weight is None and threshold is None and costs is None:
        return None
    if threshold is not None and costs is not None:
        raise InputError(
            "threshold and costs exclude each other, as each says what is predicted; got both. Leave one out."
        )
    weights = weights_of(class_weight, classes)
    return Decision(
        None if isinstance(weights, str) else weights,
        isinstance(weights, str),
        None if threshold is None else _as_threshold(threshold, len(classes)),
        None if costs is None else _as_costs(costs, classes),
    )


def is_balanced(class_weight: Any) -> bool:
    """Whether classes are to be balanced by how frequent they are."""
    return isinstance(class_weight, str) and class_weight == BALANCE


def weights_of(class_weight: Any, classes: NDArray[Any]) -> Floats | str | None:
    """The weight of each class, (K,), or "balanced"; None where there are none."""
    if class_weight is None:
        return None
    if is_balanced(class_weight):
        return BALANCE
    if not isinstance(class_weight, Mapping):
        raise InputError(
            f"class_weight must be None, 'balanced' or a dictionary from classes to weights; got "
            f"{class_weight!r:.80}. Give {{class: weight}}."
        )
    weights = np.ones(len(classes))
    for label, weight in class_weight.items():
        weights[_code(label, classes, "class_weight")] = _as_number(weight, f"class_weight of {label!r:.40}")
    if not weights.any():
        raise InputError("class_weight must give a weight above 0 to some class; all are 0.")
    return weights


def _as_threshold(threshold: Any, n_classes: int) -> float:
    is_number = isinstance(threshold, Real) and not isinstance(threshold, bool | np.bool_)
    if not is_number or not 0.0 <= float(threshold) <= 1.0:
        raise InputError(
            f"threshold must be a probability from 0 to 1; got {threshold!r:.80}. The second class is "
            "predicted from this probability on."
        )
    if n_classes != 2:
        raise InputError(
            f"threshold must be None for more than two classes; got {threshold!r:.80} for {n_classes}. Give "
            "costs or class_weight instead."
        )
    return float(threshold)


def _as_costs(costs: Any, classes: NDArray[Any]) -> Floats:
    K = len(classes)
    if hasattr(costs, "columns") and hasattr(costs, "index") and hasattr(costs, "to_numpy"):
        costs = _by_names(costs, classes)
    if isinstance(costs, Mapping):
        table = 1.0 - np.eye(K)
        for pair, cost in costs.items():
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise InputError(f"costs must have keys (true, predicted); got {pair!r:.80}.")
            true, predicted = (_code(label, classes, "costs") for label in pair)
            table[true, predicted] = _as_number(cost, f"costs of {pair!r:.60}")
        return table
    given = as_array(costs)
    if given.dtype.kind not in "iuf" or given.shape != (K, K):
        raise InputError(
            f"costs must be {K} × {K} numbers, costs[true, predicted] in the order of classes_, or a "
            f"dictionary {{(true, predicted): cost}}; got shape {given.shape} of {given.dtype}."
        )
    table = given.astype(np.float64)
    bad = ~((table >= 0.0) & (table <= MAX_COST))
    if bad.any():
        true, predicted = np.argwhere(bad)[0].tolist()
        _as_number(float(table[true, predicted]), f"costs[{true}, {predicted}]")
    return table


def _by_names(costs: Any, classes: NDArray[Any]) -> Any:
    """Costs of a data frame: by the names of its rows (true) and columns (predicted), if it has any."""
    rows, columns = list(costs.index), list(costs.columns)
    if set(rows) != set(classes.tolist()) and rows == columns == list(range(len(classes))):
        return costs.to_numpy()  # it has no names
    values = costs.to_numpy().tolist()
    return {
        (true, predicted): cost
        for true, row in zip(rows, values, strict=True)
        for predicted, cost in zip(columns, row, strict=True)
    }


def _as_number(value: Any, name: str) -> float:
    is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not is_number or not 0.0 <= float(value) <= MAX_COST:
        raise InputError(
            f"{name} must be a number from 0 to {MAX_COST:g}; got {value!r:.80}. 1 is the cost of a usual "
            "error, and the weight of a usual class."
        )
    return float(value)


def _code(label: Any, classes: NDArray[Any], name: str) -> int:
    known = classes.tolist()
    try:
        return int(known.index(label))
    except ValueError:
        raise InputError(
            f"{name} must be about the classes {known!s:.80}; got {label!r:.80}. Name them as y does."
        ) from None


# How frequent the classes are -----------------------------------------------------------------------------


class ClassShares:
    """The share of each class among recent labels: an exponential average over about 1,000 of them.

    It begins as if one label of each class had been seen, so no share is ever 0.

    >>> shares = ClassShares(2)
    >>> shares.take(np.array([0, 0, 0, 1]), np.ones(4)).round(2)
    array([0.75, 0.67, 0.63, 1.5 ])
    >>> shares.shares.round(2)
    array([0.67, 0.33])
    """

    def __init__(self, n_classes: int) -> None:
        self._sums = np.zeros(n_classes + 1)  # of each class, and of all

    @classmethod
    def of_weights(cls, weights: Floats) -> Self:
        """Shares after labels of these weights, by class, that came well mixed.

        >>> ClassShares.of_weights(np.array([300.0, 100.0])).shares.round(2)
        array([0.75, 0.25])
        """
        made, total = cls(len(weights)), float(weights.sum())
        counted = BALANCE_MEMORY * -math.expm1(total * math.log1p(-1.0 / BALANCE_MEMORY))
        made._sums[:-1] = counted * (weights / total)
        made._sums[-1] = made._sums[:-1].sum()
        return made

    @property
    def shares(self) -> Floats:
        """The share of each class, (K,)."""
        n = len(self._sums) - 1
        found: Floats = (self._sums[:-1] + 1.0) / (self._sums[-1] + n)
        return found

    def take(self, codes: NDArray[np.int64], weights: Floats) -> Floats:
        """Count labels; gives the weight 1/(K · share) of each, at its turn."""
        balance = np.empty(len(codes))
        take_labels(self._sums, codes, np.ascontiguousarray(weights), 1.0 - 1.0 / BALANCE_MEMORY, balance)
        return balance

    def take_one(self, code: int, weight: float) -> None:
        """Count one label."""
        self.take(np.array([code]), np.array([weight]))

    def copy(self) -> Self:
        """An independent copy."""
        other = type(self).__new__(type(self))
        other._sums = self._sums.copy()
        return other

    def tree(self) -> Tree:
        """What a file holds."""
        return {"sums": self._sums}

    @classmethod
    def from_tree(cls, fields: Fields, n_classes: int) -> Self:
        """Shares from what `tree` gave."""
        made = cls(n_classes)
        made._sums = fields.array("sums", np.float64, (n_classes + 1,))
        inside = (made._sums >= 0.0) & (made._sums <= BALANCE_MEMORY * 1.001)
        fields.require(inside.all(), "its shares of the classes do not fit")
        fits = np.isclose(made._sums[:-1].sum(), made._sums[-1], rtol=1e-6, atol=1e-6)
        fields.require(bool(fits), "its shares of the classes do not sum to all")
        return made


def balanced_weights(codes: NDArray[np.int64], weights: Floats) -> Floats:
    """Each row's n / (K · n_k), as scikit-learn's "balanced" has it, where sample weights count as rows.

    >>> balanced_weights(np.array([0, 0, 0, 1]), np.ones(4)).round(3)
    array([0.667, 0.667, 0.667, 2.   ])
    """
    counts = np.bincount(codes, weights)
    n = np.count_nonzero(counts)
    factors = counts.sum() / (n * np.where(counts > 0.0, counts, 1.0))
    return np.asarray(factors[codes], np.float64)


# Files ----------------------------------------------------------------------------------------------------


def decision_tree(clf: Any) -> Tree:
    """What a file holds of a classifier's parameters: an entry, or none where nothing is set."""
    given = {name: getattr(clf, name) for name in DECISIONS}
    found = decision_of(clf.classes_, **given)
    if found is None:
        return {}
    weights = BALANCE if found.balanced else found.weights
    return {"decisions": {"weights": weights, "threshold": found.threshold, "costs": found.costs}}


def read_decision(fields: Fields, classes: NDArray[Any]) -> dict[str, Any]:
    """The parameters that `decision_tree` wrote; older files have none."""
    if "decisions" not in fields:
        return {}

    def parameters(one: Fields) -> dict[str, Any]:
        K = len(classes)
        found: dict[str, Any] = dict.fromkeys(DECISIONS)
        weights = one.take("weights")
        if isinstance(weights, np.ndarray):
            fits = weights.shape == (K,) and weights.dtype == np.float64
            one.require(fits, "its weights do not fit its classes")
            found["class_weight"] = dict(zip(classes.tolist(), weights.tolist(), strict=True))
        else:
            one.require(weights is None or weights == BALANCE, "its weights are not known")
            found["class_weight"] = weights
        found["threshold"], found["costs"] = one.take("threshold"), one.take("costs")
        known = found["costs"] is None or isinstance(found["costs"], np.ndarray)
        known = known and (found["threshold"] is None or type(found["threshold"]) is float)
        one.require(known, "its threshold or costs are not known")
        one.make(decision_of, classes, **found)
        return found

    return fields.read("decisions", parameters)
