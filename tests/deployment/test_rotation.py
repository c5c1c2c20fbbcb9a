"""Where a log that is followed goes on: each row once, whatever happened to it between and during runs."""

from __future__ import annotations

import os
import random
from contextlib import closing

import pytest

from ocboost.deployment.resume import (
    COVERAGE_KEY,
    EARLIER_KEY,
    MAX_STREAMS,
    add_event,
    file_records,
    learnt_files,
    records_of,
)
from ocboost.deployment.rotation import start_after, start_by_history
from ocboost.errors import InputError
from ocboost.streams.follow import FollowSource
from ocboost.streams.learnt_rows import LearntFile
from ocboost.streams.source import TextDigest
from tests.support.growing_log import DoneError, GrowingLog, Script, lines_of

NAMINGS = ["{name}.{n}", "{stem}-{n}.csv", "{name}-{date}"]


def nothing():
    """Wait."""


def followed(log, history, actions=(), n_learnt=None, meanwhile=nothing):
    """Follow a log until the actions are over, and learn so many of its rows: these rows.

    ``meanwhile`` happens whenever something was read.

    They are numbered from 1000 on. What was learnt is added to the history.
    """
    start = start_by_history(history, log.path)
    format = "jsonl" if log.is_json else "csv"
    text = b""
    with closing(FollowSource(log.path, format, start, first_row=1000, patience=Script(*actions))) as source:
        try:
            while True:
                text += source.read()
                meanwhile()
        except DoneError:
            pass
        rows = lines_of(text)
        n = len(rows) if n_learnt is None else n_learnt(len(rows))
        for end in (n // 3, n // 2, n):
            source.learnt_to(1000 + end)
        if n:
            before = None if start.position is None else start.position.coverage["sha256"]
            add_event(history, {}, file_records(source.learnt_files(), log.path, before))
    return rows[:n]


class Rotations:
    """Random things that happen to a log."""

    def __init__(self, log, rng):
        self.log, self.rng = log, rng
        self.has_no_name = False

    def some(self):
        """One or several things between two looks."""
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            self.act()

    def perhaps(self):
        if self.rng.random() < 0.15:
            self.some()

    def act(self):
        log, rng = self.log, self.rng
        draw = rng.random()
        if self.has_no_name:
            if draw < 0.6:
                log.reopen()
                self.has_no_name = False
            else:
                log.append(1)
        elif draw < 0.45:
            log.append(rng.randint(1, 6), cut=rng.random() < 0.3)
        elif draw < 0.55:
            log.rename(ended=rng.random() < 0.7)
        elif draw < 0.62:
            log.rename(begin=False)
            log.append(rng.randint(0, 2))
            self.has_no_name = True
        elif draw < 0.75:
            log.copy_and_truncate(ended=rng.random() < 0.7)
        elif draw < 0.8:
            log.compress()

    def end(self):
        if self.has_no_name:
            self.log.reopen()
        self.log.complete()
        self.log.append(1)


@pytest.mark.parametrize("seed", range(120))
def test_each_row_once(seed, tmp_path):
    rng = random.Random(seed)
    path = tmp_path / rng.choice(["log.csv", "log.jsonl"])
    rows = [[i * 1.5, rng.randint(0, 9), 3, 4, i % 2] for i in range(400)]
    naming = rng.choice(NAMINGS).replace(".csv", path.suffix)
    with closing(GrowingLog(path, rows, header=rng.random() < 0.7, naming=naming)) as log:
        log.append(2)
        rotations, history = Rotations(log, rng), []
        learnt = followed(log, history)
        for _ in range(rng.randint(1, 5)):
            actions = [rotations.some] * rng.randint(0, 10)
            part = None if rng.random() < 0.5 else lambda n: rng.randint(0, n)
            learnt += followed(log, history, actions, part, rotations.perhaps)
            for _ in range(rng.randint(0, 5)):
                rotations.act()
        rotations.end()
        learnt += followed(log, history, [nothing] * 12)
        assert learnt == log.written


class TestStarts:
    @pytest.fixture
    def log(self, tmp_path):
        with closing(GrowingLog(tmp_path / "log.csv", [[i, 2, 3, 4, 0] for i in range(50)])) as log:
            log.append(4)
            yield log

    def test_a_new_log(self, log):
        assert start_by_history([], log.path).position is None
        assert start_by_history([{"event": "fit"}], log.path).position is None

    def test_one_that_was_moved(self, log, tmp_path):
        history = []
        followed(log, history)
        (tmp_path / "new").mkdir()
        path = tmp_path / "new" / "other.csv"
        os.rename(log.path, path)
        start = start_by_history(history, path)
        assert (start.position.rows, start.file) == (4, None)

    def test_one_that_is_replaced(self, log, tmp_path):
        history = []
        followed(log, history)
        log.rename()
        log.append(1)
        assert start_by_history(history, log.path).file.path == tmp_path / "log.csv.1"
        os.remove(tmp_path / "log.csv.1")
        with pytest.raises(
            InputError, match=r"does not begin as it did when 4 rows of it were learnt.*--new"
        ):
            start_by_history(history, log.path)
        os.remove(log.path)
        with pytest.raises(InputError, match="does not begin as it did"):
            start_by_history(history, log.path)

    def test_a_link_to_the_newest(self, log, tmp_path):
        os.rename(log.path, tmp_path / "log-1.csv")
        os.symlink("log-1.csv", log.path)
        history = []
        assert followed(log, history) == log.written
        log.append(2)
        (tmp_path / "log-2.csv").write_text("a,b,c,d,y\n7,7,7,7,1\n")

        def swap():
            os.symlink("log-2.csv", tmp_path / "link")
            os.replace(tmp_path / "link", log.path)

        assert followed(log, history, [swap, nothing]) == [*log.written[4:], "7,7,7,7,1"]
        assert start_by_history(history, log.path).position.rows == 1

    def test_a_learnt_row_that_grew(self, log):
        """One that ``adapt`` without --follow has learnt before its line had ended."""
        text = log.path.read_text()
        log.path.write_text(text + "9,9,9,9,1")
        digest = TextDigest()
        digest.update(log.path.read_bytes())
        history = []
        add_event(history, {}, file_records([LearntFile(5, digest.coverage())], log.path))
        for more in ("", "5", "55\n"):
            log.path.write_text(f"{text}9,9,9,9,1{more}")
            assert followed(log, list(history)) == []
        log.path.write_text(f"{text}9,9,9,9,155\n8,8,8,8,0\n")
        assert followed(log, list(history)) == ["8,8,8,8,0"]


class TestRecords:
    def test_bounded(self):
        history = []
        file = LearntFile(1, {"bytes": 3, "sha256": "a", "closed": True})
        for _ in range(3):
            add_event(history, {"event": "adapt"}, file_records([file] * 600, "log.csv"))
        assert len(history) == 3
        assert len(records_of(history)) == 601
        assert len(history[2][EARLIER_KEY]) == 599
        assert set(history[1]) == {"event", COVERAGE_KEY}
        assert set(history[0]) == {"event"}
        add_event(history, {"event": "adapt"}, file_records([file] * 2 * MAX_STREAMS, "log.csv"))
        assert len(records_of(history)) == len(history[3][EARLIER_KEY]) + 1 == MAX_STREAMS

    def test_as_they_were(self):
        files = [
            LearntFile(3, {"bytes": 9, "sha256": "a", "closed": True}, "x,y", 5),
            LearntFile(4, {"bytes": 8, "sha256": "b", "closed": False}),
        ]
        records = file_records(files, "log.csv", "before")
        assert [record["before"] for record in records] == ["before", None]
        assert learnt_files(records, "log.csv") == files
        assert learnt_files(records, "other.csv") == []
        assert learnt_files(records) == files

    @pytest.mark.parametrize(
        "change",
        [
            {"end": 0},
            {"end": -1},
            {"end": True},
            {"coverage": None},
            {"coverage": {"rows": 3, "sha256": "a"}},
            {"coverage": {"bytes": -1, "sha256": "a"}},
            {"header": 5},
        ],
    )
    def test_that_make_no_sense(self, change):
        good = file_records([LearntFile(3, {"bytes": 9, "sha256": "a"})], "log.csv")[0]
        assert learnt_files([good, {**good, **change}, None, 7, []]) == learnt_files([good])
        history = [{EARLIER_KEY: 5}, {EARLIER_KEY: [None, {**good, "end": "x"}], COVERAGE_KEY: good}]
        assert records_of(history) == [good]

    def test_a_huge_one(self, tmp_path):
        (tmp_path / "log.csv").write_text("a\n1\n")
        with pytest.raises(InputError, match="does not begin"):
            start_after([LearntFile(3, {"bytes": 10**30, "sha256": "a"}, None, 10**40)], tmp_path / "log.csv")
