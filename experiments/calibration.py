"""How well `OCBClassifier.predict_proba` is calibrated.

    python experiments/calibration.py [--data DIR]

Each classifier is fitted on the first part of a data set and tested on the rest. ECE is the expected
calibration error: the mean distance, over ten equal bins of the top probability, between that probability and
the accuracy. Also shown: the same classifier in scikit-learn's CalibratedClassifierCV (Platt's sigmoid, five
folds), and the score of always predicting the frequencies of the training labels.
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.metrics import log_loss

from ocboost import OCBClassifier

Data = tuple[str, np.ndarray, np.ndarray, int]


def cases(data: Path | None) -> Iterator[Data]:
    """Name, features, labels, and how many rows are for fitting."""
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer", X, y, 300
    X, y = load_digits(return_X_y=True)
    yield "digits, ten classes", X, y, 1000
    X, y = make_classification(6000, 20, n_informative=10, flip_y=0.2, random_state=0)
    yield "drawn, a tenth of labels wrong", X, y, 3000
    path = None if data is None else data / "streams" / "elec2.csv.gz"
    if path is not None and path.is_file():
        from ocboost.streams import open_stream

        with open_stream(path, label="up", drop=["date"], batch_size=50_000) as stream:
            batch = next(stream)
        yield "elec2, the next 10,000 rows", batch.X[:12_000], batch.y[:12_000], 2000


def scores(shares: np.ndarray, codes: np.ndarray) -> tuple[float, float, float, float, float]:
    """Share right, mean top probability, ECE, Brier score, log-loss."""
    top, right = shares.max(axis=1), shares.argmax(axis=1) == codes
    bins = np.minimum((top * 10).astype(int), 9)
    ece = sum(abs(top[bins == b].mean() - right[bins == b].mean()) * (bins == b).mean() for b in set(bins))
    brier = float(((shares - np.eye(shares.shape[1])[codes]) ** 2).sum(axis=1).mean())
    return float(right.mean()), float(top.mean()), float(ece), brier, float(log_loss(codes, shares))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
    given = parser.parse_args()
    print("| data | probabilities | right | mean probability | ECE | Brier | log-loss |\n|" + " --- |" * 7)
    for name, X, y, n in cases(None if given.data is None else Path(given.data)):
        classes, codes = np.unique(y, return_inverse=True)
        clf = OCBClassifier(random_state=0)
        models = {
            "as they are": clf,
            "calibrated": CalibratedClassifierCV(OCBClassifier(random_state=0), cv=5),
        }
        found = {kind: model.fit(X[:n], y[:n]).predict_proba(X[n:]) for kind, model in models.items()}
        often = np.bincount(codes[:n], minlength=len(classes)) / n
        found["frequencies"] = np.tile(often, (len(y) - n, 1))
        for kind, shares in found.items():
            print(f"| {name} | {kind} | " + " | ".join(f"{v:.3f}" for v in scores(shares, codes[n:])) + " |")
            name = ""


if __name__ == "__main__":
    main()
