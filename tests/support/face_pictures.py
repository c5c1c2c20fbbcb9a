"""Small pictures with drawn faces pasted into them, in a folder with boxes.csv."""

from __future__ import annotations

import csv
import functools

import numpy as np
from PIL import Image

from ocboost.cascade import Cascade, new_thresholds
from ocboost.datasets.faces import draw_toys
from tests.support.toy_cascade import boosted

SIDE = 48  # of a face
PLACES = ((6, 10), (70, 14), (130, 60), (20, 66))


def face_picture(seed: int, n_faces: int = 2) -> tuple[np.ndarray, list[list[int]]]:
    """A picture of 190 × 130 pixels, and the boxes of its faces; what holds no face holds an empty oval."""
    rng = np.random.default_rng([seed, 3])
    faces, others = draw_toys(6, seed=1000 + seed)
    picture = rng.normal(120, 12, (130, 190))
    boxes = []
    for k, place in enumerate(rng.permutation(len(PLACES)).tolist()):
        x, y = (int(at + rng.integers(0, 6)) for at in PLACES[place])
        window = faces[k] if k < n_faces else others[2]
        picture[y : y + SIDE, x : x + SIDE] = np.kron(window, np.ones((2, 2)))
        if k < n_faces:
            boxes.append([x, y, SIDE, SIDE])
    return np.rint(picture + rng.normal(0, 8, picture.shape)).clip(0, 255).astype(np.uint8), boxes


def write_face_pictures(folder, seeds, n_faces=2, moved=0):
    """Pictures of these seeds, every third without a face; boxes may be moved to the right, wrongly."""
    folder.mkdir(exist_ok=True)
    rows = []
    for seed in seeds:
        picture, boxes = face_picture(seed, 0 if seed % 3 == 2 else n_faces)
        name = f"p{seed:03d}.png"
        Image.fromarray(picture).save(folder / name)
        right = [[min(x + moved, 190 - w), y, w, h] for x, y, w, h in boxes]
        rows += [[name, *box] for box in right or [[""] * 4]]
    with open(folder / "boxes.csv", "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([["image", "x", "y", "w", "h"], *rows])
    return folder


@functools.cache
def picture_cascade() -> Cascade:
    """A cascade of three stages that rejects most of such pictures, and finds some of their faces."""
    rng = np.random.default_rng(0)
    faces, others = [], []
    for seed in range(500, 560):
        picture, boxes = face_picture(seed, 2)
        small = np.rint(face_picture(seed, 0)[0].reshape(65, 2, 95, 2).mean(axis=(1, 3))).astype(np.uint8)
        for x, y, _, _ in boxes:
            face = picture[y : y + SIDE, x : x + SIDE].reshape(24, 2, 24, 2).mean(axis=(1, 3))
            faces.append(np.rint(face).astype(np.uint8))
        for source in (picture[:, :24], small, small):
            windows = np.lib.stride_tricks.sliding_window_view(source, (24, 24)).reshape(-1, 24, 24)
            others.append(windows[rng.permutation(len(windows))[:20]])
    made = boosted((8, 14, 22), np.array(faces), np.concatenate(others))
    return new_thresholds(made, np.array(faces), 0.75)
