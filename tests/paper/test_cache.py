"""The cache of long steps: the same results with and without it, no matter what happens to its files."""

from __future__ import annotations

import os
import pickle
import shutil
import stat
import sys
import threading
import warnings
from pathlib import Path

import hypothesis
import hypothesis.extra.numpy as arrays_of
import hypothesis.strategies as st
import joblib
import numpy as np
import pytest

import ocboost
from ocboost.paper import cache as module
from ocboost.paper.cache import Cache, as_bits, as_margins_again, default_folder, source_digest

RESULT = {
    "floats": np.array([[0.1, -np.inf], [np.nan, 5e-324]]),
    "bits": np.array([[255, 1]], np.uint8),
    "none": np.zeros((0, 3), np.int8),
    "nested": [1, 2.5, None, True, ("α", {"a": 1})],
}


@pytest.fixture
def cache(tmp_path):
    made = Cache(tmp_path / "deep" / "cache")
    assert made.note is None
    return made


def entries(cache):
    return sorted(cache.folder.rglob("output.pkl"))


def assert_same(found, expected=RESULT):
    assert pickle.dumps(found) == pickle.dumps(expected)


class Counted:
    """A step that counts how often it was done."""

    def __init__(self, result=RESULT):
        self.result = result
        self.times = 0

    def __call__(self):
        self.times += 1
        return self.result


class TestStoring:
    def test_computed_once(self, cache):
        step = Counted()
        for _ in range(3):
            assert_same(cache.fetch("step", {"version": 1, "step": 2}, step))
        assert step.times == 1
        assert_same(Cache(cache.folder).fetch("step", {"step": 2, "version": 1}, step))
        assert step.times == 1
        cache.fetch("step", {"version": 2, "step": 2}, step)
        cache.fetch("other", {"version": 2, "step": 2}, step)
        assert step.times == 3

    def test_what_is_returned_may_be_written_to(self, cache):
        for _ in range(2):
            found = cache.fetch("step", {}, lambda: np.arange(3.0))
            assert found[0] == 0
            found[0] = 7

    def test_a_step_that_fails_stores_nothing(self, cache):
        def fail():
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            cache.fetch("step", {}, fail)
        assert entries(cache) == []
        assert cache.note is None

    def test_nothing_is_printed(self, cache, capfd):
        for _ in range(2):
            cache.fetch("step", {}, Counted())
        assert capfd.readouterr() == ("", "")

    def test_threads_at_once(self, cache):
        wrong = []

        def work(i):
            for k in range(20):
                found = cache.fetch("step", {"k": k % 5}, lambda k=k: np.full(1000, k % 5))
                if not (found == k % 5).all():
                    wrong.append((i, k))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        assert len(entries(cache)) == 5
        assert cache.note is None

    def test_the_oldest_entries_make_room(self, cache, monkeypatch):
        for k in range(4):
            cache.fetch("step", {"k": k}, lambda: np.zeros(10_000))
            os.utime(entries(cache)[-1], None)
        for age, path in enumerate(entries(cache)):
            os.utime(path, (1e9 + age, 1e9 + age))
        newest = entries(cache)[2:]
        monkeypatch.setattr(module, "MAX_BYTES", 200_000)
        assert entries(Cache(cache.folder)) == newest


class TestInputs:
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
        {"a": []},
        {"a": {}},
        {"a": [0]},
        {"a": [[0]]},
        {"a": {"b": 0}},
        {"a": np.zeros(2)},
        {"a": np.zeros(3)},
        {"a": np.zeros((1, 2))},
        {"a": np.zeros((2, 1))},
        {"a": np.zeros(2, np.int64)},
        {"a": np.zeros(2, np.float32)},
        {"a": np.array([0.0, 5e-324])},
        {"a": np.array([5e-324, 0.0])},
        {"a": np.array([0.0, np.nan])},
        {"a": np.zeros((0, 2))},
        {"a": np.array(["b", "c"])},
        {"a": [np.zeros(2), np.ones(2)]},
        {"a": [np.ones(2), np.zeros(2)]},
    )

    def test_all_differ(self, cache):
        for k, inputs in enumerate(self.DIFFERENT):
            assert cache.fetch("step", inputs, lambda k=k: k) == k
        for k, inputs in enumerate(self.DIFFERENT):
            assert cache.fetch("step", inputs, lambda: pytest.fail("computed again")) == k

    def test_every_entry_of_an_array_counts(self, cache):
        array = np.ones((3, 4), np.int8)
        cache.fetch("step", {"a": array}, lambda: -1)
        for k in range(array.size):
            changed = array.copy()
            changed.flat[k] = -1
            assert cache.fetch("step", {"a": changed}, lambda k=k: k) == k

    def test_changed_code_computes_again(self, cache, monkeypatch):
        cache.fetch("step", {}, lambda: 1)
        monkeypatch.setattr(module, "source_digest", lambda: "changed")
        assert Cache(cache.folder).fetch("step", {}, lambda: 2) == 2


