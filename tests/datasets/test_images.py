"""Images of the experiments: read exactly as they are, or a clear error, or a stated substitute."""

from __future__ import annotations

import gzip
import os
import socket
import struct
import sys
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest

from ocboost.datasets import Images, faces, load_faces, load_mnist, mnist
from ocboost.datasets import mnist as idx
from ocboost.errors import InputError, MissingExtraError

Image = pytest.importorskip("PIL.Image")

REAL = os.environ.get("OCBOOST_DATA")
FACES = ["faces24_train", "nonfaces24_train", "faces24_test", "nonfaces24_test"]


def idx_bytes(array, *, shape=None, kind=8):
    shape = array.shape if shape is None else shape
    return bytes([0, 0, kind, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + array.tobytes()


def write_part(folder, part, X, y):
    (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx_bytes(X)))
    (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx_bytes(y)))


@pytest.fixture
def digits(tmp_path):
    """A data folder with a tiny MNIST, and its arrays."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "mnist"
    folder.mkdir()
    arrays = {}
    for part, n in (("train", 7), ("t10k", 4)):
        X = rng.integers(0, 256, (n, 28, 28), dtype=np.uint8)
        y = rng.integers(0, 10, n, dtype=np.uint8)
        write_part(folder, part, X, y)
        arrays[part] = X, y
    return tmp_path, arrays


@pytest.fixture
def mosaics(tmp_path):
    """A data folder with mosaics of 2 × 3 and 1 × 5 tiles, and the tiles."""
    folder = tmp_path / "faces"
    folder.mkdir()
    rng = np.random.default_rng(1)
    tiles = {}
    for name in FACES:
        rows, columns = (2, 3) if name.startswith("faces") else (1, 5)
        tiles[name] = rng.integers(0, 256, (rows * columns, 24, 24), dtype=np.uint8)
        mosaic = np.zeros((24 * rows, 24 * columns), np.uint8)
        for k, tile in enumerate(tiles[name]):
            top, left = 24 * (k // columns), 24 * (k % columns)
            mosaic[top : top + 24, left : left + 24] = tile
        Image.fromarray(mosaic).save(folder / f"{name}.png")
    return tmp_path, tiles


def png(width, height, rows, *, depth=8, colour=0):
    """A PNG with any header, and whatever bytes are to be its pixels."""

    def chunk(name, content):
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


class TestImages:
    def test_shuffled_keeps_the_pairs(self, mosaics):
        images = load_faces(mosaics[0])
        mixed = images.shuffled(3)
        for part in ("train", "test"):
            before = {x.tobytes(): y for x, y in zip(*both(images, part), strict=True)}
            after = {x.tobytes(): y for x, y in zip(*both(mixed, part), strict=True)}
            assert before == after
        assert mixed.source == images.source
        assert not np.array_equal(mixed.train_X, images.train_X)

    def test_shuffled_by_the_seed_alone(self, mosaics):
        images = load_faces(mosaics[0])
        np.testing.assert_array_equal(images.shuffled(3).train_X, images.shuffled(3).train_X)
        assert not np.array_equal(images.shuffled(3).train_X, images.shuffled(4).train_X)

    @pytest.mark.parametrize("seed", [-1, 1.5, True, None])
    def test_bad_seed(self, mosaics, seed):
        with pytest.raises(InputError, match="seed must be an integer of at least 0"):
            load_faces(mosaics[0]).shuffled(seed)

    @pytest.mark.parametrize("name", ["train_X", "train_y", "test_X", "test_y"])
    def test_arrays_are_checked(self, name):
        X, y = np.zeros((2, 3, 3), np.uint8), np.zeros(2, np.int8)
        good = {"train_X": X, "train_y": y, "test_X": X, "test_y": y}
        Images(**good, source="")
        for bad in (good[name].astype(float), good[name][0], good[name][:1] if name[-1] == "y" else X[:, 0]):
            with pytest.raises(InputError, match=f"{name} must"):
                Images(**{**good, name: np.asarray(bad)}, source="")
        with pytest.raises(InputError, match="test_X must have images of"):
            Images(**{**good, "test_X": np.zeros((2, 4, 4), np.uint8)}, source="")


def both(images, part):
    return getattr(images, f"{part}_X"), getattr(images, f"{part}_y")


class TestMnistFiles:
    def test_as_written(self, digits):
        folder, arrays = digits
        images = load_mnist(folder)
        for part, name in (("train", "train"), ("test", "t10k")):
            X, y = both(images, part)
            np.testing.assert_array_equal(X, arrays[name][0])
            np.testing.assert_array_equal(y, arrays[name][1])
            assert (X.dtype, y.dtype) == (np.uint8, np.int8)
        assert "7 training and 4 test images of 28 × 28" in images.source
        assert str(folder) in images.source

    @pytest.mark.parametrize("name", ["train-images-idx3", "train-labels-idx1", "t10k-images-idx3"])
    def test_missing_file(self, digits, name):
        path = digits[0] / "mnist" / f"{name}-ubyte.gz"
        path.unlink()
        with pytest.raises(InputError, match=f"holds mnist/{name}-ubyte.gz; .* Put it there, or leave data"):
            load_mnist(digits[0])

    def test_no_folder(self, tmp_path):
        with pytest.raises(InputError, match="there is no file"):
            load_mnist(tmp_path / "nowhere")

    def test_a_file_in_the_place_of_the_folder(self, digits):
        file = digits[0] / "mnist" / "train-images-idx3-ubyte.gz"
        for load in (load_mnist, load_faces):
            with pytest.raises(InputError, match=r"data must be a folder; got the file .*-ubyte\.gz'\. Give"):
                load(file)

    def test_other_numbers_are_told(self, digits, monkeypatch):
        told = "MNIST has 60,000 training and 10,000 test images; these files hold 7 and 4, so"
        assert told in load_mnist(digits[0]).unusual
        monkeypatch.setattr(mnist, "_TRAIN", 7)
        monkeypatch.setattr(mnist, "_TEST", 4)
        assert load_mnist(digits[0]).unusual == ""

    def test_tested_on_what_was_trained_on(self, digits):
        write_part(digits[0] / "mnist", "t10k", *digits[1]["train"])
        with pytest.raises(InputError, match=r"t10k-images.* must hold other images than '.*train-images"):
            load_mnist(digits[0])

    def test_wrong_size_of_image(self, digits):
        write_part(digits[0] / "mnist", "train", np.zeros((5, 27, 28), np.uint8), np.zeros(5, np.uint8))
        with pytest.raises(InputError, match=r"train-images.* must hold images of 28 × 28 .*\(5, 27, 28\)"):
            load_mnist(digits[0])

    def test_no_images(self, digits):
        write_part(digits[0] / "mnist", "train", np.zeros((0, 28, 28), np.uint8), np.zeros(0, np.uint8))
        with pytest.raises(InputError, match="must hold images"):
            load_mnist(digits[0])

    def test_other_number_of_labels(self, digits):
        write_part(digits[0] / "mnist", "t10k", np.zeros((5, 28, 28), np.uint8), np.zeros(6, np.uint8))
        with pytest.raises(InputError, match=r"t10k-labels.* a label for each of the 5 images; it holds 6"):
            load_mnist(digits[0])

    def test_label_that_is_no_digit(self, digits):
        y = np.array([0, 10, 200], np.uint8)
        write_part(digits[0] / "mnist", "train", np.zeros((3, 28, 28), np.uint8), y)
        with pytest.raises(InputError, match="digits 0 … 9; it holds 200"):
            load_mnist(digits[0])


class TestIdx:
    @pytest.fixture
    def read(self, tmp_path):
        def read(content, n_dimensions=2):
            path = tmp_path / "some.gz"
            path.write_bytes(content)
            return idx.read_idx(path, n_dimensions)

        return read

    SMALL = np.arange(6, dtype=np.uint8).reshape(2, 3)

    def test_exact(self, read):
        np.testing.assert_array_equal(read(gzip.compress(idx_bytes(self.SMALL))), self.SMALL)
        assert read(gzip.compress(idx_bytes(np.zeros((0, 3), np.uint8)))).shape == (0, 3)

    @pytest.mark.parametrize(
        ("content", "text"),
        [
            (b"", "it begins with nothing"),
            (idx_bytes(SMALL, kind=13), "begins with 00 00 0d 02 and not 00 00 08 02"),
            (idx_bytes(SMALL[0]), "begins with 00 00 08 01"),
            (idx_bytes(SMALL)[:9], "ends within its header"),
            (idx_bytes(SMALL)[:-1], "promises 6 bytes and only 5 follow"),
            (idx_bytes(SMALL) + b"x", "promises 6 bytes and more follow"),
            (idx_bytes(SMALL, shape=(2**32 - 1, 2**32 - 1)), "promises 18,446,744,065,119,617,025 bytes"),
            (idx_bytes(SMALL, shape=(2**28, 1)), "promises 268,435,456 bytes and only 6"),
        ],
    )
    def test_hostile_content(self, read, content, text):
        with pytest.raises(InputError, match=f"some.gz' must be an idx file .*{text}.* fresh copy"):
            read(gzip.compress(content))

    def test_a_promise_takes_no_memory(self, read):
        content = gzip.compress(idx_bytes(self.SMALL, shape=(2**28, 1)))
        tracemalloc.start()
        try:
            with pytest.raises(InputError):
                read(content)
            assert tracemalloc.get_traced_memory()[1] < 20_000_000
        finally:
            tracemalloc.stop()

    def test_a_bomb_is_not_unpacked(self, read):
        content = gzip.compress(idx_bytes(self.SMALL) + bytes(100_000_000), compresslevel=1)
        tracemalloc.start()
        try:
            with pytest.raises(InputError, match="more follow"):
                read(content)
            assert tracemalloc.get_traced_memory()[1] < 20_000_000
        finally:
            tracemalloc.stop()

    def test_every_cut(self, read):
        content = gzip.compress(idx_bytes(self.SMALL))
        for end in range(len(content)):
            with pytest.raises(InputError, match=r"some\.gz.* fresh copy"):
                read(content[:end])

    def test_flipped_bits_never_give_other_values(self, read):
        content = gzip.compress(idx_bytes(self.SMALL), mtime=0)
        refused = 0
        for place in range(len(content)):
            damaged = bytearray(content)
            damaged[place] ^= 0x10
            try:
                np.testing.assert_array_equal(read(bytes(damaged)), self.SMALL)  # the header's idle bytes
            except InputError:
                refused += 1
        assert refused > len(content) // 2

    def test_not_gzip(self, read):
        with pytest.raises(InputError, match="cannot be unpacked"):
            read(idx_bytes(self.SMALL))


class TestMnistWithoutFiles:
    @pytest.fixture
    def calls(self, monkeypatch):
        """What fetch_openml was asked for; set ``answer`` to give or raise something."""

        class Calls(list):
            answer: object = OSError("no network")

        calls = Calls()

        def fetch(*args, **options):
            calls.append((args, options, socket.getdefaulttimeout()))
            if isinstance(calls.answer, BaseException):
                raise calls.answer
            return calls.answer

        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
        return calls

    def check_digits(self, images):
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        np.testing.assert_array_equal(np.concatenate([images.train_X, images.test_X]).reshape(-1, 64), X)
        np.testing.assert_array_equal(np.concatenate([images.train_y, images.test_y]), y)
        assert (len(images.train_y), images.train_X.dtype, images.train_X.max()) == (1200, np.uint8, 16)
        assert "not MNIST: 1,200 training and 597 test images of 8 × 8" in images.source

    @pytest.mark.parametrize("error", [OSError("x"), TimeoutError("x"), ValueError("x"), UserWarning("x")])
    def test_falls_back(self, calls, error):
        calls.answer = error
        self.check_digits(load_mnist(None))
        assert calls[0][0] == ("mnist_784",)
        assert calls[0][2] == mnist._TIMEOUT
        assert socket.getdefaulttimeout() is None

    def test_interrupt_is_no_failure(self, calls):
        calls.answer = KeyboardInterrupt()
        with pytest.raises(KeyboardInterrupt):
            load_mnist(None)
        assert socket.getdefaulttimeout() is None

    def test_offline_asks_nobody(self, calls):
        self.check_digits(load_mnist(None, online=False))
        assert not calls

    def test_scikit_learn_understands_the_request(self, monkeypatch, tmp_path):
        hosts = []

        def nowhere(host, *_args, **_options):
            hosts.append(host)
            raise socket.gaierror("no such host")

        monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
        monkeypatch.setattr(socket, "getaddrinfo", nowhere)
        self.check_digits(load_mnist(None))
        assert hosts

    def downloaded(self):
        X = np.zeros((70_000, 784), np.uint8)
        X[:, 5] = np.arange(70_000) % 256
        return X, (np.arange(70_000) % 10).astype(str).astype(object)

    def test_download(self, calls):
        X, y = calls.answer = self.downloaded()
        images = load_mnist(None)
        np.testing.assert_array_equal(images.train_X, X[:60_000].reshape(-1, 28, 28))
        np.testing.assert_array_equal(images.test_X, X[60_000:].reshape(-1, 28, 28))
        np.testing.assert_array_equal(images.test_y, y[60_000:].astype(int))
        assert "MNIST from OpenML" in images.source
        assert "60,000 training and 10,000 test" in images.source

    @pytest.mark.parametrize("bad", ["short", "values", "labels"])
    def test_download_that_is_not_mnist(self, calls, bad):
        X, y = self.downloaded()
        if bad == "short":
            X, y = X[:-1], y[:-1]
        elif bad == "values":
            X = X.astype(np.float32)
            X[7, 7] = 0.5
        else:
            y[3] = "11"
        calls.answer = X, y
        self.check_digits(load_mnist(None))


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

    def test_other_numbers_are_told(self, mosaics, monkeypatch):
        told = "these mosaics hold 6 and 5 for training, 6 and 5 for testing"
        assert told in load_faces(mosaics[0]).unusual
        monkeypatch.setattr(faces, "_FACES", 6)
        monkeypatch.setattr(faces, "_OTHERS", 5)
        assert load_faces(mosaics[0]).unusual == ""

    @pytest.mark.parametrize("kind", ["faces", "nonfaces"])
    def test_tested_on_what_was_trained_on(self, mosaics, kind):
        train, test = (mosaics[0] / "faces" / f"{kind}24_{part}.png" for part in ("train", "test"))
        test.write_bytes(train.read_bytes())
        with pytest.raises(InputError, match=f"{kind}24_test.png' must hold other .*{kind}24_train.png"):
            load_faces(mosaics[0])

    @pytest.mark.parametrize("name", FACES)
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
        with pytest.raises(MissingExtraError, match=r"'pillow'.*ocboost\[reproduce\]"):
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
class TestRealFiles:
    def test_mnist(self):
        if not (Path(REAL) / "mnist").is_dir():
            pytest.skip("no mnist there")
        images = load_mnist(REAL)
        train = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
        test = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
        assert np.bincount(images.train_y).tolist() == train
        assert np.bincount(images.test_y).tolist() == test
        assert images.train_X.shape == (60_000, 28, 28)
        assert images.train_y[:5].tolist() == [5, 0, 4, 1, 9]

    def test_faces(self):
        if not (Path(REAL) / "faces").is_dir():
            pytest.skip("no faces there")
        images = load_faces(REAL)
        for part in ("train", "test"):
            X, y = both(images, part)
            assert X.shape == (100_000, 24, 24)
            assert y.tolist() == [1] * 7_000 + [-1] * 93_000
            mean = X[:7_000].mean(0)
            assert mean[8:11, 5:9].mean() < mean[12:15, 5:9].mean() - 10  # eyes are darker than cheeks
