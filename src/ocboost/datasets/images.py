"""Labelled images in a training and a test part, and reading the files of a data folder.

Files may come from anywhere: their size is checked before they are unpacked, and errors name the file.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from PIL import Image

Pixels = NDArray[np.uint8]
Labels = NDArray[np.int8]
T = TypeVar("T")

MAX_PIXELS = 1 << 26  # of a picture; the paper's 93,000 windows take 54 million
FRESH_COPY = "Get a fresh copy of the file."


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
        Whether these are other, fewer images, because the wanted ones were not available.
    unusual : str
        A sentence for reports if there are more or fewer images than in the paper; "" otherwise.
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
            good = X.dtype == np.uint8 and X.ndim == 3
            _require(good, f"{part}_X", "be uint8 of shape (n, height, width)", X)
            good = y.dtype == np.int8 and y.shape == X.shape[:1]
            _require(good, f"{part}_y", f"be {len(X)} int8 labels", y)
        same = self.train_X.shape[1:] == self.test_X.shape[1:]
        _require(same, "test_X", f"have images of {self.train_X.shape[1:]} pixels", self.test_X)

    def shuffled(self, seed: int) -> Images:
        """The same images in a random order, separately for the training and the test part.

        The faces' files hold one class each; a stream needs them mixed.

        Parameters
        ----------
        seed : int
            At least 0.

        Returns
        -------
        Images
            A copy.

        Raises
        ------
        InputError
            If the seed is no such number.

        Examples
        --------
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


def _require(condition: bool, name: str, what: str, found: NDArray[Any]) -> None:
    if not condition:
        raise InputError(f"{name} must {what}; got {found.dtype} of shape {found.shape}. Convert it first.")


# The files of a data folder ---------------------------------------------------------------------------------


def data_folder(data: str | os.PathLike[str]) -> Path:
    """The data folder; a file in its place is an `InputError`."""
    if Path(data).is_file():
        raise InputError(
            f"data must be a folder; got the file '{data}'. Give the folder that holds mnist/ and faces/."
        )
    return Path(data)


def require_file(path: Path, otherwise: str = "leave data out to use images that need no file") -> None:
    """Refuse a data folder that lacks a file."""
    if not path.is_file():
        raise InputError(
            f"data must be a folder that holds {path.parent.name}/{path.name}; there is no file '{path}'. "
            f"Put it there, or {otherwise}."
        )


def require_different(train_X: Pixels, test_X: Pixels, train: Path, test: Path) -> None:
    """Refuse to test on the very images that were trained on."""
    if np.array_equal(train_X, test_X):
        raise InputError(
            f"'{test}' must hold other images than '{train}'; both hold the same {len(test_X):,}. "
            "Get a fresh copy of both files."
        )


def unreadable(path: Path, error: OSError) -> InputError:
    """The error for a file that the system does not let us read."""
    return InputError(
        f"data must be a folder whose files can be read; '{path}' cannot be ({error.strerror or error}). "
        "Check its permissions."
    )


def refused(path: Path, must: str, found: str, advice: str = FRESH_COPY) -> InputError:
    """The error for a file that is not what it must be."""
    return InputError(f"'{path}' must {must}; {found}. {advice}")


def read_picture(
    path: Path,
    convert: Callable[[Image.Image], T],
    *,
    formats: tuple[str, ...],
    kind: str,
    extra: str,
    purpose: str,
    check: Callable[[Path, Image.Image], Any] | None = None,
) -> T:
    """Open a picture and convert it; anything wrong with the file is an `InputError` that names it.

    Only ``formats`` of pillow are tried; ``kind`` names them in messages. ``extra`` installs pillow, which
    ``purpose`` needs. ``check`` is called before the pixels are unpacked.
    """
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise MissingExtraError("pillow", extra, purpose) from error

    too_large = (Image.DecompressionBombWarning, Image.DecompressionBombError)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # oddities of a file that do no harm
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=formats) as image:
                width, height = image.size
                if width * height > MAX_PIXELS:
                    raise refused(path, f"have at most {MAX_PIXELS:,} pixels", f"it has {width} × {height}")
                if check is not None:
                    check(path, image)
                image.verify()  # the checksums, which unpacking alone does not look at
            with Image.open(path, formats=formats) as image:
                return convert(image)
    except InputError:
        raise
    except too_large as error:
        raise refused(path, f"have at most {MAX_PIXELS:,} pixels", "it has more") from error
    except Exception as error:  # a damaged file makes pillow's readers fail in every way there is
        what = " ".join(str(error).split()) or type(error).__name__
        raise refused(path, f"be {kind}", f"it cannot be read ({what:.200})") from error


def tiles(mosaic: Pixels, width: int, height: int) -> Pixels:
    """The tiles of a mosaic, row by row: (n, height, width).

    >>> import numpy as np
    >>> tiles(np.arange(8, dtype=np.uint8).reshape(2, 4), 2, 2).tolist()
    [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]
    """
    rows, columns = mosaic.shape[0] // height, mosaic.shape[1] // width
    return mosaic.reshape(rows, height, columns, width).transpose(0, 2, 1, 3).reshape(-1, height, width)
