"""Pyarrow, imported when it is first needed.

Columns as Arrow holds them, turned into numbers, texts and labels.

The values of an Arrow column as bytes that depend on the values alone.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError, MissingExtraError


def arrow(module: str = "") -> Any:
    """Pyarrow or one of its modules: ``arrow("csv")`` is `pyarrow.csv`."""
    try:
        return import_module(f"pyarrow.{module}" if module else "pyarrow")
    except ImportError:
        raise MissingExtraError("pyarrow", "streams", "Reading streams") from None


MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?")  # texts that stand for a missing value
TRUE = ("true", "True", "TRUE")
FALSE = ("false", "False", "FALSE")
NUMBER = r"[ \t]*[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity|nan))[ \t]*"
_NUMBER = re.compile(NUMBER, re.ASCII)
EXACT = 2.0**53  # up to here a double holds every whole number


class BadRowError(InputError):
    """A row that cannot be used; those before it can.

    `offset` counts rows from the beginning of the record batch in hand.
    """

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


def at_row(row: int) -> str:
    """Where a row is, in words."""
    return f"row {row} (the first is row 0)"


def numbers(column: Any, name: str, first: int) -> NDArray[np.float64]:
    """A column as float64; what is missing is NaN. Infinity is refused.

    Texts count as the numbers they spell; truth values are 0 and 1.
    """
    values = _numbers(column, name, first)
    infinite = np.isinf(values)
    if infinite.any():
        offset = int(np.argmax(infinite))
        raise BadRowError(
            offset,
            f"column {name!r} must hold finite numbers; got {values[offset]} in {at_row(first + offset)}. "
            "Leave the field empty if the value is not known, or drop the column.",
        )
    return values


def _numbers(column: Any, name: str, first: int) -> NDArray[np.float64]:
    pa = arrow()
    column = plain(column)
    kind = column.type
    if is_text(kind):
        return _spelt(column, name, first)
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise InputError(
            f"column {name!r} must hold numbers; got values of type {kind}. Convert it, or leave it out."
        )
    if column.type != pa.float64():
        column = column.cast(pa.float64(), safe=False)
    values: NDArray[np.float64] = column.to_numpy(zero_copy_only=False)
    return values


def _spelt(column: Any, name: str, first: int) -> NDArray[np.float64]:
    """The numbers that texts spell."""
    pa = arrow()
    column = without_missing(column)
    try:
        values: NDArray[np.float64] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return values
    except pa.ArrowInvalid:
        pass  # there are blanks around some, or truth values, or one that is no number: look at each
    result = np.full(len(column), np.nan)
    for offset, text in enumerate(column.to_pylist()):
        if text is None or text.strip() in MISSING:
            continue
        if text in TRUE or text in FALSE:
            result[offset] = text in TRUE
        elif _NUMBER.fullmatch(text):
            result[offset] = float(text)
        else:
            raise BadRowError(
                offset,
                f"column {name!r} must hold numbers; got {text!r:.80} in {at_row(first + offset)}. "
                "Correct the value, leave the field empty if it is not known, or drop the column.",
            )
    return result


def codes(column: Any, categories: tuple[str, ...], name: str) -> NDArray[np.int64]:
    """Each value's place in `categories`; -1 for others and for what is missing."""
    kind = plain(column).type
    if not is_text(kind) and not arrow().types.is_null(kind):
        shown = f", such as {categories[0]!r:.40}" if categories else ""
        raise InputError(
            f"column {name!r} must hold texts{shown}; got values of type {kind}. Write them as they were "
            "when the model was fitted."
        )
    found = arrow("compute").index_in(texts(column, name), value_set=arrow().array(categories, "string"))
    result: NDArray[np.int64] = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return result


def texts(column: Any, name: str) -> Any:
    """A column as an Arrow array of texts."""
    pa = arrow()
    column = plain(column)
    if column.type == pa.string():
        return column
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(
            f"column {name!r} must hold texts; got values of type {column.type}. Convert it, or leave it out."
        ) from None


