"""MNIST: read exactly as it is, or a clear error, or a stated substitute."""

from __future__ import annotations

import gzip
import os
import socket
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from ocboost.datasets import load_faces, load_mnist, mnist
from ocboost.errors import InputError
from tests.datasets.conftest import both

REAL = os.environ.get("OCBOOST_DATA")


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

    def test_unusual_numbers_are_reported(self, digits, monkeypatch):
        expected = "MNIST has 60,000 training and 10,000 test images; these files hold 7 and 4, so"
        assert expected in load_mnist(digits[0]).unusual
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
            return mnist.read_idx(path, n_dimensions)

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


@pytest.mark.skipif(not REAL, reason="OCBOOST_DATA does not say where the data are")
def test_mnist():
    if not (Path(REAL) / "mnist").is_dir():
        pytest.skip("no mnist there")
    images = load_mnist(REAL)
    train = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    test = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert np.bincount(images.train_y).tolist() == train
    assert np.bincount(images.test_y).tolist() == test
    assert images.train_X.shape == (60_000, 28, 28)
    assert images.train_y[:5].tolist() == [5, 0, 4, 1, 9]
