"""LightGBM's classifiers, read from the text of their model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import NotSavableError
from ocboost.foreign.trees.build import TreeBuilder
from ocboost.foreign.trees.categories import as_categories
from ocboost.foreign.trees.model import PortableTrees

_CATEGORICAL, _DEFAULT_LEFT, _MISSING_ZERO, _MISSING_NAN = 1, 2, 4, 8  # bits of a decision_type


def from_lightgbm(fitted: Any) -> PortableTrees:
    """LGBMClassifier, up to its best iteration.

    LightGBM adds the score it starts from to the leaves of the first trees, and with ``boosting="rf"`` of
    all. It is taken out of them here, as the value at the root, which makes a leaf's sign mean something.
    """
    booster = fitted.booster_
    text = booster.model_to_string(num_iteration=booster.best_iteration)
    header, blocks = _parsed(text)
    link, scale = _link(header.get("objective", ""), fitted)
    G, classes = int(header["num_tree_per_iteration"]), np.asarray(fitted.classes_)
    averaged = "average_output" in header
    builder, group, start = TreeBuilder(), [], np.zeros(G)
    for t, block in enumerate(blocks):
        if block.get("is_linear", "0") != "0":
            raise NotSavableError(
                "LGBMClassifier with linear_tree=True cannot be saved: its leaves are linear models. Fit it "
                "with linear_tree=False."
            )
        start[t % G] += _add(builder, block, centred=averaged or t < G)
        group.append(t % G)
    iterations = len(blocks) // G
    codes, vocabularies = as_categories(_pandas_categories(fitted, text), "LGBMClassifier")
    return PortableTrees(
        builder.nodes(n_columns=int(header["max_feature_idx"]) + 1, codes=codes, vocabularies=vocabularies),
        builder.value,
        classes,
        link,
        group=group,
        start=start,
        divisor=iterations if averaged else 1.0,
        scale=scale,
    )


def _parsed(text: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """The entries of the header, and those of each tree."""
    header, *trees = text.split("\nend of trees")[0].split("\nTree=")
    return _entries(header), [_entries(tree) for tree in trees]


def _entries(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines())
    return {key: value for key, _, value in pairs}


def _link(objective: str, fitted: Any) -> tuple[str, float]:
    name, *settings = objective.split(" ")
    scale = next((float(word[8:]) for word in settings if word.startswith("sigmoid:")), 1.0)
    links = {"binary": "logistic", "multiclass": "softmax", "multiclassova": "one against rest"}
    if name not in links or callable(fitted.objective):
        raise NotSavableError(
            f"LGBMClassifier with objective={fitted.objective!r:.40} cannot be saved. Fit it with objective "
            f"'binary', 'multiclass' or 'multiclassova'."
        )
    return links[name], scale


def _add(builder: TreeBuilder, block: dict[str, str], *, centred: bool) -> float:
    """Add a tree, less the value at its root if ``centred``; returns what was taken out."""
    leaf_value = _numbers(block["leaf_value"])
    if int(block["num_leaves"]) == 1:
        taken = float(leaf_value[0]) if centred else 0.0
        leaf, none = np.array([-1]), np.zeros(1)
        builder.add(leaf, none, leaf, leaf, none, (leaf_value - taken)[:1, None])
        return taken
    inner = int(block["num_leaves"]) - 1
    kind, threshold = _numbers(block["decision_type"], int), _numbers(block["threshold"])
    # Inner nodes have the numbers from 0 on, leaves those from -1 down: they come after all inner nodes here.
    left, right = (
        np.where(child < 0, inner - 1 - child, child)
        for child in (_numbers(block[f"{side}_child"], int) for side in ("left", "right"))
    )
    by_category = (kind & _CATEGORICAL) != 0
    by_zero = ~by_category & ((kind & (_MISSING_ZERO | _MISSING_NAN)) == _MISSING_ZERO)
    no_missing = ~by_category & ((kind & (_MISSING_ZERO | _MISSING_NAN)) == 0)
    missing_left = np.where(no_missing, threshold >= 0.0, (kind & _DEFAULT_LEFT) != 0)  # NaN counts as 0
    missing_left[by_category] = False
    taken = float(_numbers(block["internal_value"])[0]) if centred else 0.0
    sets = {}
    if by_category.any():
        first = _numbers(block["cat_boundaries"], int)
        words = _numbers(block["cat_threshold"], np.uint32)
        for v in np.flatnonzero(by_category):
            s = int(threshold[v])
            sets[int(v)] = words[first[s] : first[s + 1]]
    leaves, none = np.full(inner + 1, -1), np.zeros(inner + 1)
    builder.add(
        np.concatenate([_numbers(block["split_feature"], int), leaves]),
        np.concatenate([threshold, none]),
        np.concatenate([left, leaves]),
        np.concatenate([right, leaves]),
        np.concatenate([missing_left, none]),
        np.concatenate([np.zeros(inner), leaf_value - taken])[:, None],
        zero_missing=np.concatenate([by_zero, none]).astype(np.int8),
        sets=sets,
    )
    return taken


def _numbers(text: str, dtype: Any = np.float64) -> NDArray[Any]:
    return np.array(text.split(), dtype=dtype)


def _pandas_categories(fitted: Any, text: str) -> dict[int, list[Any]]:
    """The categories of the columns that were pandas categories, by position."""
    listed = fitted.booster_.pandas_categorical
    if not listed:
        return {}
    named = text.partition("[categorical_feature: ")[2].partition("]")[0]
    columns = sorted({int(word) for word in named.split(",") if word})
    if len(columns) != len(listed):
        raise NotSavableError(
            "LGBMClassifier with ordered categories, or with categorical_feature beside pandas categories, "
            "cannot be saved: its model does not say which column they are. Fit it with unordered categories "
            "and categorical_feature='auto'."
        )
    return dict(zip(columns, listed, strict=True))
