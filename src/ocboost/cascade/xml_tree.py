"""Untrusted XML: elements with the places of their text in the file, and nothing that could explode.

A document with a DOCTYPE is refused, and with it every entity and every outside file. What is unpacked, how
deep elements lie, how many there are and how many pieces their text has is limited.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from ocboost.errors import InputError, ModelFileError

MAX_BYTES = 16 << 20
MAX_DEPTH = 32
MAX_ELEMENTS = 300_000  # OpenCV's own have at most 61,000
MAX_PIECES = 1_000_000  # of text; each end of a line is one
_GZIP = b"\x1f\x8b"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff", b"<\x00?\x00", b"\x00<\x00?")
_SIGNATURES = (  # where it stands, what stands there, and what begins so
    (4, b"ftyp", "a video (MP4 or the like)"),
    (8, b"AVI ", "a video (AVI)"),
    (0, b"\x1aE\xdf\xa3", "a video (Matroska or WebM)"),
    (0, b"\x00\x00\x01\xba", "a video (MPEG)"),
    (0, b"\x89PNG", "a picture (PNG)"),
    (0, b"\xff\xd8\xff", "a picture (JPEG)"),
    (0, b"GIF8", "a picture (GIF)"),
    (8, b"WEBP", "a picture (WebP)"),
    (0, b"II*\x00", "a picture (TIFF)"),
    (0, b"MM\x00*", "a picture (TIFF)"),
    (0, b"%PDF", "a PDF"),
    (0, b"PK\x03\x04", "a zip file"),
)


@dataclass(slots=True)
class XmlElement:
    """An element: where it begins and ends in the file, and where its text does if it has no elements."""

    tag: str
    line: int
    start: int
    attributes: dict[str, str]
    end: int = -1
    text_start: int = -1
    text_end: int = -1
    plain: bool = True  # the text is the bytes of the file: no entities or comments in between
    children: list[XmlElement] = field(default_factory=list)

    @property
    def text_span(self) -> tuple[int, int]:
        """Where its text begins and ends."""
        return self.text_start, self.text_end

    def find(self, tag: str) -> XmlElement | None:
        """The first child of this name."""
        return next((child for child in self.children if child.tag == tag), None)


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """A file's bytes, unpacked if it is packed with gzip, and no more of them than `MAX_BYTES`."""
    place = Path(path)
    if not place.is_file():
        what = "is no ordinary file" if place.exists() else "does not exist"
        what = "is a folder" if place.is_dir() else what
        raise InputError(f"path must be an XML file of a cascade; '{place}' {what}. Check the name.")
    with open(place, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if data[:2] == _GZIP:
        data = _unpacked(data, place)
    _require_text(data, place)
    if len(data) > MAX_BYTES:
        raise ModelFileError(
            f"{place} is no cascade: it has more than {MAX_BYTES >> 20} MB, and OpenCV's own have at most 3. "
            "Was another file meant?"
        )
    return data


def _require_text(data: bytes, place: Path) -> None:
    """Refuse what is no text, and say what it is where its first bytes tell."""
    if data[:2] in _UTF_16 or data[:4] in _UTF_16:
        raise ModelFileError(
            f"{place} must be text in UTF-8, as OpenCV writes it; it is UTF-16. Save it as UTF-8."
        )
    kinds = (kind for at, bytes_, kind in _SIGNATURES if data[at : at + len(bytes_)] == bytes_)
    kind = next(kinds, "not text" if b"\x00" in data[:1024] else None)
    if kind is not None:
        raise ModelFileError(
            f"{place} must be a cascade of OpenCV, an XML file such as haarcascade_frontalface_default.xml; "
            f"it is {kind}. Was another file meant?"
        )


def _unpacked(data: bytes, place: Path) -> bytes:
    parts: list[bytes] = []
    room = MAX_BYTES + 1
    try:
        while data and room > 0:
            unpacker = zlib.decompressobj(wbits=31)
            parts.append(unpacker.decompress(data, room))
            room -= len(parts[-1])
            if room > 0 and not unpacker.eof:
                raise zlib.error("it ends too early")
            data = unpacker.unused_data
    except zlib.error as error:
        raise ModelFileError(
            f"{place} is damaged or cut short: it cannot be unpacked ({error}). Get a fresh copy."
        ) from None
    return b"".join(parts)


class _Builder:
    """Puts elements together as the parser meets them."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self._name = name
        self._parser = expat.ParserCreate()
        self._open: list[XmlElement] = []
        self._pieces: list[str] = []
        self._count = 0
        self._texts = 0
        self.root: XmlElement | None = None

    def parse(self) -> XmlElement:
        parser = self._parser
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        parser.ExternalEntityRefHandler = self._refuse
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        try:
            parser.Parse(self._data, True)
        except expat.ExpatError as error:
            raise ModelFileError(
                f"{self._name} is not XML, or is damaged or cut short: {error}. Get a fresh copy of it."
            ) from None
        except ModelFileError:  # what our own handlers refuse; it is a ValueError too
            raise
        except (LookupError, ValueError) as error:  # an encoding that Python does not know, or not as a table
            raise ModelFileError(f"{self._name} cannot be read: {error}. Save it as UTF-8.") from None
        if self.root is None:  # expat has refused that already
            raise ModelFileError(f"{self._name} is not XML: it has no element.")
        return self.root

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MAX_ELEMENTS:
            self._too_much(f"more than {MAX_ELEMENTS:,} elements")
        if len(self._open) >= MAX_DEPTH:
            self._too_much("elements too deep")
        element = XmlElement(tag, self._parser.CurrentLineNumber, self._parser.CurrentByteIndex, attributes)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)
        self._pieces.clear()

    def _text(self, text: str) -> None:
        self._texts += 1
        if self._texts > MAX_PIECES:
            self._too_much(f"more than {MAX_PIECES:,} lines and pieces of text")
        element = self._open[-1]
        if element.children:
            return
        if element.text_start < 0:
            element.text_start = self._parser.CurrentByteIndex
        self._pieces.append(text)

    def _end(self, tag: str) -> None:
        element = self._open.pop()
        at = self._parser.CurrentByteIndex
        if self._data[at : at + 2] == b"</":
            element.end = self._data.index(b">", at) + 1
        if element.text_start >= 0 and not element.children:
            element.text_end = at
            raw = self._data[element.text_start : at].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            element.plain = raw == "".join(self._pieces).encode("ascii", "replace")
        self._pieces.clear()

    def _too_much(self, what: str) -> NoReturn:
        raise ModelFileError(
            f"{self._name} is no cascade: it has {what} (line {self._parser.CurrentLineNumber}). "
            "OpenCV does not write such files."
        )

    def _refuse(self, *_: Any) -> NoReturn:
        raise ModelFileError(
            f"{self._name} must have no DOCTYPE and no entities (line {self._parser.CurrentLineNumber}): "
            "they can make a small file large or read other files, and OpenCV writes none. Remove them."
        )


def parse(data: bytes, name: str) -> XmlElement:
    """The root element of a document; anything wrong with it raises `ModelFileError`."""
    return _Builder(data, name).parse()
