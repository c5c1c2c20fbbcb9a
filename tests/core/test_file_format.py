"""The file format: the same tree or a clear error, never a crash."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import ocboost
from ocboost._core import file_format
from ocboost.errors import ModelFileError
from tests.support.saved_sketches import (
    assert_refused,
    make_sketch,
    put_together,
    reseal,
)
from tests.support.saved_trees import arrays_of


@pytest.fixture
def file(tmp_path):
    """A small saved model."""
    path = tmp_path / "model.ocb"
    make_sketch("head", J=5).save(path)
    return path


# Damage -----------------------------------------------------------------------------------------------


def test_cut_short_at_any_length(file):
    data = file.read_bytes()
    lengths = {*range(0, 120), *range(120, len(data), 37), len(data) - 33, len(data) - 32, len(data) - 1}
    for length in sorted(lengths):
        file.write_bytes(data[:length])
        assert_refused(file)


def test_one_bit_flipped_anywhere(file):
    data = file.read_bytes()
    bits = [*range(0, 8 * 400, 3), *range(8 * 400, 8 * len(data), 101), 8 * len(data) - 1]
    for bit in bits:
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        file.write_bytes(damaged)
        assert_refused(file)


def test_a_block_of_zeros_or_noise_in_the_middle(file):
    data = file.read_bytes()
    noise = np.random.default_rng(124).bytes(64)
    for start in range(0, len(data) - 64, 64):
        for block in (bytes(64), noise):
            file.write_bytes(data[:start] + block + data[start + 64 :])
            if file.read_bytes() != data:
                assert_refused(file)


def test_more_at_the_end(file):
    file.write_bytes(file.read_bytes() + b"\0" * 32)
    assert_refused(file)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 15, 16, 47, 48, 1000, 100_000])
def test_random_bytes(size, tmp_path):
    path = tmp_path / "noise"
    path.write_bytes(np.random.default_rng(size).bytes(size))
    assert_refused(path, match="not an ocboost model")


def test_other_formats(tmp_path):
    path = tmp_path / "other"
    np.savez(tmp_path / "other.npz", alpha=np.ones(3))
    for content in (b"", b"\x80\x04N.", b'{"alpha": [1, 2]}', (tmp_path / "other.npz").read_bytes()):
        path.write_bytes(content)
        assert_refused(path, match="not an ocboost model")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        ocboost.BoostingSketch.load(tmp_path / "nowhere")


def test_a_directory(tmp_path):
    with pytest.raises((IsADirectoryError, ModelFileError), match=tmp_path.name):
        ocboost.BoostingSketch.load(tmp_path)


def test_saving_into_a_directory_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        make_sketch("paper").save(tmp_path / "nowhere" / "model")


@pytest.mark.parametrize("version", [0, 3, 2**32 - 1])
def test_another_version(version, file):
    data = file.read_bytes()
    file.write_bytes(reseal(data[:8] + struct.pack("<I", version) + data[12:-32]))
    message = assert_refused(file, match=f"version {version}")
    assert f"versions 1 to {file_format.VERSION}" in message


@pytest.mark.parametrize("length", [0, 1, 2**20, 2**31, 2**32 - 1])
def test_a_header_of_another_length_than_it_says(length, file):
    data = file.read_bytes()
    file.write_bytes(reseal(data[:12] + struct.pack("<I", length) + data[16:-32]))
    assert_refused(file)


def test_a_header_as_large_as_the_file(file):
    text = b" " * (2 * file_format.MAX_HEADER)
    file.write_bytes(reseal(struct.pack("<8sII", file_format.MAGIC, file_format.VERSION, len(text)) + text))
    assert_refused(file, match="header")


def test_the_model_of_another_class(tmp_path):
    booster = ocboost.OzaRussell(5)
    booster.update(np.ones(5, dtype=int))
    booster.save(tmp_path / "oza")
    assert_refused(tmp_path / "oza", match=r"OzaRussell.*BoostingSketch")
    make_sketch("paper").save(tmp_path / "sketch")
    with pytest.raises(ModelFileError, match=r"BoostingSketch.*OzaRussell"):
        ocboost.OzaRussell.load(tmp_path / "sketch")


# Headers and trees ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        None,
        [],
        "text",
        1e999,
        {},
        {"kind": "BoostingSketch"},
        {"kind": "BoostingSketch", "parameters": [], "arrays": []},
        {"kind": "BoostingSketch", "parameters": {}, "arrays": {}},
        {"kind": "BoostingSketch", "parameters": {}, "arrays": 3},
        {"kind": "BoostingSketch", "parameters": {}, "arrays": [["W", "f8", [2**62, 2**62]]]},
        {"kind": "BoostingSketch", "parameters": {}, "arrays": [["W", "f8", [-1]]]},
        {"kind": "BoostingSketch", "parameters": {}, "arrays": [["W", "O8", [1]]]},
        {"kind": "BoostingSketch", "parameters": {}, "arrays": [["W", "f8", [1.5]]]},
        {"kind": "BoostingSketch", "parameters": {}, "arrays": [["W", ["f8"], [1]]]},
        {"kind": "BoostingSketch", "parameters": {}, "arrays": [[["W"], "f8", [0]]]},
        {"kind": "BoostingSketch", "parameters": {}, "arrays": [["W", "f8", 0]]},
        {"kind": "BoostingSketch", "parameters": {}, "arrays": [["W", "f8", [0] * 100]]},
        {"kind": ["BoostingSketch"], "parameters": {}, "arrays": []},
    ],
)
def test_headers_of_version_1_that_make_no_sense(header, file):
    for body in (b"", bytes(8)):
        file.write_bytes(put_together(header, body, version=1))
        assert_refused(file)


W = {"kind": "BoostingSketch", "tree": {"n": 1, "none": None, "of": [None, {}]}, "arrays": []}


@pytest.mark.parametrize(
    ("header", "match"),
    [
        (None, "header"),
        ([], "header"),
        ("text", "header"),
        ({}, "kind"),
        ({**W, "kind": ["BoostingSketch"]}, "kind"),
        ({"kind": "BoostingSketch", "tree": {}}, "arrays"),
        ({"kind": "BoostingSketch", "arrays": []}, "tree"),
        ({**W, "tree": []}, "tree"),
        ({**W, "tree": {"W": float("nan")}}, "NaN"),
        ({**W, "tree": {"W": [{"x": float("-inf")}]}}, "Infinity"),
        ({**W, "arrays": 3}, "header"),
        ({**W, "arrays": [["W", "f8", [1]]]}, "no path"),
        ({**W, "arrays": [[[], "f8", [1]]]}, "no path"),
        ({**W, "arrays": [[{"W": 0}, "f8", [1]]]}, "no path"),
        ({**W, "arrays": [[["V", "W"], "f8", [1]]]}, "leads nowhere"),
        ({**W, "arrays": [[["none", "W"], "f8", [1]]]}, "leads nowhere"),
        ({**W, "arrays": [[[0], "f8", [1]]]}, "leads nowhere"),
        ({**W, "arrays": [[[["W"]], "f8", [1]]]}, "leads nowhere"),
        ({**W, "arrays": [[["W", "V"], "f8", [1]]]}, "leads nowhere"),
        ({**W, "arrays": [[["n", 0], "f8", [1]]]}, "leads nowhere"),
        ({**W, "arrays": [[["of", 2], "f8", [1]]]}, "leads nowhere"),
        ({**W, "arrays": [[["of", -1], "f8", [1]]]}, "leads nowhere"),
        ({**W, "arrays": [[["of", True, "V"], "f8", [1]]]}, "leads nowhere"),
        ({**W, "arrays": [[["of", False], "f8", [1]]]}, "leads nowhere"),
        ({**W, "arrays": [[["of", "0"], "f8", [1]]]}, "leads nowhere"),
        ({**W, "arrays": [[["of", 1, 0], "f8", [1]]]}, "leads nowhere"),
        ({**W, "arrays": [[["n"], "f8", [1]]]}, "is taken"),
        ({**W, "arrays": [[["none"], "f8", [1]]]}, "is taken"),
        ({**W, "arrays": [[["of", 1], "f8", [1]]]}, "is taken"),
        ({**W, "arrays": [[["of"], "f8", [1]]]}, "is taken"),
        ({**W, "arrays": [[["W"], "f8", [0]], [["W"], "f8", [1]]]}, "is taken"),
        ({**W, "arrays": [[["of", 0], "f8", [0]], [["of", 0, 0], "f8", [1]]]}, "leads nowhere"),
        ({**W, "arrays": [[["W"], "f8", [2**62, 2**62]]]}, "shape"),
        ({**W, "arrays": [[["W"], "f8", [0, 10**30]]]}, "shape"),
        ({**W, "arrays": [[["W"], "f8", [1] * 9]]}, "shape"),
        ({**W, "arrays": [[["W"], "f8", [-1]]]}, "shape"),
        ({**W, "arrays": [[["W"], "f8", [1.0]]]}, "shape"),
        ({**W, "arrays": [[["W"], "f8", 1]]}, "shape"),
        ({**W, "arrays": [[["W"], "f8", [2]]]}, "size"),
        ({**W, "arrays": [[["W"], "f8", [0]]]}, "do not fill it"),
        ({**W, "arrays": [[["W"], "O8", [1]]]}, "O8"),
        ({**W, "arrays": [[["W"], ["f8"], [1]]]}, "header"),
        ({**W, "arrays": [[["W"], "f8"]]}, "header"),
    ],
)
def test_headers_that_make_no_sense(header, match, file):
    file.write_bytes(put_together(header, bytes(8)))
    assert_refused(file, match)


def test_a_tree_of_arrays_and_plain_values_comes_back():
    tree = {
        "none": None,
        "flags": [True, False],
        "n": 2**100,
        "x": 0.1,
        "text": "ä\n\0",
        "empty": [{}, [], np.empty((0, 3), np.float32)],
        "deep": {"a/b": [1, {"": np.arange(6).reshape(2, 3)}], "0": np.array(1.5)},
    }
    back = file_format.from_bytes(file_format.to_bytes("x", tree), "x")
    assert back.keys() == tree.keys()
    assert [back[key] for key in ("none", "flags", "n", "x", "text")] == [
        None,
        [True, False],
        2**100,
        0.1,
        "ä\n\0",
    ]
    assert arrays_of(back).keys() == arrays_of(tree).keys()
    for path, array in arrays_of(back).items():
        np.testing.assert_array_equal(array, arrays_of(tree)[path], strict=True)
        assert array.flags.writeable


def test_what_no_tree_holds_is_not_written():
    for value in (1.0 + 0j, b"x", {1, 2}, object()):
        with pytest.raises(TypeError, match="not JSON serializable"):
            file_format.to_bytes("x", {"a": value})
    for value in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="float"):
            file_format.to_bytes("x", {"a": [value]})


def test_levels_without_end_are_neither_written_nor_read(file):
    tree = inner = {}
    for _ in range(file_format.MAX_TREE_DEPTH):
        inner["a"] = inner = {}
    assert file_format.from_bytes(file_format.to_bytes("x", tree), "x") == tree
    inner["a"] = {}
    with pytest.raises(ocboost.InputError, match=r"at most 64 levels deep; got more at 'a\.a\.a"):
        file_format.to_bytes("x", tree)
    file.write_bytes(put_together({"kind": "BoostingSketch", "tree": {"a": tree}, "arrays": []}, b""))
    assert_refused(file, "too many levels")


def test_a_header_nested_without_end(file):
    text = b"[" * 100_000
    file.write_bytes(reseal(struct.pack("<8sII", file_format.MAGIC, file_format.VERSION, len(text)) + text))
    assert_refused(file)


def test_a_header_that_is_not_text(file):
    text = b"\xff\xfe" * 20
    file.write_bytes(reseal(struct.pack("<8sII", file_format.MAGIC, file_format.VERSION, len(text)) + text))
    assert_refused(file)
