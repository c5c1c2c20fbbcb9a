"""Binned rows in files, mapped into memory a chunk at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from ocboost._core.file_format import sync_folder
from ocboost._kernels.arrays import Bytes, Floats, UInt32s
from ocboost._shards.chunks import Chunk

_ALL_THE_SAME = np.ones(1)


class DiskChunk(Chunk):
    """Rows in two kinds of files: bins and codes in one, the answers of each booster's stumps in another.

    Files are mapped when they are asked for, and let go with what was given: never more than the chunks that
    are being worked on are in this process's memory.
    """

    def __init__(self, folder: Path, number: int, n_rows: int, n_features: int, n_classes: int) -> None:
        self._folder, self._number, self.n, self._m = folder, number, n_rows, n_features
        self._code = np.dtype(np.uint8 if n_classes <= 256 else np.uint32)

    @property
    def path(self) -> Path:
        """The file of bins and codes."""
        return self._folder / f"rows-{self._number:06d}.bin"

    @property
    def n_bytes(self) -> int:
        """How long that file is."""
        return self.n * (self._m + self._code.itemsize)

    def write(self, bins: Bytes, codes: NDArray[np.integer]) -> None:
        """Write the rows; the file has its name when it is complete and on the disk."""
        part = self.path.with_suffix(".part")
        try:
            with _opened(part, "wb") as file:
                file.write(np.ascontiguousarray(bins).data)
                file.write(codes.astype(self._code).data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        os.replace(part, self.path)
        sync_folder(self._folder)

    def bins(self) -> Bytes:
        """(m, n)."""
        return _mapped(self.path, (self._m, self.n))

    def codes(self) -> UInt32s:
        """(n,)."""
        size = self.n * self._code.itemsize
        raw = np.fromfile(self.path, self._code, self.n, offset=self.n_bytes - size)
        return raw.astype(np.uint32)

    def weights(self) -> Floats:
        """(1,): all rows weigh the same."""
        return _ALL_THE_SAME

    def _answers_path(self, booster: int) -> Path:
        return self._folder / f"answers-{booster}-{self._number:06d}.bin"

    def put_answers(self, booster: int, n_groups: int, group: int, packed: Bytes) -> None:
        """Write a line of the file of answers, which begins anew with the first one."""
        with _opened(self._answers_path(booster), "wb" if group == 0 else "ab") as file:
            file.write(packed.data)

    def answers(self, booster: int) -> Bytes:
        """(groups, n)."""
        path = self._answers_path(booster)
        return _mapped(path, (path.stat().st_size // self.n, self.n))


@contextmanager
def _opened(path: Path, mode: str) -> Iterator[IO[bytes]]:
    """A file to write to; an error names it, also where the disk is full."""
    try:
        with open(path, mode) as file:
            yield file
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _mapped(path: Path, shape: tuple[int, int]) -> Bytes:
    """A file as an array; what would be written to it stays in memory."""
    if 0 in shape:
        return np.empty(shape, np.uint8)
    return np.asarray(np.memmap(path, np.uint8, "c", shape=shape))
