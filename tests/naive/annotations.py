"""Annotation files of every format read by plain loops, with exact numbers, from their bytes alone.

Each reader gives the pictures that a file names, with boxes as x, y, width and height, or raises
`Unreadable`.
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from xml.etree import ElementTree

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".pgm", ".ppm", ".pnm", ".tif", ".tiff", ".webp")
LARGEST = 2**30
Box = tuple[Fraction, Fraction, Fraction, Fraction]


class Unreadable(Exception):  # noqa: N818
    """What a file means is not plain."""


@dataclass
class Named:
    """A picture that a file names, with boxes around faces and around what is to be ignored."""

    name: str
    boxes: list[tuple[Box, bool]] = field(default_factory=list)
    size: tuple[int, int] | None = None
    relative: bool = False
    corners: bool = False
    stem: str | None = None  # of the file of annotations, where there is one for each picture


def need(condition: object) -> None:
    """Raise unless it is so."""
    if not condition:
        raise Unreadable


def text_of(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Unreadable from None
    need("\x00" not in text)
    return text[1:] if text.startswith("\ufeff") else text


def lines_of(data: bytes) -> list[str]:
    """Lines without the white space around them; those that are blank too."""
    text = text_of(data).replace("\r\n", "\n").replace("\r", "\n")
    return [line.strip() for line in text.split("\n")]


def number(word: str) -> Fraction:
    """A decimal number, letter by letter."""
    rest = word[1:] if word[:1] in ("+", "-") else word
    digits, exponent = rest, ""
    for k, letter in enumerate(rest):
        if letter in "eE":
            digits, exponent = rest[:k], rest[k + 1 :]
            need(exponent)
            break
    whole, dot, part = digits.partition(".")
    need(all(letter in string.digits for letter in whole + part) and (whole or part))
    need(len(whole) <= 40 and len(part) <= 40 and (whole or dot))
    power = 0
    if exponent:
        bare = exponent[1:] if exponent[0] in "+-" else exponent
        need(bare and len(bare) <= 4 and all(letter in string.digits for letter in bare))
        power = -int(bare) if exponent[0] == "-" else int(bare)
    value = Fraction(int(whole + part or "0")) / 10 ** len(part) * Fraction(10) ** power
    need(value < Fraction(10) ** 300)
    return -value if word[:1] == "-" else value


def box_of(values: list[Fraction]) -> Box:
    """x, y, width and height in pixels."""
    need(len(values) == 4 and all(abs(value) < LARGEST for value in values))
    x, y, w, h = values
    need(w > 0 and h > 0)
    need(not all(0 <= value <= 1 for value in values))  # shares of the picture, it seems
    return x, y, w, h


def faces_among(names: Iterable[str]) -> set[str]:
    """Which names are those of faces: the only one, or those that say so."""
    found = set(names)
    if len(found) <= 1:
        return found
    faces = {name for name in found if name.strip().casefold() in ("face", "faces")}
    need(faces)
    return faces


# The formats ----------------------------------------------------------------------------------------------


def read_csv(data: bytes) -> list[Named]:
    rows = [row for row in csv_rows(text_of(data)) if any(cell.strip() for cell in row)]
    need(rows)
    header = [cell.strip().strip('"').casefold() for cell in rows[0]]
    places = []
    for names in (("image",), ("x",), ("y",), ("w", "width"), ("h", "height")):
        where = [k for k, word in enumerate(header) if word in names]
        need(len(where) == 1)
        places.append(where[0])
    found: dict[str, Named] = {}
    for row in rows[1:]:
        need(len(row) == len(header))
        name, *cells = (row[k].strip() for k in places)
        need(name)
        named = found.setdefault(name, Named(name))
        if any(cells):
            named.boxes.append((box_of([number(cell) for cell in cells]), False))
    return list(found.values())


def csv_rows(text: str) -> list[list[str]]:
    """Rows of cells, letter by letter; a quote that does not end is unreadable."""
    rows: list[list[str]] = []
    row: list[str] = []
    cell: list[str] = []
    state = "start"  # of a cell; or "plain", "quoted", "closed"
    text = text.replace("\r\n", "\n").replace("\r", "\n") + "\n"
    for letter in text:
        if state == "quoted":
            if letter == '"':
                state = "closed"
            else:
                cell.append(letter)
        elif letter in ",\n":
            row.append("".join(cell))
            cell, state = [], "start"
            if letter == "\n":
                rows.append(row)
                row = []
        elif letter == '"' and state == "start":
            state = "quoted"
        elif letter == '"' and state == "closed":
            cell.append('"')
            state = "quoted"
        else:
            need(state != "closed")
            cell.append(letter)
            state = "plain"
    need(state == "start" and not row)
    return rows


def is_picture(name: str) -> bool:
    return name.lower().endswith(ENDINGS)


def read_info(data: bytes) -> list[Named]:
    found: dict[str, Named] = {}
    for line in lines_of(data):
        if not line:
            continue
        words = line.split()
        ways = []
        for k in range(1, len(words)):
            count = words[k]
            whole = len(count) <= 6 and all(letter in string.digits for letter in count)
            if whole and int(count) * 4 == len(words) - k - 1 and is_picture(words[k - 1]):
                ways.append(k)
        need(ways)
        k = ways[0]
        name, rest = line, words[k:]
        for word in reversed(rest):  # what is before the count, with the white space in it
            name = name[: -len(word)].rstrip()
        named = found.setdefault(name, Named(name))
        for at in range(1, len(rest), 4):
            named.boxes.append((box_of([number(word) for word in rest[at : at + 4]]), False))
    return list(found.values())


def read_bg(data: bytes) -> list[Named]:
    names = [line for line in lines_of(data) if line]
    need(all(is_picture(name) for name in names))
    return [Named(name) for name in dict.fromkeys(names)]


def json_number(word: str) -> Fraction | float:
    """A number of JSON, without computing ten to the power of a billion."""
    power = word.lower().partition("e")[2].lstrip("+-0")
    return float(word) if len(power) > 3 else Fraction(word)


def read_coco(data: bytes) -> list[Named]:
    def unique(pairs):
        need(len({key for key, _ in pairs}) == len(pairs))
        return dict(pairs)

    try:
        tree = json.loads(text_of(data), object_pairs_hook=unique, parse_float=json_number)
    except (ValueError, RecursionError, OverflowError, MemoryError):
        raise Unreadable from None
    need(isinstance(tree, dict))
    images, annotations = tree.get("images"), tree.get("annotations")
    categories = tree.get("categories", [])
    for some in (images, annotations, categories):
        need(isinstance(some, list) and all(isinstance(each, dict) for each in some))
    by_id: dict[int | str, Named] = {}
    by_name: dict[str, Named] = {}
    for image in images:
        name, key = image.get("file_name"), image.get("id")
        need(isinstance(name, str) and name)
        sides = [image.get(side) or 0 for side in ("width", "height")]
        need(all(type(side) is int and side >= 0 for side in sides))
        size = (sides[0], sides[1]) if all(sides) else None
        named = by_name.setdefault(name, Named(name, size=size))
        need(named.size == size and type(key) in (int, str) and by_id.setdefault(key, named) is named)
    names: dict[int | str, str] = {}
    for category in categories:
        key, name = category.get("id"), category.get("name")
        need(type(key) in (int, str) and isinstance(name, str) and names.setdefault(key, name) == name)
    for annotation in annotations:
        key, category = annotation.get("image_id"), annotation.get("category_id")
        need(type(key) in (int, str) and key in by_id and type(category) in (int, str))
        need(category in names if categories else names.setdefault(category, str(category)))
    faces = faces_among(names.values())
    for annotation in annotations:
        if names[annotation["category_id"]] in faces:
            box, crowd = annotation.get("bbox"), annotation.get("iscrowd", 0)
            need(isinstance(box, list) and all(type(each) in (int, Fraction) for each in box))
            need(isinstance(crowd, int) and crowd in (0, 1))
            by_id[annotation["image_id"]].boxes.append((box_of([Fraction(each) for each in box]), crowd == 1))
    return list(by_name.values())


def read_voc(files: dict[str, bytes]) -> list[Named]:
    """Of each picture one file."""
    trees = {name: voc_tree(data) for name, data in files.items()}
    faces = faces_among(
        text(one(thing, "name")) for tree in trees.values() for thing in tree.findall("object")
    )
    found = []
    for name, tree in trees.items():
        stem = name.rsplit(".", 1)[0]
        called = text(one(tree, "filename")) if tree.findall("filename") else ""
        named = Named(called or stem, corners=True, stem=stem)
        if tree.findall("size"):
            size = one(tree, "size")
            sides = [
                number(text(one(size, side))) if size.findall(side) else 0 for side in ("width", "height")
            ]
            need(all(side >= 0 and side == int(side) for side in sides))
            named.size = (int(sides[0]), int(sides[1])) if all(sides) else None
        for thing in tree.findall("object"):
            edges = one(thing, "bndbox")
            left, top, right, bottom = (
                number(text(one(edges, edge))) for edge in ("xmin", "ymin", "xmax", "ymax")
            )
            need(all(abs(edge) < LARGEST for edge in (left, top, right, bottom)))
            need(not all(0 <= edge <= 1 for edge in (left, top, right, bottom)))
            hard = number(text(one(thing, "difficult"))) if thing.findall("difficult") else 0
            need(hard in (0, 1))
            box = box_of([left, top, right - left, bottom - top])
            if text(one(thing, "name")) in faces:
                named.boxes.append((box, hard == 1))
        found.append(named)
    return found


def voc_tree(data: bytes) -> ElementTree.Element:
    text_of(data)
    need(b"<!DOCTYPE" not in data and b"<!ENTITY" not in data)
    try:
        tree = ElementTree.fromstring(data)
    except (ElementTree.ParseError, LookupError, ValueError):
        raise Unreadable from None
    need(tree.tag == "annotation")
    placed = sum(
        len(thing.findall("bndbox")) + len(thing.findall("part/bndbox")) for thing in tree.findall("object")
    )
    need(placed == sum(1 for _ in tree.iter("bndbox")))
    for thing in tree.findall("object"):
        need(text(one(thing, "name")))
    return tree


def one(element: ElementTree.Element, tag: str) -> ElementTree.Element:
    found = element.findall(tag)
    need(len(found) == 1)
    return found[0]


def text(element: ElementTree.Element) -> str:
    need(not len(element))
    return (element.text or "").strip()


def read_yolo(files: dict[str, bytes], names: bytes | None) -> list[Named]:
    """Of each picture one file; ``names`` of the classes have a line each."""
    classes = ["0"]
    if names is not None:
        classes = lines_of(names)
        while classes and not classes[-1]:
            classes.pop()
        need(classes and all(classes))
    faces = faces_among(classes)
    found = []
    for name, data in files.items():
        stem = name.rsplit(".", 1)[0]
        named = Named(stem, relative=True, stem=stem)
        for line in lines_of(data):
            if not line:
                continue
            kind, *words = line.split()
            need(len(words) == 4 and len(kind) <= 6 and all(letter in string.digits for letter in kind))
            need(int(kind) < len(classes))
            x, y, w, h = (number(word) for word in words)
            need(max(x, y, w, h) <= 1 + Fraction(1, 10_000) and min(x, y) >= 0 and min(w, h) > 0)
            if classes[int(kind)] in faces:
                named.boxes.append(((x - w / 2, y - h / 2, w, h), False))
        found.append(named)
    return found
