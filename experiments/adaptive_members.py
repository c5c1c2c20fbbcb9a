"""What each member of AdaptiveClassifier brings and costs: it is run without each of them.

    python experiments/adaptive_members.py [--data DIR] [--rows 8000] [--streams all] [--seeds 0] [--jobs N]

For every group of members, and every booster alone: the points of accuracy and the log-loss lost without it,
as a mean over the two halves of the named streams (`experiments/adaptive.py`), where it is missed most, and
the CPU time saved for a row. Results go to experiments/results/adaptive_members.json.
"""

import argparse
import json
import os
from pathlib import Path

import numpy as np
from adaptive import FIRST, SECOND, one
from joblib import Parallel, delayed

from ocboost.datasets.drift import STREAMS
from ocboost.estimators.adaptive.settings import GROUPS, USUAL

RESULTS = Path(__file__).parent / "results" / "adaptive_members.json"
LEFT_OUT = ("", *GROUPS, *(each.name for each in USUAL), ",".join(each.name for each in USUAL))


def main() -> None:
    """Run, print a table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
    parser.add_argument("--rows", type=int, default=8_000)
    parser.add_argument("--streams", default="all")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    given.data = None if given.data is None else Path(given.data)
    names = tuple(STREAMS) if given.streams == "all" else tuple(given.streams.split(","))
    seeds = [int(seed) for seed in given.seeds.split(",")]

    def settings(without: str) -> argparse.Namespace:
        left = tuple(filter(None, without.split(",")))
        same = {"data": given.data, "rows": given.rows, "set": "", "transform": "", "extra": ()}
        return argparse.Namespace(**same, without=left, step=1, hypotheses=100)

    work = [(without, name, seed) for without in LEFT_OUT for name in names for seed in seeds]
    found = Parallel(given.jobs)(delayed(one)(name, settings(w), seed, 0) for w, name, seed in work)
    runs = dict(zip(work, found, strict=True))

    def mean(without: str, key: str, half: tuple[str, ...]) -> float:
        return float(np.mean([runs[without, name, s][key] for name in names if name in half for s in seeds]))

    record = {}
    print(f"{'without':28s} {'first half':>18s} {'second half':>18s}   us  missed most on")
    for without in LEFT_OUT:
        line = {"us": mean(without, "us", names)}
        cells = []
        for label, half in (("first", FIRST), ("second", SECOND)):
            if not set(half) & set(names):
                continue
            line[label] = [mean(without, "accuracy", half), mean(without, "log_loss", half)]
            cells.append(f"{line[label][0]:8.2f} / {line[label][1]:.4f}")
        lost = {
            name: float(
                np.mean([runs["", name, s]["accuracy"] - runs[without, name, s]["accuracy"] for s in seeds])
            )
            for name in names
        }
        worst = sorted(lost, key=lost.__getitem__, reverse=True)[:3]
        line["lost"] = lost
        missed = ", ".join(f"{name} {-lost[name]:+.2f}" for name in worst) if without else ""
        print(
            f"{without or '(none)':28.28s} {' '.join(f'{c:>18s}' for c in cells)} {line['us']:4.0f}  {missed}"
        )
        record[without or "all members"] = line
    about = {"rows": given.rows, "seeds": seeds, "streams": names}
    RESULTS.write_text(json.dumps({"about": about, "without": record}, indent=1) + "\n")


if __name__ == "__main__":
    main()
