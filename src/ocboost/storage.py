r"""The file a model is saved in: plain arrays behind a plain header, and a checksum. No pickle.

::

    8 bytes   magic, b"ocboost\n"
    4 bytes   format version, little-endian
    4 bytes   length of the header
    ...       header, JSON in UTF-8: the kind of model, its parameters, and each array's name, type, shape
    ...       the arrays, one after the other, C order, little-endian
    32 bytes  SHA-256 of everything before

A file is written beside its place and renamed, so a reader sees the old one or the new one, and so does
whoever comes after a loss of power. Reading trusts nothing: sizes are checked against the length of the file
before memory is asked for. The checksum finds damage, not malice; what the arrays say is checked by the model
that takes them.
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

from .errors import InputError, ModelFileError

MAGIC = b"ocboost\n"
VERSION = 1
MAX_HEADER = 1 << 24
# Units of 2²⁵⁶ that a scaled number may count, up or down: λ = 1e-300 takes 10¹¹ examples to get there.
MOST_UNITS = 1 << 40
_TYPES = {"f8": "<f8", "f4": "<f4", "i8": "<i8", "i4": "<i4", "i1": "<i1", "u8": "<u8", "u2": "<u2"}
_PREFIX = struct.Struct("<8sII")
_DIGEST = 32
_NO_SUCH_THING = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)  # what fsync says of folders it cannot sync

Arrays = dict[str, NDArray[Any]]


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file beside its place and rename it: whoever reads sees the old one or the new one.

    When this returns the file is on the disk under its name, and outlasts a loss of power.
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
    """Let the names in a folder outlast a loss of power, as fsync does what is in a file.

    Where the system knows no such thing (Windows, some file systems, a folder that may be written and not
    read) nothing is done: a rename is whole there too, but may be forgotten.
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
        if error.errno not in _NO_SUCH_THING:
            raise


def save(path: str | os.PathLike[str], kind: str, parameters: dict[str, Any], arrays: Arrays) -> None:
    """Write a model's parameters and arrays."""
    write_atomically(path, to_bytes(kind, parameters, arrays))


def to_bytes(kind: str, parameters: dict[str, Any], arrays: Arrays) -> bytes:
    """A model's parameters and arrays as the bytes of a file."""
    table = [(name, f"{a.dtype.kind}{a.dtype.itemsize}", list(a.shape)) for name, a in arrays.items()]
    header = json.dumps({"kind": kind, "parameters": parameters, "arrays": table}, allow_nan=False).encode()
    if len(header) > MAX_HEADER:
        raise InputError(
            f"a model's names and settings must fit into {MAX_HEADER:,} bytes; these take {len(header):,}. "
            "Shorten the names of its columns."
        )
    body = b"".join(
        [_PREFIX.pack(MAGIC, VERSION, len(header)), header]
        + [
            np.ascontiguousarray(a, dtype=_TYPES[t[1]]).tobytes()
            for a, t in zip(arrays.values(), table, strict=True)
        ]
    )
    return body + hashlib.sha256(body).digest()


def load(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], Arrays]:
    """Read a model's parameters and arrays; anything wrong with the file is a `ModelFileError`."""
    place = Path(path)
    return from_bytes(place.read_bytes(), kind, str(place))


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as those that `save` writes."""
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def kind_of(path: str | os.PathLike[str]) -> str:
    """What a file says it holds; whether it does, its own class finds out when it loads it."""
    place = Path(path)
    return str(_parsed(place.read_bytes(), str(place))[0])


def from_bytes(data: bytes, kind: str, name: str = "the data") -> tuple[dict[str, Any], Arrays]:
    """The parameters and arrays that `to_bytes` has written."""
    found, parameters, arrays = _parsed(data, name)
    if found != kind:
        raise ModelFileError(f"{name} holds {found!s:.40}, not {kind}. Load it with the class that saved it.")
    return parameters, arrays


def _parsed(data: bytes, name: str) -> tuple[object, dict[str, Any], Arrays]:
    """The kind, the parameters and the arrays of a file."""
    if len(data) < _PREFIX.size or data[: len(MAGIC)] != MAGIC:
        raise ModelFileError(
            f"{name} is not an ocboost model: it does not begin as one. Was it saved by ocboost?"
        )
    _, version, length = _PREFIX.unpack_from(data)
    if version != VERSION:
        raise ModelFileError(
            f"{name} has format version {version}, and this ocboost reads version {VERSION}. "
            "Load it with the ocboost that saved it, or install a newer one."
        )
    if length > MAX_HEADER or _PREFIX.size + length + _DIGEST > len(data):
        raise ModelFileError(
            f"{name} is damaged: its header claims {length} bytes of a file of {len(data)}. Get a fresh copy."
        )
    if hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise ModelFileError(f"{name} is damaged or cut short: its checksum does not fit. Get a fresh copy.")
    start = _PREFIX.size + length
    try:
        header = json.loads(data[_PREFIX.size : start].decode())
        found, parameters, table = header["kind"], header["parameters"], header["arrays"]
        if not isinstance(parameters, dict):
            raise TypeError("parameters")
        arrays: Arrays = {}
        for entry, code, shape in table:
            if type(entry) is not str:
                raise TypeError("name")
            if not all(type(n) is int and n >= 0 for n in shape):
                raise ValueError("shape")
            count = math.prod(shape)
            dtype = np.dtype(_TYPES[code])
            if count * dtype.itemsize > len(data) - _DIGEST - start:
                raise ValueError("size")
            array = np.frombuffer(data, dtype, count, start).reshape(shape)
            arrays[entry] = array.astype(dtype.newbyteorder("="))  # a copy that may be written to
            start += count * dtype.itemsize
    except (KeyError, TypeError, ValueError, UnicodeDecodeError, RecursionError) as error:
        raise ModelFileError(
            f"{name} is not a model of ocboost: its header makes no sense ({error})."
        ) from None
    if start != len(data) - _DIGEST:
        raise ModelFileError(f"{name} is not a model of ocboost: its arrays do not fill it.")
    return found, parameters, arrays


def require(condition: bool, name: str, what: str) -> None:
    """Refuse a file whose contents cannot be a model's, however well its checksum fits."""
    if not condition:
        raise ModelFileError(f"{name} is not a valid model: {what}. It was not written by ocboost.")


def fill(like: NDArray[Any], found: NDArray[Any] | None, name: str, key: str) -> None:
    """Copy an array of a file into a model's, if it has the same shape and type."""
    fits = found is not None and found.shape == like.shape and found.dtype == like.dtype
    require(fits, name, f"the array {key!r} is missing or has the wrong shape")
    like[...] = found


def require_normal(name: str, **numbers: tuple[NDArray[np.float64], NDArray[Any]]) -> None:
    """Refuse values that are not normal scaled numbers (`ocboost.kernels.scaled`): NaN and infinity too."""
    for key, (value, unit) in numbers.items():
        most = min(MOST_UNITS, np.iinfo(unit.dtype).max // 2)
        inside = (value >= 2.0**-128) & (value < 2.0**128) & (unit > -most) & (unit < most)
        require(bool((inside | (value == 0.0)).all()), name, f"{key} must be a normal scaled number")
