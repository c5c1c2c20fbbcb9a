"""Cascades of OpenCV: read, evaluated as OpenCV does, changed, and written back."""

from ocboost.cascade.adapt_stages import StageAdapter, new_thresholds
from ocboost.cascade.adapt_whole import WholeAdapter
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.detect import candidates, detect, group_rectangles
from ocboost.cascade.file import CascadeFile, read_cascade
from ocboost.cascade.windows import accepts, has_contrast, passed, stage_sums

__all__ = [
    "Cascade",
    "CascadeFile",
    "StageAdapter",
    "WholeAdapter",
    "accepts",
    "candidates",
    "detect",
    "group_rectangles",
    "has_contrast",
    "new_thresholds",
    "passed",
    "read_cascade",
    "stage_sums",
]
