"""The files beside a log: which are its own, in which order, and when nobody can tell."""

from __future__ import annotations

import gzip
import os

import pytest

from ocboost.errors import InputError
from ocboost.streams.rotated import archives_of, files_between, find_holder
from ocboost.streams.source import TextDigest


def coverage(text):
    digest = TextDigest()
    digest.update(text.encode())
    return digest.coverage()


@pytest.fixture
def put(tmp_path):
    def put(name, text, time):
        data = text.encode()
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        os.utime(path, (time, time))

    return put


def names(archives):
    return [each.path.name for each in archives]


def between(path, holder=None, read=None, since=0, **more):
    archives = archives_of(path)
    found = next((each for each in archives if each.path.name == holder), None)
    since = since * 10**9 if found is None else found.time
    read = None if read is None else coverage(read)
    return names(files_between(path, archives, holder=found, since=since, read=read, **more))


class TestNames:
    def test_those_of_the_log(self, tmp_path, put):
        rotated = [
            "log.csv.2",
            "log.csv.1",
            "log.csv-20261116",
            "log-1.csv",
            "log.2026-11-16.csv.gz",
            "log.csv~",
        ]
        others = [
            "log.csv",
            "log-train.csv",
            "blog.csv.1",
            "log.csv.ocb",
            "log.csv.ocb.lock",
            ".log.csv.1.tmp",
        ]
        others += ["logs.csv", "log.csvx", "log-1.jsonl", "log.csv.ocb.checkpoint"]
        for time, name in enumerate(rotated + others):
            put(name, "x", time)
        (tmp_path / "log.csv.7").mkdir()
        assert names(archives_of(tmp_path / "log.csv")) == rotated

    def test_the_plain_one_of_two(self, tmp_path, put):
        put("log.csv.1", "x", 1)
        put("log.csv.1.gz", "x", 1)
        put("log.csv.2.gz", "x", 0)
        assert names(archives_of(tmp_path / "log.csv")) == ["log.csv.2.gz", "log.csv.1"]


class TestHolder:
    def test_by_its_beginning(self, tmp_path, put):
        put("log.csv.1", "a\n9\n", 3)
        put("log.csv.2.gz", "a\n1\n2\n3\n", 2)
        put("log.csv.3", "a\n1\n", 1)
        archives = archives_of(tmp_path / "log.csv")
        assert find_holder(archives, coverage("a\n1\n2\n")).path.name == "log.csv.2.gz"
        assert find_holder(archives, coverage("a\n1\n2\n"), 5 * 10**9).path.name == "log.csv.2.gz"
        assert find_holder(archives, coverage("a\n1\n3\n")) is None

    def test_the_longest_of_copies(self, tmp_path, put):
        put("log.csv.bak", "a\n1\n2\n", 1)
        put("log.csv.1", "a\n1\n2\n3\n", 2)
        put("log.csv.2", "a\n1\n2\n", 3)
        archives = archives_of(tmp_path / "log.csv")
        assert find_holder(archives, coverage("a\n1\n")).path.name == "log.csv.1"
        put("log.csv.3", "a\n1\n7\n", 4)
        with pytest.raises(
            InputError, match=r"log.csv.3.* all begin with what was learnt, and go on differently"
        ):
            find_holder(archives_of(tmp_path / "log.csv"), coverage("a\n1\n"))


