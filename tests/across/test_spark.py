"""The recipe for Spark in ``examples/spark_merge.py``: sketches travel between its workers and are merged."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ocboost
from tests.support.makers import independent_columns

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "spark_merge.py"

SPARK = """
import numpy as np
from functools import reduce
from pyspark import SparkConf, SparkContext
from ocboost import BoostingSketch, adaboost_weights, approximation_error
from ocboost.boosters import merge_all
from spark_merge import J, draw, sketch_partition, spark_sketch

SETTINGS = {"memory": 20_000}
conf = SparkConf().setMaster("local[2]").setAppName("test").set("spark.ui.enabled", "false")
with SparkContext(conf=conf) as spark:
    spark.setLogLevel("ERROR")
    numbers = spark.parallelize(range(8), 8)
    margins = numbers.flatMap(lambda number: draw(number, 700) if number != 5 else [])
    there = spark_sketch(margins, J, depth=3, **SETTINGS)  # pairs, then four at the end
    collected = margins.mapPartitions(lambda rows: sketch_partition(rows, J, **SETTINGS)).collect()
shards = [draw(number, 700) if number != 5 else [] for number in range(8)]
local = [next(sketch_partition(shard, J, **SETTINGS)) for shard in shards]
for a, b in zip(local, collected, strict=True):
    assert a.n_seen == b.n_seen and (a.alpha == b.alpha).all()
pairs = [local[i].merge(local[i + 4]) for i in range(4)]
here = reduce(BoostingSketch.merge, pairs)
there.save("there"), here.save("here")
assert open("there", "rb").read() == open("here", "rb").read()
assert there.n_seen == 4900 and there.n_head < 4900
exact = adaboost_weights(np.concatenate([shard for shard in shards if len(shard)]))
assert approximation_error(exact, there.alpha) < 0.02
assert (merge_all(collected[::-1]).alpha == merge_all(local).alpha).all()
print("the same")
"""


def test_spark_merges_as_one_process_does(tmp_path):
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("it needs pyspark: pip install pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17")
    places = [str(EXAMPLE.parent), str(Path(ocboost.__file__).parents[1])]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(places),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, "-c", SPARK],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        env=environment,
    )
    assert "the same" in done.stdout, done.stderr


@pytest.fixture
def recipe():
    if not EXAMPLE.is_file():
        pytest.skip("the examples are not beside the tests")
    spec = importlib.util.spec_from_file_location("spark_merge", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_partition_is_learnt_in_blocks_row_by_row(recipe, monkeypatch):
    margins = independent_columns(np.random.default_rng(0), 500, np.full(6, 0.6))
    expected = ocboost.BoostingSketch(6, head=64)
    expected.update_many(margins)
    monkeypatch.setattr(recipe, "BLOCK", 128)
    (sketch,) = recipe.sketch_partition((tuple(row) for row in margins.tolist()), 6, head=64)
    np.testing.assert_array_equal(sketch.alpha, expected.alpha)
    (empty,) = recipe.sketch_partition([], 6, head=64)
    assert empty.n_seen == 0
    assert empty.merge(sketch).n_seen == 500
