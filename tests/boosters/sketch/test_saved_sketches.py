"""Saved sketches: a loaded one is the saved one, and files that no stream leads to are refused."""

from __future__ import annotations

import numpy as np
import pytest

import ocboost
from ocboost._core import file_format
from ocboost._core.codec import read
from ocboost._kernels.tail import CORRECTIONS
from ocboost.errors import ModelFileError
from tests.support.makers import independent_columns, newest, newest_from, random_margins
from tests.support.saved_sketches import (
    SKETCHES,
    assert_refused,
    make_sketch,
    put_together,
    taken_apart,
)
from tests.support.saved_trees import arrays_of


@pytest.fixture
def file(tmp_path):
    """A small saved model."""
    path = tmp_path / "model.ocb"
    make_sketch("head", J=5).save(path)
    return path


# The same behaviour -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SKETCHES)
def test_a_loaded_sketch_continues_as_the_saved_one(name, tmp_path):
    sketch = make_sketch(name)
    sketch.save(tmp_path / "model")
    loaded = ocboost.BoostingSketch.load(tmp_path / "model")
    assert type(loaded) is ocboost.BoostingSketch
    for attribute in (
        "n_hypotheses",
        *ocboost.BoostingSketch.settings,
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


@pytest.mark.parametrize("name", SKETCHES)
def test_saving_what_was_loaded_gives_the_same_bytes(name, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    make_sketch(name).save(first)
    ocboost.BoostingSketch.load(first).save(second)
    assert second.read_bytes() == first.read_bytes()


def test_an_empty_sketch_and_a_decayed_one(tmp_path):
    margins = random_margins(np.random.default_rng(122), 50, 6)
    for sketch in (
        newest(6),
        newest(6, head=9, tail=False),
        make_sketch("head", J=6),
    ):
        sketch.decay(0.3)
        sketch.save(tmp_path / "model")
        loaded = ocboost.BoostingSketch.load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.alpha, sketch.alpha)
        for booster in (sketch, loaded):
            booster.update_many(margins)
        np.testing.assert_array_equal(loaded.alpha, sketch.alpha)


def test_a_loaded_sketch_merges_as_the_saved_one(tmp_path):
    a, b = make_sketch("head"), make_sketch("head", n=170)
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
    assert data.startswith(file_format.MAGIC)
    assert len(data) < 2 * 1000 * 10 * 8 + 200 * 1000


def test_a_path_may_be_text(tmp_path):
    make_sketch("paper").save(str(tmp_path / "model"))
    assert ocboost.BoostingSketch.load(str(tmp_path / "model")).n_seen == 400


# Malice: the checksum fits, the contents do not ---------------------------------------------------------


@pytest.mark.parametrize("name", ["head", "window", "forgetting", "paper", "heavy"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1.0])
def test_arrays_of_impossible_numbers(value, name, tmp_path):
    path = tmp_path / "model"
    make_sketch(name, J=5).save(path)
    tree = file_format.load(path, "BoostingSketch")
    filled = 0
    for (key,), array in arrays_of(tree).items():
        if array.dtype.kind != "f" or array.size == 0:
            continue
        if value == -1.0 and "alpha" in key:
            continue  # the one array that may be negative
        file_format.save(path, "BoostingSketch", {**tree, key: np.full_like(array, value)})
        assert_refused(path)
        filled += 1
    assert filled >= 2


@pytest.mark.parametrize("name", ["head", "window", "forgetting", "paper", "heavy"])
def test_one_nan_anywhere(name, tmp_path):
    path = tmp_path / "model"
    make_sketch(name, J=5).save(path)
    tree = file_format.load(path, "BoostingSketch")
    for (key,), array in arrays_of(tree).items():
        if array.dtype.kind != "f":
            continue
        for place in range(0, array.size, max(1, array.size // 7)):
            spoilt = array.copy()
            spoilt.flat[place] = np.nan
            file_format.save(path, "BoostingSketch", {**tree, key: spoilt})
            assert_refused(path)


@pytest.mark.parametrize("value", [-1, 1, 2**31 - 1, -(2**31), 2**62, -(2**62)])
@pytest.mark.parametrize("name", ["head", "window", "forgetting", "paper", "heavy"])
def test_arrays_of_other_whole_numbers(name, value, tmp_path):
    # Many of these are models that could have been; those that could not must be refused, and those that are
    # let in must continue like any other.
    path = tmp_path / "model"
    make_sketch(name, J=5).save(path)
    tree = file_format.load(path, "BoostingSketch")
    more = random_margins(np.random.default_rng(125), 300, 5)
    for (key,), array in arrays_of(tree).items():
        if array.dtype.kind != "i" or not np.iinfo(array.dtype).min <= value <= np.iinfo(array.dtype).max:
            continue
        for place in [*range(min(array.size, 8)), slice(None)]:
            spoilt = array.copy()
            spoilt.reshape(-1)[place] = value
            file_format.save(path, "BoostingSketch", {**tree, key: spoilt})
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
    make_sketch(name, J=5).save(path)
    tree = file_format.load(path, "BoostingSketch")
    for place in [*range(5), slice(None)]:
        spoilt = tree[key].copy()
        spoilt.reshape(-1)[place] = value
        file_format.save(path, "BoostingSketch", {**tree, key: spoilt})
        assert_refused(path)


@pytest.mark.parametrize("head", [1, 40])
def test_a_head_that_should_have_been_folded(head, tmp_path):
    # There is room for what may come before the next fold, counted from a head that is not full.
    path = tmp_path / "model"
    sketch = newest(5, head=head + 1)
    sketch.update_many(random_margins(np.random.default_rng(126), head, 5))
    assert sketch.n_head == head
    sketch.save(path)
    tree = file_format.load(path, "BoostingSketch")
    file_format.save(path, "BoostingSketch", {**tree, "head": head})
    assert_refused(path)


@pytest.mark.parametrize("name", ["head", "window", "paper", "heavy", "heavy, not full"])
def test_arrays_of_another_shape_or_missing(name, tmp_path):
    path = tmp_path / "model"
    make_sketch(name, J=5).save(path)
    tree = file_format.load(path, "BoostingSketch")
    for (key,), array in arrays_of(tree).items():
        others = [{k: a for k, a in tree.items() if k != key}]
        others += [{**tree, key: np.concatenate([array.reshape(-1), np.ones(1, array.dtype)])}]
        others += [{**tree, key: array[None]}]
        if array.size:
            others += [{**tree, key: array.reshape(-1)[:-1]}]
        if array.dtype.kind == "f":
            others += [{**tree, key: array.astype(np.int64)}]
        for changed in others:
            file_format.save(path, "BoostingSketch", changed)
            assert_refused(path)
    file_format.save(path, "BoostingSketch", {**tree, "more": np.ones(3)})
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
    for parameter in set(header["tree"]) - set(ocboost.BoostingSketch.later_settings):
        kept = {k: v for k, v in header["tree"].items() if k != parameter}
        file.write_bytes(put_together({**header, "tree": kept}, body))
        assert_refused(file)


# Files that say what no stream leads to, with a checksum that fits ---------------------------------------


def resealed(path, key, change):
    """Change one array of a saved file, and its checksum with it."""
    tree = file_format.load(path, "BoostingSketch")
    change(tree[key])
    file_format.save(path, "BoostingSketch", tree)


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


@pytest.mark.parametrize("correction", CORRECTIONS)
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


@pytest.mark.parametrize("keep", ["heavy", "newest"])
def test_a_setting_that_came_later_is_read_from_older_files(keep, monkeypatch):
    """None has come since, so one that all files hold stands for it."""
    margins = random_margins(np.random.default_rng(244), 90, 6)
    sketch = ocboost.BoostingSketch.from_margins(margins, head=20, keep=keep)
    tree = sketch.tree()
    del tree["forgetting"]
    with pytest.raises(ModelFileError, match="forgetting is missing"):
        read(tree, "a file", ocboost.BoostingSketch.from_tree)
    monkeypatch.setattr(ocboost.BoostingSketch, "later_settings", {"forgetting": 1.0})
    older = read(tree, "a file", ocboost.BoostingSketch.from_tree)
    assert older.has_settings(sketch.given_settings)
    np.testing.assert_array_equal(older.alpha, sketch.alpha)
