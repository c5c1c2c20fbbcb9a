"""Accuracy on the streams of `experiments/streams.py`, by what the head keeps: test, then train.

scikit-learn's AdaBoost on the first rows, adopted and followed by OCB: with the whole history, with slow
forgetting, and with that script's fast forgetting and its head of 200.
"""

import copy
from collections.abc import Iterator
from typing import Any

from ocboost import OCBClassifier
from ocboost.evaluation import OCB, Contender, View

from .heavy_common import KEEPS
from .heavy_margins import Folders

SETTINGS: dict[str, dict[str, Any]] = {
    "all history": {"forgetting": 1.0, "head": "auto"},
    "forgetting 0.9995": {"forgetting": 0.9995, "head": "auto"},
    "forgetting 0.995, head of 200": {"forgetting": 0.995, "head": 200},
    "forgetting 0.995": {"forgetting": 0.995, "head": "auto"},
}
MOST = 0.2  # points of accuracy that may be lost


def both(classifier: OCBClassifier, start: View) -> list[Contender]:
    """OCB with every setting, newest and heavy."""
    found: list[Contender] = []
    for name, changes in SETTINGS.items():
        for keep in KEEPS:
            model = copy.copy(classifier).set_params(keep=keep, **changes)
            found.append(OCB(model, f"{name}, {keep}"))
    return found


def measure(quick: bool, folders: Folders) -> Iterator[dict[str, Any]]:
    """Every stream and setting: per cent right with each, and the difference in points."""
    from streams import CASES, run

    for name, case in CASES.items():
        if (quick and name != "usenet") or not folders.has(case.file) or folders.data is None:
            continue
        result = run(case, folders.data / case.file, both)
        for setting in SETTINGS:
            right = {
                keep: 100.0 * (result[f"{setting}, {keep}"].metrics["accuracy"] or 0.0) for keep in KEEPS
            }
            lost = right["newest"] - right["heavy"]
            print(
                f"  {name:8s} {setting:30s} newest {right['newest']:.2f} %, heavy {right['heavy']:.2f} %: "
                f"{-lost:+.2f} points{'' if lost <= MOST else f', more than {MOST} LOST'}",
                flush=True,
            )
            yield {"stream": name, "setting": setting, **right}
