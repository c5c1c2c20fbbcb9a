"""Whether annotations are read right: as `tests/naive/annotations.py` reads the same bytes, or refused.

The pictures are those of `tests/support/mutated_annotations.py`, in the same folder as the annotations.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from ocboost.cascade.annotations import read_annotations
from ocboost.errors import InputError
from tests.naive import annotations as naive
from tests.naive.annotations import Box, Named, Unreadable, need
from tests.support.mutated_annotations import FILES, NAMES, SIZES, Files, Mutations, marks, valid_files

CLOSE = Fraction(1, 10**6)  # to a half: numbers of double precision may be rounded the other way
Whole = tuple[int, int, int, int]


class Placed(NamedTuple):
    """What a picture must have; ``close`` says that a pixel more or less is right too."""

    file: str
    faces: list[Whole]
    ignored: list[Whole]
    close: bool


class Verdict(NamedTuple):
    """What became of one file: refused, right or wrong, and why."""

    outcome: str
    what: str


def expected(kind: str, files: Files, of_folder: bool) -> dict[str, Placed]:
    """By plain loops: each picture by its name in the annotations."""
    return _placed(_found(_named(kind, files), files, of_folder or kind in ("voc", "yolo"), kind))


def _named(kind: str, files: Files) -> list[Named]:
    if kind == "voc":
        return naive.read_voc(files)
    if kind == "yolo":
        labels = {name: data for name, data in files.items() if name != "classes.txt"}
        return naive.read_yolo(labels, files.get("classes.txt"))
    read = {"coco": naive.read_coco, "csv": naive.read_csv, "info": naive.read_info, "bg": naive.read_bg}[
        kind
    ]
    return read(files[FILES[kind]])


def _found(named: list[Named], files: Files, of_folder: bool, kind: str) -> dict[str, list[Named]]:
    """Which pictures mean which file."""
    need(named)
    found: dict[str, list[Named]] = {}
    missing = 0
    for picture in named:
        file = _file(picture, files)
        if file is None:
            missing += 1
            continue
        same = found.setdefault(file, [])
        need(not same or picture.stem is None)
        for other in same:  # other names for a file are good only if both are its path
            parts = [_parts(each.name) for each in (picture, other)]
            need(parts[0] == parts[1] or parts == [[file], [file]])
        same.append(picture)
    need(missing < len(named) and 10 * missing <= len(named))
    if of_folder and kind == "csv":
        need(not missing or len(found) == len(NAMES))  # a name may be wrong
    if of_folder and kind in ("csv", "voc", "yolo"):
        for name in NAMES:
            found.setdefault(name, [Named(name)])
    return found


def _parts(name: str) -> list[str]:
    return [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]


def _file(picture: Named, files: Files) -> str | None:
    """The file that a name means; None if there is none."""
    if picture.relative:
        return next(name for name in NAMES if name[:-4] == picture.stem)
    named = _file_called(picture.name, files)
    if picture.stem is None or named == f"{picture.stem}.png":
        return named
    called = f"{picture.stem}.png" if f"{picture.stem}.png" in SIZES else None
    need(named is None or called is None)
    return named or called


def _file_called(name: str, files: Files) -> str | None:
    parts = _parts(name)
    outside = name.startswith(("/", "\\")) or ".." in parts or (name[1:2] == ":" and name[0].isascii())
    need(parts and parts[-1] != "..")
    last = parts[-1]
    if outside and last[1:2] == ":":
        last = last[2:]
        need(last)
    need(last not in files)
    if last in SIZES and len(name) <= 4096:
        return last
    need(not outside)
    return None


def _placed(found: dict[str, list[Named]]) -> dict[str, Placed]:
    """Boxes rounded and cut, or ignored where less than half of them is inside."""
    placed: dict[str, Placed] = {}
    total = beyond = outside = as_corners = 0
    for file, pictures in found.items():
        width, height = SIZES[file]
        kept: dict[bool, list[Whole]] = {False: [], True: []}
        close = False
        for picture in pictures:
            need(picture.size in (None, SIZES[file]))
            for box, ignore in picture.boxes:
                edges = _edges(box, (width, height) if picture.relative else (1, 1))
                close |= any(abs(edge - math.floor(edge) - Fraction(1, 2)) < CLOSE for edge in edges)
                left, top, right, bottom = (math.floor(edge + Fraction(1, 2)) for edge in edges)
                right, bottom = max(right, left + 1), max(bottom, top + 1)
                inside = [max(left, 0), max(top, 0), min(right, width), min(bottom, height)]
                w, h = inside[2] - inside[0], inside[3] - inside[1]
                total += 1
                if not picture.relative and not picture.corners:
                    as_corners += 0 <= box[0] < box[2] <= width and 0 <= box[1] < box[3] <= height
                if w <= 0 or h <= 0:
                    outside += 1
                    beyond += 1
                    continue
                area = (right - left) * (bottom - top)
                beyond += w * h < area
                some = kept[ignore or 2 * w * h < area]
                if (inside[0], inside[1], w, h) not in some:
                    some.append((inside[0], inside[1], w, h))
        placed[pictures[0].name if pictures[0].stem is None or pictures[0].corners else file] = Placed(
            file, kept[False], kept[True], close
        )
    need(2 * outside <= total)
    need(not (total >= 5 and as_corners == total and 2 * beyond >= total))
    return placed


def _edges(box: Box, by: tuple[int, int]) -> list[Fraction]:
    x, y, w, h = box
    return [x * by[0], y * by[1], (x + w) * by[0], (y + h) * by[1]]


# What the package makes of them -----------------------------------------------------------------------------


def judge(folder: Path, kind: str, files: Files, of_folder: bool) -> Verdict:
    """Read files that were written into a folder, and compare."""
    place = folder if of_folder or kind in ("voc", "yolo") else folder / FILES[kind]
    try:
        pictures = list(read_annotations(place))
    except InputError as error:
        if str(folder) not in str(error):
            return Verdict("wrong", f"refused without naming the file: {error!s:.300}")
        return Verdict("refused", str(error))
    except Exception as error:
        return Verdict("wrong", f"{type(error).__name__}: {error!s:.300}")
    try:
        must = expected(kind, files, of_folder)
    except Unreadable:
        return Verdict("wrong", "read, although it is not plain what it means")
    return _compared(pictures, must)


def _compared(pictures, must: dict[str, Placed]) -> Verdict:
    if sorted(must) != sorted(picture.name for picture in pictures):
        return Verdict(
            "wrong", f"pictures {sorted(p.name for p in pictures)!r:.200} instead of {sorted(must)!r:.200}"
        )
    for picture in pictures:
        placed = must[picture.name]
        if picture.grey.shape[::-1] != SIZES[placed.file] or picture.grey[0, 0] != 20 * NAMES.index(
            placed.file
        ):
            return Verdict("wrong", f"another picture than {placed.file} for {picture.name!r:.80}")
        for found, wanted in ((picture.boxes, placed.faces), (picture.ignored, placed.ignored)):
            if not _same(sorted(map(tuple, found.tolist())), sorted(wanted), placed.close):
                return Verdict("wrong", f"{found.tolist()} instead of {wanted} in {picture.name!r:.80}")
    return Verdict("right", "")


def _same(found: list[Whole], wanted: list[Whole], close: bool) -> bool:
    if found == wanted or not close or len(found) != len(wanted):
        return found == wanted
    rest = list(wanted)
    for box in found:  # each beside another one, as their order may differ too
        near = [other for other in rest if max(abs(a - b) for a, b in zip(box, other, strict=True)) <= 1]
        if not near:
            return False
        rest.remove(near[0])
    return True


class MutatedSet:
    """Sets of a kind in a folder, one damaged copy after the other."""

    def __init__(self, folder: Path, kind: str, rng: random.Random) -> None:
        self.folder = folder
        self.kind = kind
        self.rng = rng
        self.files: Files = {}

    def next(self) -> tuple[str, bool]:
        """Write a valid set with one of its files damaged; what was done, and whether to give the folder."""
        files = valid_files(self.kind, marks(self.rng), self.rng)
        name = self.rng.choice(sorted(files))
        if "classes.txt" in files and self.rng.random() < 0.1:
            name = "classes.txt"
        what, files[name] = Mutations(self.rng).draw(files[name], self.kind == "voc")
        self.write(files)
        return f"{name}: {what}", self.rng.random() < 0.5

    def write(self, files: Files) -> None:
        """Put files into the folder instead of those that are there."""
        for name in self.files:
            (self.folder / name).unlink()
        for name, data in files.items():
            (self.folder / name).write_bytes(data)
        self.files = files
