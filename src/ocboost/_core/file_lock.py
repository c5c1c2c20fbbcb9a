"""One writer at a time: a lock beside a file, which says who holds it and ends with its process.

The lock of ``model.ocb`` is ``.model.ocb.lock`` in the same folder. It is held through the system's lock on
that open file, so a process that dies, however it dies, lets go of it. What stands in it is only for
messages. Where a file system has no such locks, the file itself is the lock, and one whose process is gone
is taken over: as good as such a file system allows.

Links are followed first, so that all names of a file have one lock. The lock is advisory: it keeps apart
those who ask for it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ocboost.errors import InputError

try:
    import fcntl
except ModuleNotFoundError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

MARK = b"ocboost lock\n"  # how the file begins, to tell it from other people's
_LONGEST = 4096
_ATTEMPTS = 100  # to see a file that another process is removing, or filling, come to rest
_PAUSE = 0.01
_BUSY = (errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN)
_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL)


class HeldError(InputError):
    """Another process holds the lock."""


def lock_name(path: str | os.PathLike[str]) -> Path:
    """Where the lock of a file is.

    >>> lock_name("/nowhere/model.ocb").name
    '.model.ocb.lock'
    """
    place = Path(os.path.realpath(path))
    return place.with_name(f".{place.name}.lock")


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the lock of a file, or raise `HeldError` at once if somebody else does."""
    lock = lock_name(path)
    handle = _taken(lock, os.fspath(path))
    try:
        yield
    finally:
        _let_go(lock, handle)


def _taken(lock: Path, name: str) -> int:
    """The open lock file, which is ours now."""
    for _ in range(_ATTEMPTS):
        handle = _opened(lock)
        try:
            if _take(handle, lock, name) and _is(handle, lock):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # whoever had it has removed it meanwhile: it is nobody's lock any more
    raise InputError(f"'{name}' cannot be locked: '{lock}' changes all the time. Try again, or remove it.")


def _take(handle: int, lock: Path, name: str) -> bool:
    """Whether the lock is ours, False to try again; an error if it is somebody else's."""
    try:
        supported = _system_lock(handle)
    except OSError as error:
        if error.errno not in _BUSY:
            raise
        raise HeldError(f"{_held(_holder(handle, _ATTEMPTS), name)}.") from None
    _require_ours(handle, lock)
    if not supported:
        return _take_by_existence(handle, lock, name)
    if not _sign(handle):  # a dead process of another user has left it
        with contextlib.suppress(OSError):
            os.unlink(lock)
            return False
    return True


def _opened(lock: Path) -> int:
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | flags, 0o666)
    except PermissionError:
        handle = os.open(lock, os.O_RDONLY | flags)  # another user's: enough to see whether it is held
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError(f"'{lock}' must be a lock of ocboost; it is a link. Remove it.") from None
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InputError(f"'{lock}' must be a lock of ocboost; it is no ordinary file. Remove it.")
    return handle


def _system_lock(handle: int) -> bool:
    """Take the system's lock; False where there is none, `OSError` if another process has it."""
    if fcntl is None:
        return _windows_lock(handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return False
        raise
    return True


def _windows_lock(handle: int) -> bool:
    try:
        import msvcrt
    except ModuleNotFoundError:
        return False
    os.lseek(handle, 1 << 20, os.SEEK_SET)  # beyond what is written, which others may then read
    msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    return True


def _take_by_existence(handle: int, lock: Path, name: str) -> bool:
    """Without locks of the system: ours if nobody has signed it, or if its process is gone."""
    holder = _holder(handle, 1)
    if holder and _is_alive(holder):
        raise HeldError(f"{_held(holder, name)}. If there is no such run, remove '{lock}'.")
    # Put a signed file in its place; of several who do so at once, the one whose file stays has it.
    ours = lock.with_name(f"{lock.name}.{secrets.token_hex(4)}.tmp")
    other = os.open(ours, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        _sign(other)
        if not _is(handle, lock):
            return False
        os.replace(ours, lock)
        time.sleep(2 * _PAUSE)
        if not _is(other, lock):
            return False
        os.dup2(other, handle, inheritable=False)
        return True
    finally:
        os.close(other)
        with contextlib.suppress(OSError):
            os.unlink(ours)


def _is(handle: int, lock: Path) -> bool:
    """Whether an open file is the one that has the name."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(lock, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _require_ours(handle: int, lock: Path) -> None:
    """Refuse to write into a file that only happens to have the name."""
    begins = _read(handle)[: len(MARK)]
    if not MARK.startswith(begins):
        raise InputError(f"'{lock}' must be a lock of ocboost; it is another file. Move it away.")


def _sign(handle: int) -> bool:
    """Write down whose it is; False if the file must not be written to."""
    about = {"process": os.getpid(), "host": socket.gethostname(), "since": int(time.time())}
    try:
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, MARK + json.dumps(about).encode())
    except OSError as error:
        return error.errno not in (errno.EBADF, errno.EINVAL)  # a full disk only leaves it unsigned
    return True


def _read(handle: int) -> bytes:
    os.lseek(handle, 0, os.SEEK_SET)
    return os.read(handle, _LONGEST)


def _holder(handle: int, attempts: int) -> dict[str, Any]:
    """What the holder has written, who may still be about to; empty if it makes no sense."""
    for attempt in range(attempts):
        if attempt:
            time.sleep(_PAUSE)
        data = _read(handle)
        with contextlib.suppress(ValueError, RecursionError):
            about = json.loads(data.removeprefix(MARK))
            return about if isinstance(about, dict) else {}
    return {}


def _is_alive(holder: dict[str, Any]) -> bool:
    """Whether a process may still be there; one of another machine may."""
    number = holder.get("process")
    if holder.get("host") != socket.gethostname() or type(number) is not int or number <= 0:
        return True
    if os.name == "nt":  # asking would end it
        return True
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _held(holder: dict[str, Any], name: str) -> str:
    number, host, since = (holder.get(key) for key in ("process", "host", "since"))
    who = f", process {number}" if isinstance(number, int) else ""
    if who and isinstance(host, str) and host != socket.gethostname():
        who += f" on {host:.80}"
    if isinstance(since, int):
        with contextlib.suppress(ValueError, OverflowError, OSError):
            who += time.strftime(", since %Y-%m-%d %H:%M:%S", time.localtime(since))
    return f"'{name}' is being written by another run{who}; wait for it, or give another --out"


def _let_go(lock: Path, handle: int) -> None:
    """Remove the file while it is still ours, then close it, which ends the lock."""
    with contextlib.suppress(OSError):
        if os.name != "nt" and _is(handle, lock):
            os.unlink(lock)
    os.close(handle)
    if os.name == "nt":
        with contextlib.suppress(OSError):  # another may have opened it: then it stays, and is theirs
            os.unlink(lock)
