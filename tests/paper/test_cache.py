"""The cache of long steps: the same result as without it, whatever happens to its files."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import hypothesis
import hypothesis.extra.numpy as arrays_of
import hypothesis.strategies as st
import numpy as np
import pytest

import ocboost
from ocboost._core import storage
from ocboost.errors import InputError
from ocboost.paper import cache as module
from ocboost.paper.cache import Cache, default_folder, pack_margins, unpack_margins

PARAMETERS = {"rounds": 3, "name": "α", "nested": {"list": [1, 2.5, None, True]}}
ARRAYS = {
    "floats": np.array([[0.1, -np.inf], [np.nan, 5e-324]]),
    "words": np.array([2**64 - 1], np.uint64),
    "none": np.zeros((0, 3), np.int8),
    "scalar": np.array(7, np.int32),
}


@pytest.fixture
def cache(tmp_path):
    made = Cache(tmp_path / "deep" / "cache")
    assert made.note is None
    return made


def names(cache):
    return sorted(path.name for path in cache.folder.iterdir())


def assert_same(found, parameters, arrays):
    assert found is not None
    assert found[0] == parameters
    assert list(found[1]) == list(arrays)
    for name, array in arrays.items():
        assert found[1][name].dtype == array.dtype
        np.testing.assert_array_equal(found[1][name], array, strict=True)


class Counted:
    """A step that counts how often it was done."""

    def __init__(self, parameters=PARAMETERS, arrays=ARRAYS):
        self.result = parameters, arrays
        self.times = 0

    def __call__(self):
        self.times += 1
        return self.result


class TestKeeping:
    def test_miss_then_hit(self, cache):
        key = cache.key("step", a=1)
        assert cache.get(key) is None
        cache.put(key, PARAMETERS, ARRAYS)
        assert_same(cache.get(key), PARAMETERS, ARRAYS)
        assert_same(Cache(cache.folder).get(key), PARAMETERS, ARRAYS)
        assert cache.get(cache.key("step", a=2)) is None
        assert names(cache) == [f"{key}.ocb"]

    def test_what_comes_back_may_be_written_to(self, cache):
        key = cache.key("step")
        cache.put(key, {}, {"a": np.arange(3.0)})
        cache.get(key)[1]["a"][0] = 7
        assert cache.get(key)[1]["a"][0] == 0

    def test_replaced(self, cache):
        key = cache.key("step")
        cache.put(key, {"a": 1}, {})
        cache.put(key, {"a": 2}, {})
        assert cache.get(key) == ({"a": 2}, {})

    def test_fetch_works_once(self, cache):
        step = Counted()
        for _ in range(3):
            assert_same(cache.fetch("step", {"version": 1, "step": 2}, step), PARAMETERS, ARRAYS)
        assert step.times == 1
        cache.fetch("step", {"version": 2, "step": 2}, step)
        cache.fetch("step", {"version": 2, "step": 2}, step, version="2")
        assert step.times == 3

    def test_fetch_finds_what_put_has_kept(self, cache):
        cache.put(cache.key("step", version="3", a=1), {"b": 2}, {})
        step = Counted()
        assert cache.fetch("step", {"a": 1}, step, version="3") == ({"b": 2}, {})
        assert step.times == 0

    def test_a_hit_and_a_miss_are_laid_out_alike(self, cache):
        array = np.asfortranarray(np.arange(6, dtype=">f8").reshape(2, 3))
        step = Counted({}, {"a": array})
        for _ in range(2):
            found = cache.fetch("step", {}, step)[1]["a"]
            np.testing.assert_array_equal(found, array)
            assert found.flags.c_contiguous
            assert found.dtype == np.float64
            assert found.dtype.isnative

    def test_a_step_that_fails_keeps_nothing(self, cache):
        def fail():
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            cache.fetch("step", {}, fail)
        assert names(cache) == []

    @pytest.mark.parametrize("bad", [{"a": (1, 2)}, {"a": np.int64(1)}, {1: 2}, {"a": float("nan")}, [1]])
    def test_parameters_that_would_change(self, cache, bad):
        with pytest.raises(InputError, match="parameters must come back from JSON as they were"):
            cache.put(cache.key("step"), bad, {})
        assert names(cache) == []

    @pytest.mark.parametrize("dtype", [bool, np.uint8, np.float16, object, "U3"])
    def test_arrays_that_cannot_be_kept(self, cache, dtype):
        with pytest.raises(InputError, match=r"arrays\['a'\] must be float64, .* Convert it"):
            cache.put(cache.key("step"), {}, {"a": np.zeros(2, dtype)})
        assert names(cache) == []

    @pytest.mark.parametrize("key", ["", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n", None])
    def test_bad_keys(self, cache, key):
        with pytest.raises(InputError, match="key must be 64 hexadecimal digits"):
            cache.get(key)
        with pytest.raises(InputError, match="key must be 64 hexadecimal digits"):
            cache.put(key, {}, {})


class TestKeys:
    DIFFERENT = (
        {},
        {"a": None},
        {"a": 0},
        {"a": False},
        {"a": 0.0},
        {"a": "0"},
        {"a": ""},
        {"b": 0},
        {"a": 0, "b": 0},
        {"a": 0.1},
        {"a": np.nextafter(0.1, 1)},
        {"a": np.float32(0.1)},
        {"a": []},
        {"a": {}},
        {"a": [0]},
        {"a": [[0]]},
        {"a": [0, 0]},
        {"a": {"b": 0}},
        {"a": ["list", [0]]},
        {"a": ["dict", []]},
        {"a": np.zeros(2)},
        {"a": np.zeros(3)},
        {"a": np.zeros((1, 2))},
        {"a": np.zeros((2, 1))},
        {"a": np.zeros(2, np.int64)},
        {"a": np.zeros(2, np.uint64)},
        {"a": np.zeros(2, np.float32)},
        {"a": np.zeros(4, np.float32)},
        {"a": np.array([0.0, 5e-324])},
        {"a": np.array([5e-324, 0.0])},
        {"a": np.array([0.0, np.nan])},
        {"a": np.zeros((0, 2))},
        {"a": np.zeros((0, 3))},
        {"a": np.array(0.0)},
        {"a": np.array(["b", "c"])},
        {"a": np.array(["b", "d"])},
        {"a": [np.zeros(2), np.ones(2)]},
        {"a": [np.ones(2), np.zeros(2)]},
    )

    def test_all_differ(self, cache):
        keys = [cache.key("step", **what) for what in self.DIFFERENT]
        keys += [cache.key("other"), cache.key("step", version="2"), cache.key("step", a=np.ones(2))]
        assert len(set(keys)) == len(keys)

    def test_same_for_the_same(self, cache, tmp_path):
        for what in self.DIFFERENT:
            assert cache.key("step", **what) == Cache(tmp_path / "elsewhere").key("step", **what)

    def test_neither_order_nor_layout_matters(self, cache):
        a = np.arange(6.0).reshape(2, 3)
        key = cache.key("step", a=a, b={"c": 1, "d": (2,)})
        assert key == cache.key("step", b={"d": [2], "c": np.int32(1)}, a=np.asfortranarray(a))
        assert key == cache.key("step", a=a.astype(">f8"), b={"c": 1, "d": [2]})
        assert key == cache.key("step", a=np.repeat(a, 2, axis=1)[:, ::2], b={"c": 1, "d": [2]})

    def test_every_entry_of_an_array_counts(self, cache):
        array = np.ones((5, 7), np.int8)
        keys = {cache.key("step", a=array)}
        for i in range(array.size):
            changed = array.copy()
            changed.flat[i] = -1
            keys.add(cache.key("step", a=changed))
        assert len(keys) == array.size + 1

    def test_another_release_starts_anew(self, cache, monkeypatch):
        before = cache.key("step")
        monkeypatch.setattr(ocboost, "__version__", "99")
        assert cache.key("step") != before

    @pytest.mark.parametrize(
        "bad",
        [
            float("nan"),
            np.float64("inf"),
            object(),
            {1: 2},
            {2},
            b"x",
            Path("x"),
            np.array([None]),
            np.ma.masked_array([1, 2], [True, False]),
            np.zeros(2, complex),
        ],
        ids=lambda bad: type(bad).__name__,
    )
    def test_what_has_no_plain_content(self, cache, bad):
        with pytest.raises(InputError, match=r"step.a\[1\] must be a finite number, .* got"):
            cache.key("step", a=[0, bad])


class TestDamage:
    @pytest.fixture
    def entry(self, cache):
        key = cache.key("step")
        cache.put(key, PARAMETERS, ARRAYS)
        return key, cache.folder / f"{key}.ocb"

    def test_every_cut_and_flip_is_a_miss(self, cache, entry):
        key, path = entry
        content = path.read_bytes()
        flips = [bytes([*content[:i], content[i] ^ 1, *content[i + 1 :]]) for i in range(len(content))]
        for damaged in [*flips, *(content[:end] for end in range(0, len(content), 7)), content + b"x"]:
            path.write_bytes(damaged)
            assert cache.get(key) is None
            assert names(cache) == []

    @pytest.mark.parametrize("stored", ["another key", "no parameters", "no arrays", "another kind"])
    def test_a_whole_file_that_is_no_entry(self, cache, entry, stored):
        key, path = entry
        if stored == "another key":
            path.write_bytes(path.read_bytes())
            path = path.rename(cache.folder / f"{'0' * 64}.ocb")
            key = "0" * 64
        elif stored == "no parameters":
            storage.save(path, "CacheEntry", {"key": key, "parameters": 5, "arrays": {}})
        elif stored == "no arrays":
            storage.save(path, "CacheEntry", {"key": key, "parameters": {}, "arrays": {"a": 1}})
        else:
            storage.save(path, "BoostingSketch", {"key": key, "parameters": {}, "arrays": {}})
        assert cache.get(key) is None
        assert not path.exists()

    def test_made_again(self, cache, entry):
        key, path = entry
        path.write_bytes(b"rubbish")
        step = Counted()
        for _ in range(2):
            assert_same(cache.fetch("step", {}, step), PARAMETERS, ARRAYS)
        assert step.times == 1
        assert cache.get(key) is not None

    def test_a_folder_in_its_place(self, cache):
        key = cache.key("step")
        (cache.folder / f"{key}.ocb").mkdir()
        assert_same(cache.fetch("step", {}, Counted()), PARAMETERS, ARRAYS)
        assert "cannot be written" in cache.note


class TestInterruption:
    @pytest.mark.parametrize("call", ["fsync", "replace"])
    @pytest.mark.parametrize("old", [False, True])
    def test_leaves_nothing_or_the_old(self, cache, monkeypatch, call, old):
        key = cache.key("step")
        if old:
            cache.put(key, {"a": 1}, {})
        before = names(cache)

        def interrupt(*_args):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(os, call, interrupt)
            with pytest.raises(KeyboardInterrupt):
                cache.put(key, {"a": 2}, ARRAYS)
        assert names(cache) == before
        assert cache.get(key) == (({"a": 1}, {}) if old else None)
        assert cache.note is None

    def test_writers_and_readers_at_once(self, cache):
        key = cache.key("step")
        stop = time.monotonic() + 0.5
        wrong = []

        def write(value):
            while time.monotonic() < stop:
                cache.put(key, {"a": value}, {"a": np.full(1000, value, np.int64)})

        def read():
            while time.monotonic() < stop:
                found = cache.get(key)
                if found is not None and not (found[1]["a"] == found[0]["a"]).all():
                    wrong.append(found)

        threads = [threading.Thread(target=write, args=(i,)) for i in range(2)]
        threads += [threading.Thread(target=read) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        assert names(cache) == [f"{key}.ocb"]
        assert cache.note is None


class TestNothingCanBeWritten:
    def check_without(self, cache):
        assert cache.folder is None
        assert "Nothing is kept for the next run" in cache.note
        assert "OCBOOST_CACHE" in cache.note
        step = Counted()
        for _ in range(2):
            assert_same(cache.fetch("step", {"a": 1}, step), PARAMETERS, ARRAYS)
        assert step.times == 2
        assert cache.size() == 0
        cache.clear()

    def test_a_file_in_the_way(self, tmp_path):
        (tmp_path / "file").write_text("mine")
        self.check_without(Cache(tmp_path / "file"))
        self.check_without(Cache(tmp_path / "file" / "below"))
        assert (tmp_path / "file").read_text() == "mine"

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
    def test_permissions(self, tmp_path):
        tmp_path.chmod(0o500)
        try:
            self.check_without(Cache(tmp_path))
        finally:
            tmp_path.chmod(0o700)

    def test_no_home(self, monkeypatch):
        def nobody():
            raise RuntimeError("Could not determine home directory.")

        monkeypatch.delenv("OCBOOST_CACHE", raising=False)
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setattr(Path, "home", nobody)
        self.check_without(Cache())

    def test_an_empty_home_is_none(self, monkeypatch, tmp_path):
        monkeypatch.delenv("OCBOOST_CACHE", raising=False)
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setenv("HOME", "")
        monkeypatch.setattr(sys, "platform", "linux")
        self.check_without(Cache())
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert Cache().folder == tmp_path / "ocboost"

    def test_the_disk_fills_up(self, cache, monkeypatch):
        def full(*_args):
            raise OSError(28, "No space left on device")

        cache.put(cache.key("early"), {}, {})
        monkeypatch.setattr(os, "fsync", full)
        assert_same(cache.fetch("step", {}, Counted()), PARAMETERS, ARRAYS)
        assert "No space left on device" in cache.note
        assert names(cache) == [f"{cache.key('early')}.ocb"]
        assert cache.get(cache.key("early")) == ({}, {})

    def test_a_folder_that_has_gone_is_made_again(self, cache):
        cache.folder.rmdir()
        assert cache.size() == 0
        cache.clear()
        cache.put(cache.key("step"), {"a": 1}, {})
        assert cache.get(cache.key("step")) == ({"a": 1}, {})


class TestFolder:
    @pytest.fixture(autouse=True)
    def _plain(self, monkeypatch, tmp_path):
        for name in ("OCBOOST_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(Path, "home", lambda: tmp_path)

    @pytest.mark.parametrize(
        ("platform", "folder"),
        [
            ("linux", ".cache/ocboost"),
            ("darwin", "Library/Caches/ocboost"),
            ("win32", "AppData/Local/ocboost/Cache"),
        ],
    )
    def test_of_the_platform(self, monkeypatch, tmp_path, platform, folder):
        monkeypatch.setattr(sys, "platform", platform)
        assert default_folder() == tmp_path / folder
        monkeypatch.setenv("OCBOOST_CACHE", str(tmp_path / "mine"))
        assert default_folder() == tmp_path / "mine"
        assert Cache().folder == tmp_path / "mine"
        assert Cache(tmp_path / "given").folder == tmp_path / "given"

    def test_by_the_environment(self, monkeypatch, tmp_path):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
        monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "l"))
        monkeypatch.setattr(sys, "platform", "linux")
        assert default_folder() == tmp_path / "x" / "ocboost"
        monkeypatch.setattr(sys, "platform", "win32")
        assert default_folder() == tmp_path / "l" / "ocboost" / "Cache"

    def test_a_relative_one_is_ignored(self, monkeypatch, tmp_path):
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        monkeypatch.setattr(sys, "platform", "linux")
        assert default_folder() == tmp_path / ".cache" / "ocboost"


class TestSizeAndClear:
    def test_both(self, cache):
        assert cache.size() == 0
        for a in range(3):
            cache.put(cache.key("step", a=a), {}, {"a": np.zeros(1000)})
        (cache.folder / "notes.txt").write_text("mine")
        assert cache.size() == sum(path.stat().st_size for path in cache.folder.glob("*.ocb")) > 24_000
        cache.clear()
        assert names(cache) == ["notes.txt"]
        assert cache.size() == 0
        assert cache.get(cache.key("step", a=0)) is None

    def test_what_a_killed_run_has_left(self, cache):
        old, new = (cache.folder / f".{'a' * 64}.ocb.0000000{i}.tmp" for i in range(2))
        for path in (old, new):
            path.write_bytes(bytes(100))
        os.utime(old, (1, 1))
        assert cache.size() == 200
        cache.clear()
        assert names(cache) == [new.name]  # someone may be writing it


margin_matrices = arrays_of.arrays(
    np.int8,
    st.tuples(st.integers(0, 20), st.one_of(st.integers(1, 200), st.sampled_from([63, 64, 65, 128]))),
    elements=st.sampled_from([-1, 1]),
)


class TestMarginsAsBits:
    @hypothesis.given(margin_matrices)
    def test_there_and_back(self, margins):
        words = pack_margins(margins)
        assert words.dtype == np.uint64
        assert words.shape == (len(margins), (margins.shape[1] + 63) // 64)
        np.testing.assert_array_equal(unpack_margins(words, margins.shape[1]), margins, strict=True)

    @hypothesis.given(margin_matrices)
    def test_bit_by_bit(self, margins):
        words = pack_margins(margins)
        for row, found in zip(margins, words, strict=True):
            expected = sum(1 << j for j, margin in enumerate(row) if margin > 0)
            assert sum(int(word) << (64 * k) for k, word in enumerate(found)) == expected

    def test_by_blocks(self, monkeypatch):
        monkeypatch.setattr(module, "_BLOCK", 300)
        margins = np.random.default_rng(3).choice(np.array([-1, 1], np.int8), (101, 70))
        words = pack_margins(margins[::-1].copy()[::-1])
        np.testing.assert_array_equal(unpack_margins(words, 70), margins)
        np.testing.assert_array_equal(unpack_margins(words[90:20:-3], 70), margins[90:20:-3])
        margins[57, 13] = 0
        with pytest.raises(InputError, match=r"-1 or \+1; got 0 at \[57, 13\]"):
            pack_margins(margins)

    def test_through_the_cache(self, cache):
        margins = np.random.default_rng(4).choice(np.array([-1, 1], np.int8), (1000, 200))
        cache.put(cache.key("step"), {"n_hypotheses": 200}, {"margins": pack_margins(margins)})
        parameters, arrays = cache.get(cache.key("step"))
        np.testing.assert_array_equal(unpack_margins(arrays["margins"], parameters["n_hypotheses"]), margins)
        assert cache.size() < 1000 * 200 / 6

    @pytest.mark.parametrize("value", [0, 2, -128, 127])
    def test_other_values(self, value):
        margins = np.ones((3, 5), np.int8)
        margins[1, 4] = value
        with pytest.raises(InputError, match=rf"must be -1 or \+1; got {value} at \[1, 4\]"):
            pack_margins(margins)

    @pytest.mark.parametrize("bad", [np.ones((2, 2)), np.ones(2, np.int8), np.ones((2, 0), np.int8)])
    def test_other_arrays(self, bad):
        with pytest.raises(InputError, match=r"margins must be int8 of shape \(n, J\)"):
            pack_margins(bad)

    def test_words_that_do_not_fit(self):
        words = pack_margins(np.ones((2, 70), np.int8))
        for wrong in (0, 64, 129):
            with pytest.raises(InputError, match="words must be uint64 of shape"):
                unpack_margins(words, wrong)
        with pytest.raises(InputError, match="words must be uint64 of shape"):
            unpack_margins(words.view(np.int64), 70)
        with pytest.raises(InputError, match="no bits set after hypothesis 69"):
            unpack_margins(words, 69)
