"""Hypotheses in words: "nswprice > 0.06", "carrier is UA", the conditions on the way through a tree.

`in_words` says when a hypothesis answers yes (+1), `path_in_words` on which way a given row came to its
answer. A kind that is not known here is shown by its repr; another module may register its own:
``in_words.register(Kind, function)``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.escaping import one_line, shown
from ocboost.hypotheses.balls import Balls
from ocboost.hypotheses.base import Hypotheses
from ocboost.hypotheses.boxes import Boxes
from ocboost.hypotheses.callables import Callables
from ocboost.hypotheses.cascade_stumps import CascadeStumps
from ocboost.hypotheses.category_trees import CategoryTrees
from ocboost.hypotheses.joined import Joined
from ocboost.hypotheses.stumps import Stumps
from ocboost.hypotheses.transformed import Transformed
from ocboost.hypotheses.trees import Trees

ALWAYS, NEVER = "always", "never"
MAX_LETTERS_OF_NAME = 60
MAX_LETTERS_OF_REPR = 80
MAX_WAYS = 3  # through a tree that are spelt out
MAX_TEXTS_LISTED = 4
MAX_COORDINATES = 3  # of the centre of a ball


class Feature(NamedTuple):
    """What words call a feature, and the category of its column that it stands for, if it is one."""

    name: str
    category: str | None = None
    column: int = 0  # the place of the column that it belongs to
    scale: float = 1.0  # of what hypotheses see, which is shift + scale · the feature
    shift: float = 0.0
    texts: tuple[str, ...] = ()  # those that it has the place of, if it is a code


@dataclass(frozen=True)
class NamedFeatures:
    """The features that hypotheses look at, and the columns that these were made of."""

    features: tuple[Feature, ...]
    columns: tuple[str, ...]

    @classmethod
    def of_names(cls, names: Sequence[object]) -> Self:
        """Columns of numbers, each of which is a feature."""
        columns = tuple(str(name) for name in names)
        return cls(tuple(Feature(name, None, i) for i, name in enumerate(columns)), columns)

    @classmethod
    def of_schema(cls, schema: Any, names: Sequence[object] | None = None) -> Self:
        """The features of a `Schema`; ``names`` are all columns in their order, if it has not all of them."""
        columns = tuple(str(name) for name in names) if names is not None else ()
        if not {column.name for column in schema.columns} <= set(columns):
            columns = tuple(column.name for column in schema.columns)
        place_of = {name: place for place, name in enumerate(columns)}
        features: list[Feature] = []
        for column in schema.columns:
            place, categories = place_of[column.name], getattr(column, "categories", ())
            for i, name in enumerate(column.feature_names):
                one_of = column.kind == "category" and i < len(categories)
                if column.kind == "code":
                    features.append(Feature(column.name, None, place, texts=tuple(categories)))
                    continue
                features.append(
                    Feature(column.name if one_of else name, categories[i] if one_of else None, place)
                )
        return cls(tuple(features), columns)

    def of_columns(self, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum over the features of each column, (columns,)."""
        places = [feature.column for feature in self.features]
        total: NDArray[np.float64] = np.zeros(len(self.columns))
        np.add.at(total, places, amounts)
        return total

    def places_of(self, columns: Sequence[int]) -> dict[int, list[int]]:
        """The features of each of some columns."""
        found: dict[int, list[int]] = {column: [] for column in columns}
        for place, feature in enumerate(self.features):
            if feature.column in found:
                found[feature.column].append(place)
        return found

    def title(self, column: int) -> str:
        """The name of a column, escaped."""
        return shown(self.columns[column])[:MAX_LETTERS_OF_NAME]

    def value(self, column: int, values: Mapping[int, float]) -> str:
        """What a row has in a column, by the values of its features."""
        own = [(self.features[place], value) for place, value in values.items()]
        codes = [(feature.texts, value) for feature, value in own if feature.texts]
        if codes:
            (texts, value), *_ = codes
            if math.isnan(value):
                return "missing"
            return shown(texts[int(value)])[:MAX_LETTERS_OF_NAME] if value >= 0.0 else "other"
        if all(feature.category is not None for feature, _ in own):
            here = [shown(feature.category)[:MAX_LETTERS_OF_NAME] for feature, value in own if value == 1.0]
            return here[0] if len(here) == 1 else "other"
        if len(own) == 1:
            return _number(own[0][1])
        prefix = f"{self.columns[column]}."
        parts = [(feature.name.removeprefix(prefix), value) for feature, value in own]
        return ", ".join(f"{shown(name)[:MAX_LETTERS_OF_NAME]} {_number(value)}" for name, value in parts)


