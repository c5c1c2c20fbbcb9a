"""XGBoost's classifiers, read from the JSON of their model."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import NotSavableError
from ocboost.foreign.trees.build import TreeBuilder, words_of
from ocboost.foreign.trees.categories import as_categories
from ocboost.foreign.trees.model import MAX_LEAF, PortableTrees


def from_xgboost(fitted: Any) -> PortableTrees:
    """XGBClassifier, up to its best iteration."""
    booster = fitted.get_booster()
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    name, objective = learner["gradient_booster"]["name"], learner["objective"]["name"]
    if name != "gbtree":
        raise NotSavableError(
            f"XGBClassifier with booster={name!r} cannot be saved: only sums of trees can. Fit it with "
            "booster='gbtree'."
        )
    if objective not in ("binary:logistic", "multi:softprob", "multi:softmax"):
        raise NotSavableError(
            f"XGBClassifier with objective={objective!r:.40} cannot be saved. Fit it with 'binary:logistic' "
            "or 'multi:softprob'."
        )
    parameters, model = learner["learner_model_param"], learner["gradient_booster"]["model"]
    builder, group = TreeBuilder(), []
    for tree, k in list(zip(model["trees"], model["tree_info"], strict=True))[: _n_trees(fitted, model)]:
        _add(builder, tree)
        group.append(int(k))
    missing = np.nan if fitted.missing is None else float(fitted.missing)
    codes, vocabularies = as_categories(_categories(model), "XGBClassifier")
    classes = np.asarray(fitted.classes_)
    return PortableTrees(
        builder.nodes(
            n_columns=int(parameters["num_feature"]),
            precision="single",
            missing=missing,
            codes=codes,
            vocabularies=vocabularies,
        ),
        builder.value,
        classes,
        "logistic" if objective == "binary:logistic" else "softmax",
        group=group,
        start=_start(parameters["base_score"], objective, classes.size),
        single_sums=True,
    )


def _n_trees(fitted: Any, model: dict[str, Any]) -> int:
    """How many trees take part in predictions."""
    try:
        best = int(fitted.best_iteration) + 1
    except AttributeError:
        return len(model["trees"])
    return int(model["iteration_indptr"][best])


def _start(text: str, objective: str, n_classes: int) -> NDArray[np.float64]:
    """The margins that the sums start from; ``base_score`` is one number, or since 3.1 one for each class."""
    given = np.array([float(word) for word in text.strip("[]").split(",")], dtype=np.float32)
    if objective == "binary:logistic":
        with np.errstate(divide="ignore"):
            margin = -np.log(np.float32(1.0) / given - np.float32(1.0))
        return np.array(np.clip(margin, -MAX_LEAF, MAX_LEAF), dtype=np.float64)
    return np.array(np.broadcast_to(given, (n_classes,)), dtype=np.float64)


def _add(builder: TreeBuilder, tree: dict[str, Any]) -> None:
    if int(tree["tree_param"].get("size_leaf_vector", "1") or 1) > 1:
        raise NotSavableError(
            "XGBClassifier with multi_strategy='multi_output_tree' cannot be saved. Fit it with "
            "'one_output_per_tree'."
        )
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    order = _parents_first(left, right)
    place = np.full(left.size + 1, -1)
    place[order] = np.arange(order.size)
    condition = np.array(tree["split_conditions"], dtype=np.float32)
    with np.errstate(under="ignore"):
        below = np.nextafter(condition, np.float32(-np.inf))  # x < t is x <= the number below t
    left, right, missing_left = place[left[order]], place[right[order]], np.array(tree["default_left"])[order]
    sets = {}
    for node, first, size in zip(
        tree.get("categories_nodes", []),
        tree.get("categories_segments", []),
        tree.get("categories_sizes", []),
        strict=True,
    ):
        v = int(place[node])
        if v >= 0 and left[v] >= 0:  # the categories listed go right
            sets[v] = words_of(tree["categories"][first : first + size])
            left[v], right[v], missing_left[v] = right[v], left[v], 1 - missing_left[v]
    builder.add(
        np.array(tree["split_indices"])[order],
        below[order].astype(np.float64),
        left,
        right,
        missing_left,
        condition[order].astype(np.float64)[:, None],
        sets=sets,
    )


def _parents_first(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.int64]:
    """The nodes that the root leads to, parents before their children; those pruned away are left out."""
    order, k = [0], 0
    while k < len(order):
        v = order[k]
        if left[v] >= 0:
            order += [int(left[v]), int(right[v])]
        k += 1
    return np.array(order)


def _categories(model: dict[str, Any]) -> dict[int, list[Any]]:
    """The categories of each column that has some, where the model knows them (since 3.1)."""
    listed: dict[int, list[Any]] = {}
    for column, one in enumerate(model.get("cats", {}).get("enc", [])):
        values = one.get("values", [])
        if not values:
            continue
        if "offsets" in one:
            text, ends = bytes(value & 0xFF for value in values), one["offsets"]
            if not text.isascii():  # XGBoost counts characters and means bytes: the texts are cut short
                raise NotSavableError(
                    f"XGBClassifier with texts as categories in column {column} that are not plain ASCII "
                    "cannot be saved: its model does not keep them whole. Fit it on their numbers, "
                    "column.cat.codes."
                )
            listed[column] = [text[a:b].decode() for a, b in pairwise(ends)]
        else:
            listed[column] = values
    return listed