class TestBetween:
    def test_in_order(self, tmp_path, put):
        for number, time in ((12, 1), (11, 2), (10, 3), (9, 4), (1, 5)):
            put(f"log.csv.{number}", f"a\n{time}\n", time)
        put("log.csv", "a\n6\n", 6)
        assert between(tmp_path / "log.csv", "log.csv.11") == ["log.csv.10", "log.csv.9", "log.csv.1"]

    def test_equal_times(self, tmp_path, put):
        for number in (3, 2, 1):
            put(f"log.csv.{number}", f"a\n{number}\n", 1)
        assert between(tmp_path / "log.csv", "log.csv.3") == ["log.csv.2", "log.csv.1"]
        assert between(tmp_path / "log.csv", "log.csv.2") == ["log.csv.1"]
        for day in (18, 17):
            put(f"day.csv-202611{day}", f"a\n{day}\n", 1)
        assert between(tmp_path / "day.csv", "day.csv-20261117") == ["day.csv-20261118"]

    def test_of_the_same_naming_only(self, tmp_path, put):
        for time, name in enumerate(["log.csv.1", "log-2.csv", "log.csv.old", "log.csv.bak1"]):
            put(name, f"a\n{time}\n", time)
        assert between(tmp_path / "log.csv", "log.csv.1") == []

    def test_times_and_numbers_disagree(self, tmp_path, put):
        for number, time in ((4, 1), (3, 2), (1, 3), (2, 4)):
            put(f"log.csv.{number}", f"a\n{time}\n", time)
        with pytest.raises(InputError, match=r"order of .* is not clear"):
            between(tmp_path / "log.csv", "log.csv.4")

    def test_a_clock_that_was_set_back(self, tmp_path, put):
        for number, time in ((3, 10), (2, 20), (1, 15)):
            put(f"log.csv.{number}", f"a\n{time}\n", time)
        path = tmp_path / "log.csv"
        with pytest.raises(InputError, match=r"log.csv.1' and .*log.csv.2' is not clear"):
            between(path, "log.csv.2", began=0)
        assert between(path, "log.csv.2", began=0, known=[coverage("a\n15\n")]) == []
        assert between(path, "log.csv.2", began=16 * 10**9) == []  # of a time before it was followed

    def test_copies(self, tmp_path, put):
        path = tmp_path / "log.csv"
        put("log.csv.2", "a\n1\n", 1)
        put("log.csv.1", "a\n2\n", 2)
        put("log.csv", "a\n2\n3\n", 3)
        with pytest.raises(InputError, match=r"log.csv.1' and .*log.csv' begin with the same rows"):
            between(path, "log.csv.2", header=b"a")
        put("log.csv.1", "a\n", 2)
        assert between(path, "log.csv.2", header=b"a") == []

    def test_what_was_learnt_is_left_out(self, tmp_path, put):
        path = tmp_path / "log.csv"
        put("log.csv.3", "a\n1\n2\n", 1)
        put("log.csv.2.gz", "a\n1\n2\n3\n", 2)
        put("log.csv.1", "a\n7\n", 3)
        assert between(path, "log.csv.3", read="a\n1\n2\n") == ["log.csv.1"]
        assert between(path, "log.csv.3", read="a\n1\n2\n", known=[coverage("a\n7\n")]) == []
        put("log.csv.1", "a\n7\n8\n", 3)
        with pytest.raises(InputError, match="longer than it was"):
            between(path, "log.csv.3", read="a\n1\n2\n", known=[coverage("a\n7\n")])

    def test_without_the_holder(self, tmp_path, put):
        path = tmp_path / "log.csv"
        put("log.csv.1", "a\n1\n", 5)
        assert between(path, since=4) == ["log.csv.1"]
        assert between(path, since=6) == []
        put("log-1.csv", "a\n2\n", 6)
        with pytest.raises(InputError, match="may or may not hold rows"):
            between(path, since=4)
        os.remove(tmp_path / "log.csv.1")
        with pytest.raises(InputError, match="may or may not hold rows"):
            between(path, since=4)
        put("log-2.csv", "a\n0\n", 2)
        assert between(path, since=4, known=[coverage("a\n0\n")]) == ["log-1.csv"]

    def test_compressed_in_another_way(self, tmp_path, put):
        put("log.csv.1.xz", "\x00", 5)
        (tmp_path / "log.csv.1.xz").write_bytes(b"\xfd7zXZ\x00")
        os.utime(tmp_path / "log.csv.1.xz", (5, 5))
        assert between(tmp_path / "log.csv", since=5) == []
        with pytest.raises(InputError, match="compressed with xz"):
            between(tmp_path / "log.csv", since=4)
