"""Where pictures are found, how they lie in their files, and what becomes of boxes at their edges."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from PIL import Image, ImageOps

from ocboost.cascade.annotations import read_annotations
from ocboost.cascade.annotations.boxes import turned
from ocboost.cascade.sources import grey_picture, picture_size
from ocboost.errors import InputError
from tests.support.marked_pictures import (
    BOXES,
    coco_text,
    csv_text,
    info_text,
    voc_text,
    write_format,
    write_pictures,
    yolo_text,
)
from tests.support.toy_cascade import write_video


def table(folder, *rows, name="x.csv"):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n".join(["image,x,y,w,h", *rows]))
    return folder / name


def refused(text, *given, **more):
    with pytest.raises(InputError, match=text):
        list(read_annotations(*given, **more))


def oriented(path, pixels, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(pixels).save(path, exif=exif)


class TestHowPicturesLie:
    @pytest.mark.parametrize("orientation", range(1, 9))
    @pytest.mark.parametrize("ending", [".png", ".tif", ".webp"])
    def test_boxes_turn_with_the_picture(self, tmp_path, orientation, ending):
        pixels = np.zeros((30, 50), np.uint8)
        pixels[4:14, 7:27] = 255  # 20 × 10
        name = f"a{ending}"
        exif = Image.Exif()
        exif[0x0112] = orientation
        Image.fromarray(pixels).save(tmp_path / name, exif=exif, lossless=True)
        data = {
            "images": [{"id": 1, "file_name": name, "width": 50, "height": 30}],
            "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [7, 4, 20, 10]}],
            "categories": [{"id": 1, "name": "face"}],
        }
        (tmp_path / "x.json").write_text(json.dumps(data))
        (found,) = read_annotations(tmp_path)
        assert found.grey.shape == ((30, 50) if orientation < 5 else (50, 30))
        if orientation > 4:  # the size says that the boxes are for the stored picture
            ((x, y, w, h),) = found.boxes.tolist()
            assert found.grey[y : y + h, x : x + w].min() > 200
            assert (found.grey > 100).sum() == w * h == 200
        else:
            assert found.boxes.tolist() == [[7, 4, 20, 10]]
        if orientation > 4:  # boxes for the upright picture stay
            data["images"][0] |= {"width": 30, "height": 50}
            data["annotations"][0]["bbox"] = [4, 7, 10, 20]
            (tmp_path / "x.json").write_text(json.dumps(data))
            assert next(iter(read_annotations(tmp_path))).boxes.tolist() == [[4, 7, 10, 20]]

    @pytest.mark.parametrize("orientation", range(1, 9))
    @pytest.mark.parametrize("compression", [None, "tiff_lzw"])
    @pytest.mark.parametrize("deep", [False, True])
    def test_pixels_of_turned_tiffs(self, tmp_path, orientation, compression, deep):
        pixels = np.random.default_rng(orientation).integers(0, 256, (30, 50), dtype=np.uint8)
        exif = Image.Exif()
        exif[0x0112] = orientation
        stored = Image.fromarray(pixels.astype(np.uint16) << 8 if deep else pixels)
        stored.save(tmp_path / "a.tif", exif=exif, compression=compression)
        upright = Image.fromarray(pixels)
        upright.getexif()[0x0112] = orientation
        expected = np.asarray(ImageOps.exif_transpose(upright))
        np.testing.assert_array_equal(grey_picture(tmp_path / "a.tif"), expected)
        assert picture_size(tmp_path / "a.tif")[:3] == (*expected.shape[::-1], (50, 30))

    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_turned_as_pillow_turns(self, tmp_path, orientation):
        pixels = np.zeros((6, 9), np.uint8)
        pixels[1:3, 2:7] = 1
        oriented(tmp_path / "a.png", pixels, orientation)
        from PIL import ImageOps

        upright = np.asarray(ImageOps.exif_transpose(Image.open(tmp_path / "a.png")))
        x, y, w, h = turned((2, 1, 5, 2), (9, 6), orientation)
        expected = np.zeros_like(upright)
        expected[y : y + h, x : x + w] = 1
        np.testing.assert_array_equal(upright, expected)

    def test_boxes_of_another_picture(self, tmp_path):
        write_pictures(tmp_path)
        (tmp_path / "x.json").write_text(coco_text().replace('"width": 60', '"width": 600'))
        refused("boxes are for a picture of another size: .*60 × 40; got 600 × 40", tmp_path)

    def test_yolo_is_relative_to_the_upright_picture(self, tmp_path):
        oriented(tmp_path / "a.png", np.zeros((30, 50), np.uint8), 6)
        (tmp_path / "a.txt").write_text("0 0.5 0.5 1 0.5\n")
        (found,) = read_annotations(tmp_path)
        assert found.grey.shape == (50, 30)
        assert found.boxes.tolist() == [[0, 13, 30, 25]]  # from 12.5 to 37.5

    def test_colour_and_16_bits(self, tmp_path):
        rng = np.random.default_rng(0)
        colour = rng.integers(0, 256, (20, 30, 3), dtype=np.uint8)
        deep = rng.integers(0, 1 << 16, (20, 30), dtype=np.uint16)
        Image.fromarray(colour).save(tmp_path / "c.png")
        Image.fromarray(deep).save(tmp_path / "d.png")
        found = {p.name: p.grey for p in read_annotations(table(tmp_path, "c.png,1,2,9,9", "d.png,,,,"))}
        np.testing.assert_array_equal(found["c.png"], np.asarray(Image.fromarray(colour).convert("L")))
        np.testing.assert_array_equal(found["d.png"], deep >> 8)

    def test_damaged_and_changed_pictures(self, tmp_path):
        write_pictures(tmp_path)
        path = table(tmp_path, "a.png,1,2,9,9")
        found = read_annotations(path)
        Image.new("L", (9, 9)).save(tmp_path / "a.png")
        with pytest.raises(
            InputError, match="have 60 × 40 pixels, as when it was looked at first; it has 9 × 9"
        ):
            list(found)
        (tmp_path / "a.png").write_bytes(b"no picture")
        refused("a.png' must be an image", path)


class TestBoxesAtTheEdge:
    def test_cut_ignored_or_left_out(self, tmp_path):
        write_pictures(tmp_path)  # a.png has 60 × 40
        rows = ["-10,0,20,20", "-11,0,20,20", "50,30,20,12", "60,0,5,5", "1,1,30,30", "1,1,30,30", "2,2,3,9"]
        told = []
        for name in ("b.png", "c.png"):
            (tmp_path / name).unlink()
        (found,) = read_annotations(
            table(tmp_path, *(f"a.png,{row}" for row in rows)), min_side=4, notify=told.append
        )
        assert found.boxes.tolist() == [[0, 0, 10, 20], [1, 1, 30, 30]]
        assert found.ignored.tolist() == [[0, 0, 9, 20], [50, 30, 10, 10], [2, 2, 3, 9]]
        assert told == [
            "1 of 7 boxes reached beyond the edge of the picture and was cut there.",
            "2 of 7 boxes had less than half of their area inside the picture and were ignored.",
            "1 of 7 boxes lay outside of the picture and was left out.",
            "1 of 7 boxes had a side of less than 4 pixels, too small for the detector and was ignored.",
        ]

    def test_most_outside(self, tmp_path):
        write_pictures(tmp_path)
        rows = ["a.png,1,1,9,9", "a.png,100,1,9,9"]
        assert read_annotations(table(tmp_path, *rows)).n_faces == 1
        path = table(tmp_path, *rows, "b.png,1,900,9,9")
        refused(
            r"X must have its boxes inside the pictures; 2 of 3 in .* in other units, or of other",
            path,
            name="X",
        )


class TestLookup:
    def test_beside_by_path_then_by_name(self, tmp_path):
        write_pictures(tmp_path / "deep", ["a.png"])
        write_pictures(tmp_path, ["b.png"])
        path = table(tmp_path, "deep/a.png,1,2,9,9", "./elsewhere/b.png,,,,", r"deep\a.png,3,3,9,9")
        found = list(read_annotations(path))
        assert [(p.name, p.boxes.tolist()) for p in found] == [
            ("deep/a.png", [[1, 2, 9, 9], [3, 3, 9, 9]]),
            ("./elsewhere/b.png", []),
        ]

    def test_paths_do_not_leave_the_folder(self, tmp_path):
        write_pictures(tmp_path, ["a.png", "b.png"])
        inner = tmp_path / "inner"
        write_pictures(inner, ["b.png"])
        for name in ("../a.png", str(tmp_path / "a.png"), "x/../../a.png", r"..\a.png", r"C:\x\a.png"):
            refused(
                "Images must be named by paths inside the folder; got .* no file 'a.png'",
                table(inner, f"{name},,,,"),
            )
        refused("An image must be named by its file; got '..'", table(inner, "..,,,,"))
        for name in ("../b.png", str(tmp_path / "b.png"), r"C:\x\b.png"):  # by their names only
            (found,) = read_annotations(table(inner, f"{name},1,2,9,9"))
            assert found.grey.shape == (30, 50)
        (inner / "b.png").unlink()
        refused("Images must be named by paths inside", table(inner, "../b.png,,,,"))

    def test_under_images(self, tmp_path):
        write_pictures(tmp_path / "i" / "x" / "y", ["a.png"])
        write_pictures(tmp_path / "i" / "z", ["b.png"])
        path = table(tmp_path / "n", "y/a.png,1,2,9,9", "q/b.png,1,2,9,9")
        assert read_annotations(path, tmp_path / "i").n_faces == 2
        write_pictures(tmp_path / "i" / "x2" / "y", ["a.png"])
        refused("--images must hold one file 'y/a.png' .* it is at .* and at", path, tmp_path / "i")
        write_pictures(tmp_path / "i" / "y", ["a.png"])  # the path as it is
        assert read_annotations(path, tmp_path / "i").n_faces == 2
        refused(
            "P must be a folder of images, or a video; .* does not exist",
            path,
            tmp_path / "no",
            images_name="P",
        )
        refused("--images must be a folder of images, or a video; .* is neither", path, path)

    def test_only_under_images_where_it_is_given(self, tmp_path):
        write_pictures(tmp_path)
        (tmp_path / "i").mkdir()
        refused("1 of 1 are not in '.*i'", table(tmp_path, "a.png,,,,"), tmp_path / "i")

    def test_missing_pictures(self, tmp_path):
        write_pictures(tmp_path)
        for k in range(20):
            Image.new("L", (9, 9)).save(tmp_path / f"{k}.png")
        rows = [f"{k}.png,,,," for k in range(20)]
        told = []
        found = read_annotations(table(tmp_path, *rows, "no.png,1,2,3,4", "no2.png,,,,"), notify=told.append)
        assert len(found) == 20
        assert told[0].startswith("2 pictures that are named are not in")
        assert "the first 'no.png'; 20 are there." in told[0]
        bad = table(tmp_path, *rows, "no.png,,,,", "no2.png,,,,", "no3.png,,,,")
        refused(
            r"B must name pictures that are there; 3 of 23 are not in .*first 'no.png' .*give their",
            bad,
            name="B",
        )
        refused("1 of 1 are not", table(tmp_path, "frame-000001,1,2,9,9"))
        refused(
            "named like a frame of a video: give the video as --images", table(tmp_path, "frame-000001,,,,")
        )

    @pytest.mark.parametrize(
        "name", ["a\\ud800.png", "x" * 5000 + ".png", "x" * 300 + ".png", "\\u0000.png", "\\n"]
    )
    def test_names_that_no_file_has(self, tmp_path, name):
        write_pictures(tmp_path)
        (tmp_path / "x.json").write_text(coco_text().replace('"a.png"', f'"{name}"'))
        refused("1 of 3 are not in", tmp_path / "x.json")

    @pytest.mark.skipif("sys.platform == 'win32'", reason="has no such files")
    def test_pipes_are_not_opened(self, tmp_path):
        os.mkfifo(tmp_path / "a.png")
        refused("1 of 1 are not in", table(tmp_path, "a.png,,,,"))
        os.mkfifo(tmp_path / "p.csv")
        refused("p.csv' is no ordinary file", tmp_path / "p.csv")

    def test_voc_and_yolo_with_images_elsewhere(self, tmp_path):
        write_pictures(tmp_path / "i")
        for kind, text in (("xml", voc_text), ("txt", yolo_text)):
            (tmp_path / kind).mkdir()
            for name in ("a.png", "b.png"):
                (tmp_path / kind / f"{name[0]}.{kind}").write_text(text(name))
            found = {p.name: p.boxes.tolist() for p in read_annotations(tmp_path / kind, tmp_path / "i")}
            assert found == BOXES

    def test_drawings_of_detect_are_not_taken_for_pictures(self, tmp_path):
        write_pictures(tmp_path / "found")
        path = table(tmp_path / "found", "a.png,1,2,9,9", name="detections.csv")
        for place in (path, path.parent):
            refused("--images must be given with .*boxes drawn on them", place)
        write_pictures(tmp_path / "whole")
        assert read_annotations(path, tmp_path / "whole").n_faces == 1


class TestVideos:
    def test_frames(self, tmp_path):
        video = write_video(tmp_path / "v.avi")  # ten frames of 64 × 48, brighter and brighter
        rows = ["frame-000006,1,2,20,20", "frame-3,,,,", "frame-000006,5,2,20,20", "frame-000000,50,1,20,20"]
        path = table(tmp_path, *rows, name="detections.csv")
        found = read_annotations(path, video)
        assert [(p.name, p.boxes.tolist()) for p in found] == [
            ("frame-000000", [[50, 1, 14, 20]]),
            ("frame-3", []),
            ("frame-000006", [[1, 2, 20, 20], [5, 2, 20, 20]]),
        ]
        for number, picture in zip((0, 3, 6), found, strict=True):
            assert abs(float(picture.grey.mean()) - (0.299 * 255 + 0.701 * 20 * number)) <= 6
        assert [p.name for p in found.subset([2])] == ["frame-000006"]
        told = []
        found = read_annotations(path, video, every=6, notify=told.append)
        assert [p.name for p in found] == ["frame-000000", "frame-000006"]
        assert told[0] == "1 of 3 frames were left out, as only one in 6 is taken."

    def test_what_is_wrong(self, tmp_path):
        video = write_video(tmp_path / "v.avi")
        refused(
            "named like frame-000012 where --images is a video.*got 'a.png'",
            table(tmp_path, "a.png,,,,"),
            video,
        )
        refused(
            "1 of 2 are not in '.*v.avi'.*frame-000010",
            table(tmp_path, "frame-9,,,,", "frame-000010,,,,"),
            video,
        )
        path = table(tmp_path, "frame-000001,,,,")
        refused("every must leave some of the frames", path, video, every=2)
        refused("every must be a whole number", path, video, every=0)
        (tmp_path / "w.avi").write_bytes(b"no video")
        refused("must be a video that OpenCV can read", path, tmp_path / "w.avi")

    def test_other_formats(self, tmp_path):
        video = write_video(tmp_path / "v.avi")
        (tmp_path / "voc").mkdir()
        text = voc_text("a.png", size=(64, 48)).replace("a.png", "frame-000002.png")
        (tmp_path / "voc" / "f.xml").write_text(text)
        (tmp_path / "yolo").mkdir()
        (tmp_path / "yolo" / "frame-000002.txt").write_text("0 0.5 0.5 0.5 0.5\n")
        assert next(iter(read_annotations(tmp_path / "voc", video))).boxes.tolist() == BOXES["a.png"]
        assert next(iter(read_annotations(tmp_path / "yolo", video))).boxes.tolist() == [[16, 12, 32, 24]]

    def test_cut_short(self, tmp_path):
        video = write_video(tmp_path / "v.avi", frames=40)
        path = table(tmp_path, "frame-000000,,,,", "frame-000039,,,,")
        found = read_annotations(path, video)
        video.write_bytes(video.read_bytes()[: video.stat().st_size // 2])
        with pytest.raises(InputError, match=r"frame 39 cannot be read|must be a video"):
            list(found)


class TestFolders:
    def test_only_pictures(self, tmp_path):
        write_pictures(tmp_path)
        (tmp_path / "README.txt").write_text("Mine.")
        told = []
        found = read_annotations(tmp_path, notify=told.append)
        assert found.format == "pictures without boxes"
        assert (len(found), found.n_faces) == (3, 0)
        assert told == [
            f"'{tmp_path}' holds 3 pictures and no boxes: they are taken for pictures without faces."
        ]
        refused("must be annotations where --images is given", tmp_path, tmp_path)

    def test_two_formats(self, tmp_path):
        write_format(tmp_path, "coco")
        write_format(tmp_path, "csv")
        refused("annotations of one format; .* holds COCO and CSV. Give the file itself", tmp_path)
        (tmp_path / "boxes.json").unlink()
        write_format(tmp_path, "voc")
        refused("holds Pascal VOC and CSV", tmp_path)
        (tmp_path / "boxes.csv").unlink()
        write_format(tmp_path, "yolo")
        (tmp_path / "info.dat").write_text(info_text())
        refused("holds Pascal VOC and YOLO and OpenCV", tmp_path)

    def test_two_files_of_one_format(self, tmp_path):
        write_format(tmp_path, "csv")
        (tmp_path / "second.csv").write_text(csv_text())
        refused("holds 2 of CSV, such as 'boxes.csv' and 'second.csv'. Give the file itself", tmp_path)
        (tmp_path / "second.csv").write_text("other,table\n1,2\n")
        assert read_annotations(tmp_path).n_faces == 3

    def test_nothing(self, tmp_path):
        refused(
            "BOXES must be a folder with annotations: one JSON file of COCO, .* there is none",
            tmp_path,
            name="BOXES",
        )
        refused("'.*none' does not exist. Check the name", tmp_path / "none")

    @pytest.mark.parametrize("name", ["x.xml", "notes.txt", "other.dat"])
    def test_what_is_not_understood_does_not_make_pictures_negative(self, tmp_path, name):
        write_pictures(tmp_path)
        (tmp_path / name).write_text("a.png,1,2,3,4\n")
        refused(f"'{name}' is none of them", tmp_path)

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("boxes.csv", "a.png,1,2,3,4\n", "boxes.csv.* columns"),
            ("boxes.csv", "image;x;y;w;h\na.png;1;2;3;4\n", "boxes.csv.* columns"),
            ("x.json", '{"images": [{"id": 1, ', "x.json.* JSON"),
        ],
    )
    def test_a_damaged_file_says_what_is_wrong_with_it(self, tmp_path, name, content, message):
        write_pictures(tmp_path)
        (tmp_path / name).write_text(content)
        refused(message, tmp_path)

    def test_the_pictures_of_yolo_without_its_labels(self, tmp_path):
        write_pictures(tmp_path / "images")
        (tmp_path / "labels").mkdir()
        (tmp_path / "labels" / "a.txt").write_text("0 0.5 0.5 0.5 0.5\n")
        refused("holds only pictures, and '.*labels' beside it the labels of YOLO", tmp_path / "images")

    def test_pictures_are_no_annotations(self, tmp_path):
        write_pictures(tmp_path)
        refused("a.png' is a picture or a video. Give its annotations", tmp_path / "a.png")

    def test_empty_labels(self, tmp_path):
        write_pictures(tmp_path / "images")
        (tmp_path / "labels").mkdir()
        found = read_annotations(tmp_path)
        assert (found.format, len(found), found.n_faces) == ("YOLO", 3, 0)

    def test_min_side(self, tmp_path):
        refused("min_side must be a whole number", tmp_path, min_side=0)
