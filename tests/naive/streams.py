"""CSV read in plain loops."""

from __future__ import annotations

import csv
import gzip
import io
import math

import numpy as np

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")


def naive_features(columns, names, rows):
    """The features of rows of texts, value by value."""
    result = []
    for row in rows:
        features = []
        for column in columns:
            text = row[names.index(column.name)]
            if column.kind == "number":
                truths = {"true": 1.0, "false": 0.0, **dict.fromkeys(MISSING, math.nan)}
                features.append(truths[text] if text in truths else float(text))
            else:
                features.extend(1.0 if text == category else 0.0 for category in column.categories)
        result.append(features)
    return np.array(result)


def naive_csv(path):
    """The names and the rows of texts of a CSV file."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
    names, *rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    return names, rows


def naive_row_ends(data, delimiter):
    """Where rows end, letter by letter: a quote counts where a field begins, and doubled inside one."""
    ends, inside, at_start, place = [], False, True, 0
    while place < len(data):
        letter = data[place : place + 1]
        if inside:
            if letter == b'"' and data[place + 1 : place + 2] == b'"':
                place += 1
            elif letter == b'"':
                inside = False
        elif letter == b'"' and at_start:
            inside = True
        elif letter == b"\n":
            ends.append(place)
        at_start = not inside and letter in (delimiter, b"\n", b"\r")
        place += 1
    return ends
