"""Pictures from strangers: looked at for their size before they are unpacked; damage is told by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ocboost.errors import InputError, MissingExtraError

from .images import Pixels

if TYPE_CHECKING:
    from PIL import Image

LARGEST = 1 << 26  # pixels of a picture; the paper's 93,000 windows take 54 million
FRESH = "Get a fresh copy of the file."
T = TypeVar("T")


def read_picture(
    path: Path,
    turned: Callable[[Image.Image], T],
    *,
    formats: tuple[str, ...],
    kind: str,
    extra: str,
    purpose: str,
    check: Callable[[Path, Image.Image], Any] | None = None,
) -> T:
    """What a picture is turned into; whatever is wrong with the file is an `InputError` that names it.

    Parameters
    ----------
    path : Path
        A file that exists.
    turned : callable
        From the opened picture to what is wanted of it.
    formats : tuple of str
        Those of pillow that are tried, and no others.
    kind : str
        What the file must be, in words.
    extra, purpose : str
        Which extra has pillow, and what it is needed for.
    check : callable, optional
        Called with the path and the picture before its pixels are unpacked; raises what `refused` returns.
    """
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise MissingExtraError("pillow", extra, purpose) from error

    bomb = (Image.DecompressionBombWarning, Image.DecompressionBombError)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is odd about a file, but does no harm
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=formats) as image:
                width, height = image.size
                if width * height > LARGEST:
                    raise refused(path, f"have at most {LARGEST:,} pixels", f"it has {width} × {height}")
                if check is not None:
                    check(path, image)
                image.verify()  # the checksums, which unpacking alone does not look at
            with Image.open(path, formats=formats) as image:
                return turned(image)
    except InputError:
        raise
    except bomb as error:
        raise refused(path, f"have at most {LARGEST:,} pixels", "it has more") from error
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


def refused(path: Path, must: str, found: str, advice: str = FRESH) -> InputError:
    """The error for a file that is not what it must be."""
    return InputError(f"'{path}' must {must}; {found}. {advice}")
