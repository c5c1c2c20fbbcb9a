"""Named streams: read exactly as they are, drawn anew with each seed, or a clear error."""

from __future__ import annotations

import gzip
import os
import sys

import numpy as np
import pytest

from ocboost.datasets import river_streams
from ocboost.datasets.drift import STREAMS, stream_named
from ocboost.datasets.labelled_rows import LabelledRows
from ocboost.datasets.stream_files import read_table, read_words
from ocboost.errors import InputError, MissingExtraError

REAL = os.environ.get("OCBOOST_DATA")
GENERATED = [stream for stream in STREAMS.values() if stream.drawn]


def table(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))
    return path


class TestTables:
    def test_numbers_texts_and_gaps(self, tmp_path):
        path = table(tmp_path / "a.csv.gz", "a,t,y,z\n1,dog,1,9\n,cat,0,9\n2.5,dog,1,9\n")
        rows = read_table(path, "y", drop=("z",))
        np.testing.assert_array_equal(rows.X, [[1, 1], [np.nan, 0], [2.5, 1]])
        assert rows.y.tolist() == [1, 0, 1]
        assert rows.classes == [0, 1]
        assert rows.notes == ["t: texts, taken as their places in the alphabet.", "Left out: z."]

    def test_the_first_rows_or_every_kth(self, tmp_path):
        path = table(tmp_path / "a.csv.gz", "x,y\n" + "".join(f"{i},{i % 2}\n" for i in range(10)))
        assert read_table(path, "y", rows=4).X[:, 0].tolist() == [0, 1, 2, 3]
        spread = read_table(path, "y", rows=4, spread=True)
        assert spread.X[:, 0].tolist() == [0, 3, 6, 9]
        assert spread.notes == ["One in 3 of 10 rows, so that the whole time is covered."]
        assert read_table(path, "y", rows=10, spread=True).notes == []

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("x,z\n1,2\n", "must have a column 'y'"),
            ("x,y\n1,0\n1,2,3\n", "row 1 has 3"),
            ("x,y\n", "hold at least one row"),
            ("x,y\n1,a\n", "whole numbers in the column 'y'"),
            ("x,y\n1,\n", "whole numbers in the column 'y'"),
        ],
    )
    def test_what_is_wrong_with_a_file(self, tmp_path, text, said):
        with pytest.raises(InputError, match=said):
            read_table(table(tmp_path / "a.csv.gz", text), "y")

    def test_not_gzip(self, tmp_path):
        path = tmp_path / "a.csv.gz"
        path.write_text("x,y\n1,0\n")
        with pytest.raises(InputError, match="cannot be unpacked"):
            read_table(path, "y")
        whole = gzip.compress(b"x,y\n" + b"1,0\n" * 1000)
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(InputError, match="cannot be unpacked"):
            read_table(path, "y")

    def test_no_file(self, tmp_path):
        with pytest.raises(InputError, match="there is no file"):
            read_table(tmp_path / "streams" / "a.csv.gz", "y")


class TestWords:
    def write(self, path, **changes):
        arrays = {"indices": [0, 2, 1], "indptr": [0, 2, 2, 3], "shape": [3, 4], "spam": [1, 0, 1]}
        np.savez(path, **{key: np.array(value) for key, value in {**arrays, **changes}.items()})
        return path

    def test_a_sparse_matrix(self, tmp_path):
        rows = read_words(self.write(tmp_path / "w.npz"), "spam")
        np.testing.assert_array_equal(rows.X.toarray(), [[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]])
        assert rows.y.tolist() == [1, 0, 1]
        fewer = read_words(self.write(tmp_path / "w.npz"), "spam", rows=2)
        assert fewer.X.shape == (2, 4)
        assert fewer.notes == ["The first 2 of 3 rows."]

    @pytest.mark.parametrize(
        "changes",
        [{"indices": [0, 2, 9]}, {"indptr": [0, 2, 1, 3]}, {"shape": [3]}, {"spam": np.array([None])}],
    )
    def test_damaged(self, tmp_path, changes):
        path = self.write(tmp_path / "w.npz", **changes)
        with pytest.raises(InputError, match="CSR matrix"):
            read_words(path, "spam")

    def test_no_archive(self, tmp_path):
        (tmp_path / "w.npz").write_bytes(b"PK\x03\x04 and no more")
        with pytest.raises(InputError, match="CSR matrix"):
            read_words(tmp_path / "w.npz", "spam")


