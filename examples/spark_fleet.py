"""A fleet on Spark: every key's state in the state store, learnt where the key's rows are.

    python examples/spark_fleet.py FOLDER [--files N] [--rows N] [--keys N]

Draws a stream of many keys as files in FOLDER, out of order and some rows twice, and lets Structured
Streaming learn it, a file in a micro-batch. Killed at any moment, the same line goes on from the checkpoint.
At the end every state and every prediction is compared with those of one process that nobody disturbed.
`FleetProcessor` and `predictions` are all that a program of one's own needs.

It needs Java 17 or later, and: pip install 'ocboost[fleet,streams]' 'pyspark[sql]>=4' protobuf
"""

# %% What a program of one's own needs
import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ocboost import OCBClassifier
from ocboost.fleet import Fleet, KeyLearner, snapshot

try:
    import pandas as pd
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StatefulProcessor
except ImportError:
    StatefulProcessor = object

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
STATE = "model STRING, last LONG, record BINARY"  # of a key
PREDICTION = "key STRING, sequence LONG, label LONG, predicted LONG"


class FleetProcessor(StatefulProcessor):
    """Learns each key's rows by what all keys share, which does not change during a run.

    A key's state is its record, the sequence number of its last row, and the id of its model.
    """

    def __init__(self, shared: bytes, features: list[str]) -> None:
        self.shared, self.features = shared, features

    def init(self, handle: Any) -> None:
        """Called for each task."""
        self.learner = KeyLearner(self.shared)
        self.state = handle.getValueState("key", STATE)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Learn the rows of a micro-batch that are new, in the order of their numbers: Spark keeps none."""
        table = pd.concat(rows, ignore_index=True)
        model, last, record = self.state.get() or (self.learner.model_id, None, None)
        if model != self.learner.model_id:
            raise ValueError("the checkpoint is of another model or window; give it, or another checkpoint")
        X, y, numbers = (
            table[self.features].to_numpy(),
            table["label"].to_numpy(),
            table["sequence"].to_numpy(),
        )
        found = self.learner.learn(key[0], X, y, numbers, record=record, last=last)
        if len(found.rows):
            self.state.update((model, found.last, found.record))
            new = {"label": y[found.rows], "predicted": found.predicted}
            yield pd.DataFrame({"key": key[0], "sequence": numbers[found.rows], **new})

    def close(self) -> None:
        """Nothing is open."""


def predictions(stream: Any, shared: bytes, features: list[str]) -> Any:
    """What was predicted of each row of a streaming table before it was learnt.

    The stream has the columns key, sequence, label and the features. The numbers of a key grow from one
    micro-batch to the next; within one they come in any order, and a row may come again at any time.
    """
    processor = FleetProcessor(shared, features)
    return stream.groupBy("key").transformWithStateInPandas(processor, PREDICTION, "Append", "None")


# %% A run
FEATURES = [f"x{i}" for i in range(8)]
COLUMNS = ", ".join(["key STRING", "sequence LONG", "label LONG", *(f"{name} DOUBLE" for name in FEATURES)])
AGAIN = 50  # rows of each file that come again in the next


def draw(number: int, n: int, n_keys: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys, features and labels of some rows; every key weighs the features in its own way."""
    rng = np.random.default_rng([7, number])
    keys, X = rng.integers(n_keys, size=n), rng.normal(size=(n, len(FEATURES))).round(3)
    own = np.random.default_rng(7).normal(size=(n_keys, len(FEATURES)))
    score = X[:, :3].sum(axis=1) + (X * own[keys]).sum(axis=1) + 0.3 * rng.normal(size=n)
    return keys, X, (score > 0).astype(int)


def prepare(folder: Path, files: int, n: int, n_keys: int) -> bytes:
    """Write the stream's files, and a snapshot of a fleet that has learnt other rows; once in a folder."""
    if not (folder / "snapshot").exists():
        _, X, y = draw(0, 2_000, n_keys)
        model = OCBClassifier(n_hypotheses=60, random_state=0).fit(X, y)
        keys, X, y = draw(1, 20_000, n_keys)
        few = keys < max(10, n_keys // 20)  # a sample of the keys is enough
        with Fleet(model, store=folder / "sample") as fleet:
            fleet.learn(keys[few], X[few], y[few], source="sample", offset=0)
            shared = snapshot(fleet)
        rows, before = 0, None
        (folder / "stream").mkdir(exist_ok=True)
        for number in range(files):
            keys, X, y = draw(2 + number, n, n_keys)
            table = pd.DataFrame(X, columns=FEATURES)
            table.insert(0, "key", [f"key {key}" for key in keys])
            table.insert(1, "sequence", np.arange(rows, rows + n))  # with gaps within a key
            table.insert(2, "label", y)
            rows, both = rows + n, pd.concat([before, table])
            before = table.tail(AGAIN)
            both.sample(frac=1, random_state=number).to_parquet(folder / "stream" / f"{number:05}.parquet")
        (folder / "snapshot.new").write_bytes(shared)
        (folder / "snapshot.new").rename(folder / "snapshot")
    return (folder / "snapshot").read_bytes()


def undisturbed(folder: Path, shared: bytes) -> tuple[dict[str, tuple[int, bytes]], Any]:
    """The state of each key, and all predictions, by one process that takes all rows at once."""
    learner, states, found = KeyLearner(shared), {}, []
    table = pd.read_parquet(folder / "stream")
    for key, rows in table.groupby("key"):
        learnt = learner.learn(key, rows[FEATURES].to_numpy(), rows["label"], rows["sequence"])
        states[key] = learnt.last, learnt.record
        found.append(rows.iloc[learnt.rows].assign(predicted=learnt.predicted))
    columns = ["key", "sequence", "label", "predicted"]
    return states, pd.concat(found)[columns].sort_values("sequence", ignore_index=True)


def main() -> int:
    """Run the stream to its end, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="for everything; the same one to go on")
    parser.add_argument("--files", type=int, default=6)
    parser.add_argument("--rows", type=int, default=2_000, help="in a file")
    parser.add_argument("--keys", type=int, default=100)
    given = parser.parse_args()
    if StatefulProcessor is object:
        print("spark_fleet: it needs pyspark: pip install 'pyspark[sql]>=4' protobuf", file=sys.stderr)
        return 1
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the workers' Python
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    shared = prepare(folder, given.files, given.rows, given.keys)
    spark = (
        SparkSession.builder.master("local[2,4]")  # two threads, four attempts at a task
        .appName("fleet")
        .config("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        .config("spark.sql.shuffle.partitions", 2)  # stays as it is in the checkpoint
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    stream = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(str(folder / "stream"))
    start = time.perf_counter()
    query = (
        predictions(stream, shared, FEATURES)
        .writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "predictions"))
    )
    query.awaitTermination()
    n = sum(progress["numInputRows"] for progress in query.recentProgress)
    print(f"{n:,} rows in {time.perf_counter() - start:.1f} s")
    found = spark.read.parquet(str(folder / "predictions")).toPandas()
    held = spark.read.format("statestore").option("stateVarName", "key").load(str(folder / "checkpoint"))
    states = {
        row.key.key: (row.value.last, bytes(row.value.record))
        for row in held.select("key", "value").collect()
    }
    spark.stop()
    expected_states, expected = undisturbed(folder, shared)
    found = found.sort_values("sequence", ignore_index=True)
    right = (found["predicted"] == found["label"]).mean()
    print(f"{len(found):,} predictions, each once, {right:.1%} right; {len(states):,} keys")
    same = states == expected_states and found.equals(expected)
    print("the same as undisturbed" if same else "NOT the same as undisturbed")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
