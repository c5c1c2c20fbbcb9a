"""The paper's MNIST experiment: ten digits, each against the rest, over balls around examples.

For each digit AdaBoost with sampling finds the balls, on all training images. Then the online methods start
from AdaBoost on the first images and go through the others in the order of the file. At each checkpoint their
weights are compared with those of AdaBoost retrained on everything seen so far, and their votes on the test
images are kept: the highest of the ten votes is the combined answer (tables 1 and 2, figure 1b).

What the paper leaves open is chosen in `MnistSettings` and repeated in ``results.json`` under
``chosen_here``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ocboost import BoostingSketch, OzaRussell, adaboost_weights, approximation_error
from ocboost.datasets import load_mnist
from ocboost.hypotheses import Balls
from ocboost.learners import BallLearner
from ocboost.reproduce.cache import Cache, pack_margins, unpack_margins
from ocboost.reproduce.timing import timed

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]

METHODS = {
    "adaboost": "AdaBoost, retrained",
    "oza-russell": "Oza and Russell",
    "ocb-order-400": "OCB, order 400",
    "ocb-full": "OCB, full order",
    "ocb-head": "OCB, head and tail",
}
# Tables 1 and 2 of the paper; "OCB" there is order 400. Test errors in percent.
PAPER_TEST_ERROR = {
    "adaboost": (0.31, 0.19, 0.80, 0.89, 0.90, 1.00, 0.47, 0.79, 1.62, 1.29),
    "ocb-order-400": (0.33, 0.18, 0.78, 0.93, 0.87, 0.98, 0.49, 0.82, 1.61, 1.30),
    "oza-russell": (0.35, 0.27, 0.79, 1.05, 0.85, 1.02, 0.55, 0.97, 1.82, 1.36),
}
PAPER_APPROXIMATION_ERROR = {
    "ocb-order-400": (0.07, 0.10, 0.04, 0.04, 0.04, 0.04, 0.06, 0.05, 0.04, 0.03),
    "oza-russell": (0.10, 0.10, 0.09, 0.09, 0.10, 0.09, 0.10, 0.10, 0.10, 0.09),
}


@dataclass(frozen=True)
class MnistSettings:
    """The sizes and choices of the experiment.

    Parameters
    ----------
    seed : int, default 0
        Digit d draws its samples from the seed pair (seed, d).
    n_hypotheses : int, default 1500
        Balls for each digit. Not in the paper.
    n_sample : int, default 1200
        Examples drawn in each round of AdaBoost, which are also the candidates. Not in the paper.
    start : int, default 5000
        Images that the online methods start from, by AdaBoost. Not in the paper ("a small part").
    every : int, default 5000
        Images from one checkpoint to the next.
    batch_size : int, default 64
        Images that OCB adds at once; the paper adds one.
    order : int, default 400
        The order of ``ocb-order-400``, as in the paper; at most the number of hypotheses.
    smoothing : float, default 1.0
        Of every method and of AdaBoost.
    most : int, optional
        Use only so many training and test images.
    quick : bool, default False
        Marks a smaller experiment in everything that is written.
    """

    seed: int = 0
    n_hypotheses: int = 1500
    n_sample: int = 1200
    start: int = 5000
    every: int = 5000
    batch_size: int = 64
    order: int = 400
    smoothing: float = 1.0
    most: int | None = None
    quick: bool = False

    @classmethod
    def small(cls, *, seed: int = 0) -> MnistSettings:
        """A tenth of everything: about a minute."""
        return cls(
            seed=seed, n_hypotheses=150, n_sample=300, start=1000, every=1000, order=40, most=6000, quick=True
        )

    def checkpoints(self, n: int) -> list[int]:
        """Numbers of images at which errors are taken; the last one is all n of them.

        >>> MnistSettings().checkpoints(60_000)[:2], MnistSettings().checkpoints(7_000)
        ([10000, 15000], [7000])
        """
        points = list(range(self.start + self.every, n + 1, self.every))
        return points if points and points[-1] == n else [*points, n]


@dataclass(frozen=True)
class MnistResult:
    """What the experiment found.

    Attributes
    ----------
    settings : MnistSettings
    source : str
        Where the images came from.
    digits : list of int
    n_found : list of int
        Balls found for each digit.
    n_test : int
        Test images.
    examples : list of int
        The checkpoints.
    approximation_error : dict of str to ndarray of shape (digits, checkpoints)
        To AdaBoost retrained, for each method but itself.
    test_error : dict of str to ndarray of shape (digits, checkpoints)
        In percent, each digit against the rest.
    combined_test_error : dict of str to ndarray of shape (checkpoints,)
        In percent, by the highest of the votes.
    seconds : dict of str to float
    notes : list of str
    """

    settings: MnistSettings
    source: str
    digits: list[int]
    n_found: list[int]
    n_test: int
    examples: list[int]
    approximation_error: dict[str, Floats]
    test_error: dict[str, Floats]
    combined_test_error: dict[str, Floats]
    seconds: dict[str, float] = field(compare=False)
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """The result as plain numbers, lists and dictionaries, ready for JSON."""
        settings = self.settings
        return {
            "experiment": "mnist",
            "quick": settings.quick,
            "source": self.source,
            "settings": asdict(settings),
            "chosen_here": {
                "n_hypotheses": f"{settings.n_hypotheses} for each digit; the paper does not say",
                "n_sample": f"{settings.n_sample} examples a round, drawn by weight; the paper does not say",
                "start": f"AdaBoost on the first {settings.start} images; the paper: a small training set",
                "normalisation": "each image to zero mean and unit variance",
                "ocb": f"balanced correction, batches of {settings.batch_size}; the paper adds one at a time",
                "ocb-head": "as many images kept exactly as the pair sums take bytes",
                "smoothing": f"{settings.smoothing:g}, the same for every method and for AdaBoost",
            },
            "digits": self.digits,
            "hypotheses_found": self.n_found,
            "test_images": self.n_test,
            "examples": self.examples,
            "test_error": {key: e[:, -1].tolist() for key, e in self.test_error.items()},
            "approximation_error": {key: e[:, -1].tolist() for key, e in self.approximation_error.items()},
            "combined_test_error": {key: float(e[-1]) for key, e in self.combined_test_error.items()},
            "curves": {
                "test_error": {key: e.tolist() for key, e in self.test_error.items()},
                "approximation_error": {key: e.tolist() for key, e in self.approximation_error.items()},
                "combined_test_error": {key: e.tolist() for key, e in self.combined_test_error.items()},
            },
            "paper": {"test_error": PAPER_TEST_ERROR, "approximation_error": PAPER_APPROXIMATION_ERROR},
            "seconds": self.seconds,
            "notes": self.notes,
        }


def run_mnist(
    settings: MnistSettings | None = None,
    data: Path | None = None,
    *,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> MnistResult:
    """Run the experiment.

    Parameters
    ----------
    settings : MnistSettings, optional
    data : path, optional
        The folder that holds ``mnist/``; without it a smaller set may be all there is, see `load_mnist`.
    cache : Cache, optional
        Keeps balls and their answers from one run to the next.
    progress : callable, optional
        Called as ``progress(what, done, total)``.
    """
    settings = MnistSettings() if settings is None else settings
    told = progress or (lambda what, done, total: None)
    began = time.perf_counter()
    images = load_mnist(data)
    train, test = _normalised(images.train_X[: settings.most]), _normalised(images.test_X[: settings.most])
    train_y, test_y = images.train_y[: settings.most], images.test_y[: settings.most]
    digits = sorted(set(train_y.tolist()))
    points = settings.checkpoints(len(train_y))
    seconds = dict.fromkeys(["finding balls", *METHODS], 0.0)
    shape = (len(digits), len(points))
    errors = {key: np.zeros(shape) for key in METHODS}
    tests = {key: np.zeros(shape) for key in METHODS}
    votes = {key: np.empty((len(points), len(test_y), len(digits)), np.float32) for key in METHODS}
    n_found = []
    for k, digit in enumerate(digits):
        told(f"digit {digit}: finding balls", k, len(digits))
        signs = np.where(train_y == digit, 1, -1).astype(np.int8)
        with timed(seconds, "finding balls"):
            answers, tested = _answers(settings, digit, train, signs, test, cache)
        n_found.append(answers.shape[1])
        told(f"digit {digit}: online", k, len(digits))
        alphas = _weights(settings, answers * signs[:, None], points, seconds)
        for key, found in alphas.items():
            for c, alpha in enumerate(found):
                errors[key][k, c] = approximation_error(alphas["adaboost"][c], alpha)
                votes[key][c, :, k] = tested @ alpha
                tests[key][k, c] = 100.0 * np.mean((votes[key][c, :, k] > 0.0) != (test_y == digit))
    del errors["adaboost"]
    told("done", len(digits), len(digits))
    order = np.array(digits)
    combined = {
        key: np.array([100.0 * np.mean(order[v.argmax(axis=1)] != test_y) for v in votes[key]])
        for key in METHODS
    }
    seconds["total"] = time.perf_counter() - began
    notes = [] if cache is None or cache.note is None else [cache.note]
    return MnistResult(
        settings, images.source, digits, n_found, len(test_y), points, errors, tests, combined, seconds, notes
    )


def _normalised(images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Each image to zero mean and unit variance, as a row."""
    rows = images.reshape(len(images), -1).astype(np.float32)
    rows -= rows.mean(axis=1, keepdims=True)
    spread = rows.std(axis=1, keepdims=True)
    rows /= np.where(spread > 0.0, spread, 1.0)
    return rows


