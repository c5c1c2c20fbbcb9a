"""Annotations of COCO: one JSON file with images, annotations and categories."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from ocboost._core.checks import as_count
from ocboost.cascade.annotations.boxes import MAX_ENTRIES, MarkedPicture, in_pixels
from ocboost.cascade.annotations.categories import face_names, told
from ocboost.cascade.annotations.text import bytes_of, decoded
from ocboost.cascade.pictures import as_boxes
from ocboost.cascade.sources import Notify
from ocboost.datasets.images import refused
from ocboost.errors import InputError

MAX_JSON_BYTES = 256 << 20
CocoPicture = tuple[str, int, int, ArrayLike, ArrayLike]  # file name, width, height, boxes, ignored regions
_SHAPE = "be annotations of COCO, a JSON object with the lists images and annotations"


def is_coco(path: Path) -> bool:
    """Whether a JSON file looks like annotations of COCO."""
    data = bytes_of(path, MAX_JSON_BYTES)
    return b'"images"' in data and b'"annotations"' in data


def read_coco(path: Path, notify: Notify) -> list[MarkedPicture]:
    """The pictures that a file names, those without boxes too."""
    data = _json(path)
    lists = {key: _list(data, key, path) for key in ("images", "annotations", "categories")}
    pictures: dict[str, MarkedPicture] = {}
    by_id: dict[int | str, MarkedPicture] = {}
    for n, image in enumerate(lists["images"]):
        where = f"'{path}', image {n + 1:,}"
        id_ = _id(image, "id", where)
        name = image.get("file_name")
        if not isinstance(name, str) or not name:
            raise InputError(
                f"file_name must be the name of an image; got {name!r:.80} ({where}). Correct it."
            )
        size = _size(image, where)
        found = pictures.setdefault(name, MarkedPicture(name, where, declared=size))
        if found.declared != size:
            raise InputError(
                f"An image that is there twice must have the same size; {name!r:.80} does not ({where}). "
                "Correct it."
            )
        if by_id.setdefault(id_, found) is not found:
            raise InputError(
                f"The ids of images must differ; {id_!r:.40} is there twice ({where}). Correct it."
            )
    faces, names = _faces(lists["categories"], lists["annotations"], path)
    others = 0
    for n, annotation in enumerate(lists["annotations"]):
        where = f"'{path}', annotation {n + 1:,}"
        if isinstance(annotation, dict) and "id" in annotation:
            where = f"'{path}', annotation id {annotation['id']!r:.40}"
        image_id, category = _id(annotation, "image_id", where), _id(annotation, "category_id", where)
        if image_id not in by_id:
            raise InputError(
                f"image_id must be the id of one of the images; got {image_id!r:.40} ({where}). Correct "
                "or remove it."
            )
        if category not in names:
            raise InputError(
                f"category_id must be the id of one of the categories; got {category!r:.40} ({where}). "
                "Correct or remove it."
            )
        if category not in faces:
            others += 1
            continue
        crowd = annotation.get("iscrowd", 0)
        if not isinstance(crowd, int) or crowd not in (0, 1):
            raise InputError(f"iscrowd must be 0 or 1; got {crowd!r:.40} ({where}). Correct it.")
        bbox = annotation.get("bbox")
        by_id[image_id].boxes.append(
            in_pixels(bbox if isinstance(bbox, list) else [bbox], where, ignored=bool(crowd))
        )
    for sentence in told({names[id_] for id_ in faces}, others, "categories", f"'{path}'"):
        notify(sentence)
    return list(pictures.values())


def write_coco(pictures: Iterable[CocoPicture]) -> bytes:
    """Annotations of COCO, with one category, face; regions to ignore are crowds.

    Parameters
    ----------
    pictures : iterable of (file name, width, height, boxes, ignored)
        Boxes are whole numbers (n, 4): x, y, width and height in pixels.
    """
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for name, width, height, boxes, ignored in pictures:
        size = {
            "width": as_count(width, "width", 1, None, ""),
            "height": as_count(height, "height", 1, None, ""),
        }
        images.append({"id": len(images) + 1, "file_name": str(name), **size})
        for crowd, some in enumerate((boxes, ignored)):
            for x, y, w, h in as_boxes(some, "ignored" if crowd else "boxes").tolist():
                annotations.append(
                    {
                        "id": len(annotations) + 1,
                        "image_id": len(images),
                        "category_id": 1,
                        "bbox": [x, y, w, h],
                        "area": w * h,
                        "iscrowd": crowd,
                    }
                )
    found = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "face"}]}
    return json.dumps(found, indent=1).encode() + b"\n"


def _json(path: Path) -> dict[str, Any]:
    text = decoded(bytes_of(path, MAX_JSON_BYTES), path)
    try:
        data = json.loads(text, object_pairs_hook=_object)
    except RecursionError:
        raise refused(path, _SHAPE, "it is nested too deep", "Was another file meant?") from None
    except ValueError as error:  # also of numbers with thousands of digits
        raise refused(path, _SHAPE, f"it is damaged or no JSON ({error!s:.120})") from None
    if not isinstance(data, dict):
        raise refused(path, _SHAPE, f"it is a JSON {type(data).__name__}", "Was another file meant?")
    return data


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of a key that is there twice it would be unclear which one counts."""
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r:.40} is there twice")
    return found


