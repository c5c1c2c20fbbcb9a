"""Named streams: read exactly as they are, drawn by a seed, or a clear error."""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from ocboost.datasets import loaders
from ocboost.datasets.drift import STREAMS, stream_named
from ocboost.datasets.loaders import load_table, load_words
from ocboost.errors import InputError, MissingExtraError
from ocboost.streams import open_stream
from ocboost.streams.records import SAMPLE_ROWS
from ocboost.streams.rows import join_rows

REAL = os.environ.get("OCBOOST_DATA")
needs_data = pytest.mark.skipif(not REAL, reason="OCBOOST_DATA names no folder with real streams")
GENERATED = [stream for stream in STREAMS.values() if stream.drawn]


def table(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))
    return path


def ten(path):
    return table(path, "x,y\n" + "".join(f"{i},{i % 2}\n" for i in range(10)))


class TestTables:
    def test_numbers_texts_and_gaps(self, tmp_path):
        path = table(tmp_path / "a.csv.gz", "a,t,y,z\n1,dog,1,9\n,cat,0,9\n2.5,dog,1,9\n")
        loaded = load_table(path, "y", drop=("z",))
        np.testing.assert_array_equal(loaded.rows.X, [[1, 1, 0], [np.nan, 0, 1], [2.5, 1, 0]])
        assert loaded.rows.y.tolist() == [1, 0, 1]
        assert loaded.rows.classes == [0, 1]
        assert loaded.notes == ["Left out: z."]
        assert loaded.source == "'a.csv.gz'"

    def test_the_first_rows_or_every_kth(self, tmp_path):
        path = ten(tmp_path / "a.csv.gz")
        few = load_table(path, "y", rows=4)
        assert few.rows.X[:, 0].tolist() == [0, 1, 2, 3]
        assert few.notes == ["The first 4 of 10 rows."]
        spread = load_table(path, "y", rows=4, spread=True)
        assert spread.rows.X[:, 0].tolist() == [0, 3, 6, 9]
        assert spread.rows.rows.tolist() == [0, 1, 2, 3]
        assert spread.notes == ["One in 3 of 10 rows, so that the whole time is covered."]
        assert load_table(path, "y", rows=10, spread=True).notes == []

    @pytest.mark.parametrize("batch", [1, 2, 3, 7, 10])
    @pytest.mark.parametrize("most", [1, 2, 3, 4, 6, 9, 10, 99])
    def test_a_table_is_thinned_alike_however_it_is_read(self, tmp_path, monkeypatch, batch, most):
        monkeypatch.setattr(loaders, "LOADED_ROWS_PER_BATCH", batch)
        path = ten(tmp_path / "a.csv.gz")
        spread = load_table(path, "y", rows=most, spread=True).rows
        step = -(-10 // most)
        assert spread.X[:, 0].tolist() == list(range(10))[::step][:most]
        assert spread.y.tolist() == [i % 2 for i in range(10)][::step][:most]
        assert load_table(path, "y", rows=most).rows.X[:, 0].tolist() == list(range(10))[:most]

    def test_texts_that_come_late_are_unknown_as_everywhere(self, tmp_path):
        """What the columns are is read from the first rows, whichever are taken."""
        lines = ["cat,0\n"] * SAMPLE_ROWS + ["dog,1\n"] * SAMPLE_ROWS
        path = table(tmp_path / "a.csv.gz", "t,y\n" + "".join(lines))
        rows = load_table(path, "y", rows=4, spread=True).rows
        assert rows.X.tolist() == [[1], [1], [0], [0]]
        assert rows.y.tolist() == [0, 0, 1, 1]

    def test_rows_without_a_label(self, tmp_path):
        rows = load_table(table(tmp_path / "a.csv.gz", "x,y\n1,1\n2,\n3,0\n"), "y").rows
        assert rows.known.tolist() == [True, False, True]
        assert rows.classes == [0, 1]

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("x,z\n1,2\n", "label must name a column"),
            ("x,y\n1,0\n1,2,3\n", "line 3: a row must have 2 fields.* got 3"),
            ("x,y\n", "holds no rows"),
            ("x,y\n1,\n", "must have labels"),
        ],
    )
    @pytest.mark.parametrize("rows", [None, 5])
    def test_what_is_wrong_with_a_file(self, tmp_path, text, said, rows):
        with pytest.raises(InputError, match=said):
            load_table(table(tmp_path / "a.csv.gz", text), "y", rows=rows)

    def test_cut_short(self, tmp_path):
        path = ten(tmp_path / "a.csv.gz")
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(InputError, match="cut short"):
            load_table(path, "y")

    def test_no_file(self, tmp_path):
        with pytest.raises(InputError, match="there is no file"):
            load_table(tmp_path / "streams" / "a.csv.gz", "y")

    def test_a_file_that_may_not_be_read(self, tmp_path, monkeypatch):
        def refused(*_, **__):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(loaders, "open_stream", refused)
        with pytest.raises(InputError, match=r"a\.csv\.gz' cannot be \(Permission denied\)"):
            load_table(ten(tmp_path / "a.csv.gz"), "y")

    def test_without_pyarrow(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(MissingExtraError, match=r"pip install .*\[streams\]"):
            load_table(ten(tmp_path / "a.csv.gz"), "y")
        pytest.importorskip("river")
        assert len(STREAMS["sea"].load(rows=10).rows) == 10


FLIGHTS = (
    "month,dest,origin,arr_delay,late15\n" + "1,IAH,EWR,11,0\n1,MIA,LGA,20,1\n,IAH,JFK,-3,0\n2,,EWR,4,1\n"
)


@pytest.mark.parametrize("folder", [None, pytest.param(REAL, marks=needs_data)])
def test_a_named_stream_is_what_its_file_gives_to_every_command(tmp_path, folder):
    if folder is None:
        table(tmp_path / "streams" / "nycflights13.csv.gz", FLIGHTS)
    stream, data = STREAMS["flights"], folder or tmp_path
    with open_stream(Path(data) / stream.file, label="late15", drop=["arr_delay"]) as opened:
        batches = [batch[-batch.first % 21 :: 21].detached() if folder else batch for batch in opened]
    file, named = join_rows(batches), stream.load(data).rows
    np.testing.assert_array_equal(named.X, file.X)
    np.testing.assert_array_equal(named.y, file.y)
    assert named.X.shape[1] == opened.schema.n_features > len(opened.schema.columns)


class TestWords:
    def write(self, path, **changes):
        arrays = {"indices": [0, 2, 1], "indptr": [0, 2, 2, 3], "shape": [3, 4], "spam": [1, 0, 1]}
        np.savez(path, **{key: np.array(value) for key, value in {**arrays, **changes}.items()})
        return path

    def test_a_sparse_matrix(self, tmp_path):
        rows = load_words(self.write(tmp_path / "w.npz"), "spam").rows
        np.testing.assert_array_equal(rows.X.toarray(), [[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]])
        assert rows.y.tolist() == [1, 0, 1]
        fewer = load_words(self.write(tmp_path / "w.npz"), "spam", rows=2)
        assert fewer.rows.X.shape == (2, 4)
        assert fewer.notes == ["The first 2 of 3 rows."]

    @pytest.mark.parametrize(
        "changes",
        [{"indices": [0, 2, 9]}, {"indptr": [0, 2, 1, 3]}, {"shape": [3]}, {"spam": np.array([None])}],
    )
    def test_damaged(self, tmp_path, changes):
        path = self.write(tmp_path / "w.npz", **changes)
        with pytest.raises(InputError, match="CSR matrix"):
            load_words(path, "spam")

    def test_no_archive(self, tmp_path):
        (tmp_path / "w.npz").write_bytes(b"PK\x03\x04 and no more")
        with pytest.raises(InputError, match="CSR matrix"):
            load_words(tmp_path / "w.npz", "spam")


class TestGenerated:
    @pytest.mark.parametrize("stream", GENERATED, ids=lambda stream: stream.name)
    def test_the_same_with_the_same_seed_and_another_with_another(self, stream):
        pytest.importorskip("river")
        one, again, other = (stream.load(rows=400, seed=seed).rows for seed in (1, 1, 2))
        np.testing.assert_array_equal(one.X, again.X)
        np.testing.assert_array_equal(one.y, again.y)
        assert not np.array_equal(one.X, other.X)
        assert len(one) == 400
        assert one.classes == [0, 1]
        assert np.isfinite(one.X).all()

    def test_sea_follows_its_thresholds(self):
        pytest.importorskip("river")
        rows = STREAMS["sea"].load(rows=4000, seed=3).rows
        for quarter, threshold in enumerate((8, 9, 7, 9.5)):
            part = slice(1000 * quarter, 1000 * (quarter + 1))
            above = rows.X[part, 0] + rows.X[part, 1] > threshold
            assert np.mean(above == rows.y[part]) == pytest.approx(0.9, abs=0.04)
        still = STREAMS["sea-still"].load(rows=1000, seed=3).rows
        assert np.mean((still.X[:, 0] + still.X[:, 1] > 8) == still.y) == pytest.approx(0.9, abs=0.04)

    def test_the_plane_turns_only_where_it_says_so(self):
        pytest.importorskip("river")

        def direction(rows):
            return np.linalg.lstsq(rows.X - 0.5, 2.0 * rows.y - 1.0, rcond=None)[0]

        def turn(name):
            rows = STREAMS[name].load(rows=8000, seed=5).rows
            a, b = direction(rows[:2000]), direction(rows[6000:])
            return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

        assert turn("hyperplane-still") > 0.98
        assert turn("hyperplane") < turn("hyperplane-still") - 0.02

    def test_without_river(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "river", None)
        with pytest.raises(MissingExtraError, match=r"pip install .*\[river\]"):
            STREAMS["sea"].load(rows=10)


@pytest.mark.parametrize("name", ["phishing", "bananas", "segments"])
def test_bundled(name):
    pytest.importorskip("river")
    loaded = STREAMS[name].load(rows=300)
    assert len(loaded.rows) == 300
    assert len(loaded.rows.classes) == (7 if name == "segments" else 2)
    assert loaded.notes


def test_a_data_set_that_river_does_not_carry(monkeypatch):
    pytest.importorskip("river")
    monkeypatch.setattr(loaders, "has_bundled", lambda name: False)
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
        with pytest.raises(InputError, match="is not available"):
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
        assert STREAMS["insects6"].load(tmp_path).rows.y.tolist() == [2, 3, 4, 5, 11, 12]
        two = STREAMS["insects"].load(tmp_path)
        assert two.rows.y.tolist() == [1, 1, 1, 0, 0, 0]
        assert two.notes == ["Classes 2, 3, 4 are 1, the others 0."]


@needs_data
@pytest.mark.parametrize(
    ("name", "shape"),
    [("elec2", (45312, 7)), ("flights", (15588, 94)), ("spam", (9324, 39916)), ("usenet", (1500, 99))],
)
def test_real_streams(name, shape):
    assert STREAMS[name].load(REAL).rows.X.shape == shape
