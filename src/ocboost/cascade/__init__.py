"""Cascades of OpenCV: read, evaluated as OpenCV does, changed, and written back."""

from ocboost.cascade.adapt_base import CascadeAdapter
from ocboost.cascade.adapt_pictures import PictureAdapter
from ocboost.cascade.adapt_stages import StageAdapter, new_thresholds
from ocboost.cascade.adapt_whole import WholeAdapter
from ocboost.cascade.annotations import AnnotatedPictures, read_annotations
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.detect import candidates, detect, group_rectangles
from ocboost.cascade.file import CascadeFile, read_cascade
from ocboost.cascade.pictures import Picture
from ocboost.cascade.windows import accepts, has_contrast, passed, stage_sums

__all__ = [
    "AnnotatedPictures",
    "Cascade",
    "CascadeAdapter",
    "CascadeFile",
    "Picture",
    "PictureAdapter",
    "StageAdapter",
    "WholeAdapter",
    "accepts",
    "candidates",
    "detect",
    "group_rectangles",
    "has_contrast",
    "new_thresholds",
    "passed",
    "read_annotations",
    "read_cascade",
    "stage_sums",
]
