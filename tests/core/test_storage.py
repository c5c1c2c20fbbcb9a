"""Saving and loading: the same model or a clear error, never a crash and never a wrong model."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import struct

import numpy as np
import pytest

import ocboost
from ocboost._core import storage
from ocboost._report.output import OutputFolder
from ocboost.errors import ModelFileError, OcboostError
from tests.support.makers import independent_columns, newest, newest_from, random_margins
from tests.support.saved_trees import arrays_of

KINDS = {
    "paper": {},
    "head": {"head": 100},
    "partly filled head": {"head": 5000},
    "window": {"head": 70, "tail": False},
    "band": {"order": 3, "head": 20},
    "forgetting": {"forgetting": 0.99, "head": 30, "smoothing": 0.2},
    "theorem": {"correction": "theorem", "smoothing": 5.0},
    "listing": {"correction": "listing", "order": 1, "smoothing": 5.0},
    "heavy": {"head": 60, "keep": "heavy", "forgetting": 0.999},
    "heavy, no pairs": {"memory": 2500, "keep": "heavy"},
    "heavy, not full": {"head": 5000, "keep": "heavy"},
}


def make(name, J=20, n=300):
    rng = np.random.default_rng(120)
    sketch = newest_from(random_margins(rng, 100, J), **KINDS[name])
    sketch.update_many(random_margins(rng, n, J), batch_size=8, sample_weight=rng.uniform(0, 2, n))
    return sketch


@pytest.fixture
def file(tmp_path):
    """A small saved model."""
    path = tmp_path / "model.ocb"
    make("head", J=5).save(path)
    return path


def reseal(body):
    """Bytes with a checksum that fits, as a hostile writer would make it."""
    return body + hashlib.sha256(body).digest()


def taken_apart(data):
    """The header of a saved model as a dict, and the bytes of its arrays."""
    magic, version, length = struct.unpack_from("<8sII", data)
    assert (magic, version) == (storage.MAGIC, storage.VERSION)
    return json.loads(data[16 : 16 + length]), data[16 + length : -32]


def put_together(header, body, version=storage.VERSION):
    text = json.dumps(header).encode()
    return reseal(struct.pack("<8sII", storage.MAGIC, version, len(text)) + text + body)


def assert_refused(path, match=None):
    with pytest.raises(ModelFileError, match=match) as caught:
        ocboost.BoostingSketch.load(path)
    assert isinstance(caught.value, OcboostError)
    assert str(path) in str(caught.value)
    return str(caught.value)


# The same behaviour -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_a_loaded_sketch_goes_on_as_the_saved_one(name, tmp_path):
    sketch = make(name)
    sketch.save(tmp_path / "model")
    loaded = ocboost.BoostingSketch.load(tmp_path / "model")
    assert type(loaded) is ocboost.BoostingSketch
    for attribute in (
        "n_hypotheses",
        "order",
        "head",
        "tail",
        "smoothing",
        "forgetting",
        "correction",
        "n_seen",
        "n_head",
        "diverged",
    ):
        assert getattr(loaded, attribute) == getattr(sketch, attribute)
    np.testing.assert_array_equal(loaded.alpha, sketch.alpha)
    more = random_margins(np.random.default_rng(121), 1000, 20)
    for start in range(0, 1000, 50):
        part = more[start : start + 50]
        if start < 500:
            for row in part:
                sketch.update(row, sample_weight=0.5)
                loaded.update(row, sample_weight=0.5)
        else:
            sketch.update_many(part, batch_size=33)
            loaded.update_many(part, batch_size=33)
        np.testing.assert_array_equal(loaded.alpha, sketch.alpha)
    assert loaded.n_seen == sketch.n_seen


@pytest.mark.parametrize("name", KINDS)
def test_saving_what_was_loaded_gives_the_same_bytes(name, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    make(name).save(first)
    ocboost.BoostingSketch.load(first).save(second)
    assert second.read_bytes() == first.read_bytes()


def test_an_empty_sketch_and_a_decayed_one(tmp_path):
    margins = random_margins(np.random.default_rng(122), 50, 6)
    for sketch in (
        newest(6),
        newest(6, head=9, tail=False),
        make("head", J=6),
    ):
        sketch.decay(0.3)
        sketch.save(tmp_path / "model")
        loaded = ocboost.BoostingSketch.load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.alpha, sketch.alpha)
        for booster in (sketch, loaded):
            booster.update_many(margins)
        np.testing.assert_array_equal(loaded.alpha, sketch.alpha)


def test_a_loaded_sketch_merges_as_the_saved_one(tmp_path):
    a, b = make("head"), make("head", n=170)
    a.save(tmp_path / "a")
    b.save(tmp_path / "b")
    loaded = [ocboost.BoostingSketch.load(tmp_path / name) for name in "ab"]
    np.testing.assert_array_equal(loaded[0].merge(loaded[1]).alpha, a.merge(b).alpha)


def test_divergence_is_not_forgotten(tmp_path):
    rng = np.random.default_rng(123)
    sketch = newest(400, correction="listing", smoothing=0.01)
    sketch.update_many(independent_columns(rng, 400, rng.uniform(0.5, 0.65, 400)))
    assert sketch.diverged
    sketch.save(tmp_path / "model")
    loaded = ocboost.BoostingSketch.load(tmp_path / "model")
    assert loaded.diverged
    np.testing.assert_array_equal(loaded.alpha, sketch.alpha)


def test_the_file_is_no_pickle_and_holds_no_square(tmp_path):
    sketch = newest(1000, order=10)
    sketch.update(np.ones(1000, dtype=int))
    sketch.save(tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    assert data.startswith(storage.MAGIC)
    assert len(data) < 2 * 1000 * 10 * 8 + 200 * 1000


def test_a_path_may_be_text(tmp_path):
    make("paper").save(str(tmp_path / "model"))
    assert ocboost.BoostingSketch.load(str(tmp_path / "model")).n_seen == 400


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
        make("paper").save(tmp_path / "nowhere" / "model")


@pytest.mark.parametrize("version", [0, 3, 2**32 - 1])
def test_another_version(version, file):
    data = file.read_bytes()
    file.write_bytes(reseal(data[:8] + struct.pack("<I", version) + data[12:-32]))
    message = assert_refused(file, match=f"version {version}")
    assert f"versions 1 to {storage.VERSION}" in message


@pytest.mark.parametrize("length", [0, 1, 2**20, 2**31, 2**32 - 1])
def test_a_header_of_another_length_than_it_says(length, file):
    data = file.read_bytes()
    file.write_bytes(reseal(data[:12] + struct.pack("<I", length) + data[16:-32]))
    assert_refused(file)


def test_a_header_as_large_as_the_file(file):
    text = b" " * (2 * storage.MAX_HEADER)
    file.write_bytes(reseal(struct.pack("<8sII", storage.MAGIC, storage.VERSION, len(text)) + text))
    assert_refused(file, match="header")


def test_the_model_of_another_class(tmp_path):
    booster = ocboost.OzaRussell(5)
    booster.update(np.ones(5, dtype=int))
    booster.save(tmp_path / "oza")
    assert_refused(tmp_path / "oza", match=r"OzaRussell.*BoostingSketch")
    make("paper").save(tmp_path / "sketch")
    with pytest.raises(ModelFileError, match=r"BoostingSketch.*OzaRussell"):
        ocboost.OzaRussell.load(tmp_path / "sketch")


# Malice: the checksum fits, the contents do not ---------------------------------------------------------


@pytest.mark.parametrize("name", ["head", "window", "forgetting", "paper", "heavy"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1.0])
def test_arrays_of_impossible_numbers(value, name, tmp_path):
    path = tmp_path / "model"
    make(name, J=5).save(path)
    tree = storage.load(path, "BoostingSketch")
    filled = 0
    for (key,), array in arrays_of(tree).items():
        if array.dtype.kind != "f" or array.size == 0:
            continue
        if value == -1.0 and "alpha" in key:
            continue  # the one array that may be negative
        storage.save(path, "BoostingSketch", {**tree, key: np.full_like(array, value)})
        assert_refused(path)
        filled += 1
    assert filled >= 2


@pytest.mark.parametrize("name", ["head", "window", "forgetting", "paper", "heavy"])
def test_one_nan_anywhere(name, tmp_path):
    path = tmp_path / "model"
    make(name, J=5).save(path)
    tree = storage.load(path, "BoostingSketch")
    for (key,), array in arrays_of(tree).items():
        if array.dtype.kind != "f":
            continue
        for place in range(0, array.size, max(1, array.size // 7)):
            spoilt = array.copy()
            spoilt.flat[place] = np.nan
            storage.save(path, "BoostingSketch", {**tree, key: spoilt})
            assert_refused(path)


@pytest.mark.parametrize("value", [-1, 1, 2**31 - 1, -(2**31), 2**62, -(2**62)])
@pytest.mark.parametrize("name", ["head", "window", "forgetting", "paper", "heavy"])
def test_arrays_of_other_whole_numbers(name, value, tmp_path):
    # Many of these are models that could have been; those that could not must be refused, and those that are
    # let in must go on like any other.
    path = tmp_path / "model"
    make(name, J=5).save(path)
    tree = storage.load(path, "BoostingSketch")
    more = random_margins(np.random.default_rng(125), 300, 5)
    for (key,), array in arrays_of(tree).items():
        if array.dtype.kind != "i" or not np.iinfo(array.dtype).min <= value <= np.iinfo(array.dtype).max:
            continue
        for place in [*range(min(array.size, 8)), slice(None)]:
            spoilt = array.copy()
            spoilt.reshape(-1)[place] = value
            storage.save(path, "BoostingSketch", {**tree, key: spoilt})
            try:
                sketch = ocboost.BoostingSketch.load(path)
            except ModelFileError:
                continue
            assert np.isfinite(sketch.alpha).all(), (key, place)
            assert 0 <= sketch.n_head <= sketch.head
            sketch.update_many(more, batch_size=7)
            assert np.isfinite(sketch.alpha).all(), (key, place)


@pytest.mark.parametrize("name", ["head", "forgetting", "paper"])
@pytest.mark.parametrize(("key", "value"), [("alpha", 1e300), ("alpha", -1e300), ("exp_alpha", 1e100)])
def test_weights_that_no_stream_leads_to(key, value, name, tmp_path):
    # A change of α by so much has no exponential, and exp_alpha is nothing but exp(α).
    path = tmp_path / "model"
    make(name, J=5).save(path)
    tree = storage.load(path, "BoostingSketch")
    for place in [*range(5), slice(None)]:
        spoilt = tree[key].copy()
        spoilt.reshape(-1)[place] = value
        storage.save(path, "BoostingSketch", {**tree, key: spoilt})
        assert_refused(path)


@pytest.mark.parametrize("head", [1, 40])
def test_a_head_that_should_have_been_folded(head, tmp_path):
    # There is room for what may come before the next fold, counted from a head that is not full.
    path = tmp_path / "model"
    sketch = newest(5, head=head + 1)
    sketch.update_many(random_margins(np.random.default_rng(126), head, 5))
    assert sketch.n_head == head
    sketch.save(path)
    tree = storage.load(path, "BoostingSketch")
    storage.save(path, "BoostingSketch", {**tree, "head": head})
    assert_refused(path)


@pytest.mark.parametrize("name", ["head", "window", "paper", "heavy", "heavy, not full"])
def test_arrays_of_another_shape_or_missing(name, tmp_path):
    path = tmp_path / "model"
    make(name, J=5).save(path)
    tree = storage.load(path, "BoostingSketch")
    for (key,), array in arrays_of(tree).items():
        others = [{k: a for k, a in tree.items() if k != key}]
        others += [{**tree, key: np.concatenate([array.reshape(-1), np.ones(1, array.dtype)])}]
        others += [{**tree, key: array[None]}]
        if array.size:
            others += [{**tree, key: array.reshape(-1)[:-1]}]
        if array.dtype.kind == "f":
            others += [{**tree, key: array.astype(np.int64)}]
        for changed in others:
            storage.save(path, "BoostingSketch", changed)
            assert_refused(path)
    storage.save(path, "BoostingSketch", {**tree, "more": np.ones(3)})
    assert_refused(path)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_hypotheses", 6),
        ("n_hypotheses", 0),
        ("n_hypotheses", 10**15),
        ("n_hypotheses", "5"),
        ("n_hypotheses", True),
        ("order", 3),
        ("order", 0),
        ("order", 10**15),
        ("head", 0),
        ("head", 2**70),
        ("head", [1]),
        ("tail", 1),
        ("smoothing", -1.0),
        ("smoothing", float("nan")),
        ("smoothing", float("inf")),
        ("smoothing", None),
        ("forgetting", 0.0),
        ("forgetting", 2),
        ("correction", "best"),
        ("correction", ["own"]),
        ("correction", {}),
        ("unknown", 1),
    ],
)
def test_parameters_that_cannot_be(parameter, value, file):
    header, body = taken_apart(file.read_bytes())
    header["tree"][parameter] = value
    file.write_bytes(put_together(header, body))
    assert_refused(file)


def test_parameters_that_are_missing(file):
    header, body = taken_apart(file.read_bytes())
    for parameter in header["tree"]:
        kept = {k: v for k, v in header["tree"].items() if k != parameter}
        file.write_bytes(put_together({**header, "tree": kept}, body))
        assert_refused(file)


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
    back = storage.from_bytes(storage.to_bytes("x", tree), "x")
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
            storage.to_bytes("x", {"a": value})
    for value in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="float"):
            storage.to_bytes("x", {"a": [value]})


def test_levels_without_end_are_neither_written_nor_read(file):
    tree = inner = {}
    for _ in range(storage.MAX_TREE_DEPTH):
        inner["a"] = inner = {}
    assert storage.from_bytes(storage.to_bytes("x", tree), "x") == tree
    inner["a"] = {}
    with pytest.raises(ocboost.InputError, match=r"at most 64 levels deep; got more at 'a\.a\.a"):
        storage.to_bytes("x", tree)
    file.write_bytes(put_together({"kind": "BoostingSketch", "tree": {"a": tree}, "arrays": []}, b""))
    assert_refused(file, "too many levels")


def test_a_header_nested_without_end(file):
    text = b"[" * 100_000
    file.write_bytes(reseal(struct.pack("<8sII", storage.MAGIC, storage.VERSION, len(text)) + text))
    assert_refused(file)


def test_a_header_that_is_not_text(file):
    text = b"\xff\xfe" * 20
    file.write_bytes(reseal(struct.pack("<8sII", storage.MAGIC, storage.VERSION, len(text)) + text))
    assert_refused(file)


# Interruption -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt()])
def test_a_kill_in_the_middle_of_saving_leaves_the_old_file_whole(step, error, tmp_path, monkeypatch):
    path = tmp_path / "model"
    old, new = make("head"), make("head", n=200)
    old.save(path)
    before = path.read_bytes()

    def killed(*args, **kwargs):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(os, step, killed)
        with pytest.raises(type(error)):
            new.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]
    np.testing.assert_array_equal(ocboost.BoostingSketch.load(path).alpha, old.alpha)
    new.save(path)
    np.testing.assert_array_equal(ocboost.BoostingSketch.load(path).alpha, new.alpha)
    assert os.listdir(tmp_path) == ["model"]


def test_the_file_is_whole_before_it_takes_its_name(tmp_path, monkeypatch):
    path = tmp_path / "model"
    sketch = make("head")
    synced, replace, fsync = [], os.replace, os.fsync

    def watched_fsync(descriptor):
        fsync(descriptor)
        synced.append(os.fstat(descriptor).st_ino)

    def watched_replace(source, target):
        assert not path.exists()
        assert os.stat(source).st_ino in synced
        assert len(ocboost.BoostingSketch.load(source).alpha) == 20
        replace(source, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "replace", watched_replace)
    sketch.save(path)
    assert path.exists()
    assert synced


def test_the_rename_is_on_the_disk_when_save_returns(tmp_path, monkeypatch):
    path, calls, replace, fsync = tmp_path / "model", [], os.replace, os.fsync

    def watched_fsync(descriptor):
        folder = os.path.samestat(os.fstat(descriptor), os.stat(tmp_path))
        calls.append("fsync of the folder" if folder else "fsync of the file")
        fsync(descriptor)

    def watched_replace(source, target):
        calls.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "replace", watched_replace)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    make("head").save(path)
    assert calls == ["fsync of the file", "replace", "fsync of the folder"]
    if before:
        assert len(os.listdir("/proc/self/fd")) == before
    calls.clear()
    with OutputFolder(tmp_path, ["a", "b"]) as folder:
        folder.write({"a": b"1", "b": b"2"})
    assert calls == ["fsync of the file"] * 2 + ["replace"] * 2 + ["fsync of the folder"]


@pytest.mark.parametrize("step", ["open", "fsync"])
@pytest.mark.parametrize(
    ("code", "tolerated"),
    [(errno.EINVAL, True), (errno.ENOTSUP, True), (errno.EACCES, True), (errno.EIO, False)],
)
def test_folders_that_cannot_be_synced(step, code, tolerated, tmp_path, monkeypatch):
    path, real = tmp_path / "model", getattr(os, step)

    def fails_for_folders(what, *more):
        if os.path.isdir(what) if step == "open" else stat.S_ISDIR(os.fstat(what).st_mode):
            raise OSError(code, os.strerror(code))
        return real(what, *more)

    sketch = make("head")
    with monkeypatch.context() as patched:
        patched.setattr(os, step, fails_for_folders)
        if tolerated:
            sketch.save(path)
        else:  # the disk has failed, and nobody is to believe that all is well
            with pytest.raises(OSError, match="Input/output error"):
                sketch.save(path)
    assert os.listdir(tmp_path) == ["model"]
    np.testing.assert_array_equal(ocboost.BoostingSketch.load(path).alpha, sketch.alpha)


def test_systems_without_handles_of_folders(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "O_DIRECTORY")
    make("head").save(tmp_path / "model")
    assert os.listdir(tmp_path) == ["model"]


def test_a_saved_file_has_ordinary_permissions(tmp_path):
    (tmp_path / "ordinary").write_bytes(b"")
    make("paper").save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


# Files that say what no stream leads to, with a checksum that fits ---------------------------------------


def resealed(path, key, change):
    """Change one array of a saved file, and its checksum with it."""
    tree = storage.load(path, "BoostingSketch")
    change(tree[key])
    storage.save(path, "BoostingSketch", tree)


def test_a_window_with_a_tail(tmp_path):
    # Its rows hold no pairs, so a tail's weight would have them read from nowhere.
    path = tmp_path / "model"
    sketch = newest(6, head=30, tail=False)
    sketch.update_many(random_margins(np.random.default_rng(240), 40, 6))
    for key in ("W", "total", "alpha"):
        sketch.save(path)
        resealed(path, key, lambda array: array.reshape(-1).__setitem__(-1, 1.0))
        assert_refused(path, "is not a valid model")


@pytest.mark.parametrize(
    ("key", "place", "value"),
    [
        ("weight_unit", 3, 1 << 20),
        ("weight_unit", slice(None), -(1 << 31)),  # whose absolute value is negative
        ("total_unit", 0, 1 << 20),
        ("total_unit", 0, -(1 << 63)),
        ("W_unit", 4, -(1 << 63)),
        ("W_unit", 4, 1 << 41),
        ("W_unit", 0, 1),
        ("W_unit", 0, -1),
        ("W", 0, 0.0),
        ("share", 0, 0.99),
        ("total", 0, 1e-3),
        ("counters", 2, -(1 << 63)),
        ("counters", 4, 1 << 62),
    ],
)
def test_scales_that_cannot_be(key, place, value, tmp_path):
    path = tmp_path / "model"
    sketch = newest(5, head=16)
    sketch.update_many(random_margins(np.random.default_rng(241), 100, 5))
    sketch.save(path)
    ocboost.BoostingSketch.load(path)
    resealed(path, key, lambda array: array.reshape(-1).__setitem__(place, value))
    assert_refused(path, "is not a valid model")


@pytest.mark.parametrize("correction", ["balanced", "own", "theorem", "listing"])
def test_the_first_row_must_fit_after_others_are_gone(correction, tmp_path):
    path = tmp_path / "model"
    sketch = newest_from(random_margins(np.random.default_rng(242), 80, 6), correction=correction, head=7)
    sketch.update_many(random_margins(np.random.default_rng(243), 90, 6))
    sketch.without([0, 1]).save(path)
    ocboost.BoostingSketch.load(path)
    for key, factor in (("W", 1.01), ("total", 0.99), ("share", 1.01)):
        sketch.without([0, 1]).save(path)
        resealed(path, key, lambda array, factor=factor: array.__imul__(factor))
        assert_refused(path, "W does not fit total")


def test_many_examples_may_add_up_a_little_apart_but_not_far(tmp_path):
    path = tmp_path / "model"
    sketch = newest(5, head=16)
    sketch.update_many(random_margins(np.random.default_rng(241), 100, 5))
    for seen, factor, fits in ((10**11, 1 + 1e-5, True), (10**5, 1 + 1e-5, False), (1 << 59, 1.01, False)):
        sketch.save(path)
        resealed(path, "counters", lambda array, seen=seen: array.__setitem__(4, seen))
        resealed(path, "total", lambda array, factor=factor: array.__imul__(factor))
        if fits:
            ocboost.BoostingSketch.load(path)
        else:
            assert_refused(path, "W does not fit total")


# The file and its place ----------------------------------------------------------------------------------


def test_a_private_file_stays_private_and_a_link_a_link(tmp_path):
    path, link = tmp_path / "model", tmp_path / "link"
    sketch = newest(3)
    sketch.save(path)
    path.chmod(0o600)
    link.symlink_to(path)
    sketch.update([1, -1, 1])
    sketch.save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    assert ocboost.BoostingSketch.load(path).n_seen == 1
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link", "model"]


def test_errors_name_the_place_that_was_given(tmp_path):
    sketch = newest(3)
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        sketch.save(tmp_path)
    with pytest.raises(FileNotFoundError, match="make it first"):
        sketch.save(tmp_path / "nowhere" / "model")


def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*model\.ocb'"):
        newest(2).save(tmp_path / "model.ocb")
    assert not list(tmp_path.iterdir())
