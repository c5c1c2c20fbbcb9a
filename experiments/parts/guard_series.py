"""What the adapted model, the deployed one and copies of the adapted one predict along a stream.

A run predicts each row, then learns its label, as it was given: rightly, flipped at random, poisoned for a
while, or 500 rows late. Runs are kept in files, so that rules can be studied without repeating them
(`experiments/guard.py`).
"""

from __future__ import annotations

import copy
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ocboost
from ocboost.datasets.drift import STREAMS, stream_named
from ocboost.estimators.adaptive.classifier import AdaptiveClassifier
from ocboost.estimators.classifier import OCBClassifier
from ocboost.live.judge import Judge
from ocboost.streams.rows import Rows

Codes = NDArray[np.int8]

FIRST = (
    "elec2", "insects", "insects6", "phishing", "segments", "sea", "sea-still", "rbf", "rbf-still", "digits",
)  # fmt: skip
SECOND = (*(name for name in STREAMS if name not in FIRST), "mnist10", "cancer")
DRIFTING = tuple(name for name, stream in STREAMS.items() if stream.drifts)

KINDS: dict[str, dict[str, Any]] = {
    "adaptive": {},
    "window": {"head": 200, "tail": False},
    "forgetting": {"forgetting": 0.995},
    "plain": {},
}
LABELS = (
    "clean",
    "flipped",
    "poisoned",
    "one class",
    "late",
    "late, flipped",
    "rare, flipped",
    "flipped later",
)
TEN_CLASSES = ("digits", "mnist10")
MAX_ROWS = 10_000
FLIPPED = 0.3
LATE = 500
POISONED = 2_000
RARE = 0.05
SNAPSHOT = 500  # labels between two copies of the adapted model
HELD_OUT_STREAMS = ("sea-still", "rbf-still", "agrawal-still", "hyperplane-still")
HELD_OUT_LABELS = ("clean", "flipped", "poisoned", "one class")
HELD_OUT = 1_000  # trusted rows, from the end of the stream
LOOK = 200  # labels between two looks at them, as `ocboost.live` has it


@dataclass(frozen=True)
class Series:
    """Class codes, row by row; ``snapshots[s]`` is -1 up to the first row that the copy could answer.

    Copy s was made after SNAPSHOT · (s + 1) labels. The label of row t comes before row t + 1 + ``delay``.
    """

    truth: Codes
    given: Codes
    adapted: Codes
    deployed: Codes
    snapshots: Codes
    delay: int


def cases(streams: tuple[str, ...], seeds: tuple[int, ...] = (0,)) -> list[tuple[str, str, str, str, int]]:
    """Every stream, kind, start and way of labelling that is studied.

    Seeds after 0 repeat the first two ways of labelling with OCBClassifiers, on streams of few classes: the
    others take long.
    """
    found = []
    for seed in seeds:
        for stream in streams:
            for kind in KINDS:
                if seed and (stream in TEN_CLASSES or kind == "adaptive"):
                    continue
                full = kind in ("adaptive", "window")
                labels = LABELS if full and not seed else LABELS[:2]
                found += [(stream, kind, "good", how, seed) for how in labels]
                found += [(stream, kind, "weak", how, seed) for how in LABELS[:2] if full]
    return found


