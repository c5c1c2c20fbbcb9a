"""The margins that the studies of heavy examples share: columns, stumps on real streams, MNIST and faces.

Finding balls and box filters takes minutes, so what they answer is kept in a folder, if one is given.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ocboost.datasets import load_faces, load_mnist
from ocboost.datasets.loaders import load_table, load_words
from ocboost.hypotheses.learners import BallLearner, BoxLearner, StumpLearner
from ocboost.paper.cache import Cache, pack_margins, unpack_margins
from ocboost.paper.faces import FacesSettings
from ocboost.paper.mnist import MnistSettings
from ocboost.streams.rows import Rows

from .common import MissingDataError, independent_columns


@dataclass(frozen=True)
class Stream:
    """A stream's file, its label, columns to leave out, and how many rows the stumps are learnt on."""

    file: str
    label: str
    drop: tuple[str, ...] = ()
    start: int = 2000

    def read(self, data: Path, rows: int | None) -> Rows:
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
class Places:
    """Where the data are, and where what takes minutes to find is kept."""

    data: Path | None = None
    cache: Path | None = None

    def has(self, *names: str) -> bool:
        """Whether the data folder holds these; says so where it does not."""
        for name in names:
            if self.data is None or not (self.data / name).exists():
                print(f"skipped: {name} is not there. Say where it is with --data or OCBOOST_DATA")
                return False
        return True

    def kept(self, step: str, make: Callable[[], np.ndarray], **what: object) -> np.ndarray:
        """Answers or margins, kept from an earlier run or made now."""
        if self.cache is None:
            return make()

        def packed() -> tuple[dict[str, int], dict[str, np.ndarray]]:
            found = make()
            return {"J": found.shape[1]}, {"words": pack_margins(found)}

        parameters, arrays = Cache(self.cache).fetch(step, what, packed)
        return unpack_margins(arrays["words"], parameters["J"])


def columns(J: int, n: int, seed: int) -> np.ndarray:
    """Independent columns, right with a chance of 0.5 to 0.65."""
    rng = np.random.default_rng(seed)
    return independent_columns(rng, n, rng.uniform(0.5, 0.65, J))


def stumps(places: Places, name: str, J: int, rows: int | None = None) -> np.ndarray:
    """Margins of stumps learnt on a stream's first rows; of several classes the lower half is one."""
    stream, data = STREAMS[name], places.data
    if data is None:
        raise MissingDataError(f"it needs {stream.file}. Say where it is with --data or OCBOOST_DATA")

    def make() -> np.ndarray:
        table = stream.read(data, rows)
        known = table.classes
        y = np.where(np.isin(table.y, known[: len(known) // 2]), 1, -1).astype(np.int8)
        first = slice(0, stream.start)
        found = StumpLearner().learn(table.X[first], y[first], n_hypotheses=J)
        return np.ascontiguousarray(found.answers(table.X) * y[:, None], dtype=np.int8)

    return places.kept("heavy-stumps", make, name=name, J=J, rows=rows, texts="one-hot")


def digit(places: Places, which: int) -> np.ndarray:
    """Margins of a digit against the rest, in the file's order: the balls of `ocboost reproduce mnist`."""
    settings = MnistSettings()

    def make() -> np.ndarray:
        images = load_mnist(places.data)
        X = images.train_X.reshape(len(images.train_X), -1).astype(np.float32)
        X -= X.mean(axis=1, keepdims=True)
        X /= X.std(axis=1, keepdims=True)
        y = np.where(images.train_y == which, 1, -1).astype(np.int8)
        rng = np.random.default_rng([settings.seed, which])
        learner = BallLearner(n_sample=settings.n_sample)
        balls = learner.learn(X, y, n_hypotheses=settings.n_hypotheses, rng=rng)
        return np.ascontiguousarray(balls.answers(X) * y[:, None], dtype=np.int8)

    return places.kept("heavy-digit", make, digit=which)


def windows(places: Places, permutation: int) -> np.ndarray:
    """Margins of the face windows in one order: the box filters of `ocboost reproduce faces`."""
    settings = FacesSettings()

    def make() -> np.ndarray:
        images = load_faces(places.data)
        X = images.train_X.reshape(len(images.train_X), -1)
        learner = BoxLearner(n_sample=settings.n_sample, n_filters=settings.n_filters)
        rng = np.random.default_rng([settings.seed, 0])
        boxes = learner.learn(X, images.train_y, n_hypotheses=settings.n_hypotheses, rng=rng)
        return np.ascontiguousarray(boxes.answers(X) * images.train_y[:, None], dtype=np.int8)

    rows = places.kept("heavy-windows", make)
    return np.ascontiguousarray(rows[np.random.default_rng(permutation).permutation(len(rows))])
