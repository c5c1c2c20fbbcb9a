"""Handwritten digits: MNIST from files or by download, else the small set inside scikit-learn.

The files of MNIST are in the idx format, compressed with gzip::

    2 bytes   zero
    1 byte    type of the entries, 8 for unsigned bytes
    1 byte    number of dimensions
    4 bytes   each dimension, big-endian
    ...       the entries, C order

They are not trusted: no more is unpacked than the shape promises, and memory grows with what has been
unpacked, not with what is promised.
"""

from __future__ import annotations

import gzip
import importlib.util
import math
import os
import socket
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ocboost.datasets.images import (
    Images,
    Labels,
    Pixels,
    data_folder,
    refused,
    require_different,
    require_file,
    unreadable,
)
from ocboost.errors import InputError

_SIDE = 28
_TRAIN, _TEST = 60_000, 10_000
MNIST_FILES = tuple(  # in a data folder
    f"mnist/{part}-{what}-ubyte.gz" for part in ("train", "t10k") for what in ("images-idx3", "labels-idx1")
)
_DIGITS_TRAIN = 1_200
_TIMEOUT = 5.0
_MAX_UNPACKED_BYTES = 1 << 28  # MNIST's largest file has 47 million
_CHUNK_BYTES = 1 << 20
_UNSIGNED_BYTES = 8


def load_mnist(data: str | os.PathLike[str] | None = None, *, online: bool = True) -> Images:
    """Handwritten digits, in the order of their files.

    Parameters
    ----------
    data : path, optional
        A folder that holds the four files of MNIST as ``mnist/train-images-idx3-ubyte.gz``,
        ``mnist/train-labels-idx1-ubyte.gz``, and the same with ``t10k``. A file that is missing or damaged is
        an error: nothing else is taken silently.
    online : bool, default=True
        Without ``data``, try to download MNIST from OpenML; scikit-learn keeps it for the next time.
        If that fails, the 1,797 smaller digits (8 × 8, grey values 0 … 16) inside scikit-learn are taken.

    Returns
    -------
    Images
        With labels 0 … 9; ``source`` says which of the three it is.

    Examples
    --------
    >>> digits = load_mnist(online=False)
    >>> digits.train_X.shape, digits.test_X.shape
    ((1200, 8, 8), (597, 8, 8))
    """
    if data is not None:
        return _from_files(data_folder(data) / "mnist")
    return (_from_openml() if online else None) or _digits_of_sklearn()


def _from_files(folder: Path) -> Images:
    train_X, train_y = _read_part(folder, "train")
    test_X, test_y = _read_part(folder, "t10k")
    require_different(
        train_X, test_X, *(folder / f"{part}-images-idx3-ubyte.gz" for part in ("train", "t10k"))
    )
    usual = (len(train_y), len(test_y)) == (_TRAIN, _TEST)
    unusual = (
        f"MNIST has {_TRAIN:,} training and {_TEST:,} test images; these files hold {len(train_y):,} and "
        f"{len(test_y):,}, so that the figures are not comparable with the paper's."
    )
    source = (
        f"MNIST from the files in '{folder}': {len(train_y):,} training and {len(test_y):,} test images "
        f"of {_SIDE} × {_SIDE} pixels."
    )
    return Images(train_X, train_y, test_X, test_y, source, unusual="" if usual else unusual)


def _read_part(folder: Path, part: str) -> tuple[Pixels, Labels]:
    images = folder / f"{part}-images-idx3-ubyte.gz"
    labels = folder / f"{part}-labels-idx1-ubyte.gz"
    y = read_idx(labels, 1)
    X = read_idx(images, 3)
    if not len(X) or X.shape[1:] != (_SIDE, _SIDE):
        raise InputError(
            f"'{images}' must hold images of {_SIDE} × {_SIDE} pixels; its shape is {X.shape}. "
            "Get a fresh copy of MNIST."
        )
    if len(y) != len(X):
        raise InputError(
            f"'{labels}' must hold a label for each of the {len(X):,} images; it holds {len(y):,}. "
            "Get a fresh copy of both files."
        )
    if y.max() > 9:
        raise InputError(f"'{labels}' must hold digits 0 … 9; it holds {y.max()}. Get a fresh copy of MNIST.")
    return X, y.astype(np.int8)


