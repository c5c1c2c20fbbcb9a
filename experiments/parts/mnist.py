"""MNIST, digit 8 against the rest: 300 balls, their weights learnt from a cold start in the given order.

The balls h(x) = sign(θ - ‖c - x‖) are chosen by AdaBoost with sampling: each round draws a few hundred
examples by weight, tries every one of them as a centre c with every threshold θ, and keeps the ball whose
answers agree, or disagree, most with the labels. A ball around another digit says -1 inside by an α below 0.
"""

import gzip
from pathlib import Path

import numpy as np

from ocboost import BoostingSketch, OzaRussell, adaboost_weights, approximation_error

from .common import Figures, Options, Table, number, progress

DIGIT = 8
J = 300
N = 40_000
SAMPLE = 400
SEED = 0
BATCH = 64
HEADS = (1, 500, 2_000, 10_000, 20_000)


def read_images(path: Path) -> np.ndarray:
    """Images, one a row, each of mean 0 and variance 1."""
    pixels = np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=16)
    images = pixels.reshape(-1, 784).astype(np.float32)
    images -= images.mean(axis=1, keepdims=True)
    images /= images.std(axis=1, keepdims=True)
    return images


def read_labels(path: Path) -> np.ndarray:
    """+1 for the digit, -1 for the rest."""
    digits = np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=8)
    return np.where(digits == DIGIT, 1, -1).astype(np.int8)


def squared_distances(x: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """‖x_i - c_k‖², (n, number of centres)."""
    return (x * x).sum(axis=1)[:, None] + (centres * centres).sum(axis=1) - 2.0 * (x @ centres.T)


def best_ball(x: np.ndarray, y: np.ndarray) -> tuple[int, float]:
    """The centre, an index into x, and the squared threshold of the most telling ball of a sample."""
    squared = squared_distances(x, x)
    nearest = np.argsort(squared, axis=0)
    # Labels inside less labels outside, by one running sum for every θ; below 0 tells as much as above.
    edge = 2 * np.cumsum(y[nearest], axis=0, dtype=np.int64)[:-1] - y.sum(dtype=np.int64)
    k, centre = np.unravel_index(int(np.abs(edge).argmax()), edge.shape)
    inside, outside = squared[nearest[k : k + 2, centre], centre]
    return int(centre), float(0.5 * (inside + outside))


def choose(x: np.ndarray, y: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Answers of J balls on the training and the test images, int8."""
    rng = np.random.default_rng(SEED)
    on_train, on_test = np.empty((len(x), J), np.int8), np.empty((len(test), J), np.int8)
    d = np.full(len(x), 1.0 / len(x))
    for j in range(J):
        if j % 50 == 0:
            progress(f"mnist: choosing ball {j + 1} of {J}")
        drawn = rng.choice(len(x), SAMPLE, p=d)
        index, squared_threshold = best_ball(x[drawn], y[drawn])
        centre = x[drawn[index]][None]
        for images, answers in ((x, on_train), (test, on_test)):
            answers[:, j] = np.where(squared_distances(images, centre)[:, 0] < squared_threshold, 1, -1)
        right = on_train[:, j] == y
        share = float(np.clip(d[right].sum(), 1e-6, 1.0 - 1e-6))
        d *= np.where(right, 0.5 / share, 0.5 / (1.0 - share))
        d /= d.sum()
    return on_train, on_test


def run(options: Options) -> Figures:
    """The part `mnist`."""
    paths = {
        (part, kind): options.file(f"mnist/{part}-{kind}-ubyte.gz")
        for part in ("train", "t10k")
        for kind in ("images-idx3", "labels-idx1")
    }
    train, test = read_images(paths["train", "images-idx3"])[:N], read_images(paths["t10k", "images-idx3"])
    y, y_test = read_labels(paths["train", "labels-idx1"])[:N], read_labels(paths["t10k", "labels-idx1"])
    answers, test_answers = choose(train, y, test)
    margins = answers * y[:, None]
    exact = adaboost_weights(margins)

    def wrong(alpha: np.ndarray) -> float:
        return float(np.mean((test_answers @ alpha > 0.0) != (y_test > 0)))

    methods: dict[str, tuple[BoostingSketch | OzaRussell, int]] = {
        f"head {head:,}": (BoostingSketch(J, head=head), 1) for head in HEADS
    }
    methods[f"head 1, batches of {BATCH}"] = (BoostingSketch(J), BATCH)
    methods["Oza and Russell"] = (OzaRussell(J), 1)
    found = {"AdaBoost": {"error": 0.0, "test_error": wrong(exact)}}
    for name, (booster, batch_size) in methods.items():
        progress(f"mnist: {name}")
        booster.update_many(margins, batch_size=batch_size)
        found[name] = {"error": approximation_error(exact, booster.alpha), "test_error": wrong(booster.alpha)}

    rows = [[name, number(f["error"]), f"{100 * f['test_error']:.2f}"] for name, f in found.items()]
    record = {"digit": DIGIT, "n_hypotheses": J, "examples": N, "seed": SEED, "methods": found}
    title = f"MNIST, digit {DIGIT} against the rest: cold start, {J} balls, {N:,} examples"
    return Figures([Table(title, ["", "error to AdaBoost", "test error, %"], rows)], record)
