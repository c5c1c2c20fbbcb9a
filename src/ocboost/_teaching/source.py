"""Frames that the server reads: of a video file, or the pictures of a folder."""

from __future__ import annotations

import io
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost._core.escaping import shown
from ocboost.cascade.sources import ImageSource, SourceImage, images_in
from ocboost.errors import InputError, MissingExtraError

Pixels = NDArray[np.uint8]

FRAMES_READ = 8  # frames that the page has got and may ask to be looked at
QUALITY = 90
MAX_SIDE = 640
FRAMES_PER_SECOND = 25.0  # where a video does not say it
FASTEST = 30.0


class SourceFrame(NamedTuple):
    """A frame as it is looked at, and as it is shown."""

    number: int
    name: str
    grey: Pixels
    jpeg: bytes


class FrameSource:
    """A video or a folder, read frame by frame; for any number of threads.

    Parameters
    ----------
    place : path
        A video, a picture, or a folder of pictures.
    every : int, default 1
        Of a video, every n-th frame.
    max_side : int, default 640
        Larger frames are scaled down by averaging over areas.
    """

    def __init__(self, place: str | os.PathLike[str], *, every: int = 1, max_side: int = MAX_SIDE) -> None:
        self.notes: list[str] = []  # what was left out or is wrong, for the person at the page
        self._images = images_in(place, every=every, name="SOURCE", notify=self._note)
        self._max_side = max_side
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, SourceFrame] = OrderedDict()
        self._video: Iterator[SourceImage] | None = None
        self._next = 0
        self.name = shown(Path(place).name)  # it need not be UTF-8
        self.is_video = self._images.video is not None
        rate = None if self._images.video is None else self._images.video.per_second
        self.per_second = min((rate or FRAMES_PER_SECOND) / every, FASTEST)

    def _note(self, note: str) -> None:
        if shown(note) not in self.notes:  # a video that is read again says the same again
            self.notes.append(shown(note))

    @property
    def expected(self) -> int | None:
        """How many frames there are, if anybody knows."""
        return self._images.expected

    def frame(self, number: int) -> SourceFrame | None:
        """A frame by its number, from 0 on; None after the last. A video is best read in order.

        A picture that cannot be read is an `InputError`; others can be asked for.
        """
        with self._lock:
            if number in self._kept:
                self._kept.move_to_end(number)
                return self._kept[number]
            image = self._from_video(number) if self.is_video else self._picture(number)
            if image is None:
                return None
            frame = SourceFrame(number, shown(image.name), *scaled(image, self._max_side))
            self._kept[number] = frame
            while len(self._kept) > FRAMES_READ:
                self._kept.popitem(last=False)
            return frame

    def _picture(self, number: int) -> SourceImage | None:
        files = self._images.files
        if not 0 <= number < len(files):
            return None
        return next(iter(ImageSource(self._images.place, [files[number]])))

    def _from_video(self, number: int) -> SourceImage | None:
        if self._video is None or number < self._next:
            self._video, self._next = iter(self._images), 0
        for image in self._video:
            self._next += 1
            if self._next == number + 1:
                return image
        self._video = None
        return None

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._video = None
            self._kept.clear()


def scaled(image: SourceImage, max_side: int) -> tuple[Pixels, bytes]:
    """A frame's grey pixels, no larger than allowed, and the same in colour as JPEG."""
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise MissingExtraError("pillow", "vision", "Reading images") from error
    grey, colour = Image.fromarray(image.grey), Image.fromarray(image.colour)
    height, width = image.grey.shape
    if max(width, height) > max_side:
        share = max_side / max(width, height)
        size = max(1, round(width * share)), max(1, round(height * share))
        grey, colour = (each.resize(size, Image.Resampling.BOX) for each in (grey, colour))
    out = io.BytesIO()
    colour.save(out, "JPEG", quality=QUALITY)
    return np.array(grey), out.getvalue()


def number_in(text: str) -> int:
    """The number of a frame, as the page sends it."""
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise InputError(f"The number of a frame must be a whole number from 0 on; got {text!r:.40}.")
    return int(text)
