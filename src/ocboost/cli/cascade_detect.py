"""``ocboost cascade detect``: what a detector finds in pictures, drawn on copies of them."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, validators

from ocboost.cli.cascade_shared import interrupted, print_table, require_places
from ocboost.cli.files import place_of, require_files
from ocboost.cli.options import Count, Flag, MaybeCount, UsageError
from ocboost.cli.terminal import results, say, steps_progress
from ocboost.errors import InputError

if TYPE_CHECKING:
    from ocboost.cascade.figures import Box
    from ocboost.cascade.sources import ImageSource

DETECTIONS = "detections.csv"
MAX_ROWS_SHOWN = 20
Factor = Annotated[float, Parameter(validator=validators.Number(gte=1.001))]
Neighbors = Annotated[int, Parameter(validator=validators.Number(gte=0))]


def detect(
    detector: Path,
    place: Path,
    /,
    *,
    out: Path,
    scale_factor: Factor = 1.1,
    min_neighbors: Neighbors = 3,
    min_size: MaybeCount = None,
    max_size: MaybeCount = None,
    every: Count = 1,
    overwrite: Flag = False,
) -> int:
    """Find faces in images or in a video, and draw boxes on copies of them.

    In a folder of pictures:
        ocboost cascade detect detector.xml pictures/ --out found/

    In every tenth frame of a video:
        ocboost cascade detect detector.xml film.mp4 --out found/ --every 10

    The folder gets each picture as PNG with its boxes, and detections.csv with
    the columns image, x, y, width, height.

    Parameters
    ----------
    detector
        A cascade of Haar features in OpenCV's XML format, gzipped or not.
    place
        A folder of images, an image, or a video.
    out
        The folder for what is found; made if needed.
    scale_factor
        The window grows by this from one size to the next.
    min_neighbors
        How many windows at least, besides one, must be found at about the same place.
    min_size
        Leave out what is smaller, in pixels.
    max_size
        Leave out what is larger.
    every
        Of a video, look at every n-th frame only.
    overwrite
        Write into a folder that is not empty, and replace files there.
    """
    require_places(detector)
    require_files(place)

    from ocboost._report.output import StagedFolder
    from ocboost.cascade import detect as found_in
    from ocboost.cascade import read_cascade
    from ocboost.cascade.figures import draw_boxes
    from ocboost.cascade.sources import images_in

    if min_size is not None and max_size is not None and min_size > max_size:
        raise UsageError("--min-size must not be above --max-size.")
    cascade = read_cascade(detector).cascade
    images = images_in(place, every=every, name="PLACE", notify=say)
    _check_folder(out, images, overwrite)
    smallest, largest = (None if side is None else (side, side) for side in (min_size, max_size))
    names = [file.name for file in images.files]
    drawings = dict(zip(names, _drawings(names), strict=True))
    found: list[tuple[str, list[Box]]] = []
    try:
        with StagedFolder(out) as folder, steps_progress("looking") as step:
            for image in images:
                boxes = sorted(found_in(cascade, image.grey, scale_factor, min_neighbors, smallest, largest))
                folder.add(drawings.get(image.name, f"{image.name}.png"), draw_boxes(image.colour, boxes))
                found.append((image.name, boxes))
                total = images.expected
                step(image.name, len(found), max(total, len(found)) if total is not None else len(found))
            folder.add(DETECTIONS, _as_csv(found))
            folder.finish()
    except KeyboardInterrupt:
        return interrupted(out)
    _report(found, out)
    return 0


def _drawings(names: Sequence[str]) -> list[str]:
    """A name for the drawing on each picture; no two are the same, not even where case does not count.

    >>> _drawings(["a.jpg", "b.jpg", "b.png", "b.jpg.png"])
    ['a.png', 'b.jpg.png', 'b.png.png', 'b.jpg.png.png']
    >>> _drawings(["a.png", "A.PNG"])
    ['a.png.png', 'A.PNG-2.png']
    """
    stems = [Path(name).stem for name in names]
    while True:  # those that share a name are called by their whole name, with its ending
        counts = Counter(stem.casefold() for stem in stems)
        longer = [s if counts[s.casefold()] < 2 else name for s, name in zip(stems, names, strict=True)]
        if longer == stems:
            break
        stems = longer
    found: list[str] = []
    taken: set[str] = set(counts)
    used: set[str] = set()
    for stem in stems:
        free, n = stem, 1
        while free.casefold() in used or (n > 1 and free.casefold() in taken):
            n += 1
            free = f"{stem}-{n}"
        used.add(free.casefold())
        found.append(f"{free}.png")
    return found


def _check_folder(out: Path, images: ImageSource, overwrite: bool) -> None:
    """Refuse to write among the pictures themselves, or into a folder that holds something else."""
    inputs = images.place if images.place.is_dir() else images.place.parent
    if place_of(out) == place_of(inputs):
        raise InputError(
            f"--out must be another folder than that of the pictures; '{out}' is it. Give another name."
        )
    if out.is_dir() and not overwrite and any(out.iterdir()):
        raise InputError(
            f"--out must be a new or an empty folder; '{out}' holds something. Give another name, or "
            "--overwrite."
        )


def _as_csv(found: list[tuple[str, list[Box]]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["image", "x", "y", "width", "height"])
    for name, boxes in found:
        writer.writerows([name, *box] for box in boxes)
    return text.getvalue().encode("utf-8", "backslashreplace")


def _report(found: list[tuple[str, list[Box]]], out: Path) -> None:
    console = results()
    rows = [
        (name, f"{len(boxes):,}", *(_sides(boxes) if boxes else ("–", "–")))
        for name, boxes in found[:MAX_ROWS_SHOWN]
    ]
    if len(found) > MAX_ROWS_SHOWN:
        rows.append((f"… {len(found) - MAX_ROWS_SHOWN:,} more", "", "", ""))
    total = sum(len(boxes) for _, boxes in found)
    some = sum(bool(boxes) for _, boxes in found)
    title = f"{total:,} found, in {some:,} of {len(found):,} images"
    print_table(console, title, ("image", "found", "smallest", "largest"), rows)
    console.print(f"Wrote {len(found):,} images and {DETECTIONS} to {out.resolve()}", soft_wrap=True)


def _sides(boxes: list[Box]) -> tuple[str, str]:
    """The sizes of the smallest and the largest box."""
    ordered = sorted(boxes, key=lambda box: box[2] * box[3])
    smallest, largest = (f"{width} × {height}" for _, _, width, height in (ordered[0], ordered[-1]))
    return smallest, largest
