"""A deployed model as a tree for a file, and back; and how one is recognised that no file can hold."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree, is_plain, matrix_from, matrix_tree, read
from ocboost._core.kinds import FOREIGN, nested_reader, nested_tree
from ocboost.errors import InputError, ModelFileError, NotSavableError
from ocboost.estimators.adaptive.deployed import SAME_ANSWERS, DeployedModel, own_copy
from ocboost.estimators.adaptive.model_tables import as_pandas
from ocboost.estimators.classifier import OCBClassifier
from ocboost.estimators.classifier_file import classifier_from_tree, classifier_tree
from ocboost.foreign.portable import PortableModel
from ocboost.streams.schema import MAX_COLUMNS
from ocboost.streams.tables import is_table

ROWS_TO_PROBE = 16  # whose answers tell one model from another
MAX_TITLE = 200  # letters of its name
_TYPES = re.compile(
    r"(bool|boolean|object|str|string|category|u?int\d+|U?Int\d+|[fF]loat\d+|datetime64\[\w+\])"
)


def deployed_tree(deployed: DeployedModel | None) -> tuple[Tree | None, str | None]:
    """What a file holds of a deployed model, and what it leaves out, in words."""
    if deployed is None:
        return None, None
    model, left_out = None, None
    try:
        if isinstance(deployed.model, OCBClassifier) and deployed.places is None:
            return classifier_tree(deployed.model), None
        model = nested_tree(deployed.portable(), FOREIGN)
    except NotSavableError as error:
        left_out = str(error)
    probe = _probe_tree(deployed)
    answers = deployed.answers
    return {
        "model": model,
        "title": deployed.title[:MAX_TITLE],
        "places": deployed.places,
        "polars": deployed.tables.is_polars,
        "probe": probe,
        "answers": _answers(deployed, _rows_of(deployed.probe, probe)) if answers is None else answers,
    }, left_out


def deployed_from(fields: Fields, clf: Any, n_features: int, given: Any = None) -> DeployedModel:
    """A deployed model from what `deployed_tree` gave; ``given`` is one that the file does not hold."""
    if "answers" not in fields:
        fields.take("schema"), fields.take("history")
        own = classifier_from_tree(fields, OCBClassifier)
        fits = own.n_features_in_ == n_features and np.array_equal(own.classes_, clf.classes_)
        fields.require(fits, "its deployed model does not fit")
        own.set_schema(clf.schema_)  # they have it in common
        return DeployedModel(own)
    title = fields.text("title", MAX_TITLE)
    places = None if fields.takes("places", None) else fields.array("places", np.int64, (None,))
    n = n_features if places is None else len(places)
    if places is not None:
        fits = 1 <= n <= MAX_COLUMNS and bool(((places >= -1) & (places < n_features)).all())
        fields.require(fits, "the columns of its deployed model do not fit")
    is_polars = fields.flag("polars")
    probe = fields.read("probe", lambda one: _probe_from(one, n_features, n))
    answers = fields.array("answers", np.float64, (None, len(clf.classes_)))
    fits = len(answers) in (0, probe.shape[0]) and bool(np.isfinite(answers).all())
    fields.require(fits, "the answers of its deployed model do not fit")
    model = fields.read_optional("model", nested_reader(FOREIGN))
    if given is None:
        if model is None:
            raise ModelFileError(
                f"{fields.name} does not hold the deployed model, {title}, which no file of ocboost can. "
                "Give it in Python: AdaptiveClassifier.load(path, deployed=model)."
            )
        fields.require(isinstance(model, PortableModel), "its deployed model must be a whole one")
        deployed = fields.make(DeployedModel, model, places)
        fits = np.array_equal(deployed.classes, clf.classes_) and deployed.n_columns == n
        fields.require(fits, "its deployed model does not fit")
        deployed.title = title
    else:
        deployed = DeployedModel(own_copy(given), places, clf.classes_)
    if hasattr(probe, "iloc"):
        deployed.take_table(probe)
        deployed.tables.is_polars = is_polars
    if given is not None:
        _require_same_answers(deployed, probe, answers, clf.classes_, title, n)
    deployed.probe, deployed.answers = probe, answers
    return deployed


def _answers(deployed: DeployedModel, probe: Any) -> NDArray[np.float64]:
    """What it says of the rows; nothing if it refuses them."""
    try:
        return deployed.answers_to(probe)
    except Exception:  # a model of others may raise anything
        return np.empty((0, len(deployed.classes)))


def _require_same_answers(
    deployed: DeployedModel,
    probe: Any,
    answers: NDArray[np.float64],
    classes: NDArray[Any],
    title: str,
    n_columns: int,
) -> None:
    """Refuse another model than that which was adopted."""
    if not np.array_equal(deployed.classes, classes):
        raise InputError(
            f"deployed must be the model that was adopted, of the classes {classes.tolist()!s:.80}; got "
            f"{deployed.title} of {deployed.classes.tolist()!s:.80}."
        )
    if deployed.n_columns not in (None, n_columns):
        raise InputError(
            f"deployed must be the model that was adopted, {title} of {n_columns} columns; got "
            f"{deployed.title} of {deployed.n_columns}."
        )
    if not len(answers):
        return
    try:
        now = deployed.answers_to(probe)
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
    X = as_pandas(X) if is_table(X) else X
    n = X.shape[0]
    at = np.unique(np.linspace(0, n - 1, min(n, ROWS_TO_PROBE)).astype(np.int64))
    return X.iloc[at].reset_index(drop=True) if hasattr(X, "iloc") else X[at]


def drawn_rows(n_columns: int) -> NDArray[np.float64]:
    """Rows to check answers on where none were given."""
    return np.random.default_rng(0).normal(size=(ROWS_TO_PROBE, n_columns))


def _probe_tree(deployed: DeployedModel) -> Tree:
    probe = deployed.probe
    if not hasattr(probe, "iloc"):
        return {"n": int(probe.shape[0]), "rows": matrix_tree(_doubles(probe))}
    columns = []
    for name in deployed.names or probe.columns:
        values = [_plain(value) for value in probe[name].tolist()]
        kind = str(probe[name].dtype)
        if _TYPES.fullmatch(kind) is None or _series_of(kind, values) is None:
            kind = "object"  # what a file cannot say; the model is asked about rows as the file has them
        columns.append({"name": str(name), "type": kind, "values": values})
    return {"n": len(probe), "columns": columns}


def _rows_of(probe: Any, tree: Tree) -> Any:
    """Rows as they will be read from a file."""
    if "columns" not in tree:
        return probe
    return read({**tree}, "it", lambda fields: _probe_from(fields, 0, len(tree["columns"])))


def _series_of(kind: str, values: list[Any]) -> Any:
    """A column of a data frame; None if the values are not of the type."""
    from pandas import Series

    try:
        return Series(values, dtype=kind)
    except Exception:  # pandas raises many kinds
        return None


def _doubles(X: Any) -> Any:
    return np.asarray(X, np.float64) if isinstance(X, np.ndarray) else X.astype(np.float64)


def _plain(value: Any) -> Any:
    """A value that a file can hold; None is missing."""
    if value is None or value != value:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    return value if is_plain(value) else str(value)


def _probe_from(fields: Fields, n_features: int, n_columns: int) -> Any:
    """Rows to check answers on: features, or a table of the model's columns."""
    n = fields.count("n", 0, ROWS_TO_PROBE)
    if "columns" not in fields:
        rows = matrix_from(fields, "rows", n, n_features)
        fields.require(rows.dtype == np.float64, "its rows must be numbers")
        return rows
    columns = fields.read_all("columns", lambda one: _column_from(one, n), n_columns)
    fits = 1 <= len(columns) <= MAX_COLUMNS and len({name for name, *_ in columns}) == len(columns)
    fields.require(fits, "its rows do not fit")
    try:
        from pandas import DataFrame
    except ImportError:
        raise ModelFileError(f"{fields.name} was made from a table; install pandas to load it.") from None
    made = {name: _series_of(kind, values) for name, kind, values in columns}
    fields.require(all(each is not None for each in made.values()), "its rows are not of their types")
    return DataFrame(made)


def _column_from(fields: Fields, n: int) -> tuple[str, str, list[Any]]:
    name, kind, values = fields.text("name"), fields.text("type", 40), fields.items("values", n)
    fields.require(all(is_plain(value) for value in values), "its rows must be plain values")
    fields.require(_TYPES.fullmatch(kind) is not None, "the types of its rows are not known")
    return name, kind, values
