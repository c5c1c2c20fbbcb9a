"""How a cascade does on windows that it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cascade import Cascade
from .roc import RATES, Roc, one_minus_auc, roc
from .scores import Kind, evaluated, fitting_kind, scores_of

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Standing:
    """One cascade's figures.

    Parameters
    ----------
    name : str
    n_stages, n_trees : int
    kind : str
        The score that the curve is drawn from, see `ocboost.cascade.scores`.
    hits, false_positives : float
        Shares of the faces and of the others that the cascade accepts as it is.
    curve : Roc
    one_minus_auc : float
        Share of pairs of a face and another window that the score puts in the wrong order.
    cost : float
        Stumps, or trees, evaluated per window without a face, on average.
    """

    name: str
    n_stages: int
    n_trees: int
    kind: Kind
    hits: float
    false_positives: float
    curve: Roc
    one_minus_auc: float
    cost: float

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON can hold them; of the curve, what a figure needs."""
        drawn = self.curve.thinned()
        return {
            "name": self.name,
            "stages": self.n_stages,
            "trees": self.n_trees,
            "score": self.kind,
            "hits": self.hits,
            "false_positives": self.false_positives,
            "misses_at": {f"{rate:g}": self.curve.misses_at(rate) for rate in RATES},
            "one_minus_auc": self.one_minus_auc,
            "trees_per_window": self.cost,
            "curve": {"false_positives": drawn.rates.tolist(), "misses": drawn.misses.tolist()},
        }


def measured(
    name: str, cascade: Cascade, faces: Pixels, others: Pixels, kind: Kind | None = None
) -> Standing:
    """Measure a cascade on windows of both kinds.

    Parameters
    ----------
    name : str
        What it is called.
    cascade : Cascade
    faces, others : uint8, shape (n, height, width)
        At least one of each.
    kind : {"slack", "last stage"}, optional
        The score; by default the fitting one.
    """
    kind = fitting_kind(cascade) if kind is None else kind
    scores = np.concatenate([scores_of(cascade, windows, kind) for windows in (faces, others)])
    are_faces = np.repeat([True, False], [len(faces), len(others)])
    return Standing(
        name=name,
        n_stages=cascade.n_stages,
        n_trees=cascade.n_trees,
        kind=kind,
        hits=float((scores[are_faces] >= 0).mean()),
        false_positives=float((scores[~are_faces] >= 0).mean()),
        curve=roc(scores, are_faces),
        one_minus_auc=one_minus_auc(scores, are_faces),
        cost=float(evaluated(cascade, others).mean()),
    )
