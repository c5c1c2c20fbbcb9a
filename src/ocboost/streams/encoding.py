"""Columns of Arrow turned into numbers, texts and labels. Pyarrow is imported when it is first needed."""

from __future__ import annotations

import math
import re
import sys
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError, MissingExtraError

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?")  # texts that stand for a missing value
TRUE = ("true", "True", "TRUE")
FALSE = ("false", "False", "FALSE")
NUMBER = r"[ \t]*[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity|nan))[ \t]*"
_NUMBER = re.compile(NUMBER, re.ASCII)
MAX_KEY_BYTES = 500  # of a key in UTF-8; LMDB takes 511
MAX_EXACT = 2.0**53  # up to here a double holds every whole number
_imported: dict[str, Any] = {}


def arrow(module: str = "") -> Any:
    """Pyarrow or one of its modules: ``arrow("csv")`` is `pyarrow.csv`."""
    name = f"pyarrow.{module}" if module else "pyarrow"
    found = _imported.get(name)
    if found is not None and sys.modules.get(name) is found:  # much faster than an import, for each column
        return found
    try:
        found = _imported[name] = import_module(name)
    except ImportError:
        raise MissingExtraError("pyarrow", "streams", "Reading streams") from None
    return found


def leave_signals_alone() -> None:
    """Have Arrow pass signals on, in this process, instead of cancelling what it reads just then."""
    arrow().enable_signal_handlers(False)


class BadRowError(InputError):
    """A row that cannot be used; those before it can.

    `offset` counts rows from the beginning of the current record batch, `reason` is why in a few words.
    """

    def __init__(self, offset: int, message: str, reason: str) -> None:
        super().__init__(message)
        self.offset, self.reason = offset, reason


def row_name(row: int) -> str:
    """How messages name a row."""
    return f"row {row} (the first is row 0)"


