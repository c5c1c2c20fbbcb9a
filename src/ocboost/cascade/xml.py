"""Read a cascade from the XML that OpenCV writes, with where in the file every number is.

The file is not trusted. A document with a DOCTYPE is refused, and with it every entity and every external
file. The size after unpacking, the depth of elements, their number and the pieces of text are limited.
"""

from __future__ import annotations

import os
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from ocboost._kernels.cascade import RECTS
from ocboost.cascade.cascade import MAX_NODES, Cascade
from ocboost.errors import InputError, ModelFileError

MAX_BYTES = 16 << 20
MAX_DEPTH = 32
MAX_ELEMENTS = 300_000  # OpenCV's own have at most 61,000
MAX_TEXT_PIECES = 1_000_000  # each end of a line is one
_GZIP = b"\x1f\x8b"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff", b"<\x00?\x00", b"\x00<\x00?")
_SIGNATURES = (  # position, bytes there, kind of file
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
CASCADE_TYPE = "opencv-cascade-classifier"
OLD_CASCADE_TYPE = "opencv-haar-classifier"
_DECIMAL = re.compile(rb"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,4})?")
_WORD = re.compile(rb"\S+")
_INTEGER = re.compile(rb"[+-]?(0|[1-9]\d{0,8})\.?")
_OCTAL = re.compile(rb"[+-]?0\d+")  # OpenCV reads 010 as 8
FLOAT32_OVERFLOW = float(np.finfo(np.float32).max) + 2.0**103  # rounds to infinity in single precision
MAX_ELEMENT_WORDS = 4_000  # OpenCV's own have at most 12
MAX_ELEMENT_BYTES = 200_000
WRONG_FILE = "Was another file meant?"
Span = tuple[int, int]


# The file as XML ------------------------------------------------------------------------------------


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


class _TreeBuilder:
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
        if self._texts > MAX_TEXT_PIECES:
            self._too_much(f"more than {MAX_TEXT_PIECES:,} lines and pieces of text")
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
    return _TreeBuilder(data, name).parse()


# The XML as a cascade ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class StageSpans:
    """Where a stage's numbers are in the file."""

    element: Span
    threshold: Span
    trees: list[tuple[Span, Span]]  # of each tree the text of its nodes and that of its leaves


@dataclass(frozen=True)
class CascadeSpans:
    """Where the numbers that can be changed are in the file."""

    stage_count: Span | None
    max_weak_count: Span | None  # of any stage's trees
    stages: list[StageSpans]


class CascadeReader:
    """Reads a cascade from a parsed document; anything invalid raises `ModelFileError`."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self._name = name

    def read(self) -> tuple[Cascade, CascadeSpans]:
        """The cascade, and where its numbers are."""
        cascade = self._cascade(parse(self._data, self._name))
        for tag, wanted in (("stageType", "BOOST"), ("featureType", "HAAR")):
            found = self._word(self._child(cascade, tag))
            if found != wanted:
                self._refuse(
                    self._child(cascade, tag),
                    f"<{tag}> must be {wanted}, the only kind that is read; got {found!r:.40}",
                    "Take a cascade of Haar features, such as haarcascade_frontalface_default.xml.",
                )
        width, height = (self._integer(self._child(cascade, tag)) for tag in ("width", "height"))
        categories = self._child(cascade, "featureParams").find("maxCatCount")
        if categories is not None and self._integer(categories) != 0:
            self._refuse(categories, "<maxCatCount> must be 0 for Haar features")
        rects, weights, tilted = self._features(self._child(cascade, "features"))
        stages = self._items(self._child(cascade, "stages"), "stage")
        self._count_nodes(stages)
        nodes: list[list[float]] = []
        leaves: list[float] = []
        tree_node, tree_leaf, stage_tree = [0], [0], [0]
        thresholds: list[float] = []
        spans: list[StageSpans] = []
        for stage in stages:
            threshold = self._child(stage, "stageThreshold")
            thresholds.append(self._numbers(threshold, 1)[0])
            trees: list[tuple[Span, Span]] = []
            for tree in self._items(self._child(stage, "weakClassifiers"), "stump"):
                inner, outer = self._child(tree, "internalNodes"), self._child(tree, "leafValues")
                numbers, values = self._numbers(inner), self._numbers(outer)
                if len(numbers) % 4 or not numbers:
                    self._refuse(
                        inner, f"<internalNodes> must be 4 numbers a node; got {len(numbers)} numbers"
                    )
                if len(values) != len(numbers) // 4 + 1:
                    count = len(numbers) // 4 + 1
                    self._refuse(outer, f"<leafValues> must be {count} numbers; got {len(values)}")
                for k in range(0, len(numbers), 4):
                    if any(not n.is_integer() or abs(n) > 2**30 for n in numbers[k : k + 3]):
                        self._refuse(inner, "<internalNodes> must begin with three whole numbers a node")
                    nodes.append(numbers[k : k + 4])
                leaves.extend(values)
                tree_node.append(len(nodes))
                tree_leaf.append(len(leaves))
                trees.append((inner.text_span, outer.text_span))
            stage_tree.append(len(tree_node) - 1)
            spans.append(StageSpans((stage.start, stage.end), self._spans(threshold)[0], trees))
        table = np.array(nodes)
        children = table[:, :3].astype(np.int32)
        try:
            made = Cascade(
                width,
                height,
                rects,
                weights,
                tilted,
                children[:, 2],
                table[:, 3].astype(np.float32),
                children[:, 0],
                children[:, 1],
                np.array(leaves, np.float32),
                np.array(tree_node, np.int32),
                np.array(tree_leaf, np.int32),
                np.array(stage_tree, np.int32),
                np.array(thresholds, np.float32),
                np.arange(len(spans), dtype=np.int32),
            )
        except InputError as error:
            raise ModelFileError(f"{self._name} is not a valid cascade: {error}") from None
        params = cascade.find("stageParams")
        return made, CascadeSpans(
            self._only_word(cascade.find("stageNum")),
            self._only_word(None if params is None else params.find("maxWeakCount")),
            spans,
        )

    def _cascade(self, root: XmlElement) -> XmlElement:
        """The element that holds the cascade."""
        top = root.children[0] if root.tag == "opencv_storage" and root.children else None
        kind = None if top is None else top.attributes.get("type_id")
        if top is not None and kind == OLD_CASCADE_TYPE:
            self._refuse(
                top,
                f"the cascade must have the type {CASCADE_TYPE}; this one has the type "
                f"{OLD_CASCADE_TYPE}, the format before OpenCV 2",
                "Convert it with cv2.CascadeClassifier.convert(old, new).",
            )
        if top is None or kind not in (None, CASCADE_TYPE) or (kind is None and top.tag != "cascade"):
            found = f"<{root.tag}>" if top is None else f"<{root.tag}> with <{top.tag}>"
            self._refuse(
                root,
                f"a cascade must begin with <opencv_storage> and <cascade>; the file begins with {found:.80}",
                WRONG_FILE,
            )
        return top

    def _count_nodes(self, stages: list[XmlElement]) -> None:
        """Refuse too many nodes before a single number is read."""
        total = 0
        for stage in stages:
            for tree in self._items(self._child(stage, "weakClassifiers"), "stump"):
                total += len(self._words(self._child(tree, "internalNodes"))) // 4
                if total > MAX_NODES:
                    self._refuse(tree, f"it must have at most {MAX_NODES:,} nodes; it has more", WRONG_FILE)

    def _features(
        self, element: XmlElement
    ) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.bool_]]:
        features = self._items(element, "feature")
        rects = np.zeros((len(features), RECTS, 4), np.int32)
        weights = np.zeros((len(features), RECTS), np.float32)
        tilted = np.zeros(len(features), np.bool_)
        for f, feature in enumerate(features):
            found = self._items(self._child(feature, "rects"), "rectangle")
            if len(found) > RECTS:
                self._refuse(feature, f"<rects> must be at most {RECTS} rectangles; got {len(found)}")
            for r, rect in enumerate(found):
                *corner, weight = self._numbers(rect, 5)
                if any(not n.is_integer() or not 0 <= n < 2**30 for n in corner) or min(corner[2:]) < 1:
                    self._refuse(rect, "a rectangle must be x, y, width and height in pixels, and a weight")
                rects[f, r], weights[f, r] = corner, weight
            turned = feature.find("tilted")
            tilted[f] = turned is not None and self._integer(turned) != 0
        return rects, weights, tilted

    def _child(self, element: XmlElement, tag: str) -> XmlElement:
        found = element.find(tag)
        if found is None:
            self._refuse(element, f"<{element.tag}> must hold <{tag}>; there is none")
        return found

    def _items(self, element: XmlElement, what: str) -> list[XmlElement]:
        if not element.children or any(child.tag != "_" for child in element.children):
            self._refuse(element, f"<{element.tag}> must hold at least one {what}, each in an element <_>")
        return element.children

    def _text(self, element: XmlElement) -> bytes:
        if element.children or element.text_start < 0 or not element.plain:
            self._refuse(element, f"<{element.tag}> must hold plain text and nothing else")
        if element.text_end - element.text_start > MAX_ELEMENT_BYTES:
            self._refuse(
                element,
                f"<{element.tag}> must be at most {MAX_ELEMENT_BYTES:,} bytes; got "
                f"{element.text_end - element.text_start:,}",
                WRONG_FILE,
            )
        return self._data[element.text_start : element.text_end]

    def _words(self, element: XmlElement) -> list[bytes]:
        words = self._text(element).split()
        if len(words) > MAX_ELEMENT_WORDS:
            self._refuse(
                element,
                f"<{element.tag}> must be at most {MAX_ELEMENT_WORDS:,} numbers; got {len(words):,}",
                WRONG_FILE,
            )
        return words

    def _word(self, element: XmlElement) -> str:
        return self._text(element).decode("utf-8", "replace").strip().strip('"')

    def _integer(self, element: XmlElement) -> int:
        words = self._text(element).split()
        if len(words) != 1 or not _INTEGER.fullmatch(words[0]):
            self._refuse(element, f"<{element.tag}> must be a whole number; got {self._word(element)!r:.40}")
        return int(words[0].rstrip(b"."))

    def _numbers(self, element: XmlElement, count: int | None = None) -> list[float]:
        """The numbers in an element, as single precision can hold them."""
        words = self._words(element)
        numbers: list[float] = []
        for word in words:
            if _OCTAL.fullmatch(word):
                what = f"<{element.tag}> must be numbers without leading zeros, which OpenCV reads as octal"
                self._refuse(element, f"{what}; got {word.decode()!r:.40}")
            number = float(word) if _DECIMAL.fullmatch(word) else FLOAT32_OVERFLOW
            if not -FLOAT32_OVERFLOW < number < FLOAT32_OVERFLOW:
                what = word.decode("utf-8", "replace")
                self._refuse(element, f"<{element.tag}> must be finite numbers; got {what!r:.40}")
            numbers.append(number)
        if count is not None and len(words) != count:
            self._refuse(element, f"<{element.tag}> must be {count} numbers; got {len(words)}")
        return numbers

    def _spans(self, element: XmlElement) -> list[Span]:
        self._words(element)  # refuses too many
        return words_in(self._data, element.text_span)

    def _only_word(self, element: XmlElement | None) -> Span | None:
        """Where the only word of an element is, if it is there and has one."""
        if element is None or element.children or element.text_start < 0 or not element.plain:
            return None
        spans = self._spans(element)
        return spans[0] if len(spans) == 1 else None

    def _refuse(
        self, element: XmlElement, what: str, advice: str = "Get a fresh copy of the cascade."
    ) -> NoReturn:
        raise ModelFileError(f"{self._name} is not a valid cascade: {what} (line {element.line}). {advice}")


def words_in(data: bytes, span: Span) -> list[Span]:
    """Where each word of a piece of the file is.

    >>> words_in(b"<a> 1 -2.5</a>", (3, 10))
    [(4, 5), (6, 10)]
    """
    return [match.span() for match in _WORD.finditer(data, *span)]
