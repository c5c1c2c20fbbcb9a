"""Offsets: an existing score F₀(x) that a classifier learns corrections on top of.

The score may come from anywhere: the leaves of a cascade, a deployed AdaBoost, a linear model. Its training
data are not needed. An example (x, y), y = ±1, enters the boosters with weight w·exp(-y F₀(x)) instead of w,
as if F₀ were the result of AdaBoost's earlier rounds, and the decision is F₀(x) + Σ_j α_j h_j(x).

F₀ must be on AdaBoost's scale, half the log-odds. Other scores are not: a logistic regression's decision
function is twice that, a support vector machine's is on no such scale. `fit_offset` finds the scale and the
shift from a few hundred labelled examples.

**Smoothing.** With little smoothing the corrections follow the noise of the first few hundred examples;
``OCBClassifier(smoothing="auto")`` takes ten times the number of hypotheses. ``docs/offsets.md`` has the
measurements.

**Range.** To predict, F₀ must be finite and below 1e100. To learn, w·exp(-y F₀) must lie between 1e-299 and
1e299: nothing is clipped, and anything else is an error.

**Files.** `LinearOffset`, `VotedOffset` and a `ScaledOffset` of either consist of numbers, and are saved with
the classifier. A function or any other model is Python code, which no file holds: ``save`` raises an error.
Save such a classifier with ``clf.save(path, without_offset=True)``, and load it with
``OCBClassifier.load(path, offset=scorer)``.
"""

from ocboost.offsets.base import (
    Offset,
    offset_in,
    offset_parts,
    require_classes,
    require_range,
    reweighted,
    scores_of,
)
from ocboost.offsets.fitting import fit_offset
from ocboost.offsets.given import GivenOffset, as_offset
from ocboost.offsets.linear import LinearOffset
from ocboost.offsets.scaled import ScaledOffset
from ocboost.offsets.voted import VotedOffset

__all__ = [
    "GivenOffset",
    "LinearOffset",
    "Offset",
    "ScaledOffset",
    "VotedOffset",
    "as_offset",
    "fit_offset",
    "offset_in",
    "offset_parts",
    "require_classes",
    "require_range",
    "reweighted",
    "scores_of",
]
