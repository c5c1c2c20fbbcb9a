"""Faces against other windows, 24 × 24 pixels: from mosaics, else from scikit-image, else drawn."""

from __future__ import annotations

import importlib
import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.datasets.images import (
    Images,
    Labels,
    Pixels,
    data_folder,
    read_picture,
    refused,
    require_different,
    require_file,
    tiles,
)

Floats = NDArray[np.float64]

_SIDE = 24
FACES_FILES = tuple(  # in a data folder
    f"faces/{kind}24_{part}.png" for kind in ("faces", "nonfaces") for part in ("train", "test")
)
_LFW_TRAIN = 60  # of the 100 of each class
_FACES, _OTHERS = 7_000, 93_000  # for training, and as many for testing


def load_faces(data: str | os.PathLike[str] | None = None) -> Images:
    """Faces (+1) and other windows (-1): the faces first, each in the order of its file.

    `Images.shuffled` mixes them.

    Parameters
    ----------
    data : path, optional
        A folder that holds ``faces/faces24_train.png``, ``faces/nonfaces24_train.png`` and the same with
        ``test``: grey mosaics whose 24 × 24 tiles are the windows, row by row. A file that is missing or
        damaged is an error. Without a folder, the 200 windows inside scikit-image are taken if it is
        installed, and drawn faces if it is not.

    Returns
    -------
    Images
        With labels ±1; ``source`` says which of the three it is.

    Raises
    ------
    MissingExtraError
        If ``data`` is given and pillow is not installed.
    """
    if data is not None:
        return _from_mosaics(data_folder(data) / "faces")
    return _lfw_of_skimage() or _toys()


def _from_mosaics(folder: Path) -> Images:
    parts: dict[str, list[Pixels]] = {"train": [], "test": []}
    for kind in ("faces", "nonfaces"):
        train, test = (folder / f"{kind}24_{part}.png" for part in parts)
        parts["train"].append(_read_tiles(train))
        parts["test"].append(_read_tiles(test))
        require_different(parts["train"][-1], parts["test"][-1], train, test)
    images = _images(parts["train"], parts["test"], f"Windows from the mosaics in '{folder}'")
    counts = [[len(windows) for windows in part] for part in parts.values()]
    if counts == [[_FACES, _OTHERS]] * 2:
        return images
    unusual = (
        f"The paper has {_FACES:,} faces and {_OTHERS:,} other windows for training, and as many for "
        f"testing; these mosaics hold {counts[0][0]:,} and {counts[0][1]:,} for training, "
        f"{counts[1][0]:,} and {counts[1][1]:,} for testing, so that the figures are not "
        "comparable with the paper's."
    )
    return replace(images, unusual=unusual)


def _read_tiles(path: Path) -> Pixels:
    require_file(path)

    def check(path: Path, image: Any) -> None:
        width, height = image.size
        if width % _SIDE or height % _SIDE:
            raise refused(path, f"consist of tiles of {_SIDE} × {_SIDE} pixels", f"it has {width} × {height}")
        if image.mode != "L":
            raise refused(path, "be grey with 8 bits per pixel", f"it has the mode {image.mode!r} of pillow")

    mosaic = read_picture(
        path,
        np.asarray,
        formats=("PNG",),
        kind="a PNG image",
        extra="reproduce",
        purpose="Reading the mosaics of faces",
        check=check,
    )
    return tiles(mosaic, _SIDE, _SIDE)


def _lfw_of_skimage() -> Images | None:
    """The windows inside scikit-image, or None if it or its file is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            windows = np.asarray(importlib.import_module("skimage.data").lfw_subset())
    except Exception:  # the file may be a download, which can fail in many ways
        return None
    if windows.shape != (200, 25, 25):
        return None
    X = np.rint(255 * windows[:, :_SIDE, :_SIDE]).astype(np.uint8)
    n = _LFW_TRAIN
    return _images(
        [X[:n], X[100 : 100 + n]],
        [X[n:100], X[100 + n :]],
        "A small set, not the paper's size: windows of Labeled Faces in the Wild inside scikit-image",
        fallback=True,
    )


def _toys() -> Images:
    return _images(
        draw_toys(300, seed=0),
        draw_toys(200, seed=1),
        "Drawn faces, no photographs: ovals with eyes and a mouth against noise, slopes and empty ovals",
        fallback=True,
    )


def _images(train: Any, test: Any, origin: str, *, fallback: bool = False) -> Images:
    """Images of pairs (faces, others)."""

    def labels(faces: Pixels, others: Pixels) -> Labels:
        return np.repeat(np.array([1, -1], np.int8), [len(faces), len(others)])

    counts = [f"{len(faces):,} faces and {len(others):,} others" for faces, others in (train, test)]
    source = f"{origin}: {counts[0]} for training, {counts[1]} for testing, {_SIDE} × {_SIDE} pixels."
    return Images(
        np.concatenate(train), labels(*train), np.concatenate(test), labels(*test), source, fallback
    )


# Drawn faces: enough to try an experiment, not to report one ------------------------------------------------


def draw_toys(n: int, *, seed: int) -> tuple[Pixels, Pixels]:
    """Draw n faces, and n windows that are noise, slopes and ovals without eyes in turn.

    >>> faces, others = draw_toys(3, seed=0)
    >>> faces.shape, others.shape
    ((3, 24, 24), (3, 24, 24))
    """
    rng = np.random.default_rng(seed)
    faces = _slopes(n, rng) + _ovals(n, rng, features=True)
    others = _slopes(n, rng)
    others[0::3] += rng.normal(0, 45, others[0::3].shape)
    others[2::3] += _ovals(len(others[2::3]), rng, features=False)
    return _as_pixels(faces, rng), _as_pixels(others, rng)


def _slopes(n: int, rng: np.random.Generator) -> Floats:
    """Backgrounds that are brighter to one side."""
    y, x = np.mgrid[-1 : 1 : _SIDE * 1j, -1 : 1 : _SIDE * 1j]
    level, down, right = rng.uniform(60, 160, (n, 1, 1)), *rng.uniform(-40, 40, (2, n, 1, 1))
    return np.asarray(level + down * y + right * x)


def _ovals(n: int, rng: np.random.Generator, *, features: bool) -> Floats:
    """Bright ovals, a little off the middle; with features, two dark eyes and a dark mouth in them."""
    y, x = np.mgrid[-1 : 1 : _SIDE * 1j, -1 : 1 : _SIDE * 1j]
    y, x = y + rng.uniform(-0.1, 0.1, (n, 1, 1)), x + rng.uniform(-0.1, 0.1, (n, 1, 1))
    shade = rng.uniform(30, 80, (n, 1, 1)) * ((x / 0.75) ** 2 + (y / 0.95) ** 2 < 1)
    if features:
        eyes = ((np.abs(x) - 0.33) / 0.18) ** 2 + ((y + 0.22) / 0.11) ** 2 < 1
        mouth = (x / 0.35) ** 2 + ((y - 0.5) / 0.1) ** 2 < 1
        shade = shade - rng.uniform(40, 90, (n, 1, 1)) * eyes - rng.uniform(20, 60, (n, 1, 1)) * mouth
    return np.asarray(shade)


def _as_pixels(drawn: Floats, rng: np.random.Generator) -> Pixels:
    return np.clip(np.rint(drawn + rng.normal(0, 10, drawn.shape)), 0, 255).astype(np.uint8)
