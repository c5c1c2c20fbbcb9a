"""Ninety background photos: squashed into windows, and searched as whole pictures.

    python experiments/background_photos.py --data DIR [--seeds 0,1,2]

Somebody has faces, and 90 photos without one. There are two ways to adapt OpenCV's frontal face cascade:

- windows: 500 face windows as ``--faces``, and the photos as ``--others``. Each photo would be squashed into
  one window of 24 × 24 pixels, which is nothing that a detector ever sees. `ocboost` refuses that; here they
  are squashed beforehand, to show what would come of it.
- pictures: ``--boxes``, a folder with 60 synthetic scenes of four faces each in ``info.dat`` and the photos in
  ``bg.txt``.

Photos are random parts of those inside scikit-image and scikit-learn. Judged are the boxes drawn with
``min_neighbors=3`` on four pictures of which nothing was seen, one with a face (scikit-image's astronaut), and
false alarms on 60 parts of other photos without a face. Four pictures are an illustration, no measurement; the
scenes are synthetic.
"""

import argparse
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import skimage
import sklearn.datasets
from PIL import Image

from ocboost.__main__ import main
from ocboost._report.output import versions
from ocboost.cascade import detect, read_cascade
from ocboost.cascade.bounds import rate_bounds
from ocboost.datasets import load_faces
from ocboost.datasets.scenes import PHOTOS, SAMPLE_PHOTOS, SceneMaker

N_PHOTOS, N_FACES, N_SCENES, N_JUDGED = 90, 500, 60, 60
SKIMAGE = Path(skimage.__file__).parent / "data"
SKLEARN = Path(sklearn.datasets.__file__).parent / "images"
SHOWN = {"astronaut, one face": "astronaut.png", "rocket": "rocket.jpg", "cat": "chelsea.png", "flower": None}


def grey(path):
    """A photo, grey."""
    with Image.open(path) as image:
        return np.asarray(image.convert("L"))


def photos(part):
    """The photos of a part of the scenes' data, whole."""
    names = [path for name in PHOTOS[part] for path in sorted(SKIMAGE.glob(f"{name}.*"))]
    return [grey(path) for path in [*names, SKLEARN / SAMPLE_PHOTOS[part]]]


def parts_of(some, n, rng):
    """Random parts of photos, each 320 pixels wide and 240 high, shrunk from up to twice that."""
    for k in range(n):
        photo = some[k % len(some)]
        most = min(photo.shape[1] / 320, photo.shape[0] / 240, 2.0)
        scale = rng.uniform(min(most, 0.7), most)
        w, h = int(320 * scale), int(240 * scale)
        x, y = rng.integers(photo.shape[1] - w + 1), rng.integers(photo.shape[0] - h + 1)
        cut = Image.fromarray(np.ascontiguousarray(photo[y : y + h, x : x + w]))
        yield np.asarray(
            cut.resize((320, 240), Image.Resampling.BOX if scale > 1 else Image.Resampling.BICUBIC)
        )


