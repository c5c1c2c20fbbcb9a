"""What keeping heavy examples brings: error to AdaBoost in equal bytes, beside keeping the newest.

    python experiments/heavy_head.py [--quick] [--data DIR] [--only PARTS] [--out FILE]

Columns: 400 independent weak columns, right with a chance of 0.5 to 0.65, 200,000 examples, `head="auto"`.
Hard: the same with one example of weight 10⁶, one repeated example, and a stream sorted by class.
Streams: stumps learnt on the first 2,000 rows of real streams, then all rows, in so many bytes; the newest
at several orders, as far as they fit. Shards: eight sketches of 20,000 examples that differ, merged.
Faces: 1,520 box filters, found as in `ocboost reproduce faces`, over windows in several permutations.
Tables go to stdout, everything measured to a JSON file. `--quick` is smaller throughout, to see that it runs.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from parts.common import independent_columns, progress

from ocboost import BoostingSketch, OzaRussell, adaboost_weights, approximation_error
from ocboost.datasets import load_faces
from ocboost.datasets.stream_files import read_table
from ocboost.errors import InputError
from ocboost.learners import BoxLearner, StumpLearner
from ocboost.reproduce.faces import FacesSettings

OUT = Path(__file__).parent / "results" / "heavy_head.json"
BATCH = 64
STREAMS: dict[str, tuple[str, str, tuple[str, ...]]] = {  # file, label, columns to leave out
    "elec2": ("streams/elec2.csv.gz", "up", ("date",)),
    "insects": ("streams/insects_gradual_balanced.csv.gz", "species", ()),
    "flights": ("streams/nycflights13.csv.gz", "late15", ("arr_delay",)),
}
ORDERS = (None, 64, 16, 1)
FORGETTING = (1.0, 0.9995)
ROOMS = {60: (25_000, 50_000, 250_000), 200: (250_000, 500_000, 1_000_000)}  # stumps, and bytes


def run(
    sketch: BoostingSketch,
    margins: np.ndarray,
    checkpoints: list[int],
    weight: np.ndarray | None = None,
    exact: dict[int, np.ndarray] | None = None,
) -> tuple[list[float], float, int]:
    """Errors at the checkpoints, microseconds an example without reading, and bytes at the end."""
    exact = {} if exact is None else exact
    errors, spent, done = [], 0.0, 0
    for n in checkpoints:
        part = slice(done, n)
        start = time.perf_counter()
        w = None if weight is None else weight[part]
        sketch.update_many(margins[part], batch_size=min(BATCH, sketch.head), sample_weight=w)
        spent += time.perf_counter() - start
        done = n
        if n not in exact:
            w = np.ones(n) if weight is None else weight[:n]
            w = w * sketch.forgetting ** np.arange(n - 1, -1, -1.0)
            exact[n] = adaboost_weights(margins[:n], sample_weight=w)
        errors.append(approximation_error(exact[n], sketch.alpha))
    return errors, 1e6 * spent / done, sketch.nbytes


def show(
    name: str, errors: list[float], cost: float | None = None, size: int | None = None
) -> dict[str, Any]:
    """Print a line of a table, and give what it says as a record."""
    cells = "  ".join(f"{error:9.6f}" for error in errors)
    rest = "" if cost is None or size is None else f"   {cost:7.1f} µs  {size / 1e3:9.1f} kB"
    print(f"  {name:34s} {cells}{rest}", flush=True)
    return {"name": name, "errors": errors, "microseconds": cost, "bytes": size}


def columns(quick: bool, data: Path | None) -> Iterator[dict[str, Any]]:
    """Cold start on 400 independent columns."""
    J, n, seeds = (100, 20_000, 1) if quick else (400, 200_000, 5)
    print(f"{J} independent columns, {n:,} examples: error after a quarter, a half and all")
    means: dict[str, list[list[float]]] = {"newest": [], "heavy": []}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        margins = independent_columns(rng, n, rng.uniform(0.5, 0.65, J))
        exact: dict[int, np.ndarray] = {}
        for keep, errors in means.items():
            progress(f"columns, seed {seed}, {keep}")
            sketch = BoostingSketch(J, head="auto", keep=keep)
            found = run(sketch, margins, [n // 4, n // 2, n], exact=exact)
            errors.append(found[0])
            yield show(f"{keep}, seed {seed}", *found)
    for keep, errors in means.items():
        yield show(f"{keep}, mean", np.mean(errors, axis=0).tolist())


def hard(quick: bool, data: Path | None) -> Iterator[dict[str, Any]]:
    """Hard inputs: what no head is made for."""
    J, n = (50, 10_000) if quick else (200, 60_000)
    rng = np.random.default_rng(0)
    margins = independent_columns(rng, n, rng.uniform(0.5, 0.65, J))
    heavy_weight = np.ones(n)
    heavy_weight[n // 3] = 1e6
    repeated = margins.copy()
    repeated[rng.random(n) < 0.5] = margins[0]
    by_class = np.concatenate([margins[: n // 2], independent_columns(rng, n // 2, rng.uniform(0.4, 0.7, J))])
    for name, rows, weight in (
        ("an outlier of weight 1e6", margins, heavy_weight),
        ("half of them one example", repeated, None),
        ("two classes, one after the other", by_class, None),
    ):
        print(f"{name}: {J} columns, {n:,} examples")
        exact: dict[int, np.ndarray] = {}
        for keep in ("newest", "heavy"):
            sketch = BoostingSketch(J, head="auto", keep=keep)
            yield show(f"{keep}", *run(sketch, rows, [n // 4, n // 2, n], weight, exact)) | {"input": name}


def margins_of(path: Path, label: str, drop: tuple[str, ...], J: int, rows: int | None) -> np.ndarray:
    """Margins of stumps learnt on the first 2,000 rows; of several classes the lower half is one."""
    table = read_table(path, label, drop=drop, rows=rows)
    known = np.unique(table.y)
    y = np.where(np.isin(table.y, known[: len(known) // 2]), 1, -1).astype(np.int8)
    stumps = StumpLearner().learn(table.X[:2000], y[:2000], n_hypotheses=J)
    return np.ascontiguousarray(stumps.answers(table.X) * y[:, None], dtype=np.int8)


def streams(quick: bool, data: Path | None) -> Iterator[dict[str, Any]]:
    """Real streams that drift, in equal bytes."""
    rooms = {60: (50_000,)} if quick else ROOMS
    for (name, (file, label, drop)), (most, sizes) in product(STREAMS.items(), rooms.items()):
        if data is None or not (data / file).is_file():
            print(f"{name} is skipped: {file} is not there. Say where it is with --data or OCBOOST_DATA")
            continue
        margins = margins_of(data / file, label, drop, most, 8_000 if quick else 60_000)
        n, J = margins.shape
        exact: dict[float, dict[int, np.ndarray]] = {forgetting: {} for forgetting in FORGETTING}
        for memory, forgetting in product(sizes, FORGETTING):
            print(f"{name}: {J} stumps, {n:,} rows, {memory // 1000} kB, forgetting {forgetting}")
            for keep, order in [*(("newest", order) for order in ORDERS), ("heavy", None)]:
                if order is not None and order >= J:
                    continue
                try:
                    sketch = BoostingSketch(J, memory=memory, keep=keep, order=order, forgetting=forgetting)
                except InputError:
                    continue  # the sums do not fit
                title = f"{keep}, order {order or J}" if keep == "newest" else keep
                found = run(sketch, margins, [n // 4, n // 2, n], exact=exact[forgetting])
                setting = {"stream": name, "stumps": J, "memory": memory, "forgetting": forgetting}
                yield show(title, *found) | setting


def shards(quick: bool, data: Path | None) -> Iterator[dict[str, Any]]:
    """Sketches of streams that differ, merged one after the other."""
    J, n, k = (50, 3_000, 4) if quick else (400, 20_000, 8)
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 0.65, J)
    parts = [independent_columns(rng, n, p + rng.uniform(-0.1, 0.1, J)) for _ in range(k)]
    exact = adaboost_weights(np.concatenate(parts))
    print(f"{k} shards of {n:,}, {J} columns that differ by up to 0.1")
    for keep in ("newest", "heavy"):
        sketches = []
        for part in parts:
            sketches.append(BoostingSketch(J, head="auto", keep=keep))
            sketches[-1].update_many(part, batch_size=BATCH)
        start = time.perf_counter()
        whole = sketches[0]
        for sketch in sketches[1:]:
            whole = whole + sketch
        spent = 1e6 * (time.perf_counter() - start) / (k - 1)
        yield show(
            f"{keep}, merged (µs a merge)", [approximation_error(exact, whole.alpha)], spent, whole.nbytes
        )
        average = np.mean([sketch.alpha for sketch in sketches], axis=0)
        yield show(f"{keep}, averaged", [approximation_error(exact, average)])


def faces(quick: bool, data: Path | None) -> Iterator[dict[str, Any]]:
    """Windows that boosting separates: small heads early, large ones to the end."""
    if quick or data is None or not (data / "faces").is_dir():
        print("faces is skipped: it takes minutes, and needs --data with faces/")
        return
    images, settings = load_faces(data), FacesSettings()
    learner = BoxLearner(n_sample=settings.n_sample, n_filters=settings.n_filters)
    X = images.train_X.reshape(len(images.train_X), -1)
    boxes = learner.learn(
        X, images.train_y, n_hypotheses=settings.n_hypotheses, rng=np.random.default_rng([settings.seed, 0])
    )
    rows = boxes.answers(X) * images.train_y[:, None]
    J, n = rows.shape[1], len(rows)
    for seed in range(1, 6):
        margins = np.ascontiguousarray(rows[np.random.default_rng(seed).permutation(n)], dtype=np.int8)
        exact: dict[int, np.ndarray] = {}
        print(f"faces, permutation {seed}: {J} filters; error after 10,000 windows, then 100,000")
        for name, options in (("head of 500", {"head": 500}), ("4 MB", {"memory": 4_000_000})):
            ends = [10_000] if "head" in options or seed > 1 else [10_000, n]
            sketch = BoostingSketch(J, keep="heavy", **options)
            yield show(f"heavy, {name}", *run(sketch, margins, ends, exact=exact)) | {"permutation": seed}
        if seed == 1:
            sketch = BoostingSketch(J, head=20_000, keep="heavy")
            found = run(sketch, margins, [10_000, n], exact=exact)
            yield show("heavy, head of 20,000", *found) | {"permutation": seed}
        oza = OzaRussell(J)
        oza.update_many(margins[:10_000])
        yield show("Oza and Russell", [approximation_error(exact[10_000], oza.alpha)]) | {"permutation": seed}


PARTS: dict[str, Callable[[bool, Path | None], Iterator[dict[str, Any]]]] = {
    "columns": columns,
    "hard": hard,
    "streams": streams,
    "shards": shards,
    "faces": faces,
}


def main() -> None:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="smaller throughout")
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"), help="holds streams/")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--out", type=Path, default=OUT, help="where everything measured goes")
    options = parser.parse_args()
    data = Path(options.data) if options.data else None
    record = {}
    for name in options.only.split(","):
        if name not in PARTS:
            parser.error(f"--only must name some of {', '.join(PARTS)}; got {name!r}")
        record[name] = list(PARTS[name](options.quick, data))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(record, indent=1, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
