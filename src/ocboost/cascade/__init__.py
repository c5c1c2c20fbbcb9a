"""Cascades of OpenCV: read, evaluated as OpenCV does, changed, and written back."""

from .camera_windows import has_contrast
from .cascade import Cascade
from .cascade_file import CascadeFile, read_cascade
from .detect import candidates, detect
from .grouping import group_rectangles
from .stagewise import StageAdapter, new_thresholds
from .whole import WholeAdapter
from .windows import accepts, passed, stage_sums

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
