"""A fitted classifier as one ONNX model: its inputs, its outputs, what it says of itself."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ocboost._core.file_format import write_atomically
from ocboost.errors import InputError
from ocboost.estimators.committee_classifier import CommitteeClassifier
from ocboost.estimators.decisions import decision_of, is_balanced
from ocboost.estimators.onnx.graph import Graph, Value, onnx
from ocboost.estimators.onnx.scores import (
    decided_by_score,
    decided_by_share,
    label_values,
    scores,
    shares,
    winners,
)
from ocboost.streams import Schema

# As low as the operators allow, so that old runtimes read it.
IR_VERSION = 7
OPSET = 13
ML_OPSET = 1  # of ai.onnx.ml, which only the encoder of categories is of
OUTPUTS = ("label", "probabilities", "scores")
FEATURES = "X"


def export_onnx(
    clf: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    raw: bool = False,
    schema: Schema | None = None,
) -> Any:
    """An `onnx.ModelProto` of a fitted `OCBClassifier`, see `OCBClassifier.to_onnx`.

    ``schema`` has the columns, where the classifier does not know them itself.
    """
    if not isinstance(clf, CommitteeClassifier):
        raise InputError(
            f"only an OCBClassifier can be exported to ONNX; got an {type(clf).__name__}, whose members "
            "and their shares change with every label. Fit an OCBClassifier, in Python or with: "
            "ocboost fit … --method ocb."
        )
    check_is_fitted(clf)
    helper, types = onnx("helper"), onnx().TensorProto
    now = clf._snapshot()
    view = now.committee_.view()  # a growing model's hypotheses and weights belong together
    schema = getattr(now, "schema_", None) if schema is None else schema
    F, classes = view.hypotheses.n_features, label_values(now.classes_)
    K = len(classes)
    graph = Graph(taken=() if schema is None else [column.name for column in schema.columns])
    if raw:
        inputs, X = _columns(graph, schema)
    else:
        inputs, X = [helper.make_tensor_value_info(FEATURES, types.DOUBLE, ["N", F])], FEATURES
    found = scores(graph, X, view)
    share = shares(graph, found, K)
    weights = None if is_balanced(now.class_weight) else now.class_weight  # those act while learning
    rule = decision_of(now.classes_, weights, now.threshold, now.costs)
    if rule is None:
        codes = winners(graph, X, found, view)
    elif K == 2:
        codes = decided_by_score(graph, found, rule.codes)
    else:
        codes = decided_by_share(graph, share, rule)
    label = graph.op("Gather", classes, codes, axis=0)
    votes = graph.op("Reshape", found, np.array([-1])) if K == 2 else _by_rows(graph, found)
    values = (label, _by_rows(graph, share), votes)
    for name, value in zip(OUTPUTS, values, strict=True):
        graph.nodes.append(helper.make_node("Identity", [value], [name], name))
    of_label = types.STRING if classes.dtype == object else helper.np_dtype_to_tensor_dtype(classes.dtype)
    outputs = [
        helper.make_tensor_value_info(OUTPUTS[0], of_label, ["N"]),
        helper.make_tensor_value_info(OUTPUTS[1], types.DOUBLE, ["N", K]),
        helper.make_tensor_value_info(OUTPUTS[2], types.DOUBLE, ["N"] if K == 2 else ["N", K]),
    ]
    domains = [helper.make_opsetid("", OPSET)] + (
        [helper.make_opsetid("ai.onnx.ml", ML_OPSET)] if raw else []
    )
    model = helper.make_model(
        helper.make_graph(graph.nodes, "OCBClassifier", inputs, outputs, graph.constants),
        ir_version=IR_VERSION,
        opset_imports=domains,
        producer_name="ocboost",
        doc_string=f"A boosted classifier of ocboost: {view.hypotheses!r:.200}".replace("<", "").replace(
            ">", ""
        ),
    )
    helper.set_model_props(model, _properties(now, schema))
    if path is not None:
        write_atomically(path, model.SerializeToString(deterministic=True))
    return model


def _by_rows(graph: Graph, values: Value) -> Value:
    return graph.op("Transpose", values, perm=[1, 0])


def _properties(clf: Any, schema: Schema | None) -> dict[str, str]:
    """What the model says of itself, as JSON: its classes, and the names of its features and columns."""
    known: dict[str, Any] = {"classes": clf.classes_.tolist()}
    if schema is not None:
        known |= {"features": list(schema.feature_names), "schema": schema.as_dict()}
    elif hasattr(clf, "feature_names_in_"):
        known["features"] = clf.feature_names_in_.tolist()
    return {key: json.dumps(value) for key, value in known.items()}


# The columns as inputs --------------------------------------------------------------------------------------


def _columns(graph: Graph, schema: Schema | None) -> tuple[list[Any], Value]:
    """An input for each column, (rows, 1) of numbers or texts, and the features that they become."""
    if schema is None:
        raise InputError(
            "raw must be False for a classifier that does not know its columns; it was fitted on an array. "
            "Fit it on a table, or give the exported model the features."
        )
    helper, types = onnx("helper"), onnx().TensorProto
    taken = [column.name for column in schema.columns if column.name in OUTPUTS]
    if taken:
        raise InputError(
            f"raw must be False where a column is called {taken[0]!r}, as an output of the model is. Rename "
            "the column, or give the exported model the features."
        )
    inputs, parts = [], []
    for column in schema.columns:
        if column.kind not in ("number", "category"):
            raise InputError(
                f"raw must be False where a column is neither numbers nor categories; {column.name!r:.80} is "
                f"of kind {column.kind!r}. Give the exported model the features."
            )
        is_number = column.kind == "number"
        kind = types.DOUBLE if is_number else types.STRING
        inputs.append(helper.make_tensor_value_info(column.name, kind, ["N", 1]))
        if is_number:
            parts.append(column.name)
        elif column.categories:
            parts.append(_one_hot(graph, column.name, column.categories))
    return inputs, parts[0] if len(parts) == 1 else graph.op("Concat", *parts, axis=1)


def _one_hot(graph: Graph, name: Value, categories: tuple[str, ...]) -> Value:
    """A column of 0 and 1 for each category; all are 0 for other texts."""
    texts = [each.encode() for each in categories]
    flags = graph.op("OneHotEncoder", name, domain="ai.onnx.ml", cats_strings=texts, zeros=1)
    flags = graph.op("Reshape", flags, np.array([-1, len(categories)]))
    return graph.op("Cast", flags, to=onnx().TensorProto.DOUBLE)
