"""Annotation files of every format, damaged in every way one can think of, drawn from a seed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from ocboost.cascade.annotations import write_coco

NAMES = [f"p{k:02d}.png" for k in range(10)] + ["a 1 b.png", "gesicht-ü.png"]
SIZES = {name: (40 + 7 * k % 60, 40 + 11 * k % 50) for k, name in enumerate(NAMES)}
UNMARKED = ("p02.png", "p03.png")  # have no file of Pascal VOC or YOLO
KINDS = ("coco", "csv", "info", "bg", "voc", "yolo")
FILES = {"coco": "boxes.json", "csv": "boxes.csv", "info": "info.dat", "bg": "bg.txt"}
WORDS = [
    "nan", "inf", "-1", "-0", "0", "0.5", "1e999", "1e-9", "1e5", "99999999999999999999", "9" * 400, "+5",
    "05", "010", "5.", ".5", "1_0", "0x10", "NaN", "Infinity", "", "null", "true", '"7"', "٣", "7,5", "1 2",
    "face", "car", "../x.png", "/etc/passwd", "p01.png", "C:\\p01.png", "x/p01.png", "p99.png", "&#55;",
    "&amp;", "&x;", "[1, 2]", "{}", "<b/>", "<!-- x -->", "<![CDATA[7]]>", "\x1b[31m", "\u202e", "[" * 3000,
    '{"a":' * 3000,
]  # fmt: skip
PIECES = [
    b"\x00",
    b"\xff",
    b'"',
    b"'",
    b",",
    b"{",
    b"}",
    b"]",
    b"<",
    b">",
    b"\n",
    b"\r",
    b"\t",
    b" ",
    b"\xef\xbb\xbf",
]
LAUGHS = b"""<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;
&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;">]>"""
OUTSIDE = b'<!DOCTYPE l [<!ENTITY d SYSTEM "file:///etc/passwd">]>'
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "utf-7", "utf-8-sig", "cp500")
_TOKEN = re.compile(rb"[^\s,:<>\[\]{}\"/]+")
_NUMBER = re.compile(rb"[0-9.]+")
Files = dict[str, bytes]


def marks(rng: random.Random) -> dict[str, list[list[int]]]:
    """Boxes inside the pictures; some pictures have none."""
    found: dict[str, list[list[int]]] = {}
    for k, (name, (width, height)) in enumerate(SIZES.items()):
        some = []
        for _ in range(0 if k % 4 == 3 else rng.randint(1, 3)):
            w, h = rng.randint(8, 24), rng.randint(8, 24)
            some.append([rng.randint(0, width - w), rng.randint(0, height - h), w, h])
        found[name] = some
    return found


