"""The folder in which an out-of-core fit works, and from which it goes on after it was stopped.

Files of the project's own format hold what is small: how far the rows were looked at, where each chunk ends,
the stumps so far. Each is replaced when its successor is complete. A step that is not finished is done again.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ocboost._core.codec import Tree
from ocboost._core.file_format import load, save
from ocboost._shards.stumps import FoundStump
from ocboost.errors import InputError, ModelFileError

KIND = "OutOfCoreFit"


class Position(NamedTuple):
    """A place in a folder of files: rows from here on have not been read."""

    file: int = 0
    row: int = 0
    n_read: int = 0  # rows before it
    n_learnt: int = 0  # those of them that have a label


class WorkFolder:
    """What an out-of-core fit keeps on the disk.

    ``made_from`` is all that the result depends on. A folder that was made from something else is refused, as
    is one that holds other files.
    """

    def __init__(self, path: Path, made_from: dict[str, Any]) -> None:
        self.path = path
        self.resumed = False
        path.mkdir(parents=True, exist_ok=True)
        if (path / "fit").exists():
            try:
                before = self._load("fit")["made_from"]
            except (ModelFileError, KeyError):
                before = None
            if before != made_from:
                changed = _differences(before, made_from)
                raise InputError(
                    f"the work folder {path} is of another fit: {changed}. Remove it to begin anew, or give "
                    "the settings and the files it was begun with."
                )
            self.resumed = True
        elif any(not _is_unfinished(each.name) for each in path.iterdir()):
            raise InputError(
                f"the work folder {path} must be empty, or of a fit that was stopped. Give another."
            )
        else:
            self._save("fit", {"made_from": made_from})

    def _save(self, name: str, tree: Tree) -> None:
        save(self.path / name, KIND, tree)

    def _load(self, name: str) -> Tree:
        return load(self.path / name, KIND)

    def get(self, name: str) -> Tree | None:
        """What is kept under a name; None if there is nothing, or nothing that can be read."""
        if not (self.path / name).exists():
            return None
        try:
            return self._load(name)
        except ModelFileError:
            return None

    def put(self, name: str, tree: Tree) -> None:
        """Keep something under a name."""
        self._save(name, tree)

    def remove(self) -> None:
        """Remove the folder and all in it; what tells whose it is goes last, lest a kill leave a riddle."""
        with suppress(OSError):
            for each in self.path.iterdir():
                if each.name != "fit":
                    each.unlink()
            shutil.rmtree(self.path)

    # Stumps, as `ocboost._shards.fit` keeps them -------------------------------------------------------

    def recall(self, booster: int) -> tuple[list[FoundStump], list[float], bool]:
        """The stumps of a booster, what the weights were divided by, and whether they are all of them."""
        tree = self.get(f"stumps-{booster}")
        if tree is None:
            return [], [], False
        whole, steps = tree["stumps"], tree["steps"]
        found = [FoundStump(*w, *s) for w, s in zip(whole.tolist(), steps.tolist(), strict=True)]
        return found, tree["totals"].tolist(), bool(tree["complete"])

    def keep(
        self, booster: int, found: Sequence[FoundStump], totals: Sequence[float], *, complete: bool
    ) -> None:
        """Keep the stumps of a booster."""
        tree = {
            "stumps": np.array([stump[:5] for stump in found], np.int64).reshape(len(found), 5),
            "steps": np.array([stump[5:] for stump in found], np.float64).reshape(len(found), 2),
            "totals": np.array(totals, np.float64),
            "complete": complete,
        }
        self.put(f"stumps-{booster}", tree)


def _is_unfinished(name: str) -> bool:
    """Whether this is what a kill leaves of a folder's first file (`write_atomically`)."""
    return name.startswith(".fit.") and name.endswith(".tmp")


def _differences(before: Any, now: dict[str, Any]) -> str:
    if not isinstance(before, dict):
        return "it cannot be read"
    names = [name for name in now if before.get(name) != now[name]]
    titles = {"fingerprint": "the files of the folder have changed", "version": "another ocboost made it"}
    return ", ".join(
        titles.get(name, f"{name} was {before.get(name)!r:.60}, and is {now[name]!r:.60}") for name in names
    )
