"""Windows that boosting separates, beside Oza and Russell: small heads early, large ones to the end.

1,520 box filters, found as in `ocboost reproduce faces`, over 100,000 windows in several orders, from a cold
start. A head of 500 goes as far as 20,000 windows; longer runs and the newest go through one order.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ocboost import BoostingSketch, OzaRussell

from .heavy_common import KEEPS, Exact, run, show
from .heavy_margins import Folders, windows

EARLY = (500, 1_000, 2_000, 5_000, 10_000, 20_000)
LATE = (*EARLY, 50_000, 100_000)
HEADS: dict[str, dict[str, Any]] = {
    "head of 500": {"head": 500},
    "automatic head": {"head": "auto"},
    "4 MB": {"memory": 4_000_000},
    "head of 20,000": {"head": 20_000},
}
ORDER = 16  # of the newest in 4 MB, where its full order does not fit


def measure(quick: bool, folders: Folders) -> Iterator[dict[str, Any]]:
    """Heavy, newest, Oza and Russell; at many folders early on."""
    if quick or not folders.has("faces"):
        print("faces is skipped with --quick: it takes minutes")
        return
    early: dict[str, list[list[float]]] = {}
    for permutation in range(1, 6):
        exact = Exact(windows(folders, permutation))
        J = exact.margins.shape[1]
        points = LATE if permutation == 1 else EARLY
        print(f"faces, order {permutation}, {J} filters; error after {', '.join(map(str, points))} windows")
        found = run(OzaRussell(J), exact, points)
        yield show("Oza and Russell", *found, permutation=permutation, windows=points)
        early.setdefault("Oza and Russell", []).append(found[0])
        for (name, options), keep in ((head, keep) for head in HEADS.items() for keep in KEEPS):
            if permutation > 1 and name != "head of 500":
                continue
            at = EARLY if name == "head of 500" else points
            order = ORDER if keep == "newest" and "memory" in options else None
            sketch = BoostingSketch(J, keep=keep, order=order, **options)
            found = run(sketch, exact, at)
            title = f"{keep}, {name}" + ("" if order is None else f", order {order}")
            yield show(title, *found, permutation=permutation, windows=at)
            early.setdefault(title, []).append(found[0][: len(EARLY)])
    print(f"means of five orders, after {', '.join(map(str, EARLY))} windows")
    for name, errors in early.items():
        if len(errors) == 5:
            mean = np.mean([each[: len(EARLY)] for each in errors], axis=0).tolist()
            yield show(f"{name}, mean", mean, windows=EARLY)
