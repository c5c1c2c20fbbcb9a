"""YOLO's labels."""

from __future__ import annotations

import pytest
from PIL import Image

from ocboost.cascade.annotations import read_annotations
from ocboost.errors import InputError
from tests.support.marked_pictures import (
    BOXES,
    boxes_of,
    write_format,
    write_pictures,
    yolo_text,
)


class TestYolo:
    def test_labels_beside_images(self, tmp_path):
        write_pictures(tmp_path / "images" / "train")
        (tmp_path / "labels" / "train").mkdir(parents=True)
        for name in ("a.png", "b.png"):
            (tmp_path / "labels" / "train" / f"{name[0]}.txt").write_text(yolo_text(name))
        expected = {f"train/{name}": boxes for name, boxes in BOXES.items()}
        for place in (tmp_path, tmp_path / "labels"):
            assert boxes_of(read_annotations(place)) == expected
        (tmp_path / "images" / "train" / "a.png").rename(tmp_path / "images" / "train" / "a.bmp")
        assert boxes_of(read_annotations(tmp_path))["train/a.bmp"] == BOXES["a.png"]

    @pytest.mark.parametrize(
        ("file", "text"),
        [
            ("classes.txt", "car\nface\n"),
            ("data.yaml", "nc: 2\nnames: ['car', \"face\"]\n"),
            ("data.yaml", "names:\n- car\n- Face  # ours\n"),
            ("data.yaml", "train: x\nnames:\n  0: car\n  1: face\nval: y\n"),
            ("data.yaml", "names: {0: car, 1: face}\n"),
            ("data.yml", "names: [car,\n  face]\n"),
        ],
    )
    def test_names_of_classes(self, tmp_path, file, text):
        place, path = write_format(tmp_path, "yolo")
        (tmp_path / file).write_text(text)
        path.write_text(path.read_text().replace("0 ", "1 ", 1))
        found = read_annotations(place)
        assert boxes_of(found) == {"a.png": BOXES["a.png"][:1], "b.png": [], "c.png": []}

    @pytest.mark.parametrize(
        ("file", "text", "match"),
        [
            (
                None,
                "",
                "The class of a label must be 0 where no names of classes are given; got 1.*classes.txt into",
            ),
            ("classes.txt", "face\n", "must be one of the 1 that are named; got 1"),
            ("classes.txt", "car\nhead\n", "one of its classes called 'face'"),
            ("classes.txt", "\n", "name the classes; it names none"),
            ("classes.txt", "car\n\nface\n", "line 2 is empty, and those after it would be of other classes"),
            ("data.yaml", "names: ['fa,ce', car]\n", "it cannot be understood"),
            ("data.yaml", "names: {0: car, 0: face}\n", "it cannot be understood"),
            ("data.yaml", "names: &x 3\n", "it cannot be understood.*classes.txt"),
            ("data.yaml", "nc: 1\n", "it cannot be understood"),
        ],
    )
    def test_classes_that_are_unclear(self, tmp_path, file, text, match):
        place, path = write_format(tmp_path, "yolo")
        if file:
            (tmp_path / file).write_text(text)
        path.write_text("1" + path.read_text()[1:])
        with pytest.raises(InputError, match=match):
            read_annotations(place)

    @pytest.mark.parametrize(
        ("line", "text"),
        [
            ("0 5 6 20 22", r"from 0 to 1; got 22, which looks like pixels \('.*a.txt', line 1\)"),
            ("0 0.5 0.5 0 0.2", "a width and a height above 0"),
            ("0 -0.5 0.5 0.1 0.2", "a centre of at least 0"),
            ("0 nan 0.5 0.1 0.2", "four finite numbers after the class"),
            ("0 0.5 0.5 0.1", "must be a class and four numbers"),
            ("0 0.5 0.5 0.1 0.2 0.3 0.4", "must be a class and four numbers"),
            ("face 0.5 0.5 0.1 0.2", "must be a class and four numbers"),
        ],
    )
    def test_lines(self, tmp_path, line, text):
        place, path = write_format(tmp_path, "yolo")
        path.write_text(line)
        with pytest.raises(InputError, match=text):
            read_annotations(place)

    def test_two_pictures_of_one_label(self, tmp_path):
        place, _ = write_format(tmp_path, "yolo")
        Image.new("L", (9, 9)).save(tmp_path / "a.bmp")
        with pytest.raises(InputError, match="names that differ before the ending"):
            read_annotations(place)

    def test_pictures_in_other_folders(self, tmp_path):
        write_pictures(tmp_path / "i" / "deep")
        labels = tmp_path / "l"
        labels.mkdir()
        (labels / "a.TXT").write_text(yolo_text("a.png"))
        told = []
        found = boxes_of(read_annotations(labels, tmp_path / "i", notify=told.append))
        assert found == {"deep/a.png": BOXES["a.png"], "deep/b.png": [], "deep/c.png": []}
        assert told == ["2 pictures have no text file; they are taken for pictures without faces."]
        write_pictures(tmp_path / "i" / "other")
        with pytest.raises(
            InputError, match=r"one picture; '.*a.TXT' fits '.*deep/a.png' and '.*other/a.png'"
        ):
            read_annotations(labels, tmp_path / "i")

    def test_labels_in_other_folders(self, tmp_path):
        write_pictures(tmp_path / "i", ["a.png", "b.png"])
        for part, names in (("train", ["a.png"]), ("val", ["b.png"])):
            (tmp_path / "labels" / part).mkdir(parents=True)
            for name in names:
                (tmp_path / "labels" / part / f"{name[0]}.txt").write_text(yolo_text(name))
        found = boxes_of(read_annotations(tmp_path / "labels", tmp_path / "i"))
        assert found == {name: BOXES[name] for name in ("a.png", "b.png")}
        (tmp_path / "labels" / "val" / "a.txt").write_text(yolo_text("a.png"))  # of another picture
        with pytest.raises(InputError, match=r"one file of labels; '.*i/a.png' fits '.*train/a.txt' and '"):
            read_annotations(tmp_path / "labels", tmp_path / "i")

    def test_labels_of_other_pictures_are_not_taken(self, tmp_path):
        write_pictures(tmp_path / "i" / "x")
        (tmp_path / "labels" / "y").mkdir(parents=True)
        (tmp_path / "labels" / "y" / "a.txt").write_text(yolo_text("a.png"))
        with pytest.raises(InputError, match=r"1 of 4 are not in .*the first 'y/a'"):
            read_annotations(tmp_path / "labels", tmp_path / "i")

    def test_a_file_of_labels_alone(self, tmp_path):
        _, path = write_format(tmp_path, "yolo")
        with pytest.raises(
            InputError, match=r"looks like the labels of one picture in YOLO's format\. Give the folder"
        ):
            read_annotations(path)
