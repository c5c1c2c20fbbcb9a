"""A schema from the first rows of a file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ocboost.errors import InputError
from ocboost.streams.encoding import (
    EXACT,
    FALSE,
    NUMBER,
    TRUE,
    arrow,
    codes,
    is_text,
    numbers,
    plain,
    without_missing,
)
from ocboost.streams.schema import LONGEST_TEXT, MAX_CATEGORIES, Column, Schema

_TIME = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?"
_DAY = r"\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}[-/]\d{1,2}[-/]\d{2,4}|\d{1,2}\.\d{1,2}\.\d{4}"
_DATE = rf"({_DAY})([ T]{_TIME}.*)?"
_COMMAS = r"[+-]?\d+(,\d+)+"
FEW = 10  # values from which on it is strange that none is known


def infer(
    sample: Mapping[str, Any],
    names: Collection[str],
    *,
    typed: bool,
    label: str | None,
    drop: Collection[str],
) -> tuple[Schema, list[str]]:
    """A schema for the columns of a sample, and notes on those that are left out."""
    columns: list[Column] = []
    notes: list[str] = []
    for name in names:
        if name == label or name in drop:
            continue
        if name not in sample:
            notes.append(f"Column {name!r:.80} is left out: it holds lists, objects or bytes.")
            continue
        column, note = _column(name, plain(sample[name]), typed=typed)
        if column is not None:
            columns.append(column)
        if note is not None:
            notes.append(f"Column {name!r:.80} {note}")
    if not columns:
        raise InputError(
            "the stream must have a column of numbers or categories besides the label; it has none. "
            + " ".join(notes)
        )
    kind = None if label is None else label_kind(sample, label, typed=typed)
    return Schema(tuple(columns), label, kind), notes


def _column(name: str, values: Any, *, typed: bool) -> tuple[Column | None, str | None]:
    """The column, if it can be used, and what there is to say."""
    pa = arrow()
    kind = values.type
    if is_text(kind):
        values = without_missing(values)
    known = values.drop_null()
    if not len(known):
        return None, f"is left out: it is empty in the first {len(values)} rows."
    if pa.types.is_temporal(kind):
        return None, _dates(known)
    if not is_text(kind):
        return Column(name), None
    if not typed and _all_match(known, rf"{NUMBER}|{'|'.join(TRUE + FALSE)}"):
        return Column(name), None
    if _all_match(known, _DATE) or _all_match(known, _TIME):
        return None, _dates(known)
    odd = "" if typed else _stray(values, known)
    counts = known.value_counts()
    distinct = len(counts)
    if distinct > MAX_CATEGORIES and 2 * distinct > len(known):
        return None, (
            f"is left out: it holds {distinct} different texts in the first {len(values)} rows, "
            f"such as {known[0].as_py()!r:.60}.{odd}"
        )
    pairs = zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True)
    usable = sorted((-count, value) for value, count in pairs if len(value) <= LONGEST_TEXT)
    if not usable:
        return None, f"is left out: its texts are longer than {LONGEST_TEXT} characters."
    column = Column(name, "category", tuple(value for _, value in usable[:MAX_CATEGORIES]))
    if distinct > len(column.categories):
        return column, f"keeps the {len(column.categories)} most frequent of its {distinct} values.{odd}"
    return column, f"is read as text.{odd}" if odd else None


def strange_categories(schema: Schema, sample: Mapping[str, Any]) -> list[str]:
    """What to say of columns none of whose texts the model knows."""
    notes = []
    for column in schema.columns:
        if column.kind != "category" or column.name not in sample:
            continue
        values = plain(sample[column.name])
        places = codes(values, column.categories, column.name)
        known = without_missing(values).drop_null() if is_text(values.type) else values.drop_null()
        if len(known) >= FEW and (places < 0).all():
            notes.append(
                f"Column {column.name!r:.80} holds no text that the model knows in the first {len(values)} "
                f"rows: {known[0].as_py()!r:.60}, not {column.categories[0]!r:.60} or the like. "
                "They count as unknown."
            )
    return notes


def _stray(values: Any, known: Any) -> str:
    """What to say of a column of texts of which most are numbers: the first one that is not, and its row."""
    compute = arrow("compute")
    pattern = rf"^({NUMBER})$"
    if _all_match(known, rf"{NUMBER}|{_COMMAS}"):
        return f" It looks like numbers with commas, such as {known[0].as_py()!r:.60}: write 1.5 for 1,5."
    if 2 * compute.sum(compute.match_substring_regex(known, pattern)).as_py() < len(known):
        return ""
    other = compute.invert(compute.match_substring_regex(values, pattern))
    row = compute.index(compute.fill_null(other, False), True).as_py()
    return (
        f" Most of it are numbers, but row {row} (the first is row 0) holds {values[row].as_py()!r:.60}: "
        "if that is a mistake, correct it."
    )


def _dates(known: Any) -> str:
    return (
        f"is left out: it holds dates or times, such as {str(known[0].as_py())!r:.60}. "
        "Write what matters of them as numbers, such as the hour or the day of the week."
    )


def _all_match(texts: Any, pattern: str) -> bool:
    compute = arrow("compute")
    return bool(compute.all(compute.match_substring_regex(texts, rf"^({pattern})$")).as_py())


def label_kind(sample: Mapping[str, Any], label: str, *, typed: bool) -> str:
    """What the labels of a sample are."""
    pa = arrow()
    if label not in sample:
        raise InputError(
            f"the label column {label!r:.80} must hold numbers or texts; it holds lists, objects or bytes."
        )
    values = plain(sample[label])
    kind = values.type
    text = is_text(kind)
    if text:
        values = without_missing(values)
    known = values.drop_null()
    if not len(known):
        raise InputError(
            f"the label column {label!r:.80} must have labels among the first rows; it is empty in the first "
            f"{len(values)}. Is it the right column? Else put some labelled rows first."
        )
    if pa.types.is_temporal(kind):
        raise InputError(f"the label column {label!r:.80} must hold numbers or texts; it holds {kind}.")
    if pa.types.is_boolean(kind) or (text and not typed and _all_match(known, "|".join(TRUE + FALSE))):
        return "boolean"
    if text and (typed or not _all_match(known, NUMBER)):
        return "text"
    if pa.types.is_integer(kind):
        return "integer"
    found = numbers(known, label, 0)
    found = found[~np.isnan(found)]
    whole = (found == np.rint(found)) & (np.abs(found) <= EXACT)
    if whole.all() or (text and _fits_int64(known)):
        return "integer"
    if text and _all_match(known, r"[ \t]*[+-]?\d+[ \t]*"):
        return "text"  # more digits than numbers have here: they are names
    large = found[np.abs(found) > EXACT]
    if len(large):
        raise InputError(
            f"the label column {label!r:.80} must hold classes; {large[0]:g} is too large a number to be "
            "told from its neighbours. Write it as text."
        )
    return "number"


def _fits_int64(texts: Any) -> bool:
    pa = arrow()
    try:
        texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return False
    return True
