"""One writer at a time: a lock file beside a file.

The lock of ``model.ocb`` is ``.model.ocb.lock`` in the same folder, links followed, so that all names of a
file have one lock. It is held through the system's lock on that open file, so it ends with its process,
however that ends. What is written in it is only for messages. Where a file system has no such locks, the file
itself is the lock, and one whose process is gone is taken over. The lock is advisory.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ocboost.errors import InputError

try:
    import fcntl
except ModuleNotFoundError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

LOCK_HEADER = b"ocboost lock\n"  # how the file begins, to tell it from other people's
_MAX_LOCK_BYTES = 4096
_ATTEMPTS = 100  # while another process is removing or writing the lock file
_SECONDS_BETWEEN_ATTEMPTS = 0.01
_HELD_BY_ANOTHER = (errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN)
_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL)
_BINARY = getattr(os, "O_BINARY", 0)


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
def locked(path: str | os.PathLike[str]) -> Iterator[Callable[[], bool]]:
    """Hold the lock of a file, or raise `HeldError` at once if another process does.

    Gives a function that says whether it is held still: the lock of a folder that was removed is nobody's.
    """
    lock = lock_name(path)
    handle = _acquire(lock, os.fspath(path))
    try:
        yield lambda: _is_at(handle, lock)
    finally:
        _release(lock, handle)


def _acquire(lock: Path, name: str) -> int:
    """Open the lock file and make it ours."""
    for _ in range(_ATTEMPTS):
        handle = _open(lock)
        try:
            if _try_to_hold(handle, lock, name) and _is_at(handle, lock):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # its holder has removed it meanwhile: it is nobody's lock any more
    raise InputError(f"'{name}' cannot be locked: '{lock}' changes all the time. Try again, or remove it.")


def _release(lock: Path, handle: int) -> None:
    """Remove the file while it is still ours, then close it, which ends the lock."""
    with contextlib.suppress(OSError):
        if os.name != "nt" and _is_at(handle, lock):
            os.unlink(lock)
    os.close(handle)
    if os.name == "nt":
        with contextlib.suppress(OSError):  # another process may have opened it: then it stays, and is theirs
            os.unlink(lock)


def _open(lock: Path) -> int:
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | _BINARY
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | flags, 0o666)
    except PermissionError as refused:
        try:
            handle = os.open(lock, os.O_RDONLY | flags)  # another user's: enough to see whether it is held
        except FileNotFoundError:
            raise refused from None  # there is none, and none can be made in this folder
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError(f"'{lock}' must be a lock of ocboost; it is a link. Remove it.") from None
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InputError(f"'{lock}' must be a lock of ocboost; it is no ordinary file. Remove it.")
    return handle


def _try_to_hold(handle: int, lock: Path, name: str) -> bool:
    """Whether the lock is ours, False to try again; `HeldError` if it is another process's."""
    try:
        supported = _system_lock(handle)
    except OSError as error:
        if error.errno not in _HELD_BY_ANOTHER:
            raise
        raise HeldError(f"{_held_by(_holder(handle, _ATTEMPTS), name)}.") from None
    if not LOCK_HEADER.startswith(_read(handle)[: len(LOCK_HEADER)]):
        raise InputError(f"'{lock}' must be a lock of ocboost; it is another file. Move it away.")
    if not supported:
        return _hold_by_existence(handle, lock, name)
    if not _sign(handle):  # left by a dead process of another user
        with contextlib.suppress(OSError):
            os.unlink(lock)
            return False
    return True


def _system_lock(handle: int) -> bool:
    """Take the system's lock; False where there is none, `OSError` if another process has it."""
    if fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _UNSUPPORTED:
                return False
            raise
        return True
    try:
        import msvcrt
    except ModuleNotFoundError:
        return False
    os.lseek(handle, 1 << 20, os.SEEK_SET)  # beyond what is written, so that others may read that
    msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    return True


def _hold_by_existence(handle: int, lock: Path, name: str) -> bool:
    """Without the system's locks: ours if nobody has signed it, or if its process is gone."""
    holder = _holder(handle, 1)
    if holder and _is_alive(holder):
        raise HeldError(f"{_held_by(holder, name)}. If there is no such run, remove '{lock}'.")
    # Put a signed file in its place; of several who do so at once, the one whose file stays has the lock.
    ours = lock.with_name(f"{lock.name}.{secrets.token_hex(4)}.tmp")
    new = os.open(ours, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
    try:
        _sign(new)
        if not _is_at(handle, lock):
            return False
        os.replace(ours, lock)
        time.sleep(2 * _SECONDS_BETWEEN_ATTEMPTS)
        if not _is_at(new, lock):
            return False
        os.dup2(new, handle, inheritable=False)
        return True
    finally:
        os.close(new)
        with contextlib.suppress(OSError):
            os.unlink(ours)


def _is_at(handle: int, lock: Path) -> bool:
    """Whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(lock, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _sign(handle: int) -> bool:
    """Write down whose lock it is; False if the file must not be written to."""
    holder = {"process": os.getpid(), "host": socket.gethostname(), "since": int(time.time())}
    try:
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, LOCK_HEADER + json.dumps(holder).encode())
    except OSError as error:
        return error.errno not in (errno.EBADF, errno.EINVAL)  # a full disk only leaves it unsigned
    return True


def _read(handle: int) -> bytes:
    os.lseek(handle, 0, os.SEEK_SET)
    return os.read(handle, _MAX_LOCK_BYTES)


def _holder(handle: int, attempts: int) -> dict[str, Any]:
    """What the holder has written, or is about to; empty if it makes no sense."""
    for attempt in range(attempts):
        if attempt:
            time.sleep(_SECONDS_BETWEEN_ATTEMPTS)
        with contextlib.suppress(ValueError, RecursionError):
            holder = json.loads(_read(handle).removeprefix(LOCK_HEADER))
            return holder if isinstance(holder, dict) else {}
    return {}


def _is_alive(holder: dict[str, Any]) -> bool:
    """Whether the holder's process may still run; on another machine, it may."""
    process = holder.get("process")
    if holder.get("host") != socket.gethostname() or type(process) is not int or process <= 0:
        return True
    if os.name == "nt":  # asking would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def _held_by(holder: dict[str, Any], name: str) -> str:
    process, host, since = (holder.get(key) for key in ("process", "host", "since"))
    who = f", process {process}" if isinstance(process, int) else ""
    if who and isinstance(host, str) and host != socket.gethostname():
        who += f" on {host:.80}"
    if isinstance(since, int):
        with contextlib.suppress(ValueError, OverflowError, OSError):
            who += time.strftime(", since %Y-%m-%d %H:%M:%S", time.localtime(since))
    return f"'{name}' is being written by another run{who}; wait for it, or give another --out"
