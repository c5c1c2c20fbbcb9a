"""The folder that results are written into, and what they were computed with."""

from __future__ import annotations

import json
import os
import platform
import secrets
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ocboost._core.file_format import sync_folder
from ocboost._core.interrupts import ignoring_ctrl_c
from ocboost.errors import InputError


class OutputFolder:
    r"""A folder for results, used in a ``with`` statement around the work.

    Entering makes the folder with its parents and writes a probe, so that a folder that cannot be written is
    found before the work. `write` puts every file beside its place and renames it there: a reader never sees
    half a file, and an old result stays until the new one is complete. Leaving without having written removes
    the folders that entering made. ``names`` are the files that will be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     with OutputFolder(Path(parent) / "results" / "toy", ["toy.json"]) as folder:
    ...         written = folder.write({"toy.json": to_json({"answer": 42})})
    ...     [path.name for path in written], written[0].read_text()
    (['toy.json'], '{\n  "answer": 42\n}\n')
    """

    def __init__(self, path: Path | str, names: Sequence[str]) -> None:
        self.path = Path(path)
        self.names = list(names)
        self._made: list[Path] = []

    def __enter__(self) -> Self:
        try:
            self._make()
            probe = self._beside("probe")
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            self._remove_made()
            raise InputError(
                f"out must be a folder that can be written; got '{self.path}' "
                f"({error.strerror or error}). Choose another with --out."
            ) from error
        for name in self.names:
            self._refuse_folder(name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove_made()

    def write(self, files: Mapping[str, bytes]) -> list[Path]:
        """Write the files, all or (short of the system failing between two renames) none."""
        pairs = [(self._beside(name), self.path / name) for name in files]
        try:
            for (beside, _), content in zip(pairs, files.values(), strict=True):
                with open(beside, "xb") as stream:
                    stream.write(content)
                    stream.flush()
                    os.fsync(stream.fileno())
            with ignoring_ctrl_c():  # for the few renames, so that "nothing was written" stays true
                for beside, final in pairs:
                    os.replace(beside, final)
                sync_folder(self.path)
        finally:
            for beside, _ in pairs:
                with suppress(OSError):
                    beside.unlink()
        return [final for _, final in pairs]

    def _refuse_folder(self, name: str) -> None:
        if (self.path / name).is_dir():
            raise InputError(
                f"out must be a folder where {name} can be written; got '{self.path}', in which {name} is a "
                "folder. Choose another with --out."
            )

    def _beside(self, name: str) -> Path:
        return self.path / f".{name}.{secrets.token_hex(4)}.tmp"

    def _make(self) -> None:
        missing = [folder for folder in [self.path, *self.path.parents] if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)
            self._made.append(folder)

    def _remove_made(self) -> None:
        # rmdir refuses a folder that holds anything, so results and other people's files stay.
        for folder in reversed(self._made):
            with suppress(OSError):
                folder.rmdir()


def to_json(content: Mapping[str, Any]) -> bytes:
    """UTF-8 JSON; NaN and infinities are refused, and file names that are not UTF-8 are escaped."""
    return (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode(
        errors="backslashreplace"
    )


class StagedFolder(OutputFolder):
    """An `OutputFolder` for many files: added one by one, they appear together when `finish` is called.

    Leaving without that leaves the folder unchanged. Files are not synced to disk one by one, as there may be
    thousands.

    >>> with tempfile.TemporaryDirectory() as parent:
    ...     with StagedFolder(Path(parent) / "new") as folder:
    ...         folder.add("a.txt", b"one")
    ...         there = sorted(path.name[:5] for path in folder.path.iterdir())
    ...         written = folder.finish()
    ...     there, [path.name for path in folder.path.iterdir()]
    (['.part'], ['a.txt'])
    """

    def __init__(self, path: Path | str) -> None:
        super().__init__(path, [])
        self._stage: Path | None = None
        self._older: Path | None = None
        self._added: list[str] = []

    def __enter__(self) -> Self:
        super().__enter__()
        self._stage = Path(tempfile.mkdtemp(prefix=".part", dir=self.path))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stage is not None:
            shutil.rmtree(self._stage, ignore_errors=True)
        if self._older is not None:
            shutil.rmtree(self._older, ignore_errors=True)
        super().__exit__(kind, error, trace)

    def add(self, name: str, content: bytes) -> None:
        """Make a file; one of the same name that is there is replaced when all are done."""
        assert self._stage is not None
        if os.path.lexists(self._stage / name):
            raise InputError(f"name must be new; {name} was added already. Give each file its own name.")
        self._refuse_folder(name)
        (self._stage / name).write_bytes(content)
        self._added.append(name)

    def finish(self) -> list[Path]:
        """Put all files in their place; if one cannot be, restore the folder."""
        assert self._stage is not None
        done: list[str] = []
        with ignoring_ctrl_c():
            self._older = Path(tempfile.mkdtemp(prefix=".old", dir=self.path))
            try:
                for name in self._added:
                    _back_up(self.path / name, self._older / name)
                    os.replace(self._stage / name, self.path / name)
                    done.append(name)
            except OSError as error:
                for moved in reversed(done):
                    self._undo(moved)
                raise InputError(
                    f"out must be a folder that can be written; {name} could not be put into '{self.path}' "
                    f"({error.strerror or error}), and nothing was changed there. Choose another with --out."
                ) from error
        return [self.path / name for name in self._added]

    def _undo(self, name: str) -> None:
        assert self._older is not None
        with suppress(OSError):
            if os.path.lexists(self._older / name):
                os.replace(self._older / name, self.path / name)
            else:
                os.unlink(self.path / name)


def _back_up(path: Path, older: Path) -> None:
    """Give a file that will be replaced a second name, or a copy where hard links are not supported."""
    if not os.path.lexists(path):
        return
    try:
        os.link(path, older, follow_symlinks=False)
    except (OSError, NotImplementedError):
        shutil.copy2(path, older, follow_symlinks=False)


def versions(*packages: str) -> dict[str, str | int | None]:
    """Versions of all that can change a figure, and the machine's kind; None for what is not installed.

    >>> import numpy
    >>> versions()["numpy"] == numpy.__version__
    True
    """
    return {
        "ocboost": _version("ocboost"),
        "python": platform.python_version(),
        **{name: _version(name) for name in ("numpy", "numba", "matplotlib", *packages)},
        "system": platform.system(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
