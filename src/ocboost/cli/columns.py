"""Which columns of a file a model reads."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocboost.cli.options import source
from ocboost.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ocboost.deployment.model import Model
    from ocboost.streams import Schema, Stream

_LABEL_KINDS = {"i": "integer", "f": "number", "b": "boolean", "U": "text", "O": "text"}  # by a class's type


def columns_for(
    model: Model, label: str | None, *, need_label: bool = True
) -> tuple[Schema | None, str | None]:
    """The schema to read a file with, None if only the file can tell, and the label column.

    A model fitted from a file knows both, a classifier saved in Python at most the names of its features.
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
        kind = None if label is None else _LABEL_KINDS.get(model.classifier.classes_.dtype.kind)
        return Schema.of_numbers([str(name) for name in names], label, kind), label
    if label is not None and label != schema.label:
        schema = dataclasses.replace(schema, label=label)
    return schema, schema.label


def open_for(
    model: Model,
    path: Path,
    *,
    batch_size: int,
    label: str | None = None,
    drop: list[str] | None = None,
    format: Any = None,
    need_label: bool = True,
    skip: int = 0,
    tracked: bool = False,
) -> Stream:
    """A file, read as the model's columns; or as numbers, if it does not know its columns.

    Where no label is needed it is not looked at.
    """
    from ocboost.streams import open_stream

    schema, label = columns_for(model, label, need_label=need_label)
    if schema is not None and not need_label:
        schema, label = dataclasses.replace(schema, label=None, label_kind=None), None
    stream = open_stream(
        source(path),
        label=label,
        drop=tuple(drop or ()),
        schema=schema,
        batch_size=batch_size,
        format=format,
        need_label=need_label,
        skip=skip,
        tracked=tracked,
    )
    try:
        if schema is None:
            _check_unknown(model, stream)
    except InputError:
        stream.close()
        raise
    return stream


def _check_unknown(model: Model, stream: Stream) -> None:
    """Whether columns that the model does not know by name may be its features."""
    n, columns = model.classifier.n_features_in_, stream.schema.columns
    advice = "Leave others out with --drop, or fit the model with names."
    texts = [column.name for column in columns if column.kind == "category"]
    if texts:
        raise InputError(
            "the file must hold numbers for this model, which does not know its columns; the column "
            f"{texts[0]!r:.80} holds texts. {advice}"
        )
    if len(columns) != n:
        raise InputError(
            f"the file must have the {n} features of the model, in its order, besides a label; it has "
            f"{len(columns)}: {', '.join(column.name for column in columns)!s:.200}. {advice}"
        )


def require_complete(X: NDArray[Any], names: tuple[str, ...], first: int, what: str) -> None:
    """Refuse a missing number; ``first`` is the number of the first row, ``what`` cannot take it."""
    import numpy as np

    missing = np.isnan(X)
    if missing.any():
        row, column = np.argwhere(missing)[0]
        raise InputError(
            f"{names[column]!r:.80} is missing in row {first + int(row)} (the first is row 0), and {what} "
            "need every number. Fill it in, leave such rows out, or fit a model of stumps."
        )
