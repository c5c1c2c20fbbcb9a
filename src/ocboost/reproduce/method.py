"""One online method: how it starts, and its weights at each checkpoint.

What is kept of a run depends on this file (see `ocboost.reproduce.kept`): names for readers are given
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ocboost import BoostingSketch, OzaRussell, adaboost_weights

Floats = npt.NDArray[np.float64]
Margins = npt.NDArray[np.int8]
Going = Callable[[], bool]


@dataclass(frozen=True)
class Method:
    """One line of the comparison.

    Parameters
    ----------
    key : str
        Its name in ``results.json``.
    label : str
        Its name for readers.
    kind : {"adaboost", "oza-russell", "ocb"}
        AdaBoost is retrained at each checkpoint; the others go on from where they were.
    order : int, optional
        Order K of the sketch; None takes every earlier coordinate.
    head : int or "auto"
        Examples that the sketch keeps.
    keep : {"heavy", "newest"}, optional
        Which of them; None is the sketch's default.
    correction : str
        Of the sketch.
    batch_size : int
        Examples that the sketch adds at once. Oza and Russell's method takes them one by one.
    """

    key: str
    label: str
    kind: Literal["adaboost", "oza-russell", "ocb"] = "ocb"
    order: int | None = None
    head: int | Literal["auto"] = 1
    keep: Literal["heavy", "newest"] | None = None
    correction: str = "balanced"
    batch_size: int = 1

    def follow(
        self,
        margins: Margins,
        start: int,
        points: Sequence[int],
        smoothing: float,
        going: Going = lambda: True,
    ) -> Floats:
        """Its weights at each checkpoint, a row each; ends early, with rows of zeros, when not `going`."""
        alphas = np.zeros((len(points), margins.shape[1]))
        booster = None if self.kind == "adaboost" else self._begin(margins[:start], smoothing)
        seen = start
        for c, n in enumerate(points):
            if not going():
                break
            if booster is None:
                alphas[c] = adaboost_weights(margins[:n], smoothing=smoothing)
                continue
            booster.update_many(margins[seen:n], batch_size=self.batch_size)
            alphas[c] = booster.alpha
            seen = n
        return alphas

    def _begin(self, first: Margins, smoothing: float) -> BoostingSketch | OzaRussell:
        if self.kind == "oza-russell":
            return OzaRussell.from_margins(first, smoothing=smoothing)
        order = None if self.order is None else min(self.order, first.shape[1])
        return BoostingSketch.from_margins(
            first,
            order=order,
            head=self.head,
            keep=self.keep,
            smoothing=smoothing,
            correction=self.correction,
        )
