"""Synthetic scenes: face windows pasted into photos and textures, so that every face's box is known.

    python -m ocboost.datasets.scenes OUT [--data DIR] [--part adapting] [--camera roll] [--scenes 100]

Windows without a face are pasted in the same way, so that a detector cannot find faces by the seams. What a
simulated camera does is done to the whole picture. The two parts share no person, no window and no photo.
Figures on these scenes are figures on synthetic scenes, and must be called so.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import io
import math
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ocboost.datasets.cameras import CAMERAS, Camera
from ocboost.datasets.faces import load_faces
from ocboost.datasets.images import Images, Pixels
from ocboost.errors import InputError, MissingExtraError

Floats = NDArray[np.float32]
Part = Literal["adapting", "judging"]

SCENE_WIDTH, SCENE_HEIGHT = 400, 300
SMALLEST_SIDE, LARGEST_SIDE = 26, 60  # sides of pasted windows
PHOTOS = {  # of scikit-image; none shows a person
    "adapting": ("brick", "coffee", "motorcycle_left", "page", "hubble_deep_field", "retina"),
    "judging": ("grass", "gravel", "rocket", "chelsea", "text", "moon", "microaneurysms"),
}
SAMPLE_PHOTOS = {"adapting": "china.jpg", "judging": "flower.jpg"}  # of scikit-learn
TRIES = 200  # places tried for a window before it is left out


class Scene(NamedTuple):
    """A picture, and x, y, width and height of the faces in it."""

    grey: Pixels
    boxes: NDArray[np.int64]


class SceneMaker:
    """Makes scenes one after the other: the same seed gives the same scenes, face after face.

    Parameters
    ----------
    images : Images
        Windows with faces (+1) and without (-1). The training part is for adapting, the test part for
        judging.
    part : "adapting" or "judging"
    camera : Camera, optional
        What is done to every picture.
    seed : int, default 0

    Attributes
    ----------
    source : str
        A sentence for reports: what the scenes are made of.
    """

    def __init__(
        self, images: Images, part: Part = "adapting", camera: Camera | None = None, seed: int = 0
    ) -> None:
        if part not in PHOTOS:
            raise InputError(f"part must be 'adapting' or 'judging'; got {part!r:.40}.")
        X, y = (images.train_X, images.train_y) if part == "adapting" else (images.test_X, images.test_y)
        self._faces, self._others = X[y > 0], X[y < 0]
        self._camera = camera
        self._rng = np.random.default_rng([seed, list(PHOTOS).index(part)])
        self._order = self._rng.permutation(len(self._faces))
        self._used = 0
        self._photos = _photos(part)
        self.source = (
            f"Synthetic scenes of {SCENE_WIDTH} × {SCENE_HEIGHT} pixels, {part} part: "
            f"{len(self._faces):,} face windows and {len(self._others):,} others, pasted into "
            + (f"{len(self._photos)} photos and into textures" if self._photos else "textures")
            + (f"; the camera: {camera.about}." if camera is not None else "; no distortion.")
        )

    @property
    def n_faces(self) -> int:
        """Faces that have been pasted; beyond as many as there are, they come again."""
        return self._used

    def scene(self, n_faces: int = 4, n_others: int = 6) -> Scene:
        """The next scene, with so many faces at most: one that finds no free place is left out."""
        rng = self._rng
        canvas = self._background()
        boxes: list[tuple[int, int, int, int]] = []
        taken: list[tuple[int, int, int]] = []
        for k in range(n_faces + n_others):
            side = round(math.exp(rng.uniform(math.log(SMALLEST_SIDE), math.log(LARGEST_SIDE))))
            place = self._free_place(side, taken)
            if place is None:
                continue
            x, y = place
            if k < n_faces:
                window = self._faces[self._order[self._used % len(self._order)]]
                self._used += 1
                boxes.append((x, y, side, side))
            else:
                window = self._others[rng.integers(len(self._others))]
            if rng.random() < 0.5:
                window = window[:, ::-1]
            taken.append((x, y, side))
            _paste(canvas, window, x, y, side, rng)
        light = _slope(canvas.shape, rng) * np.float32(rng.uniform(0.75, 1.1))
        grey = np.rint(canvas * light + rng.normal(0.0, 1.5, canvas.shape)).clip(0, 255).astype(np.uint8)
        found = np.array(boxes, np.int64).reshape(-1, 4)
        if self._camera is not None:
            grey = self._camera(grey[None], rng)[0]
            found = turned(found, self._camera.angle)
        return Scene(grey, found)

    def scenes(self, n: int, n_faces: int = 4, n_others: int = 6) -> Iterator[Scene]:
        """The next n scenes."""
        return (self.scene(n_faces, n_others) for _ in range(n))

    def _free_place(self, side: int, taken: list[tuple[int, int, int]]) -> tuple[int, int] | None:
        for _ in range(TRIES):
            x, y = (
                int(self._rng.integers(SCENE_WIDTH - side + 1)),
                int(self._rng.integers(SCENE_HEIGHT - side + 1)),
            )
            apart = all(
                x + side <= left or left + size <= x or y + side <= top or top + size <= y
                for left, top, size in taken
            )
            angle = 0.0 if self._camera is None else self._camera.angle
            seen = turned(np.array([[x, y, side, side]], np.int64), angle)[0]
            inside = (
                (seen[:2] >= 0).all() and seen[0] + side <= SCENE_WIDTH and seen[1] + side <= SCENE_HEIGHT
            )
            if apart and inside:
                return x, y
        return None

    def _background(self) -> Floats:
        rng = self._rng
        if self._photos and rng.random() < 0.6:
            photo = self._photos[rng.integers(len(self._photos))]
            canvas = _crop(photo, rng)
        else:
            canvas = _texture(rng)
        if len(self._others) >= 40 and rng.random() < 0.5:
            for _ in range(int(rng.integers(5, 20))):  # clutter behind everything
                side = int(rng.integers(24, 140))
                x, y = int(rng.integers(SCENE_WIDTH - side + 1)), int(rng.integers(SCENE_HEIGHT - side + 1))
                _paste(canvas, self._others[rng.integers(len(self._others))], x, y, side, rng)
        return canvas


def turned(boxes: NDArray[np.int64], angle: float) -> NDArray[np.int64]:
    """Where boxes are when a camera has turned the picture by an angle, in degrees, about its middle."""
    if angle == 0.0 or not len(boxes):
        return boxes
    c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    middle = np.array([(SCENE_WIDTH - 1) / 2.0, (SCENE_HEIGHT - 1) / 2.0])
    centre = boxes[:, :2] + (boxes[:, 2:] - 1) / 2.0 - middle
    moved = np.stack([c * centre[:, 0] + s * centre[:, 1], c * centre[:, 1] - s * centre[:, 0]], axis=1)
    corner = np.rint(moved + middle - (boxes[:, 2:] - 1) / 2.0).astype(np.int64)
    return np.hstack([corner, boxes[:, 2:]])


def _paste(canvas: Floats, window: Pixels, x: int, y: int, side: int, rng: np.random.Generator) -> None:
    """Paste a window, enlarged, with soft edges and a light of its own."""
    from scipy.ndimage import zoom

    large = zoom(
        window.astype(np.float32), side / window.shape[0], order=int(rng.integers(1, 4)), mode="nearest"
    )
    large = np.asarray(large[:side, :side] * rng.uniform(0.7, 1.2) + rng.uniform(-20.0, 20.0), np.float32)
    reach = np.linspace(-1.0, 1.0, side, dtype=np.float32)
    far = np.maximum(np.abs(reach)[:, None], np.abs(reach)[None, :])
    round_ = np.hypot(reach[:, None], reach[None, :])
    far = np.where(rng.random() < 0.5, far, 0.5 * far + 0.4 * round_)
    share = np.clip((1.0 - far) / rng.uniform(0.02, 0.12), 0.0, 1.0).astype(np.float32)
    under = canvas[y : y + side, x : x + side]
    canvas[y : y + side, x : x + side] = share * large + (1.0 - share) * under


def _crop(photo: Pixels, rng: np.random.Generator) -> Floats:
    """A random part of a photo, enlarged or shrunk to the size of a scene."""
    from scipy.ndimage import zoom

    height, width = photo.shape
    shape = min(width / SCENE_WIDTH, height / SCENE_HEIGHT)
    part = shape * rng.uniform(0.35, 1.0)
    w, h = max(8, int(SCENE_WIDTH * part)), max(8, int(SCENE_HEIGHT * part))
    x, y = int(rng.integers(width - w + 1)), int(rng.integers(height - h + 1))
    cut = photo[y : y + h, x : x + w].astype(np.float32)
    if rng.random() < 0.5:
        cut = cut[:, ::-1]
    if rng.random() < 0.25:
        cut = cut[::-1]
    scene: Floats = np.empty((SCENE_HEIGHT, SCENE_WIDTH), np.float32)
    zoomed = zoom(cut, (SCENE_HEIGHT / h, SCENE_WIDTH / w), order=1, mode="nearest")
    scene[...] = np.pad(zoomed, ((0, SCENE_HEIGHT), (0, SCENE_WIDTH)), mode="edge")[
        :SCENE_HEIGHT, :SCENE_WIDTH
    ]
    return scene


def _texture(rng: np.random.Generator) -> Floats:
    """Noise of several sizes, stripes, and shapes with edges."""
    from scipy.ndimage import zoom

    scene: Floats = np.full((SCENE_HEIGHT, SCENE_WIDTH), rng.uniform(50, 190), np.float32)
    for cells in (3, 8, 20, 50):
        coarse = rng.normal(0.0, 1.0, (cells, cells)).astype(np.float32)
        layer = zoom(coarse, (SCENE_HEIGHT / cells, SCENE_WIDTH / cells), order=1, mode="nearest")
        layer = np.pad(layer, ((0, SCENE_HEIGHT), (0, SCENE_WIDTH)), mode="edge")[:SCENE_HEIGHT, :SCENE_WIDTH]
        scene += np.float32(rng.uniform(2.0, 35.0) / math.sqrt(cells / 3.0)) * layer
    y, x = np.mgrid[0:SCENE_HEIGHT, 0:SCENE_WIDTH].astype(np.float32)
    for _ in range(int(rng.integers(0, 14))):
        cx, cy, w, h = rng.uniform(0, SCENE_WIDTH), rng.uniform(0, SCENE_HEIGHT), *rng.uniform(6, 120, 2)
        inside = np.maximum(np.abs(x - cx) / w, np.abs(y - cy) / h) < 1.0
        if rng.random() < 0.5:
            inside = ((x - cx) / w) ** 2 + ((y - cy) / h) ** 2 < 1.0
        scene[inside] += np.float32(rng.uniform(-70, 70))
    if rng.random() < 0.4:
        angle, period = rng.uniform(0, math.pi), rng.uniform(5, 40)
        wave = np.sin((x * math.cos(angle) + y * math.sin(angle)) * 2.0 * math.pi / period)
        scene += np.float32(rng.uniform(5, 35)) * wave
    return scene


def _slope(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Light that falls off to one side."""
    down, across = rng.uniform(-0.25, 0.25, 2)
    y = np.linspace(-1.0, 1.0, shape[0], dtype=np.float32)[:, None]
    x = np.linspace(-1.0, 1.0, shape[1], dtype=np.float32)[None, :]
    return np.asarray(1.0 + down * y + across * x, np.float32)


