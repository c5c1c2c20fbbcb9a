"""Two passes over the rows of a folder: to see where features are cut, and to write them down as bins."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._core.escaping import shown
from ocboost._core.labels import codes_of
from ocboost._kernels.arrays import Bytes, Floats
from ocboost._shards.facts import Facts
from ocboost._shards.features import BinnedFeatures
from ocboost.errors import InputError
from ocboost.out_of_core.chunks import DiskChunk
from ocboost.out_of_core.work import Position, WorkFolder
from ocboost.streams.folder import Folder

Progress = Callable[[str, float, int], None]  # what is being done, how much of it, and of how much

SECONDS_PER_SAVE = 30.0
BYTES_PER_CHUNK = 1 << 25  # of bins
MIN_ROWS, MAX_ROWS = 1 << 14, 1 << 20  # of a chunk


class Labelled(NamedTuple):
    """Rows that have a label, and where those after them begin."""

    X: Floats
    y: NDArray[Any]
    after: Position


def labelled_rows(
    folder: Folder, start: Position, most: int | None, on_bytes: Callable[[int], None]
) -> Iterator[Labelled]:
    """The rows of a folder from somewhere on, up to ``most`` in all; those without a label are left out."""
    place = start
    if place.n_read == most:
        return
    with folder.batches(start_file=start.file, start_row=start.row) as batches:
        for file, rows in batches:
            if most is not None:
                rows = rows[: most - place.n_read]
            first = place.row if file == place.file else 0
            X, known = rows.X, rows.known
            assert rows.y is not None
            if not known.all():
                X = X[known]
            y = rows.y[known]
            place = Position(file, first + len(rows), place.n_read + len(rows), place.n_learnt + len(y))
            on_bytes(batches.bytes_read)
            yield Labelled(X, y, place)
            if place.n_read == most:
                return


# The first pass ---------------------------------------------------------------------------------------


def look_at_rows(
    folder: Folder, work: WorkFolder, most: int | None, progress: Progress
) -> tuple[Facts, Position]:
    """What must be known of all rows, and how many there are; saved now and then, to go on from there."""
    facts, place = Facts(folder.schema.n_features), Position()
    saved = work.get("facts")
    if saved is not None:
        facts, place = Facts.from_tree(saved["facts"]), Position(*saved["place"])
        if saved["complete"]:
            return facts, place
    last = time.monotonic()

    def save(*, complete: bool) -> None:
        work.put("facts", {"facts": facts.tree(), "place": list(place), "complete": complete})

    for rows in labelled_rows(
        folder, place, most, lambda done: progress("looking at the rows", done, folder.n_bytes)
    ):
        facts.take(rows.X, rows.y)
        place = rows.after
        if time.monotonic() - last > SECONDS_PER_SAVE:
            save(complete=False)
            last = time.monotonic()
    save(complete=True)
    return facts, place


# The second pass --------------------------------------------------------------------------------------


def rows_per_chunk(n_features: int) -> int:
    """Rows of a chunk.

    >>> rows_per_chunk(50), rows_per_chunk(100_000)
    (671088, 16384)
    """
    return min(MAX_ROWS, max(MIN_ROWS, BYTES_PER_CHUNK // max(1, n_features)))


def write_bins(
    folder: Folder,
    work: WorkFolder,
    features: BinnedFeatures,
    classes: NDArray[Any],
    end: Position,
    most: int | None,
    progress: Progress,
) -> list[DiskChunk]:
    """Write all rows as chunks of bins; those that are complete already stay as they are."""
    m, K = features.feature.size, len(classes)
    chunks: list[DiskChunk] = []
    place = Position()
    while True:
        saved = work.get(f"chunk-{len(chunks):06d}")
        if saved is None:
            break
        chunk = DiskChunk(work.path, len(chunks), saved["rows"], m, K)
        if not chunk.path.exists() or chunk.path.stat().st_size != chunk.n_bytes:
            break
        chunks.append(chunk)
        place = Position(*saved["after"])
    size = rows_per_chunk(m)
    room, codes, n = np.empty((m, size), np.uint8), np.empty(size, np.int64), 0

    def write(after: Position) -> None:
        chunk = DiskChunk(work.path, len(chunks), n, m, K)
        chunk.write(room[:, :n], codes[:n])
        work.put(f"chunk-{len(chunks):06d}", {"rows": n, "after": list(after)})
        chunks.append(chunk)

    if place.n_read < end.n_read:
        for rows in labelled_rows(
            folder, place, most, lambda done: progress("binning the rows", done, folder.n_bytes)
        ):
            if n + len(rows.y) > size:  # a batch is of one chunk, so that the next one begins where it ends
                write(place)
                n = 0
            _bin(rows, features, classes, room[:, n : n + len(rows.y)], codes[n : n + len(rows.y)])
            n += len(rows.y)
            place = rows.after
        if n:
            write(place)
    if place != end:
        raise InputError(
            f"the files in {shown(folder.path)} must not change during a fit; there were {end.n_read:,} "
            f"rows, and now there are {place.n_read:,}."
        )
    return chunks


def _bin(rows: Labelled, features: BinnedFeatures, classes: NDArray[Any], bins: Bytes, codes: Any) -> None:
    features.bin_rows(rows.X, bins)
    codes[...] = codes_of(rows.y, classes)


# Rows as they are -------------------------------------------------------------------------------------


def last_rows(folder: Folder, n: int, end: Position, most: int | None) -> tuple[Floats, NDArray[Any]]:
    """The last n labelled rows; if these are of one class, n rows spread over all."""
    Xs: list[Floats] = []
    ys: list[NDArray[Any]] = []
    for file in range(end.file, -1, -1):
        kept: deque[Labelled] = deque()
        held = 0
        stop = None if most is None else end.row if file == end.file else None
        for rows in _rows_of_file(folder, file, stop):
            kept.append(rows)
            held += len(rows.y)
            while held - len(kept[0].y) >= n:
                held -= len(kept.popleft().y)
        Xs[:0], ys[:0] = [rows.X for rows in kept], [rows.y for rows in kept]
        if sum(map(len, ys)) >= n:
            break
    X, y = np.concatenate(Xs)[-n:], np.concatenate(ys)[-n:]
    return (X, y) if len(np.unique(y)) > 1 else _spread_rows(folder, n, end, most)


def _rows_of_file(folder: Folder, file: int, stop: int | None) -> Iterator[Labelled]:
    for rows in labelled_rows(folder, Position(file), stop, lambda done: None):
        if rows.after.file != file:
            return
        yield rows


def _spread_rows(folder: Folder, n: int, end: Position, most: int | None) -> tuple[Floats, NDArray[Any]]:
    wanted = np.unique(np.linspace(0, end.n_learnt - 1, n).astype(np.int64))
    Xs, ys, done = [], [], 0
    for rows in labelled_rows(folder, Position(), most, lambda done: None):
        here = wanted[(wanted >= done) & (wanted < done + len(rows.y))] - done
        Xs.append(rows.X[here])
        ys.append(rows.y[here])
        done += len(rows.y)
    return np.concatenate(Xs), np.concatenate(ys)
