"""A folder for many files, too many to hold in memory: made one by one, put in place together."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from ocboost.errors import InputError
from ocboost.reporting.output import OutputFolder, _without_interrupt


class StagedFolder(OutputFolder):
    """An `OutputFolder` whose files are added one after the other, and appear when `finish` is called.

    Leaving without that removes them again: the folder is then as it was.

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
        super().__exit__(kind, error, trace)

    def add(self, name: str, content: bytes) -> None:
        """Make a file; one of the same name is replaced when all are done."""
        assert self._stage is not None
        if (self.path / name).is_dir():
            raise InputError(
                f"out must be a folder where {name} can be written; got '{self.path}', in which {name} is a "
                "folder. Choose another with --out."
            )
        (self._stage / name).write_bytes(content)
        self._added.append(name)

    def finish(self) -> list[Path]:
        """Put all files in their place."""
        assert self._stage is not None
        with _without_interrupt():
            for name in self._added:
                os.replace(self._stage / name, self.path / name)
        return [self.path / name for name in self._added]