def _list(data: dict[str, Any], key: str, path: Path) -> list[Any]:
    if key not in data and key == "categories":
        return []
    found = data.get(key)
    if not isinstance(found, list):
        what = f"{key!r} is {found!r:.40}" if key in data else f"it has no {key!r}"
        raise refused(path, _SHAPE, what, "Was another file meant?")
    if len(found) > MAX_ENTRIES:
        raise refused(
            path, f"have at most {MAX_ENTRIES:,} {key}", f"it has {len(found):,}", "Give a part of it."
        )
    return found


def _id(entry: Any, key: str, where: str) -> int | str:
    found = entry.get(key) if isinstance(entry, dict) else None
    if isinstance(found, bool) or not isinstance(found, int | str):
        what = found if isinstance(entry, dict) else entry
        raise InputError(f"{key} must be a whole number or a word; got {what!r:.80} ({where}). Correct it.")
    return found


def _size(image: dict[str, Any], where: str) -> tuple[int, int] | None:
    """The width and height that are declared; 0 says nothing."""
    sides = [image.get(key) or 0 for key in ("width", "height")]
    if any(isinstance(side, bool) or not isinstance(side, int) or side < 0 for side in sides):
        raise InputError(
            f"width and height of an image must be whole numbers of pixels; got {sides!r:.80} ({where}). "
            "Correct them."
        )
    return (sides[0], sides[1]) if all(sides) else None


def _faces(
    categories: list[Any], annotations: list[Any], path: Path
) -> tuple[set[int | str], dict[int | str, str]]:
    """The ids of the categories that are faces, and the names of all."""
    names: dict[int | str, str] = {}
    for n, category in enumerate(categories):
        where = f"'{path}', category {n + 1:,}"
        id_ = _id(category, "id", where)
        name = category.get("name")
        if not isinstance(name, str):
            raise InputError(f"name of a category must be a word; got {name!r:.80} ({where}). Correct it.")
        if names.setdefault(id_, name) != name:
            raise InputError(
                f"The ids of categories must differ; {id_!r:.40} is there twice ({where}). Correct it."
            )
    if not categories:  # then ids have no names
        for n, annotation in enumerate(annotations):
            id_ = _id(annotation, "category_id", f"'{path}', annotation {n + 1:,}")
            names[id_] = str(id_)
    faces = face_names(names.values(), "categories", f"'{path}'")
    return {id_ for id_, name in names.items() if name in faces}, names
