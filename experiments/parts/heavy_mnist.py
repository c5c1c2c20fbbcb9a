"""MNIST with room for a quarter of the images, each of four digits against the rest.

1,350 balls a digit, found as in `ocboost reproduce mnist`, over the 60,000 images in the order of the file,
from a cold start. The room is what 15,000 images take, each a bit for every ball, a weight and its unit
(1,446 bits): 2.7 MB. Of that the heavy rule takes its sums, the newest its own at the order of 16.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ocboost import BoostingSketch, OzaRussell

from .heavy_common import KEEPS, Exact, run, show
from .heavy_margins import Folders, digit

DIGITS = (0, 1, 3, 8)
SHARE = 4
ORDERS = {"heavy": (None,), "newest": (64, 16, 1)}


def measure(quick: bool, folders: Folders) -> Iterator[dict[str, Any]]:
    """Each digit, then the means."""
    if quick or not folders.has("mnist"):
        print("mnist is skipped with --quick: finding balls takes a minute")
        return
    ends: dict[str, list[list[float]]] = {}
    for which in DIGITS:
        exact = Exact(digit(folders, which))
        n, J = exact.margins.shape
        memory = n // SHARE * (J + 96) // 8
        points = [n // 4, n // 2, n]
        print(f"digit {which}: {J} balls, {n:,} images, {memory:,} bytes; error after {points}")
        boosters: dict[str, Any] = {"Oza and Russell": OzaRussell(J)}
        for keep in KEEPS:
            for order in ORDERS[keep]:
                name = keep if order is None else f"{keep}, order {order}"
                boosters[name] = BoostingSketch(J, memory=memory, keep=keep, order=order)
        boosters["newest, automatic head"] = BoostingSketch(J, head="auto", keep="newest")
        boosters["heavy, automatic head"] = BoostingSketch(J, head="auto", keep="heavy")
        for name, booster in boosters.items():
            found = run(booster, exact, points)
            ends.setdefault(name, []).append(found[0])
            yield show(name, *found, digit=which, memory=memory)
    print(f"mean of the digits {', '.join(map(str, DIGITS))}")
    for name, errors in ends.items():
        yield show(name, np.mean(errors, axis=0).tolist(), digits=DIGITS)
