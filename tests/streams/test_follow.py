"""A log that is followed: every row once and in order, however it grows and is rotated."""

from __future__ import annotations

import gzip
import os
import shutil
from contextlib import closing

import numpy as np
import pytest

from ocboost.errors import InputError
from ocboost.streams import open_stream
from ocboost.streams.csv import row_ends
from ocboost.streams.follow import FollowSource, FollowStart
from ocboost.streams.learnt_rows import LearntRows, ends_of_rows
from ocboost.streams.log_file import PlainFile
from ocboost.streams.source import TextDigest
from tests.support.growing_log import NAMES, DoneError, GrowingLog, Script, lines_of

ROWS = [[float(i), i % 7, 3, 4, i % 2] for i in range(100)]


def nothing():
    """Wait."""


@pytest.fixture(params=["log.csv", "log.jsonl"])
def log(request, tmp_path):
    with closing(GrowingLog(tmp_path / request.param, ROWS)) as log:
        yield log


@pytest.fixture
def csv_log(tmp_path):
    with closing(GrowingLog(tmp_path / "log.csv", ROWS)) as log:
        yield log


def add(path, text):
    with path.open("a") as file:
        file.write(text)


def source_of(log, *actions, start=None, tell=lambda text: None):
    format = "jsonl" if log.is_json else "csv"
    return FollowSource(log.path, format, start, patience=Script(*actions), tell=tell)


def followed(log, *actions, start=None):
    """The source, what it has given out until the actions were over, and what it has told."""
    told = []
    source = source_of(log, *actions, start=start, tell=told.append)
    text = b""
    try:
        while True:
            text += source.read()
    except DoneError:
        return source, text, told
    finally:
        source.close()


def rows_of(log, *actions, **more):
    return lines_of(followed(log, *actions, **more)[1])


class TestGrowth:
    def test_rows_as_they_come(self, log):
        log.append(3)
        with closing(source_of(log, lambda: log.append(2), lambda: log.append(1))) as source:
            assert [len(lines_of(source.read())) for _ in range(3)] == [3, 2, 1]

    def test_a_line_waits_for_its_end(self, log):
        waits = []
        log.append(2, cut=True)
        with closing(source_of(log, lambda: waits.append(1), log.complete)) as source:
            assert lines_of(source.read()) == log.written[:1]
            assert not waits
            assert lines_of(source.read()) == log.written[1:]
        assert waits

    def test_a_quoted_row_of_several_lines(self, csv_log):
        path = csv_log.path

        def write(text):
            return lambda: add(path, text)

        _, text, _ = followed(csv_log, write('1,"a\n'), write('b",3,4,0\n5,'), write("6,7,8,1\n"))
        assert text.decode() == f'{NAMES}\n1,"a\nb",3,4,0\n5,6,7,8,1\n'

    def test_a_log_that_is_not_there_yet(self, tmp_path):
        path = tmp_path / "late.csv"
        made = []
        told = []
        script = Script(
            nothing, lambda: made.append(GrowingLog(path, ROWS)), lambda: made[0].append(1), nothing
        )
        with closing(FollowSource(path, "csv", patience=script, tell=told.append)) as source:
            assert lines_of(source.read() + source.read()) == made[0].written
        made[0].close()
        assert told == [f"waiting for '{path}': No such file or directory."]

    def test_a_folder_in_its_place(self, csv_log):
        path, away = csv_log.path, csv_log.path.parent / "away"

        def replace():
            os.rename(path, away)
            path.mkdir()

        def put_back():
            path.rmdir()
            os.rename(away, path)

        csv_log.append(1)
        _, text, told = followed(csv_log, replace, nothing, put_back, lambda: csv_log.append(1), nothing)
        assert lines_of(text) == csv_log.written
        assert told == [f"waiting for '{path}': it is not an ordinary file."]

    @pytest.mark.parametrize(
        ("data", "what"),
        [(gzip.compress(b"a,b\n1,2\n", mtime=0), "gzip"), (b"PAR1xxxxxxxx", "a Parquet file")],
        ids=["gzip", "parquet"],  # names that are the same in every process
    )
    def test_what_cannot_be_followed(self, data, what, tmp_path):
        path = tmp_path / "log.csv"
        path.write_bytes(data)
        with closing(FollowSource(path, "csv")) as source, pytest.raises(InputError, match=what):
            source.read()


