"""What is said about pictures and boxes that are not plain: units, turned pictures, 16 bits, unnamed ones."""

from __future__ import annotations

import os

import numpy as np
import pytest
from PIL import Image

from ocboost.cascade.annotations import read_annotations
from ocboost.errors import InputError
from tests.support.marked_pictures import BOXES, boxes_of, coco_text, info_text, voc_text, write_pictures
from tests.support.toy_cascade import write_video

CORNERS = [(20, 5, 59, 30), (22, 4, 58, 26), (25, 10, 50, 39), (30, 2, 60, 33), (3, 7, 33, 40)]


def table(folder, *rows):
    folder.mkdir(exist_ok=True)
    (folder / "x.csv").write_text("\n".join(["image,x,y,w,h", *rows]))
    return folder / "x.csv"


def read(*given, **more):
    told = []
    return list(read_annotations(*given, notify=told.append, **more)), told


class TestUnits:
    def rows(self, boxes):
        return [f"a.png,{','.join(map(str, box))}" for box in boxes]

    def test_two_corners_instead_of_a_size(self, tmp_path):
        write_pictures(tmp_path, ["a.png"])  # 60 × 40
        with pytest.raises(
            InputError, match=r"--boxes must have boxes as x, y, width and height; those in .* look like two"
        ):
            read(table(tmp_path, *self.rows(CORNERS)))
        sizes = [(x, y, right - x, bottom - y) for x, y, right, bottom in CORNERS]
        (found,), told = read(table(tmp_path, *self.rows(sizes)))
        assert found.boxes.tolist() == [list(box) for box in sizes]
        assert told == []

    def test_few_boxes_or_one_that_cannot_be_corners(self, tmp_path):
        write_pictures(tmp_path, ["a.png"])
        (found,), told = read(table(tmp_path, *self.rows(CORNERS[:4])))
        assert len(found.boxes) + len(found.ignored) == 4
        (found,), told = read(table(tmp_path, *self.rows([*CORNERS, (40, 5, 10, 10)])))
        assert any("reached beyond the edge" in sentence for sentence in told)

    def test_corners_of_pascal_are_corners(self, tmp_path):
        write_pictures(tmp_path, ["a.png"])
        objects = [("face", x, y, w, h, "") for x, y, w, h in CORNERS]  # reach beyond the picture
        (tmp_path / "a.xml").write_text(voc_text("a.png", objects))
        _, told = read(tmp_path)
        assert any("reached beyond the edge" in sentence for sentence in told)

    def test_all_too_small(self, tmp_path):
        write_pictures(tmp_path, ["a.png"])
        small = "too small for the detector and were ignored"
        with pytest.raises(InputError, match=r"at least 20 pixels.*all 2 in .* such as per cent"):
            read(table(tmp_path, *self.rows([(1, 1, 9, 9), (3, 3, 9, 9)])), min_side=20)
        _, told = read(table(tmp_path, *self.rows([(1, 1, 9, 9), (3, 3, 9, 9), (3, 3, 20, 20)])), min_side=20)
        assert told == [f"2 of 3 boxes had a side of less than 20 pixels, {small}."]


class TestOutside:
    def test_a_picture_whose_boxes_all_lie_outside_is_neither(self, tmp_path):
        write_pictures(tmp_path, ["a.png", "b.png"])
        rows = [f"a.png,{k},1,9,9" for k in range(10)]
        (first, second), told = read(table(tmp_path, *rows, "b.png,500,1,9,9"))
        assert (len(first.boxes), len(first.ignored)) == (10, 0)
        height, width = second.grey.shape
        assert (second.boxes.tolist(), second.ignored.tolist()) == ([], [[0, 0, width, height]])
        assert told == ["1 of 11 boxes lay outside of the picture and was left out."]

    def test_more_than_one_in_ten(self, tmp_path):
        write_pictures(tmp_path, ["a.png"])
        inside = [f"a.png,{k},1,9,9" for k in range(18)]
        outside = ["a.png,900,1,9,9", "a.png,1,900,9,9", "a.png,900,900,9,9"]
        found, _ = read(table(tmp_path, *inside, *outside[:2]))
        assert len(found) == 1
        with pytest.raises(InputError, match="boxes inside the pictures; 3 of 21"):
            read(table(tmp_path, *inside, *outside))


