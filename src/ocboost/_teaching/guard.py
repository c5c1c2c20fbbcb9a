"""Whether a detector that was just taught is shown, and if not, why not."""

from __future__ import annotations

from collections.abc import Sequence

from ocboost._teaching.base import Base
from ocboost._teaching.examples import SURE, Seen, Taught
from ocboost._teaching.fit import Fitted, boxes_of, holds
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.matching import IOU
from ocboost.cascade.pictures import overlaps

LOST = 0.05  # of the shipped detector's sure finds that may be lost


def why_not(
    base: Base,
    shipped: Cascade,
    before: Fitted | None,
    after: Fitted,
    taught: Sequence[Taught],
    others: Sequence[Seen],
) -> str | None:
    """Why the new detector is not shown, in words; None if it is."""
    if taught and not holds(base, after, taught[-1]):
        return "what was clicked could not be learnt with what is known"
    lost = total = 0
    for seen in others:
        sure = seen.shipped.boxes[seen.shipped.neighbours >= SURE]
        if len(sure):
            found = boxes_of(base, after, seen.windows, seen.frame).boxes
            total += len(sure)
            lost += int((~(overlaps(sure, found) >= IOU).any(axis=1)).sum())
    if lost > max(1.0, LOST * total):
        return f"it no longer finds {lost} of {total} faces that the shipped detector surely finds"
    return None
