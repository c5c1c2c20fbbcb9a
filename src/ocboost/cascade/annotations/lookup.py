"""Find the image files that an annotation file names, and none outside of the folders they may be in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ocboost.cascade.annotations.boxes import MAX_ENTRIES
from ocboost.cascade.sources import PICTURE_ENDINGS, VIDEO_ENDINGS
from ocboost.errors import InputError

MAX_NAME = 4_096
_FRAME = re.compile(r"frame-([0-9]{1,9})(\.[A-Za-z]{3,4})?")
_DRIVE = re.compile(r"[A-Za-z]:")


def pictures_under(folder: Path, deep: bool = False) -> list[Path]:
    """The image files of a folder, by name; ``deep`` takes those of the folders in it too."""
    found: list[Path] = []
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if deep and not name.startswith("."))
        for name in sorted(files):
            path = Path(where, name)
            if not name.startswith(".") and path.suffix.lower() in PICTURE_ENDINGS and path.is_file():
                found.append(path)
        if len(found) > MAX_ENTRIES:
            raise InputError(
                f"'{folder}' must hold at most {MAX_ENTRIES:,} images; it holds more. Give a part of it."
            )
    return found


def frame_number(name: str) -> int | None:
    """The number of a frame of a video, as ``ocboost cascade detect`` names it.

    >>> frame_number("frame-000012"), frame_number("frame-7.png"), frame_number("a.png")
    (12, 7, None)
    """
    match = _FRAME.fullmatch(name)
    if match is None or (match[2] and match[2].lower() not in PICTURE_ENDINGS):
        return None
    return int(match[1])


def is_video(path: Path) -> bool:
    """Whether a file's name is that of a video."""
    return path.suffix.lower() in VIDEO_ENDINGS


def same_name(name: str, other: str) -> bool:
    r"""Whether two names are the same but for how they are written.

    >>> same_name("./a.png", "a.png"), same_name(r"x\a.png", "x/a.png"), same_name("x/a.png", "a.png")
    (True, True, False)
    """
    return _split(name) == _split(other)


def leads_to(name: str, path: Path) -> bool:
    """Whether all of a name is the end of a file's path, not only the last part.

    >>> leads_to("x/a.png", Path("y/x/a.png")), leads_to("z/a.png", Path("y/x/a.png"))
    (True, False)
    """
    parts = _split(name)
    return tuple(parts) == path.parts[-len(parts) :]


class ImageFinder:
    """Finds image files by the names in an annotation file. Links are followed, wherever they lead.

    Parameters
    ----------
    beside : list of folders
        Where they may be: each is tried with the whole relative path, then with the file name alone.
    images : folder, optional
        Where they are instead, at any depth.
    """

    def __init__(self, beside: Sequence[Path], images: Path | None, images_name: str) -> None:
        self._beside = beside
        self.images = images
        self._images_name = images_name
        self._by_name: dict[str, list[Path]] | None = None

    @property
    def places(self) -> str:
        """Where is looked, for messages."""
        if self.images is not None:
            return f"'{self.images}'"
        return " or ".join(f"'{folder}'" for folder in self._beside[:3])

    def find(self, name: str, where: str) -> Path | None:
        """The file of this name, or None. A path that leads elsewhere is refused."""
        parts, safe = _parts(name)
        if not parts:
            raise InputError(
                f"An image must be named by its file; got {name!r:.80} ({where}). Correct the name."
            )
        found = None
        if len(name) <= MAX_NAME:
            tries = [parts, parts[-1:]] if safe and len(parts) > 1 else [parts[-1:]]
            found = self._under(tries, where) if self.images is not None else self._found_beside(tries)
        if found is None and not safe:
            raise InputError(
                f"Images must be named by paths inside the folder; got {name!r:.80} ({where}), and there "
                f"is no file {parts[-1]!r:.80} in {self.places}. Put it there, or give the folder of the "
                f"images as {self._images_name}."
            )
        return found

    def _found_beside(self, tries: list[list[str]]) -> Path | None:
        for some in tries:
            for folder in self._beside:
                path = folder.joinpath(*some)
                if os.path.isfile(path):  # says no to names that no file can have
                    return path
        return None

    def _under(self, tries: list[list[str]], where: str) -> Path | None:
        assert self.images is not None
        for some in tries:
            path = self.images.joinpath(*some)
            if os.path.isfile(path):
                return path
        candidates = self._index().get(tries[0][-1], [])
        for some in tries:
            fits = [path for path in candidates if path.parts[-len(some) :] == tuple(some)]
            if len(fits) > 1:
                raise InputError(
                    f"{self._images_name} must hold one file {'/'.join(some)!r:.80} ({where}); it is at "
                    f"'{fits[0]}' and at '{fits[1]}'. Give the folder that holds the right one."
                )
            if fits:
                return fits[0]
        return None

    def _index(self) -> dict[str, list[Path]]:
        if self._by_name is None:
            self._by_name = {}
            for path in self.all_pictures():
                self._by_name.setdefault(path.name, []).append(path)
        return self._by_name

    def all_pictures(self) -> Iterator[Path]:
        """All images under ``images``, or those of the folders beside."""
        if self.images is not None:
            yield from pictures_under(self.images, deep=True)
        else:
            for folder in self._beside:
                yield from pictures_under(folder)


def _parts(name: str) -> tuple[list[str], bool]:
    r"""The parts of a path, of whatever system, and whether it stays inside a folder.

    >>> _parts("a/./b.png"), _parts("..\\b.png"), _parts("/b.png"), _parts("C:\\b.png")
    ((['a', 'b.png'], True), (['b.png'], False), (['b.png'], False), (['b.png'], False))
    """
    slashed = name.replace("\\", "/")
    parts = _split(name)
    safe = not slashed.startswith("/") and ".." not in parts and not _DRIVE.match(slashed)
    if not safe:
        parts = [part for part in parts[-1:] if part != ".."]
        parts = [_DRIVE.sub("", part) for part in parts if _DRIVE.sub("", part)]
    return parts, safe


def _split(name: str) -> list[str]:
    return [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