class TestRenamed:
    @pytest.mark.parametrize("ended", [False, True])
    def test_and_begun_anew(self, ended, log):
        log.append(3, cut=True)
        rows = rows_of(log, lambda: log.rename(ended=ended), lambda: log.append(2), nothing)
        assert rows == log.written

    def test_the_old_file_is_written_on(self, log):
        log.append(1)
        actions = [
            lambda: log.rename(begin=False),
            lambda: log.append(2),
            lambda: open(log.path, "w").close(),  # as logrotate's create does
            lambda: log.append(1, cut=True),
            lambda: (log.reopen(), log.append(1)),
            nothing,
        ]
        assert rows_of(log, *actions) == log.written

    def test_compressed_at_once(self, log):
        log.append(2)
        actions = [lambda: (log.append(3), log.rename(), log.compress(), log.append(1)), nothing]
        assert rows_of(log, *actions) == log.written

    def test_right_after_a_look(self, log, monkeypatch):
        """Rows, a rotation and a compression between reading to the end and looking at the name."""
        read, left = PlainFile.read, [lambda: (log.append(3), log.rename(), log.compress(), log.append(1))]

        def then_rotated(self):
            data = read(self)
            if not data and left:
                left.pop()()
            return data

        monkeypatch.setattr(PlainFile, "read", then_rotated)
        assert rows_of(log, nothing) == log.written

    def test_several_times_between_two_looks(self, log):
        log.append(2)

        def rotate():
            for _ in range(3):
                log.append(2)
                log.rename()
            log.compress()
            log.append(1)

        _, text, told = followed(log, rotate, nothing)
        assert lines_of(text) == log.written
        assert told == [f"'{log.path}' was rotated; going on with the new file, after 2 files between them."]

    def test_moved_to_another_folder(self, log, tmp_path):
        log.append(2)
        (tmp_path / "old").mkdir()

        def move():
            os.rename(log.path, tmp_path / "old" / "log")
            log.reopen()
            log.append(1)

        assert rows_of(log, move, nothing) == log.written


class TestTruncated:
    @pytest.mark.parametrize("packed", [False, True])
    def test_the_rest_is_read_from_the_copy(self, packed, log):
        log.append(2)

        def rotate():
            log.append(3, cut=True)
            log.copy_and_truncate(ended=False)
            if packed:
                log.compress()
            log.append(1)

        assert rows_of(log, rotate, nothing) == log.written

    def test_longer_than_before_at_once(self, log):
        log.append(2)

        def rotate():
            log.append(1)
            log.copy_and_truncate()
            log.append(9)

        assert rows_of(log, rotate, nothing) == log.written

    def test_and_then_renamed(self, log):
        log.append(9)

        def rotate():
            log.append(1)
            log.copy_and_truncate()
            log.append(2)
            log.rename()
            log.append(1)

        assert rows_of(log, rotate, nothing) == log.written

    @pytest.mark.parametrize("renamed", [False, True])
    def test_while_the_old_file_is_read(self, renamed, log):
        log.append(2)

        def rotate():
            log.append(2)
            log.rename()
            log.append(2)

        text = b""
        with closing(source_of(log, rotate, nothing)) as source:
            while len(lines_of(text)) < 4:
                text += source.read()
            log.append(1)
            log.copy_and_truncate()  # before anything was read of it
            if renamed:
                log.rename()
            log.append(1)
            while len(lines_of(text)) < len(log.written):
                text += source.read()  # ends by an error if there are no more
        assert lines_of(text) == log.written

    def test_twice_before_any_row_was_read(self, tmp_path):
        log = GrowingLog(tmp_path / "log.csv", ROWS)

        def rotate():
            for _ in range(2):
                log.append(2)
                log.copy_and_truncate()

        assert rows_of(log, rotate, lambda: log.append(1), nothing) == log.written

    def test_without_a_copy(self, log):
        log.append(4, cut=True)

        def truncate():
            os.truncate(log.path, 0)
            log.written.pop()
            log._held = ""
            log.append(1)

        _, text, told = followed(log, truncate, *[nothing] * 10)
        assert lines_of(text) == log.written
        assert len(told) == 1
        assert "was truncated, and no copy of what it held lies beside it" in told[0]


