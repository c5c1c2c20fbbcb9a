"""Offsets: an existing score F₀(x) that a classifier learns corrections on top of.

The score may be anybody's: a cascade's sum of leaves, a deployed AdaBoost, a linear model. Its training data
are not needed. An example (x, y), y = ±1, enters the boosters with weight w·exp(-y F₀(x)) instead of w, as
if AdaBoost had come as far as F₀ before its first round, and the answer is F₀(x) + Σ_j α_j h_j(x).

F₀ is on AdaBoost's scale, half the log-odds. Other scores are not: a logistic regression's decision function
is twice that, a support vector machine's anything. `fit_offset` finds the scale and the shift from a few
hundred labelled examples; a score that is three times too sure does harm that no smoothing mends.
"""

from .base import GivenOffset, Offset
from .choose import as_offset
from .fitting import fit_offset
from .known import offset_in
from .linear import LinearOffset
from .scaled import ScaledOffset
from .scores import require_classes, require_range, reweighted, scores_of
from .voted import VotedOffset

__all__ = [
    "GivenOffset",
    "LinearOffset",
    "Offset",
    "ScaledOffset",
    "VotedOffset",
    "as_offset",
    "fit_offset",
    "offset_in",
    "require_classes",
    "require_range",
    "reweighted",
    "scores_of",
]
