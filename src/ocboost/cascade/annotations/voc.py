"""Annotations of Pascal VOC: an XML file for each picture."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ocboost.cascade.annotations.boxes import MarkedBox, MarkedPicture, in_corners
from ocboost.cascade.annotations.categories import face_names, told
from ocboost.cascade.annotations.lookup import ImageFinder
from ocboost.cascade.annotations.text import bytes_of, decoded, number_in
from ocboost.cascade.sources import PICTURE_ENDINGS, Notify
from ocboost.cascade.xml import XmlElement, parse
from ocboost.datasets.images import refused
from ocboost.errors import InputError, ModelFileError


def is_voc(path: Path) -> bool:
    """Whether an XML file looks like an annotation of Pascal VOC."""
    return b"<annotation" in bytes_of(path)


class _Object(NamedTuple):
    name: str
    box: MarkedBox


def read_voc(files: Sequence[Path], finder: ImageFinder, notify: Notify, alone: bool) -> list[MarkedPicture]:
    """The pictures of the files, and unless a file is given ``alone`` those beside that have none."""
    pictures: list[MarkedPicture] = []
    objects: list[list[_Object]] = []
    for path in files:
        picture, found = _VocFile(path).read()
        picture.path = _found(picture, path, finder)
        pictures.append(picture)
        objects.append(found)
    where = f"'{files[0]}'" if len(files) == 1 else f"'{files[0].parent}'"
    faces = face_names((thing.name for some in objects for thing in some), "names", where)
    others = 0
    for picture, some in zip(pictures, objects, strict=True):
        picture.boxes = [thing.box for thing in some if thing.name in faces]
        others += len(some) - len(picture.boxes)
    for sentence in told(faces, others, "names", where):
        notify(sentence)
    if not alone:
        taken = {picture.path for picture in pictures}
        rest = [path for path in finder.all_pictures() if path not in taken]
        pictures += [MarkedPicture(path.name, f"'{path}'", path=path) for path in rest]
        if rest:
            notify(f"{len(rest):,} pictures have no XML file; they are taken for pictures without faces.")
    return pictures


def _found(picture: MarkedPicture, path: Path, finder: ImageFinder) -> Path | None:
    """The picture of the name that the file gives, or else one called like the file."""
    found = finder.find(picture.name, picture.where)
    if found is not None:
        return found
    tries = (finder.find(path.stem + ending, picture.where) for ending in PICTURE_ENDINGS)
    return next((found for found in tries if found is not None), None)


class _VocFile:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._data = bytes_of(path)
        decoded(self._data, path)

    def read(self) -> tuple[MarkedPicture, list[_Object]]:
        try:
            root = parse(self._data, f"'{self._path}'")
        except ModelFileError as error:  # words for a cascade, that this is not meant to be
            text = str(error).replace("is no cascade", "is no annotation of Pascal VOC")
            text = text.replace("OpenCV does not write such files.", "Was another file meant?")
            raise InputError(text.replace(", and OpenCV writes none", "")) from None
        if root.tag != "annotation":
            raise refused(
                self._path,
                "be an annotation of Pascal VOC, with <annotation> around everything",
                f"it begins with <{root.tag:.40}>",
                "Was another file meant?",
            )
        name = root.find("filename")
        picture = MarkedPicture(
            ("" if name is None else self._text(name)) or self._path.stem,
            f"'{self._path}'",
            declared=self._size(root.find("size")),
        )
        objects = [self._object(child) for child in root.children if child.tag == "object"]
        return picture, objects

    def _object(self, element: XmlElement) -> _Object:
        where = f"'{self._path}', line {element.line:,}"
        box = self._child(element, "bndbox")
        edges = [self._number(self._child(box, tag)) for tag in ("xmin", "ymin", "xmax", "ymax")]
        difficult = element.find("difficult")
        hard = 0.0 if difficult is None else self._number(difficult)
        if hard not in (0, 1):
            raise InputError(f"<difficult> must be 0 or 1; got {hard:g} ({where}). Correct it.")
        name = self._text(self._child(element, "name"))
        if not name:
            raise InputError(f"<name> of an object must be a word; it is empty ({where}). Correct it.")
        return _Object(name, in_corners(edges, where, ignored=bool(hard)))

    def _size(self, element: XmlElement | None) -> tuple[int, int] | None:
        """The width and height that are declared; 0 says nothing."""
        if element is None:
            return None
        sides = [self._number(child) if child else 0.0 for child in map(element.find, ("width", "height"))]
        if any(side < 0 or not side.is_integer() for side in sides):
            raise InputError(
                f"<width> and <height> of <size> must be whole numbers of pixels; got {sides!r:.80} "
                f"('{self._path}', line {element.line:,}). Correct them."
            )
        return (int(sides[0]), int(sides[1])) if all(sides) else None

    def _child(self, element: XmlElement, tag: str) -> XmlElement:
        found = element.find(tag)
        if found is None:
            raise InputError(
                f"<{element.tag}> must hold <{tag}>; there is none ('{self._path}', line "
                f"{element.line:,}). Add it."
            )
        return found

    def _number(self, element: XmlElement) -> float:
        text = self._text(element)
        number = number_in(text)
        if number is None:
            raise InputError(
                f"<{element.tag:.40}> must be a finite number; got {text!r:.40} ('{self._path}', line "
                f"{element.line:,}). Correct it."
            )
        return number

    def _text(self, element: XmlElement) -> str:
        raw = b"" if element.text_start < 0 else self._data[element.text_start : element.text_end]
        if element.children or b"<" in raw:
            raise InputError(
                f"<{element.tag:.40}> must hold plain text and nothing else ('{self._path}', line "
                f"{element.line:,}). Correct it."
            )
        return html.unescape(raw.decode("utf-8", "replace")).strip()