def features_of(clf: Any, schema: Any = None) -> NamedFeatures:
    """The features of a fitted classifier: by its schema, by the names of its columns, or x0 and so on."""
    schema = getattr(clf, "schema_", None) if schema is None else schema
    names = getattr(clf, "feature_names_in_", None)
    if schema is not None:
        return NamedFeatures.of_schema(schema, names)
    return NamedFeatures.of_names([f"x{i}" for i in range(clf.n_features_in_)] if names is None else names)


# Conditions on one feature ---------------------------------------------------------------------------------


class Condition(NamedTuple):
    """That a feature lies in (low, high]; ``missing``: or that it is missing."""

    low: float = -math.inf
    high: float = math.inf
    missing: bool = True

    def both(self, other: Condition) -> Condition:
        """That this and the other hold."""
        return Condition(max(self.low, other.low), min(self.high, other.high), self.missing and other.missing)

    @property
    def is_possible(self) -> bool:
        """Whether a row can meet it."""
        return self.missing or self.low < self.high

    @property
    def of_numbers(self) -> Condition:
        """The same without remarks on missing values, if it says anything of numbers."""
        if not self.low < self.high or (self.low == -math.inf and self.high == math.inf):
            return self
        return self._replace(missing=self.high == math.inf)  # as words take it for granted

    def words(self, feature: Feature) -> str:
        """The condition in words; nothing where it always holds."""
        name = shown(feature.name)[:MAX_LETTERS_OF_NAME]
        if feature.category is not None:  # 0 or 1, never missing
            zero, one = self.low < 0.0 <= self.high, self.low < 1.0 <= self.high
            if zero or one:
                what = shown(feature.category)[:MAX_LETTERS_OF_NAME]
                return "" if zero and one else f"{name} {'is' if one else 'is not'} {what}"
        if not self.low < self.high:
            return f"{name} is missing" if self.missing else NEVER
        if feature.texts and feature.scale == 1.0 and feature.shift == 0.0:
            return _one_of(name, self, feature.texts)
        if feature.scale != 1.0 or feature.shift != 0.0:
            low, high = ((limit - feature.shift) / feature.scale for limit in (self.low, self.high))
            return self._replace(low=low, high=high).words(feature._replace(scale=1.0, shift=0.0))
        if self.low == -math.inf and self.high == math.inf:
            return "" if self.missing else f"{name} is not missing"
        if self.low == -math.inf:
            return f"{name} ≤ {_number(self.high)}{' or missing' if self.missing else ''}"
        if self.high == math.inf:  # a missing value counts as large unless the data said otherwise
            return f"{name} > {_number(self.low)}{'' if self.missing else ', not missing'}"
        between = f"{_number(self.low)} < {name} ≤ {_number(self.high)}"
        return f"{between}{' or missing' if self.missing else ''}"


def _one_of(name: str, condition: Condition, texts: tuple[str, ...]) -> str:
    """A condition on the place of a text in a list, as the texts that meet it."""
    inside = [condition.low < place <= condition.high for place in range(len(texts))]
    few = 2 * sum(inside) <= len(texts)
    listed = [
        shown(text)[:MAX_LETTERS_OF_NAME] for text, here in zip(texts, inside, strict=True) if here is few
    ]
    if not listed:
        return f"{name} is {'an unknown text' if few else 'a known text'}"
    more = f", … ({len(listed)})" if len(listed) > MAX_TEXTS_LISTED else ""
    return f"{name} is {'' if few else 'not '}{' or '.join(listed[:MAX_TEXTS_LISTED])}{more}"


def _number(value: float) -> str:
    return "missing" if math.isnan(value) else f"{value:.6g}"


def _all_of(conditions: Mapping[int, Condition], features: Sequence[Feature]) -> str:
    """Conditions on several features, by their places, that hold together."""
    words = [condition.of_numbers.words(features[place]) for place, condition in conditions.items()]
    return " and ".join(each for each in words if each) or ALWAYS


# When a hypothesis says yes --------------------------------------------------------------------------------


