"""Labelled images in a training and a test part, and where they came from."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError

Pixels = NDArray[np.uint8]
Labels = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Images:
    """Labelled images in a training and a test part.

    Parameters
    ----------
    train_X, test_X : ndarray of uint8, shape (n, height, width)
        Grey values. Both parts have images of the same size.
    train_y, test_y : ndarray of int8, shape (n,)
        Digits 0 … 9, or +1 for a face and -1 for anything else.
    source : str
        One sentence for reports: where the images came from and how many there are.
    fallback : bool
        Whether these are other, fewer images, taken because the wanted ones were not to be had.
    unusual : str
        A sentence for reports where there are more or fewer images than the paper has; "" otherwise.
    """

    train_X: Pixels  # noqa: N815
    train_y: Labels
    test_X: Pixels  # noqa: N815
    test_y: Labels
    source: str
    fallback: bool = False
    unusual: str = ""

    def __post_init__(self) -> None:
        for part in ("train", "test"):
            X, y = getattr(self, f"{part}_X"), getattr(self, f"{part}_y")
            _require(
                X.dtype == np.uint8 and X.ndim == 3, f"{part}_X", "be uint8 of shape (n, height, width)", X
            )
            _require(
                y.dtype == np.int8 and y.shape == X.shape[:1], f"{part}_y", f"be {len(X)} int8 labels", y
            )
        same = self.train_X.shape[1:] == self.test_X.shape[1:]
        _require(same, "test_X", f"have images of {self.train_X.shape[1:]} pixels", self.test_X)

    def shuffled(self, seed: int) -> Images:
        """The same images in an order drawn from a seed, training and test part each for itself.

        The faces' files hold one class each; a stream needs them mixed.

        >>> pixels, labels = np.zeros((6, 1, 1), np.uint8), np.arange(6, dtype=np.int8)
        >>> images = Images(pixels, labels, pixels, labels, "Six black dots.").shuffled(seed=0)
        >>> sorted(images.train_y.tolist()), images.train_y.tolist() == labels.tolist()
        ([0, 1, 2, 3, 4, 5], False)
        """
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise InputError(f"seed must be an integer of at least 0; got {seed!r}. Give another number.")
        train = np.random.default_rng([int(seed), 0]).permutation(len(self.train_y))
        test = np.random.default_rng([int(seed), 1]).permutation(len(self.test_y))
        return replace(
            self,
            train_X=self.train_X[train],
            train_y=self.train_y[train],
            test_X=self.test_X[test],
            test_y=self.test_y[test],
        )


def data_folder(data: str | os.PathLike[str]) -> Path:
    """The data folder; a file in its place is an `InputError`."""
    if Path(data).is_file():
        raise InputError(
            f"data must be a folder; got the file '{data}'. Give the folder that holds mnist/ and faces/."
        )
    return Path(data)


def require_different(train_X: Pixels, test_X: Pixels, train: Path, test: Path) -> None:
    """Refuse to test on the very images that were trained on."""
    if np.array_equal(train_X, test_X):
        raise InputError(
            f"'{test}' must hold other images than '{train}'; both hold the same {len(test_X):,}. "
            "Get a fresh copy of both files."
        )


def _require(condition: bool, name: str, what: str, found: NDArray[Any]) -> None:
    if not condition:
        raise InputError(f"{name} must {what}; got {found.dtype} of shape {found.shape}. Convert it first.")
