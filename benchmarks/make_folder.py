"""A folder of Parquet or CSV files for benchmarks, as large as you like, from a seed.

python benchmarks/make_folder.py --rows 10_000_000 --features 50 --files 10 --out DIR

Two classes. The log odds are known: a sum of steps, waves and one interaction of a fifth of the features. The
others say nothing, or repeat an informative one with noise. Some columns are heavy-tailed, some have few
values, some are mostly zero, and every fourth lacks 5 % of its values. The rows depend on the seed and the
number of columns, not on how many files hold them. `_about.json` beside the files has the settings, and how
often the best possible classifier is right.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray
from rich.progress import Progress

DRAWN = 1 << 16  # rows drawn at once, each block from a seed of its own
MISSING = 0.05
LETTERS = np.array([f"level {letter}" for letter in "abcdefghijkl"])


@dataclass(frozen=True)
class Settings:
    """What is written."""

    rows: int
    features: int = 50
    files: int = 10
    categories: int = 0
    float32: bool = False
    format: str = "parquet"
    seed: int = 0
    # Rows of a row group: pyarrow's own choice by default. Memory is that of one row group.
    row_group: int = 1 << 20

    @property
    def informative(self) -> int:
        """How many features the label depends on; they are the first ones."""
        return max(1, self.features // 5)


def draw(settings: Settings, block: int) -> tuple[dict[str, NDArray[Any]], NDArray[np.float64]]:
    """A block of rows, column by column, and the chance of class 1 of each."""
    rng = np.random.default_rng([settings.seed, settings.features, settings.categories, block])
    n, informative = DRAWN, settings.informative
    columns: dict[str, NDArray[Any]] = {}
    signals: list[NDArray[np.float64]] = []
    log_odds = np.zeros(n)
    for j in range(settings.features):
        if j >= informative and j % 5 == 4:  # an informative one again, with noise
            values = signals[j % informative] + rng.normal(0.0, 1.0, n)
        else:
            values = _values(rng, j, n)
        if j % 4 == 3:
            values[rng.random(n) < MISSING] = np.nan
        if settings.float32:
            values = values.astype(np.float32).astype(np.float64)
        known = np.nan_to_num(values)
        if j < informative:
            signals.append(known)
            log_odds += _effect(j, known)
        columns[f"x{j}"] = values.astype(np.float32) if settings.float32 else values
    if informative > 1:
        log_odds += np.where((signals[0] > 0) ^ (signals[1] > 0.5), 0.8, -0.8)
    for k in range(settings.categories):
        chances = 0.75 ** np.arange(len(LETTERS))
        codes = rng.choice(len(LETTERS), n, p=chances / chances.sum())
        columns[f"c{k}"] = LETTERS[codes]
        if k == 0:
            log_odds += 0.7 * np.cos(codes)
    chance = 1.0 / (1.0 + np.exp(-log_odds))
    columns["y"] = (rng.random(n) < chance).astype(np.int64)
    return columns, chance


def _values(rng: np.random.Generator, j: int, n: int) -> NDArray[np.float64]:
    """The values of feature j: normal, heavy-tailed, of few values, or mostly zero."""
    if j % 8 == 2:
        return rng.lognormal(0.0, 1.5, n)
    if j % 8 == 5:
        return rng.integers(0, 3 + j % 11, n).astype(np.float64)
    if j % 8 == 6:
        return np.where(rng.random(n) < 0.9, 0.0, rng.exponential(2.0, n))
    return rng.normal(0.0, 1.0 + j % 3, n)


def _effect(j: int, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """What feature j adds to the log odds: a step, a wave or a band."""
    strength = 1.2 / math.sqrt(1 + j)
    if j % 3 == 0:
        return np.where(values > 0.3, strength, -strength)
    if j % 3 == 1:
        return strength * np.sin(2.0 * values)
    return np.where(np.abs(values - 1.0) < 0.7, strength, -strength)


def tables(settings: Settings, start: int, stop: int, sums: NDArray[np.float64]) -> Iterator[pa.Table]:
    """The rows of a file, one row group at a time; adds the chances of the best classifier to ``sums``."""
    for first in range(start, stop, settings.row_group):
        end = min(first + settings.row_group, stop)
        parts = []
        for block in range(first // DRAWN, -(-end // DRAWN)):
            columns, chance = draw(settings, block)
            part = slice(max(first - block * DRAWN, 0), min(end - block * DRAWN, DRAWN))
            parts.append(pa.table({name: _null_for_nan(values[part]) for name, values in columns.items()}))
            p = np.clip(chance[part], 1e-12, 1 - 1e-12)
            sums += [np.maximum(p, 1 - p).sum(), -(p * np.log(p) + (1 - p) * np.log(1 - p)).sum(), p.sum()]
        yield pa.concat_tables(parts)


def make_folder(out: Path, settings: Settings, show: Callable[[int], None] = lambda rows: None) -> None:
    """Write the files; ``show`` hears after each row group how many rows it has. Memory: one row group."""
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise SystemExit(f"{out} must be an empty folder; it holds files. Give another --out.")
    ends = np.linspace(0, settings.rows, settings.files + 1).astype(int).tolist()
    sums = np.zeros(3)
    for number, (start, stop) in enumerate(pairwise(ends)):
        path = out / f"part-{number}.{settings.format}"
        unfinished = path.with_name(f"_{path.name}")  # passed over, should this be interrupted
        writer: Any = None
        for table in tables(settings, start, stop, sums):
            if writer is None:
                makes = pq.ParquetWriter if settings.format == "parquet" else pa.csv.CSVWriter
                writer = makes(unfinished, table.schema)
            writer.write_table(table, settings.row_group)
            show(table.num_rows)
        if writer is not None:
            writer.close()
            unfinished.rename(path)
    accuracy, log_loss, share = (sums / settings.rows).tolist()
    about = asdict(settings) | {
        "informative": settings.informative,
        "best_accuracy": accuracy,
        "best_log_loss": log_loss,
        "share_of_class_1": share,
    }
    (out / "_about.json").write_text(json.dumps(about, indent=1) + "\n")


def _null_for_nan(values: NDArray[Any]) -> pa.Array:
    """A column of Arrow: a missing number is null, an empty field in CSV."""
    return pa.array(values, from_pandas=True)


def main() -> None:
    """Read the options and write the folder."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--categories", type=int, default=0, help="columns of texts, the first informative")
    parser.add_argument("--float32", action="store_true")
    parser.add_argument("--format", choices=("parquet", "csv"), default="parquet")
    parser.add_argument("--row-group", type=int, default=1 << 20, help="rows of a row group of Parquet")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    given = vars(parser.parse_args())
    out = given.pop("out")
    settings = Settings(**given)
    if min(settings.rows, settings.features, settings.files, settings.row_group) < 1:
        parser.error("--rows, --features, --files and --row-group must be at least 1.")
    with Progress(transient=True) as bar:
        task = bar.add_task(f"{settings.files} files", total=settings.rows)
        make_folder(out, settings, lambda rows: bar.advance(task, rows))
    size = sum(path.stat().st_size for path in out.iterdir())
    print(f"{settings.rows:,} rows in {settings.files} files, {size / 1e9:.2f} GB, in {out}")
    print((out / "_about.json").read_text(), end="")


if __name__ == "__main__":
    main()