def write_pictures(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for k, (name, size) in enumerate(SIZES.items()):
        Image.fromarray(np.full(size[::-1], 20 * k, np.uint8)).save(folder / name)
    return folder


def valid_files(kind: str, boxes: dict[str, list[list[int]]], rng: random.Random) -> Files:
    """The files of a valid set."""
    if kind == "coco":
        pictures = [(name, *SIZES[name], some, some[:1]) for name, some in boxes.items()]
        return {FILES[kind]: write_coco(pictures)}
    if kind == "csv":
        rows = [f'"{name}",{x},{y},{w},{h}' for name, some in boxes.items() for x, y, w, h in some]
        rows += [f"{name},,,," for name, some in boxes.items() if not some]
        return {FILES[kind]: "\n".join(["image,x,y,w,h", *rows, ""]).encode()}
    if kind == "info":
        lines = [[name, len(some), *(n for box in some for n in box)] for name, some in boxes.items()]
        return {FILES[kind]: "\n".join(" ".join(map(str, line)) for line in lines).encode() + b"\n"}
    if kind == "bg":
        return {FILES[kind]: "\n".join(boxes).encode() + b"\n"}
    if kind == "voc":
        return {f"{name[:-4]}.xml": _voc(name, boxes[name]) for name in NAMES if name not in UNMARKED}
    files = {}
    for name in (name for name in NAMES if name not in UNMARKED):
        some = boxes[name]
        width, height = SIZES[name]
        rows = [
            f"1 {(x + w / 2) / width:.6f} {(y + h / 2) / height:.6f} {w / width:.6f} {h / height:.6f}\n"
            for x, y, w, h in some
        ]
        files[f"{name[:-4]}.txt"] = "".join(rows).encode()
    if rng.random() < 0.5:  # without names there is only class 0
        return {name: re.sub(rb"(?m)^1", b"0", data) for name, data in files.items()}
    return files | {"classes.txt": b"car\nface\nbicycle\n"}


def _voc(name: str, boxes: list[list[int]]) -> bytes:
    lines = [
        "<?xml version='1.0' encoding='utf-8'?>",
        "<annotation>",
        f"  <filename>{name}</filename>",
        "  <size>",
    ]
    lines += [f"    <width>{SIZES[name][0]}</width>", f"    <height>{SIZES[name][1]}</height>", "  </size>"]
    for k, (x, y, w, h) in enumerate(boxes):
        lines += [
            "  <object>",
            "    <name>face</name>",
            f"    <difficult>{k // 2}</difficult>",
            "    <bndbox>",
        ]
        edges = {"xmin": x, "ymin": y, "xmax": x + w, "ymax": y + h}
        lines += [f"      <{tag}>{value}</{tag}>" for tag, value in edges.items()]
        lines += ["    </bndbox>", "  </object>"]
    return "\n".join([*lines, "</annotation>", ""]).encode()


# Mutations --------------------------------------------------------------------------------------------------


class Mutations:
    """Draws damaged copies of files; the same seed gives the same ones."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def draw(self, data: bytes, xml: bool) -> tuple[str, bytes]:
        """A copy with one to three changes, and what they were."""
        kinds: list[tuple[int, Callable[[bytes], bytes]]] = [
            (6, self.flip), (4, self.drop_lines), (4, self.repeat_lines), (4, self.swap_lines),
            (8, self.swap_tokens), (14, self.new_digits), (8, self.new_word), (3, self.cut), (2, self.encode),
            (3, self.insert), (3, self.drop_range), (2, self.repeat_range), (1, self.line_ends),
            (2, self.zeros), (4 if xml else 0, self.xml),
        ]  # fmt: skip
        weights = [weight for weight, _ in kinds]
        done = []
        for _ in range(self.rng.choice([1, 1, 1, 2, 3])):
            change = self.rng.choices([change for _, change in kinds], weights)[0]
            data = change(data)
            done.append(change.__name__)
        return ", ".join(done), data

    def flip(self, data: bytes) -> bytes:
        found = bytearray(data or b" ")
        for _ in range(self.rng.randint(1, 4)):
            found[self.rng.randrange(len(found))] ^= 1 << self.rng.randrange(8)
        return bytes(found)

    def drop_lines(self, data: bytes) -> bytes:
        lines = data.splitlines(keepends=True) or [b""]
        at = self.rng.randrange(len(lines))
        del lines[at : at + self.rng.randint(1, 3)]
        return b"".join(lines)

    def repeat_lines(self, data: bytes) -> bytes:
        lines = data.splitlines(keepends=True) or [b""]
        at = self.rng.randrange(len(lines))
        some = lines[at : at + self.rng.randint(1, 3)]
        to = self.rng.choice([at, self.rng.randint(0, len(lines))])
        return b"".join(lines[:to] + some + lines[to:])

    def swap_lines(self, data: bytes) -> bytes:
        lines = data.splitlines(keepends=True) or [b""]
        a, b = self.rng.randrange(len(lines)), self.rng.randrange(len(lines))
        lines[a], lines[b] = lines[b], lines[a]
        return b"".join(lines)

    def swap_tokens(self, data: bytes) -> bytes:
        """Swap two words, mostly of the same or the next line."""
        words = list(_TOKEN.finditer(data))
        if len(words) < 2:
            return data
        a = self.rng.randrange(len(words))
        near = self.rng.random() < 0.7
        b = (
            self.rng.randrange(max(a - 5, 0), min(a + 6, len(words)))
            if near
            else self.rng.randrange(len(words))
        )
        first, second = sorted((words[a], words[b]), key=lambda word: word.start())
        if first is second:
            return data
        middle = data[first.end() : second.start()]
        return data[: first.start()] + second[0] + middle + first[0] + data[second.end() :]

    def new_digits(self, data: bytes) -> bytes:
        numbers = list(_NUMBER.finditer(data))
        if not numbers:
            return data
        word = self.rng.choice(numbers)
        digits = bytearray(word[0])
        digits[self.rng.randrange(len(digits))] = self.rng.choice(b"0123456789.")
        if self.rng.random() < 0.2:
            digits = bytearray(
                str(self.rng.choice([self.rng.randint(-50, 150), self.rng.random() * 100])).encode()
            )
        return data[: word.start()] + bytes(digits) + data[word.end() :]

    def zeros(self, data: bytes) -> bytes:
        """Zeros before a number; for some programs it then has eight digits, not ten."""
        numbers = list(_NUMBER.finditer(data))
        if not numbers:
            return data
        at = self.rng.choice(numbers).start()
        return data[:at] + self.rng.choice([b"0", b"00", b"-0", b"+0"]) + data[at:]

    def new_word(self, data: bytes) -> bytes:
        words = list(_TOKEN.finditer(data))
        new = self.rng.choice(WORDS).encode()
        if not words:
            return data + new
        word = self.rng.choice(words)
        return data[: word.start()] + new + data[word.end() :]

    def cut(self, data: bytes) -> bytes:
        return data[: self.rng.randint(0, len(data))]

    def encode(self, data: bytes) -> bytes:
        text = data.decode("utf-8", "replace").replace("\ufffd", "?").replace("ü", self.rng.choice("üè€"))
        return text.encode(self.rng.choice(ENCODINGS), "replace")

    def insert(self, data: bytes) -> bytes:
        at = self.rng.randint(0, len(data))
        return data[:at] + self.rng.choice(PIECES) + data[at:]

    def drop_range(self, data: bytes) -> bytes:
        at = self.rng.randint(0, len(data))
        return data[:at] + data[at + self.rng.randint(1, 20) :]

    def repeat_range(self, data: bytes) -> bytes:
        at = self.rng.randint(0, len(data))
        end = at + self.rng.choice([1, 5, 20, 200])
        return data[:end] + data[at:end] * self.rng.choice([1, 1, 50]) + data[end:]

    def line_ends(self, data: bytes) -> bytes:
        return data.replace(
            b"\n", self.rng.choice([b"\r\n", b"\r", b"\n\n", b" \n ", b"\x0b", b"\xe2\x80\xa8"])
        )

    def xml(self, data: bytes) -> bytes:
        """Entities, other elements around or inside, comments, CDATA."""
        how = self.rng.choice(["laughs", "outside", "cdata", "comment", "wrap", "deep", "rename", "encoding"])
        if how in ("laughs", "outside"):
            head, mark, rest = data.partition(b"?>")
            rest = rest.replace(b">face<", b">&d;<").replace(b">BOOST<", b">&d;<")
            return head + mark + (LAUGHS if how == "laughs" else OUTSIDE) + rest
        if how == "encoding":
            new = self.rng.choice([b"latin-1", b"utf-16", b"cp500", b"nonsense", b"ascii", b"utf-7"])
            return re.sub(rb"encoding='[^']*'", b"encoding='" + new + b"'", data)
        texts = list(re.finditer(rb"<(\w+)>([^<>]*)</\1>", data))
        if not texts:
            return data
        found = self.rng.choice(texts)
        tag, inner = found[1], found[2]
        if how == "cdata":
            new = b"<" + tag + b"><![CDATA[" + inner + b"]]></" + tag + b">"
        elif how == "comment":
            at = self.rng.randint(0, len(inner))
            new = b"<" + tag + b">" + inner[:at] + b"<!-- <x> -->" + inner[at:] + b"</" + tag + b">"
        elif how == "wrap":
            new = b"<x>" + found[0] + b"</x>"
        elif how == "deep":
            new = b"<x>" * 50 + found[0] + b"</x>" * 50
        else:
            return data.replace(b"<" + tag + b">", b"<x>").replace(b"</" + tag + b">", b"</x>")
        return data[: found.start()] + new + data[found.end() :]
