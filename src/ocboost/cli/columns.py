"""Which columns of a file a model reads."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from ocboost.errors import InputError

if TYPE_CHECKING:
    from ocboost.model import Model
    from ocboost.streams import Schema


def columns_for(
    model: Model, label: str | None, *, need_label: bool = True
) -> tuple[Schema | None, str | None]:
    """The schema to read a file with, None if only the file can tell, and the label column.

    A model fitted from a file knows both. A classifier saved in Python knows at most the names of its features.
    """
    from ocboost.streams import Schema

    schema = model.schema
    if schema is None:
        if label is None and need_label:
            raise InputError(
                "--label must name the column that holds the class; this model does not know it."
            )
        names = getattr(model.classifier, "feature_names_in_", None)
        if names is None:
            return None, label
        return Schema.of_numbers([str(name) for name in names], label), label
    if label is not None and label != schema.label:
        schema = dataclasses.replace(schema, label=label)
    return schema, schema.label
