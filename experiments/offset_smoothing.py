"""How much smoothing corrections of a good offset need, so that they do no harm at first.

    python experiments/offset_smoothing.py [--data DIR]

A linear model is fitted on one part of a data set in random order and brought to AdaBoost's scale with 300
other rows. The data have not changed, so there is little to correct. `OCBClassifier.from_offset` learns
corrections from those other rows. The table shows how many points of error they add on a third part (below
zero: they help), after 10 to 2,000 rows. Stumps are drawn: a random feature, a random value of it as the
threshold. Mean of five random orders. "three times too sure" multiplies the offset by three.
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ocboost import OCBClassifier
from ocboost.datasets.loaders import load_words
from ocboost.hypotheses import Stumps
from ocboost.offsets import ScaledOffset, fit_offset

STEPS = (10, 25, 50, 100, 200, 500, 1000, 2000)
ORDERS = 5


def cases(data: Path | None) -> Iterator[tuple[str, np.ndarray, np.ndarray, int, int]]:
    """Name, features, labels; rows for the linear model, and for corrections."""
    X, y = load_digits(return_X_y=True)
    yield "digits, odd or even", X, y % 2, 700, 500
    path = None if data is None else data / "streams" / "elec2.csv.gz"
    if path is not None and path.is_file():
        from ocboost.streams import open_stream

        with open_stream(path, label="up", drop=["date"], batch_size=50_000) as stream:
            batch = next(stream)
        yield "elec2, the last 27,312 rows", batch.X[18_000:], batch.y[18_000:], 5000, 2000
    path = None if data is None else data / "streams" / "spamassassin.npz"
    if path is not None and path.is_file():
        rows = load_words(path, "spam").rows
        X = rows.X.toarray()
        often = np.sort(np.argsort(-X.sum(axis=0), kind="stable")[:1000])
        yield (
            "SpamAssassin, the 1,000 most frequent words",
            X[:, often].astype(np.float64),
            rows.y,
            4000,
            2000,
        )


def drawn_stumps(X: np.ndarray, J: int, rng: np.random.Generator) -> Stumps:
    """Stumps of random features, thresholds and signs; none gives all rows the same answer."""
    feature = rng.integers(X.shape[1], size=100 * J)
    threshold = X[rng.integers(len(X), size=100 * J), feature] - 1e-9
    use = np.flatnonzero(threshold > X.min(axis=0)[feature])[:J]
    return Stumps(feature[use], threshold[use], rng.choice([-1, 1], J), n_features=X.shape[1])


def added(X: np.ndarray, y: np.ndarray, n: int, m: int, J: int, sure: float, seed: int) -> dict:
    """Points of error added for each smoothing after each number of rows, and the offset's own."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    old, new, rest = order[:n], order[n : n + m], order[n + m : n + m + 8000]
    linear = make_pipeline(StandardScaler(), LogisticRegression(C=0.05, max_iter=3000)).fit(X[old], y[old])
    fitted = fit_offset(linear, X[new[:300]], y[new[:300]])
    offset = ScaledOffset(fitted, 2.0 * sure)
    stumps = drawn_stumps(X[old], J, rng)
    alone = np.mean((offset(X[rest]) > 0) != (y[rest] == linear.classes_[1]))
    found = {"alone": 100 * alone}
    for smoothing in (1.0, 1.0 * J, 10.0 * J, 100.0 * J):
        clf = OCBClassifier.from_offset(offset, stumps, linear.classes_, smoothing=smoothing, head=m + 1)
        begin = 0
        for step in STEPS:
            if step <= m:
                clf.partial_fit(X[new[begin:step]], y[new[begin:step]])
                begin = step
                wrong = np.mean(clf.predict(X[rest]) != y[rest])
                found[smoothing, step] = 100 * (wrong - alone)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
    given = parser.parse_args()
    print(
        "| data | offset alone wrong, % | J | ε | "
        + " | ".join(map(str, STEPS))
        + " |\n|"
        + " --- |" * (4 + len(STEPS))
    )
    for name, X, y, n, m in cases(None if given.data is None else Path(given.data)):
        for J, sure in ((100, 1.0), (1000, 1.0), (100, 3.0)):
            runs = [added(X, y, n, m, J, sure, seed) for seed in range(ORDERS)]
            alone = np.mean([run["alone"] for run in runs])
            for smoothing in sorted({key[0] for key in runs[0] if key != "alone"}):
                cells = [
                    f"{np.mean([run[smoothing, step] for run in runs]):+.2f}" if step <= m else ""
                    for step in STEPS
                ]
                label = name if sure == 1.0 else f"{name}, three times too sure"
                row = [label, f"{alone:.1f}", f"{J:,}", f"{smoothing:,.0f}", *cells]
                print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
