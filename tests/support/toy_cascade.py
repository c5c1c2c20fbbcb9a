"""A small cascade that tells drawn faces from other windows, its file, and files of windows."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from PIL import Image

from ocboost import adaboost_weights
from ocboost.cascade import Cascade, new_thresholds
from ocboost.datasets.faces import draw_toys
from ocboost.hypotheses import CascadeStumps
from tests.support.cascades import as_xml

SIZES = (6, 10, 14)
N = 400  # windows of either kind in the files
WINDOWS = ["--faces", "faces.png", "--others", "others.png"]
ADAPT = ["cascade", "adapt", "toy.xml", *WINDOWS, "--smoothing", "200"]


def noisy(seed, n, noise=40):
    """Drawn faces, and others, under so much noise that they are hard to tell."""
    rng = np.random.default_rng([seed, 7])
    return tuple(
        np.rint(windows + rng.normal(0, noise, windows.shape)).clip(0, 255).astype(np.uint8)
        for windows in draw_toys(n, seed=seed)
    )


@functools.cache
def toy_cascade():
    """A cascade of three stages."""
    return boosted(SIZES, *noisy(1, 400))


def boosted(sizes, faces, others):
    """Stages of these sizes, boosted over random features; each passes 99 of 100 faces."""
    rng = np.random.default_rng(0)
    J = sum(sizes)
    w, h = rng.integers(2, 9, J), rng.integers(3, 17, J)
    x, y = rng.integers(0, 24 - 2 * w + 1), rng.integers(0, 24 - h + 1)
    rects = np.zeros((J, 3, 4), np.int32)
    rects[:, 0], rects[:, 1] = np.stack([x, y, w, h], 1), np.stack([x + w, y, w, h], 1)
    turned = rng.random(J) < 0.5
    rects[turned] = rects[turned][:, :, [1, 0, 3, 2]]
    weights = np.tile(np.array([1, -1, 0], np.float32), (J, 1))
    threshold = rng.normal(0, 0.01, J).astype(np.float32)
    X = np.concatenate([faces, others]).reshape(len(faces) + len(others), -1)
    labels = np.repeat(np.array([1, -1], np.int8), [len(faces), len(others)])
    answers = CascadeStumps(rects, weights, threshold, width=24, height=24).answers(X)
    alpha = adaboost_weights(answers * labels[:, None])
    made = Cascade(
        24,
        24,
        rects,
        weights,
        np.zeros(J, np.bool_),
        np.arange(J, dtype=np.int32),
        threshold,
        np.zeros(J, np.int32),
        np.full(J, -1, np.int32),
        np.stack([-alpha, alpha], 1).reshape(-1).astype(np.float32),
        np.arange(J + 1, dtype=np.int32),
        2 * np.arange(J + 1, dtype=np.int32),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
        np.zeros(len(sizes), np.float32),
    )
    return new_thresholds(made, faces, 0.99)


def write_detector(path):
    path.write_bytes(as_xml(toy_cascade()))
    return path


def write_cascade_inputs(folder):
    """A detector, and mosaics of faces and others."""
    write_detector(folder / "toy.xml")
    faces, others = noisy(11, N)
    write_mosaic(folder / "faces.png", faces)
    write_mosaic(folder / "others.png", others)
    return folder


def write_mosaic(path, windows, columns=10):
    """A grey PNG whose tiles are the windows; their number must be a multiple of the columns."""
    n, height, width = windows.shape
    rows = n // columns
    assert rows * columns == n
    tiles = windows.reshape(rows, columns, height, width).transpose(0, 2, 1, 3)
    Image.fromarray(np.ascontiguousarray(tiles.reshape(rows * height, columns * width))).save(path)
    return path


def write_folder(folder, windows, ending=".png"):
    """A folder with a file for each window."""
    folder.mkdir(exist_ok=True)
    for n, window in enumerate(windows):
        Image.fromarray(window).save(folder / f"{n:04d}{ending}")
    return folder


def picture_of(face, side=120):
    """A grey picture with a face in it, twice as large as a window."""
    rng = np.random.default_rng(5)
    picture = rng.normal(120, 12, (side, side)).clip(0, 255).astype(np.uint8)
    picture[30:78, 40:88] = np.kron(face, np.ones((2, 2), np.uint8))
    return picture


def write_video(path, frames=10, size=(64, 48)):
    """Frames that grow brighter, as Motion JPEG."""
    cv2 = pytest.importorskip("cv2")
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 10, size)
    if not writer.isOpened():
        pytest.skip("this OpenCV writes no video")
    for n in range(frames):
        frame = np.full((size[1], size[0], 3), 20 * n % 256, np.uint8)
        frame[:, :, 2] = 255  # OpenCV's last is red
        writer.write(frame)
    writer.release()
    return path
