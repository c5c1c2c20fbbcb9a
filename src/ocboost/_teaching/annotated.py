"""What was clicked on, to take along: annotations of COCO, and the frames as PNG files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

from ocboost._teaching.clicks import Lesson
from ocboost._teaching.frames import Frame
from ocboost._teaching.partly import picture_of
from ocboost.cascade.annotations import write_coco
from ocboost.cascade.pictures import Boxes
from ocboost.errors import MissingExtraError


def annotations_of(said: Sequence[Lesson], found: Sequence[Sequence[Boxes]]) -> bytes:
    """The faces that were marked, in COCO.

    Frames are known in part: what is ``found`` in each, and nobody clicked on, is to be ignored.
    """
    pictures = [
        picture_of(each, own[0][:0], own) if own else picture_of(each, each.faces[:0], [])
        for each, own in zip(said, found, strict=True)
    ]
    return write_coco(
        (picture.name, each.frame.width, each.frame.height, picture.boxes, picture.ignored)
        for each, picture in zip(said, pictures, strict=True)
    )


def zip_of(said: Sequence[Lesson], annotations: bytes) -> bytes:
    """The annotations, and the frames beside them."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("annotations.json", annotations)
        for each in said:
            archive.writestr(each.frame.file_name, png_of(each.frame))
    return out.getvalue()


def png_of(frame: Frame) -> bytes:
    """A frame as a PNG file."""
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise MissingExtraError("pillow", "vision", "Writing pictures") from error
    out = io.BytesIO()
    Image.fromarray(frame.grey).save(out, "PNG", compress_level=1)
    return out.getvalue()
