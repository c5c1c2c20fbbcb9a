"""A folder for many files, too many to hold in memory: made one by one, put in place together."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from ocboost.errors import InputError
from ocboost.interrupts import deaf
from ocboost.reporting.output import OutputFolder


class StagedFolder(OutputFolder):
    """An `OutputFolder` whose files are added one after the other, and appear when `finish` is called.

    Leaving without that removes them again: the folder is then as it was. Nothing waits for the disk, as
    there may be thousands: after a loss of power the command that made them is given again.

    Examples
    --------
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
        if (self.path / name).is_dir():
            raise InputError(
                f"out must be a folder where {name} can be written; got '{self.path}', in which {name} is a "
                "folder. Choose another with --out."
            )
        (self._stage / name).write_bytes(content)
        self._added.append(name)

    def finish(self) -> list[Path]:
        """Put all files in their place; if one cannot be, the folder is put back as it was."""
        assert self._stage is not None
        done: list[str] = []
        with deaf():
            self._older = Path(tempfile.mkdtemp(prefix=".old", dir=self.path))
            try:
                for name in self._added:
                    _keep(self.path / name, self._older / name)
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


def _keep(path: Path, older: Path) -> None:
    """Let a file that is to be replaced have a second name, or a copy where there are no such names."""
    if not os.path.lexists(path):
        return
    try:
        os.link(path, older, follow_symlinks=False)
    except (OSError, NotImplementedError):
        shutil.copy2(path, older, follow_symlinks=False)