def is_whole(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which numbers are whole, and small enough to be exact."""
    whole: NDArray[np.bool_] = (values == np.rint(values)) & (np.abs(values) <= MAX_EXACT)
    return whole


def numbers(column: Any, name: str, first: int) -> NDArray[np.float64]:
    """A column as float64 with NaN for missing values; infinity is an error.

    Texts count as the numbers they spell; truth values are 0 and 1.
    """
    pa = arrow()
    if not (isinstance(column, pa.Array) and column.type == pa.float64()):
        column = plain(column)
    kind = column.type
    values: NDArray[np.float64]
    if kind == pa.float64():
        values = column.to_numpy(zero_copy_only=False)
    elif is_text(kind):
        values = _spelt_numbers(column, name, first)
    elif pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    else:
        if pa.types.is_boolean(kind):
            column = column.cast(pa.int8())
        elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            raise InputError(
                f"column {name!r} must hold numbers; got values of type {kind}. Convert it, or leave it out."
            )
        if column.type != pa.float64():
            column = column.cast(pa.float64(), safe=False)
        values = column.to_numpy(zero_copy_only=False)
    infinite = np.isinf(values)
    if infinite.any():
        offset = int(np.argmax(infinite))
        raise BadRowError(
            offset,
            f"column {name!r} must hold finite numbers; got {values[offset]} in {row_name(first + offset)}. "
            "Leave the field empty if the value is not known, or drop the column.",
            "not finite",
        )
    return values


def _spelt_numbers(column: Any, name: str, first: int) -> NDArray[np.float64]:
    """The numbers that texts spell."""
    pa = arrow()
    column = without_missing(column)
    try:
        values: NDArray[np.float64] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return values
    except pa.ArrowInvalid:
        pass  # blanks around numbers, truth values, or something that is no number: look at each
    result = np.full(len(column), np.nan)
    for offset, text in enumerate(column.to_pylist()):
        if text is not None and (number := spelt_number(text)) is not None:
            result[offset] = number
        elif text is not None:
            raise BadRowError(
                offset,
                f"column {name!r} must hold numbers; got {text!r:.80} in {row_name(first + offset)}. "
                "Correct the value, leave the field empty if it is not known, or drop the column.",
                "not a number",
            )
    return result


def spelt_number(text: str) -> float | None:
    """The number that a text spells, NaN for a missing one; None if it spells neither.

    >>> spelt_number(" 1.5"), spelt_number("true"), spelt_number("NA"), spelt_number("one")
    (1.5, 1.0, nan, None)
    """
    if text.strip() in MISSING:
        return math.nan
    if text in TRUE or text in FALSE:
        return float(text in TRUE)
    return float(text) if _NUMBER.fullmatch(text) else None


def codes(column: Any, categories: tuple[str, ...], name: str) -> NDArray[np.int64]:
    """The index of each value in `categories`; -1 for other values and missing ones."""
    column = plain(column)
    if not is_text(column.type) and not arrow().types.is_null(column.type):
        example = f", such as {categories[0]!r:.40}" if categories else ""
        raise InputError(
            f"column {name!r} must hold texts{example}; got values of type {column.type}. Write them as they "
            "were when the model was fitted."
        )
    found = arrow("compute").index_in(_texts(column, name), value_set=arrow().array(categories, "string"))
    result: NDArray[np.int64] = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return result


def codes_or_missing(column: Any, vocabulary: tuple[str, ...], name: str) -> NDArray[np.float64]:
    """The index of each value in a vocabulary; -1 for other values, NaN for missing ones."""
    found = codes(column, vocabulary, name).astype(np.float64)
    unknown = np.flatnonzero(found < 0.0)
    if len(unknown):
        column = plain(column)
        missing = (without_missing(column) if is_text(column.type) else column).is_null()
        found[unknown[missing.to_numpy(zero_copy_only=False)[unknown]]] = np.nan
    return found


def _texts(column: Any, name: str) -> Any:
    pa = arrow()
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(
            f"column {name!r} must hold texts; got values of type {column.type}. Convert it, or leave it out."
        ) from None


def labels(column: Any, kind: str, name: str, first: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """A column as labels of a kind, and which of them are known."""
    pa = arrow()
    column = plain(column)
    if kind == "integer" and (is_text(column.type) or pa.types.is_integer(column.type)):
        try:  # exact and fast; no text for a missing value is a number
            return _filled(column.cast(pa.int64()), 0)
        except pa.ArrowInvalid:
            pass
    if is_text(column.type):
        column = without_missing(column)
    if kind == "text":
        values, known = _filled(_texts(column, name), "")
        return values.astype(object), known
    wanted = {"boolean": "true and false", "integer": "whole numbers"}.get(kind, "numbers")
    try:
        values = numbers(column, name, first)
    except BadRowError as error:
        text = str(error).replace(
            f"column {name!r} must hold numbers", f"the label column {name!r} must hold {wanted}"
        )
        raise BadRowError(error.offset, text, "bad label") from None
    known = ~np.isnan(values)
    if kind == "number":
        return values, known
    values = np.where(known, values, 0.0)
    bad = ~is_whole(values) if kind == "integer" else (values != 0.0) & (values != 1.0)
    if bad.any():
        offset = int(np.argmax(bad))
        raise BadRowError(
            offset,
            f"the label column {name!r} must hold {wanted}, as its first rows do; "
            f"got {column[offset].as_py()!r:.80} in {row_name(first + offset)}. Correct the value.",
            "bad label",
        )
    return values.astype(np.int64 if kind == "integer" else np.bool_), known


def require_key_type(kind: Any, name: str) -> None:
    """Refuse a column whose values can be no keys, by their Arrow type."""
    types = arrow().types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if not (is_text(kind) or types.is_integer(kind) or types.is_null(kind)):
        raise InputError(
            f"the key column {name!r:.80} must hold texts or whole numbers; got values of type {kind}. Write "
            "each key as text, always in the same way."
        )


def keys(column: Any, name: str, first: int) -> NDArray[Any]:
    """A column as keys: texts as they are written, whole numbers as their decimal digits.

    Only null and the empty text are missing, which no key may be; NA may be somebody's name.
    """
    pa, compute = arrow(), arrow("compute")
    require_key_type(column.type, name)
    column = plain(column)
    if column.type != pa.string():
        column = column.cast(pa.string())
    lengths = compute.binary_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    bad = (lengths == 0) | (lengths > MAX_KEY_BYTES)
    if bad.any():
        offset = int(np.argmax(bad))
        length = int(lengths[offset])
        reason, what, advice = (
            ("key too long", f"is {length} bytes long", "Shorten it")
            if length
            else ("missing key", "has none", "Fill it in, or leave the row out")
        )
        raise BadRowError(
            offset,
            f"the key column {name!r:.80} must hold a key of 1 to {MAX_KEY_BYTES} bytes in every row; "
            f"{row_name(first + offset)} {what}. {advice}.",
            reason,
        )
    found: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return found


def _filled(column: Any, value: object) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """A column with a value in place of each missing one, and where it has values."""
    known = np.ones(len(column), np.bool_)
    if column.null_count:
        known = column.is_valid().to_numpy(zero_copy_only=False)
        column = column.fill_null(value)
    result: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return result if result.flags.writeable else result.copy(), known


def plain(column: Any) -> Any:
    """A column in one chunk, without a dictionary, and with texts as ordinary strings."""
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
    missing = compute.is_in(column, value_set=pa.array(MISSING, "string"))
    # Not if_else, which is wrong for slices of text before pyarrow 24.
    return compute.replace_with_mask(column, missing, pa.scalar(None, pa.string()))


def present(column: Any) -> tuple[Any, Any]:
    """A plain column with null for every missing value, and its values without the missing ones."""
    column = plain(column)
    if is_text(column.type):
        column = without_missing(column)
    return column, column.drop_null()
