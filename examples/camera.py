"""A face detector learns the camera it is mounted on.

    python examples/camera.py [--data DIR] [--camera roll] [--out DIR]

OpenCV's frontal face detector is good at pictures from everywhere. This camera hangs askew, by 14 degrees.
The detector sees labelled windows from it, once each, keeps learning, and is written back as an XML file
that OpenCV loads as it is. Four pictures go to examples/pictures. Every `# %%` begins a cell.

With --data, or the environment variable OCBOOST_DATA, windows come from faces/ in that folder: 100,000 to
learn from, as many to judge by. Without, there are only the 200 windows inside scikit-image, too few for more
than a look at how it is done: the shipped detector is then written as it was. To adapt to whole pictures with
boxes, which takes far fewer faces, see `ocboost cascade adapt --boxes`.

It needs: pip install 'ocboost[all]'
"""

# %% Where things are
import argparse
import os
from pathlib import Path

import numpy as np
from PIL import Image

from ocboost._report.figures import render
from ocboost.cascade import WholeAdapter, detect, new_thresholds, read_cascade
from ocboost.cascade.figures import draw_boxes, draw_roc
from ocboost.cascade.measure import measure_cascade
from ocboost.datasets import load_faces
from ocboost.datasets.cameras import CAMERAS

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA") or None)
parser.add_argument("--camera", choices=sorted(CAMERAS), default="roll")
parser.add_argument("--out", type=Path, default=Path(__file__).parent / "pictures")
given = parser.parse_args()
given.out.mkdir(parents=True, exist_ok=True)
camera = CAMERAS[given.camera]


def keep(name: str, content: bytes) -> None:
    """Save a picture and say so."""
    (given.out / name).write_bytes(content)
    print(f"  picture: {given.out / name}\n")


# %% 1. A detector that somebody else has trained
if given.data is not None:
    place = Path(given.data) / "faces" / "haarcascade_frontalface_default.xml.gz"
else:
    import cv2

    place = Path(cv2.data.haarcascades) / "haarcascade_frontalface_default.xml"
file = read_cascade(place)
shipped = file.cascade
print(f"1. {place.name}: {shipped}. Nobody has the pictures it was trained on.\n")

# %% 2. What this camera sees
images = load_faces(None if given.data is None else Path(given.data)).shuffled(0)
print(f"2. {images.source}")
print(f"   The camera: {camera.about}.")
rng = np.random.default_rng(0)
train, test = camera(images.train_X, rng), camera(images.test_X, rng)
rows = []
for label in (1, -1):
    some = np.flatnonzero(images.train_y == label)[:14]
    rows += [np.concatenate(list(source[some]), axis=1) for source in (images.train_X, train)]
picture = Image.fromarray(np.concatenate(rows))
picture = picture.resize((4 * picture.width, 4 * picture.height), Image.Resampling.NEAREST)
picture.save(given.out / "camera-1-windows.png")
print(
    f"  picture: {given.out / 'camera-1-windows.png'} (above as they were, below as the camera sees them)\n"
)

# %% 3. It learns
# Each window is seen once. Every tenth is held out, to set the last threshold by.
adapter = WholeAdapter(shipped)
for at in range(0, len(train), 1000):
    adapter.update(train[at : at + 1000], images.train_y[at : at + 1000])
adapted = adapter.adapted(false_positives=1e-4)  # a picture has a hundred thousand windows
print(f"3. {adapter.n_seen:,} windows seen: {adapted}\n")

# %% 4. Before and after, on windows that nobody has seen
faces, others = test[images.test_y > 0], test[images.test_y < 0]
lines = [
    measure_cascade("as shipped", shipped, faces, others),
    measure_cascade(
        "thresholds refitted", new_thresholds(shipped, train[images.train_y > 0], 0.998), faces, others
    ),
    measure_cascade("adapted", adapted, faces, others),
]
print("4. misses where one of 1,000 others is accepted:")
for line in lines:
    print(f"   {line.name:>20}: {line.curve.misses_at(1e-3):7.2%}   stumps per window: {line.cost:6.1f}")
kept = adapted
if len(others) < 1000:  # it may find much in a picture that is no face, and nobody would know
    kept = shipped
    print(
        f"   {len(others)} others cannot tell whether one of 1,000 is accepted, and a picture has a hundred"
    )
    print("   thousand: the shipped detector is kept. With --data there are 93,000 to judge by.")
elif lines[2].curve.misses_at(1e-3) > lines[0].curve.misses_at(1e-3):
    kept = shipped
    print("   It has become worse: the shipped detector is kept.")
note = f"{len(faces):,} faces and {len(others):,} others, {camera.about}"
keep("camera-2-roc.png", render(draw_roc(lines, note=note), "roc")["roc.png"])

# %% 5. A file that OpenCV loads, and a picture
file.write(given.out / "adapted.xml.gz", kept, overwrite=True)
print(f"5. wrote {given.out / 'adapted.xml.gz'}" + (", the detector as shipped" if kept is shipped else ""))
try:
    from skimage import data

    whole = np.asarray(Image.fromarray(data.astronaut()).convert("L"))
except Exception:  # not installed, or its picture would have to be downloaded
    print("   no picture: scikit-image is not installed")
else:
    seen = camera(whole[None], np.random.default_rng(0))[0]
    for name, cascade in (("camera-3-before.png", shipped), ("camera-4-after.png", kept)):
        boxes = detect(cascade, seen, min_neighbors=5, min_size=(60, 60))
        print(f"   {len(boxes)} found")
        keep(name, draw_boxes(np.repeat(seen[:, :, None], 3, axis=2), boxes))
