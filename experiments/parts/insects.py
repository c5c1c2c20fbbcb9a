"""INSECTS, a real stream with drift: fixed stumps whose weights keep learning.

scikit-learn's AdaBoost chooses 200 stumps on the first 2,000 rows. Then each example is predicted with the
current weights before it is learnt (test-then-train).
"""

import numpy as np
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from ocboost import BoostingSketch, OzaRussell

from .common import Figures, Options, Table, number, progress

FILE = "streams/insects_gradual_balanced.csv.gz"
START = 2_000
STUMPS = 200
FORGETTING = 0.995
WINDOW = 200
TARGET = 0.82
WITH_TARGET = (f"head {WINDOW}, forgetting {FORGETTING}", f"head 1, forgetting {FORGETTING}")


def test_then_train(booster: BoostingSketch | OzaRussell, answers: np.ndarray, labels: np.ndarray) -> float:
    """Share of right answers after the first START examples; α is read before every one."""
    margins = (answers * labels[:, None]).astype(np.int8)
    booster.update_many(margins[:START])
    right = 0
    for answer, label, margin in zip(answers[START:], labels[START:], margins[START:], strict=True):
        right += (answer @ booster.alpha > 0.0) == (label > 0)
        booster.update(margin)
    return float(right / (len(labels) - START))


def run(options: Options) -> Figures:
    """The part `insects`."""
    path = options.file(FILE)
    progress("insects: reading and choosing the stumps")
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    features, species = table[:, :-1], table[:, -1]
    labels = np.where(np.isin(species, np.unique(species)[:3]), 1, -1)
    chosen = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=STUMPS, random_state=0)
    chosen.fit(features[:START], labels[:START])
    answers = np.column_stack([stump.predict(features) for stump in chosen.estimators_]).astype(np.float64)
    J = answers.shape[1]

    accuracy = {"static, as scikit-learn trained it": float(chosen.score(features[START:], labels[START:]))}
    boosters = {
        WITH_TARGET[0]: BoostingSketch(J, head=WINDOW, forgetting=FORGETTING),
        WITH_TARGET[1]: BoostingSketch(J, head=1, forgetting=FORGETTING),
        f"window of {WINDOW}": BoostingSketch(J, head=WINDOW, tail=False),
        f"Oza and Russell, forgetting {FORGETTING}": OzaRussell(J, forgetting=FORGETTING),
    }
    for name, booster in boosters.items():
        progress(f"insects: {name}")
        accuracy[name] = test_then_train(booster, answers, labels)

    rows = [
        [name, number(value), ("yes" if value >= TARGET else "NO") if name in WITH_TARGET else ""]
        for name, value in accuracy.items()
    ]
    record = {
        "n_hypotheses": J,
        "start": START,
        "examples": len(labels) - START,
        "share_of_the_larger_class": float(max(np.mean(labels[START:] > 0), np.mean(labels[START:] < 0))),
        "accuracy": accuracy,
        "target": TARGET,
    }
    title = (
        f"INSECTS: share of right answers, test-then-train over {len(labels) - START:,} examples, {J} stumps"
    )
    return Figures([Table(title, ["", "right", f"at least {TARGET}"], rows)], record)
