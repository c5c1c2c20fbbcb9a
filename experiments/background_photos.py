"""Ninety background photos: squashed into windows, and searched as whole pictures.

    python experiments/background_photos.py --data DIR [--seeds 0,1,2] [--cameras none,roll]

Somebody has faces, and 90 photos without one. There are two ways to adapt OpenCV's frontal face cascade:

- windows: 100 face windows as ``--faces``, and the photos as ``--others``. Each photo would be squashed into
  one window of 24 × 24 pixels, which is nothing that a detector ever sees. `ocboost` refuses that; here they
  are squashed beforehand, to show what would come of it.
- pictures: ``--boxes``, a folder with 60 synthetic scenes of four faces each in ``info.dat`` and the photos
  in ``bg.txt``. Where the command refuses to write a worse detector, the shipped one stays.

Photos are random parts of those inside scikit-image and scikit-learn. Judged are the boxes drawn with
``min_neighbors=3`` on four pictures of which nothing was seen, one with a face (scikit-image's astronaut),
false alarms on 60 parts of other photos without a face, and the faces found in 40 synthetic scenes of the
other half of the data. Four pictures are an illustration, no measurement; the scenes are synthetic. All of
it without a camera's distortion, and behind one that hangs askew by 14 degrees.
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
from ocboost.cascade import Picture, detect, read_cascade
from ocboost.cascade.bounds import rate_bounds
from ocboost.cascade.picture_guard import judge
from ocboost.datasets import load_faces
from ocboost.datasets.cameras import CAMERAS
from ocboost.datasets.scenes import PHOTOS, SAMPLE_PHOTOS, SceneMaker

N_PHOTOS, N_FACES, N_SCENES, N_JUDGED, N_FOUND = 90, 100, 60, 60, 40
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
    for _ in range(n):
        photo = some[rng.integers(len(some))]  # not in turn: every fourth picture is held out
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


def counts(path, shown, judged, scenes):
    """Boxes on each of the four pictures and on those without a face; faces found in scenes."""
    cascade = read_cascade(path).cascade
    found = {name: len(detect(cascade, picture, 1.1, 3)) for name, picture in shown.items()}
    found["hits"] = judge(cascade, scenes).hits
    return found | {"judged": [len(detect(cascade, picture, 1.1, 3)) for picture in judged]}


def one(seed, camera, detector, images, folder):
    """Both ways with one seed, behind a camera or none."""
    rng = np.random.default_rng(seed)

    def behind(pictures):
        return [p if camera is None else camera(p[None], np.random.default_rng(0))[0] for p in pictures]

    background = behind(parts_of(photos("adapting"), N_PHOTOS, rng))
    judged = behind(parts_of(photos("judging"), N_JUDGED, rng))
    shown = {
        name: behind([grey(SKLEARN / SAMPLE_PHOTOS["judging"] if file is None else SKIMAGE / file)])[0]
        for name, file in SHOWN.items()
    }
    made = SceneMaker(images, "judging", camera, seed).scenes(N_FOUND)
    scenes = [Picture(f"scene {k}", scene.grey, scene.boxes) for k, scene in enumerate(made)]
    n_faces = sum(len(scene.boxes) for scene in scenes)
    faces = images.train_X[images.train_y > 0]
    own = save_all(folder / "faces", behind(faces[rng.permutation(len(faces))[:N_FACES]]))
    result = {"faces": n_faces, "shipped": counts(detector, shown, judged, scenes)}

    whole = save_all(folder / "photos", background)
    words = ("cascade", "adapt", detector, "--faces", own, "--others")
    code, said = run(*words, whole, "--out", folder / "refused.xml")
    result["whole photos as --others"] = {"exit code": code, "written": (folder / "refused.xml").exists()}
    print(said.replace(str(folder), "…").strip().splitlines()[-1])

    small = [np.asarray(Image.fromarray(p).resize((24, 24), Image.Resampling.BOX)) for p in background]
    code, said = run(*words, save_all(folder / "squashed", small), "--out", folder / "windows.xml")
    assert code == 0, said
    result["windows"] = counts(folder / "windows.xml", shown, judged, scenes)
    result["windows"]["claimed"] = next(
        line for line in said.splitlines() if line.strip().startswith("after")
    )

    maker = SceneMaker(images, "adapting", camera, seed)
    learnt = list(maker.scenes(N_SCENES))
    place = save_all(folder / "pictures", [*(scene.grey for scene in learnt), *background])
    lines = [
        f"{k:03d}.png {len(scene.boxes)} {' '.join(map(str, scene.boxes.ravel().tolist()))}\n"
        for k, scene in enumerate(learnt)
    ]
    (place / "info.dat").write_text("".join(lines))
    names = [f"{k:03d}.png\n" for k in range(N_SCENES, N_SCENES + N_PHOTOS)]
    (place / "bg.txt").write_text("".join(names))
    code, said = run("cascade", "adapt", detector, "--boxes", place, "--out", folder / "pictures.xml")
    result["pictures"] = {"exit code": code}
    if code == 0:
        result["pictures"] |= counts(folder / "pictures.xml", shown, judged, scenes)
    else:  # the shipped detector stays
        result["pictures"] |= result["shipped"]
        print(said.strip().splitlines()[-1])
    return result


def table(runs):
    """The tables as Markdown."""
    ways = ("shipped", "windows", "pictures")
    lines = [
        f"| seed | | {' | '.join(SHOWN)} | on {N_JUDGED} without a face | a picture (95 % bounds) "
        "| faces found |"
    ]
    lines.append("| ---: | :--- |" + " ---: |" * (len(SHOWN) + 3))
    for seed, result in runs.items():
        for way in ways:
            one = result[way]
            alarms = np.array(one["judged"])
            low, high = rate_bounds(alarms, np.ones_like(alarms))
            name = f"{way}, refused" if one.get("exit code") else way
            cells = [str(one[name]) for name in SHOWN]
            lines.append(
                f"| {seed} | {name} | {' | '.join(cells)} | {alarms.sum()} | "
                f"{alarms.mean():.2f} ({low:.2f}–{high:.2f}) | {one['hits']} of {result['faces']} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA") or None)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--cameras", default="none,roll")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/background_photos.json")
    given = parser.parse_args()
    if given.data is None:
        parser.error(
            "--data DIR, or OCBOOST_DATA, must be given: faces/ in it holds windows and the detector."
        )
    images = load_faces(given.data)
    detector = Path(given.data) / "faces" / "haarcascade_frontalface_default.xml.gz"
    runs = {}
    for name in given.cameras.split(","):
        runs[name] = {}
        for seed in map(int, given.seeds.split(",")):
            with tempfile.TemporaryDirectory() as temporary:
                runs[name][str(seed)] = one(seed, CAMERAS.get(name), detector, images, Path(temporary))
        print(f"\n{name}\n\n{table(runs[name])}\n", flush=True)
    settings = {"photos": N_PHOTOS, "faces": N_FACES, "scenes": N_SCENES, "judged": N_JUDGED}
    found = {"settings": settings, "runs": runs, "versions": versions()}
    given.out.write_text(json.dumps(found, indent=1) + "\n")
