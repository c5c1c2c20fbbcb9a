"""The lock beside a file: one holder at a time, and none that is dead."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys

import pytest

from ocboost._core import file_lock
from ocboost._core.file_lock import LOCK_HEADER, HeldError, lock_name, locked
from ocboost.errors import InputError

posix = pytest.mark.skipif("sys.platform == 'win32'", reason="needs POSIX signals and links")
HOLD = (
    "import sys; from ocboost._core.file_lock import locked\n"
    "with locked(sys.argv[1]):\n    print('held', flush=True); sys.stdin.read()"
)


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock of a file."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "m.ocb")]
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "held\n"
    yield running
    running.kill()
    running.communicate()


@pytest.fixture(params=["locks", "no locks"])
def system(request, monkeypatch):
    """With locks of the system, and on a file system without."""
    if request.param == "no locks":

        def unsupported(*_):
            raise OSError(errno.ENOLCK, "No locks available")

        monkeypatch.setattr(file_lock.fcntl, "flock", unsupported)


@pytest.mark.usefixtures("system")
class TestLock:
    def test_is_held_and_gone(self, tmp_path):
        path = tmp_path / "m.ocb"
        for _ in range(2):
            with locked(path):
                assert lock_name(path).read_bytes().startswith(LOCK_HEADER)
                with (
                    pytest.raises(
                        HeldError, match=rf"being written by another run, process {os.getpid()}, since 2"
                    ),
                    locked(path),
                ):
                    pass
                assert lock_name(path).exists()
            assert list(tmp_path.iterdir()) == []

    def test_other_files_have_other_locks(self, tmp_path):
        with locked(tmp_path / "a"), locked(tmp_path / "b"):
            pass

    @posix
    def test_names_of_one_file(self, tmp_path, monkeypatch):
        (tmp_path / "link").symlink_to(tmp_path / "m.ocb")
        (tmp_path / "folder").symlink_to(tmp_path)
        monkeypatch.chdir(tmp_path)
        with locked(tmp_path / "m.ocb"):
            for name in ("link", "m.ocb", "folder/m.ocb", "folder/link", "./m.ocb"):
                with pytest.raises(HeldError), locked(name):
                    pass

    @pytest.mark.parametrize(
        "left", [b"", LOCK_HEADER[:5], LOCK_HEADER, LOCK_HEADER + b'{"process": 99999999, "host": "%s"}']
    )
    def test_what_a_dead_process_left(self, left, tmp_path):
        host = file_lock.socket.gethostname().encode()
        lock_name(tmp_path / "m.ocb").write_bytes(left % host if b"%s" in left else left)
        with locked(tmp_path / "m.ocb"):
            assert str(os.getpid()).encode() in lock_name(tmp_path / "m.ocb").read_bytes()
        assert list(tmp_path.iterdir()) == []

    def test_other_peoples_files(self, tmp_path):
        lock_name(tmp_path / "m.ocb").write_text("mine")
        with pytest.raises(InputError, match="it is another file"), locked(tmp_path / "m.ocb"):
            pass
        assert lock_name(tmp_path / "m.ocb").read_text() == "mine"

    @posix
    def test_no_ordinary_file(self, tmp_path):
        (tmp_path / "aim").write_text("mine")
        lock_name(tmp_path / "a").symlink_to(tmp_path / "aim")
        os.mkfifo(lock_name(tmp_path / "b"))
        for name, what in (("a", "it is a link"), ("b", "no ordinary file")):
            with pytest.raises(InputError, match=what), locked(tmp_path / name):
                pass
        assert (tmp_path / "aim").read_text() == "mine"


@posix
class TestProcesses:
    def test_another_process_is_named(self, holder, tmp_path):
        with pytest.raises(HeldError, match=f"process {holder.pid}, since"), locked(tmp_path / "m.ocb"):
            pass
        holder.communicate("")
        with locked(tmp_path / "m.ocb"):
            pass

    def test_kill_9(self, holder, tmp_path):
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert lock_name(tmp_path / "m.ocb").exists()
        with locked(tmp_path / "m.ocb"):
            pass
        assert list(tmp_path.iterdir()) == []

    def test_a_file_that_its_holder_removes(self, tmp_path, monkeypatch):
        """Whoever opened the file before it was removed must not take it for the lock."""
        path, opened, mine = tmp_path / "m.ocb", file_lock._open, []

        def late(lock):
            handle = opened(lock)
            if not mine:
                mine.append(True)
                os.unlink(lock)  # its holder has let go meanwhile
            return handle

        monkeypatch.setattr(file_lock, "_open", late)
        with locked(path), pytest.raises(HeldError), locked(path):
            pass


def test_a_holder_on_another_machine_without_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(file_lock, "_system_lock", lambda handle: False)
    place = lock_name(tmp_path / "m.ocb")
    place.write_bytes(LOCK_HEADER + b'{"process": 5, "host": "elsewhere", "since": 1700000000}')
    with (
        pytest.raises(HeldError, match=r"process 5 on elsewhere, since 2023.*remove '"),
        locked(tmp_path / "m.ocb"),
    ):
        pass
    assert place.exists()


def test_a_full_disk_leaves_it_unsigned(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(file_lock.os, "write", full)
    monkeypatch.setattr(file_lock, "_ATTEMPTS", 2)
    with (
        locked(tmp_path / "m.ocb"),
        pytest.raises(HeldError, match="by another run; wait"),
        locked(tmp_path / "m.ocb"),
    ):
        pass


def test_a_folder_that_cannot_be_written_is_said_to_be_so(tmp_path, monkeypatch):
    really_open = os.open

    def refuse(path, flags, *rest):
        if flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied", str(path))
        return really_open(path, flags, *rest)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError), locked(tmp_path / "m"):
        pass


@posix
def test_a_lock_that_was_removed_is_held_no_longer(tmp_path):
    with locked(tmp_path / "m.ocb") as is_ours:
        assert is_ours()
        lock_name(tmp_path / "m.ocb").unlink()
        assert not is_ours()
        with locked(tmp_path / "m.ocb"):
            assert not is_ours()
