"""A frame to teach on: a face that OpenCV's detector finds, one that it misses, and a false one."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from skimage import data

DETECTOR = Path(cv2.data.haarcascades) / "haarcascade_frontalface_default.xml"
WIDTH, HEIGHT = 640, 480
FOUND = (90, 88, 94, 94)  # about there: x, y, width, height
MISSED = (100, 295, 108, 108)
FALSE = (452, 179, 85, 85)
_HEAD = (224, 114)  # the middle of the astronaut's face
_SIDE = 190


def scene() -> np.ndarray:
    """The frame in red, green and blue."""
    frame = np.full((HEIGHT, WIDTH, 3), 120, np.uint8)
    frame[40 : 40 + _SIDE, 40 : 40 + _SIDE] = _head(0.0)
    frame[250 : 250 + _SIDE, 60 : 60 + _SIDE] = _head(30.0)
    cell = cv2.resize(data.cell(), None, fx=0.7, fy=0.7)[190:330, 230:370]
    frame[150:290, 420:560] = cell[..., None]
    return frame


def grey_scene() -> np.ndarray:
    """The same in grey."""
    return cv2.cvtColor(scene(), cv2.COLOR_RGB2GRAY)


def _head(angle: float) -> np.ndarray:
    """The astronaut's face, turned to a side."""
    move = cv2.getRotationMatrix2D(_HEAD, angle, 1.0)
    move[:, 2] += _SIDE / 2 - np.array(_HEAD)
    return cv2.warpAffine(data.astronaut(), move, (_SIDE, _SIDE), borderMode=cv2.BORDER_REFLECT)


def moving_scene(n: int) -> list[np.ndarray]:
    """The frame before a photo that moves to the left and back; faces and cell stay where they are."""
    photo = cv2.resize(data.coffee(), (2 * WIDTH, HEIGHT))
    still, frames = scene(), []
    backdrop = (still == 120).all(axis=2)
    for k in range(n):
        left = round(WIDTH * abs(1 - 2 * k / n))
        frames.append(np.where(backdrop[..., None], photo[:, left : left + WIDTH], still))
    return frames


def write_y4m(path: Path, *frames: np.ndarray, rate: int = 30) -> Path:
    """A film, which Chromium takes for a camera; a single frame twice, as it wants two."""
    height, width = frames[0].shape[:2]
    head = f"YUV4MPEG2 W{width} H{height} F{rate}:1 Ip A1:1 C420jpeg\n".encode()
    planes = [b"FRAME\n" + cv2.cvtColor(frame, cv2.COLOR_RGB2YUV_I420).tobytes() for frame in frames]
    path.write_bytes(head + b"".join(planes if len(planes) > 1 else 2 * planes))
    return path


def overlap(a, b) -> float:
    """Intersection over union of two boxes."""
    wide = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    high = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    both = max(0, wide) * max(0, high)
    return both / (a[2] * a[3] + b[2] * b[3] - both)
