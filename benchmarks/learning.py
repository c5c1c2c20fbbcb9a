"""How fast stumps are learnt, beside scikit-learn's AdaBoost, in one run: python benchmarks/learning.py.

Both find stumps by discrete AdaBoost in the same examples, which are noisy enough that they are never parted.
scikit-learn's stumps take the cut of least Gini impurity, between any two values; ours that of least error or
of least impurity, at one of at most 254 edges for each feature. The errors on the training set stand side by
side to show what that costs, and so do those on fresh examples. Two kinds of features: of two values, where
scikit-learn is at its fastest (it sorts each feature for every stump, and that takes longer the more values
there are), and real numbers, where all are timed once: there scikit-learn takes minutes.
Ours are weighted by `ocboost.adaboost_weights`, inside the clock. Everything is compiled beforehand.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from harness import in_turn, machine, new_console, table_of, write_results
from rich.console import Console

import ocboost
from ocboost.hypotheses import Ballot
from ocboost.learners import StumpLearner

AIM = 20.0
PEER = "scikit-learn AdaBoostClassifier"
COLUMNS = {
    "features": ("features", ""),
    "method": ("method", ""),
    "stumps": ("stumps", "d"),
    "CPU s": ("cpu_seconds", ".3g"),
    "wall s": ("wall_seconds", ".3g"),
    "CPU ratio": ("cpu_ratio", ".1f"),
    "wall ratio": ("wall_ratio", ".1f"),
    "train error %": ("training_error_percent", ".2f"),
    "fresh error %": ("fresh_error_percent", ".2f"),
}
KINDS = ("two values", "real numbers")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--features", type=int, default=400)
    parser.add_argument("--stumps", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3, help="how often each is timed; the median counts")
    parser.add_argument(
        "--real-rounds", type=int, default=1, help="the same, where features are real numbers"
    )
    parser.add_argument("--seed", type=int, default=2008)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything: a check that all runs")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "learning.json")
    given = parser.parse_args()
    if given.quick:
        given.rows, given.features, given.stumps, given.rounds = 1_000, 40, 40, 1
        given.real_rounds = 1
    return given


def draw(rows: int, features: int, kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Twice as many examples as are learnt from; a tenth of the features matter, 15 % of labels are drawn."""
    from sklearn.datasets import make_classification

    X, y = make_classification(
        2 * rows, features, n_informative=features // 10, flip_y=0.15, class_sep=0.5, random_state=seed
    )
    if kind == "two values":
        X = np.where(X > 0, 1.0, -1.0)
    return X, np.where(y > 0, 1, -1).astype(np.int8)


Predict = Callable[[np.ndarray], np.ndarray]


def ours(X: np.ndarray, y: np.ndarray, J: int, criterion: str, threads: int) -> Predict:
    ocboost.set_num_threads(threads)
    stumps = StumpLearner(criterion=criterion).learn(X, y, n_hypotheses=J)
    ballot = Ballot.of(ocboost.adaboost_weights(stumps.answers(X) * y[:, None]))
    return lambda rows: np.where(stumps.votes(rows, [ballot])[:, 0] > 0, 1, -1)


def scikit_learn(X: np.ndarray, y: np.ndarray, J: int) -> Predict:
    from sklearn.ensemble import AdaBoostClassifier

    return AdaBoostClassifier(n_estimators=J, random_state=0).fit(X, y).predict


def measure(given: argparse.Namespace, kind: str, console: Console) -> list[dict[str, object]]:
    """Time all methods in turn on one kind of features, in a new order each round."""
    X, y = draw(given.rows, given.features, kind, given.seed)
    train, fresh = (X[: given.rows], y[: given.rows]), (X[given.rows :], y[given.rows :])
    rounds = given.real_rounds if kind == "real numbers" else given.rounds
    methods: dict[str, Callable[[int], Predict]] = {
        "ocboost StumpLearner": lambda J: ours(*train, J, "error", 1),
        "ocboost StumpLearner, two threads": lambda J: ours(*train, J, "error", 2),
        "ocboost StumpLearner, Gini": lambda J: ours(*train, J, "gini", 1),
        PEER: lambda J: scikit_learn(*train, J),
    }
    for make in methods.values():
        make(2)  # compiles and imports: never counted
    times = in_turn(
        {name: lambda make=make: make(given.stumps) for name, make in methods.items()},
        rounds,
        given.seed,
        lambda line: console.print(f"{kind}, {line}", style="dim"),
    )

    def error_percent(predict: Predict, rows: np.ndarray, labels: np.ndarray) -> float:
        return 100.0 * float(np.mean(predict(rows) != labels))

    peer_cpu, peer_wall = times[PEER].median
    return [
        {
            "features": kind,
            "stumps": given.stumps,
            "method": name,
            "cpu_seconds": timings.median[0],
            "wall_seconds": timings.median[1],
            "cpu_ratio": peer_cpu / timings.median[0],
            "wall_ratio": peer_wall / timings.median[1],
            "training_error_percent": error_percent(timings.result, *train),
            "fresh_error_percent": error_percent(timings.result, *fresh),
            "cpu_rounds": timings.cpu,
            "wall_rounds": timings.wall,
        }
        for name, timings in times.items()
    ]


def main() -> None:
    given = arguments()
    console = new_console()
    rows = [row for kind in KINDS for row in measure(given, kind, console)]
    title = f"stumps learnt in {given.rows:,} × {given.features}, seed {given.seed}"
    console.print(table_of(rows, COLUMNS, title))
    worst = min(row["cpu_ratio"] for row in rows if row["method"] != PEER)
    console.print(f"aimed at: {AIM:g} times less CPU time than scikit-learn; got at least {worst:.1f}")
    settings = {k: v for k, v in vars(given).items() if k != "out"}
    result = {"machine": machine(), "settings": settings, "aim": AIM, "rows": rows}
    write_results(given.out, result)
    console.print(str(given.out))


if __name__ == "__main__":
    main()
