"""A deployed AdaBoost on real streams: not adapted, adapted by OCB, and by other methods.

    python experiments/streams.py [--data DIR] [--only elec2,insects,flights,spam,usenet] [--out DIR]

scikit-learn's AdaBoost is fitted on the first rows of each stream and adopted by `OCBClassifier.from_fitted`.
The evaluation is prequential: every further row is predicted, then learnt. Tables go to stdout, progress to
stderr; the folder gets results.json and the curves of each stream as SVG. A stream whose file is not there
is skipped.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier

from ocboost import OCBClassifier
from ocboost._report.figures import render
from ocboost._report.output import OutputFolder, to_json, versions
from ocboost.datasets.loaders import load_table, load_words
from ocboost.evaluation import Contender, Result, View, lineup, prequential
from ocboost.evaluation.figures import draw
from ocboost.evaluation.tables import as_text

OUT = Path(__file__).parent / "results" / "streams"


@dataclass(frozen=True)
class Case:
    """A stream: where it is, how it is read, and what is expected of it."""

    file: str
    read: Callable[[Path], tuple[Any, np.ndarray]]
    start: int
    stumps: int
    step: int = 1
    bars: tuple[tuple[str, float], ...] = ()


def table_of(label: str, *drop: str, positive: int = 0) -> Callable[[Path], tuple[np.ndarray, np.ndarray]]:
    """All rows of a file; with ``positive``, the first so many classes against the rest."""

    def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
        rows = load_table(path, label, drop=drop).rows
        return rows.X, np.isin(rows.y, rows.classes[:positive]).astype(int) if positive else rows.y

    return read


def spam(path: Path) -> tuple[Any, np.ndarray]:
    """SpamAssassin: which words an e-mail holds, sparse."""
    rows = load_words(path, "spam").rows
    return rows.X, rows.y


CASES = {
    "elec2": Case(
        "streams/elec2.csv.gz",
        table_of("up", "date"),
        start=2_000,
        stumps=100,
        bars=(("OCB, all history", 0.73), ("OCB, window 20", 0.82)),
    ),
    "insects": Case(
        "streams/insects_gradual_balanced.csv.gz",
        table_of("species", positive=3),
        start=2_000,
        stumps=200,
        bars=(("OCB, window 200", 0.82),),
    ),
    "flights": Case(
        "streams/nycflights13.csv.gz", table_of("late15", "arr_delay"), start=5_000, stumps=100, step=20
    ),
    "spam": Case("streams/spamassassin.npz", spam, start=2_000, stumps=100),
    "usenet": Case("streams/usenet1.csv.gz", table_of("label"), start=300, stumps=50),
}


Who = Callable[[OCBClassifier, View], list[Contender]]


def everyone(classifier: OCBClassifier, start: View) -> list[Contender]:
    """Those whom `lineup` names, with two rates of the logistic regression."""
    return lineup(classifier, start, rates=(0.01, 0.1))


def run(case: Case, path: Path, who: Who = everyone) -> Result:
    """Fit AdaBoost on the first rows, adopt it, and let those who take part go through the others."""
    X, y = case.read(path)
    if isinstance(X, np.ndarray):
        X = np.nan_to_num(X, nan=1e30)  # scikit-learn's AdaBoost refuses NaN: what is missing is large
    first = slice(0, case.start)
    deployed = AdaBoostClassifier(n_estimators=case.stumps, random_state=0)
    deployed.fit(X[first], y[first])
    clf = OCBClassifier.from_fitted(deployed, X[first], y[first])
    if not (clf.predict(X[first]) == deployed.predict(X[first])).all():
        raise AssertionError("from_fitted must predict as the deployed model did")
    codes = np.searchsorted(clf.classes_, y)
    contenders = who(clf, View.of(X[first], codes[first]))

    def rest() -> Iterator[Any]:
        for at in range(case.start, len(y), 10_000):
            part = slice(at, at + 10_000)
            yield SimpleNamespace(X=X[part], y=codes[part], known=None, first=at)

    def progress(done: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{done:,} of {len(y) - case.start:,} rows", end="", file=sys.stderr, flush=True)

    return prequential(rest(), contenders, classes=clf.classes_.tolist(), step=case.step, progress=progress)


def main() -> None:
    """Run the chosen cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
    parser.add_argument("--only", default=",".join(CASES), help=f"some of {', '.join(CASES)}")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    names = given.only.split(",")
    if not set(names) <= set(CASES):
        parser.error(f"--only takes some of {', '.join(CASES)}; got {given.only}")
    records: dict[str, Any] = {}
    files: dict[str, bytes] = {}
    with OutputFolder(given.out, ["results.json"]) as folder:
        for name in names:
            case = CASES[name]
            path = None if given.data is None else Path(given.data) / case.file
            if path is None or not path.is_file():
                print(f"{name} skipped: it needs {case.file}; name the folder with --data or OCBOOST_DATA.\n")
                continue
            began = time.time()
            result = run(case, path)
            title = f"{name}: {case.stumps} stumps of AdaBoost on the first {case.start:,} rows"
            print(f"\n{as_text(result, title=title)}")
            for who, bar in case.bars:
                accuracy = result[who].metrics["accuracy"]
                said = "yes" if accuracy is not None and accuracy >= bar else "NO"
                print(f"{who}: at least {bar}? {said}, {accuracy:.4f}")
            print(f"{time.time() - began:.0f} s\n", flush=True)
            record = result.as_dict()
            for one in record["contenders"].values():
                del one["windowed"]
            del record["windowed_rows"], record["windowed_counts"]
            records[name] = {"start": case.start, "stumps": case.stumps, **record}
            files[f"{name}.svg"] = render(draw(result, title=title), name)[f"{name}.svg"]
        made_with = versions("scikit-learn", "river", "pyarrow")
        files["results.json"] = to_json({"streams": records, "versions": made_with})
        folder.write(files)


if __name__ == "__main__":
    main()
