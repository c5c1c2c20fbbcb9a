"""Sketches on Spark: one for each partition, in one pass, merged in a tree.

    python examples/spark_merge.py [--rows N] [--partitions N]

Draws margins in partitions that differ, learns a sketch of each where it lies, merges them with
``treeReduce``, and compares the result with AdaBoost on all rows. `sketch_partition` and the two lines in
`spark_sketch` are all that a program of one's own needs.

It needs Java 17 or later, and: pip install ocboost pyspark
"""

# %% What a program of one's own needs
import argparse
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from ocboost import BoostingSketch, adaboost_weights, approximation_error

BLOCK = 10_000  # rows turned into an array at once


def sketch_partition(rows: Iterable[Any], n_hypotheses: int, **settings: Any) -> Iterator[BoostingSketch]:
    """The sketch of one partition's rows of margins, each read once; of no rows it is an empty one."""
    sketch = BoostingSketch(n_hypotheses, **settings)
    rows = iter(rows)
    while block := list(islice(rows, BLOCK)):
        sketch.update_many(np.array(block, np.int8), batch_size=64)
    yield sketch


def spark_sketch(margins: Any, n_hypotheses: int, *, depth: int = 2, **settings: Any) -> BoostingSketch:
    """One sketch of an RDD whose elements are rows of margins, +1 and -1.

    Where three or more meet, Spark may merge them in any order, which changes the last digits. To have the
    same bits every time: ``ocboost.boosters.merge_all(margins.mapPartitions(learn).collect())``.
    """
    learn = partial(sketch_partition, n_hypotheses=n_hypotheses, **settings)
    return margins.mapPartitions(learn).treeReduce(lambda a, b: a.merge(b), depth)


# %% A run
J = 50


def draw(number: int, n: int) -> np.ndarray:
    """The margins of one partition; its chances are its own."""
    rng = np.random.default_rng([7, number])
    p = np.random.default_rng(7).uniform(0.5, 0.65, J) + rng.uniform(-0.05, 0.05, J)
    return np.where(rng.random((n, J)) < p, np.int8(1), np.int8(-1))


def main() -> int:
    """Sketch drawn margins with Spark, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000, help="in a partition")
    parser.add_argument("--partitions", type=int, default=8)
    given = parser.parse_args()
    try:
        from pyspark import SparkContext
    except ImportError:
        print("spark_merge: it needs pyspark; install it with: pip install pyspark", file=sys.stderr)
        return 1
    with SparkContext("local[2]", "merged sketches") as spark:
        spark.setLogLevel("ERROR")
        numbers = spark.parallelize(range(given.partitions), given.partitions)
        margins = numbers.flatMap(lambda number: draw(number, given.rows))  # of one's own: what was read
        sketch = spark_sketch(margins, J, memory=200_000)
    everything = np.concatenate([draw(number, given.rows) for number in range(given.partitions)])
    error = approximation_error(adaboost_weights(everything), sketch.alpha)
    print(f"{sketch.n_seen:,} rows in {given.partitions} partitions; error to AdaBoost {error:.5f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
