"""Annotations of OpenCV's training programs: info.dat with boxes, bg.txt with pictures that have no face."""

from __future__ import annotations

import re
from pathlib import Path

from ocboost.cascade.annotations.boxes import MAX_ENTRIES, MarkedPicture, in_pixels
from ocboost.cascade.annotations.lookup import frame_number
from ocboost.cascade.annotations.text import lines_of, number_in
from ocboost.cascade.sources import PICTURE_ENDINGS
from ocboost.datasets.images import refused
from ocboost.errors import InputError

INFO, BACKGROUND = "info.dat", "bg.txt"
_COUNT = re.compile(r"[0-9]{1,6}")
_WORD = re.compile(r"\S+")


def is_background(path: Path) -> bool:
    """Whether a file has only the names of pictures; else it has boxes too."""
    if path.name.lower() in (INFO, BACKGROUND):
        return path.name.lower() == BACKGROUND
    first = next((line for _, line in lines_of(path)), "")
    return _split(first) is None and _is_picture(first)


def read_info(path: Path) -> list[MarkedPicture]:
    """Each line a picture, the number of its faces, and x, y, width and height of each."""
    pictures: dict[str, MarkedPicture] = {}
    total = 0
    for number, line in lines_of(path):
        where = f"'{path}', line {number:,}"
        found = _split(line)
        if found is None:
            raise InputError(
                "A line must be the path of an image, which ends in .png, .jpg or the like, the number of "
                f"faces in it, and for each x, y, width and height; got {line!r:.80} ({where}). Correct it."
            )
        name, words = found
        picture = pictures.setdefault(name, MarkedPicture(name, where))
        for k in range(0, len(words), 4):
            values = [number_in(word) for word in words[k : k + 4]]
            if None in values:
                raise InputError(
                    f"A box must be four finite numbers, x, y, width and height; got "
                    f"{' '.join(words[k : k + 4])!r:.80} ({where}). Correct or remove it."
                )
            picture.boxes.append(in_pixels(values, where))
        total += 1 + len(words) // 4
        _limit(total, path)
    return list(pictures.values())


def read_background(path: Path) -> list[MarkedPicture]:
    """Each line the path of a picture without faces."""
    pictures: dict[str, MarkedPicture] = {}
    for number, line in lines_of(path):
        where = f"'{path}', line {number:,}"
        if not _is_picture(line):
            raise InputError(
                f"A line must be the path of an image, which ends in {', '.join(PICTURE_ENDINGS[:-1])} or "
                f"{PICTURE_ENDINGS[-1]}, and nothing else; got {line!r:.80} ({where}). Correct it."
            )
        pictures.setdefault(line, MarkedPicture(line, where))
        _limit(len(pictures), path)
    return list(pictures.values())


def _limit(total: int, path: Path) -> None:
    if total > MAX_ENTRIES:
        raise refused(
            path, f"have at most {MAX_ENTRIES:,} pictures and boxes", "it has more", "Give a part of it."
        )


def _is_picture(line: str) -> bool:
    return _ends_like_picture(line) or frame_number(line) is not None


def _ends_like_picture(name: str) -> bool:
    return name.lower().endswith(PICTURE_ENDINGS)


def _split(line: str) -> tuple[str, list[str]] | None:
    """The path, which may hold spaces, and the words of the boxes.

    >>> _split("a b.png 1 2 3 4 5"), _split("a.png 0"), _split("a.png 2 3 0")
    (('a b.png', ['2', '3', '4', '5']), ('a.png', []), None)
    """
    words = list(_WORD.finditer(line))
    for k in range(1, len(words)):
        rest = len(words) - k - 1
        if rest % 4 or not _COUNT.fullmatch(words[k][0]) or int(words[k][0]) * 4 != rest:
            continue
        # Otherwise a count that is wrong might be taken for a part of the name.
        if _ends_like_picture(words[k - 1][0]) or (k == 1 and frame_number(words[0][0]) is not None):
            return line[: words[k - 1].end()], [word[0] for word in words[k + 1 :]]
    return None
