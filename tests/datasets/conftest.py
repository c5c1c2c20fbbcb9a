"""Small mosaics of faces, and what the tests of images share."""

from __future__ import annotations

import numpy as np
import pytest

MOSAICS = ["faces24_train", "nonfaces24_train", "faces24_test", "nonfaces24_test"]


@pytest.fixture
def mosaics(tmp_path):
    """A data folder with mosaics of 2 × 3 and 1 × 5 tiles, and the tiles."""
    Image = pytest.importorskip("PIL.Image")
    folder = tmp_path / "faces"
    folder.mkdir()
    rng = np.random.default_rng(1)
    tiles = {}
    for name in MOSAICS:
        rows, columns = (2, 3) if name.startswith("faces") else (1, 5)
        tiles[name] = rng.integers(0, 256, (rows * columns, 24, 24), dtype=np.uint8)
        mosaic = np.zeros((24 * rows, 24 * columns), np.uint8)
        for k, tile in enumerate(tiles[name]):
            top, left = 24 * (k // columns), 24 * (k % columns)
            mosaic[top : top + 24, left : left + 24] = tile
        Image.fromarray(mosaic).save(folder / f"{name}.png")
    return tmp_path, tiles


def both(images, part):
    """The images and the labels of a part."""
    return getattr(images, f"{part}_X"), getattr(images, f"{part}_y")
