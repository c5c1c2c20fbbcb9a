r"""The file format of saved models: a header in JSON, plain arrays, a checksum. No pickle.

::

    8 bytes   magic, b"ocboost\n"
    4 bytes   format version, little-endian
    4 bytes   length of the header
    ...       header, JSON in UTF-8: the kind of model, its tree, and each array's path, type and shape
    ...       the arrays, one after the other, C order, little-endian
    32 bytes  SHA-256 of everything before

A tree is nested dicts (with text keys) and lists of None, bool, int, finite float, str and arrays. The header
leaves arrays out, in a list there is a null instead, and has the path of each, such as ``["committee",
"boosters", 0, "W"]``. Version 1 named its arrays; `ocboost._core.old_format` makes trees of those.

Reading trusts nothing: sizes are checked against the length of the file before memory is allocated. The
checksum finds damage, not malice; the class that reads the tree checks what the arrays say.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
import secrets
import stat
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Tree
from ocboost._core.old_format import Arrays, tree_of
from ocboost.errors import InputError, ModelFileError

MAGIC = b"ocboost\n"
VERSION = 2
MAX_HEADER = 1 << 24  # bytes
MAX_TREE_DEPTH = 64
MAX_ARRAY_AXES = 8
_ARRAY_TYPES = {code: f"<{code}" for code in ("f8", "f4", "i8", "i4", "i1", "u8", "u2", "u1")}
# What loads a file that the command line makes.
_LOADERS = {
    kind: f"ocboost.{kind}.load, or with ocboost.Model.load"
    for kind in ("OCBClassifier", "AdaptiveClassifier")
}
_PREFIX = struct.Struct("<8sII")
_DIGEST = 32
# Errors of file systems that cannot sync folders.
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)

_Path = list[str | int]  # of an array in a tree


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a temporary file in the same folder, and rename it: readers see the old file or the new one.

    When this returns, the file is on the disk under its name, and survives a power failure.
    """
    place = Path(os.path.realpath(path))  # a link stays a link
    if place.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder; give the name of a file", os.fspath(path))
    if place.exists() and not place.is_file():
        raise FileExistsError(errno.EEXIST, "this is no ordinary file; give another name", os.fspath(path))
    if not place.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder; make it first", str(place.parent))
    name = place.parent / f".{place.name}.{secrets.token_hex(4)}.tmp"
    try:
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):  # a file that was private stays so
            os.chmod(name, stat.S_IMODE(place.stat().st_mode))
        os.replace(name, place)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(name)
        if isinstance(error, OSError) and error.filename is None:  # as where the disk is full
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise
    sync_folder(place.parent)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Make the names in a folder survive a power failure, as fsync does the contents of a file.

    Where that is not possible (Windows, some file systems, a folder that may be written and not read) nothing
    is done: a rename is atomic there too, but may be lost.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except PermissionError:
        pass
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise


def save(path: str | os.PathLike[str], kind: str, tree: Tree) -> None:
    """Write a model's tree."""
    write_atomically(path, to_bytes(kind, tree))


def to_bytes(kind: str, tree: Tree) -> bytes:
    """A model's tree as the bytes of a file."""
    table: list[tuple[_Path, str, list[int]]] = []  # path, type and shape of each array
    arrays: list[NDArray[Any]] = []

    def without_arrays(inner: Any, path: _Path) -> Any:
        if len(path) > MAX_TREE_DEPTH:
            raise InputError(
                f"what is saved must be at most {MAX_TREE_DEPTH} levels deep; got more at "
                f"{'.'.join(map(str, path[:5]))!r:.80}. Flatten it."
            )
        is_list = isinstance(inner, list)
        kept: dict[Any, Any] = {}
        for key, value in enumerate(inner) if is_list else inner.items():
            if isinstance(value, np.ndarray):
                table.append(([*path, key], f"{value.dtype.kind}{value.dtype.itemsize}", list(value.shape)))
                arrays.append(value)
                if is_list:
                    kept[key] = None
            else:
                kept[key] = without_arrays(value, [*path, key]) if isinstance(value, dict | list) else value
        return list(kept.values()) if is_list else kept

    contents = {"kind": kind, "tree": without_arrays(tree, []), "arrays": table}
    header = _ENCODER.encode(contents).encode()
    if len(header) > MAX_HEADER:
        raise InputError(
            f"a model's names and settings must fit into {MAX_HEADER:,} bytes; these take {len(header):,}. "
            "Shorten the names of its columns."
        )
    body = b"".join(
        [_PREFIX.pack(MAGIC, VERSION, len(header)), header]
        + [
            np.ascontiguousarray(a, dtype=_ARRAY_TYPES[code]).tobytes()
            for a, (_, code, _) in zip(arrays, table, strict=True)
        ]
    )
    return body + hashlib.sha256(body).digest()


def load(path: str | os.PathLike[str], kind: str) -> Tree:
    """Read a model's tree; anything wrong with the file is a `ModelFileError`."""
    place = Path(path)
    return from_bytes(place.read_bytes(), kind, str(place))