class TestGenerated:
    @pytest.mark.parametrize("stream", GENERATED, ids=lambda stream: stream.name)
    def test_the_same_with_the_same_seed_and_another_with_another(self, stream):
        pytest.importorskip("river")
        one, again, other = (stream.load(rows=400, seed=seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(one.X, again.X)
        np.testing.assert_array_equal(one.y, again.y)
        assert not np.array_equal(one.X, other.X)
        assert len(one) == 400
        assert one.classes == [0, 1]
        assert np.isfinite(one.X).all()

    def test_sea_follows_its_thresholds(self):
        pytest.importorskip("river")
        rows = STREAMS["sea"].load(rows=4000, seed=3)
        for quarter, threshold in enumerate((8, 9, 7, 9.5)):
            part = slice(1000 * quarter, 1000 * (quarter + 1))
            above = rows.X[part, 0] + rows.X[part, 1] > threshold
            assert np.mean(above == rows.y[part]) == pytest.approx(0.9, abs=0.04)
        still = STREAMS["sea-still"].load(rows=1000, seed=3)
        assert np.mean((still.X[:, 0] + still.X[:, 1] > 8) == still.y) == pytest.approx(0.9, abs=0.04)

    def test_the_plane_turns_only_where_it_says_so(self):
        pytest.importorskip("river")

        def direction(rows):
            return np.linalg.lstsq(rows.X - 0.5, 2.0 * rows.y - 1.0, rcond=None)[0]

        def turn(name):
            rows = STREAMS[name].load(rows=8000, seed=5)
            first, last = (LabelledRows(rows.X[s], rows.y[s], "") for s in (slice(2000), slice(6000, 8000)))
            a, b = direction(first), direction(last)
            return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

        assert turn("hyperplane-still") > 0.98
        assert turn("hyperplane") < turn("hyperplane-still") - 0.02

    def test_without_river(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "river", None)
        with pytest.raises(MissingExtraError, match=r"ocboost\[river\]"):
            STREAMS["sea"].load(rows=10)


@pytest.mark.parametrize("name", ["phishing", "bananas", "segments"])
def test_bundled(name):
    pytest.importorskip("river")
    rows = STREAMS[name].load(rows=300)
    assert len(rows) == 300
    assert len(rows.classes) == (7 if name == "segments" else 2)
    assert rows.notes


def test_a_data_set_that_river_does_not_carry(monkeypatch):
    pytest.importorskip("river")
    monkeypatch.setattr(river_streams, "has_bundled", lambda name: False)
    assert "does not carry" in STREAMS["shuttle"].missing()
    with pytest.raises(InputError, match="does not carry"):
        STREAMS["shuttle"].load()


class TestNames:
    def test_unknown(self):
        with pytest.raises(InputError, match=r"must be one of elec2, insects.* got 'electric'"):
            stream_named("electric")

    def test_a_file_that_is_not_there(self, tmp_path):
        assert "--data" in STREAMS["elec2"].missing()
        assert "there is no file" in STREAMS["elec2"].missing(tmp_path)
        with pytest.raises(InputError, match="cannot be had"):
            STREAMS["elec2"].load(tmp_path)
        with pytest.raises(InputError, match=r"of a data folder; say where with data\.$"):
            STREAMS["elec2"].load()
        (tmp_path / "file").write_text("")
        with pytest.raises(InputError, match="must be a folder"):
            STREAMS["elec2"].load(tmp_path / "file")

    def test_rows(self):
        with pytest.raises(InputError, match="rows must be"):
            STREAMS["sea"].load(rows=0)

    def test_insects_of_two_kinds(self, tmp_path):
        text = "a,species\n" + "".join(f"{i},{species}\n" for i, species in enumerate([2, 3, 4, 5, 11, 12]))
        table(tmp_path / "streams" / "insects_gradual_balanced.csv.gz", text)
        assert STREAMS["insects6"].load(tmp_path).y.tolist() == [2, 3, 4, 5, 11, 12]
        two = STREAMS["insects"].load(tmp_path)
        assert two.y.tolist() == [1, 1, 1, 0, 0, 0]
        assert two.notes == ["Classes 2, 3, 4 are 1, the others 0."]


def test_rows_and_labels_must_fit():
    with pytest.raises(InputError, match="as many rows"):
        LabelledRows(np.zeros((3, 1)), np.zeros(2), "")


@pytest.mark.skipif(not REAL, reason="OCBOOST_DATA names no folder with real streams")
@pytest.mark.parametrize(
    ("name", "shape"),
    [("elec2", (45312, 7)), ("flights", (15588, 15)), ("spam", (9324, 39916)), ("usenet", (1500, 99))],
)
def test_real_streams(name, shape):
    assert STREAMS[name].load(REAL).X.shape == shape