def rows_of(name: str, data: Path | None, seed: int) -> tuple[Any, NDArray[np.int64], int, int]:
    """Features, codes, the number of classes and how many of the rows are the start."""
    if name in ("digits", "cancer"):
        from sklearn import datasets

        X, y = (datasets.load_digits if name == "digits" else datasets.load_breast_cancer)(return_X_y=True)
        rng, start = np.random.default_rng([seed, 11]), len(y) // 3
        order = rng.permutation(len(y))
        again = [rng.permutation(order[start:]) for _ in range(6)]
        order = np.concatenate([order[:start], *again])
        return X[order].astype(np.float64), y[order].astype(np.int64), int(y.max()) + 1, start
    if name == "mnist10":
        from ocboost.datasets.mnist import load_mnist

        images = load_mnist(data, online=False)
        X = np.asarray(images.train_X[:MAX_ROWS], np.float64).reshape(MAX_ROWS, 28, -1)[:, ::2, ::2]
        return X.reshape(MAX_ROWS, -1).copy(), np.asarray(images.train_y[:MAX_ROWS], np.int64), 10, 2_000
    rows = stream_named(name).load(data, seed=seed).rows
    classes = rows.classes
    coded = rows.coded(classes)[:MAX_ROWS]
    return coded.X, coded.codes, len(classes), min(2_000, len(coded) // 5)


def rarer(codes: NDArray[np.int64], start: int, seed: int) -> NDArray[np.intp]:
    """The rows that remain where the class of code 1 is made rare."""
    rng = np.random.default_rng([seed, 13])
    is_rare = codes == 1
    share = is_rare.mean()
    keep = min(1.0, RARE / (1 - RARE) * (1 - share) / share)
    chosen = ~is_rare | (rng.random(len(codes)) < keep)
    for part in (slice(0, start), slice(start, None)):  # some of it at least in both
        first = np.flatnonzero(is_rare[part])[:5] + (part.start or 0)
        chosen[first] = True
    return np.flatnonzero(chosen)


def labelled(truth: NDArray[np.int64], K: int, how: str, seed: int) -> NDArray[np.int64]:
    """The labels as they are given."""
    given = truth.copy()
    if "flipped" in how:
        rng = np.random.default_rng([seed, 17])
        other = (truth + rng.integers(1, K, len(truth))) % K
        flipped = rng.random(len(truth)) < FLIPPED
        if how == "flipped later":
            flipped[: len(truth) // 2] = False
        return np.where(flipped, other, truth)
    if how in ("poisoned", "one class"):
        part = poisoned_rows(len(truth))
        others = (truth[part] + 1) % K
        common = np.bincount(truth).argmax()
        given[part] = others if how == "poisoned" else np.where(truth[part] == common, others, truth[part])
    return given


def poisoned_rows(n: int) -> slice:
    """The rows of a stream of n whose labels are poisoned."""
    return slice(n // 3, n // 3 + min(POISONED, n // 3))


def guesses(clf: Any, rows: Rows, *, issue: bool = False) -> NDArray[np.intp]:
    """The codes of what a classifier predicts."""
    if isinstance(clf, AdaptiveClassifier):
        return clf.decided(clf.probabilities_of(rows, issue=issue), rows.X)
    return np.asarray(clf.decided_by_votes(clf.votes_of(rows)))


def fitted(kind: str, hypotheses: int, X: Any, codes: NDArray[np.int64], K: int, seed: int) -> Any:
    """The deployed model."""
    if kind == "adaptive":
        clf: Any = AdaptiveClassifier(n_hypotheses=hypotheses, random_state=seed)
    else:
        clf = OCBClassifier("stump", hypotheses, random_state=seed, **KINDS[kind])
    return clf.partial_fit(X, codes, classes=np.arange(K))


def run(stream: str, kind: str, start_kind: str, how: str, seed: int, data: Path | None) -> Series:
    """Predict and learn one stream."""
    ocboost.set_num_threads(1)
    X, codes, K, start = rows_of(stream, data, seed)
    if "rare" in how:
        kept = rarer(codes, start, seed)
        X, codes, start = X[kept], codes[kept], int(np.searchsorted(kept, start))
    n_first, hypotheses = (start, 100) if start_kind == "good" else (min(start, 200), 10)
    clf = fitted(kind, hypotheses, X[:n_first], codes[:n_first], K, seed)
    truth = codes[start:]
    given = labelled(truth, K, how, seed + zlib.crc32(stream.encode()) % 1000)
    rows = Rows(X[start:], codes=given)
    delay, n = LATE if "late" in how else 0, len(truth)
    deployed = guesses(clf, rows)
    adapted, snapshots = np.zeros(n, np.int8), []
    for t in range(n):
        adapted[t] = guesses(clf, rows[t : t + 1], issue=True)[0]
        j = t - delay
        if j >= 0:
            clf.learn_rows(rows[j : j + 1])
            if (j + 1) % SNAPSHOT == 0 and t + 1 < n:
                snapshot = np.full(n, -1, np.int8)
                snapshot[t + 1 :] = guesses(copy.deepcopy(clf), rows[t + 1 :])
                snapshots.append(snapshot)
    stacked = np.array(snapshots, np.int8).reshape(-1, n)
    return Series(
        truth.astype(np.int8), given.astype(np.int8), adapted, deployed.astype(np.int8), stacked, delay
    )


def series_of(case: tuple[str, str, str, str, int], data: Path | None, cache: Path) -> Series:
    """The series of a case, from the cache if it is there."""
    path = cache / ("-".join(map(str, case)).replace(", ", "+").replace(" ", "_") + ".npz")
    if not path.is_file():
        made = run(*case, data)
        arrays = dict(vars(made))
        part = path.with_suffix(".part.npz")
        np.savez_compressed(part, **arrays)
        part.replace(path)
    with np.load(path) as found:
        return Series(**{key: found[key] for key in found.files if key != "delay"}, delay=int(found["delay"]))


def run_held_out(stream: str, kind: str, how: str, data: Path | None) -> dict[str, Any]:
    """One stream where trusted rows are the judge."""
    ocboost.set_num_threads(1)
    X, codes, K, start = rows_of(stream, data, 0)
    trusted = Rows(X[-HELD_OUT:], codes=codes[-HELD_OUT:])
    clf = fitted(kind, 100, X[:start], codes[:start], K, 0)
    truth = codes[start:-HELD_OUT]
    rows = Rows(X[start:-HELD_OUT], codes=labelled(truth, K, how, zlib.crc32(stream.encode()) % 1000))
    judge, versions = Judge(deployed=0), {0: copy.deepcopy(clf)}
    n, changes = len(truth), 0
    said = {name: np.zeros(n, np.int8) for name in ("adapted", "guarded")}
    deployed = guesses(versions[0], rows)
    for t in range(n):
        said["adapted"][t] = said["guarded"][t] = guesses(clf, rows[t : t + 1], issue=True)[0]
        if judge.answering is not None:
            said["guarded"][t] = guesses(versions[judge.answering], rows[t : t + 1])[0]
        clf.learn_rows(rows[t : t + 1])
        if (t + 1) % LOOK == 0:
            before = judge.answering
            results = {number: guesses(versions[number], trusted) == trusted.codes for number in judge.judged}
            judge.take_held_out(guesses(clf, trusted) == trusted.codes, results)
            changes += judge.answering != before
            if judge.wants_version():
                versions[t + 1] = copy.deepcopy(clf)
                judge.saved(t + 1)
    found: dict[str, Any] = {"stream": stream, "kind": kind, "labels": how, "rows": n, "changes": changes}
    found["deployed"] = 100 * float((deployed == truth).mean())
    return found | {name: 100 * float((each == truth).mean()) for name, each in said.items()}
