"""Writing a file: an interruption or a full disk leaves the old one whole."""

from __future__ import annotations

import errno
import os
import stat

import numpy as np
import pytest

import ocboost
from ocboost._report.output import OutputFolder
from tests.support.makers import newest
from tests.support.saved_sketches import (
    make_sketch,
)

# Interruption -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt()])
def test_a_kill_in_the_middle_of_saving_leaves_the_old_file_whole(step, error, tmp_path, monkeypatch):
    path = tmp_path / "model"
    old, new = make_sketch("head"), make_sketch("head", n=200)
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
    sketch = make_sketch("head")
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
    make_sketch("head").save(path)
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

    sketch = make_sketch("head")
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
    make_sketch("head").save(tmp_path / "model")
    assert os.listdir(tmp_path) == ["model"]


def test_a_saved_file_has_ordinary_permissions(tmp_path):
    (tmp_path / "ordinary").write_bytes(b"")
    make_sketch("paper").save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


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