class TestHowPicturesAre:
    def turned(self, folder, orientation):
        exif = Image.Exif()
        exif[0x0112] = orientation
        write_pictures(folder)
        Image.fromarray(np.zeros((60, 40), np.uint8)).save(folder / "a.png", exif=exif)

    @pytest.mark.parametrize("orientation", [3, 6])
    def test_turned(self, tmp_path, orientation):
        self.turned(tmp_path, orientation)
        (tmp_path / "info.dat").write_text(info_text().replace("30 8 24 24", "2 2 24 24"))
        (picture, *_), told = read(tmp_path)
        assert picture.grey.shape == ((40, 60) if orientation == 6 else (60, 40))
        assert picture.boxes.tolist() == [[5, 6, 20, 22], [2, 2, 24, 24]]
        upright = "boxes are taken to be for the upright picture"
        assert told == [f"1 of 3 pictures is turned, as EXIF says; {upright}."]

    def test_boxes_of_the_stored_picture(self, tmp_path):
        self.turned(tmp_path, 6)
        text = coco_text().replace('"width": 60, "height": 40', '"width": 40, "height": 60')
        (tmp_path / "x.json").write_text(text.replace("30, 8, 24, 24", "8, 30, 24, 24"))
        (picture, *_), told = read(tmp_path)
        assert picture.boxes.tolist() == [[60 - 6 - 22, 5, 22, 20], [60 - 30 - 24, 8, 24, 24]]
        assert told[0].endswith("picture, but for 1 whose width and height are those of the stored one.")

    def test_16_bits(self, tmp_path):
        write_pictures(tmp_path)
        for name in ("a.png", "b.png"):
            Image.fromarray(np.full((40, 60), 0x1FFF, np.uint16)).save(tmp_path / name)
            found, told = read(table(tmp_path, "a.png,,,,", "b.png,,,,", "c.png,,,,"))
            n, have = ("1", "has") if name == "a.png" else ("2", "have")
            assert told == [f"{n} of 3 pictures {have} 16 bits a pixel; the upper 8 are taken."]
        assert (found[0].grey == 0x1F).all()


class TestUnnamedPictures:
    def test_of_a_table_in_a_folder(self, tmp_path):
        write_pictures(tmp_path)
        table(tmp_path, "a.png,5,6,20,22")
        found, told = read(tmp_path)
        assert boxes_of(found) == {"a.png": BOXES["a.png"][:1], "b.png": [], "c.png": []}
        assert told == ["2 pictures have no row in the CSV file; they are taken for pictures without faces."]

    def test_a_wrong_name_does_not_make_its_picture_negative(self, tmp_path):
        write_pictures(tmp_path)
        for k in range(12):
            Image.new("L", (30, 30)).save(tmp_path / f"{k}.png")
        path = table(tmp_path, *(f"{k}.png,,,," for k in range(12)), "A.png,5,6,20,22")
        with pytest.raises(
            InputError,
            match=r"'A.png' .*line 14\) is not there, and 'a.png' is there and not named. Is a name",
        ):
            read(tmp_path)
        assert len(read(path)[0]) == 12

    def test_of_a_table_with_a_folder_of_images(self, tmp_path):
        write_pictures(tmp_path / "i" / "deep")
        table(tmp_path / "t", "a.png,5,6,20,22")
        found, _ = read(tmp_path / "t", tmp_path / "i")
        assert boxes_of(found) == {"a.png": BOXES["a.png"][:1], "b.png": [], "c.png": []}

    def test_of_a_table_alone(self, tmp_path):
        write_pictures(tmp_path)
        found, told = read(table(tmp_path, "a.png,5,6,20,22", "b.png,,,,"))
        assert boxes_of(found) == {"a.png": BOXES["a.png"][:1], "b.png": []}
        assert told == [
            f"1 picture is in '{tmp_path}' and not in '{tmp_path / 'x.csv'}', and left out. Give the folder "
            "instead of the file if they have no faces."
        ]

    @pytest.mark.parametrize("form", ["COCO", "OpenCV"])
    def test_of_a_folder_whose_file_names_all_pictures(self, tmp_path, form):
        write_pictures(tmp_path)
        name, text = ("x.json", coco_text()) if form == "COCO" else ("info.dat", info_text())
        (tmp_path / name).write_text(text)
        Image.new("L", (60, 40)).save(tmp_path / "more.png")
        found, told = read(tmp_path)
        assert "more.png" not in boxes_of(found)
        assert any(
            sentence.startswith("1 picture is in") and "left out. Name them there if they have no" in sentence
            for sentence in told
        )

    def test_not_of_a_video(self, tmp_path):
        video = write_video(tmp_path / "v.avi")
        write_pictures(tmp_path)
        table(tmp_path, "frame-000001,1,2,20,20")
        found, told = read(tmp_path, video)
        assert [picture.name for picture in found] == ["frame-000001"]
        assert [sentence[:15] for sentence in told] == ["about 9 frames "]


