"""Independent weak columns: a cold start, and inputs that no head is made for.

Columns are right with a chance of 0.5 to 0.65. Hard inputs are the same with one example of weight 10⁶, with
one example that is half of the stream, with two kinds of examples one after the other, with labels that come
sorted by class, and what the numerics tests end with: weights of 10³⁰⁰ and 10⁻³⁰⁰ in turn over hypotheses of
which some are always right, always wrong or alike. There AdaBoost's own weights are reached by neither.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ocboost import BoostingSketch

from .common import independent_columns, progress
from .heavy_common import KEEPS, Exact, run, show
from .heavy_margins import Folders, columns


def measure(quick: bool, folders: Folders) -> Iterator[dict[str, Any]]:
    """Cold start on 400 independent columns."""
    J, n, seeds = (100, 20_000, 1) if quick else (400, 200_000, 5)
    print(f"{J} independent columns, {n:,} examples: error after a quarter, a half and all")
    means: dict[str, list[list[float]]] = {keep: [] for keep in KEEPS}
    for seed in range(seeds):
        exact = Exact(columns(J, n, seed))
        for keep, errors in means.items():
            progress(f"columns, seed {seed}, {keep}")
            found = run(BoostingSketch(J, head="auto", keep=keep), exact, [n // 4, n // 2, n])
            errors.append(found[0])
            yield show(f"{keep}, seed {seed}", *found)
    for keep, errors in means.items():
        yield show(f"{keep}, mean", np.mean(errors, axis=0).tolist())


def by_class(rng: np.random.Generator, n: int, J: int) -> np.ndarray:
    """One class after the other: a hypothesis is right on each with a chance of its own, 0.3 to 0.85."""
    chances = rng.uniform(0.3, 0.85, (2, J))
    return np.concatenate([independent_columns(rng, n // 2, chances[k]) for k in range(2)])


def hard_inputs(J: int, n: int) -> Iterator[tuple[str, np.ndarray, np.ndarray | None]]:
    """A name, margins, and weights unless they are one."""
    rng = np.random.default_rng(0)
    margins = independent_columns(rng, n, rng.uniform(0.5, 0.65, J))
    weight = np.ones(n)
    weight[n // 3] = 1e6
    yield "an outlier of weight 1e6", margins, weight
    repeated = margins.copy()
    repeated[rng.random(n) < 0.5] = margins[0]
    yield "half of them one example", repeated, None
    yield "one example, and nothing else", np.repeat(margins[:1], n, axis=0), None
    other = independent_columns(rng, n // 2, rng.uniform(0.4, 0.7, J))
    yield "two kinds, one after the other", np.concatenate([margins[: n // 2], other]), None
    yield "sorted by class", by_class(rng, n, J), None
    extreme = margins.copy()
    heavy = np.arange(n) % 2 == 0
    extreme[:, 0], extreme[:, 1], extreme[:, 2] = 1, -1, extreme[:, 3]
    extreme[:, 4] = np.where(heavy, 1, -1)
    yield "weights of 1e300 and 1e-300", extreme, np.where(heavy, 1e300, 1e-300)


def measure_hard(quick: bool, folders: Folders) -> Iterator[dict[str, Any]]:
    """Hard inputs: whether α stays finite and bounded, and how far it ends from AdaBoost."""
    sizes = [(50, 10_000)] if quick else [(50, 10_000), (200, 60_000), (400, 200_000)]
    for J, n in sizes:
        for name, rows, weight in hard_inputs(J, n):
            print(f"{name}: {J} columns, {n:,} examples")
            exact = Exact(rows, weight)
            bound = 0.5 * np.log1p((np.ones(n) if weight is None else weight).sum())
            for keep in KEEPS:
                sketch = BoostingSketch(J, head="auto", keep=keep)
                found = run(sketch, exact, [n // 4, n // 2, n])
                largest = float(np.abs(sketch.alpha).max())
                if not largest <= bound * (1 + 1e-9):
                    raise AssertionError(f"{name}, {keep}: |α| is {largest}, the bound {bound}")
                yield show(keep, *found, input=name, J=J, n=n, largest_alpha=largest, bound=bound)