def read_idx(path: Path, n_dimensions: int) -> NDArray[np.uint8]:
    """Read an idx file of unsigned bytes; anything wrong with it is an `InputError`."""
    require_file(path)
    try:
        with gzip.open(path, "rb") as file:
            shape = _shape(file.read(4 + 4 * n_dimensions), n_dimensions, path)
            size = math.prod(shape)
            if size > _MAX_UNPACKED_BYTES:
                raise _damaged(path, f"its header promises {size:,} bytes, more than {_MAX_UNPACKED_BYTES:,}")
            content = bytearray()
            while len(content) <= size:  # one byte more is asked for, so that the checksum is reached
                chunk = file.read(min(_CHUNK_BYTES, size + 1 - len(content)))
                if not chunk:
                    break
                content += chunk
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged(path, f"it cannot be unpacked ({error})") from error
    except OSError as error:
        raise unreadable(path, error) from error
    if len(content) != size:
        found = f"only {len(content):,}" if len(content) < size else "more"
        raise _damaged(path, f"its header promises {size:,} bytes and {found} follow")
    return np.frombuffer(content, np.uint8).reshape(shape)


def _shape(header: bytes, n_dimensions: int, path: Path) -> tuple[int, ...]:
    expected = bytes([0, 0, _UNSIGNED_BYTES, n_dimensions])
    if header[:4] != expected:
        raise _damaged(path, f"it begins with {header[:4].hex(' ') or 'nothing'} and not {expected.hex(' ')}")
    if len(header) < 4 + 4 * n_dimensions:
        raise _damaged(path, "it ends within its header")
    return struct.unpack(f">{n_dimensions}I", header[4:])


def _damaged(path: Path, what: str) -> InputError:
    return refused(path, "be an idx file of unsigned bytes in gzip", what)


def _from_openml() -> Images | None:
    """MNIST by download, or None: without network or space, or if the service or its data have changed."""
    from sklearn.datasets import fetch_openml

    parser = "pandas" if importlib.util.find_spec("pandas") else "liac-arff"  # the latter takes a minute
    try:
        with _short_timeout(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X, y = fetch_openml(
                "mnist_784", version=1, as_frame=False, return_X_y=True, parser=parser, n_retries=1, delay=0.1
            )
            pixels = np.asarray(X).astype(np.uint8)
            digits = np.asarray(y).astype(np.int8)
            complete = pixels.shape == (70_000, _SIDE * _SIDE) and digits.shape == (70_000,)
            if not complete or not (pixels == X).all() or digits.min() < 0 or digits.max() > 9:
                return None
    except Exception:  # a download can fail in many ways, and then there are other digits
        return None
    origin = "MNIST from OpenML (mnist_784, version 1)"
    return _split(pixels.reshape(-1, _SIDE, _SIDE), digits, _TRAIN, origin, f"{_SIDE} × {_SIDE} pixels")


@contextmanager
def _short_timeout() -> Iterator[None]:
    """Give up a connection that is silent for a few seconds."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_TIMEOUT)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _digits_of_sklearn() -> Images:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X, y = X.reshape(-1, 8, 8).astype(np.uint8), y.astype(np.int8)
    origin, size = "The digits inside scikit-learn, not MNIST", "8 × 8 pixels with 17 grey values"
    return _split(X, y, _DIGITS_TRAIN, origin, size, fallback=True)


def _split(X: Pixels, y: Labels, n: int, origin: str, size: str, *, fallback: bool = False) -> Images:
    """The first n images for training, the others for testing."""
    source = f"{origin}: {n:,} training and {len(y) - n:,} test images of {size}."
    return Images(X[:n], y[:n], X[n:], y[n:], source, fallback)
