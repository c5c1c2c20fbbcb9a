"""Data frames with a column of every kind, for tests of tables."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd

LEFT_OUT = ("empty", "row")  # columns of `frame` that no model reads


def frame(n=400, seed=0):
    """A column of each type, in alphabetical order, and labels that depend on some of them."""
    rng = np.random.default_rng(seed)
    some = rng.random(n) < 0.1
    start = np.datetime64("2023-11-05T03:10:00")
    times = start + rng.integers(0, 400 * 86_400, n).astype("timedelta64[s]")
    days = pd.to_datetime(times).normalize()
    number = rng.normal(size=n)
    text = rng.choice(["UA", "B6", "wide, body", "ü"], n, p=[0.4, 0.3, 0.2, 0.1]).astype(object)
    columns = {
        "bool": rng.random(n) < 0.4,
        "boolean": pd.array(np.where(some, None, rng.random(n) < 0.5), dtype="boolean"),
        "category": pd.Categorical(rng.choice(list("pqr"), n)),
        "date": [d.date() for d in days],
        "day": days,
        "empty": [None] * n,
        "float": np.where(some, np.nan, number),
        "float32": rng.integers(-40, 40, n).astype(np.float32) / 8,
        "int": rng.integers(-5, 5, n),
        "int8": rng.integers(-5, 5, n).astype(np.int8),
        "integers": pd.array(np.where(some, None, rng.integers(0, 9, n)), dtype="Int64"),
        "iso": [str(t).replace("T", " ") for t in times],
        "levels": pd.Categorical(rng.integers(0, 3, n)),
        "many": [f"m{k}" for k in rng.integers(0, 70, n)],
        "row": [f"N{k}" for k in range(n)],
        "stamp": pd.Series(times).mask(some).to_numpy("datetime64[us]"),
        "string": pd.array(np.where(some, None, rng.choice(["x", "y"], n)), dtype="string"),
        "text": np.where(some, None, text),
        "time": [datetime.time(int(k) // 60, int(k) % 60) for k in rng.integers(0, 1440, n)],
        "zone": pd.to_datetime(times).tz_localize(
            "Europe/Berlin", nonexistent="shift_forward", ambiguous=True
        ),
    }
    late = (number > 0) ^ (columns["text"] == "UA") ^ (pd.to_datetime(times).hour > 17)
    return pd.DataFrame(columns), pd.Series(np.where(late, "late", "on time"), name="arrival")


def quietly(call, *args, **kwargs):
    """What a call gives, without the warning of the columns that are left out."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Column", UserWarning)
        return call(*args, **kwargs)
