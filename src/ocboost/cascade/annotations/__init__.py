"""Whole pictures with boxes around faces, from annotations of COCO, Pascal VOC, YOLO, OpenCV, or CSV."""

from ocboost.cascade.annotations.annotated import AnnotatedPictures, PictureFacts
from ocboost.cascade.annotations.coco import write_coco
from ocboost.cascade.annotations.read import read_annotations

__all__ = ["AnnotatedPictures", "PictureFacts", "read_annotations", "write_coco"]
