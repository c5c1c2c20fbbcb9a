"""COCO, read and written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from ocboost.cascade.annotations import read_annotations, write_coco
from ocboost.errors import InputError
from tests.support.marked_pictures import (
    BOXES,
    boxes_of,
    coco_text,
    write_pictures,
)


class TestCoco:
    def read(self, tmp_path, extra, **given):
        write_pictures(tmp_path)
        (tmp_path / "x.json").write_text(coco_text(extra))
        return read_annotations(tmp_path / "x.json", **given)

    def annotation(self, bbox, image=0, category=1, **more):
        return {"annotations": [{"id": 7, "image_id": image, "category_id": category, "bbox": bbox, **more}]}

    def test_crowds_are_ignored(self, tmp_path):
        found = self.read(tmp_path, self.annotation([1, 2, 30, 20], iscrowd=1))
        assert found.n_faces == 0
        assert next(iter(found)).ignored.tolist() == [[1, 2, 30, 20]]

    def test_edges_are_rounded(self, tmp_path):
        found = self.read(tmp_path, self.annotation([1.4, 2.5, 10.2, 0.2]))
        assert next(iter(found)).boxes.tolist() == [[1, 3, 11, 1]]  # from 1.4 to 11.6, from 2.5 to 2.7

    def test_categories(self, tmp_path):
        two = {"categories": [{"id": 1, "name": "car"}, {"id": 2, "name": "Face"}]}
        told = []
        found = self.read(tmp_path, two, notify=told.append)
        assert found.n_faces == 0
        assert told == [
            f"3 boxes in '{tmp_path / 'x.json'}' are of other categories than faces and were left out."
        ]
        found = self.read(tmp_path, two | self.annotation([1, 2, 30, 20], category=2))
        assert found.n_faces == 1
        two["categories"][1]["name"] = "head"
        with pytest.raises(
            InputError, match=r"one of its categories called 'face'.*'car', 'head'. Keep only faces"
        ):
            self.read(tmp_path, two)
        told = []
        found = self.read(tmp_path, {"categories": [{"id": 1, "name": "head"}]}, notify=told.append)
        assert found.n_faces == 3
        assert "'head', is taken for faces" in told[0]
        assert self.read(tmp_path, {"categories": []}).n_faces == 3

    def test_images_named_twice_and_boxes_there_twice(self, tmp_path):
        images = [{"id": k, "file_name": "a.png"} for k in (0, 1)]
        annotations = [
            {"id": n, "image_id": k, "category_id": 1, "bbox": [1 + k, 2, 30, 20]}
            for n, k in enumerate((0, 1, 1))
        ]
        (found,) = self.read(tmp_path, {"images": images, "annotations": annotations})
        assert found.boxes.tolist() == [[1, 2, 30, 20], [2, 2, 30, 20]]

    def test_pictures_in_images(self, tmp_path):
        write_pictures(tmp_path / "images")
        (tmp_path / "annotations").mkdir()
        for path in (tmp_path / "x.json", tmp_path / "annotations" / "x.json"):
            path.write_text(coco_text())
            assert boxes_of(read_annotations(path)) == BOXES
        (tmp_path / "x.json").unlink()
        assert boxes_of(read_annotations(tmp_path)) == BOXES

    @pytest.mark.parametrize(
        ("extra", "text"),
        [
            ({"images": 3}, "'images' is 3"),
            ({"annotations": None}, "'annotations' is None"),
            ({"images": []}, r"image_id must be the id of one of the images; got 0 .*annotation id 0\)"),
            ({"images": [], "annotations": []}, "must name at least one picture"),
            ({"images": [3]}, "id must be a whole number or a word; got 3"),
            ({"images": [{"id": 0}]}, "file_name must be the name of an image; got None"),
            (
                {"images": [{"id": True, "file_name": "a.png"}]},
                "id must be a whole number or a word; got True",
            ),
            (
                {"images": [{"id": 0, "file_name": "a.png"}, {"id": 0, "file_name": "b.png"}]},
                "ids of images must differ; 0 is there twice",
            ),
            (
                {"images": [{"id": 0, "file_name": "a.png", "width": 1.5, "height": 3}]},
                "width and height of an image must be whole numbers",
            ),
            (
                {"images": [{"id": 0, "file_name": "a.png", "width": w, "height": 3} for w in (1, 2)]},
                "An image that is there twice must have the same size",
            ),
            (
                {"categories": [{"id": 2, "name": "face"}]},
                "category_id must be the id of one of the categories; got 1",
            ),
            ({"categories": [{"id": 2}]}, "name of a category must be a word"),
            (
                {"categories": [{"id": 2, "name": "face"}, {"id": 2, "name": "x"}]},
                "ids of categories must differ",
            ),
        ],
    )
    def test_structure(self, tmp_path, extra, text):
        with pytest.raises(InputError, match=text):
            self.read(tmp_path, extra)

    @pytest.mark.parametrize(
        ("bbox", "text"),
        [
            ([1, 2, 0, 5], r"a width and a height above 0; got 0 × 5 .*annotation id 7\). Correct or remove"),
            ([1, 2, 5, -5], "a width and a height above 0; got 5 × -5"),
            ([1, 2, float("nan"), 5], r"four finite numbers, x, y, width and height.*got \[1, 2, nan, 5\]"),
            ([float("inf"), 2, 5, 5], "four finite numbers"),
            ([10**400, 2, 5, 5], "four finite numbers"),
            ([1, 2, "3", 5], "four finite numbers"),
            ([1, 2, True, 5], "four finite numbers"),
            ([1, 2, 3], "four finite numbers"),
            ([], "four finite numbers"),
            (None, "four finite numbers"),
            ([0.1, 0.2, 0.3, 0.4], "looks like fractions of the picture; pixels expected .*annotation id 7"),
        ],
    )
    def test_boxes(self, tmp_path, bbox, text):
        with pytest.raises(InputError, match=text):
            self.read(tmp_path, self.annotation(bbox))

    def test_iscrowd(self, tmp_path):
        with pytest.raises(InputError, match="iscrowd must be 0 or 1; got 'yes'"):
            self.read(tmp_path, self.annotation([1, 2, 3, 4], iscrowd="yes"))

    @pytest.mark.parametrize(
        ("data", "text"),
        [
            (b"", "damaged or no JSON"),
            (b'{"images": [', "damaged or no JSON"),
            (b"[1]", "it is a JSON list"),
            (b"[" * 200_000, "it is nested too deep"),
            (b'{"a":' * 200_000, "it is nested too deep"),
            (b'{"images": ' + b"9" * 5000 + b"}", "damaged or no JSON"),
            (b'{"images": [], "images": []}', r"no JSON \(the key 'images' is there twice\)"),
            ('{"images": "é"}'.encode("latin-1"), r"must be text in UTF-8; byte 12 is not \(latin-1"),
            ('{"images": []}'.encode("utf-16"), "must be text in UTF-8"),
        ],
    )
    def test_no_json(self, tmp_path, data, text):
        (tmp_path / "x.json").write_bytes(data)
        with pytest.raises(InputError, match=text):
            read_annotations(tmp_path / "x.json")

    def test_a_mark_of_utf_8(self, tmp_path):
        write_pictures(tmp_path)
        (tmp_path / "x.json").write_bytes(b"\xef\xbb\xbf" + coco_text().encode())
        assert read_annotations(tmp_path / "x.json").n_faces == 3

    def test_too_large(self, tmp_path, monkeypatch):
        (tmp_path / "x.json").write_text(coco_text())
        monkeypatch.setattr("ocboost.cascade.annotations.coco.MAX_ENTRIES", 2)
        with pytest.raises(InputError, match="have at most 2 images; it has 3"):
            read_annotations(tmp_path / "x.json")
        monkeypatch.setattr("ocboost.cascade.annotations.coco.MAX_JSON_BYTES", 100)
        with pytest.raises(InputError, match="have at most 100 bytes; it has more"):
            read_annotations(tmp_path / "x.json")


@st.composite
def marked(draw):
    width, height = draw(st.integers(4, 40)), draw(st.integers(4, 40))
    box = st.tuples(
        st.integers(0, width - 2), st.integers(0, height - 2), st.integers(2, width), st.integers(2, height)
    ).map(lambda b: (b[0], b[1], min(b[2], width - b[0]), min(b[3], height - b[1])))
    boxes = st.lists(box, max_size=4, unique=True).map(lambda some: [list(b) for b in some])
    return width, height, draw(boxes), draw(boxes)


@settings(max_examples=60, deadline=None)
@given(st.lists(marked(), min_size=1, max_size=4))
def test_what_is_written_is_read(tmp_path_factory, pictures):
    folder = tmp_path_factory.mktemp("coco")
    rows = []
    for k, (width, height, boxes, ignored) in enumerate(pictures):
        Image.new("L", (width, height), k).save(folder / f"{k} é.png")
        rows.append((f"{k} é.png", width, height, boxes, ignored))
    (folder / "x.json").write_bytes(write_coco(rows))
    told = []
    found = list(read_annotations(folder, notify=told.append))
    assert [(p.name, *p.grey.shape[::-1], p.boxes.tolist(), p.ignored.tolist()) for p in found] == rows
    assert told == []


def test_what_is_written_is_coco():
    found = json.loads(
        write_coco([("a.png", 60, 40, [[1, 2, 3, 4]], [[5, 6, 7, 8]]), ("b.png", 9, 9, [], [])])
    )
    assert found["categories"] == [{"id": 1, "name": "face"}]
    assert [image["file_name"] for image in found["images"]] == ["a.png", "b.png"]
    assert [(a["image_id"], a["bbox"], a["area"], a["iscrowd"]) for a in found["annotations"]] == [
        (1, [1, 2, 3, 4], 12, 0),
        (1, [5, 6, 7, 8], 56, 1),
    ]
    with pytest.raises(InputError, match="boxes must be whole numbers"):
        write_coco([("a.png", 60, 40, [[1, 2, 0, 4]], [])])
    with pytest.raises(InputError, match="width must be a whole number"):
        write_coco([("a.png", 0, 40, [], [])])
