"""Every format of annotations, against boxes written by hand."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from ocboost.cascade.annotations import read_annotations
from ocboost.errors import InputError
from tests.support.marked_pictures import (
    BOXES,
    KINDS,
    boxes_of,
    damaged,
    read_all,
    write_format,
)

UNMARKED = {
    "voc": ["1 picture has no XML file; it is taken for a picture without faces."],
    "yolo": ["1 picture has no text file; it is taken for a picture without faces."],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("of_folder", [False, True])
def test_the_same_boxes_in_every_format(tmp_path, kind, of_folder):
    place, _ = write_format(tmp_path, kind)
    told = []
    found = read_annotations(tmp_path if of_folder else place, notify=told.append)
    expected = BOXES if kind != "bg" else {name: [] for name in BOXES}
    assert boxes_of(found) == expected
    assert len(found) == 3
    assert found.n_faces == (0 if kind == "bg" else 3)
    words = {
        "coco": "COCO (boxes.json)",
        "csv": "CSV",
        "info": "OpenCV info.dat",
        "bg": "OpenCV bg.txt",
        "voc": "Pascal VOC (2 XML files)",
        "yolo": "YOLO",
    }
    assert found.format == words[kind]
    assert told == (UNMARKED.get(kind, []))
    for picture in found:
        np.testing.assert_array_equal(picture.grey, np.asarray(Image.open(tmp_path / picture.name)))
        assert len(picture.ignored) == 0
    assert boxes_of(found) == expected  # a second time
    facts = {fact.name: fact for fact in found.pictures}
    assert facts["a.png"] == ("a.png", len(expected["a.png"]), 0, 60, 40)
    assert found.format in repr(found)


def test_subsets(tmp_path):
    place, _ = write_format(tmp_path, "coco")
    found = read_annotations(place)
    assert list(boxes_of(found.subset([2, 0]))) == ["a.png", "c.png"]
    assert found.subset(np.array([1])).n_faces == 1
    assert len(found.subset([])) == 0
    assert list(found.subset([])) == []
    for bad in ([3], [-1], [0, 0], [[0]]):
        with pytest.raises(InputError, match="indices must be different whole numbers from 0 to 2"):
            found.subset(bad)
    with pytest.raises(InputError, match="indices must be whole numbers"):
        found.subset([0.5])


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_refused_or_gives_valid_pictures(tmp_path, kind):
    place, path = write_format(tmp_path, kind)
    whole = path.read_bytes()
    rng = np.random.default_rng([7, KINDS.index(kind)])
    outcomes = {"read": 0, "refused": 0}
    for _ in range(50):
        path.write_bytes(damaged(whole, rng))
        try:
            read_all(read_annotations, place)
            outcomes["read"] += 1
        except InputError:  # any other error is a failure
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 0, outcomes