class TestNames:
    def test_different_names_of_one_file(self, tmp_path):
        write_pictures(tmp_path, ["a.png"])
        for first, second in (("x/a.png", "y/a.png"), ("a.png", "y/a.png"), ("/x/a.png", "a.png")):
            with pytest.raises(
                InputError,
                match=rf"different files; '{first}' .*line 2\) and '{second}' .*line 3\) are both found as '",
            ):
                read(table(tmp_path, f"{first},5,6,20,22", f"{second},5,6,20,22"))
        (found,), _ = read(table(tmp_path, "a.png,5,6,20,22", "./a.png,,,,", r".\a.png,,,,"))
        assert found.boxes.tolist() == [[5, 6, 20, 22]]

    def test_two_ways_to_name_a_file_under_images(self, tmp_path):
        write_pictures(tmp_path / "i" / "x", ["a.png"])
        path = table(tmp_path / "t", "a.png,5,6,20,22", "x/a.png,1,1,30,30")
        (found,), _ = read(path, tmp_path / "i")
        assert len(found.boxes) == 2

    @pytest.mark.skipif("sys.platform == 'win32'", reason="links need rights there")
    def test_links_are_followed(self, tmp_path):
        write_pictures(tmp_path / "elsewhere", ["a.png"])
        (tmp_path / "t").mkdir()
        os.symlink(tmp_path / "elsewhere" / "a.png", tmp_path / "t" / "link.png")
        os.symlink("loop.png", tmp_path / "t" / "loop.png")
        (found,), _ = read(table(tmp_path / "t", "link.png,5,6,20,22"))
        assert found.grey.shape == (40, 60)
        with pytest.raises(InputError, match="1 of 1 are not in"):
            read(table(tmp_path / "t", "loop.png,5,6,20,22"))

    @pytest.mark.skipif("sys.platform != 'linux'", reason="other systems refuse such names")
    def test_names_of_other_encodings_and_with_control_characters(self, tmp_path):
        write_pictures(tmp_path, ["a.png"])
        for name in (b"caf\xe9.png", b"\x1b[31m.png"):
            os.link(tmp_path / "a.png", os.path.join(os.fsencode(tmp_path), name))
        found, _ = read(tmp_path)
        assert {picture.name for picture in found} == {"a.png", "caf\udce9.png", "\x1b[31m.png"}
        (found,), _ = read(table(tmp_path, "\x1b[31m.png,5,6,20,22"))
        assert found.boxes.tolist() == [[5, 6, 20, 22]]
        with pytest.raises(InputError, match=r"the first '\\x1b\[32m.png'"):  # spelt out
            read(table(tmp_path, "\x1b[32m.png,5,6,20,22"))
