"""What the studies of heavy examples share: a run beside AdaBoost, and a line of a table."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ocboost import BoostingSketch, OzaRussell, adaboost_weights, approximation_error

BATCH = 64
KEEPS = ("newest", "heavy")


class Exact:
    """AdaBoost on all examples up to a checkpoint, each solved once; weights decay by the forgetting."""

    def __init__(
        self, margins: np.ndarray, weight: np.ndarray | None = None, forgetting: float = 1.0
    ) -> None:
        self.margins, self.weight, self.forgetting = margins, weight, forgetting
        self._alphas: dict[int, np.ndarray] = {}

    def alpha(self, n: int) -> np.ndarray:
        """AdaBoost's weights after n examples."""
        if n not in self._alphas:
            w = np.ones(n) if self.weight is None else self.weight[:n]
            w = w * self.forgetting ** np.arange(n - 1, -1, -1.0)
            self._alphas[n] = adaboost_weights(self.margins[:n], sample_weight=w)
        return self._alphas[n]


def run(
    booster: BoostingSketch | OzaRussell, exact: Exact, checkpoints: Sequence[int]
) -> tuple[list[float], float, int | None]:
    """Errors at the checkpoints, microseconds an example without reading, and bytes at the end."""
    errors, spent, done = [], 0.0, 0
    for n in checkpoints:
        part = slice(done, n)
        w = None if exact.weight is None else exact.weight[part]
        start = time.perf_counter()
        if isinstance(booster, BoostingSketch):
            booster.update_many(exact.margins[part], batch_size=min(BATCH, booster.head), sample_weight=w)
        else:
            booster.update_many(exact.margins[part], sample_weight=w)
        spent += time.perf_counter() - start
        done = n
        errors.append(approximation_error(exact.alpha(n), booster.alpha))
    size = booster.nbytes if isinstance(booster, BoostingSketch) else None
    return errors, 1e6 * spent / max(1, done), size


def show(
    name: str, errors: Sequence[float], cost: float | None = None, size: int | None = None, **what: Any
) -> dict[str, Any]:
    """Print a line of a table, and give what it says as a record."""
    cells = "  ".join(f"{error:9.6f}" for error in errors)
    rest = "" if cost is None else f"   {cost:7.1f} µs"
    rest += "" if size is None else f"  {size / 1e3:9.1f} kB"
    print(f"  {name:34s} {cells}{rest}", flush=True)
    return {"name": name, "errors": list(errors), "microseconds": cost, "bytes": size} | what
