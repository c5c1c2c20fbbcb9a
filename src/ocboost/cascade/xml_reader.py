"""Read a cascade from the XML that OpenCV writes, remembering where in the file every number is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from ocboost._kernels.cascade import RECTS
from ocboost.cascade.cascade import MAX_NODES, Cascade
from ocboost.cascade.xml_tree import XmlElement, parse
from ocboost.errors import InputError, ModelFileError

TYPE = "opencv-cascade-classifier"
OLD_TYPE = "opencv-haar-classifier"
_DECIMAL = re.compile(rb"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,4})?")
_WORD = re.compile(rb"\S+")
_INTEGER = re.compile(rb"[+-]?\d{1,9}\.?")
SINGLE_ENDS = float(np.finfo(np.float32).max) + 2.0**103  # from here on single precision rounds to infinity
MAX_WORDS = 4_000  # in one element; OpenCV's own have at most 12
MAX_TEXT = 200_000  # bytes of one element
WRONG_FILE = "Was another file meant?"
Span = tuple[int, int]


@dataclass(frozen=True)
class StagePlaces:
    """Where a stage's numbers are in the file."""

    element: Span
    threshold: Span
    trees: list[tuple[Span, Span]]  # of each tree the text of its nodes and that of its leaves


@dataclass(frozen=True)
class Places:
    """Where the numbers that can be changed are in the file."""

    stage_count: Span | None
    largest_count: Span | None  # of any stage's trees
    stages: list[StagePlaces]


class CascadeReader:
    """Reads a cascade from a parsed document; anything invalid raises `ModelFileError`."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self._name = name

    def read(self) -> tuple[Cascade, Places]:
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
        width, height = (self._whole(self._child(cascade, tag)) for tag in ("width", "height"))
        categories = self._child(cascade, "featureParams").find("maxCatCount")
        if categories is not None and self._whole(categories) != 0:
            self._refuse(categories, "<maxCatCount> must be 0 for Haar features")
        rects, weights, tilted = self._features(self._child(cascade, "features"))
        stages = self._filled(self._child(cascade, "stages"), "stage")
        self._count_nodes(stages)
        nodes: list[list[float]] = []
        leaves: list[float] = []
        tree_node, tree_leaf, stage_tree = [0], [0], [0]
        thresholds: list[float] = []
        places: list[StagePlaces] = []
        for stage in stages:
            threshold = self._child(stage, "stageThreshold")
            thresholds.append(self._numbers(threshold, 1)[0])
            trees: list[tuple[Span, Span]] = []
            for tree in self._filled(self._child(stage, "weakClassifiers"), "stump"):
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
            places.append(StagePlaces((stage.start, stage.end), self._spans(threshold)[0], trees))
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
                np.arange(len(places), dtype=np.int32),
            )
        except InputError as error:
            raise ModelFileError(f"{self._name} is not a valid cascade: {error}") from None
        params = cascade.find("stageParams")
        return made, Places(
            self._place(cascade.find("stageNum")),
            self._place(None if params is None else params.find("maxWeakCount")),
            places,
        )

    def _cascade(self, root: XmlElement) -> XmlElement:
        """The element that holds the cascade."""
        top = root.children[0] if root.tag == "opencv_storage" and root.children else None
        kind = None if top is None else top.attributes.get("type_id")
        if top is not None and kind == OLD_TYPE:
            self._refuse(
                top,
                f"the cascade must have the type {TYPE}; this one has the type {OLD_TYPE}, the format before "
                "OpenCV 2",
                "Convert it with cv2.CascadeClassifier.convert(old, new).",
            )
        if top is None or kind not in (None, TYPE) or (kind is None and top.tag != "cascade"):
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
            for tree in self._filled(self._child(stage, "weakClassifiers"), "stump"):
                total += len(self._words(self._child(tree, "internalNodes"))) // 4
                if total > MAX_NODES:
                    self._refuse(tree, f"it must have at most {MAX_NODES:,} nodes; it has more", WRONG_FILE)

    def _features(
        self, element: XmlElement
    ) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.bool_]]:
        features = self._filled(element, "feature")
        rects = np.zeros((len(features), RECTS, 4), np.int32)
        weights = np.zeros((len(features), RECTS), np.float32)
        tilted = np.zeros(len(features), np.bool_)
        for f, feature in enumerate(features):
            found = self._filled(self._child(feature, "rects"), "rectangle")
            if len(found) > RECTS:
                self._refuse(feature, f"<rects> must be at most {RECTS} rectangles; got {len(found)}")
            for r, rect in enumerate(found):
                *corner, weight = self._numbers(rect, 5)
                if any(not n.is_integer() or not 0 <= n < 2**30 for n in corner) or min(corner[2:]) < 1:
                    self._refuse(rect, "a rectangle must be x, y, width and height in pixels, and a weight")
                rects[f, r], weights[f, r] = corner, weight
            turned = feature.find("tilted")
            tilted[f] = turned is not None and self._whole(turned) != 0
        return rects, weights, tilted

    def _child(self, element: XmlElement, tag: str) -> XmlElement:
        found = element.find(tag)
        if found is None:
            self._refuse(element, f"<{element.tag}> must hold <{tag}>; there is none")
        return found

    def _filled(self, element: XmlElement, what: str) -> list[XmlElement]:
        if not element.children or any(child.tag != "_" for child in element.children):
            self._refuse(element, f"<{element.tag}> must hold at least one {what}, each in an element <_>")
        return element.children

    def _text(self, element: XmlElement) -> bytes:
        if element.children or element.text_start < 0 or not element.plain:
            self._refuse(element, f"<{element.tag}> must hold plain text and nothing else")
        if element.text_end - element.text_start > MAX_TEXT:
            self._refuse(
                element,
                f"<{element.tag}> must be at most {MAX_TEXT:,} bytes; got "
                f"{element.text_end - element.text_start:,}",
                WRONG_FILE,
            )
        return self._data[element.text_start : element.text_end]

    def _words(self, element: XmlElement) -> list[bytes]:
        words = self._text(element).split()
        if len(words) > MAX_WORDS:
            self._refuse(
                element,
                f"<{element.tag}> must be at most {MAX_WORDS:,} numbers; got {len(words):,}",
                WRONG_FILE,
            )
        return words

    def _word(self, element: XmlElement) -> str:
        return self._text(element).decode("utf-8", "replace").strip().strip('"')

    def _whole(self, element: XmlElement) -> int:
        words = self._text(element).split()
        if len(words) != 1 or not _INTEGER.fullmatch(words[0]):
            self._refuse(element, f"<{element.tag}> must be a whole number; got {self._word(element)!r:.40}")
        return int(words[0].rstrip(b"."))

    def _numbers(self, element: XmlElement, count: int | None = None) -> list[float]:
        """The numbers in an element, as single precision can hold them."""
        words = self._words(element)
        numbers: list[float] = []
        for word in words:
            number = float(word) if _DECIMAL.fullmatch(word) else SINGLE_ENDS
            if not -SINGLE_ENDS < number < SINGLE_ENDS:
                what = word.decode("utf-8", "replace")
                self._refuse(element, f"<{element.tag}> must be finite numbers; got {what!r:.40}")
            numbers.append(number)
        if count is not None and len(words) != count:
            self._refuse(element, f"<{element.tag}> must be {count} numbers; got {len(words)}")
        return numbers

    def _spans(self, element: XmlElement) -> list[Span]:
        self._words(element)  # refuses too many
        return words_in(self._data, element.text_span)

    def _place(self, element: XmlElement | None) -> Span | None:
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
