"""Which stumps to find: those of least weighted error, or those of least Gini impurity.

    python experiments/criterion.py [--data DIR] [--only elec2,insects,flights,spam,usenet]

100 stumps are learnt from the first rows of each stream by both criteria. "Static" is their accuracy over the
rest without learning; in the other columns the weights are adapted, ten rows predicted before they are learnt
(at most the first 47,000 rows). The last columns are the shares of stumps that repeat another one, or always
give the same answer. Prints a table for each stream; nothing is written.
"""

import argparse
import copy
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from streams import CASES

from ocboost import OCBClassifier
from ocboost.evaluation import OCB, Fixed, prequential
from ocboost.learners import StumpLearner

SETTINGS = {
    "all history": {},
    "forgetting 0.995": {"forgetting": 0.995, "head": 200},
    "window 200": {"head": 200, "tail": False},
    "window 20": {"head": 20, "tail": False},
}
MAX_ROWS = 47_000


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
    parser.add_argument("--only", default=",".join(CASES), help=f"some of {', '.join(CASES)}")
    given = parser.parse_args()
    if given.data is None:
        parser.error("the streams are needed: name their folder with --data or OCBOOST_DATA")
    print("| stream | criterion | static | " + " | ".join(SETTINGS) + " | repeat | constant |")
    print("|" + " --- |" * (5 + len(SETTINGS)))
    for name in given.only.split(","):
        case = CASES[name]
        X, y = case.read(Path(given.data) / case.file)
        y = np.searchsorted(np.unique(y), y)
        X, y, n = X[:MAX_ROWS], y[:MAX_ROWS], case.start
        for criterion in ("error", "gini"):
            clf = OCBClassifier(StumpLearner(criterion=criterion), 100).fit(X[:n], y[:n])
            contenders = [Fixed(copy.copy(clf), "static")]
            contenders += [OCB(copy.copy(clf).set_params(**p), who) for who, p in SETTINGS.items()]
            rest = [SimpleNamespace(X=X[n:], y=y[n:], known=None, first=n)]
            result = prequential(rest, contenders, classes=[0, 1], step=10, drift=False)
            stumps = clf.hypotheses_
            cuts = set(zip(stumps.feature.tolist(), stumps.threshold.tolist(), strict=True))
            cells = [f"{result[one.name].metrics['accuracy']:.3f}" for one in contenders]
            cells += [f"{1 - len(cuts) / len(stumps):.2f}", f"{np.isinf(stumps.threshold).mean():.2f}"]
            print(f"| {name} | {criterion} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
