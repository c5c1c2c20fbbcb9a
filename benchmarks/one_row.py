"""One prediction and one learning of one row, as a service does it: python benchmarks/one_row.py.

`predict_one` and then `learn_one` of the same row, a list of 20 numbers, two classes, 100 stumps: Online
Coordinate Boosting with several memories, every other booster, the way through scikit-learn's checks
(`predict` and `partial_fit` of a matrix of one row), and peers on the same rows. All are measured in turn, in
the same run, in microseconds of CPU; the ratio of the medians is what carries over.
"""

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import in_turn, machine, write_results
from rich.console import Console
from rich.table import Table
from sklearn.datasets import make_classification
from sklearn.linear_model import SGDClassifier

from ocboost import OCBClassifier
from ocboost.boosters import BOOSTERS

OUT = Path(__file__).parent / "results" / "one_row.json"
START, ROWS, J = 2_000, 2_000, 100
LIMIT = 60.0  # microseconds: what the first two must stay below
BASE = "OCB, head 1, order 1"
SKETCHES: dict[str, dict[str, Any]] = {
    BASE: {"head": 1, "order": 1},
    "OCB, window 200": {"tail": False, "head": 200},
    "OCB, head 1, full order": {"head": 1},
    "OCB, forgetting 0.995, head 500": {"forgetting": 0.995, "head": 500},
    "OCB, automatic head": {},
}


def pairs(
    predict: Callable[[Any], object], learn: Callable[[Any, Any], object], rows: Any, labels: Any
) -> Any:
    """A round over all rows: predict, then learn."""

    def work() -> None:
        for row, label in zip(rows, labels, strict=True):
            predict(row)
            learn(row, label)

    return work


def methods() -> dict[str, Callable[[], None]]:
    """Everything to measure, by name."""
    X, y = make_classification(START + ROWS, 20, n_informative=10, flip_y=0.15, class_sep=0.5, random_state=0)
    first, rows, labels = X[:START], X[START:].tolist(), y[START:].tolist()
    fitted = OCBClassifier(n_hypotheses=J, random_state=0).fit(first, y[:START])
    assert len(fitted.hypotheses_) == J
    made: dict[str, Callable[[], None]] = {}

    def add(name: str, **settings: Any) -> OCBClassifier:
        clf = OCBClassifier(fitted.hypotheses_, **settings).fit(first, y[:START])
        made[name] = pairs(clf.predict_one, clf.learn_one, rows, labels)
        return clf

    for name, settings in SKETCHES.items():
        add(name, **settings)
    for name, booster in BOOSTERS.items():
        if not name.startswith("ocb") and not booster.settings:
            add(booster.title, booster=name)
    clf = OCBClassifier(fitted.hypotheses_, head=1, order=1).fit(first, y[:START])
    made["the same by predict and partial_fit"] = pairs(
        lambda row: clf.predict([row]), lambda row, label: clf.partial_fit([row], [label]), rows, labels
    )
    sgd = SGDClassifier(loss="log_loss").partial_fit(first, y[:START], classes=[0, 1])
    made["scikit-learn's SGDClassifier, 20 features"] = pairs(
        lambda row: sgd.predict([row]), lambda row, label: sgd.partial_fit([row], [label]), rows, labels
    )
    try:
        from river import ensemble, linear_model, tree
    except ModuleNotFoundError:
        return made
    named = [dict(enumerate(row)) for row in rows]
    peers: dict[str, Any] = {
        "river's LogisticRegression, 20 features": linear_model.LogisticRegression(),
        "river's HoeffdingTreeClassifier": tree.HoeffdingTreeClassifier(),
        "river's AdaBoostClassifier, 10 trees": ensemble.AdaBoostClassifier(
            tree.HoeffdingTreeClassifier(), n_models=10, seed=0
        ),
    }
    for name, model in peers.items():
        made[name] = pairs(model.predict_one, model.learn_one, named, labels)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="two rounds, nothing written")
    given = parser.parse_args()
    rounds = 2 if given.quick else given.rounds
    work = methods()
    for each in work.values():  # compile, warm the caches
        each()
    times = {
        name: [1e6 * seconds / ROWS for seconds in timings.cpu]
        for name, timings in in_turn(work, rounds, seed=0).items()
    }
    medians = {name: statistics.median(each) for name, each in times.items()}
    table = Table(title=f"One prediction and one learning, {J} stumps, two classes: µs of CPU")
    for heading in ("", "median", "least", "ratio"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, median in medians.items():
        table.add_row(name, f"{median:.1f}", f"{min(times[name]):.1f}", f"{median / medians[BASE]:.2f}")
    Console().print(table)
    limited = list(SKETCHES)[:2]
    verdict = {name: medians[name] < LIMIT for name in limited}
    Console().print(
        f"Below {LIMIT:g} µs: " + "; ".join(f"{k}: {'yes' if v else 'no'}" for k, v in verdict.items())
    )
    if not given.quick:
        write_results(OUT, {"machine": machine(), "rows": ROWS, "rounds": rounds, "cpu_us": times})
        Console().print(f"Wrote {OUT}")


if __name__ == "__main__":
    main()
