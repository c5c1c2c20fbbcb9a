"""A picture of faces before and after a detector has learnt its camera; how often, from `pictures.py`.

The detector learns from synthetic scenes of the data folder's faces (500 of them, as in `pictures.py`).
The picture is composed of the faces and photos that come with scikit-image, so that it can be shown; some of
these people may be among those that it has learnt from. The figures beside it are those of `pictures.py`, of
other people.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ocboost.cascade import Picture, PictureAdapter, detect, read_cascade
from ocboost.datasets import load_faces
from ocboost.datasets.cameras import CAMERAS
from ocboost.datasets.scenes import Scene, SceneMaker

from .heavy_margins import Folders

CASCADE = "faces/haarcascade_frontalface_default.xml.gz"
CAMERA, SEED = "roll", 0
LABELLED, FACES_A_SCENE, FREE = 500, 4, 80
FACES_SHOWN = 4


def scenes(n: int) -> list[Scene]:
    """The first scenes of the faces and photos that scikit-image brings, behind the camera."""
    maker = SceneMaker(load_faces(None), "judging", CAMERAS[CAMERA], SEED)
    return list(maker.scenes(n, FACES_SHOWN))


def measure(quick: bool, folders: Folders) -> Iterator[dict[str, Any]]:
    """The boxes of both detectors on the scenes."""
    if not folders.has(CASCADE):
        return
    assert folders.data is not None
    file = read_cascade(folders.data / CASCADE)
    maker = SceneMaker(load_faces(folders.data), "adapting", CAMERAS[CAMERA], SEED)
    n = 20 if quick else -(-LABELLED // FACES_A_SCENE)
    made = [*maker.scenes(n, FACES_A_SCENE), *maker.scenes(5 if quick else FREE, 0)]
    adapter = PictureAdapter(file.cascade, seed=SEED)
    for k in np.random.default_rng(SEED).permutation(len(made)):
        adapter.add(Picture(f"adapting {k}", *made[k]))
    adapter.build()
    adapted = adapter.adapted()
    for scene in scenes(30):
        yield {
            "faces": scene.boxes.tolist(),
            "shipped": [list(map(int, box)) for box in detect(file.cascade, scene.grey)],
            "adapted": [list(map(int, box)) for box in detect(adapted, scene.grey)],
        }


def rates(results: Path) -> dict[str, tuple[float, float]]:
    """Faces missed at 0.3 false alarms a picture, shipped and adapted: means over seeds of `pictures.py`."""
    runs = json.loads((results / "pictures.json").read_text(encoding="utf-8"))["runs"]
    chosen = [run for run in runs if run["asked"] == LABELLED and not run["guarded"] and run["time"] is None]
    found = {}
    for camera in dict.fromkeys(run["camera"] for run in chosen):
        own = [run for run in chosen if run["camera"] == camera]
        shipped, adapted = (
            float(np.mean([run[name]["misses_at"]["0.3"] for run in own])) for name in ("shipped", "adapted")
        )
        found[camera] = (shipped, adapted)
    return found