def labels(column: Any, kind: str, name: str, first: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """A column as labels of a kind, and which of them are known."""
    column = plain(column)
    if kind == "integer":
        whole = _whole(column)
        if whole is not None:
            return _filled(whole, 0), _known(whole)
    if is_text(column.type):
        column = without_missing(column)
    if kind == "text":
        column = texts(column, name)
        return _filled(column, "").astype(object), _known(column)
    try:
        values = numbers(column, name, first)
    except BadRowError as error:
        wanted = {"boolean": "true and false", "integer": "whole numbers"}.get(kind, "numbers")
        text = str(error).replace(
            f"column {name!r} must hold numbers", f"the label column {name!r} must hold {wanted}"
        )
        raise BadRowError(error.offset, text) from None
    known = ~np.isnan(values)
    if kind == "number":
        return values, known
    values = np.where(known, values, 0.0)
    if kind == "integer":
        bad, what = (values != np.rint(values)) | (np.abs(values) > EXACT), "whole numbers"
    else:
        bad, what = (values != 0.0) & (values != 1.0), "true and false"
    if bad.any():
        offset = int(np.argmax(bad))
        raise BadRowError(
            offset,
            f"the label column {name!r} must hold {what}, as its first rows do; "
            f"got {column[offset].as_py()!r:.80} in {at_row(first + offset)}. Correct the value.",
        )
    return values.astype(np.int64 if kind == "integer" else np.bool_), known


def _filled(column: Any, value: object) -> NDArray[Any]:
    """A column with a value where there is none."""
    full = column.fill_null(value) if column.null_count else column
    result: NDArray[Any] = full.to_numpy(zero_copy_only=False)
    return result if result.flags.writeable else result.copy()


def _known(column: Any) -> NDArray[np.bool_]:
    """Where a column has a value."""
    if not column.null_count:
        return np.ones(len(column), np.bool_)
    result: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return result


def _whole(column: Any) -> Any:
    """A column as int64 if that is exact and easy, or None. No text for a missing value is a number."""
    pa = arrow()
    if not (is_text(column.type) or pa.types.is_integer(column.type)):
        return None
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return None


def plain(column: Any) -> Any:
    """A column without chunks, dictionary or the larger offsets of large texts."""
    pa = arrow()
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_text(column.type) and column.type != pa.string():
        column = column.cast(pa.string())
    return column


def is_text(kind: Any) -> bool:
    """Whether values of an Arrow type are texts."""
    types = arrow().types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def without_missing(column: Any) -> Any:
    """Texts, with null for those that stand for a missing value."""
    pa, compute = arrow(), arrow("compute")
    absent = compute.is_in(column, value_set=pa.array(MISSING, "string"))
    # Not if_else, which is wrong for slices of text before pyarrow 24.
    return compute.replace_with_mask(column, absent, pa.scalar(None, pa.string()))


def row_bytes(column: Any) -> tuple[bytes, bytes]:
    """Which rows have a value (and how long a text is), and the values; both grow row by row.

    A missing value counts as nothing, whatever the array holds in its place.
    """
    pa, compute = arrow(), arrow("compute")
    column = plain(column)
    kind = column.type
    if is_text(kind):
        lengths = compute.binary_length(column).fill_null(-1).to_numpy(zero_copy_only=False)
        texts = column.fill_null("") if column.null_count else column
        joined = "".join(texts.to_pylist()).encode(errors="surrogatepass")
        return np.ascontiguousarray(lengths, "<i8").tobytes(), joined
    known = column.is_valid().to_numpy(zero_copy_only=False).astype(np.int8).tobytes()
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_temporal(kind) and kind.bit_width in (32, 64):
        column = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        values = column.fill_null(0) if column.null_count else column
        array = values.to_numpy(zero_copy_only=False)
        return known, np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
    return known, "".join(f"{value!r}\n" for value in column.to_pylist()).encode(errors="backslashreplace")
