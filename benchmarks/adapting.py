"""How fast a deployed model follows a stream and answers: python benchmarks/adapting.py.

Following: `OCBClassifier.partial_fit` in batches of 1,000 over 100 stumps, features to weights, beside
scikit-learn's `SGDClassifier.partial_fit` on the answers of the same stumps, one row at a time and in the
same batches. Answering: `predict` on 100,000 rows by 400 stumps beside the scikit-learn AdaBoostClassifier
they were taken from. Both sides are measured in turn, in the same run; the ratio of the medians is what
carries over.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import in_turn, machine, new_console, write_results
from rich.console import Console
from rich.table import Table
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import SGDClassifier

from ocboost import OCBClassifier, set_num_threads

OUT = Path(__file__).parent / "results" / "adapting.json"
BATCH = 1_000


Times = dict[str, dict[str, Any]]


def rounds_of(methods: dict[str, tuple[int, Callable[[], object]]], rounds: int, seed: int) -> Times:
    """µs a row of each method, CPU and wall: the medians, and every round's CPU time."""
    for _, work in methods.values():  # compile, warm the caches
        work()
    times = in_turn({name: work for name, (_, work) in methods.items()}, rounds, seed)
    found: Times = {}
    for name, (rows, _) in methods.items():
        cpu, wall = times[name].median
        rounds_us = [1e6 * seconds / rows for seconds in times[name].cpu]
        found[name] = {"cpu_us": 1e6 * cpu / rows, "wall_us": 1e6 * wall / rows, "cpu_us_rounds": rounds_us}
    return found


def following(rng_seed: int, rounds: int) -> Times:
    """partial_fit at J = 100, from features and from answers."""
    X, y = make_classification(
        22_000, 20, n_informative=10, flip_y=0.15, class_sep=0.5, random_state=rng_seed
    )
    clf = OCBClassifier(n_hypotheses=100).fit(X[:2_000], y[:2_000])
    assert len(clf.hypotheses_) == 100
    answers = clf.hypotheses_.answers(X).astype(np.float64)
    window = OCBClassifier(clf.hypotheses_, head=200, tail=False).fit(X[:2_000], y[:2_000])
    first = np.arange(2_000, 22_000, BATCH)

    def ours(model: OCBClassifier) -> Callable[[], object]:
        def work() -> None:
            for i in first:
                model.partial_fit(X[i : i + BATCH], y[i : i + BATCH])

        return work

    sgd = SGDClassifier(loss="log_loss").partial_fit(answers[:2_000], y[:2_000], classes=[0, 1])
    batched = SGDClassifier(loss="log_loss").partial_fit(answers[:2_000], y[:2_000], classes=[0, 1])

    def one_by_one() -> None:
        for i in range(2_000, 4_000):
            sgd.partial_fit(answers[i : i + 1], y[i : i + 1])

    def in_batches() -> None:
        for i in first:
            batched.partial_fit(answers[i : i + BATCH], y[i : i + BATCH])

    return rounds_of(
        {
            "OCBClassifier, everything remembered": (20_000, ours(clf)),
            "OCBClassifier, a window of 200": (20_000, ours(window)),
            "SGDClassifier, one row at a time": (2_000, one_by_one),
            "SGDClassifier, batches of 1,000": (20_000, in_batches),
        },
        rounds,
        rng_seed,
    )


def answering(rng_seed: int, rounds: int) -> Times:
    """Predict on 100,000 rows, J = 400."""
    X, y = make_classification(
        104_000, 50, n_informative=20, flip_y=0.15, class_sep=0.5, random_state=rng_seed
    )
    X = X.astype(np.float32)
    ada = AdaBoostClassifier(n_estimators=400, random_state=0).fit(X[:4_000], y[:4_000])
    assert len(ada.estimators_) == 400
    clf = OCBClassifier.from_fitted(ada, X[:4_000], y[:4_000])
    rest = X[4_000:]
    assert (clf.predict(rest) == ada.predict(rest)).all()
    return rounds_of(
        {
            "OCBClassifier.from_fitted, the same stumps": (100_000, lambda: clf.predict(rest)),
            "AdaBoostClassifier": (100_000, lambda: ada.predict(rest)),
        },
        rounds,
        rng_seed,
    )


def shown(console: Console, title: str, found: Times, peer: str) -> None:
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name in ("CPU µs a row", "wall µs a row", f"times as fast as {peer} (CPU)", "(wall)"):
        table.add_column(name, justify="right")
    for name, row in found.items():
        cells = [f"{row['cpu_us']:.2f}", f"{row['wall_us']:.2f}"]
        cells += [f"{found[peer][key] / row[key]:.1f}" for key in ("cpu_us", "wall_us")]
        table.add_row(name, *cells)
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=2008)
    parser.add_argument("--threads", type=int, default=1, help="of ocboost; scikit-learn's use one")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    set_num_threads(given.threads)
    console = new_console()
    began = time.time()
    follow = following(given.seed, given.rounds)
    shown(console, "Following a stream: partial_fit, 100 stumps", follow, "SGDClassifier, one row at a time")
    answer = answering(given.seed, given.rounds)
    shown(console, "Answering: predict, 100,000 rows, 400 stumps", answer, "AdaBoostClassifier")
    record = {
        "machine": machine(),
        "settings": {"rounds": given.rounds, "seed": given.seed, "threads": given.threads},
        "following": follow,
        "answering": answer,
        "seconds": time.time() - began,
    }
    write_results(given.out, record)
    console.print(f"Wrote {given.out}")


if __name__ == "__main__":
    main()
