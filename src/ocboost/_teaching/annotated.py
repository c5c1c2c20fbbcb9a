"""What was clicked on, to take along: annotations of COCO, and the frames as PNG files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

from ocboost._teaching.clicks import Lesson
from ocboost._teaching.frames import Frame
from ocboost._teaching.partly import picture_of
from ocboost.cascade.annotations import write_coco
from ocboost.cascade.cascade import Cascade
from ocboost.cascade.detect import detect
from ocboost.cascade.pictures import Boxes, Picture, as_boxes
from ocboost.errors import MissingExtraError


class Annotator:
    """Writes annotations, and remembers what was found in their frames the last time.

    Any thread may call it.
    """

    def __init__(self, shipped: Cascade) -> None:
        self._shipped = shipped
        self._found: dict[tuple[int, Cascade], Boxes] = {}

    def annotations(self, said: Sequence[Lesson], shown: Cascade) -> bytes:
        """The faces that were marked, in COCO.

        Frames are known in part: what the detectors find in each, and nobody clicked on, is to be ignored.
        """
        found: dict[tuple[int, Cascade], Boxes] = {}
        pictures = [self._picture(each, shown, found) for each in said]
        self._found = found  # of the detectors and frames of this time
        return write_coco(
            (picture.name, each.frame.width, each.frame.height, picture.boxes, picture.ignored)
            for each, picture in zip(said, pictures, strict=True)
        )

    def zipped(self, said: Sequence[Lesson], shown: Cascade) -> bytes:
        """The annotations, and the frames beside them."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("annotations.json", self.annotations(said, shown))
            for each in said:
                archive.writestr(each.frame.file_name, png_of(each.frame))
        return out.getvalue()

    def _picture(self, lesson: Lesson, shown: Cascade, found: dict[tuple[int, Cascade], Boxes]) -> Picture:
        frame, finds = lesson.frame, []
        for cascade in () if lesson.free else (self._shipped, shown):
            key = frame.id, cascade
            kept = self._found.get(key)
            found[key] = as_boxes(detect(cascade, frame.grey)) if kept is None else kept
            finds.append(found[key])
        return picture_of(lesson, lesson.faces[:0], finds)


def png_of(frame: Frame) -> bytes:
    """A frame as a PNG file."""
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise MissingExtraError("pillow", "vision", "Writing pictures") from error
    out = io.BytesIO()
    Image.fromarray(frame.grey).save(out, "PNG", compress_level=1)
    return out.getvalue()
