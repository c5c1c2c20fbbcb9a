"""Annotations and the image files that they name, put together."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ocboost.cascade.annotations.annotated import AnnotatedPictures, PictureItem
from ocboost.cascade.annotations.boxes import (
    MAX_ENTRIES,
    Counted,
    MarkedBox,
    MarkedPicture,
    like_corners,
    placed,
    turned,
    without_faces,
)
from ocboost.cascade.annotations.lookup import ImageFinder, frame_number, leads_to, same_name
from ocboost.cascade.sources import Notify, PictureSize, Video, picture_size
from ocboost.datasets.images import refused
from ocboost.errors import InputError

MAX_MISSING = 0.1  # of the pictures that are named
MAX_OUTSIDE = 0.1  # of the boxes may lie outside of their pictures
Unnamed = Literal["without faces", "left out", "not looked for"]


class Assembly:
    """Finds the pictures that were named, and puts their boxes into them.

    Parameters
    ----------
    finder : ImageFinder
        Where pictures are, unless there is a ``video``.
    every : int
        Of a video, only frames whose number is a multiple of this.
    source : path
        The annotations, for messages.
    """

    def __init__(
        self,
        finder: ImageFinder,
        video: Path | None,
        every: int,
        min_side: int,
        names: tuple[str, str],
        source: Path,
        notify: Notify,
    ) -> None:
        self._finder = finder
        self._video = video
        self._every = every
        self._min_side = min_side
        self._name, self._images_name = names
        self._source = source
        self._notify = notify
        self._missing: list[MarkedPicture] = []

    def assemble(self, format: str, marked: list[MarkedPicture], unnamed: Unnamed) -> AnnotatedPictures:
        """The pictures; those that are named twice are put together."""
        if not marked:
            raise InputError(
                f"{self._name} must name at least one picture; '{self._source}' names none. Check that "
                "it is the right file."
            )
        if max(len(marked), sum(len(picture.boxes) for picture in marked)) > MAX_ENTRIES:
            raise InputError(
                f"{self._name} must have at most {MAX_ENTRIES:,} pictures and boxes; '{self._source}' "
                "has more. Give a part of it."
            )
        found = self._of_video(marked) if self._video is not None else self._of_files(marked)
        self._take_unnamed(found, unnamed)
        counted = Counted()
        items = []
        sizes = []
        stored = 0  # pictures whose boxes were not for the upright picture
        for (path, frame), pictures in found.items():
            size = self._frame_size if self._video is not None else picture_size(path)
            boxes = [box for picture in pictures for box in _boxes_in(picture, size, path)]
            counted.like_corners += sum(like_corners(picture, size[:2]) for picture in pictures)
            stored += any(_is_stored(picture, size) for picture in pictures)
            sizes.append(size)
            faces, ignored = placed(boxes, size.width, size.height, self._min_side, counted)
            if (
                boxes and not len(faces) and not len(ignored)
            ):  # all of them outside: nobody knows what it shows
                ignored = np.array([[0, 0, size.width, size.height]], np.int64)
            items.append(PictureItem(pictures[0].name, path, frame, size.width, size.height, faces, ignored))
        if counted.outside > max(MAX_OUTSIDE * counted.total, 1):
            raise InputError(
                f"{self._name} must have its boxes inside the pictures; {counted.outside:,} of "
                f"{counted.total:,} in '{self._source}' lie outside. They are in other units, or of "
                "other pictures: check both."
            )
        if counted.small == counted.total > 0:
            raise InputError(
                f"{self._name} must have boxes of at least {self._min_side} pixels, the detector's window; "
                f"all {counted.total:,} in '{self._source}' have a shorter side. Are they in other units, "
                "such as per cent? Give them in pixels, or larger pictures."
            )
        if counted.are_corners:
            raise InputError(
                f"{self._name} must have boxes as x, y, width and height; those in '{self._source}' look "
                "like two corners, x1, y1, x2 and y2: many reach beyond the picture, and as corners all "
                "would lie inside. Give width and height, or cut boxes at the edges of the pictures."
            )
        for sentence in counted.sentences(self._min_side) + _about(sizes, stored):
            self._notify(sentence)
        return AnnotatedPictures(format, items, self._video)

    def _of_files(self, marked: list[MarkedPicture]) -> dict[tuple[Path, int], list[MarkedPicture]]:
        found: dict[tuple[Path, int], list[MarkedPicture]] = {}
        missing = []
        for picture in marked:
            path = picture.path or self._finder.find(picture.name, picture.where)
            if path is None:
                missing.append(picture)
            else:
                same = found.setdefault((Path(os.path.normpath(path)), -1), [])
                self._refuse_different(picture, same, path)
                same.append(picture)
        advice = f"Put them there, or give their folder as {self._images_name}."
        if missing and frame_number(missing[0].name) is not None:
            advice = f"It is named like a frame of a video: give the video as {self._images_name}."
        self._refuse_missing(missing, len(marked), self._finder.places, advice)
        self._missing = missing
        return found

    def _refuse_different(self, picture: MarkedPicture, others: list[MarkedPicture], path: Path) -> None:
        """Refuse names of different pictures that are found as the same file."""
        if picture.path is not None or not others or same_name(picture.name, others[0].name):
            return
        other = others[0]  # those after it lead to the same file, or have its name
        if not (leads_to(picture.name, path) and leads_to(other.name, path)):
            raise InputError(
                f"Pictures of different names must be different files; {other.name!r:.80} ({other.where}) "
                f"and {picture.name!r:.80} ({picture.where}) are both found as '{path}'. Give the folder "
                f"that holds both as {self._images_name}, or correct the names."
            )

    def _take_unnamed(self, found: dict[tuple[Path, int], list[MarkedPicture]], unnamed: Unnamed) -> None:
        """Pictures that are there and not named: taken for pictures without faces, or left out."""
        if unnamed == "not looked for" or self._video is not None:
            return
        paths = (Path(os.path.normpath(path)) for path in self._finder.all_pictures())
        rest = [path for path in dict.fromkeys(paths) if (path, -1) not in found]
        if not rest:
            return
        if unnamed == "left out":
            which = "picture is" if len(rest) == 1 else "pictures are"
            advice = (
                "Name them there if they have no faces"
                if self._source.is_dir()
                else "Give the folder instead of the file if they have no faces"
            )
            self._notify(
                f"{len(rest):,} {which} in {self._finder.places} and not in '{self._source}', and left out. "
                f"{advice}."
            )
            return
        if self._missing:
            first = self._missing[0]
            raise InputError(
                f"{self._name} must name the pictures that are there: {first.name!r:.80} ({first.where}) is "
                f"not there, and '{rest[0].name}' is there and not named. Is a name wrong? Correct it, or "
                "give the file itself to take only pictures that are named."
            )
        for path in rest:
            found[path, -1] = [MarkedPicture(path.name, f"'{path}'", path=path)]
        self._notify(without_faces(len(rest), "row in the CSV file"))

    def _of_video(self, marked: list[MarkedPicture]) -> dict[tuple[Path, int], list[MarkedPicture]]:
        assert self._video is not None
        video = Video(self._video, 1)
        frames: Any = iter(video)
        with closing(frames):
            first = next(frames, None)
        if first is None:
            raise refused(self._video, "be a video that OpenCV can read", "it has no frame")
        height, width = first[1].shape
        self._frame_size = PictureSize(width, height, (width, height), 1)
        found: dict[tuple[Path, int], list[MarkedPicture]] = {}
        missing = []
        skipped = 0
        for picture in marked:
            number = frame_number(picture.name)
            if number is None:
                raise InputError(
                    f"Pictures must be named like frame-000012 where {self._images_name} is a video, "
                    f"'{self._video}'; got {picture.name!r:.80} ({picture.where}). Give the folder of "
                    "the images instead."
                )
            if number % self._every:
                skipped += 1
            elif video.expected is not None and number >= video.expected:
                missing.append(picture)
            else:
                found.setdefault((self._video, number), []).append(picture)
        self._refuse_missing(
            missing, len(marked) - skipped, f"'{self._video}'", "Is it the right video, and whole?"
        )
        if not found:
            raise InputError(
                f"every must leave some of the frames that '{self._source}' names; none is a multiple of "
                f"{self._every}. Give a smaller number."
            )
        if skipped:
            self._notify(
                f"{skipped:,} of {len(marked):,} frames were left out, as only one in {self._every} is taken."
            )
        unnamed = (video.expected or 0) // self._every - len(found)
        if unnamed > 0:
            self._notify(
                f"about {unnamed:,} frames of '{self._video}' are not in '{self._source}', and left out. "
                "Name them there if they have no faces."
            )
        return dict(sorted(found.items(), key=lambda item: item[0][1]))

    def _refuse_missing(self, missing: list[MarkedPicture], total: int, places: str, advice: str) -> None:
        if not missing:
            return
        first = missing[0]
        if len(missing) == total or len(missing) > MAX_MISSING * total:
            raise InputError(
                f"{self._name} must name pictures that are there; {len(missing):,} of {total:,} are not "
                f"in {places}, the first {first.name!r:.80} ({first.where}). {advice}"
            )
        which = "picture that is named is" if len(missing) == 1 else "pictures that are named are"
        self._notify(
            f"{len(missing):,} {which} not in {places} and left out, the first {first.name!r:.80}; "
            f"{total - len(missing):,} are there."
        )


def _boxes_in(picture: MarkedPicture, size: PictureSize, path: Path) -> list[MarkedBox]:
    """The boxes of a picture in pixels, as it is seen upright."""
    if picture.relative:
        return [
            box._replace(
                x=box.x * size.width,
                y=box.y * size.height,
                width=box.width * size.width,
                height=box.height * size.height,
            )
            for box in picture.boxes
        ]
    if _is_stored(picture, size):
        return [
            MarkedBox(*turned(box[:4], size.stored, size.orientation), box.where, box.ignored)
            for box in picture.boxes
        ]
    if picture.declared is not None and picture.declared != size[:2]:
        declared = f"{picture.declared[0]} × {picture.declared[1]}"
        raise InputError(
            f"The boxes are for a picture of another size: width and height must be those of '{path}', "
            f"{size.width} × {size.height}; got {declared} ({picture.where}). Give the picture that was "
            "annotated, or correct both."
        )
    return picture.boxes


def _is_stored(picture: MarkedPicture, size: PictureSize) -> bool:
    """Whether the boxes are for the picture as it is stored, by the width and height that are declared."""
    return picture.declared == size.stored != size[:2]


def _about(sizes: list[PictureSize], stored: int) -> list[str]:
    """Sentences about pictures that are not read as they are stored."""
    turned_ones = sum(size.orientation != 1 for size in sizes)
    deep = sum(size.deep for size in sizes)
    sentences = []
    if turned_ones:
        rest = f", but for {stored:,} whose width and height are those of the stored one" if stored else ""
        sentences.append(
            f"{turned_ones:,} of {len(sizes):,} pictures {_be(turned_ones)} turned, as EXIF says; boxes are "
            f"taken to be for the upright picture{rest}."
        )
    if deep:
        sentences.append(
            f"{deep:,} of {len(sizes):,} pictures {'has' if deep == 1 else 'have'} 16 bits a pixel; the "
            "upper 8 are taken."
        )
    return sentences


def _be(n: int) -> str:
    return "is" if n == 1 else "are"