class TestSourceDigest:
    @pytest.fixture
    def package(self, tmp_path):
        folder = tmp_path / "o"
        source = Path(ocboost.__file__).parent
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__"))
        assert source_digest(folder) == source_digest(source) == source_digest()
        return folder

    def digest(self, folder):
        return source_digest.__wrapped__(folder)

    def test_any_file_changes_it(self, package):
        before = self.digest(package)
        paths = sorted(package.rglob("*.py"))
        assert len(paths) > 100
        for path in {each.parent: each for each in paths}.values():  # one of each folder
            content = path.read_bytes()
            path.write_bytes(content + b"\n")
            assert self.digest(package) != before, path
            path.write_bytes(content)
        assert self.digest(package) == before

    def test_so_does_an_added_a_renamed_or_a_removed_file(self, package):
        seen = {self.digest(package)}
        (package / "boosters" / "new.py").write_text("")
        seen.add(self.digest(package))
        (package / "boosters" / "new.py").rename(package / "boosters" / "newer.py")
        seen.add(self.digest(package))
        (package / "paper").rename(package / "experiments")
        seen.add(self.digest(package))
        (package / "experiments" / "cache.py").unlink()
        seen.add(self.digest(package))
        assert len(seen) == 5

    def test_without_source_nothing_is_stored(self, tmp_path, monkeypatch):
        monkeypatch.setattr(module, "source_digest", lambda: source_digest(tmp_path / "empty"))
        cache = Cache(tmp_path / "cache")
        assert cache.folder is None
        assert "there are no source files" in cache.note


class TestDamage:
    def test_every_cut_and_flip_is_computed_again(self, cache, capfd):
        expected = np.arange(20.0)
        step = Counted(expected)
        cache.fetch("step", {}, step)
        (path,) = entries(cache)
        content = path.read_bytes()
        flips = [bytes([*content[:i], content[i] ^ 1, *content[i + 1 :]]) for i in range(0, len(content), 3)]
        for damaged in [*flips, *(content[:end] for end in range(0, len(content), 17)), b"rubbish"]:
            path.write_bytes(damaged)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # numpy may warn of odd headers
                np.testing.assert_array_equal(cache.fetch("step", {}, step), expected)
            assert path.exists()
        times = step.times
        assert times > len(flips) // 2  # some flips change nothing
        cache.fetch("step", {}, step)
        assert step.times == times
        assert capfd.readouterr() == ("", "")

    def test_a_folder_in_its_place(self, cache):
        cache.fetch("step", {}, Counted())
        (path,) = entries(cache)
        path.unlink()
        path.mkdir()
        step = Counted()
        assert_same(cache.fetch("step", {}, step))
        assert step.times == 1

    def test_a_folder_that_has_gone_is_made_again(self, cache):
        shutil.rmtree(cache.folder)
        step = Counted()
        for _ in range(2):
            assert_same(cache.fetch("step", {}, step))
        assert step.times == 1


class TestNothingCanBeWritten:
    def check_without(self, cache):
        assert cache.folder is None
        assert "Nothing is stored for the next run" in cache.note
        assert "OCBOOST_CACHE" in cache.note
        step = Counted()
        for _ in range(2):
            assert_same(cache.fetch("step", {"a": 1}, step))
        assert step.times == 2

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

    def test_somebody_elses_folder(self, tmp_path, monkeypatch):
        def not_mine(self, mode, **_):
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(Path, "chmod", not_mine)
        self.check_without(Cache(tmp_path))

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

    def test_the_disk_fills_up(self, cache, monkeypatch, capfd):
        def full(*_args, **_):
            raise OSError(28, "No space left on device")

        early = Counted()
        cache.fetch("early", {}, early)
        monkeypatch.setattr(joblib.numpy_pickle, "dump", full)
        monkeypatch.setattr(Path, "write_bytes", full)
        assert_same(cache.fetch("step", {}, Counted()))
        assert "No space left on device" in cache.note
        assert_same(cache.fetch("early", {}, early))
        assert early.times == 1
        assert len(entries(cache)) == 1
        assert capfd.readouterr() == ("", "")

    def test_the_folder_cannot_be_read_any_more(self, cache, monkeypatch):
        def broken(*_args):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(type(cache._memorized), "_is_in_cache_and_valid", broken)
        step = Counted()
        assert_same(cache.fetch("step", {}, step))
        assert step.times == 1
        assert "Permission denied" in cache.note

    def test_an_error_of_the_work_is_none_of_the_cache(self, cache):
        calls = []

        def fail():
            calls.append(1)
            raise FileNotFoundError(2, "No such file")

        with pytest.raises(FileNotFoundError):
            cache.fetch("step", {}, fail)
        assert (len(calls), cache.note) == (1, None)


class TestFolder:
    @pytest.fixture(autouse=True)
    def _plain(self, monkeypatch, tmp_path):
        for name in ("OCBOOST_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(Path, "home", lambda: tmp_path)

    @pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
    def test_is_private(self, tmp_path):
        (tmp_path / "joblib").mkdir(mode=0o755)
        Cache(tmp_path).fetch("step", {}, Counted())
        assert stat.S_IMODE((tmp_path / "joblib").stat().st_mode) == 0o700
        assert {path.name for path in tmp_path.iterdir()} <= {"joblib", ".gitignore"}

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
        monkeypatch.undo()
        monkeypatch.setenv("OCBOOST_CACHE", str(tmp_path / "mine"))
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


@hypothesis.given(
    arrays_of.arrays(
        np.int8,
        st.tuples(st.integers(0, 20), st.one_of(st.integers(1, 200), st.sampled_from([7, 8, 9, 64]))),
        elements=st.sampled_from([-1, 1]),
    )
)
def test_margins_as_bits_and_back(margins):
    bits, n_columns = as_bits(margins)
    assert bits.shape == (len(margins), (margins.shape[1] + 7) // 8)
    np.testing.assert_array_equal(as_margins_again(bits, n_columns), margins, strict=True)