@singledispatch
def in_words(hypotheses: Hypotheses, features: Sequence[Feature], j: int) -> str:
    """When hypothesis j says yes, in words.

    >>> stumps = Stumps([0, 1], [0.06, 0.5], [-1, -1])
    >>> named = [Feature("nswprice"), Feature("carrier", "UA")]
    >>> in_words(stumps, named, 0), in_words(stumps, named, 1)
    ('nswprice > 0.06', 'carrier is UA')
    """
    what = one_line(repr(hypotheses)).strip("<>")[:MAX_LETTERS_OF_REPR]
    return f"hypothesis {j + 1} of {what}"


@in_words.register
def _(hypotheses: Joined, features: Sequence[Feature], j: int) -> str:
    owner, place = owner_of(hypotheses, j)
    return in_words(owner, features, place)


@in_words.register
def _(hypotheses: Stumps, features: Sequence[Feature], j: int) -> str:
    feature, threshold = features[hypotheses.feature[j]], float(hypotheses.threshold[j])
    below, missing = bool(hypotheses.left[j] > 0), bool(hypotheses.missing[j] > 0)
    if math.isinf(threshold) and feature.category is None:
        otherwise = below if threshold > 0 else not below
        answer = ALWAYS if otherwise else NEVER
        name = shown(feature.name)[:MAX_LETTERS_OF_NAME]
        return answer if otherwise == missing else f"{answer}, unless {name} is missing"
    condition = Condition(-math.inf, threshold, missing) if below else Condition(threshold, math.inf, missing)
    if feature.category is not None and not (condition.low < 1.0 and condition.high >= 0.0):
        return NEVER
    return condition.words(feature) or ALWAYS


@in_words.register
def _(hypotheses: Trees, features: Sequence[Feature], j: int) -> str:
    ways = list(_ways_to_yes(hypotheses, j))
    if not ways:
        return NEVER
    spelt = [_all_of(way, features) for way in ways[:MAX_WAYS]]
    if ALWAYS in spelt:
        return ALWAYS
    more = [f"{len(ways) - MAX_WAYS} more ways through the tree"] if len(ways) > MAX_WAYS else []
    return ", or ".join([*spelt, *more])


@in_words.register
def _(hypotheses: Balls, features: Sequence[Feature], j: int) -> str:
    outside, radius, centre = hypotheses.sign[j] > 0, float(hypotheses.theta[j]), hypotheses.centre[j]
    if radius == 0.0:
        return ALWAYS if outside else NEVER
    some = [
        f"{shown(features[f].name)[:MAX_LETTERS_OF_NAME]} {_number(float(centre[f]))}"
        for f in range(min(len(centre), MAX_COORDINATES))
    ]
    more = f", … {len(centre)} features" if len(centre) > MAX_COORDINATES else ""
    where = f"({', '.join(some)}{more})"
    return f"{'at least' if outside else 'less than'} {_number(radius)} away from {where}"


@in_words.register
def _(hypotheses: Boxes, features: Sequence[Feature], j: int) -> str:
    compared = ">" if hypotheses.sign[j] > 0 else "≤"
    filtered = _rectangles(hypotheses.rects[j], hypotheses.weight[j])
    return f"{filtered} {compared} {_number(float(hypotheses.theta[j]))}"


@in_words.register
def _(hypotheses: CascadeStumps, features: Sequence[Feature], j: int) -> str:
    tilted = "tilted " if hypotheses.tilted[j] else ""
    filtered = _rectangles(hypotheses.rects[j], hypotheses.weights[j])
    return f"{tilted}{filtered} ≥ {_number(float(hypotheses.threshold[j]))}"


@in_words.register
def _(hypotheses: Callables, features: Sequence[Feature], j: int) -> str:
    t = int(hypotheses._member[j])
    member, classes = hypotheses.members[t], hypotheses.classes
    if hasattr(member, "predict") and classes is not None:
        label = shown(classes[hypotheses._group[j]])[:MAX_LETTERS_OF_NAME]
        return f"{shown(type(member).__name__)[:MAX_LETTERS_OF_NAME]} {t + 1} predicts {label}"
    name = getattr(member, "__name__", "<lambda>")
    if name == "<lambda>":  # a repr would show where it is in memory
        name = f"{type(member).__name__} {t + 1}"
    return f"{shown(name)[:MAX_LETTERS_OF_NAME]} says 1"


