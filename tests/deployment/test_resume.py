"""What a model has been through: a stream is known by how it begins, in every format."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ocboost.deployment.resume import (
    COVERAGE_KEY,
    MAX_STREAMS,
    ChangedStream,
    LearntPart,
    add_event,
    coverage_record,
    find_learnt_part,
)
from ocboost.streams import open_stream
from ocboost.streams.source import TextDigest, fits_of_text
from tests.support.cli_runs import table, write

FORMATS = ["s.csv", "s.csv.gz", "s.jsonl", "s.jsonl.gz", "s.parquet"]


def gone_through(path, history=None, before=None, **options):
    """The history after a stream was read to its end."""
    history = [] if history is None else history
    with open_stream(path, label="y", tracked=True, **options) as stream:
        rows = sum(len(batch) for batch in stream) + options.get("skip", 0)
        add_event(history, {"stream": path.name}, coverage_record(stream.coverage(), path, rows, before))
    return history


def found(history, path, **options):
    with open_stream(path, label="y", tracked=True, **options) as stream:
        return find_learnt_part(history, stream, path)


class TestLookUp:
    @pytest.mark.parametrize("name", FORMATS)
    def test_grown(self, name, tmp_path):
        path = write(tmp_path / name, table(90))
        history = gone_through(path)
        known = found(history, path)
        assert (known.rows, known.is_all) == (90, True)
        write(path, table(90) + table(20, 5))
        known = found(history, path)
        assert (known.rows, known.is_all) == (90, False)
        other = write(tmp_path / f"moved-{name}", table(90) + table(20, 5))
        assert found(history, other) == known
        assert found(history, path, drop=["a"]) == known

    @pytest.mark.parametrize("name", FORMATS)
    def test_changed(self, name, tmp_path):
        path = write(tmp_path / name, table(90))
        history = gone_through(path)
        rows = table(90)
        rows[57][2] += 1.0
        write(path, rows + table(20, 5))
        assert found(history, path) == ChangedStream(90)
        assert found(history, write(tmp_path / f"other-{name}", rows)) is None
        write(path, table(90)[:60])
        assert found(history, path) == ChangedStream(90)

    def test_shorter_than_what_was_learnt_since(self, tmp_path):
        path = write(tmp_path / "s.csv", table(50))
        history = gone_through(path)
        before = found(history, path).sha256
        write(path, table(50) + table(50, 1))
        history = gone_through(path, history, before)
        middle = write(tmp_path / "copy.csv", table(50) + table(50, 1)[:20])
        assert found(history, middle) == ChangedStream(100)
        first = write(tmp_path / "copy.csv", table(50))
        assert found(history, first).is_all
        more = write(tmp_path / "copy.csv", table(50) + table(50, 1) + table(9, 2))
        assert found(history, more).rows == 100

    def test_packed_anew(self, tmp_path):
        path = write(tmp_path / "s.csv.gz", table(90))
        history = gone_through(path)
        data = gzip.decompress(path.read_bytes())
        path.write_bytes(gzip.compress(data[:500], 1) + gzip.compress(data[500:], 9))
        assert found(history, path).is_all
        plain = tmp_path / "s.csv"
        plain.write_bytes(data)
        assert found(history, plain).is_all

    def test_a_table_written_anew(self, tmp_path):
        path = tmp_path / "s.parquet"
        columns = {"a": [1.5, None, 3.0] * 30, "t": ["ü", None, ""] * 30, "y": [0, 1, 1] * 30}
        pq.write_table(pa.table(columns), path, row_group_size=7)
        history = gone_through(path)
        grown = {key: values + values[:2] for key, values in columns.items()}
        pq.write_table(pa.table(grown), path, row_group_size=50, compression="gzip")
        assert found(history, path).rows == 90
        for key, value in (("a", 7.0), ("t", None), ("t", "u"), ("y", 1)):
            other = {**grown, key: [value, *grown[key][1:]]}
            pq.write_table(pa.table(other), path)
            assert found(history, path) == ChangedStream(90), (key, value)

    def test_a_last_line_that_was_not_whole(self, tmp_path):
        path = tmp_path / "s.csv"
        path.write_text("a,b,c,d,y\n1,2,3,4,0\n1,2,3,4,1")
        history = gone_through(path)
        path.write_text("a,b,c,d,y\n1,2,3,4,0\n1,2,3,4,1\n5,5,5,5,0\n")
        sha256 = history[0][COVERAGE_KEY]["coverage"]["sha256"]
        assert found(history, path) == LearntPart(2, False, False, sha256)
        path.write_text("a,b,c,d,y\n1,2,3,4,0\n1,2,3,4,11\n")
        assert found(history, path) == LearntPart(2, False, True, sha256)
        path.write_text("a,b,c,d,y\n1,2,3,4,0\n1,2,3,5,1\n")
        assert found(history, path) == ChangedStream(2)

    def test_blank_lines_are_nothing_new(self, tmp_path):
        path = write(tmp_path / "s.csv", table(20))
        history = gone_through(path)
        path.write_bytes(path.read_bytes() + b"\r\n\n")
        assert found(history, path).is_all

    def test_the_longest_of_several(self, tmp_path):
        path, history = tmp_path / "s.csv", []
        for n in (20, 60, 40):
            gone_through(write(path, table(60)[:n]), history)
        assert found(history, write(path, table(60) + table(5, 1))).rows == 60

    @pytest.mark.parametrize(
        "record",
        [
            None,
            [],
            {},
            {"end": 3},
            {"end": -1, "coverage": {"sha256": "a"}, "before": None},
            {"end": 3, "coverage": {"sha256": 5, "bytes": 3}, "before": None, "place": []},
            {"end": 3, "coverage": {"sha256": "a", "bytes": 10**40}, "before": {}, "place": 3},
            {"end": True, "coverage": {"sha256": "a", "bytes": True}, "before": None},
        ],
    )
    def test_records_that_make_no_sense(self, record, tmp_path):
        path = write(tmp_path / "s.csv", table(20))
        assert found([{"event": "adapt", COVERAGE_KEY: record}, {}], path) is None

    def test_the_place_is_not_given_away(self, tmp_path):
        path = write(tmp_path / "s.csv", table(20))
        assert str(tmp_path) not in str(gone_through(path))


def test_records_are_bounded():
    history = []
    for i in range(MAX_STREAMS + 5):
        add_event(history, {"event": "adapt", "i": i}, {"end": i})
    assert len(history) == MAX_STREAMS + 5
    assert [i for i, event in enumerate(history) if COVERAGE_KEY in event] == list(range(5, MAX_STREAMS + 5))
    add_event(history, {"event": "adapt"}, None)
    assert COVERAGE_KEY in history[5]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_how_the_bytes_arrive_makes_no_difference(size):
    text = b"a,b\n1,2\n3,4\n5,6\n"
    coverages = []
    for end in (4, 8, 12, 16):
        digest = TextDigest()
        digest.update(text[:end])
        coverages.append(digest.coverage())

    def reading(data):
        pieces = [data[i : i + size] for i in range(0, len(data), size)]
        return lambda: pieces.pop(0) if pieces else b""

    assert fits_of_text(reading(text), coverages) == ["longer"] * 3 + ["same"]
    assert fits_of_text(reading(text[:12]), coverages) == ["longer"] * 2 + ["same", "other"]
    assert fits_of_text(reading(b"a,b\n1,3\n"), coverages) == ["longer", "other", "other", "other"]
    assert fits_of_text(reading(b""), coverages) == ["other"] * 4
