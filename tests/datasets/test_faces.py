"""Faces: read exactly as they are, or a clear error, or a stated substitute."""

from __future__ import annotations

import os
import struct
import sys
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest

from ocboost.datasets import faces, load_faces
from ocboost.errors import InputError, MissingExtraError
from tests.datasets.conftest import MOSAICS, both

Image = pytest.importorskip("PIL.Image")
REAL = os.environ.get("OCBOOST_DATA")


def png(width, height, rows, *, depth=8, colour=0):
    """A PNG with any header and any bytes for its pixels."""

    def chunk(name, content):
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


class TestFaceMosaics:
    def test_as_made(self, mosaics):
        folder, tiles = mosaics
        images = load_faces(folder)
        for part in ("train", "test"):
            X, y = both(images, part)
            expected = np.concatenate([tiles[f"faces24_{part}"], tiles[f"nonfaces24_{part}"]])
            np.testing.assert_array_equal(X, expected)
            assert y.tolist() == [1] * 6 + [-1] * 5
        assert "6 faces and 5 others for training, 6 faces and 5 others for testing" in images.source

    def test_unusual_numbers_are_reported(self, mosaics, monkeypatch):
        expected = "these mosaics hold 6 and 5 for training, 6 and 5 for testing"
        assert expected in load_faces(mosaics[0]).unusual
        monkeypatch.setattr(faces, "_FACES", 6)
        monkeypatch.setattr(faces, "_OTHERS", 5)
        assert load_faces(mosaics[0]).unusual == ""

    @pytest.mark.parametrize("kind", ["faces", "nonfaces"])
    def test_tested_on_what_was_trained_on(self, mosaics, kind):
        train, test = (mosaics[0] / "faces" / f"{kind}24_{part}.png" for part in ("train", "test"))
        test.write_bytes(train.read_bytes())
        with pytest.raises(InputError, match=f"{kind}24_test.png' must hold other .*{kind}24_train.png"):
            load_faces(mosaics[0])

    @pytest.mark.parametrize("name", MOSAICS)
    def test_missing_file(self, mosaics, name):
        (mosaics[0] / "faces" / f"{name}.png").unlink()
        with pytest.raises(InputError, match=f"holds faces/{name}.png; .* or leave data out"):
            load_faces(mosaics[0])

    def refuse(self, mosaics, content, text):
        (mosaics[0] / "faces" / "faces24_test.png").write_bytes(content)
        with pytest.raises(InputError, match=f"faces24_test.png' must {text}.* Get a fresh copy"):
            load_faces(mosaics[0])

    def test_no_tiles(self, mosaics):
        self.refuse(mosaics, png(24, 25, bytes(25 * 25)), "consist of tiles .* it has 24 × 25")
        self.refuse(mosaics, png(25, 24, bytes(26 * 24)), "consist of tiles .* it has 25 × 24")

    def test_colours(self, mosaics):
        self.refuse(mosaics, png(24, 24, bytes(73 * 24), colour=2), "be grey .* 'RGB'")
        self.refuse(mosaics, png(24, 24, bytes(49 * 24), depth=16), "be grey .* 'I;16")

    @pytest.mark.parametrize("rows", [3_000, 5_000, 80_000])  # beyond our limit, pillow's warning, its error
    def test_bombs(self, mosaics, rows):
        content = png(24_000, 24 * (rows // 24 + 1), b"")
        tracemalloc.start()
        try:
            self.refuse(mosaics, content, "have at most 67,108,864 pixels")
            assert tracemalloc.get_traced_memory()[1] < 20_000_000
        finally:
            tracemalloc.stop()

    def test_damage(self, mosaics):
        self.refuse(mosaics, b"", "be a PNG image; it cannot be read")
        self.refuse(mosaics, b"GIF89a" + bytes(100), "be a PNG image")

    def test_cut_short(self, mosaics):
        content = (mosaics[0] / "faces" / "faces24_test.png").read_bytes()
        for end in range(0, len(content) - 30, 97):
            self.refuse(mosaics, content[:end], "be a PNG image")

    def test_flipped_bits_never_give_other_pixels(self, mosaics):
        path = mosaics[0] / "faces" / "faces24_test.png"
        smooth = np.add.outer(np.arange(240), np.arange(240)).astype(np.uint8)  # long runs hide damage best
        Image.fromarray(smooth).save(path)
        content = path.read_bytes()
        for place in range(len(content) - 12):  # up to the end mark
            damaged = bytearray(content)
            damaged[place] ^= 0x04
            self.refuse(mosaics, bytes(damaged), "")

    def test_other_formats_are_not_tried(self, mosaics):
        path = mosaics[0] / "faces" / "faces24_test.png"
        Image.fromarray(np.zeros((24, 24), np.uint8)).save(path, format="BMP")
        self.refuse(mosaics, path.read_bytes(), "be a PNG image")

    def test_pillow_is_missing(self, mosaics, monkeypatch):
        monkeypatch.setitem(sys.modules, "PIL", None)
        with pytest.raises(MissingExtraError, match=r"'pillow'.*\[reproduce\]"):
            load_faces(mosaics[0])


class TestFacesWithoutFiles:
    def test_scikit_image(self, monkeypatch):
        windows = np.random.default_rng(2).random((200, 25, 25))

        class Data:
            lfw_subset = staticmethod(lambda: windows)

        monkeypatch.setitem(sys.modules, "skimage.data", Data)
        monkeypatch.setitem(sys.modules, "skimage", Data)
        images = load_faces(None)
        expected = np.rint(255 * windows[:, :24, :24])
        np.testing.assert_array_equal(images.train_X[images.train_y == 1], expected[:60])
        np.testing.assert_array_equal(images.train_X[images.train_y == -1], expected[100:160])
        np.testing.assert_array_equal(images.test_X[images.test_y == 1], expected[60:100])
        np.testing.assert_array_equal(images.test_X[images.test_y == -1], expected[160:])
        assert "inside scikit-image" in images.source
        assert "60 faces and 60 others for training, 40 faces and 40 others" in images.source

    def test_the_installed_one(self):
        pytest.importorskip("skimage")
        assert load_faces(None).train_X.shape[1:] == (24, 24)

    def test_drawn(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "skimage.data", None)
        images = load_faces(None)
        assert "Drawn faces, no photographs" in images.source
        assert "300 faces and 300 others for training, 200 faces and 200 others" in images.source
        np.testing.assert_array_equal(images.train_X, faces._toys().train_X)  # the same every time
        assert not np.array_equal(images.train_X[:200], images.test_X[:200])
        eyes = images.test_X[:, 7:11, 5:9].mean((1, 2)) - images.test_X[:, 12:16, 5:9].mean((1, 2))
        right = np.where(eyes < -15, 1, -1) == images.test_y
        assert right.mean() > 0.7  # dark above bright tells most of them


@pytest.mark.skipif(not REAL, reason="OCBOOST_DATA does not say where the data are")
def test_faces():
    if not (Path(REAL) / "faces").is_dir():
        pytest.skip("no faces there")
    images = load_faces(REAL)
    for part in ("train", "test"):
        X, y = both(images, part)
        assert X.shape == (100_000, 24, 24)
        assert y.tolist() == [1] * 7_000 + [-1] * 93_000
        mean = X[:7_000].mean(0)
        assert mean[8:11, 5:9].mean() < mean[12:15, 5:9].mean() - 10  # eyes are darker than cheeks
