"""Pictures with their boxes, which are read one by one when they are needed."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ocboost._core.checks import as_integers
from ocboost.cascade.annotations.boxes import (
    MAX_ENTRIES,
    Counted,
    MarkedBox,
    MarkedPicture,
    placed,
    turned,
)
from ocboost.cascade.annotations.lookup import ImageFinder, frame_number
from ocboost.cascade.pictures import Boxes, Picture, Pixels
from ocboost.cascade.sources import Notify, PictureSize, Video, grey_picture, picture_size
from ocboost.datasets.images import refused
from ocboost.errors import InputError

MAX_MISSING = 0.1  # of the pictures that are named


class PictureFacts(NamedTuple):
    """What is known of a picture before it is read."""

    name: str
    n_boxes: int
    n_ignored: int
    width: int
    height: int


@dataclass(frozen=True, eq=False)
class _Item:
    name: str
    path: Path  # of the picture, or of the video
    frame: int  # of the video, else -1
    width: int
    height: int
    boxes: Boxes
    ignored: Boxes


class AnnotatedPictures:
    """Whole pictures with boxes around the faces in them, as `read_annotations` gives them.

    Iterating reads them one by one, so that they need not fit into memory; it can be done again. A picture
    that is damaged, or has changed since, raises an `InputError` when it is its turn.

    Attributes
    ----------
    format : str
        In words, what the annotations were.
    """

    def __init__(self, format: str, items: list[_Item], video: Path | None) -> None:
        self.format = format
        self._items = items
        self._video = video

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"<AnnotatedPictures: {self.format}, {len(self):,} pictures, {self.n_faces:,} faces>"

    @property
    def n_faces(self) -> int:
        """How many boxes there are, without those to ignore."""
        return sum(len(item.boxes) for item in self._items)

    @property
    def pictures(self) -> list[PictureFacts]:
        """Name, numbers of boxes and of regions to ignore, width and height of each; no picture is read."""
        return [
            PictureFacts(item.name, len(item.boxes), len(item.ignored), item.width, item.height)
            for item in self._items
        ]

    def subset(self, indices: ArrayLike) -> AnnotatedPictures:
        """Only the pictures of these numbers, from 0, in the order in which they are here.

        Parameters
        ----------
        indices : whole numbers, shape (n,)
            Each at most once; their order does not count.
        """
        chosen = as_integers(indices if np.size(indices) else np.empty(0, np.int64), "indices")
        good = chosen.ndim == 1 and ((chosen >= 0) & (chosen < len(self))).all()
        if not good or len(np.unique(chosen)) != len(chosen):
            raise InputError(
                f"indices must be different whole numbers from 0 to {len(self) - 1}; got {indices!r:.80}. "
                "Leave out those that are there twice or too large."
            )
        items = [self._items[k] for k in np.sort(chosen).tolist()]
        return AnnotatedPictures(self.format, items, self._video)

    def __iter__(self) -> Iterator[Picture]:
        if self._video is not None:
            yield from self._frames(self._video)
            return
        for item in self._items:
            yield _picture(item, grey_picture(item.path))

    def _frames(self, path: Path) -> Iterator[Picture]:
        wanted = {item.frame: item for item in self._items}
        if not wanted:
            return
        last = max(wanted)
        frames: Any = iter(Video(path, max(math.gcd(*wanted), 1)))
        with closing(frames):
            for number, grey, _ in frames:
                if number in wanted:
                    yield _picture(wanted.pop(number), grey)
                if number >= last:
                    break
        if wanted:
            raise refused(
                path,
                "have all frames that are named",
                f"frame {min(wanted):,} cannot be read",
                "Is it whole?",
            )


def _picture(item: _Item, grey: Pixels) -> Picture:
    if grey.shape != (item.height, item.width):
        raise refused(
            item.path,
            f"have {item.width} × {item.height} pixels, as when it was looked at first",
            f"it has {grey.shape[1]} × {grey.shape[0]}",
            "Do not change pictures while they are read; else save it anew.",
        )
    return Picture(item.name, grey, item.boxes, item.ignored)


class Assembly:
    """Finds the pictures that were named, and puts their boxes into them.

    Parameters
    ----------
    finder : ImageFinder
        Where pictures are, unless there is a ``video``.
    every : int
        Of a video, only frames whose number is a multiple of this.
    source : str
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

    def assemble(self, format: str, marked: list[MarkedPicture]) -> AnnotatedPictures:
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
        counted = Counted()
        items = []
        for (path, frame), pictures in found.items():
            size = self._frame_size if self._video is not None else picture_size(path)
            boxes = [box for picture in pictures for box in _boxes_in(picture, size, path)]
            faces, ignored = placed(boxes, size.width, size.height, self._min_side, counted)
            items.append(_Item(pictures[0].name, path, frame, size.width, size.height, faces, ignored))
        if 2 * counted.outside > counted.total:
            raise InputError(
                f"{self._name} must have its boxes inside the pictures; {counted.outside:,} of "
                f"{counted.total:,} in '{self._source}' lie outside. They are in other units, or of "
                "other pictures: check both."
            )
        for sentence in counted.sentences(self._min_side):
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
                found.setdefault((Path(os.path.normpath(path)), -1), []).append(picture)
        advice = f"Put them there, or give their folder as {self._images_name}."
        if missing and frame_number(missing[0].name) is not None:
            advice = f"It is named like a frame of a video: give the video as {self._images_name}."
        self._refuse_missing(missing, len(marked), self._finder.places, advice)
        return found

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
                f"{skipped:,} of {len(marked):,} frames were left out, as only every {self._every}th is "
                "taken."
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
        self._notify(
            f"{len(missing):,} of {total:,} pictures that are named are not in {places} and were left "
            f"out, the first {first.name!r:.80}."
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
    if picture.declared is None or picture.declared == (size.width, size.height):
        return picture.boxes
    if picture.declared != size.stored:
        declared = f"{picture.declared[0]} × {picture.declared[1]}"
        raise InputError(
            f"The boxes are for a picture of another size: width and height must be those of '{path}', "
            f"{size.width} × {size.height}; got {declared} ({picture.where}). Give the picture that was "
            "annotated, or correct both."
        )
    return [
        MarkedBox(*turned(box[:4], size.stored, size.orientation), box.where, box.ignored)
        for box in picture.boxes
    ]
