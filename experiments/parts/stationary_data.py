"""Data that do not change: two samples and test rows of the same distribution."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ocboost.datasets import load_mnist, loaders
from parts.common import MissingDataError, Options

DIGIT = 8
LONGER = 50_000
MNIST_FILES = [f"mnist/{a}-{b}-ubyte.gz" for a in ("train", "t10k") for b in ("images-idx3", "labels-idx1")]


@dataclass(frozen=True)
class Sizes:
    """How many rows: to find hypotheses on, to stream, to test."""

    first: int
    stream: int
    test: int

    @property
    def all(self) -> int:
        """Rows of two samples and the test."""
        return 2 * (self.first + self.stream) + self.test

    def scaled(self, share: float) -> "Sizes":
        """The same with fewer rows, but no less than a few."""
        return Sizes(*(max(40, round(share * n)) for n in (self.first, self.stream, self.test)))


@dataclass(frozen=True)
class Sample:
    """Rows to find hypotheses on, and the stream after them; y is ±1."""

    first_X: np.ndarray  # noqa: N815
    first_y: np.ndarray
    X: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class Split:
    """Two independent samples, and test rows."""

    one: Sample
    other: Sample
    X: np.ndarray
    y: np.ndarray
    long: tuple[Sample, Sample] | None = None  # the same with longer streams, where there are more rows


@dataclass(frozen=True)
class Source:
    """A data set: ``draw(folder, rows, test, seed)`` gives rows, the last ``test`` of them for the test."""

    title: str
    sizes: Sizes
    draw: Callable[[Path | None, int, int, int], tuple[np.ndarray, np.ndarray]]
    endless: bool = False  # whether any number of rows can be drawn
    var_smoothing: float = 1e-9  # of naive Bayes: many pixels are always or nearly always white
    trees: bool = True  # whether river's trees get through it in time


def _generated(make: Callable) -> Callable:
    def draw(folder: Path | None, rows: int, test: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        drawn = make(rows, seed, drifts=False)
        return drawn.rows.X, drawn.rows.y

    return draw


def _shuffled(load: Callable, positive: int) -> Callable:
    def draw(folder: Path | None, rows: int, test: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        X, y = load(return_X_y=True)
        order = np.random.default_rng(seed).permutation(len(y))[:rows]
        return X[order], y[order] == positive

    return draw


def _mnist(folder: Path | None, rows: int, test: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    images = load_mnist(folder).shuffled(seed)
    X = np.concatenate([images.train_X[: rows - test], images.test_X[:test]]).reshape(rows, -1)
    y = np.concatenate([images.train_y[: rows - test], images.test_y[:test]])
    return X.astype(np.float64), y == DIGIT


def _breast_cancer(**how: bool) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer(**how)


def _digits(**how: bool) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    return load_digits(**how)


_LONG = Sizes(2_000, 10_000, 10_000)

SOURCES = {
    "sea": Source("SEA", _LONG, _generated(loaders.draw_sea), endless=True),
    "agrawal": Source("Agrawal", _LONG, _generated(loaders.draw_agrawal), endless=True),
    "rbf": Source("RandomRBF", _LONG, _generated(loaders.draw_rbf), endless=True),
    "hyperplane": Source("Hyperplane", _LONG, _generated(loaders.draw_hyperplane), endless=True),
    "cancer": Source("breast cancer", Sizes(70, 130, 169), _shuffled(_breast_cancer, 1)),
    "digits": Source(f"digits, {DIGIT}", Sizes(150, 450, 597), _shuffled(_digits, DIGIT), var_smoothing=0.01),
    "mnist": Source(f"MNIST, {DIGIT}", _LONG, _mnist, var_smoothing=0.01, trees=False),
}


def require(name: str, options: Options) -> None:
    """A `MissingDataError` where a data set needs files that are not there."""
    for file in MNIST_FILES if name == "mnist" else []:
        options.file(file)
    if SOURCES[name].endless:
        try:
            import river  # noqa: F401
        except ModuleNotFoundError:
            raise MissingDataError("it needs river: pip install 'ocboost[river]'") from None


def split(name: str, data: Path | None, seed: int, share: float = 1.0) -> Split:
    """Two samples and test rows of a data set; another seed gives others."""
    source = SOURCES[name]
    sizes = source.sizes if share == 1.0 else source.sizes.scaled(share)
    longer = max(40, round(share * LONGER)) if source.endless else 0
    X, y = source.draw(data, sizes.all + 2 * longer, sizes.test, seed)
    labels = np.where(y, 1, -1).astype(np.int8)
    ends = np.cumsum([sizes.first, sizes.stream, sizes.first, sizes.stream, longer, longer])
    (a, b, c, d, e, f, test), (i, j, k, m, n, o, labels_of_test) = np.split(X, ends), np.split(labels, ends)
    long = (Sample(a, i, e, n), Sample(c, k, f, o)) if source.endless else None
    return Split(Sample(a, i, b, j), Sample(c, k, d, m), test, labels_of_test, long)