@in_words.register
def _(hypotheses: CategoryTrees, features: Sequence[Feature], j: int) -> str:
    own = hypotheses.nodes.taken(np.array([j]))[0]
    names = [shown(features[c].name)[:MAX_LETTERS_OF_NAME] for c in own.reads]
    more = ", …" if len(names) > MAX_COORDINATES else ""
    return f"tree {j + 1}, over {', '.join(names[:MAX_COORDINATES])}{more}, says yes" if names else "always"


@in_words.register
def _(hypotheses: Transformed, features: Sequence[Feature], j: int) -> str:
    return in_words(hypotheses.hypotheses, hypotheses.features_after(features), j)


def owner_of(joined: Joined, j: int) -> tuple[Hypotheses, int]:
    """The set that a hypothesis belongs to, and its place there."""
    for each in joined.sets:
        if j < len(each):
            return each, j
        j -= len(each)
    raise IndexError(j)


def _rectangles(rects: NDArray[Any], weights: NDArray[Any]) -> str:
    """Weighted rectangles of an image: their places and sizes."""
    text = ""
    for (x, y, w, h), weight in zip(rects.tolist(), weights.tolist(), strict=True):
        if w == 0 or h == 0:
            continue
        size = "" if abs(weight) == 1.0 else f"{abs(weight):.6g}·"
        sign = " - " if weight < 0.0 else " + " if text else ""
        text += f"{sign}{size}[{w}×{h} at {x}, {y}]"
    return text.strip()


# Trees -----------------------------------------------------------------------------------------------------


def _ways_to_yes(trees: Trees, j: int) -> Iterator[dict[int, Condition]]:
    """The conditions of each way to yes, by the features; it ends where all leaves below agree."""
    group, tree = divmod(j, trees.root.size)
    root = int(trees.root[tree])
    settled = trees.settled(group)
    waiting: list[tuple[int, dict[int, Condition]]] = [(root, {})]
    while waiting:
        v, conditions = waiting.pop()
        if settled[v] > 0:
            yield conditions
        if settled[v]:
            continue
        place, limit, missing_left = (
            int(trees.feature[v]),
            float(trees.threshold[v]),
            bool(trees.missing_left[v]),
        )
        for child, condition in (
            (int(trees.right[v]), Condition(limit, math.inf, not missing_left)),
            (int(trees.left[v]), Condition(-math.inf, limit, missing_left)),
        ):
            held = conditions.get(place, Condition()).both(condition)
            if held.is_possible:
                waiting.append((child, {**conditions, place: held}))


def path_in_words(
    hypotheses: Hypotheses, features: Sequence[Feature], j: int, row: NDArray[np.float64]
) -> str:
    """The conditions on which a row came to its answer from hypothesis j; as `in_words` if it is no tree.

    >>> children = [1, 2, -1, -1, -1], [4, 3, -1, -1, -1]
    >>> trees = Trees([0], [0, 1, -1, -1, -1], [1, 5, 0, 0, 0], *children, [1, 1, 1, -1, -1])
    >>> path_in_words(trees, [Feature("a"), Feature("b")], 0, np.array([0.5, 9.0]))
    'a ≤ 1 and b > 5'
    """
    if isinstance(hypotheses, Joined):
        owner, place = owner_of(hypotheses, j)
        return path_in_words(owner, features, place, row)
    if isinstance(hypotheses, Transformed):
        after = np.asarray(hypotheses.step(np.ascontiguousarray(row[None], dtype=np.float64))[0])
        return path_in_words(hypotheses.hypotheses, hypotheses.features_after(features), j, after)
    if not isinstance(hypotheses, Trees):
        return in_words(hypotheses, features, j)
    group, tree = divmod(j, hypotheses.root.size)
    v = int(hypotheses.root[tree])
    settled = hypotheses.settled(group)
    conditions: dict[int, Condition] = {}
    while not settled[v]:
        place, limit = int(hypotheses.feature[v]), float(hypotheses.threshold[v])
        x = float(np.float32(row[place])) if hypotheses.precision == "single" else float(row[place])
        left = bool(hypotheses.missing_left[v]) if math.isnan(x) else x <= limit
        if math.isnan(x):
            condition = Condition(math.inf, -math.inf, True)
        else:
            condition = Condition(-math.inf, limit, False) if left else Condition(limit, math.inf, False)
        conditions[place] = conditions.get(place, Condition()).both(condition)
        v = int((hypotheses.left if left else hypotheses.right)[v])
    if not conditions:
        return ALWAYS if settled[v] > 0 else NEVER
    return _all_of(conditions, features)
