"""Results of long steps, stored between runs with `joblib.Memory`.

An entry is found by the name of its step, by the contents of its inputs, and by a digest of every source file
of the package: after any change of the code, entries of the old code are never used. The entries are pickles.
They are written by the user's own runs into a folder that only the user can open (mode 0700), and must never
be taken from somebody else. joblib stores no checksum, so each entry carries one; a damaged entry is
recomputed. Where nothing can be written, the work is done without a cache, and `Cache.note` says so.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import joblib
import numpy as np
from numpy.typing import NDArray

import ocboost
from ocboost._core.codec import Fields

MAX_BYTES = 2 * 10**9  # all three experiments at full size take about a tenth of this
T = TypeVar("T")


def default_folder() -> Path:
    """The user's cache folder; OCBOOST_CACHE overrides it. A user without a home is a RuntimeError."""
    if chosen := os.environ.get("OCBOOST_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "ocboost" / "Cache"
    if sys.platform == "darwin":
        return _home() / "Library" / "Caches" / "ocboost"
    shared = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(shared) if os.path.isabs(shared) else _home() / ".cache") / "ocboost"


def _home() -> Path:
    if os.environ.get("HOME") == "":  # Path.home() would be the root folder
        raise RuntimeError("HOME is empty")
    return Path.home()


@functools.cache
def source_digest(package: Path = Path(ocboost.__file__).parent) -> str:
    """A hash of all source files below a folder, with their names, and of the numerical packages' versions.

    It is an OSError if there are none, or one cannot be read.
    """
    digest = hashlib.sha256()
    paths = sorted(package.rglob("*.py"))
    if not paths:
        raise OSError(f"there are no source files in '{package}'")
    for path in paths:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(package).as_posix()} {len(content)}\n".encode() + content)
    for name in ("numpy", "numba", "scipy", "scikit-learn"):
        digest.update(f"{name} {version(name)}\n".encode())
    return digest.hexdigest()


def _remembered(step: str, key: str, work: Callable[[], tuple[bytes, str]]) -> tuple[bytes, str]:
    """What joblib calls where it has no entry: the pickled result and its checksum."""
    return work()


class Cache:
    """Results of long steps, in a folder that is created if needed; by default `default_folder`.

    Where nothing can be written, ``folder`` is None, and every step is computed. ``note`` is None, or a
    sentence to show once on why nothing is stored.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = Cache(folder)
    ...     for _ in range(2):
    ...         squares = cache.fetch("squares", {"n": 3}, lambda: print("working") or np.arange(3.0) ** 2)
    working
    >>> squares
    array([0., 1., 4.])
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder: Path | None = None
        self.note: str | None = None
        # joblib warns where an entry cannot be written (`note` says it), and where the disk is slow.
        warnings.filterwarnings("ignore", message="Unable to cache to disk|Persisting input arguments took")
        try:
            place = default_folder() if folder is None else Path(folder)
            self._source = source_digest()
            store = place / "joblib"  # where joblib puts its entries
            store.mkdir(parents=True, exist_ok=True)
            store.chmod(0o700)  # fails where the folder is somebody else's
            memory = joblib.Memory(str(place), verbose=0)
            memory.reduce_size(bytes_limit=MAX_BYTES)
            self._memorized = memory.cache(_remembered, ignore=["work"])
            self._try(place)
            self.folder = place
        except (OSError, RuntimeError) as error:
            self._fail(error)

    def fetch(self, step: str, inputs: Mapping[str, Any], make: Callable[[], T]) -> T:
        """The result of a step: read from the cache, or made now and stored.

        `inputs` must have everything that the result depends on, apart from the code.
        """
        if self.folder is None:
            return make()
        started, made = False, list[T]()

        def work() -> tuple[bytes, str]:
            nonlocal started
            started = True
            made.append(make())
            pickled = pickle.dumps(made[0], protocol=5)
            return pickled, hashlib.sha256(pickled).hexdigest()

        call = step, joblib.hash([self._source, dict(inputs)]), work
        for _ in range(2):
            try:
                entry = self._memorized.call_and_shelve(*call)
                if made and not self._memorized.check_call_in_cache(*call):
                    try:
                        self._try(self.folder)
                    finally:
                        entry.clear()  # half a file may be left
                    raise OSError("an entry could not be stored")
            except OSError as error:
                if started and not made:
                    raise  # it is the work that failed
                self._fail(error)
                return made[0] if made else make()
            if made:
                return made[0]
            with suppress(Exception):  # unpickling a damaged file can raise anything
                pickled, checksum = entry.get()
                if hashlib.sha256(pickled).hexdigest() == checksum:
                    return pickle.loads(pickled)  # type: ignore[no-any-return]
            entry.clear()
        return make()

    def _try(self, place: Path) -> None:
        """Write a file as joblib does, so that a folder that takes nothing is found before the work."""
        probe = place / "joblib" / f".probe-{os.getpid()}"
        try:
            probe.write_bytes(b"0")
        finally:
            probe.unlink(missing_ok=True)
        self._memorized.check_call_in_cache("", "", None)  # stores the function's code

    def _fail(self, error: Exception) -> None:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        self.note = self.note or (
            f"Nothing is stored for the next run, since the cache cannot be written ({reason}). "
            "Choose a folder with OCBOOST_CACHE."
        )


def as_bits(margins: NDArray[np.int8]) -> tuple[NDArray[np.uint8], int]:
    """Margins -1 and +1 as bits, an eighth of their size, and the number of columns.

    >>> as_margins_again(*as_bits(np.array([[1, -1, 1], [-1, 1, -1]], np.int8)))
    array([[ 1, -1,  1],
           [-1,  1, -1]], dtype=int8)
    """
    return np.packbits(margins > 0, axis=1), margins.shape[1]


def as_margins_again(bits: NDArray[np.uint8], n_columns: int) -> NDArray[np.int8]:
    """The margins that `as_bits` has packed."""
    margins = np.unpackbits(bits, axis=1, count=n_columns).view(np.int8)
    margins *= 2
    margins -= 1
    return margins


class OldEntry(NamedTuple):
    """A cached result in a file of its own, as earlier versions wrote it; nothing uses it any more."""

    key: str

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """One from what such a file holds, which `ocboost info` describes."""
        key, parameters, arrays = fields.text("key"), fields.take("parameters"), fields.take("arrays")
        fields.require(
            isinstance(parameters, dict) and isinstance(arrays, dict), "its contents are not known"
        )
        return cls(key)
