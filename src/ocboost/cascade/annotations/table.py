"""Annotations as a table: a CSV file with the columns image, x, y, w, h."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from ocboost.cascade.annotations.boxes import MAX_ENTRIES, MarkedPicture, in_pixels
from ocboost.cascade.annotations.text import number_in, text_of
from ocboost.datasets.images import refused
from ocboost.errors import InputError

MAX_TABLE_BYTES = 256 << 20
BOX_COLUMNS = (("image",), ("x",), ("y",), ("w", "width"), ("h", "height"))
_SHAPE = "have a first line that names the columns image, x, y, w and h (or width and height), with commas"


def is_table(path: Path) -> bool:
    """Whether a CSV file has the columns."""
    first = text_of(path, MAX_TABLE_BYTES).lstrip().split("\n", 1)[0]
    return _columns(first.strip().split(",")) is not None


def read_table(path: Path) -> list[MarkedPicture]:
    """The pictures that a table names; one whose x, y, w and h are empty has no face."""
    text = text_of(path, MAX_TABLE_BYTES)
    pictures: dict[str, MarkedPicture] = {}
    columns: list[int] | None = None
    width = total = 0
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            where = f"'{path}', line {reader.line_num:,}"
            if columns is None:
                columns, width = _columns(row), len(row)
                if columns is None:
                    raise refused(path, _SHAPE, f"the first is {','.join(row)!r:.80}", "Add or correct it.")
                continue
            if len(row) != width:
                raise InputError(
                    f"A row must have {width} cells, as the first line has; got {len(row)} ({where}). "
                    "Correct it."
                )
            name, *cells = (row[k].strip() for k in columns)
            if not name:
                raise InputError(f"image must be the name of an image; it is empty ({where}). Correct it.")
            picture = pictures.setdefault(name, MarkedPicture(name, where))
            if any(cells):
                values = [number_in(cell) for cell in cells]
                if None in values:
                    raise InputError(
                        "A box must be four finite numbers, x, y, width and height, or empty where the "
                        f"picture has no face; got {', '.join(cells)!r:.80} ({where}). Correct or remove "
                        "it."
                    )
                picture.boxes.append(in_pixels(values, where))
            total += 1
            if total > MAX_ENTRIES:
                raise refused(path, f"have at most {MAX_ENTRIES:,} rows", "it has more", "Give a part of it.")
    except csv.Error as error:
        raise refused(path, "be CSV", f"line {reader.line_num:,} cannot be read ({error})") from None
    if columns is None:
        raise refused(path, _SHAPE, "it is empty", "Add one.")
    return list(pictures.values())


def _columns(header: list[str]) -> list[int] | None:
    """Where image, x, y, width and height are; None if one is missing or there twice.

    >>> _columns(["Image", "score", "x", "y", "width", "h"]), _columns(["image", "x", "y", "w"])
    ([0, 2, 3, 4, 5], None)
    """
    words = [word.strip().strip('"').casefold() for word in header]
    found = [[k for k, word in enumerate(words) if word in names] for names in BOX_COLUMNS]
    return [places[0] for places in found] if all(len(places) == 1 for places in found) else None
