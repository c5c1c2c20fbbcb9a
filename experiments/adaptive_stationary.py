"""AdaptiveClassifier on data that do not change, beside the best batch method of experiments/stationary.py.

    python experiments/adaptive_stationary.py [--data DIR] [--only sea,agrawal,…] [--seeds N] [--jobs N]

The same data, samples, seeds and test rows: it is fitted on the rows before the stream and learns the stream
once, row by row. The batch methods' errors are those of experiments/results/stationary.json, which learn all
rows at once; the best of them is the one of the lowest mean over the seeds, chosen in hindsight. Results go
to experiments/results/adaptive_stationary.json.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from parts.stationary_data import SOURCES, split

import ocboost

HERE = Path(__file__).parent
STORED, RESULTS = HERE / "results" / "stationary.json", HERE / "results" / "adaptive_stationary.json"


def error(name: str, data: Path | None, seed: int) -> float:
    """The share of wrong predictions on the test rows, in percent."""
    ocboost.set_num_threads(1)
    rows = split(name, data, seed)
    clf = ocboost.AdaptiveClassifier(random_state=seed).fit(rows.one.first_X, rows.one.first_y)
    clf.partial_fit(rows.one.X, rows.one.y)
    return 100.0 * float(np.mean(clf.predict(rows.X, issue=False) != rows.y))


def best_batch(stored: dict[str, Any], name: str) -> tuple[float, str]:
    """The lowest mean error of a batch counterpart, in percent, and which it is the counterpart of."""
    means = {
        method: 100.0 * float(np.mean(found["batch"]))
        for method, found in stored["data"][name].items()
        if found.get("batch") and None not in found["batch"]
    }
    best = min(means, key=means.__getitem__)
    return means[best], best


def main() -> None:
    """Run, print a table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
    parser.add_argument("--only", default=",".join(SOURCES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    data = None if given.data is None else Path(given.data)
    stored = json.loads(STORED.read_text())
    names = given.only.split(",")
    work = [(name, seed) for name in names for seed in range(given.seeds)]
    errors = Parallel(given.jobs)(delayed(error)(name, data, seed) for name, seed in work)
    record = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    print(f"{'data':12s} {'adaptive':>16s} {'best batch':>10s}  behind  counterpart of")
    for name in names:
        own = [found for (each, _), found in zip(work, errors, strict=True) if each == name]
        best, of = best_batch(stored, name)
        spread = float(np.std(own, ddof=1) / np.sqrt(len(own))) if len(own) > 1 else 0.0
        mean = float(np.mean(own))
        print(f"{name:12s} {mean:8.2f} ± {spread:5.2f} {best:10.2f}  {mean - best:+6.2f}  {of}")
        record[name] = {"errors": own, "best_batch": best, "counterpart_of": of, "behind": mean - best}
    RESULTS.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
