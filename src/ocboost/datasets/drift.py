"""Named streams to compare learners on: real ones with drift, river's own, and generated ones.

>>> rows = STREAMS["sea"].load(rows=1000, seed=1).rows
>>> rows.X.shape, rows.classes
((1000, 3), [0, 1])
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from ocboost._core.checks import as_count
from ocboost.datasets import loaders
from ocboost.datasets.images import data_folder
from ocboost.datasets.loaders import (
    Loaded,
    draw_agrawal,
    draw_hyperplane,
    draw_rbf,
    draw_sea,
    load_table,
    load_words,
)
from ocboost.errors import InputError
from ocboost.streams.rows import Rows

Origin = Literal["file", "bundled", "generated"]


@dataclass(frozen=True)
class NamedStream:
    """A stream with a name.

    Parameters
    ----------
    name : str
    title : str
    about : str
        One line: what it is, and how it changes.
    origin : {"file", "bundled", "generated"}
        A file of a data folder, a data set inside river, or drawn by river.
    drifts : bool
        Whether it changes over time; False for those that are drawn from one distribution.
    make : callable
        Called with a folder (or None), rows (or None) and a seed.
    rows : int, optional
        How many rows are taken by default; None takes all.
    file : str
        Where in a data folder its file is.
    """

    name: str
    title: str
    about: str
    origin: Origin
    drifts: bool
    make: Callable[[Path | None, int | None, int], Loaded]
    rows: int | None = None
    file: str = ""

    @property
    def drawn(self) -> bool:
        """Whether another seed gives other rows."""
        return self.origin == "generated"

    def missing(
        self, data: str | os.PathLike[str] | None = None, *, how: str = "--data or OCBOOST_DATA"
    ) -> str | None:
        """Why it is not available, in a sentence that says how to name the folder; None if it is.

        Raises
        ------
        InputError
            If ``data`` is given and is no folder.
        """
        if self.origin == "file":
            if data is None:
                return f"it needs {self.file} of a data folder; say where with {how}"
            path = data_folder(data) / self.file
            return None if path.is_file() else f"there is no file '{path}'"
        if self.origin == "bundled" and not loaders.has_bundled(self.title):
            return "this version of river does not carry it"
        return None

    def load(
        self, data: str | os.PathLike[str] | None = None, *, rows: int | None = None, seed: int = 0
    ) -> Loaded:
        """Its rows, in order, with their source and notes.

        Parameters
        ----------
        data : path, optional
            The folder that holds ``streams/``; needed if the stream is a file.
        rows : int, optional
            At most this many; by default `rows` of the stream.
        seed : int, default 0
            For those that are drawn.

        Raises
        ------
        InputError
            If it cannot be read.
        MissingExtraError
            If it needs river, or pyarrow, and that is not installed.
        """
        if rows is not None:
            rows = as_count(rows, "rows", 1, None, "It is how many rows to take.")
        reason = self.missing(data, how="data")
        if reason is not None:
            raise InputError(f"the stream {self.name!r} is not available: {reason}.")
        folder = None if data is None else data_folder(data)
        max_rows = self.rows if rows is None else rows if self.rows is None else min(rows, self.rows)
        return self.make(folder, max_rows, seed)


def stream_named(name: str) -> NamedStream:
    """The stream of that name; an `InputError` lists them all."""
    if name not in STREAMS:
        raise InputError(f"the stream must be one of {', '.join(STREAMS)}; got {name!r:.80}.")
    return STREAMS[name]


def _file(
    name: str, title: str, about: str, file: str, load: Callable[..., Loaded], rows: int | None = None
) -> NamedStream:
    def make(folder: Path | None, max_rows: int | None, seed: int) -> Loaded:
        assert folder is not None
        return load(folder / file, rows=max_rows)

    return NamedStream(name, title, about, "file", True, make, rows, file)


def _halved(stream: NamedStream, name: str, title: str, about: str) -> NamedStream:
    """The first half of the classes against the others."""

    def make(folder: Path | None, max_rows: int | None, seed: int) -> Loaded:
        loaded = stream.make(folder, max_rows, seed)
        rows, y = loaded.rows, loaded.rows.y
        assert y is not None
        first = rows.classes[: len(rows.classes) // 2]
        note = f"Classes {', '.join(map(str, first))} are 1, the others 0."
        halved = Rows(rows.X, np.isin(y, first).astype(np.int64), rows.known)
        return replace(loaded, rows=halved, notes=[*loaded.notes, note])

    return replace(stream, name=name, title=title, about=about, make=make)


def _bundled(name: str, title: str, about: str, rows: int | None = None) -> NamedStream:
    def make(folder: Path | None, max_rows: int | None, seed: int) -> Loaded:
        return loaders.load_bundled(title, max_rows)

    return NamedStream(name, title, about, "bundled", False, make, rows)


def _generated(
    name: str, title: str, about: str, draw: Callable[..., Loaded], *, drifts: bool
) -> NamedStream:
    rows = 16_000 if drifts else 8_000

    def make(folder: Path | None, max_rows: int | None, seed: int) -> Loaded:
        return draw(rows if max_rows is None else max_rows, seed, drifts=drifts)

    return NamedStream(name, title, about, "generated", drifts, make, rows)


_INSECTS = _file(
    "insects6",
    "INSECTS, six species",
    "insects flying through a sensor while the temperature rises slowly (gradual, balanced)",
    "streams/insects_gradual_balanced.csv.gz",
    partial(load_table, label="species", spread=True),
)

STREAMS: dict[str, NamedStream] = {
    stream.name: stream
    for stream in (
        _file(
            "elec2",
            "Elec2",
            "whether electricity in New South Wales gets dearer; labels come in runs",
            "streams/elec2.csv.gz",
            partial(load_table, label="up", drop=("date",)),
        ),
        _halved(_INSECTS, "insects", "INSECTS, two classes", f"{_INSECTS.about}; three against three"),
        replace(_INSECTS, rows=5_000),
        _file(
            "flights",
            "NYC flights",
            "whether a flight out of New York in 2013 lands over 15 minutes late; weather and seasons",
            "streams/nycflights13.csv.gz",
            partial(load_table, label="late15", drop=("arr_delay",), spread=True),
            rows=16_000,
        ),
        _file(
            "spam",
            "SpamAssassin",
            "spam among e-mails by their 39,916 words; it fades from most of them to none",
            "streams/spamassassin.npz",
            partial(load_words, label="spam"),
        ),
        _file(
            "usenet",
            "Usenet",
            "which posts interest a reader, who changes every 300",
            "streams/usenet1.csv.gz",
            partial(load_table, label="label"),
        ),
        _bundled("phishing", "Phishing", "web pages that phish"),
        _bundled("bananas", "Bananas", "two clouds in the shape of bananas"),
        _bundled("segments", "ImageSegments", "seven kinds of image segments"),
        _bundled("shuttle", "Shuttle", "rare anomalies among a space shuttle's sensors", 10_000),
        _generated("sea", "SEA", "a threshold that jumps each quarter", draw_sea, drifts=True),
        _generated("agrawal", "Agrawal", "another rule in each quarter", draw_agrawal, drifts=True),
        _generated("rbf", "RandomRBFDrift", "50 clouds that move", draw_rbf, drifts=True),
        _generated("hyperplane", "Hyperplane", "a plane that turns", draw_hyperplane, drifts=True),
        _generated("sea-still", "SEA, stationary", "one threshold", draw_sea, drifts=False),
        _generated("agrawal-still", "Agrawal, stationary", "one rule", draw_agrawal, drifts=False),
        _generated("rbf-still", "RandomRBF", "50 clouds that stay", draw_rbf, drifts=False),
        _generated(
            "hyperplane-still", "Hyperplane, stationary", "a plane that stays", draw_hyperplane, drifts=False
        ),
    )
}
