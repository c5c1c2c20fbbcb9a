"""Opening a file as the columns that a model reads."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocboost.cli.options import source
from ocboost.errors import InputError

if TYPE_CHECKING:
    from ocboost.deployment.model import Model
    from ocboost.hypotheses import Hypotheses
    from ocboost.streams import Batch, Schema, Stream
    from ocboost.streams.bad_rows import BadRows
    from ocboost.streams.open import FileStream
    from ocboost.streams.source import Patience, Source

_LABEL_KINDS = {"i": "integer", "f": "number", "b": "boolean", "U": "text", "O": "text"}  # by a class's type


def _columns_for(
    model: Model, label: str | None, need_label: bool, optional: bool
) -> tuple[Schema | None, str | None]:
    """The schema to read a file with, None if only the file can tell, and the label column.

    A model fitted on a file or a table knows both, one fitted on arrays neither.
    Where no label is needed it is not read, unless it is ``optional``.
    """
    from ocboost.streams import Schema

    schema = model.schema
    if label is None and need_label and not optional and (schema is None or schema.label is None):
        raise InputError("--label must name the column that holds the class; this model does not know it.")
    kind = None if label is None else _kind_of_labels(model)
    if schema is None:
        names = getattr(model.classifier, "feature_names_in_", None)
        if names is None:
            return None, label
        schema = Schema.of_numbers([str(name) for name in names], label, kind)
    elif label is not None:
        schema = dataclasses.replace(schema, label=label, label_kind=schema.label_kind or kind)
    if not need_label:
        schema = dataclasses.replace(schema, label=None, label_kind=None)
    return schema, schema.label


def _kind_of_labels(model: Model) -> str | None:
    return _LABEL_KINDS.get(model.classifier.classes_.dtype.kind)


def is_endless(path: Path) -> bool:
    """Whether rows are read as they come: from standard input, a pipe or the like."""
    from ocboost.streams.source import size_of

    return size_of(source(path)) is None


def open_for(
    model: Model,
    path: Path,
    *,
    batch_size: int,
    label: str | None = None,
    drop: list[str] | None = None,
    format: Any = None,
    need_label: bool = True,
    label_optional: bool = False,
    skip: int = 0,
    tracked: bool = False,
    as_they_come: bool = False,
    bad_rows: BadRows | None = None,
    patience: Patience | None = None,
    followed: Source | None = None,
    key: str | None = None,
) -> FileStream:
    """Open a file as the model's columns, or as numbers if the model does not know its columns.

    With ``label_optional`` a label is read if there is one. The text may be that of a ``followed`` log.
    ``key`` names the column that says whose row it is.
    """
    from ocboost.streams import open_stream

    schema, label = _columns_for(model, label, need_label, label_optional)
    stream = open_stream(
        source(path),
        label=label,
        drop=tuple(drop or ()),
        schema=schema,
        batch_size=batch_size,
        format=format,
        need_label=need_label and not label_optional,
        skip=skip,
        tracked=tracked,
        sampled=followed is None and not is_endless(path),
        label_kind=_kind_of_labels(model),
        as_they_come=as_they_come,
        bad_rows=bad_rows,
        patience=patience,
        source=followed,
        key=key,
    )
    try:
        if schema is None:
            _check_unnamed(model, stream)
    except InputError:
        stream.close()
        raise
    return stream


def _check_unnamed(model: Model, stream: Stream) -> None:
    """Refuse columns that cannot be the features of a model that does not know their names."""
    n, columns = model.classifier.n_features_in_, stream.schema.columns
    advice = "Leave others out with --drop, or fit the model with names."
    texts = [column for column in columns if column.kind != "number"]
    if texts:
        what = "dates" if texts[0].kind == "date" else "texts"
        raise InputError(
            "the file must hold numbers for this model, which does not know its columns; the column "
            f"{texts[0].name!r:.80} holds {what}. {advice}"
        )
    if len(columns) != n:
        raise InputError(
            f"the file must have the {n} features of the model, in its order, besides a label; it has "
            f"{len(columns)}: {', '.join(column.name for column in columns)!s:.200}. {advice}"
        )


def require_complete(batch: Batch, stream: Stream, what: str) -> None:
    """Refuse a missing number; ``what`` cannot handle it."""
    import numpy as np

    missing = np.isnan(batch.X)
    if missing.any():
        row, column = np.argwhere(missing)[0]
        raise InputError(
            f"{stream.schema.feature_names[column]!r:.80} is missing in row {batch.first + int(row)} (the "
            f"first is row 0), and {what} need every number. Fill it in, leave such rows out, or fit a model "
            "of stumps."
        )


def check_missing(batch: Batch, stream: Stream, hypotheses: Hypotheses | None) -> None:
    """Refuse a missing number unless the model's hypotheses accept it, or there are none."""
    if hypotheses is not None and not hypotheses.accepts_missing:
        require_complete(batch, stream, hypotheses.kind.lower())
