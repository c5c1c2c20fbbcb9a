"""Frames of a video file, read with OpenCV."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..datasets.pictures import LARGEST, refused
from ..errors import InputError, MissingExtraError

Pixels = NDArray[np.uint8]

SILENT = 0  # a level of what OpenCV logs
VIDEO_ENDINGS = (".avi", ".mp4", ".m4v", ".mov", ".mkv", ".webm", ".mpg", ".mpeg", ".wmv")


class Video:
    """Every so many frames of a video, with their numbers: (number, grey, colour).

    Opened at once, so that a file that is no video is found out before anything else is done.

    Parameters
    ----------
    path : Path
    every : int
        1 gives all frames.
    tell : callable, optional
        Told in a sentence if the video ends before it says it does.
    """

    def __init__(self, path: Path, every: int, tell: Callable[[str], None] | None = None) -> None:
        self.path = path
        self.every = every
        self._tell = tell
        with self._opened() as capture:
            self._claimed = self._count(capture)
            if not capture.grab():
                raise self._refused()

    @property
    def expected(self) -> int | None:
        """How many frames there will be, if the video knows."""
        return -(-self._claimed // self.every) if self._claimed else None

    def __iter__(self) -> Iterator[tuple[int, Pixels, Pixels]]:
        cv2 = _cv2()
        number = 0
        with self._opened() as capture:
            while capture.grab():
                if number % self.every == 0:
                    there, frame = capture.retrieve()
                    if not there:
                        break
                    if frame.ndim != 3 or frame.dtype != np.uint8 or frame.size > 3 * LARGEST:
                        raise self._refused()
                    grey = cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)
                    yield number, grey, np.ascontiguousarray(frame[:, :, ::-1])
                number += 1
        if number < self._claimed and self._tell is not None:
            self._tell(
                f"'{self.path}' says it has {self._claimed:,} frames, and {number:,} of them could be read."
            )

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        cv2 = _cv2()
        log = getattr(cv2.utils, "logging", cv2)  # where it is since 4.13, and where it was
        before = log.getLogLevel()
        log.setLogLevel(SILENT)  # what is wrong is said by us
        capture = None
        try:
            for backend in (cv2.CAP_FFMPEG, cv2.CAP_OPENCV_MJPEG):
                capture = cv2.VideoCapture(os.fspath(self.path), backend)
                if capture.isOpened():
                    break
                capture.release()
            else:
                raise self._refused()
            side = [capture.get(prop) for prop in (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT)]
            if not 0 < side[0] * side[1] <= LARGEST:
                raise refused(
                    self.path,
                    f"have frames of at most {LARGEST:,} pixels",
                    f"it has {side[0]:.0f} × {side[1]:.0f}",
                )
            yield capture
        finally:
            if capture is not None:
                capture.release()
            log.setLogLevel(before)

    def _count(self, capture: Any) -> int:
        count = capture.get(_cv2().CAP_PROP_FRAME_COUNT)
        return int(count) if 0 < count < 1 << 40 else 0

    def _refused(self) -> InputError:
        return refused(
            self.path,
            "be a video that OpenCV can read",
            "it cannot be read",
            "Is it whole? Else turn it into MP4 or AVI.",
        )


def _cv2() -> Any:
    os.environ.setdefault(
        "OPENCV_FFMPEG_LOGLEVEL", "-8"
    )  # silent; it is read when OpenCV first opens a video
    try:
        import cv2
    except ModuleNotFoundError as error:
        raise MissingExtraError("opencv-python-headless", "vision", "Reading videos") from error
    return cv2
