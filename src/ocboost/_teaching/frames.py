"""Frames of a camera, in bounded memory: the newest, those that were clicked on, and some of the rest.

Of frames that look alike one is enough, beyond the newest: these are all kept for a while, since a click may
come for any of them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ocboost._core.escaping import shown
from ocboost.errors import InputError

Pixels = NDArray[np.uint8]

NEWEST_BYTES = 96 << 20  # 300 frames of 640 × 480: half a minute of ten a second
FEWEST_NEWEST = 8  # frames, however large they are
VARIED = 120  # frames that differ, and were not clicked on
VARIED_BYTES = 128 << 20
LABELLED_BYTES = 1 << 30
THUMBNAIL = 24  # pixels at most, on the longer side
LOOK_ALIKE = 3.0  # grey values that thumbnails of frames that look alike differ by, on average


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame as it was seen."""

    id: int
    grey: Pixels
    name: str = ""
    time: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", shown(self.name))  # that of a file need not be UTF-8

    @property
    def height(self) -> int:
        """In pixels."""
        return int(self.grey.shape[0])

    @property
    def width(self) -> int:
        """In pixels."""
        return int(self.grey.shape[1])

    @property
    def file_name(self) -> str:
        """Its name beside annotations."""
        return f"frame-{self.id:06d}.png"


class FrameStore:
    """Keeps frames; those that were clicked on are never dropped. Any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: OrderedDict[int, Frame] = OrderedDict()
        self._varied: OrderedDict[int, Frame] = OrderedDict()
        self._labelled: dict[int, Frame] = {}
        self._thumbnail: NDArray[np.float32] | None = None  # of the newest varied one
        self._next = 1

    def next_id(self) -> int:
        """The id of a frame that comes now; none is given twice."""
        with self._lock:
            self._next += 1
            return self._next - 1

    def add(self, frame: Frame) -> None:
        """Keep a frame; older ones may leave."""
        small = thumbnail(frame.grey)
        with self._lock:
            self._newest[frame.id] = frame
            self._next = max(self._next, frame.id + 1)
            total = sum(kept.grey.size for kept in self._newest.values())
            while total > NEWEST_BYTES and len(self._newest) > FEWEST_NEWEST:
                total -= self._newest.popitem(last=False)[1].grey.size
            before = self._thumbnail
            if before is not None and before.shape == small.shape and _difference(before, small) < LOOK_ALIKE:
                return
            self._thumbnail = small
            self._varied[frame.id] = frame
            self._thin()

    def _thin(self) -> None:
        """Every second of the varied frames leaves, where they are too many."""
        total = sum(kept.grey.size for kept in self._varied.values())
        if len(self._varied) > VARIED or (total > VARIED_BYTES and len(self._varied) > FEWEST_NEWEST):
            for number in list(self._varied)[1::2]:
                del self._varied[number]

    def reserve(self, number: int) -> None:
        """No id below this one is given any more."""
        with self._lock:
            self._next = max(self._next, number)

    @property
    def next_number(self) -> int:
        """The id that is given next."""
        with self._lock:
            return self._next

    def newest(self, n: int) -> list[Frame]:
        """The newest frames that differ, the newest first."""
        with self._lock:
            return list(self._varied.values())[: -n - 1 : -1]

    def labelled(self) -> list[Frame]:
        """Those that were clicked on."""
        with self._lock:
            return list(self._labelled.values())

    def get(self, number: int) -> Frame:
        """A frame that is kept."""
        with self._lock:
            for kept in (self._newest, self._labelled, self._varied):
                if number in kept:
                    return kept[number]
        raise InputError(
            f"frame {number!r:.40} is no longer kept, or never was: only the newest ones are. Click on a "
            "newer one."
        )

    def label(self, number: int) -> Frame:
        """Keep a frame for good, because it was clicked on."""
        frame = self.get(number)
        with self._lock:
            if number not in self._labelled:
                total = sum(kept.grey.size for kept in self._labelled.values())
                if total + frame.grey.size > LABELLED_BYTES:
                    raise InputError(
                        f"frames that were clicked on must be at most {LABELLED_BYTES >> 30} GiB of grey "
                        "pixels in all. Download what was taught so far, and begin anew."
                    )
                self._labelled[number] = frame
        return frame

    def unlabel(self, number: int) -> None:
        """Nothing that was clicked on is in this frame any more: it may be dropped as others may."""
        with self._lock:
            frame = self._labelled.pop(number, None)
            if frame is not None and number not in self._newest:
                self._varied[number] = frame
                self._varied = OrderedDict(sorted(self._varied.items()))

    def varied(self) -> list[Frame]:
        """Frames that differ, oldest first; those clicked on are among them where they differ."""
        with self._lock:
            return list(self._varied.values())

    def all(self) -> list[Frame]:
        """All that are kept, oldest first."""
        with self._lock:
            kept = {**self._varied, **self._newest, **self._labelled}
        return [kept[number] for number in sorted(kept)]

    @property
    def n_bytes(self) -> int:
        """Of all that are kept."""
        return sum(frame.grey.size for frame in self.all())


def thumbnail(grey: Pixels) -> NDArray[np.float32]:
    """A small picture of a frame: means of blocks."""
    step = max(-(-max(grey.shape) // THUMBNAIL), 1)
    rows, columns = (max(size // step, 1) for size in grey.shape)
    height, width = min(step, grey.shape[0]), min(step, grey.shape[1])
    blocks = grey[: rows * height, : columns * width].reshape(rows, height, columns, width)
    small: NDArray[np.float32] = blocks.mean(axis=(1, 3), dtype=np.float32)
    return small


def _difference(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    return float(np.abs(a - b).mean())
