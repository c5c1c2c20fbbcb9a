"""Small pictures in which a small cascade finds some of the boxes, misses others, and finds more."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np
from PIL import Image

from ocboost.cascade import Cascade, detect, stage_sums
from ocboost.cascade.pictures import Picture
from tests.support.cascades import random_cascade

FACTOR = 1.15  # from one size of the window to the next, in all tests


def blotches(seed: int, shape: tuple[int, int] = (40, 52)) -> np.ndarray:
    """Noise in squares of six pixels: windows beside each other look alike, so that groups come about."""
    rng = np.random.default_rng([seed, 1])
    coarse = np.kron(rng.normal(128, 60, (shape[0] // 6 + 1, shape[1] // 6 + 1)), np.ones((6, 6)))
    fine = rng.normal(0, 8, shape)
    return np.clip(coarse[: shape[0], : shape[1]] + fine, 0, 255).astype(np.uint8)


@functools.cache
def splitting_cascade(seed: int = 2, stages: tuple[int, ...] = (3, 4, 5), share: float = 0.4) -> Cascade:
    """A cascade each of whose stages rejects a share of the windows of blotches."""
    cascade = random_cascade(seed, stages=stages, share_tilted=0.3)
    cut = np.lib.stride_tricks.sliding_window_view(blotches(99), (7, 8)).reshape(-1, 7, 8)
    return cascade.with_thresholds(np.quantile(stage_sums(cascade, cut), share, axis=0) + 1e-3)


def moved(boxes: np.ndarray, seed: int, by: int, shape: tuple[int, int]) -> np.ndarray:
    """Boxes somewhere near, inside the picture."""
    rng = np.random.default_rng([seed, 2])
    sizes = np.maximum(boxes[:, 2:] + rng.integers(-by, by + 1, (len(boxes), 2)), 4)
    corners = np.clip(boxes[:, :2] + rng.integers(-by, by + 1, (len(boxes), 2)), 0, None)
    room = np.array([shape[1], shape[0]])
    return np.hstack([corners, np.minimum(sizes, room - corners)])


@functools.cache
def judged_pictures(n: int = 5) -> tuple[Picture, ...]:
    """Pictures with boxes near what `splitting_cascade` finds, with regions to ignore, and without either.

    The last two have no face; the very last is smaller than the window.
    """
    made = []
    for k in range(n):
        grey = blotches(k)
        boxes = np.array(detect(splitting_cascade(), grey, FACTOR, 2))
        faces, ignored = moved(boxes[::2], k, 2, grey.shape), moved(boxes[1::4], k, 1, grey.shape)
        made.append(Picture(f"{k}.png", grey, faces, ignored))
    made.append(Picture("none.png", blotches(n)))
    made.append(Picture("tiny.png", blotches(n + 1, (6, 6))))
    return tuple(made)


def write_marked(folder: Path) -> None:
    """The pictures, and marked.json with their boxes, those to ignore as crowds; and a small face."""
    images, annotations = [], [{"image_id": 5, "category_id": 1, "bbox": [9, 9, 5, 6], "iscrowd": 0}]
    for k, picture in enumerate(judged_pictures()):
        Image.fromarray(picture.grey).save(folder / picture.name)
        height, width = picture.grey.shape
        images.append({"id": k, "file_name": picture.name, "width": width, "height": height})
        for crowd, boxes in enumerate((picture.boxes, picture.ignored)):
            annotations += [
                {"image_id": k, "category_id": 1, "bbox": box, "iscrowd": crowd} for box in boxes.tolist()
            ]
    for n, annotation in enumerate(annotations):
        annotation["id"] = n
    made = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "face"}]}
    (folder / "marked.json").write_text(json.dumps(made))
