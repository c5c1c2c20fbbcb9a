"""Offsets: an existing score F₀(x) that a classifier learns corrections on top of.

The score may be anybody's: a cascade's sum of leaves, a deployed AdaBoost, a linear model. Its training data
are not needed. An example (x, y), y = ±1, enters the boosters with weight w·exp(-y F₀(x)) instead of w, as
if AdaBoost had come as far as F₀ before its first round, and the answer is F₀(x) + Σ_j α_j h_j(x).

F₀ is on AdaBoost's scale, half the log-odds. Other scores are not: a logistic regression's decision function
is twice that, a support vector machine's anything. `fit_offset` finds the scale and the shift from a few
hundred labelled examples.

**Smoothing.** Corrections of little smoothing follow the noise of the first few hundred examples, and spoil
what was right; the more hypotheses, the more noise. On elec2, where a linear offset had little to correct,
100 drawn stumps added up to 11.8 points of error with ε = 1, 4.1 with 100 and 0.6 with 1,000; 1,000 stumps up
to 12.4 with 1, 3.5 with 1,000 and 0.5 with 10,000, and after 500 examples both helped. An offset that was
wrong on 1.6 % of e-mails lost up to 0.7 points with ten times their number, and 0.1 with a hundred times
(``experiments/offset_smoothing.py``). Ten times the number of hypotheses is what
``OCBClassifier(smoothing="auto")`` takes. Where the offset is known to be poor, less learns faster. ε is in
units of the weights w·exp(-y F₀), whose mean is below 1 if F₀ is on the right scale, so that it is worth
somewhat more examples than its number. No smoothing mends a score that is three times too sure: a few
examples have nearly all of the weight then, and it grows worse with time.

**Range.** To answer, F₀ must be finite and below 1e100. To learn, w·exp(-y F₀) must lie between 1e-299 and
1e299: nothing is clipped, and anything else is an error.

**Files.** `LinearOffset`, `VotedOffset` and a `ScaledOffset` of either are numbers, and saved with the
classifier. A function or any other model is Python code, which no file holds: ``save`` says so. Such a
classifier is saved with ``clf.save(path, without_offset=True)``, and loaded with
``OCBClassifier.load(path, offset=scorer)``.
"""

from ocboost.offsets.base import (
    GivenOffset,
    Offset,
    offset_in,
    offset_parts,
    require_classes,
    require_range,
    reweighted,
    scores_of,
)
from ocboost.offsets.choose import as_offset
from ocboost.offsets.fitting import fit_offset
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