def load_any(path: str | os.PathLike[str]) -> tuple[str, Tree]:
    """The kind that a file says it holds, and its tree, which that kind's class has to check."""
    place = Path(path)
    return _parsed(place.read_bytes(), str(place))


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins like one that `save` wrote."""
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def from_bytes(data: bytes, kind: str, name: str = "the data") -> Tree:
    """The tree that `to_bytes` wrote."""
    found, tree = _parsed(data, name)
    if found != kind:
        advice = _LOADERS.get(found, "the class that saved it")
        raise ModelFileError(f"{name} holds {found!r:.40}, not {kind}. Load it with {advice}.")
    return tree


def _parsed(data: bytes, name: str) -> tuple[str, Tree]:
    """The kind and the tree of a file."""
    version, start = _checked(data, name)
    try:
        header = _DECODER.decode(data[_PREFIX.size : start].decode())
        kind, table = header["kind"], header["arrays"]
        if type(kind) is not str:
            raise TypeError("kind")
        tree = header["parameters" if version == 1 else "tree"]
        if not isinstance(tree, dict):
            raise TypeError("tree")
        _require_bounded(tree)
        named: Arrays = {}
        for path, code, shape in table:
            array, start = _array_at(data, start, code, shape)
            if version > 1:
                _put(tree, path, array)
            elif type(path) is str and path not in named:
                named[path] = array
            else:
                raise TypeError("name")
    except (KeyError, TypeError, ValueError, RecursionError) as error:  # a UnicodeDecodeError is a ValueError
        raise ModelFileError(
            f"{name} is not a model of ocboost: its header makes no sense ({error!s:.80})."
        ) from None
    if start != len(data) - _DIGEST:
        raise ModelFileError(f"{name} is not a model of ocboost: its arrays do not fill it.")
    return kind, tree if version > 1 else tree_of(kind, tree, named, name)


def _checked(data: bytes, name: str) -> tuple[int, int]:
    """The version of an undamaged file, and where its arrays begin."""
    if len(data) < _PREFIX.size or data[: len(MAGIC)] != MAGIC:
        raise ModelFileError(
            f"{name} is not an ocboost model: it does not begin as one. Was it saved by ocboost?"
        )
    _, version, length = _PREFIX.unpack_from(data)
    if not 1 <= version <= VERSION:
        raise ModelFileError(
            f"{name} has format version {version}, and this ocboost reads versions 1 to {VERSION}. "
            "Load it with the ocboost that saved it, or install a newer one."
        )
    if length > MAX_HEADER or _PREFIX.size + length + _DIGEST > len(data):
        raise ModelFileError(
            f"{name} is damaged: its header claims {length} bytes of a file of {len(data)}. Get a fresh copy."
        )
    if hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise ModelFileError(f"{name} is damaged or cut short: its checksum does not fit. Get a fresh copy.")
    return version, _PREFIX.size + length


def _not_finite(word: str) -> None:
    raise ValueError(f"it has a number {word}")


_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_DECODER = json.JSONDecoder(parse_constant=_not_finite)


def _require_bounded(inner: Any, depth: int = 0) -> None:
    """Refuse a tree that is too deep, or has a number that is not finite."""
    if depth > MAX_TREE_DEPTH:
        raise ValueError("it has too many levels")
    for value in inner.values() if isinstance(inner, dict) else inner:
        if isinstance(value, dict | list):
            _require_bounded(value, depth + 1)
        elif isinstance(value, float) and not math.isfinite(value):
            raise ValueError("a number is not finite")


def _array_at(data: bytes, start: int, code: Any, shape: Any) -> tuple[NDArray[Any], int]:
    """The array that begins at a byte of a file, and where the next one begins."""
    fits = isinstance(shape, list) and len(shape) <= MAX_ARRAY_AXES
    if not fits or not all(type(n) is int and 0 <= n < 1 << 48 for n in shape):
        raise ValueError("shape")
    count, dtype = math.prod(shape), np.dtype(_ARRAY_TYPES[code])
    size = count * dtype.itemsize
    if size > len(data) - _DIGEST - start:
        raise ValueError("size")
    array = np.frombuffer(data, dtype, count, start).reshape(shape)
    return array.astype(dtype.newbyteorder("=")), start + size  # a copy that may be written to


def _put(tree: Tree, path: Any, array: NDArray[Any]) -> None:
    """Put an array at its path, which must lead to a free place."""
    if not isinstance(path, list) or not path:
        raise TypeError("an array has no path")
    *steps, last = path
    inner: Any = tree
    for step in steps:
        if not _has(inner, step):
            raise ValueError("the path of an array leads nowhere")
        inner = inner[step]
    if not (type(last) is str if isinstance(inner, dict) else _has(inner, last)):
        raise ValueError("the path of an array leads nowhere")
    if last in inner if isinstance(inner, dict) else inner[last] is not None:
        raise ValueError("the place of an array is taken")
    inner[last] = array


def _has(inner: Any, step: Any) -> bool:
    """Whether a tree has something at this step of a path."""
    if isinstance(inner, dict):
        return type(step) is str and step in inner
    return isinstance(inner, list) and type(step) is int and 0 <= step < len(inner)