def _photos(part: Part) -> list[Pixels]:
    """The photos of a part that come inside packages; none where these, or pillow, are not installed."""
    found: list[Pixels] = []
    try:
        from PIL import Image
    except ModuleNotFoundError:
        return found
    places: list[Path] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            folder = Path(str(importlib.import_module("skimage").__file__)).parent / "data"
            places += [path for name in PHOTOS[part] for path in sorted(folder.glob(f"{name}.*"))]
        except ModuleNotFoundError:
            pass
    samples = Path(str(importlib.import_module("sklearn.datasets").__file__)).parent / "images"
    places.append(samples / SAMPLE_PHOTOS[part])
    for path in places:
        try:
            with Image.open(path) as image:
                grey = image.convert("L")
                grey.thumbnail((1200, 1200))
                found.append(np.asarray(grey))
        except Exception:  # a package that ships without its pictures
            continue
    return found


# As files ---------------------------------------------------------------------------------------------------


def write_scenes(out: Path, scenes: Sequence[Scene]) -> None:
    """Write scenes as PNG files, and ``boxes.csv`` beside them: image, x, y, w, h."""
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise MissingExtraError("pillow", "vision", "Writing pictures") from error
    out.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["image", "x", "y", "w", "h"])
    for number, (grey, boxes) in enumerate(scenes):
        name = f"scene-{number:04d}.png"
        Image.fromarray(grey).save(out / name)
        writer.writerows([name, *box] for box in (boxes.tolist() or [[""] * 4]))
    (out / "boxes.csv").write_text(text.getvalue())