def _answers(
    settings: MnistSettings,
    digit: int,
    train: npt.NDArray[np.float32],
    signs: npt.NDArray[np.int8],
    test: npt.NDArray[np.float32],
    cache: Cache | None,
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """What a digit's balls answer to the training and the test images; found, or taken from the cache."""

    def make() -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        learner = BallLearner(n_sample=settings.n_sample)
        rng = np.random.default_rng([settings.seed, digit])
        balls: Balls = learner.learn(train, signs, n_hypotheses=settings.n_hypotheses, rng=rng)
        found = {"train": pack_margins(balls.answers(train)), "test": pack_margins(balls.answers(test))}
        return {"n": len(balls)}, found

    what = {
        "seed": settings.seed,
        "digit": digit,
        "n_hypotheses": settings.n_hypotheses,
        "n_sample": settings.n_sample,
        "train": train,
        "signs": signs,
        "test": test,
    }
    parameters, arrays = make() if cache is None else cache.fetch("mnist-answers", what, make)
    J = parameters["n"]
    return unpack_margins(arrays["train"], J), unpack_margins(arrays["test"], J)


def _weights(
    settings: MnistSettings, margins: npt.NDArray[np.int8], points: list[int], seconds: dict[str, float]
) -> dict[str, list[Floats]]:
    """Each method's weights at each checkpoint."""
    J = margins.shape[1]
    start, smoothing = margins[: settings.start], settings.smoothing
    order = min(settings.order, J)
    found: dict[str, list[Floats]] = {key: [] for key in METHODS}
    for n in points:
        with timed(seconds, "adaboost"):
            found["adaboost"].append(adaboost_weights(margins[:n], smoothing=smoothing))
    makers: dict[str, Callable[[], BoostingSketch | OzaRussell]] = {
        "oza-russell": lambda: OzaRussell.from_margins(start, smoothing=smoothing),
        "ocb-order-400": lambda: BoostingSketch.from_margins(start, order=order, smoothing=smoothing),
        "ocb-full": lambda: BoostingSketch.from_margins(start, smoothing=smoothing),
        "ocb-head": lambda: BoostingSketch.from_margins(start, head="auto", smoothing=smoothing),
    }
    for key, make in makers.items():
        with timed(seconds, key):
            booster, seen = make(), settings.start
            for n in points:
                batch = 1 if isinstance(booster, OzaRussell) else settings.batch_size
                booster.update_many(margins[seen:n], batch_size=batch)
                found[key].append(booster.alpha)
                seen = n
    return found
