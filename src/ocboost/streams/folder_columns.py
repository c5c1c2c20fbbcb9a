"""What the files of a folder have in common: their columns, and the schema that rows of all files suggest."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from ocboost._core.escaping import shown
from ocboost.errors import InputError
from ocboost.streams.dates import moments
from ocboost.streams.encoding import arrow, plain, row_name
from ocboost.streams.folder_files import listed
from ocboost.streams.folder_look import NO_VALUES, NUMBERS, TEXTS, FileLook, kind_of_type
from ocboost.streams.inference import infer, quoted, require_name, similar_name
from ocboost.streams.schema import Schema

# What they have in common -----------------------------------------------------------------------------------


def common_schema(
    looks: list[FileLook], folder: str, label: str | None, drop: tuple[str, ...]
) -> tuple[Schema, list[str]]:
    """The schema that fits all files, and notes; an error if there is none."""
    with_rows = [look for look in looks if look.n_rows != 0]
    if not with_rows:
        raise InputError(f"{folder} must hold rows; none of its {len(looks)} files has one.")
    notes = []
    if len(with_rows) < len(looks):
        empty = [look.file.name for look in looks if look.n_rows == 0]
        notes.append(f"Files without rows are passed over: {listed(empty)}.")
    typed = with_rows[0].typed
    every = [look for look in looks if look.n_rows != 0 or look.names]  # no row of JSON, no names
    counts = Counter(name for look in every for name in look.names)
    for name in drop:
        require_name("drop", name, list(counts), folder)
    if label is not None:
        require_name("label", label, list(counts), folder)
        if label in drop:
            raise InputError(f"drop must not name the label column {label!r:.80}. Leave it out of drop.")
    names = _common_names(every, counts, label, drop, folder, notes)
    notes.extend(_joined_notes(every))
    _require_same_labels(with_rows, label)
    notes.extend(_require_same_kinds(with_rows, [name for name in names if name != label], typed=typed))
    sampled = [look for look in with_rows if look.n_sampled]
    sample = {
        name: _joined([look.sample[name] for look in sampled], name)
        for name in names
        if sampled and all(name in look.sample for look in sampled)
    }
    starts = list(accumulate((look.n_sampled for look in sampled), initial=0))

    def place(row: int) -> str:
        at = bisect_right(starts, row) - 1
        return f"{row_name(row - starts[at])} of '{shown(sampled[at].file.name)}'"

    here, there = f"in the first {starts[-1]} rows", f"in {starts[-1]} rows from {len(sampled)} files"
    try:
        schema, more = infer(sample, names, typed=typed, label=label, drop=drop, row_name=place)
    except InputError as error:
        raise InputError(f"{folder}: {shown(error).replace(here, there)}") from None
    notes.extend(note.replace(here, there) for note in more)
    if not typed:
        _require_numbers(with_rows, schema)
    return schema, notes


def _common_names(
    looks: list[FileLook],
    counts: Counter[str],
    label: str | None,
    drop: tuple[str, ...],
    folder: str,
    notes: list[str],
) -> list[str]:
    """The columns that all files have; what fewer than half of them have is left out, with a note."""
    names = [name for name in counts if name not in drop]
    lacking = {
        name: [look for look in looks if name not in look.names]
        for name in names
        if counts[name] < len(looks)
    }
    needed = {
        name: without for name, without in lacking.items() if name == label or 2 * counts[name] >= len(looks)
    }
    if needed:
        raise _lacks(needed, len(looks), label, folder)
    for name in lacking:
        own = [look.file.name for look in looks if name in look.names]
        notes.append(f"Column {name!r:.80} is left out: of {len(looks)} files only {listed(own)} have it.")
    return [name for name in names if name not in lacking]


def _lacks(needed: Mapping[str, list[FileLook]], n_files: int, label: str | None, folder: str) -> InputError:
    """The error of files that lack columns."""
    first = label if label in needed else next(iter(needed))
    assert first is not None
    without = needed[first]
    others = [name for name in needed if name != first]
    more = f" Some files lack {quoted(others)} as well." if others else ""
    other = similar_name(first, [name for name in without[0].names if name != first])
    drop = "" if first == label else f" drop it everywhere (drop=[{first!r:.80}]),"
    hint = f" Was it renamed to {other!r:.80} there?" if other is not None else ""
    json = ""
    if without[0].typed and without[0].n_rows is None:
        json = " A row of JSON may lack a column, but the first rows of each file must show it: write null."
    what = "label column" if first == label else "column"
    return InputError(
        f"every file of {folder} must have the {what} {first!r:.80}; {len(without)} of {n_files} lack it: "
        f"{listed([look.file.name for look in without])}.{hint} Add the column,{drop} or take these files "
        f"out of the folder.{json}{more}"
    )


def _require_same_labels(looks: list[FileLook], label: str | None) -> None:
    kinds: dict[str, list[str]] = {}
    for look in looks:
        if look.label != NO_VALUES:
            kinds.setdefault(look.label, []).append(look.file.name)
    if label is not None and len(kinds) > 1:
        raise InputError(
            f"the label column {label!r:.80} must hold the same kind of labels in every file; it holds "
            f"{_by_kind(kinds)}. Write the labels alike."
        )


def _require_same_kinds(looks: list[FileLook], names: list[str], *, typed: bool) -> list[str]:
    """Refuse columns that hold different things in different files; in CSV, where all is text, note it."""
    notes = []
    for name in names:
        kinds: dict[str, list[str]] = {}
        for look in looks:
            if look.kinds[name] != NO_VALUES:
                kinds.setdefault(look.kinds[name], []).append(look.file.name)
        if len(kinds) < 2:
            continue
        if typed:
            raise InputError(
                f"column {name!r:.80} must hold the same in every file; it holds {_by_kind(kinds)}. Write it "
                f"alike, or drop it (drop=[{name!r:.80}])."
            )
        notes.append(f"Column {name!r:.80} holds {_by_kind(kinds)}. If one of them is a mistake, correct it.")
    return notes


def _by_kind(kinds: Mapping[str, list[str]]) -> str:
    """What a column holds where; first what it holds in most files."""
    order = sorted(kinds, key=lambda kind: -len(kinds[kind]))
    return ", and ".join(f"{kind} in {listed(kinds[kind])}" for kind in order)


def _require_numbers(looks: list[FileLook], schema: Schema) -> None:
    """Refuse CSV files beyond those of the sample that hold texts where the sample has numbers."""
    for column in schema.columns:
        wrong = [look.file.name for look in looks if look.kinds[column.name] == TEXTS]
        if column.kind == "number" and wrong:
            raise InputError(
                f"column {column.name!r:.80} must hold numbers in every file, as it does in most; it holds "
                f"texts in {listed(wrong)}. Correct it, or drop it (drop=[{column.name!r:.80}])."
            )


def _joined_notes(looks: list[FileLook]) -> list[str]:
    """The notes on single files, each text once."""
    where: dict[str, list[str]] = {}
    for look in looks:
        for note in look.notes:
            where.setdefault(note, []).append(look.file.name)
    return [note if len(names) == len(looks) else f"{listed(names)}: {note}" for note, names in where.items()]


# The sample -------------------------------------------------------------------------------------------------


def _joined(parts: list[Any], name: str) -> Any:
    """A column of several files: where its types differ, as numbers, or as timestamps."""
    pa = arrow()
    parts = [plain(part) for part in parts]
    types = {part.type for part in parts if not pa.types.is_null(part.type)}
    if len(types) > 1:
        parts = [part if pa.types.is_null(part.type) else _widened(part, name) for part in parts]
        types = {part.type for part in parts if not pa.types.is_null(part.type)}
    wanted = next(iter(types), pa.null())
    return pa.concat_arrays([part if part.type == wanted else pa.nulls(len(part), wanted) for part in parts])


def _widened(column: Any, name: str) -> Any:
    pa, kind = arrow(), column.type
    if pa.types.is_time(kind):
        return column.cast(pa.time64("ns"))
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        found = moments(column, name, 0)
        ticks = found.days * 86_400_000_000 + found.clock // 1000
        return pa.array(ticks, mask=~found.has_day).cast(pa.timestamp("us"))
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    if kind_of_type(kind) == NUMBERS:
        return column.cast(pa.float64(), safe=False)
    return column  # such as durations, which are left out
