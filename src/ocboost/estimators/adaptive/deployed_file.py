"""A deployed model as a tree for a file, and back; and how one is recognised that no file can hold."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree, is_plain, matrix_from, matrix_tree
from ocboost._core.kinds import FOREIGN, nested_reader, nested_tree
from ocboost.errors import InputError, ModelFileError, NotSavableError
from ocboost.estimators.adaptive.deployed import ROWS_TO_PROBE, DeployedModel
from ocboost.estimators.classifier import OCBClassifier
from ocboost.estimators.classifier_file import classifier_from_tree, classifier_tree
from ocboost.streams.schema import MAX_COLUMNS

SAME_ANSWERS = 1e-6  # the most by which probabilities may differ: some libraries compute in single precision
_TYPES = re.compile(
    r"(bool|boolean|object|str|string|category|u?int\d+|U?Int\d+|[fF]loat\d+|datetime64\[\w+\])"
)


def deployed_tree(deployed: DeployedModel | None, rows: Any) -> tuple[Tree | None, str | None]:
    """What a file holds of a deployed model, and what it leaves out, in words.

    ``rows`` are some that its answers can be checked on, where it was adopted without any.
    """
    if deployed is None:
        return None, None
    if isinstance(deployed.model, OCBClassifier) and deployed.places is None:
        return classifier_tree(deployed.model), None
    model, left_out = None, None
    try:
        model = nested_tree(deployed.portable(), FOREIGN)
    except NotSavableError as error:
        left_out = str(error)
    probe = deployed.probe if deployed.probe is not None else rows
    return {
        "model": model,
        "title": deployed.title,
        "places": deployed.places,
        "probe": _probe_tree(probe),
        "answers": _answers(deployed, probe),
    }, left_out


def deployed_from(fields: Fields, clf: Any, n_features: int, given: Any = None) -> DeployedModel:
    """A deployed model from what `deployed_tree` gave; ``given`` is one that the file does not hold."""
    if "answers" not in fields:
        fields.take("schema"), fields.take("history")
        own = classifier_from_tree(fields, OCBClassifier)
        fits = own.n_features_in_ == n_features and np.array_equal(own.classes_, clf.classes_)
        fields.require(fits, "its deployed model does not fit")
        return DeployedModel(own)
    title = fields.text("title")
    places = None if fields.takes("places", None) else fields.array("places", np.int64, (None,))
    n = n_features if places is None else len(places)
    if places is not None:
        fits = 1 <= n <= MAX_COLUMNS and bool(((places >= -1) & (places < n_features)).all())
        fields.require(fits, "the columns of its deployed model do not fit")
    probe = fields.read("probe", lambda one: _probe_from(one, n_features))
    answers = fields.array("answers", np.float64, (None, len(clf.classes_)))
    model = fields.read_optional("model", nested_reader(FOREIGN))
    if given is None and model is None:
        raise ModelFileError(
            f"{fields.name} does not hold the deployed model, {title}, which no file of ocboost can. Give it "
            "in Python: AdaptiveClassifier.load(path, deployed=model)."
        )
    deployed = fields.make(DeployedModel, model, places) if given is None else DeployedModel(given, places)
    if given is None:
        fits = np.array_equal(deployed.classes, clf.classes_) and deployed.n_columns == n
        fields.require(fits, "its deployed model does not fit")
    else:
        _require_same_answers(deployed, probe, answers, clf.classes_, title)
    deployed.probe = probe
    return deployed


def _answers(deployed: DeployedModel, probe: Any) -> NDArray[np.float64]:
    """What it says of the rows; nothing if it refuses them."""
    try:
        return _said(deployed, probe)
    except Exception:  # a model of others may raise anything
        return np.empty((0, len(deployed.classes)))


def _said(deployed: DeployedModel, probe: Any) -> NDArray[np.float64]:
    if hasattr(probe, "iloc"):
        return deployed.probabilities(np.empty((len(probe), 0)), probe)
    return deployed.probabilities(probe)


def _require_same_answers(
    deployed: DeployedModel, probe: Any, answers: NDArray[np.float64], classes: NDArray[Any], title: str
) -> None:
    """Refuse another model than that which was adopted."""
    if not np.array_equal(deployed.classes, classes):
        raise InputError(
            f"deployed must be the model that was adopted, of the classes {classes.tolist()!s:.80}; got "
            f"{deployed.title} of {deployed.classes.tolist()!s:.80}."
        )
    if not len(answers):
        return
    try:
        now = _said(deployed, probe)
    except Exception as error:  # a model of others may raise anything
        raise InputError(
            f"deployed must be the model that was adopted, {title}; got {deployed.title}, which refuses its "
            f"rows: {error!s:.200}"
        ) from None
    off = float(np.abs(now - answers).max())
    if not off <= SAME_ANSWERS:
        raise InputError(
            f"deployed must be the model that was adopted, {title}; got {deployed.title}, whose "
            f"probabilities of {len(answers)} rows differ by up to {off:.2g}. Give the one that was adopted, "
            "or adopt this one with from_fitted."
        )


# Rows to check answers on -----------------------------------------------------------------------------


def some_rows(X: Any) -> Any:
    """Rows of a table or matrix from all over it, to check answers on."""
    if not hasattr(X, "shape") and not hasattr(X, "__arrow_c_stream__"):
        X = np.asarray(X)
    if hasattr(X, "__arrow_c_stream__") and not hasattr(X, "iloc"):
        X = X.to_pandas()
    n = X.shape[0]
    at = np.unique(np.linspace(0, n - 1, min(n, ROWS_TO_PROBE)).astype(np.int64))
    return X.iloc[at].reset_index(drop=True) if hasattr(X, "iloc") else X[at]


def _probe_tree(probe: Any) -> Tree:
    if not hasattr(probe, "iloc"):
        return {"n": int(probe.shape[0]), "rows": matrix_tree(_doubles(probe))}
    columns = []
    for name in probe.columns:
        values = probe[name]
        kind = str(values.dtype)
        columns.append({"name": str(name), "type": kind, "values": [_plain(v) for v in values.tolist()]})
    return {"n": len(probe), "columns": columns}


def _doubles(X: Any) -> Any:
    return np.asarray(X, np.float64) if isinstance(X, np.ndarray) else X.astype(np.float64)


def _plain(value: Any) -> Any:
    """A value that a file can hold; None is missing."""
    if value is None or value != value:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    return value if is_plain(value) else str(value)


def _probe_from(fields: Fields, n_features: int) -> Any:
    n = fields.count("n", 0, ROWS_TO_PROBE)
    if "rows" in fields:
        return matrix_from(fields, "rows", n, n_features)
    columns = fields.read_all("columns", lambda one: _column_from(one, n))
    fields.require(1 <= len(columns) <= MAX_COLUMNS, "its rows do not fit")
    try:
        from pandas import DataFrame, Series

        made = {name: Series(values, dtype=kind) for name, kind, values in columns}
        return DataFrame(made)
    except ImportError:
        raise ModelFileError(f"{fields.name} was made from a table; install pandas to load it.") from None
    except Exception as error:  # values that do not fit their type
        raise ModelFileError(
            f"{fields.name} is not a valid model: its rows do not fit ({error!s:.80})."
        ) from None


def _column_from(fields: Fields, n: int) -> tuple[str, str, list[Any]]:
    name, kind, values = fields.text("name"), fields.text("type", 40), fields.items("values", n)
    fields.require(all(is_plain(value) for value in values), "its rows must be plain values")
    fields.require(_TYPES.fullmatch(kind) is not None, "the types of its rows are not known")
    return name, kind, values
