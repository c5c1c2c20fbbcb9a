"""A model for each key: River's in a dict, and scikit-learn's `SGDClassifier` pickled in SQLite.

Every key begins with a copy of one model that has learnt some rows, so that ten thousand of them are there at
once. Each function gives a way to prepare rows, which returns what is to be timed, and one that says what the
models take.
"""

import pickle
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier

TITLES = {
    "river, logistic": "River: LogisticRegression, scaled",
    "river, tree": "River: HoeffdingTreeClassifier",
    "sqlite, SGD": "SQLite: SGDClassifier, pickled",
}
SHARE = {"river, logistic": 4, "river, tree": 4, "sqlite, SGD": 10}  # they get one of so many rows: slow

Prepare = Callable[[list[str], np.ndarray, np.ndarray, int], Callable[[], object]]
Facts = Callable[[], dict[str, Any]]


def status_bytes(name: str) -> int:
    """Memory of this process: ``VmHWM`` is the most that it ever had, ``RssAnon`` what is of no file."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return 1024 * int(lines[name].split()[0])


@contextmanager
def models_by_key(
    kind: str, keys: list[str], X: np.ndarray, y: np.ndarray, folder: Path
) -> Iterator[tuple[Prepare, Facts]]:
    """A model for each of the keys, of one of the kinds, that has learnt these rows."""
    with (_pickled if kind == "sqlite, SGD" else _in_memory)(kind, keys, X, y, folder) as found:
        yield found


@contextmanager
def _in_memory(
    kind: str, keys: list[str], X: np.ndarray, y: np.ndarray, folder: Path
) -> Iterator[tuple[Prepare, Facts]]:
    from river import compose, linear_model, preprocessing, tree

    first: Any = tree.HoeffdingTreeClassifier()
    if kind == "river, logistic":
        first = compose.Pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression())
    for row, label in zip(_named(X), y.tolist(), strict=True):
        first.learn_one(row, label)
    data, before = pickle.dumps(first), status_bytes("RssAnon")
    models = {key: pickle.loads(data) for key in keys}
    taken = status_bytes("RssAnon") - before

    def prepare(keys: list[str], X: np.ndarray, y: np.ndarray, batch: int) -> Callable[[], object]:
        rows, labels = _named(X), y.tolist()

        def learn() -> None:
            for key, row, label in zip(keys, rows, labels, strict=True):
                model = models[key]
                model.predict_one(row)
                model.learn_one(row, label)

        return learn

    yield prepare, lambda: {"stored_keys": len(keys), "disk_bytes": 0, "bytes_a_key": taken / len(keys)}


def _named(X: np.ndarray) -> list[dict[int, float]]:
    """Rows as River takes them."""
    return [dict(enumerate(row)) for row in X.tolist()]


@contextmanager
def _pickled(
    kind: str, keys: list[str], X: np.ndarray, y: np.ndarray, folder: Path
) -> Iterator[tuple[Prepare, Facts]]:
    """Read, predict, learn, write back; a batch is a transaction, durable when it ends, as LMDB's."""
    data = pickle.dumps(SGDClassifier(loss="log_loss", random_state=0).partial_fit(X, y, classes=[0, 1]))
    path, n = folder / "models.sqlite", len(keys)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("CREATE TABLE models (key TEXT PRIMARY KEY, model BLOB)")
        db.execute("BEGIN")
        db.executemany("INSERT INTO models VALUES (?, ?)", ((key, data) for key in keys))
        db.execute("COMMIT")

        def learn_one(key: str, row: np.ndarray, label: np.ndarray) -> None:
            (found,) = db.execute("SELECT model FROM models WHERE key = ?", (key,)).fetchone()
            model = pickle.loads(found)
            model.predict(row)
            model.partial_fit(row, label)
            db.execute("UPDATE models SET model = ? WHERE key = ?", (pickle.dumps(model), key))

        def prepare(keys: list[str], X: np.ndarray, y: np.ndarray, batch: int) -> Callable[[], object]:
            def learn() -> None:
                for start in range(0, len(keys), batch):
                    db.execute("BEGIN IMMEDIATE")
                    for i in range(start, min(len(keys), start + batch)):
                        learn_one(keys[i], X[i : i + 1], y[i : i + 1])
                    db.execute("COMMIT")

            return learn

        def facts() -> dict[str, Any]:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            size = path.stat().st_size
            sizes = {"record_bytes": len(data), "disk_bytes": size, "bytes_a_key": size / n}
            return {"stored_keys": n} | sizes

        yield prepare, facts
