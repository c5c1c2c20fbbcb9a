"""Boxes on a copy of an image."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import MissingExtraError

Box = tuple[int, int, int, int]
LINE, EDGE = (255, 214, 10), (20, 20, 20)  # bright, with dark edges: seen on any picture


def drawn(colour: NDArray[np.uint8], boxes: Sequence[Box]) -> bytes:
    """The image with the boxes on it, as the bytes of a PNG.

    Parameters
    ----------
    colour : uint8, shape (height, width, 3)
        Not changed.
    boxes : sequence of (x, y, width, height)
        In pixels. Lines lie inside their box, thicker on larger images.
    """
    try:
        from PIL import Image, ImageDraw
    except ModuleNotFoundError as error:
        raise MissingExtraError("pillow", "vision", "Drawing on images") from error

    image = Image.fromarray(colour)
    pen = ImageDraw.Draw(image)
    thick = max(2, round(min(image.size) / 300))
    edge = max(1, thick // 3)
    for x, y, width, height in boxes:
        for inset, ink, thickness in ((0, EDGE, thick + 2 * edge), (edge, LINE, thick)):
            corners = [x + inset, y + inset, x + width - 1 - inset, y + height - 1 - inset]
            if corners[2] > corners[0] and corners[3] > corners[1]:
                pen.rectangle(corners, outline=ink, width=thickness)
    png = io.BytesIO()
    image.save(png, format="PNG")
    return png.getvalue()
