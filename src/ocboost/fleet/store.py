"""The store of a fleet: an LMDB environment in a folder of its own.

Two tables: ``keys``, a record for each key (`ocboost.fleet.record`), and ``fleet``, what all of them share.
One transaction changes both, or neither. Readers see the store as it was when they began; they wait for
nobody, and nobody waits for them.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from ocboost._core.file_format import sync_folder
from ocboost._core.file_lock import HeldError, locked
from ocboost.errors import (
    ClosedError,
    FleetStoreError,
    InputError,
    MissingExtraError,
    StorageError,
    StorageFullError,
)

DATA, LOCK = "data.mdb", "lock.mdb"
_OWN = {LOCK, f"{DATA}.new", ".fleet.lock", ".opening.lock"}  # what a process that was killed may have left
STORE_FORMAT = b"ocboost fleet 1"
MAX_READERS = 512
_OPENING_ATTEMPTS, _OPENING_PAUSE = 1_000, 0.01
_LEAST_FREE = 1 << 20  # bytes of a disk that is not full
_LEAST_MAP = 1 << 26  # bytes
_MOST_MAP = 1 << 44


def lmdb() -> Any:
    """The module, or an error that says how to get it."""
    try:
        import lmdb
    except ImportError:
        raise MissingExtraError("lmdb", "fleet", "A fleet") from None
    return lmdb


class FleetStore:
    """The tables of a fleet, for any number of threads that read and one that writes.

    A store that is not ``read_only`` is made if it is not there, and no other process may write to it.
    """

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        self.folder, self.read_only = folder, read_only
        self._lmdb = lmdb()
        self._opened = ExitStack()
        self._lock = threading.RLock()  # taken by itself: Ctrl-C cannot come between taking and releasing it
        self._closing = threading.Condition(self._lock)
        self._readers: dict[object, int] = {}  # and the thread of each
        self._paused = False  # while the file is replaced
        self._closed = False
        self._process = os.getpid()
        self._env: Any = None
        try:
            self._open()
        except BaseException:
            self._disconnect()
            raise

    def _open(self) -> None:
        folder = self.folder
        if folder.exists() and not folder.is_dir():
            raise FleetStoreError(f"a store must be a folder; '{folder}' is a file. Give another name.")
        there = (folder / DATA).exists()
        if self.read_only and not there:
            raise FleetStoreError(f"there is no store in '{folder}'. Make one: ocboost fleet adapt.")
        if not there and folder.exists() and any(each.name not in _OWN for each in folder.iterdir()):
            raise FleetStoreError(f"'{folder}' holds other files, and no store. Give an empty folder.")
        if not self.read_only:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._opened.enter_context(_held(folder))
            with suppress(FileNotFoundError):
                (folder / f"{DATA}.new").unlink()  # of a compaction that was killed
        with _alone(folder, "opening"):
            self._connect()
        with self.reading() as txn:
            found = self.get(txn, b"format")
            empty = not self.names(txn, b"") and not self.n_keys(txn)
        if empty and not self.read_only:
            with self.writing() as txn:
                self.put(txn, b"format", STORE_FORMAT)
            sync_folder(folder)
        elif found != STORE_FORMAT:
            what = "nothing" if found is None else repr(bytes(found[:40]))
            raise FleetStoreError(
                f"'{folder}' must hold a store of this version, {STORE_FORMAT.decode()!r}; it holds {what}. "
                "Open it with the ocboost that made it, or give another folder."
            )

    def _connect(self) -> None:
        self._env = self._environment()
        with self._translated():
            info, page = self._env.info(), self._env.stat()["psize"]
            if self.size < (info["last_pgno"] + 1) * page:
                raise FleetStoreError(
                    f"'{self.folder}' is damaged: its file was cut short, to {self.size:,} bytes. Put back a "
                    "copy."
                )
            self._env.reader_check()  # pages that a process held which was killed are free again
            self._fleet = self._env.open_db(b"fleet", create=not self.read_only)
            self._keys = self._env.open_db(b"keys", create=not self.read_only)

    def _disconnect(self) -> None:
        try:
            if self._env is not None:
                self._env.close()
        finally:
            self._opened.close()

    def _environment(self) -> Any:
        """Open LMDB with room for all that the disk can take; addresses cost nothing."""
        with suppress(OSError):
            room = shutil.disk_usage(self.folder).free + self.size
            size = min(max(_LEAST_MAP, room), _MOST_MAP) >> 16 << 16
        while True:
            try:
                with self._translated():
                    return self._lmdb.open(
                        os.fspath(self.folder),
                        map_size=size,
                        max_dbs=2,
                        max_readers=MAX_READERS,
                        readonly=self.read_only,
                        mode=0o600,
                        readahead=False,
                    )
            except StorageError as error:  # a limit on addresses (ulimit -v)
                if error.errno != errno.ENOMEM or size <= max(_LEAST_MAP, 2 * self.size):
                    raise
                size //= 2

    @property
    def size(self) -> int:
        """Bytes of the data file."""
        with suppress(FileNotFoundError):
            return (self.folder / DATA).stat().st_size
        return 0

    # Transactions -----------------------------------------------------------------------------------------

    def _require_open(self) -> None:
        if os.getpid() != self._process:
            raise ClosedError("a fleet does not survive a fork; open it again in this process.")
        if self._closed:
            raise ClosedError("the fleet was closed; open it again.")

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """The store as it is now."""
        if os.getpid() != self._process:  # whose locks are nobody's here
            self._require_open()
        reader = object()
        try:
            with self._translated(), self._begun(reader) as txn:
                yield txn
        finally:
            try:
                self._leave(reader)
            finally:  # a Ctrl-C in the line above must not leave a reader behind, whom others would wait for
                self._leave(reader)

    def _begun(self, reader: object) -> Any:
        """A transaction that reads; the file may have outgrown what is mapped of it."""
        while True:
            with self._lock:
                while self._paused:
                    self._closing.wait()
                self._require_open()
                self._readers[reader] = threading.get_ident()
            try:
                return self._env.begin(buffers=True)
            except self._lmdb.MapResizedError:
                self._leave(reader)
                with self._lock:
                    while self._others_read:  # nobody may use the map while it changes
                        self._closing.wait()
                    self._env.set_mapsize(0)

    def _leave(self, reader: object) -> None:
        with self._lock:
            self._readers.pop(reader, None)
            self._closing.notify_all()

    @property
    def _others_read(self) -> bool:
        """Whether another thread reads; one of this thread's own can only be what Ctrl-C has left behind."""
        return any(thread != threading.get_ident() for thread in self._readers.values())

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """Changes that are all made when the block ends, or none of them if it fails."""
        if self.read_only:
            raise InputError("the fleet was opened to be read only; open it without read_only to change it.")
        self._require_open()
        with self._translated(), self._env.begin(write=True, buffers=True) as txn:
            yield txn
        self._env.reader_check()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Errors of LMDB as ours."""
        try:
            yield
        except self._lmdb.MapFullError:
            raise StorageFullError(
                errno.ENOSPC,
                f"'{self.folder}' cannot grow: the disk is full, or was when it was opened; nothing of this "
                "call was learnt. Make room, and open the fleet again",
            ) from None
        except self._lmdb.Error as error:
            raise self._as_own(error) from error

    def _as_own(self, error: Exception) -> Exception:
        text = str(error)
        if "already open in this process" in text:
            return _open_here(self.folder)
        known = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EACCES, errno.EIO, errno.EROFS)
        code = next((each for each in known if os.strerror(each) in text), None)
        # LMDB calls a page that was written in part, as on a full disk, an input/output error.
        if code in (errno.ENOSPC, errno.EDQUOT) or (code == errno.EIO and self._free < _LEAST_FREE):
            return StorageFullError(
                errno.ENOSPC,
                f"'{self.folder}' cannot be written: the disk is full; nothing of this call was learnt. Make "
                "room, and try again",
            )
        if code is not None:
            return StorageError(
                code,
                f"'{self.folder}' cannot be used: {text}; nothing of this call was learnt. Look at the "
                "disk, and try again",
            )
        if isinstance(error, self._lmdb.ReadersFullError):
            return StorageError(errno.EAGAIN, f"more than {MAX_READERS} threads read '{self.folder}' at once")
        return FleetStoreError(
            f"'{self.folder}' is damaged, or no store of a fleet: {text}. Put back a copy, or begin another."
        )

    @property
    def _free(self) -> int:
        with suppress(OSError):
            return shutil.disk_usage(self.folder).free
        return 0

    # Records ----------------------------------------------------------------------------------------------

    def get(self, txn: Any, name: bytes) -> bytes | None:
        """What all keys share, by name."""
        found = txn.get(name, db=self._fleet)
        return None if found is None else bytes(found)

    def put(self, txn: Any, name: bytes, data: bytes) -> None:
        """Replace it."""
        txn.put(name, data, db=self._fleet)

    def names(self, txn: Any, prefix: bytes) -> list[bytes]:
        """Names of what all keys share, those with this beginning."""
        with txn.cursor(db=self._fleet) as cursor:
            found, there = [], cursor.set_range(prefix)
            while there and bytes(cursor.key()).startswith(prefix):
                found.append(bytes(cursor.key()))
                there = cursor.next()
            return found

    def get_key(self, txn: Any, key: bytes) -> Any:
        """The record of a key, which lives as long as the transaction; None if it is new."""
        return txn.get(key, db=self._keys)

    def put_key(self, txn: Any, key: bytes, record: bytes) -> None:
        """Replace it."""
        txn.put(key, record, db=self._keys)

    def drop_key(self, txn: Any, key: bytes) -> bool:
        """Remove it; whether it was there."""
        return bool(txn.delete(key, db=self._keys))

    def n_keys(self, txn: Any) -> int:
        """How many keys there are."""
        return int(txn.stat(self._keys)["entries"])

    def keys_after(self, txn: Any, key: bytes, most: int) -> list[bytes]:
        """The next keys in their order, at most so many."""
        with txn.cursor(db=self._keys) as cursor:
            there = cursor.set_range(key + b"\0")
            return [bytes(each) for each in islice(cursor.iternext(values=False), most)] if there else []

    def records(self, txn: Any) -> Iterator[tuple[bytes, Any]]:
        """All keys in their order, with their records."""
        with txn.cursor(db=self._keys) as cursor:
            for key, record in cursor:
                yield bytes(key), record

    # The folder -------------------------------------------------------------------------------------------

    def compact(self) -> tuple[int, int]:
        """Write the store anew without the room that dropped keys have left; bytes before and after.

        The new file takes the place of the old one all at once. Other processes that have it open go on
        reading the old one until they open it again.
        """
        if self.read_only:
            raise InputError("the fleet was opened to be read only; open it without read_only to compact it.")
        self._require_open()
        before, new = self.size, self.folder / f"{DATA}.new"
        with suppress(FileNotFoundError):
            new.unlink()
        try:
            with self._translated(), open(new, "wb") as file:
                self._env.copyfd(file.fileno(), compact=True)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(new, 0o600)
        except BaseException as error:
            with suppress(OSError):
                new.unlink()
            if isinstance(error, OSError) and not isinstance(error, StorageError):
                raise self._as_own(error) from error
            raise
        with self._lock, _alone(self.folder, "opening"):
            self._paused = True
            try:
                while self._others_read:
                    self._closing.wait()
                self._replace(new)
            finally:
                self._paused = False
                self._closing.notify_all()
        return before, self.size

    def _replace(self, new: Path) -> None:
        self._env.close()
        # LMDB's own lock knows the old file's transactions: the new file must not meet it.
        with suppress(FileNotFoundError):
            (self.folder / LOCK).unlink()
        os.replace(new, self.folder / DATA)
        sync_folder(self.folder)
        try:
            self._connect()
        except BaseException:
            self._closed = True
            self._disconnect()
            raise

    def close(self) -> None:
        """Wait for those who read, and close; closing twice does nothing."""
        if os.getpid() != self._process:  # after a fork it is the other process's
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            while self._others_read:
                self._closing.wait()
            self._disconnect()


def _open_here(folder: Path) -> FleetStoreError:
    return FleetStoreError(
        f"the store in '{folder}' is open in this process already. Share that fleet, or close it."
    )


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold the lock of a store, for those who write."""
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(folder / "fleet"))
        except HeldError as error:
            who = re.search(r", process \d+", str(error))
            if who and int(who[0].rpartition(" ")[2]) == os.getpid():
                raise _open_here(folder) from None
            raise FleetStoreError(
                f"another process{who[0].removeprefix(', process') if who else ''} learns in '{folder}'. "
                "Wait for it, or open the store with read_only=True."
            ) from None
        yield


@contextmanager
def _alone(folder: Path, what: str) -> Iterator[None]:
    """Wait for other processes that do the same to a store, a moment each."""
    with ExitStack() as stack:
        for _ in range(_OPENING_ATTEMPTS):
            with suppress(HeldError):
                with suppress(PermissionError):  # a folder that others must not write to
                    stack.enter_context(locked(folder / what))
                break
            time.sleep(_OPENING_PAUSE)
        else:
            raise FleetStoreError(f"'{folder}' is being opened by another process. Try again.")
        yield
