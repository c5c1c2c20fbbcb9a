"""What lets a classifier grow, as a tree for a file, and back only if it makes sense."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .committee import Committee
from .errors import NotSavableError
from .fields import Fields, Tree
from .generator_file import generator_from, generator_tree
from .growth import Grower, Growth, Scout, learner_of
from .handover import LARGEST
from .hypotheses import Hypotheses
from .kinds import HYPOTHESES, tree_within, within
from .learners.choose import NAMED
from .matrix_file import matrix_from, matrix_tree
from .recent_rows import RecentRows
from .rows import stacked

FIELDS = ("budget", "sample", "candidates", "test", "delta", "every", "learner")


def growth_tree(growth: Growth | None, estimator: Any) -> Tree | None:
    """A `Growth` as a file has it."""
    if growth is None:
        return None
    has_name = isinstance(growth.learner, str)
    if growth.learner is None:
        has_name = isinstance(estimator, str | Hypotheses | None)
    if not has_name:
        raise NotSavableError(
            "a classifier that grows can be saved if what learns its hypotheses has a name; this one is a "
            "Python object, which no file holds. Use grow=Growth(..., learner='stump'), or "
            "set_params(grow=None) first."
        )
    return {field: getattr(growth, field) for field in FIELDS}


def growth_from_tree(fields: Fields) -> Growth:
    """A `Growth` of what `growth_tree` gave."""
    settings = {field: fields.plain(field) for field in FIELDS}
    fields.require(settings["learner"] is None or settings["learner"] in NAMED, "its learner is not known")
    numbers = all(type(settings[field]) in (int, float) for field in FIELDS[:-1])
    fields.require(numbers, "its settings must be numbers")
    return fields.make(Growth, **settings)


def grower_tree(grower: Grower) -> Tree:
    """What a file holds of a `Grower`, its settings aside."""
    return {
        "since": grower._since,
        "n_grown": grower.n_grown,
        "n_retired": grower.n_retired,
        "luck": [generator_tree(rng) for rng in (grower._filter, grower._luck)],
        "recent": grower.recent.tree(),
        "scouts": [
            {
                "n_tested": scout.n_tested,
                "sample": matrix_tree(stacked(scout.sample)) if scout.sample else None,
                "candidates": None if scout.candidates is None else tree_within(scout.candidates, HYPOTHESES),
                "worth": scout.worth,
                "alpha": alpha,
                "right": scout.right,
                "labels": np.array(scout.labels, np.int8),
            }
            for scout, alpha in zip(grower.scouts, grower._alphas, strict=True)
        ],
    }


def grower_from_tree(
    fields: Fields, growth: Growth, estimator: Any, committee: Committee, n_classes: int
) -> Grower:
    """A grower of what `grower_tree` gave; it goes on exactly as the saved one would have."""
    hypotheses, boosters = committee.hypotheses, committee.boosters
    grower = Grower(growth, learner_of(growth, estimator), committee, 0)
    grower.recent = fields.read(
        "recent", lambda recent: RecentRows.from_tree(recent, hypotheses.n_features, n_classes)
    )
    if len(grower.recent):
        fields.make(hypotheses.check, grower.recent.last(len(grower.recent)).X)
    grower._since = fields.count("since", 0, min(growth.every - 1, len(grower.recent)))
    grower.n_grown, grower.n_retired = fields.count("n_grown"), fields.count("n_retired")
    grower._filter, grower._luck = fields.read_all("luck", generator_from, 2)
    sizes = iter([booster.n_hypotheses for booster in boosters])
    found = fields.read_all(
        "scouts", lambda scout: _scout(scout, next(sizes), growth, hypotheses), len(boosters)
    )
    grower.scouts = [scout for scout, _ in found]
    grower._alphas = [alpha for _, alpha in found]
    return grower


def _scout(
    fields: Fields, J: int, growth: Growth, hypotheses: Hypotheses
) -> tuple[Scout, NDArray[np.float64]]:
    scout = Scout(J)
    scout.worth, alpha = (fields.array(key, np.float64, (J,)) for key in ("worth", "alpha"))
    fits = ((scout.worth >= 0.0) & (scout.worth < LARGEST) & (np.abs(alpha) < LARGEST)).all()
    fields.require(fits, "worth and alpha must be finite")
    labels = fields.array("labels", np.int8, (None,))
    fields.require(np.isin(labels, (-1, 1)).all(), "labels must be -1 and +1")
    scout.labels = labels.tolist()
    if scout.labels:
        X = matrix_from(fields, "sample", len(labels), hypotheses.n_features)
        fields.make(hypotheses.check, X)
        scout.sample = [X[i : i + 1] for i in range(len(labels))]
    else:
        fields.require(fields.takes("sample", None), "its sample has no labels")
    scout.candidates = fields.read_any("candidates", within(HYPOTHESES))
    size = 0
    if scout.candidates is not None:
        size = len(scout.candidates)
        fits = scout.candidates.n_features == hypotheses.n_features
        fields.require(fits, "its candidates are over other features")
    scout.n_tested = fields.count("n_tested", 0, growth.test - 1 if size else 0)
    scout.right = fields.array("right", np.int64, (size,))
    inside = ((scout.right >= 0) & (scout.right <= scout.n_tested)).all()
    fields.require(inside, "right must be numbers of the rows that were tested")
    return scout, alpha
