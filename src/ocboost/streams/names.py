"""The names of columns: which are there, which are wanted, and what may have been meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches

from ..errors import InputError
from .schema import LONGEST_TEXT, MOST_COLUMNS, Schema

_SHOWN = 20


def listed(names: Collection[str]) -> str:
    """Names for a message, not too many of them.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    shown = ", ".join(f"{name!r:.80}" for name in list(names)[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


def meant(name: str, names: Iterable[str]) -> str | None:
    """The name that may have been meant.

    >>> meant("Carier", ["origin", "carrier"])
    'carrier'
    """
    by_lower = {other.strip().lower(): other for other in names}
    cutoff = 0.6 if len(name) <= 3 else 0.7
    close = get_close_matches(name.strip().lower(), by_lower, 1, cutoff)
    return by_lower[close[0]] if close else None


def usable_names(fields: Sequence[str], file: str, notes: list[str]) -> list[str]:
    """The names of a file's columns without those that are empty; they must differ."""
    names = [name for name in fields if name.strip()]
    if len(names) < len(fields):
        notes.append(
            f"Columns without a name are left out (column {_unnamed(fields)}); perhaps they number the rows."
        )
    if not names:
        raise InputError(f"{file} must begin with a line that names the columns; it has no names. Add one.")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(
            f"{file} must have different names for its columns; {listed(repeated)} stand there twice or "
            "more. Rename them. Does the file begin with a line of names?"
        )
    if len(names) > MOST_COLUMNS or any(len(name) > LONGEST_TEXT for name in names):
        raise InputError(
            f"{file} must have at most {MOST_COLUMNS} columns with names of at most {LONGEST_TEXT} "
            "characters. Does it begin with a line of names?"
        )
    return names


def _unnamed(fields: Sequence[str]) -> str:
    return ", ".join([str(place) for place, name in enumerate(fields, 1) if not name.strip()][:_SHOWN])


def require_name(parameter: str, name: str, names: Collection[str], file: str) -> None:
    """Refuse a name that is not a column."""
    if name in names:
        return
    other = meant(name, names)
    advice = f"Did you mean {other!r}?" if other is not None else "Give one of these."
    raise InputError(
        f"{parameter} must name a column of {file}; got {name!r:.80}, and it has {listed(names)}. {advice}"
    )


def require_columns(schema: Schema, names: Collection[str], file: str) -> None:
    """Refuse a file that lacks columns of a schema."""
    present = set(names)
    gone = [column.name for column in schema.columns if column.name not in present]
    if not gone:
        return
    known = {column.name for column in schema.columns} | {schema.label}
    unknown = [name for name in names if name not in known]
    pairs = [(name, meant(name, unknown)) for name in gone]
    renames = [f"{other!r} to {name!r}" for name, other in pairs if other is not None][:_SHOWN]
    advice = f"Was it renamed? Then rename {', '.join(renames)}." if renames else "Add what it lacks."
    raise InputError(
        f"{file} must have the columns the model was made for; it lacks {listed(gone)}"
        + (f", and has {listed(unknown)}, which the model does not know. " if renames else ". ")
        + advice
    )
