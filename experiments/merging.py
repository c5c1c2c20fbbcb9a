"""Sketches of shards, merged in a tree: how far from AdaBoost on the union, beside other ways in one pass.

    python experiments/merging.py [--quick] [--data DIR] [--only columns,streams] [--seeds N] [--out FILE]

Columns are independent, right with a chance of 0.5 to 0.65. Shards are alike; or in each the chance of every
column is shifted up or down; or they are sorted by class, where every hypothesis is 0.1 better on one of two
classes and 0.1 worse on the other, and a shard holds one class. The streams are real ones, cut into eight
shards in their order, or sorted by class and then cut; the stumps are learnt on the first 2,000 rows.
A partition is added at once; with eight shards also row by row, as a stream would be.
Sketches are allowed the same memory, that of ``head="auto"``, unless it is named. The exact route
(`DaskOCBClassifier`) is AdaBoost on the union: its error is 0 by definition, so it has no column.

Tables go to stdout, a progress bar to stderr, and everything measured, seed by seed, to a JSON file.
`--quick` is smaller throughout, to check that it runs, and writes only if `--out` is given.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from parts.common import MissingDataError, independent_columns, number, spread
from parts.heavy_margins import STREAMS, Folders

import ocboost
from ocboost import BoostingSketch, adaboost_weights, approximation_error
from ocboost._report.output import OutputFolder, to_json, versions
from ocboost.dask import sketch_margins
from ocboost.learners import StumpLearner

OUT = Path(__file__).parent / "results" / "merging.json"
PARTS = ("columns", "streams")
HYPOTHESES = (20, 100, 400)
SHARDS = (8, 64)
ROWS = 20_000  # in a shard of columns
SHIFTS = {"alike": 0.0, "shifted by 0.05": 0.05, "shifted by 0.10": 0.10, "shifted by 0.15": 0.15}
SORTED = "sorted by class"
MORE = 4_000_000  # bytes
BATCH = 64
TREE, ROW_BY_ROW, NEWEST, LARGE, AVERAGED, ONE_PASS = (
    "tree, heavy",
    "row by row",
    "tree, newest",
    "tree, heavy, 4 MB",
    "α averaged",
    "one sketch",
)
METHODS = (TREE, ROW_BY_ROW, NEWEST, LARGE, AVERAGED, ONE_PASS)
STREAM_SHARDS = 8
ROUNDING = 1e-12  # an error below this is shown as 0


def shards_of_columns(seed: int, J: int, n_shards: int, rows: int, kind: str) -> np.ndarray:
    """The margins of all shards, one after the other."""
    rng = np.random.default_rng([seed, J, n_shards])
    p = rng.uniform(0.5, 0.65, J)
    lean = rng.choice(np.array([-0.1, 0.1]), J)
    margins = np.empty((n_shards * rows, J), np.int8)
    for shard in range(n_shards):
        if kind == SORTED:
            own = p + (lean if 2 * shard < n_shards else -lean)
        else:
            own = p + SHIFTS[kind] * rng.choice(np.array([-1.0, 1.0]), J)
        margins[shard * rows : (shard + 1) * rows] = independent_columns(rng, rows, own)
    return margins


def learnt_row_by_row(shard: np.ndarray) -> BoostingSketch:
    """The sketch of a shard that comes as a stream, and not all at once."""
    sketch = BoostingSketch(shard.shape[1], head="auto")
    sketch.update_many(shard, batch_size=BATCH)
    return sketch


def in_tree(sketches: list[BoostingSketch]) -> BoostingSketch:
    """One of many, in the tree of `sketch_margins`: four neighbours at a time."""
    while len(sketches) > 1:
        sketches = [reduce(BoostingSketch.merge, sketches[k : k + 4]) for k in range(0, len(sketches), 4)]
    return sketches[0]


def errors(margins: np.ndarray, sizes: Sequence[int]) -> tuple[dict[str, float], dict[str, Any]]:
    """The error of each method to AdaBoost on the union; the bytes it was allowed, and those of its result.

    Newest examples that were merged lie in a ring with room for those of both sides, which counts too.
    """
    J = margins.shape[1]
    exact = adaboost_weights(margins)
    memory = BoostingSketch(J, head="auto").memory  # an automatic head of the newest would take more
    cut = da.from_array(margins, chunks=(tuple(sizes), J), name=False)
    sketches = {
        TREE: sketch_margins(cut),
        NEWEST: sketch_margins(cut, keep="newest", memory=memory),
        LARGE: sketch_margins(cut, memory=MORE),
        ONE_PASS: BoostingSketch(J, head="auto"),
    }
    sketches[ONE_PASS].update_many(margins, batch_size=BATCH)
    shards = np.split(margins, np.cumsum(sizes)[:-1])
    if len(shards) == SHARDS[0]:
        sketches[ROW_BY_ROW] = in_tree([learnt_row_by_row(shard) for shard in shards])
    alphas = {name: sketch.alpha for name, sketch in sketches.items()}
    alphas[AVERAGED] = np.average([adaboost_weights(shard) for shard in shards], axis=0, weights=sizes)
    found = {name: approximation_error(exact, alphas[name]) for name in METHODS if name in alphas}
    return found, {"allowed": memory, **{name: sketch.nbytes for name, sketch in sketches.items()}}


# What is measured -----------------------------------------------------------------------------------------


def columns_cells(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Settings of every cell of columns."""
    rows = 500 if given.quick else ROWS
    sizes = HYPOTHESES[:2] if given.quick else HYPOTHESES
    return [
        {"part": "columns", "shards": n, "hypotheses": J, "kind": kind, "rows": n * rows, "seed": seed}
        for n in SHARDS
        for J in sizes
        for kind in (*SHIFTS, SORTED)
        for seed in range(given.seeds)
    ]