class TestHeaders:
    def test_rows_without_names_after_a_rotation(self, tmp_path):
        log = GrowingLog(tmp_path / "log.csv", ROWS, header=False)
        log.append(2)
        source, text, _ = followed(log, log.copy_and_truncate, lambda: log.append(2), nothing)
        assert lines_of(text) == log.written
        source.learnt_to(4)
        assert [file.header for file in source.learnt_files()] == [None, NAMES]
        position = source.learnt_files()[-1]
        log.append(1)
        again = rows_of(log, start=FollowStart(position))
        assert again == log.written[-1:]

    @pytest.mark.parametrize("line", ["b,a,c,d,y", "a,b,c,d,e,y", "a,b,c"])
    def test_other_columns(self, line, csv_log):
        csv_log.append(1)

        def rotate():
            csv_log.rename(begin=False)
            csv_log.path.write_text(f"{line}\n1,2,3,4,1\n")

        with pytest.raises(InputError, match=f"begins with '{line}', and began with '{NAMES}'.*--new"):
            followed(csv_log, rotate, nothing)

    def test_windows_line_ends_and_byte_order_marks(self, csv_log):
        csv_log.append(1)

        def rotate():
            csv_log.rename(begin=False)
            csv_log.path.write_bytes(b"\xef\xbb\xbf" + NAMES.encode() + b"\r\n\r\n1,2,3,4,1\r\n")

        _, text, _ = followed(csv_log, rotate, nothing)
        assert text.endswith(b"\n\r\n1,2,3,4,1\r\n")
        assert text.count(NAMES.encode()) == 1

    def test_a_quote_that_is_open(self, csv_log):
        csv_log.append(1)

        def rotate():
            add(csv_log.path, '1,"2')
            csv_log.rename()

        with pytest.raises(InputError, match="rotated inside a quoted field"):
            followed(csv_log, rotate, nothing)


class TestStream:
    def test_numbers_of_rows_and_lines_go_on(self, csv_log):
        csv_log.append(5)
        source, _, _ = followed(csv_log)
        source.learnt_to(3)
        position = source.learnt_files()[0]
        assert position.rows == 3
        add(csv_log.path, "1,2\n")
        source = FollowSource(csv_log.path, "csv", FollowStart(position), first_row=40)
        with open_stream(
            csv_log.path, label="y", source=source, skip=40, as_they_come=True, label_kind="integer"
        ) as stream:
            rows = next(stream)
            assert (rows.first, rows.X[:, 0].tolist()) == (40, [3.0, 4.0])
            with pytest.raises(InputError, match=r"log.csv, line 7: a row must have 5 fields"):
                next(stream)

    def test_what_was_learnt_has_changed_meanwhile(self, csv_log):
        csv_log.append(5)
        source, _, _ = followed(csv_log)
        source.learnt_to(3)
        position = source.learnt_files()[0]
        shutil.copy(csv_log.path, csv_log.path.with_name("copy"))
        csv_log.path.write_text(csv_log.path.read_text().replace("0.0", "0.5"))
        with pytest.raises(InputError, match="replaced just now"):
            rows_of(csv_log, start=FollowStart(position))


class TestLearntRows:
    def test_up_to_any_row(self):
        text = b"h\n1\n\n22\n\r\n333\n"
        for row in range(4):
            learnt = LearntRows(0)
            source = FollowSource("x.csv", "csv")
            source._learnt = learnt
            source._reading._learnt = learnt
            learnt.begin(source._reading.mark)
            assert source._reading.take(text) == text
            learnt.advance(row)
            learnt.advance(row)
            expected = TextDigest()
            expected.update([b"h\n", b"h\n1\n", b"h\n1\n\n22\n", text][row])
            files = learnt.files()
            assert [file.rows for file in files] == [row] * bool(row)
            if row:
                assert files[0].coverage == expected.coverage()

    def test_where_rows_end(self):
        rng = np.random.default_rng(0)
        for _ in range(300):
            data = b"".join(rng.choice([b"\n", b"\r\n", b"a\n", b'"x\ny"\n', b"1,2\n", b"\r\r\n"], 8))
            ends = row_ends(data, b",")
            starts = [0, *(ends[:-1] + 1).tolist()]
            naive = [e + 1 for s, e in zip(starts, ends.tolist(), strict=True) if data[s:e].strip(b"\r")]
            assert ends_of_rows(data, ends, b"\r").tolist() == naive
        assert ends_of_rows(b"", np.array([], np.int64), b"\r").tolist() == []
