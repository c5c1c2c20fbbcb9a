"""What adapting a cascade costs, and an adapted one: python benchmarks/cascade_adapting.py --data DIR.

Windows of the camera "roll" are shown to haarcascade_frontalface_default, 25 stages of 2,913 stumps. CPU time
for each window, medians of five rounds: one window into a stage of 200 stumps (answers, offset, sketch), all
stumps in batches of 500, all stages one after the other. Then the time that one image of 512 × 512 pixels
takes, as shipped and as adapted to 20,000 windows, by ocboost and by OpenCV.
"""

import argparse
import os
import statistics
import tempfile
from pathlib import Path

import cv2
import numpy as np
from harness import clocked

import ocboost
from ocboost import BoostingSketch
from ocboost.cascade import StageAdapter, WholeAdapter, detect, read_cascade
from ocboost.datasets import load_faces
from ocboost.datasets.cameras import CAMERAS

ROUNDS = 5


def median(work, n):
    """CPU time of one of n, median of some rounds, the first left out."""
    return statistics.median([clocked(work, n).cpu for _ in range(ROUNDS + 1)][1:]) / n


def one_by_one(stumps, reach, windows, labels):
    """A window at a time into one stage."""
    sketch = BoostingSketch(len(stumps), smoothing=4000.0, head=64)  # as StageAdapter has it
    rows = windows.reshape(len(windows), -1)

    def work():
        for i in range(len(rows)):
            h = stumps.answers(rows[i : i + 1])[0]
            y = labels[i]
            sketch.update(y * h, sample_weight=float(np.exp(-y * (h @ reach))))

    return work


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
    given = parser.parse_args()
    ocboost.set_num_threads(1)
    cv2.setNumThreads(1)
    file = read_cascade(Path(cv2.data.haarcascades) / "haarcascade_frontalface_default.xml")
    cascade = file.cascade
    images = load_faces(given.data).shuffled(0)
    windows = CAMERAS["roll"](images.train_X[:20_000], np.random.default_rng(0))
    labels = images.train_y[:20_000]
    print(f"{images.source}\n")

    stage = next(s for s in range(cascade.n_stages) if np.diff(cascade.stage_tree)[s] >= 200)
    own = cascade.trees_of(stage)
    stumps = cascade.stumps()[np.arange(own.start, own.stop)]
    pairs = cascade.leaf_pairs[own].astype(np.float64)
    reach = (pairs[:, 1] - pairs[:, 0]) / 20.0
    some = min(2000, len(labels))
    seconds = median(one_by_one(stumps, reach, windows[:some], labels[:some]), some)
    print(f"one window into a stage of {len(stumps)} stumps: {1e6 * seconds:.0f} µs")
    whole, stages = WholeAdapter(cascade), StageAdapter(cascade)
    whole.update(windows[:1000], labels[:1000])
    for adapter, name in ((whole, "all stumps"), (stages, "all stages")):
        seconds = median(lambda a=adapter: a.update(windows[:some], labels[:some]), some)
        print(f"{name}, batches of 500: {1e6 * seconds:.0f} µs a window")

    adapter = WholeAdapter(cascade)
    for at in range(0, len(labels), 2000):
        adapter.update(windows[at : at + 2000], labels[at : at + 2000])
    adapted = adapter.adapted(false_positives=1e-4)
    rng = np.random.default_rng(0)
    picture = cv2.GaussianBlur(rng.integers(0, 256, (512, 512)).astype(np.uint8), (0, 0), 3)
    picture = cv2.normalize(picture, None, 0, 255, cv2.NORM_MINMAX)
    try:
        from skimage import data

        picture = cv2.cvtColor(data.astronaut(), cv2.COLOR_RGB2GRAY)
    except Exception as error:  # not installed, or not to be had
        print(f"(no photograph: {error})")
    print("\n| ms an image | ocboost | OpenCV |\n| --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name, one in (("as shipped", cascade), ("adapted", adapted)):
            place = Path(folder) / f"{name}.xml"
            file.write(place, one)
            theirs = cv2.CascadeClassifier(str(place))
            times = [
                median(lambda one=one: detect(one, picture), 1),
                median(lambda theirs=theirs: theirs.detectMultiScale(picture), 1),
            ]
            print(f"| {name} | " + " | ".join(f"{1e3 * t:.0f}" for t in times) + " |")


if __name__ == "__main__":
    main()