def streams_cells(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Settings of every cell of real streams."""
    sizes = HYPOTHESES[:1] if given.quick else HYPOTHESES
    folders = Folders(given.data)
    return [
        {"part": "streams", "shards": STREAM_SHARDS, "hypotheses": J, "kind": f"{name}, {order}", "seed": 0}
        for name in ("elec2", "flights")
        if folders.has(STREAMS[name].file)
        for J in sizes
        for order in ("in its order", SORTED)
    ]


class Streams:
    """Margins of stumps on real streams, with their labels; the last ones are kept."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._given = given
        self._kept: tuple[Any, Any] | None = None

    def margins(self, kind: str, J: int) -> np.ndarray:
        """Those of a cell."""
        name, _, order = kind.partition(", ")
        if self._kept is None or self._kept[0] != (name, J):
            self._kept = (name, J), self._learnt(name, J)
        margins, y = self._kept[1]
        return margins[np.argsort(y, kind="stable")] if order == SORTED else margins

    def _learnt(self, name: str, J: int) -> tuple[np.ndarray, np.ndarray]:
        stream = STREAMS[name]
        if self._given.data is None:
            raise MissingDataError(f"{stream.file} is needed")
        table = stream.read(self._given.data, 8_000 if self._given.quick else None)
        y = np.where(table.y == table.classes[0], 1, -1).astype(np.int8)
        first = slice(0, stream.start)
        found = StumpLearner().learn(table.X[first], y[first], n_hypotheses=J)
        return np.ascontiguousarray(found.answers(table.X) * y[:, None], dtype=np.int8), y


def measured(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Every cell, with its errors."""
    cells = [
        cell
        for part, make in (("columns", columns_cells), ("streams", streams_cells))
        if part in given.only
        for cell in make(given)
    ]
    streams = Streams(given)
    with bar(len(cells)) as advance:
        for cell in cells:
            begun = time.perf_counter()
            J, n = cell["hypotheses"], cell["shards"]
            if cell["part"] == "columns":
                margins = shards_of_columns(cell["seed"], J, n, cell["rows"] // n, cell["kind"])
            else:
                margins = streams.margins(cell["kind"], J)
                cell["hypotheses"], cell["rows"] = margins.shape[1], len(margins)
            sizes = [len(part) for part in np.array_split(np.empty(len(margins), np.int8), n)]
            cell["errors"], cell["bytes"] = errors(margins, sizes)
            cell["seconds"] = round(time.perf_counter() - begun, 1)
            advance(f"{n} shards, J = {J}, {cell['kind']}")
    return cells


# What is shown --------------------------------------------------------------------------------------------


@contextmanager
def bar(total: int) -> Iterator[Any]:
    """A progress bar on stderr if that is a terminal; gives what advances it by one."""
    if not sys.stderr.isatty():
        yield lambda what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda what: progress.update(task, advance=1, description=what)


def summary(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cells of all seeds together: mean, least and greatest error of each method."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for cell in cells:
        key = tuple(cell[name] for name in ("part", "shards", "hypotheses", "kind", "rows"))
        groups.setdefault(key, []).append(cell)
    return [
        {
            **dict(zip(("part", "shards", "hypotheses", "kind", "rows"), key, strict=True)),
            "seeds": [cell["seed"] for cell in group],
            "bytes": group[0]["bytes"],
            "errors": {name: spread([cell["errors"][name] for cell in group]) for name in group[0]["errors"]},
        }
        for key, group in groups.items()
    ]


def shown(errors: dict[str, Any] | None) -> str:
    """The mean as a cell of a table."""
    if errors is None:
        return ""
    return "0" if errors["mean"] < ROUNDING else number(errors["mean"])


def show(groups: list[dict[str, Any]]) -> None:
    """Tables in Markdown, as the documentation has them."""
    for part, title in (("columns", "independent columns"), ("streams", "real streams")):
        found = [group for group in groups if group["part"] == part]
        if not found:
            continue
        seeds = len(found[0]["seeds"])
        print(
            f"\nError to AdaBoost on the union: {title}" + (f", mean of {seeds} seeds" if seeds > 1 else "")
        )
        print(f"\n| shards | J | shards are | kB | {' | '.join(METHODS)} |")
        print("| --- | --- | --- | --- |" + " --- |" * len(METHODS))
        for group in found:
            values = " | ".join(shown(group["errors"].get(name)) for name in METHODS)
            size = f"{group['bytes']['allowed'] / 1e3:,.0f}"
            where = f"{group['shards']} × {group['rows'] // group['shards']:,}"
            print(f"| {where} | {group['hypotheses']} | {group['kind']} | {size} | {values} |")


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="smaller throughout")
    folder = os.environ.get("OCBOOST_DATA")
    parser.add_argument("--data", type=Path, default=Path(folder) if folder else None, help="holds streams/")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--seeds", type=int, help="of the columns (default: 3, or 1 with --quick)")
    parser.add_argument("--out", type=Path, help=f"the JSON file (default: {OUT})")
    given = parser.parse_args(words)
    given.only = given.only.split(",")
    for name in given.only:
        if name not in PARTS:
            parser.error(f"--only must name some of {', '.join(PARTS)}; got {name!r}")
    given.seeds = (1 if given.quick else 3) if given.seeds is None else given.seeds
    if given.seeds < 1:
        parser.error(f"--seeds must be at least 1; got {given.seeds}")
    if given.out is None and not given.quick:
        given.out = OUT
    return given


def main(words: Sequence[str] | None = None) -> int:
    """Run it; 1 if nothing was measured, 2 if the results cannot be written, 130 on Ctrl-C."""
    given = arguments(words)
    try:
        if given.out is None:
            groups = summary(measured(given))
            show(groups)
            return 0 if groups else 1
        with OutputFolder(given.out.parent, [given.out.name]) as folder:
            groups = summary(measured(given))
            if not groups:
                print("Nothing was measured, so nothing is written.")
                return 1
            show(groups)
            record = {
                "versions": versions("scikit-learn", "dask"),
                "exact": "AdaBoost on the union, error 0",
                "cells": groups,
            }
            for path in folder.write({given.out.name: to_json(record)}):
                print(f"\nWritten: {path}")
    except (ocboost.InputError, OSError) as error:
        print(f"merging: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("merging: interrupted; no result was written.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
