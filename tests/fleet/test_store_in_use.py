"""Stores that another process has open, and disks that are full."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from ocboost.errors import ClosedError, StorageError, StorageFullError

pytest.importorskip("lmdb")


from ocboost.fleet import Fleet, FleetStoreError
from ocboost.fleet import store as store_module
from tests.fleet.fleets import model, records, rows
from tests.fleet.kills import processes

X, Y, KEYS = rows()


@pytest.fixture
def fleet(tmp_path):
    with Fleet(model(), store=tmp_path / "store", window=20) as made:
        made.learn(KEYS[:100], X[:100], Y[:100], source="log", offset=0)
        yield made


# Other processes ------------------------------------------------------------------------------------------


def opened(store, how, telling, until):
    """Open a store in another process, say what came of it, and hold it until told."""
    try:
        with Fleet(store=store, **how) as fleet:
            telling.send(len(fleet))
            until.recv()
    except Exception as error:
        telling.send(f"{type(error).__name__}: {error}")


@contextmanager
def another_process(store, **how):
    told, telling = processes().Pipe(duplex=False)
    until, stop = processes().Pipe(duplex=False)
    process = processes().Process(target=opened, args=(store, how, telling, until))
    process.start()
    try:
        yield told.recv()
    finally:
        stop.send(None)
        process.join()


def test_only_one_process_learns(tmp_path, fleet):
    with another_process(tmp_path / "store") as said:
        assert said == (
            f"FleetStoreError: another process {os.getpid()} learns in '{tmp_path / 'store'}'. "
            "Wait for it, or open the store with read_only=True."
        )
    with another_process(tmp_path / "store", read_only=True) as said:
        assert said == len(fleet)
        fleet.learn(KEYS[:3], X[:3], Y[:3])
    fleet.close()
    with another_process(tmp_path / "store") as said:
        assert said == len(set(KEYS[:100]))
        with pytest.raises(
            FleetStoreError, match=r"another process \d+ learns in '.*'\. Wait for it, or open"
        ):
            Fleet(store=tmp_path / "store")
    Fleet(store=tmp_path / "store").close()


def test_a_store_that_is_open_in_this_process(tmp_path, fleet):
    for how in ({}, {"read_only": True}):
        with pytest.raises(FleetStoreError, match="is open in this process already"):
            Fleet(store=tmp_path / "store", **how)
    fleet.learn(KEYS[:3], X[:3], Y[:3])


def test_a_compaction_that_cannot_open_its_file_again(fleet, tmp_path, monkeypatch):
    """The new file is there, as whole as the old one was; the fleet is closed."""
    before = records(fleet)

    def refuse():
        raise StorageError(errno.ENOMEM, "no room for the map")

    monkeypatch.setattr(fleet._store, "_connect", refuse)
    with pytest.raises(StorageError, match="no room for the map"):
        fleet.compact()
    for call in (lambda: fleet.predict(KEYS[:3], X[:3]), lambda: fleet.learn(KEYS[:3], X[:3], Y[:3])):
        with pytest.raises(ClosedError, match=r"the fleet was closed; open it again\."):
            call()
    fleet.close()
    with Fleet(store=tmp_path / "store") as again:
        assert records(again) == before


# Disks that are full --------------------------------------------------------------------------------------


def fill(fleet, start=0):
    """Learn new keys until it fails; what it held before the call that failed, and the error."""
    for i in range(start, start + 40):
        before = records(fleet)
        try:
            fleet.learn(
                [f"{i} {j}" for j in range(300)], X[:300], Y[:300], source="log", offset=100 + 300 * i
            )
        except StorageError as error:
            return i, before, error
    raise AssertionError("it was never full")


def test_a_store_that_cannot_grow(tmp_path, monkeypatch):
    """LMDB's map is as large as the disk was: what does not fit is refused, as a whole."""
    with monkeypatch.context() as patched:
        patched.setattr(store_module, "_LEAST_MAP", 1 << 19)
        patched.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=0))
        with Fleet(model(), store=tmp_path / "store", window=20) as fleet:
            i, before, error = fill(fleet)
            assert isinstance(error, StorageFullError)
            assert error.errno == errno.ENOSPC
            assert re.search(r"nothing of this call was learnt\. Make room, and", str(error))
            assert records(fleet) == before
            fleet.learn(KEYS[:3], X[:3], Y[:3])  # of keys that are there
            before = records(fleet)
            assert fleet.predict(KEYS, X).shape == (len(X),)
    with Fleet(store=tmp_path / "store") as fleet:
        assert records(fleet) == before
        new = [f"{i} {j}" for j in range(300)]
        fleet.learn(new, X[:300], Y[:300], source="log", offset=fleet.offset("log"))
        assert fleet.offset("log") == 100 + 300 * i + 300
        assert len(fleet) == len(before[0]) + 300


@pytest.fixture
def small_disk(tmp_path):
    """A file system of a megabyte in memory, which only root may mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True
        )
    except FileNotFoundError:
        pytest.skip("nothing can be mounted here")
    if mounted.returncode != 0:
        pytest.skip("nothing can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk(small_disk):
    with Fleet(model(), store=small_disk / "store", window=20) as fleet:
        i, before, error = fill(fleet)
        assert records(fleet) == before
        with pytest.raises(StorageFullError, match="Make room"):
            fleet.compact()
        assert records(fleet) == before
        assert sorted(each.name for each in (small_disk / "store").glob("*.mdb*")) == ["data.mdb", "lock.mdb"]
        fleet.drop([key for key in before[0] if key.startswith(b"0 ")])
        fleet.learn([f"0 {j}" for j in range(100)], X[:100], Y[:100])
        assert len(fleet) == len(before[0]) - 200
        assert fleet.verify() == []
        assert isinstance(error, StorageFullError)
        assert re.search(r"the disk is full; nothing of this call was learnt\. Make room", str(error))
    with Fleet(store=small_disk / "store") as fleet:
        assert fleet.offset("log") == 100 + 300 * i


def limited(store, telling):
    """Learn in a process whose files must not grow, and then may."""
    import resource

    with Fleet(model(), store=store, window=20) as fleet:
        fleet.learn(KEYS[:300], X[:300], Y[:300])
        most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (fleet.info().bytes + 8192, most[1]))
        i, before, error = fill(fleet)
        same = records(fleet) == before
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
        n = len(fleet)
        fleet.learn([f"{i} {j}" for j in range(300)], X[:300], Y[:300])
        telling.send((type(error).__name__, str(error), same, len(fleet) - n, fleet.verify()))


def test_a_file_that_must_not_grow(tmp_path):
    pytest.importorskip("resource")
    told, telling = processes().Pipe(duplex=False)
    process = processes().Process(target=limited, args=(tmp_path / "store", telling))
    process.start()
    telling.close()
    kind, text, same, more, damaged = told.recv()
    process.join()
    assert (same, more, damaged) == (True, 300, [])
    assert kind in ("StorageError", "StorageFullError")
    assert re.search(r"nothing of this call was learnt\. ", text)
