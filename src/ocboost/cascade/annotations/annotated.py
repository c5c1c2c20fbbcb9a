"""Pictures with their boxes, which are read one by one when they are needed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ocboost._core.checks import as_integers
from ocboost.cascade.pictures import Boxes, Picture, Pixels
from ocboost.cascade.sources import Video, grey_picture
from ocboost.datasets.images import refused
from ocboost.errors import InputError


class PictureFacts(NamedTuple):
    """What is known of a picture before it is read."""

    name: str
    n_boxes: int
    n_ignored: int
    width: int
    height: int


@dataclass(frozen=True, eq=False)
class PictureItem:
    """A picture's file, size and boxes."""

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

    def __init__(self, format: str, items: list[PictureItem], video: Path | None) -> None:
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
    def is_video(self) -> bool:
        """Whether the pictures are frames of a video."""
        return self._video is not None

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

        Returns
        -------
        AnnotatedPictures
            It reads them when it is iterated.

        Raises
        ------
        InputError
            If there is no such picture, or one is named twice.
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


def _picture(item: PictureItem, grey: Pixels) -> Picture:
    if grey.shape != (item.height, item.width):
        raise refused(
            item.path,
            f"have {item.width} × {item.height} pixels, as when it was looked at first",
            f"it has {grey.shape[1]} × {grey.shape[0]}",
            "Do not change pictures while they are read; else save it anew.",
        )
    return Picture(item.name, grey, item.boxes, item.ignored)
