"""The columns of a file: checks of their names, and the schema that the first rows suggest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from ocboost.errors import InputError
from ocboost.streams.dates import ISO_DATE, ISO_TIME, is_moment, moments, parts_that_matter
from ocboost.streams.encoding import (
    FALSE,
    MAX_EXACT,
    NUMBER,
    TRUE,
    BadRowError,
    arrow,
    codes,
    is_text,
    is_whole,
    numbers,
    present,
    row_name,
)
from ocboost.streams.schema import MAX_CATEGORIES, MAX_COLUMNS, MAX_NAME_LENGTH, Column, Schema

_TIME = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?"
_DAY = r"\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}[-/]\d{1,2}[-/]\d{2,4}|\d{1,2}\.\d{1,2}\.\d{4}"
_DATE = rf"({_DAY})([ T]{_TIME}.*)?"
_WITH_COMMAS = r"[+-]?\d+(,\d+)+"
_TRUTH = "|".join(TRUE + FALSE)
_MIN_UNKNOWN = 10  # values none of which the model knows, for a note
_MAX_LISTED = 20  # names in a message


class NoFeaturesError(InputError):
    """No column can be used."""


# The names of columns ---------------------------------------------------------------------------------------


def quoted(names: Collection[str]) -> str:
    """Names for a message, not too many of them.

    >>> quoted(["a", "b"])
    "'a', 'b'"
    """
    shown = ", ".join(f"{name!r:.80}" for name in list(names)[:_MAX_LISTED])
    return f"{shown} and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else shown


def similar_name(name: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant.

    >>> similar_name("Carier", ["origin", "carrier"])
    'carrier'
    """
    by_lower = {other.strip().lower(): other for other in names}
    cutoff = 0.6 if len(name) <= 3 else 0.7
    close = get_close_matches(name.strip().lower(), by_lower, 1, cutoff)
    return by_lower[close[0]] if close else None


def usable_names(fields: Sequence[str], file: str, notes: list[str]) -> list[str]:
    """The names of a file's columns without empty ones; they must differ."""
    names = [name for name in fields if name.strip()]
    if len(names) < len(fields):
        unnamed = [str(number) for number, name in enumerate(fields, 1) if not name.strip()]
        notes.append(
            f"Columns without a name are left out (column {', '.join(unnamed[:_MAX_LISTED])}); perhaps they "
            "number the rows."
        )
    if not names:
        raise InputError(f"{file} must begin with a line that names the columns; it has no names. Add one.")
    require_different(names, file)
    if len(names) > MAX_COLUMNS or any(len(name) > MAX_NAME_LENGTH for name in names):
        raise InputError(
            f"{file} must have at most {MAX_COLUMNS} columns with names of at most {MAX_NAME_LENGTH} "
            "characters. Does it begin with a line of names?"
        )
    return names


