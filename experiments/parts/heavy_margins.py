"""The margins that the studies of heavy examples share: columns, stumps on real streams, MNIST and faces.

Finding balls and box filters takes minutes, so their margins are stored in a folder, if one is given. Empty
it after a change of the learners.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ocboost.datasets import load_faces, load_mnist
from ocboost.datasets.loaders import load_table, load_words
from ocboost.learners import BallLearner, BoxLearner, StumpLearner
from ocboost.paper.faces import FacesSettings
from ocboost.paper.mnist import MnistSettings
from ocboost.streams import Batch

from .common import MissingDataError, independent_columns


@dataclass(frozen=True)
class Stream:
    """A stream's file, its label, columns to leave out, and how many rows the stumps are learnt on."""

    file: str
    label: str
    drop: tuple[str, ...] = ()
    start: int = 2000

    def read(self, data: Path, rows: int | None) -> Batch:
        """Its rows, at most so many."""
        if self.file.endswith(".npz"):
            return load_words(data / self.file, self.label, rows=rows).rows
        return load_table(data / self.file, self.label, drop=self.drop, rows=rows).rows


STREAMS = {
    "elec2": Stream("streams/elec2.csv.gz", "up", ("date",)),
    "insects": Stream("streams/insects_gradual_balanced.csv.gz", "species"),
    "flights": Stream("streams/nycflights13.csv.gz", "late15", ("arr_delay",)),
    "spam": Stream("streams/spamassassin.npz", "spam"),
    "usenet": Stream("streams/usenet1.csv.gz", "label", start=300),
}


@dataclass(frozen=True)
class Folders:
    """Where the data are, and where margins are stored between runs."""

    data: Path | None = None
    cache: Path | None = None

    def has(self, *names: str) -> bool:
        """Whether the data folder holds these; if not, prints a note."""
        for name in names:
            if self.data is None or not (self.data / name).exists():
                print(f"skipped: {name} is missing; name its folder with --data or OCBOOST_DATA")
                return False
        return True

    def cached(self, step: str, make: Callable[[], np.ndarray], **settings: object) -> np.ndarray:
        """Margins of an earlier run with the same settings, or made now; stored as bits."""
        if self.cache is None:
            return make()
        words = [step, *(f"{key}={value}" for key, value in settings.items())]
        path = self.cache / f"{','.join(words)}.npz"
        if path.is_file():
            with np.load(path, allow_pickle=False) as stored:
                bits = np.unpackbits(stored["bits"], axis=1, count=int(stored["J"]))
            return np.where(bits, 1, -1).astype(np.int8)
        margins = make()
        self.cache.mkdir(parents=True, exist_ok=True)
        np.savez(path, bits=np.packbits(margins > 0, axis=1), J=margins.shape[1])
        return margins


def columns(J: int, n: int, seed: int) -> np.ndarray:
    """Independent columns, right with a chance of 0.5 to 0.65."""
    rng = np.random.default_rng(seed)
    return independent_columns(rng, n, rng.uniform(0.5, 0.65, J))


def stumps(folders: Folders, name: str, J: int, rows: int | None = None) -> np.ndarray:
    """Margins of stumps learnt on a stream's first rows; of several classes the lower half is one."""
    stream, data = STREAMS[name], folders.data
    if data is None:
        raise MissingDataError(f"it needs {stream.file}; name its folder with --data or OCBOOST_DATA")

    def make() -> np.ndarray:
        table = stream.read(data, rows)
        known = table.classes
        y = np.where(np.isin(table.y, known[: len(known) // 2]), 1, -1).astype(np.int8)
        first = slice(0, stream.start)
        found = StumpLearner().learn(table.X[first], y[first], n_hypotheses=J)
        return np.ascontiguousarray(found.answers(table.X) * y[:, None], dtype=np.int8)

    return folders.cached("heavy-stumps", make, name=name, J=J, rows=rows, texts="one-hot")


def digit(folders: Folders, which: int) -> np.ndarray:
    """Margins of a digit against the rest, in the file's order: the balls of `ocboost reproduce mnist`."""
    settings = MnistSettings()

    def make() -> np.ndarray:
        images = load_mnist(folders.data)
        X = images.train_X.reshape(len(images.train_X), -1).astype(np.float32)
        X -= X.mean(axis=1, keepdims=True)
        X /= X.std(axis=1, keepdims=True)
        y = np.where(images.train_y == which, 1, -1).astype(np.int8)
        rng = np.random.default_rng([settings.seed, which])
        learner = BallLearner(n_sample=settings.n_sample)
        balls = learner.learn(X, y, n_hypotheses=settings.n_hypotheses, rng=rng)
        return np.ascontiguousarray(balls.answers(X) * y[:, None], dtype=np.int8)

    return folders.cached("heavy-digit", make, digit=which)


def windows(folders: Folders, permutation: int) -> np.ndarray:
    """Margins of the face windows in one order: the box filters of `ocboost reproduce faces`."""
    settings = FacesSettings()

    def make() -> np.ndarray:
        images = load_faces(folders.data)
        X = images.train_X.reshape(len(images.train_X), -1)
        learner = BoxLearner(n_sample=settings.n_sample, n_filters=settings.n_filters)
        rng = np.random.default_rng([settings.seed, 0])
        boxes = learner.learn(X, images.train_y, n_hypotheses=settings.n_hypotheses, rng=rng)
        return np.ascontiguousarray(boxes.answers(X) * images.train_y[:, None], dtype=np.int8)

    rows = folders.cached("heavy-windows", make)
    return np.ascontiguousarray(rows[np.random.default_rng(permutation).permutation(len(rows))])
