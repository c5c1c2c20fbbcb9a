"""Small pictures with boxes in every format of annotations, and damaged copies of their files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image

from ocboost.cascade.pictures import Picture

SIZES = {"a.png": (60, 40), "b.png": (50, 30), "c.png": (20, 20)}
BOXES = {"a.png": [[5, 6, 20, 22], [30, 8, 24, 24]], "b.png": [[10, 2, 25, 26]], "c.png": []}
WORDS = [
    b"nan",
    b"-1",
    b"1e999",
    b"99999999999",
    b"0",
    b"0.5",
    b"",
    b"../x",
    b"\xff\xfe",
    b"\x00",
    b'"',
    b"{",
]


def write_pictures(folder, names=SIZES):
    folder.mkdir(exist_ok=True, parents=True)
    for k, name in enumerate(names):
        pixels = np.random.default_rng(k).integers(0, 256, SIZES[name][::-1], dtype=np.uint8)
        Image.fromarray(pixels).save(folder / name)
    return folder


def coco_text(extra=None):
    images = [
        {"id": k, "file_name": name, "width": SIZES[name][0], "height": SIZES[name][1]}
        for k, name in enumerate(SIZES)
    ]
    annotations = [
        {"id": 10 * k + n, "image_id": k, "category_id": 1, "bbox": box, "iscrowd": 0}
        for k, name in enumerate(SIZES)
        for n, box in enumerate(BOXES[name])
    ]
    found = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "face"}]}
    return json.dumps(found | (extra or {}))


def csv_text():
    rows = [f"{name},{','.join(map(str, box))}" for name, boxes in BOXES.items() for box in boxes]
    return "\n".join(["image,x,y,w,h", *rows, "c.png,,,,", ""])


def info_text():
    return "".join(
        f"{name} {len(boxes)} {' '.join(str(n) for box in boxes for n in box)}\n"
        for name, boxes in BOXES.items()
    )


def voc_text(name, objects=None, size=None):
    """An XML file; objects are (name, x, y, w, h, extra)."""
    width, height = size or SIZES[name]
    if objects is None:
        objects = [("face", *box, "") for box in BOXES[name]]
    parts = [
        f"<object><name>{kind}</name>{extra}<bndbox><xmin>{x}</xmin><ymin>{y}</ymin>"
        f"<xmax>{x + w}</xmax><ymax>{y + h}</ymax></bndbox></object>\n"
        for kind, x, y, w, h, extra in objects
    ]
    return (
        f"<annotation>\n<filename>{name}</filename>\n<size><width>{width}</width><height>{height}</height>"
        f"<depth>1</depth></size>\n{''.join(parts)}</annotation>\n"
    )


def yolo_text(name):
    width, height = SIZES[name]
    return "".join(
        f"0 {(x + w / 2) / width:.6f} {(y + h / 2) / height:.6f} {w / width:.6f} {h / height:.6f}\n"
        for x, y, w, h in BOXES[name]
    )


def write_format(folder, kind):
    """Pictures and annotations in a folder; the place to give, and the file to damage."""
    write_pictures(folder)
    if kind == "coco":
        path = folder / "boxes.json"
        path.write_text(coco_text())
    elif kind == "csv":
        path = folder / "boxes.csv"
        path.write_text(csv_text())
    elif kind == "info":
        path = folder / "info.dat"
        path.write_text(info_text())
    elif kind == "bg":
        path = folder / "bg.txt"
        path.write_text("a.png\nb.png\nc.png\n")
    elif kind == "voc":
        for name in ("a.png", "b.png"):
            (folder / name).with_suffix(".xml").write_text(voc_text(name))
        path = folder / "a.xml"
    else:
        for name in ("a.png", "b.png"):
            (folder / name).with_suffix(".txt").write_text(yolo_text(name))
        path = folder / "a.txt"
    return (folder if kind in ("voc", "yolo") else path), path


KINDS = ("coco", "csv", "info", "bg", "voc", "yolo")


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """A copy with one to four changes of bytes, numbers or pieces."""
    found = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        at = int(rng.integers(0, len(found) + 1))
        end = min(at + int(rng.integers(1, 20)), len(found))
        what = rng.integers(0, 6)
        if what == 0 and at < len(found):
            found[at] = int(rng.integers(0, 256))
        elif what == 1:
            del found[at:end]
        elif what == 2:
            found[at:at] = found[at:end]
        elif what == 3 and rng.random() < 0.2:
            del found[at:]
        elif what == 4:
            found[at:end] = WORDS[int(rng.integers(0, len(WORDS)))]
        else:  # a digit, so that the file often stays readable
            digits = [k for k, byte in enumerate(found) if 48 <= byte < 58]
            if digits:
                found[digits[int(rng.integers(0, len(digits)))]] = int(rng.choice(list(b"0123456789.-e")))
    return bytes(found)


def boxes_of(found):
    """The boxes of each picture, by its name."""
    return {picture.name: picture.boxes.tolist() for picture in found}


def read_all(read, place: Path) -> list[Picture]:
    """All pictures of a place, each checked."""
    found = read(place)
    pictures = list(found)
    assert len(pictures) == len(found)
    assert found.n_faces == sum(len(picture.boxes) for picture in pictures)
    for picture in pictures:
        height, width = picture.grey.shape
        for boxes in (picture.boxes, picture.ignored):
            assert boxes.dtype == np.int64
            assert (boxes[:, :2] >= 0).all()
            assert (boxes[:, 2:] > 0).all()
            assert (boxes[:, :2] + boxes[:, 2:] <= [width, height]).all()
    return pictures