def require_different(names: Sequence[str], file: str) -> None:
    """Refuse names that two columns have."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        advice = "" if file == "the table" else " Does the file begin with a line of names?"
        raise InputError(
            f"{file} must have different names for its columns; {quoted(repeated)} appear more than once. "
            f"Rename them.{advice}"
        )


def require_name(parameter: str, name: str, names: Collection[str], file: str) -> None:
    """Refuse a name that is not a column."""
    if name in names:
        return
    other = similar_name(name, names)
    advice = f"Did you mean {other!r}?" if other is not None else "Give one of these."
    raise InputError(
        f"{parameter} must name a column of {file}; got {name!r:.80}, and it has {quoted(names)}. {advice}"
    )


def require_columns(schema: Schema, names: Collection[str], file: str) -> None:
    """Refuse a file that lacks columns of a schema."""
    there = set(names)
    missing = [column.name for column in schema.columns if column.name not in there]
    if not missing:
        return
    known = {column.name for column in schema.columns} | {schema.label}
    unknown = [name for name in names if name not in known]
    pairs = [(name, similar_name(name, unknown)) for name in missing]
    renames = [f"{other!r} to {name!r}" for name, other in pairs if other is not None][:_MAX_LISTED]
    advice = f"Was it renamed? Then rename {', '.join(renames)}." if renames else "Add what it lacks."
    raise InputError(
        f"{file} must have the columns the model was made for; it lacks {quoted(missing)}"
        + (f", and has {quoted(unknown)}, which the model does not know. " if renames else ". ")
        + advice
    )


# What they hold ---------------------------------------------------------------------------------------------


def infer(
    sample: Mapping[str, Any],
    names: Collection[str],
    *,
    typed: bool,
    label: str | None,
    drop: Collection[str],
    row_name: Callable[[int], str] = row_name,
) -> tuple[Schema, list[str]]:
    """A schema for the columns of a sample, and notes on those that are left out.

    ``typed`` says whether the file tells texts from numbers; in CSV everything is text. ``row_name`` is how
    notes call a row of the sample.
    """
    columns: list[Column] = []
    notes: list[str] = []
    for name in names:
        if name == label or name in drop:
            continue
        if name not in sample:
            notes.append(f"Column {name!r:.80} is left out: it holds lists, objects or bytes.")
            continue
        column, note = _infer_column(name, sample[name], row_name, typed=typed)
        if column is not None:
            columns.append(column)
        if note is not None:
            notes.append(f"Column {name!r:.80} {note}")
    if not columns:
        raise NoFeaturesError(
            "the stream must have a column of numbers, categories or dates besides the label; it has none. "
            + " ".join(notes)
        )
    kind = None if label is None else label_kind(sample, label, typed=typed)
    return Schema(tuple(columns), label, kind), notes


def _infer_column(
    name: str, values: Any, row_name: Callable[[int], str], *, typed: bool
) -> tuple[Column | None, str | None]:
    """The column, if it can be used, and a note, if there is one."""
    values, known = present(values)
    kind = values.type
    if arrow().types.is_floating(kind):
        known = known.filter(arrow("compute").invert(arrow("compute").is_nan(known)))
    if not len(known):
        return None, f"is left out: it is empty in the first {len(values)} rows."
    parts = _parts_of_dates(known, name)
    if parts is not None:
        return Column(name, "date", (), parts), None
    if arrow().types.is_temporal(kind):
        return None, f"is left out: it holds {kind}. Write it as a number, such as seconds."
    if not is_text(kind) or (not typed and _all_match(known, rf"{NUMBER}|{_TRUTH}")):
        return Column(name), None
    if _all_match(known, _DATE) or _all_match(known, _TIME):
        return None, (
            f"is left out: it holds dates or times, such as {known[0].as_py()!r:.60}. "
            "Write them as ISO 8601 has them, such as 2024-01-31 17:05, to use them."
        )
    advice = "" if typed else _nearly_numbers(values, known, row_name)
    counts = known.value_counts()
    distinct = len(counts)
    if distinct > MAX_CATEGORIES and 2 * distinct > len(known):
        return None, (
            f"is left out: it holds {distinct} different texts in the first {len(values)} rows, "
            f"such as {known[0].as_py()!r:.60}.{advice}"
        )
    pairs = zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True)
    usable = sorted((-count, value) for value, count in pairs if len(value) <= MAX_NAME_LENGTH)
    if not usable:
        return None, f"is left out: its texts are longer than {MAX_NAME_LENGTH} characters."
    column = Column(name, "category", tuple(value for _, value in usable[:MAX_CATEGORIES]))
    if distinct > len(column.categories):
        return column, f"keeps the {len(column.categories)} most frequent of its {distinct} values.{advice}"
    return column, f"is read as text.{advice}" if advice else None


def _parts_of_dates(known: Any, name: str) -> tuple[str, ...] | None:
    """What is used of the dates or times in a column; None if it holds something else."""
    if is_text(known.type):
        if not _all_match(known, ISO_DATE) and not _all_match(known, ISO_TIME):
            return None
    elif not is_moment(known.type):
        return None
    try:
        return parts_that_matter(moments(known, name, 0))
    except BadRowError:  # it looks like a date, and there is no such day
        return None


def _nearly_numbers(values: Any, known: Any, row_name: Callable[[int], str]) -> str:
    """Advice for a column of texts most of which are numbers: the first one that is not, and its row."""
    compute = arrow("compute")
    pattern = rf"^({NUMBER})$"
    if _all_match(known, rf"{NUMBER}|{_WITH_COMMAS}"):
        return f" It looks like numbers with commas, such as {known[0].as_py()!r:.60}: write 1.5 for 1,5."
    if 2 * compute.sum(compute.match_substring_regex(known, pattern)).as_py() < len(known):
        return ""
    other = compute.invert(compute.match_substring_regex(values, pattern))
    row = compute.index(compute.fill_null(other, False), True).as_py()
    return (
        f" Most of its values are numbers, but {row_name(row)} holds {values[row].as_py()!r:.60}: "
        "if that is a mistake, correct it."
    )


def _all_match(texts: Any, pattern: str) -> bool:
    compute = arrow("compute")
    return bool(compute.all(compute.match_substring_regex(texts, rf"^({pattern})$")).as_py())


def notes_on_unknown_categories(schema: Schema, sample: Mapping[str, Any]) -> list[str]:
    """Notes on columns none of whose texts the model knows."""
    notes = []
    for column in schema.columns:
        if column.kind != "category" or column.name not in sample:
            continue
        found = codes(sample[column.name], column.categories, column.name)
        _, known = present(sample[column.name])
        if len(known) >= _MIN_UNKNOWN and (found < 0).all():
            notes.append(
                f"Column {column.name!r:.80} holds no text that the model knows in the first {len(found)} "
                f"rows: {known[0].as_py()!r:.60}, not {column.categories[0]!r:.60} or the like. "
                "They count as unknown."
            )
    return notes


def label_kind(sample: Mapping[str, Any], label: str, *, typed: bool) -> str:
    """What the labels of a sample are."""
    pa = arrow()
    if label not in sample:
        raise InputError(
            f"the label column {label!r:.80} must hold numbers or texts; it holds lists, objects or bytes."
        )
    values, known = present(sample[label])
    kind = values.type
    text = is_text(kind)
    if not len(known):
        raise InputError(
            f"the label column {label!r:.80} must have labels among the first rows; it is empty in the first "
            f"{len(values)}. Is it the right column? If so, put some labelled rows first."
        )
    if pa.types.is_temporal(kind):
        raise InputError(f"the label column {label!r:.80} must hold numbers or texts; it holds {kind}.")
    if pa.types.is_boolean(kind) or (text and not typed and _all_match(known, _TRUTH)):
        return "boolean"
    if text and (typed or not _all_match(known, NUMBER)):
        return "text"
    if pa.types.is_integer(kind):
        return "integer"
    found = numbers(known, label, 0)
    found = found[~np.isnan(found)]
    if is_whole(found).all() or (text and _fits_int64(known)):
        return "integer"
    if text and _all_match(known, r"[ \t]*[+-]?\d+[ \t]*"):
        return "text"  # too many digits for a number: they are names
    large = found[np.abs(found) > MAX_EXACT]
    if len(large):
        raise InputError(
            f"the label column {label!r:.80} must hold classes; {large[0]:g} is too large to be an exact "
            "number. Write it as text."
        )
    return "number"


def _fits_int64(texts: Any) -> bool:
    pa = arrow()
    try:
        texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return False
    return True
