"""What an adopted model brings along: its trees as hypotheses, and the columns it reads from a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError, NotSavableError, OcboostError
from ocboost.estimators.adaptive.deployed import DeployedModel
from ocboost.foreign.columns import Columns
from ocboost.foreign.convert import portable_steps
from ocboost.hypotheses import Hypotheses
from ocboost.hypotheses.member_trees import member_trees
from ocboost.hypotheses.transformed import Transformed
from ocboost.hypotheses.unwrap import unwrapped
from ocboost.streams.schema import MAX_CATEGORIES, Column, Schema
from ocboost.streams.tables import is_column, is_other_column, labels_of_column, schema_of_table, with_label


def schema_for(deployed: DeployedModel, X: Any, y: Any) -> tuple[Schema, list[str]]:
    """How a table becomes features for the classifier that adopts a model, and notes.

    To the columns as they are always encoded come those that a portable form of the model needs besides: a
    text that it knows as an index into its vocabulary. ``deployed.places`` then says where its columns are.
    """
    deployed.take_table(X)
    own = getattr(deployed.model, "schema_", None)
    if own is not None:  # one of ocboost's: its features are the same
        return own, []
    name, kind = _label_of(deployed, X, y)
    schema, notes = schema_of_table(X, name)
    schema = with_label(schema, name, kind)
    names = deployed.names or []
    deployed.places = np.full(len(names), -1, np.int64)
    try:
        portable = deployed.portable()
    except NotSavableError:
        return schema, notes  # it answers to tables only
    try:
        return _with_columns_of(portable, names, schema.columns, deployed.places, schema), notes
    except InputError:  # texts where it reads numbers, as XGBoost before 3.1 does of categories
        deployed.places[:] = -1
        deployed.refuse_portable("reads numbers where the table has texts or dates")
        return schema, notes


def _label_of(deployed: DeployedModel, X: Any, y: Any) -> tuple[str | None, str | None]:
    """The name and the kind of the label; no name if that of a column that the model reads."""
    if not is_column(y):
        return None, None
    labels, name, kind = labels_of_column(y)
    if name is None or is_other_column(X, name, labels):
        return None, None
    if deployed.n_columns is None and deployed.names is not None:  # it does not say what it reads
        deployed.names = [each for each in deployed.names if each != name]
    return (None, None) if name in (deployed.names or ()) else (name, kind)


def schema_without_rows(deployed: DeployedModel) -> Schema | None:
    """How tables become features where a model is adopted without rows; None if it takes arrays.

    A text column that it reads has the first texts of the model's vocabulary as categories. Columns of a
    model that is not known to read texts are numbers, all of them, so that it takes arrays as well.
    """
    own: Schema | None = getattr(deployed.model, "schema_", None)
    if own is not None or deployed.names is None:
        return own
    try:
        portable = deployed.portable()
    except NotSavableError:
        portable = None
    if portable is None or not portable.vocabularies:
        try:
            return Schema.of_numbers(deployed.names)
        except InputError:  # names that no table has
            return None
    deployed.places = np.full(len(deployed.names), -1, np.int64)
    texts = {str(deployed.names[i]): known for i, known in portable.vocabularies.items()}
    columns = [Column(name, "category", known[:MAX_CATEGORIES]) for name, known in texts.items()]
    return _with_columns_of(portable, deployed.names, columns, deployed.places)


def _with_columns_of(
    portable: Any,
    names: Sequence[Any],
    columns: Iterable[Column],
    places: NDArray[np.int64],
    schema: Schema | None = None,
) -> Schema:
    """The columns, and those that a portable model needs besides; fills in where its own are."""
    needed = [(i, str(names[i]), portable.vocabularies.get(i)) for i in portable.reads]
    found = tuple(columns)
    there = {(column.name, column.kind) for column in found}
    extra = [
        Column(column) if texts is None else Column(column, "code", texts)
        for _, column, texts in needed
        if (column, "number" if texts is None else "code") not in there
    ]
    whole = Schema((*found, *extra)) if schema is None else schema.with_columns(extra)
    for i, column, texts in needed:
        places[i] = whole.place_of(column, "number" if texts is None else "code")
    return whole


def adopted_hypotheses(
    deployed: DeployedModel, n_features: int, n_boosters: int, n_hypotheses: int
) -> Hypotheses | None:
    """The trees of a model as hypotheses over encoded features: the first, a quarter of ``n_hypotheses``.

    The others are learnt. Trees alone fit the rows that they were fitted on too well, and are too few
    thresholds for neighbours. None if it has no trees, or if what comes before them is Python code that no
    file holds.
    """
    try:
        transformers, final = unwrapped(deployed.model)
        found = member_trees(final)
        if found is None:
            return None
        found = leading(found, n_boosters, max(1, n_hypotheses // 4))
        if transformers:
            step, vocabularies = portable_steps(transformers)
            found = Transformed(step, found, vocabularies)
        if deployed.places is not None:  # columns that are not read may be any
            deployed.portable()  # which says where its columns are
            found = Transformed(Columns(np.maximum(deployed.places, 0), n_features), found)
    except OcboostError:
        return None
    return found if found.accepts_missing and found.n_features == n_features else None


def leading(hypotheses: Hypotheses, n_boosters: int, most: int) -> Hypotheses:
    """At most so many of each class's hypotheses, the first ones; classes have equal parts of them."""
    own = len(hypotheses) // n_boosters
    if own <= most:
        return hypotheses
    return hypotheses[np.concatenate([np.arange(most) + k * own for k in range(n_boosters)])]
