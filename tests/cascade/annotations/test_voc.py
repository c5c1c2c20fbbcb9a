"""Pascal VOC."""

from __future__ import annotations

import pytest
from PIL import Image

from ocboost.cascade.annotations import read_annotations
from ocboost.errors import InputError
from tests.support.marked_pictures import (
    BOXES,
    SIZES,
    boxes_of,
    voc_text,
    write_pictures,
)


class TestVoc:
    def write(self, tmp_path, text, name="a.xml"):
        write_pictures(tmp_path, ["a.png"])
        (tmp_path / name).write_text(text)
        return tmp_path / name

    def test_difficult_is_ignored_truncated_is_not(self, tmp_path):
        objects = [
            ("face", 1, 2, 30, 20, "<difficult>1</difficult>"),
            ("face", 5, 2, 30, 20, "<truncated>1</truncated><difficult>0</difficult>"),
        ]
        (found,) = read_annotations(self.write(tmp_path, voc_text("a.png", objects)))
        assert found.boxes.tolist() == [[5, 2, 30, 20]]
        assert found.ignored.tolist() == [[1, 2, 30, 20]]

    def test_names(self, tmp_path):
        two = [("car", 1, 2, 30, 20, ""), ("FACES", 5, 2, 30, 20, "")]
        told = []
        (found,) = read_annotations(self.write(tmp_path, voc_text("a.png", two)), notify=told.append)
        assert found.boxes.tolist() == [[5, 2, 30, 20]]
        assert "1 boxes in" in told[0]
        two[1] = ("head", *two[1][1:])
        with pytest.raises(InputError, match=r"one of its names called 'face'.*found 'car', 'head'"):
            read_annotations(self.write(tmp_path, voc_text("a.png", two)))

    def test_the_layout_of_pascal(self, tmp_path):
        write_pictures(tmp_path / "JPEGImages")
        (tmp_path / "Annotations").mkdir()
        for name in ("a.png", "b.png"):
            (tmp_path / "Annotations" / f"{name[0]}.xml").write_text(voc_text(name))
        for place in (tmp_path, tmp_path / "Annotations"):
            assert boxes_of(read_annotations(place)) == BOXES
        assert boxes_of(read_annotations(tmp_path / "Annotations" / "a.xml")) == {"a.png": BOXES["a.png"]}

    def test_a_name_with_marks_and_one_that_is_wrong(self, tmp_path):
        path = self.write(tmp_path, voc_text("a.png").replace(">a.png<", ">other.jpg<"))
        assert read_annotations(path).n_faces == 2  # called like the XML file
        Image.new("L", SIZES["a.png"]).save(tmp_path / "ü & b.png")
        path = self.write(tmp_path, voc_text("a.png").replace(">a.png<", ">ü &amp; b.png<"), "z.xml")
        assert [picture.name for picture in read_annotations(path)] == ["ü & b.png"]

    def test_characters_by_number_are_those_of_xml(self, tmp_path):
        Image.new("L", SIZES["a.png"]).save(tmp_path / "\x80A'.png")
        text = voc_text("a.png").replace(">a.png<", ">&#128;&#x41;&apos;.png<")
        path = self.write(tmp_path, text, "z.xml")
        assert [picture.name for picture in read_annotations(path)] == ["\x80A'.png"]

    def test_a_part_of_an_object_may_have_a_box(self, tmp_path):
        part = "<part><name>nose</name><bndbox><xmin>9</xmin></bndbox></part>"
        text = voc_text("a.png", [("face", 1, 2, 30, 20, part)])
        assert boxes_of(read_annotations(self.write(tmp_path, text))) == {"a.png": [[1, 2, 30, 20]]}

    def test_a_damaged_file_does_not_make_its_picture_negative(self, tmp_path):
        write_pictures(tmp_path, ["a.png", "b.png"])
        (tmp_path / "b.xml").write_text(voc_text("b.png"))
        for text, match in (
            ("", "a.xml' is not XML, or is damaged or cut short"),
            (voc_text("a.png").replace("annotation", "annotatjon"), "it begins with <annotatjon>"),
        ):
            self.write(tmp_path, text)
            with pytest.raises(InputError, match=match):
                read_annotations(tmp_path)
        self.write(tmp_path, "<opencv_storage/>", "detector.xml")  # may lie there
        self.write(tmp_path, voc_text("a.png"))
        assert read_annotations(tmp_path).n_faces == 3

    def test_each_file_is_for_one_picture(self, tmp_path):
        write_pictures(tmp_path, ["a.png", "b.png"])
        self.write(tmp_path, voc_text("a.png"))
        path = self.write(tmp_path, voc_text("a.png"), "other.xml")
        with pytest.raises(InputError, match=r"a.xml' and '.*other.xml' are both for '.*a.png'. Correct <f"):
            read_annotations(tmp_path)
        path.unlink()
        self.write(tmp_path, voc_text("a.png"), "b.xml")
        (tmp_path / "a.xml").unlink()
        with pytest.raises(
            InputError, match=r"b.xml' has the <filename> 'a.png', and there is also '.*b.png'"
        ):
            read_annotations(tmp_path)

    @pytest.mark.parametrize(
        ("old", "new", "text"),
        [
            ("<annotation>", "<annotation", "is not XML, or is damaged"),
            ("annotation>", "other>", "with <annotation> around everything; it begins with <other>"),
            (
                "<annotation>",
                "<!DOCTYPE x><annotation>",
                "must have no DOCTYPE and no entities.*other files. Remove",
            ),
            (
                "<annotation>",
                "<annotation>" + "<a>" * 40 + "</a>" * 40,
                "is no annotation of Pascal VOC: .* too deep",
            ),
            ("<xmin>5</xmin>", "", r"<bndbox> must hold <xmin>; there is none \('.*a.xml', line 4\)"),
            ("<bndbox>", "<bndbox/><bndbox>", r"<object> must hold one <bndbox>; it holds 2 .*line 4\)"),
            ("<xmin>5<", "<xmin>5</xmin><xmin>5<", "<bndbox> must hold one <xmin>; it holds 2"),
            ("<name>face</name>", "<name>face</name><name>car</name>", "<object> must hold one <name>"),
            ("<size>", "<size/><size>", "<annotation> must hold one <size>"),
            ("<filename>", "<filename/><filename>", "<annotation> must hold one <filename>"),
            ("<name>face<", "<name><![CDATA[face]]><", "<name> must hold plain text and nothing else"),
            ("<name>face<", "<name>fa<!-- x -->ce<", "<name> must hold plain text and nothing else"),
            ("<object>", "<objects/><x><bndbox/></x><object>", "<bndbox> must be in an <object> .*line 4"),
            (
                "<annotation>",
                "<?xml version='1.0' encoding='latin-1'?><annotation><!-- é -->",
                "be text in UTF-8, and say so; it says that it is 'latin-1'",
            ),
            ("<xmin>5<", "<xmin>nan<", "<xmin> must be a finite number; got 'nan'"),
            ("<xmin>5<", "<xmin>1e99<", "four finite numbers, xmin, ymin, xmax and ymax"),
            ("<xmin>5<", "<xmin><b/><", "<xmin> must hold plain text"),
            ("<xmin>5<", "<xmin>25<", "a width and a height above 0; got 0 × 22"),
            ("<xmin>5<", "<xmin>30<", "a width and a height above 0; got -5 × 22"),
            ("<name>face</name>", "", "<object> must hold <name>"),
            ("<name>face</name>", "<name> </name>", "<name> of an object must be a word; it is empty"),
            (
                "<name>face</name>",
                "<name>face</name><difficult>2</difficult>",
                "<difficult> must be 0 or 1; got 2",
            ),
            ("<width>60<", "<width>60.5<", "<width> and <height> of <size> must be whole numbers"),
            ("<width>60<", "<width>61<", "boxes are for a picture of another size: .* 60 × 40; got 61 × 40"),
        ],
    )
    def test_what_is_wrong(self, tmp_path, old, new, text):
        whole = voc_text("a.png")
        assert old in whole
        changed = whole.replace(old, new, -1 if old == "annotation>" else 1)
        with pytest.raises(InputError, match=text):
            read_annotations(self.write(tmp_path, changed))

    def test_fractions(self, tmp_path):
        text = voc_text("a.png", [("face", 0.1, 0.2, 0.3, 0.4, "")])
        with pytest.raises(InputError, match="looks like fractions of the picture; pixels expected"):
            read_annotations(self.write(tmp_path, text))

    def test_no_size(self, tmp_path):
        for size in ("<size><width>0</width><height>0</height></size>", "", "<size/>"):
            head, rest = voc_text("a.png").split("<size>")
            text = head + size + rest.split("</size>")[1]
            assert read_annotations(self.write(tmp_path, text)).n_faces == 2

    def test_latin_1(self, tmp_path):
        path = self.write(tmp_path, "")
        path.write_bytes(
            '<?xml version="1.0" encoding="latin-1"?><annotation>é</annotation>'.encode("latin-1")
        )
        with pytest.raises(InputError, match="must be text in UTF-8"):
            read_annotations(path)
