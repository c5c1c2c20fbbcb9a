"""Annotations of Pascal VOC: an XML file for each picture."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ocboost.cascade.annotations.boxes import MarkedBox, MarkedPicture, in_corners, without_faces
from ocboost.cascade.annotations.categories import face_names, told
from ocboost.cascade.annotations.lookup import ImageFinder
from ocboost.cascade.annotations.text import bytes_of, decoded, number_in
from ocboost.cascade.sources import PICTURE_ENDINGS, Notify
from ocboost.cascade.xml import XmlElement, parse
from ocboost.datasets.images import refused
from ocboost.errors import InputError, ModelFileError

_ENCODING = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([^"']*)""")
_REFERENCE = re.compile(r"&(#[0-9]+|#x[0-9a-fA-F]+|amp|lt|gt|quot|apos);")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def is_voc(path: Path) -> bool:
    """Whether an XML file looks like an annotation of Pascal VOC."""
    return b"<annotation" in bytes_of(path)


def is_detector(path: Path) -> bool:
    """Whether an XML file looks like a detector of OpenCV."""
    return b"<opencv_storage" in bytes_of(path)


class _Object(NamedTuple):
    name: str
    box: MarkedBox


def read_voc(files: Sequence[Path], finder: ImageFinder, notify: Notify, alone: bool) -> list[MarkedPicture]:
    """The pictures of the files, and unless a file is given ``alone`` those beside that have none."""
    pictures: list[MarkedPicture] = []
    objects: list[list[_Object]] = []
    taken: dict[Path, Path] = {}
    for path in files:
        picture, found = _VocFile(path).read()
        picture.path = _found(picture, path, finder)
        if picture.path is not None and taken.setdefault(picture.path, path) != path:
            raise InputError(
                f"Each XML file of Pascal VOC must be for another picture; '{taken[picture.path]}' and "
                f"'{path}' are both for '{picture.path}'. Correct <filename> in one of them."
            )
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
        rest = [path for path in finder.all_pictures() if path not in taken]
        pictures += [MarkedPicture(path.name, f"'{path}'", path=path) for path in rest]
        if rest:
            notify(without_faces(len(rest), "XML file"))
    return pictures


def _found(picture: MarkedPicture, path: Path, finder: ImageFinder) -> Path | None:
    """The picture of the name that the file gives, or else one called like the file; never two of them."""
    named = finder.find(picture.name, picture.where)
    if named is not None and named.stem == path.stem:
        return named
    tries = (finder.find(path.stem + ending, picture.where) for ending in PICTURE_ENDINGS)
    called = next((found for found in tries if found is not None), None)
    if named is not None and called is not None:
        raise InputError(
            f"An XML file of Pascal VOC must be for one picture; '{path}' has the <filename> "
            f"{picture.name!r:.80}, and there is also '{called}'. Correct <filename>, or rename one of them."
        )
    return named or called


class _VocFile:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._data = bytes_of(path)
        decoded(self._data, path)
        encoding = _ENCODING.search(self._data)
        if encoding and encoding[1].lower() != b"utf-8" and not self._data.isascii():
            raise refused(
                path,
                "be text in UTF-8, and say so",
                f"it says that it is {encoding[1].decode()!r:.40}",
                'Save it as UTF-8, with encoding="UTF-8" or none in the first line.',
            )

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
        name = self._at_most_one(root, "filename")
        picture = MarkedPicture(
            ("" if name is None else self._text(name)) or self._path.stem,
            f"'{self._path}'",
            declared=self._size(self._at_most_one(root, "size")),
            edges=True,
        )
        self._refuse_boxes_elsewhere(root)
        objects = [self._object(child) for child in root.children if child.tag == "object"]
        return picture, objects

    def _refuse_boxes_elsewhere(self, element: XmlElement, path: tuple[str, ...] = ()) -> None:
        """A box that is not where it belongs would be overlooked, and its picture have too few faces."""
        for child in element.children:
            inner = (*path, child.tag)
            if child.tag == "bndbox" and path not in (("object",), ("object", "part")):
                raise InputError(
                    f"<bndbox> must be in an <object> of <annotation>, or in one's <part>; one is elsewhere "
                    f"('{self._path}', line {child.line:,}). Correct it."
                )
            self._refuse_boxes_elsewhere(child, inner)

    def _object(self, element: XmlElement) -> _Object:
        where = f"'{self._path}', line {element.line:,}"
        box = self._child(element, "bndbox")
        edges = [self._number(self._child(box, tag)) for tag in ("xmin", "ymin", "xmax", "ymax")]
        difficult = self._at_most_one(element, "difficult")
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
        found = (self._at_most_one(element, tag) for tag in ("width", "height"))
        sides = [self._number(child) if child else 0.0 for child in found]
        if any(side < 0 or not side.is_integer() for side in sides):
            raise InputError(
                f"<width> and <height> of <size> must be whole numbers of pixels; got {sides!r:.80} "
                f"('{self._path}', line {element.line:,}). Correct them."
            )
        return (int(sides[0]), int(sides[1])) if all(sides) else None

    def _child(self, element: XmlElement, tag: str) -> XmlElement:
        found = self._at_most_one(element, tag)
        if found is None:
            raise InputError(
                f"<{element.tag}> must hold <{tag}>; there is none ('{self._path}', line "
                f"{element.line:,}). Add it."
            )
        return found

    def _at_most_one(self, element: XmlElement, tag: str) -> XmlElement | None:
        found = [child for child in element.children if child.tag == tag]
        if len(found) > 1:
            raise InputError(
                f"<{element.tag}> must hold one <{tag}>; it holds {len(found)} ('{self._path}', line "
                f"{found[1].line:,}). Remove the wrong one."
            )
        return found[0] if found else None

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
        if element.children or b"<" in raw or b"]]>" in raw:  # the latter ends a CDATA section
            raise InputError(
                f"<{element.tag:.40}> must hold plain text and nothing else ('{self._path}', line "
                f"{element.line:,}). Correct it."
            )
        return _REFERENCE.sub(_character, raw.decode("utf-8", "replace")).strip()


def _character(reference: re.Match[str]) -> str:
    """The character that a reference stands for; the parser has checked that there is one."""
    name = reference[1]
    if name[0] != "#":
        return _NAMED[name]
    return chr(int(name[2:], 16) if name[1] == "x" else int(name[1:]))
