"""Stumps on real streams that drift, in equal bytes; and the cells where keeping heavy examples gains least.

The newest gets the best of several orders in hindsight, cell by cell, where they fit. It also competes with
sums narrower than its real ones: with the head that would fit if a sum took 4 bytes instead of 8, and if a
pair (two sums) took 4 bytes, as heavy's pairs do.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

from ocboost import BoostingSketch

from .heavy_common import Exact, run, show
from .heavy_margins import STREAMS, Folders, stumps

ORDERS = (None, 64, 16, 1)
FORGETTING = (1.0, 0.9995)
STUMPS = (60, 200, 350)
SIZES = (250_000, 1_000_000, 4_000_000)
FEW_STUMPS, LITTLE_MEMORY = 60, 50_000  # where there is least to gain
PAIR_BYTES = {"newest": 16, "newest, 4-byte sums": 8, "newest, 4-byte pairs": 4}
AT = ("quarter", "half", "end")
MIN_DIFFERENCE = 1e-4  # smaller differences of error do not count
MAX_RATIO = 1.1


def newest_head(J: int, order: int, memory: int, pair_bytes: int) -> int:
    """How many examples fit beside the sums; an example takes J bits, a weight and its unit."""
    sums = sum(min(j, order) + 1 for j in range(J))
    return 8 * (memory - pair_bytes * sums) // (J + 96)


def measure(quick: bool, folders: Folders) -> Iterator[dict[str, Any]]:
    """Every stream, number of stumps, memory and forgetting; then the worst cells."""
    cells: list[dict[str, Any]] = []
    settings = [(FEW_STUMPS, (LITTLE_MEMORY,))] if quick else [(J, SIZES) for J in STUMPS]
    settings += [] if quick else [(FEW_STUMPS, (LITTLE_MEMORY,)), (200, (500_000,))]
    for name, (most, sizes) in product(STREAMS, settings):
        if not folders.has(STREAMS[name].file):
            continue
        margins = stumps(folders, name, most, 8_000 if quick else None)
        n, J = margins.shape
        points = [n // 4, n // 2, n]
        for forgetting in FORGETTING:
            exact = Exact(margins, forgetting=forgetting)
            for memory in sizes:
                print(f"{name}: {J} stumps, {n:,} rows, {memory // 1000} kB, forgetting {forgetting}")
                setting = {"stream": name, "stumps": J, "memory": memory, "forgetting": forgetting}
                best: dict[str, list[float]] = {}
                for (kind, size), order in product(PAIR_BYTES.items(), ORDERS):
                    if (order is not None and order >= J) or (size < 16 and order in (16, 1)):
                        continue
                    head = newest_head(J, order or J, memory, size)
                    if head < 1:
                        continue
                    sketch = BoostingSketch(J, head=head, keep="newest", order=order, forgetting=forgetting)
                    found = run(sketch, exact, points)
                    yield show(f"{kind}, order {order or J}", *found, order=order or J, kind=kind, **setting)
                    best[kind] = [min(pair) for pair in zip(best.get(kind, found[0]), found[0], strict=True)]
                for kind in PAIR_BYTES:  # low orders have hardly any pairs
                    best[kind] = [
                        min(pair) for pair in zip(best["newest"], best.get(kind, best["newest"]), strict=True)
                    ]
                sketch = BoostingSketch(J, memory=memory, keep="heavy", forgetting=forgetting)
                errors = run(sketch, exact, points)
                yield show("heavy", *errors, kind="heavy", **setting)
                for i, at in enumerate(AT):
                    of = {kind: best[kind][i] for kind in PAIR_BYTES}
                    cells.append(setting | {"at": at, "heavy": errors[0][i]} | of)
    yield from worst(
        [cell for cell in cells if cell["memory"] > LITTLE_MEMORY], f"more than {LITTLE_MEMORY:,} bytes"
    )
    yield from worst([cell for cell in cells if cell["memory"] <= LITTLE_MEMORY], f"{LITTLE_MEMORY:,} bytes")


def worst(cells: list[dict[str, Any]], what: str) -> Iterator[dict[str, Any]]:
    """Against each kind of newest: how many cells count, how many are over the limit, and the least wins."""
    for kind in PAIR_BYTES:
        counted = [cell for cell in cells if abs(cell["heavy"] - cell[kind]) >= MIN_DIFFERENCE]
        ratio = {id(cell): cell["heavy"] / max(cell[kind], 1e-300) for cell in counted}
        over = [cell for cell in counted if ratio[id(cell)] > MAX_RATIO]
        wins = sorted(ratio.values())
        middle = wins[len(wins) // 2] if wins else None
        print(
            f"{what}, against {kind}: {len(cells)} cells, {len(counted)} differ by {MIN_DIFFERENCE}; heavy "
            f"is over {MAX_RATIO} times in {len(over)}; the median is {middle} times"
        )
        shown = sorted(counted, key=lambda cell: -ratio[id(cell)])[: max(12, len(over))]
        for cell in shown:
            print(
                f"  {cell['stream']:8s} {cell['stumps']:3d} stumps {cell['memory'] // 1000:5d} kB  λ = "
                f"{cell['forgetting']:<6} {cell['at']:7s} {cell[kind]:.6f}, heavy {cell['heavy']:.6f}: "
                f"{ratio[id(cell)]:.2f} times"
            )
        yield {
            "memory": what,
            "against": kind,
            "cells": len(cells),
            "counted": len(counted),
            "over": over,
            "median": middle,
            "worst": shown,
        }
