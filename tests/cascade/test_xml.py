"""Reading cascades: what is right is read exactly, whatever strangers write is refused with a word on why."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import os
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocboost.cascade import Cascade, read_cascade
from ocboost.cascade import cascade as cascade_module
from ocboost.cascade import xml as cascade_xml
from ocboost.errors import InputError, ModelFileError
from tests.support.cascades import as_xml, random_cascade

ARRAYS = [name for name in Cascade.__dataclass_fields__ if name not in ("width", "height", "stage_origin")]


def same(a, b):
    assert (a.width, a.height) == (b.width, b.height)
    for name in ARRAYS:
        found, expected = getattr(a, name), getattr(b, name)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected, err_msg=name)


@pytest.fixture(scope="module")
def xml():
    return as_xml(random_cascade(seed=4, max_nodes=2, share_tilted=0.3))


def read(tmp_path, data, name="cascade.xml"):
    path = tmp_path / name
    path.write_bytes(data)
    return read_cascade(path)


@pytest.mark.parametrize("max_nodes", [1, 4])
@pytest.mark.parametrize("seed", range(5))
def test_numbers_are_read_exactly(tmp_path, seed, max_nodes):
    cascade = random_cascade(seed, max_nodes=max_nodes, share_tilted=0.5)
    for digits in (".9g", ".16e"):
        found = read(tmp_path, as_xml(cascade, digits))
        same(found.cascade, cascade)
        np.testing.assert_array_equal(found.cascade.stage_origin, [0, 1, 2])
    assert "cascade.xml" in repr(found)
    assert "3 stages" in repr(found)


def test_packed_files_and_other_line_ends(tmp_path, xml):
    expected = read(tmp_path, xml).cascade
    half = len(xml) // 2
    packed = gzip.compress(xml[:half]) + gzip.compress(xml[half:])
    for data in (gzip.compress(xml), packed, xml.replace(b"\n", b"\r\n"), xml.replace(b"\n", b"\r")):
        same(read(tmp_path, data, "any.name").cascade, expected)


def test_a_cascade_without_a_type_and_numbers_in_short(tmp_path, xml):
    plain = xml.replace(b' type_id="opencv-cascade-classifier"', b"")
    same(read(tmp_path, plain).cascade, read(tmp_path, xml).cascade)
    short = re.sub(rb"<stageThreshold>[^<]*<", b"<stageThreshold> -.5 <", xml)
    assert (read(tmp_path, short).cascade.stage_threshold == -0.5).all()
    dotted = re.sub(rb"<height>7<", b"<height>7.<", xml)
    assert read(tmp_path, dotted).cascade.height == 7


LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><opencv_storage>&c;</opencv_storage>"""
OUTSIDE = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>
<opencv_storage><cascade>&e;</cascade></opencv_storage>"""
DTD = b'<!DOCTYPE opencv_storage SYSTEM "http://localhost/x.dtd"><opencv_storage/>'
OLD = b"""<opencv_storage><haarcascade_x type_id="opencv-haar-classifier"><size>20 20</size></haarcascade_x>
</opencv_storage>"""


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "is not XML, or is damaged or cut short: no element found"),
        (b"not xml at all", "is not XML, or is damaged or cut short"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "it is a picture \\(PNG\\)"),
        ("<opencv_storage/>".encode("utf-16"), "must be text in UTF-8"),
        (b'<?xml version="1.0" encoding="nonsense"?><a/>', "Save it as UTF-8|is not XML"),
        (LAUGHS, "must have no DOCTYPE and no entities"),
        (OUTSIDE, "must have no DOCTYPE and no entities"),
        (DTD, "must have no DOCTYPE and no entities"),
        (b"<opencv_storage>&undefined;</opencv_storage>", "is not XML, or is damaged"),
        (b"<a>" * 40 + b"</a>" * 40, "elements too deep"),
        (
            b"<html><body/></html>",
            "must begin with <opencv_storage> and <cascade>; the file begins with <html>",
        ),
        (b"<opencv_storage></opencv_storage>", "the file begins with <opencv_storage>"),
        (b"<opencv_storage><svm/></opencv_storage>", "begins with <opencv_storage> with <svm>"),
        (OLD, r"opencv-haar-classifier, the format before OpenCV 2 .*CascadeClassifier\.convert"),
        (b"\x1f\x8b\x08\x00junk", "cannot be unpacked"),
        (gzip.compress(b"<a/>", mtime=0)[:-3], "damaged or cut short: it cannot be unpacked"),
    ],
)
def test_what_is_no_cascade_is_refused(tmp_path, data, text):
    with pytest.raises(ModelFileError, match=text):
        read(tmp_path, data)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (b">BOOST<", b">RANDOM<", "<stageType> must be BOOST.* got 'RANDOM'"),
        (b">HAAR<", b">LBP<", "<featureType> must be HAAR.* got 'LBP'.*haarcascade_frontalface_default"),
        (b">HAAR<", b">HOG<", "<featureType> must be HAAR.* got 'HOG'"),
        (b"<featureType>HAAR</featureType>", b"", "<cascade> must hold <featureType>; there is none .line"),
        (b"<height>7</height>", b"", "must hold <height>"),
        (b"<height>7<", b"<height>-7<", "height must be a whole number from 3 to 256; got -7"),
        (b"<height>7<", b"<height>99999999999999<", "<height> must be a whole number; got '99999"),
        (b"<height>7<", b"<height>007<", "<height> must be a whole number; got '007'"),
        (b"<height>7<", b"<height>seven<", "<height> must be a whole number; got 'seven'"),
        (b"<height>7<", b"<height><_>7</_><", "<height> must hold plain text and nothing else"),
        (b"<height>7<", b"<height>&#55;<", "<height> must hold plain text"),
        (b"<height>7<", b"<height><!-- x -->7<!-- y --><", "<height> must hold plain text"),
        (b"<height>7<", b"<height>3<", "rects must lie inside the window of 8 × 3 pixels"),
        (b"maxCatCount>0<", b"maxCatCount>256<", "<maxCatCount> must be 0"),
        (b"featureParams", b"other", "must hold <featureParams>"),
        (b"<tilted>0<", b"<tilted>1<", "tilted rectangle 0 of feature"),
        (b"<tilted>0<", b"<tilted>x<", "<tilted> must be a whole number"),
        (b"internalNodes>", b"nodes>", "must hold <internalNodes>"),
        (b"leafValues>", b"leaves>", "must hold <leafValues>"),
        (b"stageThreshold>", b"threshold>", "must hold <stageThreshold>"),
        (
            b"<features>",
            b"<features><x/>",
            "<features> must hold at least one feature, each in an element <_>",
        ),
        (b"rects>", b"rest>", "must hold <rects>"),
    ],
)
def test_what_is_wrong_inside_is_refused_with_its_line(tmp_path, xml, old, new, text):
    assert old in xml
    with pytest.raises(ModelFileError, match=text):
        read(tmp_path, xml.replace(old, new))


@pytest.mark.parametrize(
    ("pattern", "new", "text"),
    [
        (rb"<stageThreshold>[^<]*<", b"<stageThreshold>nan<", "<stageThreshold> must be finite .* 'nan'"),
        (rb"<stageThreshold>[^<]*<", b"<stageThreshold>.Inf<", "must be finite numbers; got '.Inf'"),
        (rb"<stageThreshold>[^<]*<", b"<stageThreshold>1e999<", "must be finite numbers; got '1e999'"),
        (rb"<stageThreshold>[^<]*<", b"<stageThreshold>-010<", "without leading zeros.* got '-010'"),
        (rb"<stageThreshold>[^<]*<", b"<stageThreshold>1e39<", "must be finite numbers; got '1e39'"),
        (rb"<stageThreshold>[^<]*<", b"<stageThreshold>0x10<", "must be finite numbers; got '0x10'"),
        (rb"<stageThreshold>[^<]*<", b"<stageThreshold>1_0<", "must be finite numbers; got '1_0'"),
        (rb"<stageThreshold>[^<]*<", b"<stageThreshold>" + b"1" * 5000 + b"<", "must be finite numbers"),
        (rb"<stageThreshold>[^<]*<", b"<stageThreshold>1 2<", "<stageThreshold> must be 1 numbers; got 2"),
        (rb"<stageThreshold>[^<]*<", b"<stageThreshold> <", "<stageThreshold> must be 1 numbers; got 0"),
        (rb"<leafValues>[^<]*<", b"<leafValues>1 2 3 4<", "<leafValues> must be . numbers; got 4"),
        (rb"<leafValues>[^<]*<", b"<leafValues/><x><", "is not XML|must hold plain text"),
        (rb"<internalNodes>[^<]*<", b"<internalNodes>0 -1 0<", "must be 4 numbers a node; got 3 numbers"),
        (rb"<internalNodes>[^<]*<", b"<internalNodes> <", "must be 4 numbers a node; got 0 numbers"),
        (rb"<internalNodes>0 ", b"<internalNodes>0.5 ", "must begin with three whole numbers"),
        (rb"<internalNodes>0 -1 \d+", b"<internalNodes>0 -1 -1", "node_feature must be from 0 to"),
        (rb"<internalNodes>0 -1 \d+", b"<internalNodes>0 -1 12", "node_feature must be from 0 to 11"),
        (rb"<internalNodes>0 -1 \d+", b"<internalNodes>0 -1 99999999999", "three whole numbers"),
        (rb"<internalNodes>0 -1", b"<internalNodes>0 -2", "must be a node or a leaf of its tree"),
        (rb"(<rects>\s+<_>)\d+", rb"\g<1>-1", "a rectangle must be x, y, width and height in pixels"),
        (rb"(<rects>\s+<_>)\d+", rb"\g<1>1000", "rects must lie inside the window"),
        (rb"(<rects>\s+<_>)[^<]*", rb"\g<1>1 1 0 1 1.", "a rectangle must be x, y, width"),
        (rb"(<rects>\s+<_>)[^<]*", rb"\g<1>1 1 1 1 1e30", "weights must be finite numbers"),
        (rb"(<rects>\s+<_>)[^<]*", rb"\g<1>1 1 1 1", "<_> must be 5 numbers; got 4"),
        (rb"<rects>", b"<rects>" + b"<_>1 1 1 1 1</_>" * 3, "<rects> must be at most 3 rectangles"),
        (rb"(?s)<rects>.*?</rects>", b"<rects></rects>", "<rects> must hold at least one rectangle"),
        (
            rb"(?s)<weakClassifiers>.*?</weakClassifiers>",
            b"<weakClassifiers/>",
            "must hold at least one stump",
        ),
        (rb"(?s)<stages>.*</stages>", b"<stages></stages>", "<stages> must hold at least one stage"),
        (rb"(?s)<features>.*</features>", b"<features/>", "<features> must hold at least one feature"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(tmp_path, xml, pattern, new, text):
    changed = re.sub(pattern, new, xml)
    assert changed != xml
    with pytest.raises(ModelFileError, match=text):
        read(tmp_path, changed)


def test_files_cut_short_anywhere_are_refused(tmp_path, xml):
    end = len(xml.rstrip())
    for data, whole in ((xml, end), (gzip.compress(xml), None)):
        whole = len(data) if whole is None else whole
        for twentieth in range(20):
            with pytest.raises(ModelFileError, match=r"cut short|must be text|cannot be unpacked"):
                read(tmp_path, data[: whole * twentieth // 20])
        with pytest.raises(ModelFileError, match="cut short"):
            read(tmp_path, data[: whole - 1])


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damage_is_refused_or_makes_another_cascade(tmp_path_factory, data):
    xml = as_xml(random_cascade(seed=4, stages=(1, 1), n_features=2))
    damaged = bytearray(xml)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(xml) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damage") / "x.xml"
    path.write_bytes(bytes(damaged))
    with contextlib.suppress(ModelFileError):  # any other error is a failure
        assert isinstance(read_cascade(path).cascade, Cascade)


def test_too_much_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(cascade_xml, "MAX_BYTES", 1 << 20)
    bomb = gzip.compress(b" " * (50 << 20))
    assert len(bomb) < 1 << 17
    for data in (bomb, b" " * ((1 << 20) + 1), gzip.compress(b" " * (1 << 20)) * 3):
        with pytest.raises(ModelFileError, match="more than 1 MB"):
            read(tmp_path, data)
    monkeypatch.setattr(cascade_xml, "MAX_ELEMENTS", 100)
    with pytest.raises(ModelFileError, match="more than 100 elements"):
        read(tmp_path, b"<opencv_storage>" + b"<a/>" * 200)
    monkeypatch.setattr(cascade_xml, "MAX_TEXT_PIECES", 100)
    with pytest.raises(ModelFileError, match=r"more than 100 lines and pieces of text \(line 101\)\. OpenCV"):
        read(tmp_path, b"<opencv_storage>" + b"\n" * 200)


def chain(n):
    """A tree of n nodes, each with a leaf and the next node."""
    nodes = b" ".join(b"%d %d 0 0" % (-k, k + 1 if k < n - 1 else -n) for k in range(n))
    return b"<_><internalNodes>%s</internalNodes><leafValues>%s</leafValues></_>" % (nodes, b"0 " * (n + 1))


def with_trees(xml, trees):
    stage = b"<_><stageThreshold>0</stageThreshold><weakClassifiers>%s</weakClassifiers></_>" % trees
    return re.sub(rb"(?s)<stages>.*</stages>", b"<stages>%s</stages>" % stage, xml)


@pytest.mark.parametrize(
    ("trees", "text"),
    [
        (chain(1001), "<internalNodes> must be at most 4,000 numbers; got 4,004 .* Was another file meant"),
        (chain(100_000), "<internalNodes> must be at most 200,000 bytes"),
        (chain(1000) * 201, "it must have at most 200,000 nodes; it has more"),
    ],
    ids=["words", "bytes", "nodes"],
)
def test_too_many_numbers_are_refused_before_they_are_read(tmp_path, xml, trees, text, monkeypatch):
    assert len(trees) < cascade_xml.MAX_BYTES
    monkeypatch.setattr(
        cascade_xml.CascadeReader, "_numbers", numbers_of_features(cascade_xml.CascadeReader._numbers)
    )
    with pytest.raises(ModelFileError, match=text):
        read(tmp_path, with_trees(xml, trees))


def numbers_of_features(numbers):
    """Reads the numbers of rectangles, and no others."""

    def reads(self, element, count=None):
        assert count == 5
        return numbers(self, element, count)

    return reads


def test_large_trees_are_read(tmp_path, xml):
    found = read(tmp_path, with_trees(xml, chain(1000) * 2))
    assert (found.cascade.n_trees, found.cascade.max_nodes) == (2, 1000)
    leaf = found.cascade.leaf.copy()
    leaf[[3, 1000, 1001]] = 7.5
    bar = found.cascade.node_threshold
    changed = found.cascade.with_leaves(leaf)
    found.write(tmp_path / "new.xml", changed)
    again = read_cascade(tmp_path / "new.xml").cascade
    same(again, changed)
    np.testing.assert_array_equal(again.node_threshold, bar)


def test_the_total_of_nodes_is_limited(monkeypatch):
    cascade = random_cascade(max_nodes=3)  # 12 trees
    monkeypatch.setattr(cascade_module, "MAX_NODES", int(cascade.tree_node[-1]))
    dataclasses.replace(cascade)
    monkeypatch.setattr(cascade_module, "MAX_NODES", int(cascade.tree_node[-1]) - 1)
    assert cascade.n_trees <= cascade_module.MAX_NODES
    with pytest.raises(InputError, match=r"tree_node must rise by at least 1 each, .* to at most"):
        dataclasses.replace(cascade)


def test_what_just_fits_into_single_precision(tmp_path, xml):
    largest = 3.4028235677973362e38  # rounded down to the largest number; the next double is not
    data = re.sub(rb"<stageThreshold>[^<]*<", b"<stageThreshold>-%.17g<" % largest, xml)
    assert (read(tmp_path, data).cascade.stage_threshold == -np.finfo(np.float32).max).all()
    beyond = float(np.nextafter(largest, np.inf))
    data = re.sub(rb"<stageThreshold>[^<]*<", b"<stageThreshold>%.17g<" % beyond, xml)
    with pytest.raises(ModelFileError, match="<stageThreshold> must be finite numbers"):
        read(tmp_path, data)


@pytest.mark.parametrize(
    ("data", "end"), [(DTD, "Remove them."), (b"<a>" * 40, "does not write such files.")]
)
def test_refusals_are_one_sentence_after_the_other(tmp_path, data, end):
    with pytest.raises(ModelFileError) as caught:
        read(tmp_path, data)
    text = str(caught.value)
    assert text.startswith(f"{tmp_path / 'cascade.xml'} ")
    assert text.endswith(end)
    assert "cannot be read" not in text
    assert ".." not in text


def test_paths_that_are_no_files(tmp_path):
    with pytest.raises(InputError, match=r"'.*none.xml' does not exist. Check the name"):
        read_cascade(tmp_path / "none.xml")
    with pytest.raises(InputError, match="is a folder"):
        read_cascade(tmp_path)


@pytest.mark.skipif("sys.platform == 'win32'", reason="has no such files")
def test_devices_and_pipes_are_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", "/dev/null", "/dev/zero"):
        with pytest.raises(InputError, match=f"'{place}' is no ordinary file. Check the name"):
            read_cascade(place)
