"""The folder that an experiment writes into: checked before the work, filled at once after it."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ocboost.errors import InputError
from ocboost.interrupts import deaf
from ocboost.storage import sync_folder


class OutputFolder:
    r"""A folder for results, used in a ``with`` statement around the work.

    Entering makes the folder and tries it by writing, so that a folder that cannot be written is found
    before the work and not after it. `write` puts every file beside its place and renames it there:
    a reader never sees half a file, and an old result stays whole until the new one is. Leaving
    without having written removes the folders that entering made.

    Parameters
    ----------
    path : path
        The folder; made with its parents where it does not exist.
    names : sequence of str
        The files that will be written.

    Examples
    --------
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
            if (self.path / name).is_dir():
                raise InputError(
                    f"out must be a folder where {name} can be written; got '{self.path}', "
                    f"in which {name} is a folder. Choose another with --out."
                )
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
            with deaf():  # for the few renames, so that "nothing was written" stays true when it is said
                for beside, final in pairs:
                    os.replace(beside, final)
                sync_folder(self.path)
        finally:
            for beside, _ in pairs:
                with suppress(OSError):
                    beside.unlink()
        return [final for _, final in pairs]

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
    """UTF-8 JSON with a newline at its end; NaN and infinities are refused, since JSON has none.

    Halves of characters, as in a file name that is not UTF-8, become JSON's own escapes.
    """
    return (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode(
        errors="backslashreplace"
    )