def main(words: Sequence[str] | None = None) -> int:
    """Write scenes into a folder."""
    parser = argparse.ArgumentParser(
        prog="python -m ocboost.datasets.scenes", description="Write synthetic scenes with known boxes."
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA") or None)
    parser.add_argument("--part", choices=sorted(PHOTOS), default="adapting")
    parser.add_argument("--camera", choices=sorted(CAMERAS), help="none if left out")
    parser.add_argument("--scenes", type=int, default=100)
    parser.add_argument("--faces", type=int, default=4, help="in a scene, at most")
    parser.add_argument("--seed", type=int, default=0)
    given: Any = parser.parse_args(words)
    if given.out.exists() and (not given.out.is_dir() or any(given.out.iterdir())):
        parser.error(f"OUT must be a new or an empty folder; '{given.out}' is none.")
    if min(given.scenes, given.faces + 1, given.seed + 1) < 1:
        parser.error("--scenes must be at least 1, --faces and --seed at least 0.")
    camera = CAMERAS[given.camera] if given.camera else None
    try:
        images = load_faces(given.data)
        maker = SceneMaker(images, given.part, camera, given.seed)
        write_scenes(given.out, list(maker.scenes(given.scenes, given.faces)))
    except InputError as error:
        parser.error(str(error))
    if images.fallback:
        print(f"{images.source} Few or drawn faces are for a try: give --data, or set OCBOOST_DATA.")
    print(f"{maker.source}\nWrote {given.scenes} scenes with {maker.n_faces} faces to {given.out}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
