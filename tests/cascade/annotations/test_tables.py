"""CSV, and the two text files of OpenCV."""

from __future__ import annotations

import pytest

from ocboost.cascade.annotations import read_annotations
from ocboost.errors import InputError
from tests.support.marked_pictures import (
    BOXES,
    boxes_of,
    csv_text,
    info_text,
    write_pictures,
)


class TestTables:
    def read(self, tmp_path, text, name="x.csv"):
        write_pictures(tmp_path)
        (tmp_path / name).write_text(text)
        return read_annotations(tmp_path / name)

    def test_other_columns_and_names(self, tmp_path):
        text = 'score,IMAGE, x,y,height,width\n0.5,"a.png",1,2,20,30.2\n,a.png,4,2,20,30\n,c.png,,,,\n'
        found = boxes_of(self.read(tmp_path, text))
        assert found == {"a.png": [[1, 2, 30, 20], [4, 2, 30, 20]], "c.png": []}

    @pytest.mark.parametrize(
        ("text", "match"),
        [
            ("", "names the columns image, x, y, w and h .*; it is empty"),
            ("a.png,1,2,3,4\n", "the first is 'a.png,1,2,3,4'. Add or correct it"),
            ("image;x;y;w;h\n", "with commas; the first is 'image;x;y;w;h'"),
            ("image,x,y,w,width,h\n", "names the columns"),
            ("image,x,y,w,h\n", "must name at least one picture"),
            ("image,x,y,w,h\na.png,1,2,3\n", r"A row must have 5 cells.*got 4 \('.*', line 2\)"),
            ("image,x,y,w,h\n,1,2,3,4\n", "image must be the name of an image; it is empty"),
            (
                "image,x,y,w,h\na.png,1,,3,4\n",
                r"or empty where the picture has no face; got '1, , 3, 4' .*line 2",
            ),
            ("image,x,y,w,h\na.png,1,2,inf,4\n", "four finite numbers"),
            ("image,x,y,w,h\na.png,1,2,1_0,4\n", "four finite numbers"),
            ("image,x,y,w,h\na.png,1,2,0,4\n", r"above 0; got 0 × 4 .*line 2"),
            ("image,x,y,w,h\na.png,.1,.2,.3,.4\n", "looks like fractions of the picture; pixels expected"),
            ('image,x,y,w,h\n"a.png,1,2,3,4\n', "must be CSV; line 2 cannot be read"),
            ("image,x,y,w,h\n" + "a" * 200_000 + ",1,2,3,4\n", "must be CSV; line 2 cannot be read"),
        ],
    )
    def test_what_is_wrong(self, tmp_path, text, match):
        with pytest.raises(InputError, match=match):
            self.read(tmp_path, text)

    @pytest.mark.parametrize(
        ("text", "match"),
        [
            ("a.png 2 1 2 3 4\n", r"A line must be the path of an image, .*, the number of faces.*line 1"),
            ("a.png 2 5 6 20 0\n", "the number of faces in it, and for each x, y, width and height; got"),
            ("a 1 5 6 20 20\n", "which ends in .png, .jpg or the like"),
            (
                "a.png 0\na.png 1 1 2 x 4\n",
                r"four finite numbers, x, y, width and height; got '1 2 x 4' .*line 2",
            ),
            ("a.png 1 1 2 0 4\n", "above 0"),
            ("a.png 1 0 0 1 1\n", "looks like fractions"),
            ("a.png 0\nb.png\n", "A line must be the path"),
            ("a.png\nb\n", "which ends in .png, .* and nothing else; got 'b'"),
            ("", "must name at least one picture"),
        ],
    )
    def test_text_of_opencv(self, tmp_path, text, match):
        with pytest.raises(InputError, match=match):
            self.read(tmp_path, text, "x.txt")

    def test_names_with_spaces_and_other_line_ends(self, tmp_path):
        write_pictures(tmp_path)
        (tmp_path / "a.png").rename(tmp_path / "a 1 b.png")
        found = self.read(tmp_path, "a 1 b.png  1  1 2 30 20\r\n\r\nb.png 0\r\n", "x.lst")
        assert boxes_of(found) == {"a 1 b.png": [[1, 2, 30, 20]], "b.png": []}

    def test_both_files_of_opencv(self, tmp_path):
        write_pictures(tmp_path)
        (tmp_path / "info.dat").write_text("\n".join(info_text().split("\n")[:2]))
        (tmp_path / "bg.txt").write_text("c.png")
        found = read_annotations(tmp_path)
        assert boxes_of(found) == BOXES
        assert found.format == "OpenCV info.dat and bg.txt"

    def test_info_dat_has_boxes_even_if_it_is_cut_short(self, tmp_path):
        with pytest.raises(InputError, match=r"the number of faces in it.*got 'a.png'"):
            self.read(tmp_path, "a.png", "info.dat")
        assert self.read(tmp_path, "a.png", "other.txt").format == "OpenCV bg.txt"

    def test_a_frame_of_a_video_has_no_ending(self, tmp_path):
        with pytest.raises(InputError, match="give the video as --images"):
            self.read(tmp_path, "frame-000001 1 5 6 20 20", "info.dat")

    def test_lines_too_long(self, tmp_path, monkeypatch):
        monkeypatch.setattr("ocboost.cascade.annotations.text.MAX_LINE", 10)
        with pytest.raises(InputError, match="lines of at most 10 characters; line 1 has 28"):
            self.read(tmp_path, info_text(), "info.dat")
        monkeypatch.setattr("ocboost.cascade.annotations.table.MAX_TABLE_BYTES", 10)
        with pytest.raises(InputError, match="have at most 10 bytes"):
            self.read(tmp_path, csv_text())