def run(*words):
    """The exit code and the text of `ocboost`."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main([str(word) for word in words])
    return code, said.getvalue()


def save_all(folder, pictures):
    """Pictures as PNG files of a new folder."""
    folder.mkdir()
    for k, picture in enumerate(pictures):
        Image.fromarray(picture).save(folder / f"{k:03d}.png")
    return folder


def counts(path, shown, judged):
    """Boxes on each of the four pictures, and on all of those without a face."""
    cascade = read_cascade(path).cascade
    found = {name: len(detect(cascade, picture, 1.1, 3)) for name, picture in shown.items()}
    return found | {"judged": [len(detect(cascade, picture, 1.1, 3)) for picture in judged]}


def one(seed, detector, images, folder):
    """Both ways with one seed."""
    rng = np.random.default_rng(seed)
    background = list(parts_of(photos("adapting"), N_PHOTOS, rng))
    judged = list(parts_of(photos("judging"), N_JUDGED, rng))
    shown = {
        name: grey(SKLEARN / SAMPLE_PHOTOS["judging"] if file is None else SKIMAGE / file)
        for name, file in SHOWN.items()
    }
    faces = images.train_X[images.train_y > 0]
    own = save_all(folder / "faces", faces[rng.permutation(len(faces))[:N_FACES]])
    result = {"shipped": counts(detector, shown, judged)}

    whole = save_all(folder / "photos", background)
    words = ("cascade", "adapt", detector, "--faces", own, "--others")
    code, said = run(*words, whole, "--out", folder / "refused.xml")
    result["whole photos as --others"] = {"exit code": code, "written": (folder / "refused.xml").exists()}
    print(said.replace(str(folder), "…").strip().splitlines()[-1])

    small = [np.asarray(Image.fromarray(p).resize((24, 24), Image.Resampling.BOX)) for p in background]
    code, said = run(*words, save_all(folder / "squashed", small), "--out", folder / "windows.xml")
    assert code == 0, said
    result["windows"] = counts(folder / "windows.xml", shown, judged)
    result["windows"]["claimed"] = next(
        line for line in said.splitlines() if line.strip().startswith("after")
    )

    maker = SceneMaker(images, "adapting", None, seed)
    scenes = list(maker.scenes(N_SCENES))
    place = save_all(folder / "pictures", [*(scene.grey for scene in scenes), *background])
    lines = [
        f"{k:03d}.png {len(scene.boxes)} {' '.join(map(str, scene.boxes.ravel().tolist()))}\n"
        for k, scene in enumerate(scenes)
    ]
    (place / "info.dat").write_text("".join(lines))
    names = [f"{k:03d}.png\n" for k in range(N_SCENES, N_SCENES + N_PHOTOS)]
    (place / "bg.txt").write_text("".join(names))
    code, said = run("cascade", "adapt", detector, "--boxes", place, "--out", folder / "pictures.xml")
    result["pictures"] = {"exit code": code}
    if code == 0:
        result["pictures"] |= counts(folder / "pictures.xml", shown, judged)
    else:  # the shipped detector stays
        result["pictures"] |= result["shipped"]
        print(said.strip().splitlines()[-1])
    return result


def table(runs):
    """The tables as Markdown."""
    ways = ("shipped", "windows", "pictures")
    lines = [f"| seed | | {' | '.join(SHOWN)} | on {N_JUDGED} without a face | a picture (95 % bounds) |"]
    lines.append("| ---: | :--- |" + " ---: |" * (len(SHOWN) + 2))
    for seed, result in runs.items():
        for way in ways:
            one = result[way]
            alarms = np.array(one["judged"])
            low, high = rate_bounds(alarms, np.ones_like(alarms))
            cells = [str(one[name]) for name in SHOWN]
            lines.append(
                f"| {seed} | {way} | {' | '.join(cells)} | {alarms.sum()} | "
                f"{alarms.mean():.2f} ({low:.2f}–{high:.2f}) |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA") or None)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/background_photos.json")
    given = parser.parse_args()
    if given.data is None:
        parser.error(
            "--data DIR, or OCBOOST_DATA, must be given: faces/ in it holds windows and the detector."
        )
    images = load_faces(given.data)
    detector = Path(given.data) / "faces" / "haarcascade_frontalface_default.xml.gz"
    runs = {}
    for seed in map(int, given.seeds.split(",")):
        with tempfile.TemporaryDirectory() as temporary:
            runs[str(seed)] = one(seed, detector, images, Path(temporary))
        print(table(runs), flush=True)
    settings = {"photos": N_PHOTOS, "faces": N_FACES, "scenes": N_SCENES, "judged": N_JUDGED}
    found = {"settings": settings, "runs": runs, "versions": versions()}
    given.out.write_text(json.dumps(found, indent=1) + "\n")
