"""What is kept, how long, and on what disk."""

from __future__ import annotations

import sqlite3
import threading
import time

import pytest

from ocboost.errors import StorageError, StorageFullError
from ocboost.live import Adapter, clock, replay
from ocboost.live.journal import Entry, Journal
from ocboost.live.writer import Command
from tests.support import live

ROWS, LABELS = live.records(200, 400), live.labels(200, 400)
DAY = 86_400.0


def sweep(adapter):
    adapter._in_turn(
        lambda: adapter._writer._sweep(adapter._writer.clock.now() - adapter._writer.limits.max_days * DAY)
    )


def reasons(report):
    return [each.reason for each in report.rejected]


class TestExpiry:
    def test_the_oldest_go_where_there_are_too_many(self, tmp_path):
        with Adapter(live.model(), tmp_path / "s", max_pending=10) as adapter:
            ids = [id_ for start in range(0, 30, 5) for id_ in adapter.predict(ROWS[start : start + 5]).ids]
            sweep(adapter)
            facts = adapter.facts()
            assert (facts["pending"], facts["expired"]) == (10, 20)
            report = adapter.label([{"id": id_, "label": "yes"} for id_ in ids])
            assert report.accepted == 10
            assert reasons(report) == ["expired"] * 20

    def test_or_where_they_are_too_large(self, tmp_path):
        with Adapter(live.model(), tmp_path / "s", max_pending_bytes=(8 * 5 + 4 * 2) * 7) as adapter:
            adapter.predict(ROWS[:30])
            sweep(adapter)
            assert adapter.facts()["pending"] == 7
            assert adapter.facts()["pending_bytes"] == (8 * 5 + 4 * 2) * 7  # numbers, and two probabilities

    def test_or_too_old(self, monkeypatch, tmp_path):
        with Adapter(live.model(), tmp_path / "s", max_days=2) as adapter:
            old = adapter.predict(ROWS[:3]).ids
            monkeypatch.setattr(adapter._writer.clock, "_start", adapter._writer.clock._start + 2.5 * DAY)
            new = adapter.predict(ROWS[:3]).ids
            sweep(adapter)
            assert adapter.facts()["pending"] == 3
            assert reasons(adapter.label([{"id": old[0], "label": "yes"}])) == ["expired"]
            assert adapter.label([{"id": new[0], "label": "yes"}]).accepted == 1

    def test_own_ids_and_labels_are_forgotten_in_time(self, tmp_path):
        with Adapter(live.model(), tmp_path / "s", max_pending=5, keep_labels=3) as adapter:
            for start in range(0, 40, 5):
                ids = [f"id {i}" for i in range(start, start + 5)]
                adapter.predict(ROWS[start : start + 5], ids=ids)
                adapter.label([{"id": id_, "label": "yes"} for id_ in ids])
            adapter.checkpoint()
            for _ in range(3):
                sweep(adapter)
            db = adapter._writer.journal._db
            count = {
                name: adapter._in_turn(
                    lambda name=name: db.execute(f"select count(*) from {name}").fetchone()[0]
                )
                for name in ("journal", "labelled", "own", "pending")
            }
            assert count == {"journal": 3, "labelled": 10, "own": 10, "pending": 0}
            assert adapter.label([{"id": "id 39", "label": "yes"}]).duplicates == 1
            assert reasons(adapter.label([{"id": "id 0", "label": "yes"}])) == ["unknown_id"]


class TestClock:
    def test_goes_on_while_nobody_runs_it(self, monkeypatch):
        monkeypatch.setattr(time, "time", lambda: 5000.0)
        assert 1000.0 + 4000.0 <= clock.LiveClock(1000.0, 1000.0).now() < 5001.0

    @pytest.mark.parametrize(("jump", "least", "most"), [(-1e9, 0.0, 1.0), (1e9, DAY, DAY + 1.0)])
    def test_a_jump_between_two_runs_costs_a_day_at_most(self, jump, least, most, monkeypatch):
        monkeypatch.setattr(time, "time", lambda: 1e6 + jump)
        assert least <= clock.LiveClock(1e6, 1e6).now() - 1e6 <= most

    def test_times_that_are_shown_are_the_systems(self, monkeypatch, tmp_path):
        """Down for five days: its own clock is four days behind, and nobody is to see that."""
        with Adapter(live.model(), tmp_path / "s") as adapter:
            adapter.predict(ROWS[:1])
        then = time.time() + 5 * DAY
        monkeypatch.setattr(time, "time", lambda: then)
        with Adapter(live.model(), tmp_path / "s") as adapter:
            assert 3.9 * DAY < adapter.clock.ahead < 4.1 * DAY
            old = adapter.facts()["oldest_pending"]
            assert DAY - 60.0 < then - old < DAY + 60.0
            adapter.label([{"row": ROWS[0], "label": "yes"}])
            adapter.freeze()
            status = adapter.watch("model")["status"]
            assert status["oldest_pending"] == pytest.approx(old, abs=60.0)
            assert status["now"] == status["last_label"] == adapter.facts()["last_label"] == then
            assert adapter.events()[-1]["time"] == then

    def test_a_jump_in_a_run_is_not_seen(self, monkeypatch, tmp_path):
        with Adapter(live.model(), tmp_path / "s", max_days=20) as adapter:
            ids = adapter.predict(ROWS[:3]).ids
            now = time.time()
            monkeypatch.setattr(time, "time", lambda: now + 1e9)
            sweep(adapter)
            assert adapter.label([{"id": ids[0], "label": "yes"}]).accepted == 1
        with Adapter(live.model(), tmp_path / "s", max_days=20) as adapter:
            assert adapter.label([{"id": ids[1], "label": "yes"}]).accepted == 1
            monkeypatch.setattr(time, "time", lambda: now - 1e9)
            sweep(adapter)
        with Adapter(live.model(), tmp_path / "s", max_days=20) as adapter:
            assert adapter.label([{"id": ids[2], "label": "yes"}]).accepted == 1


class TestFullDisk:
    """SQLite's own limit of pages is met like a full disk, in the same places."""

    @staticmethod
    def limit(adapter, pages):
        db = adapter._writer.journal._db
        adapter._in_turn(lambda: db.execute(f"pragma max_page_count={pages}").fetchall())

    @pytest.mark.parametrize("kind", ["ocb", "adaptive"])
    def test_nothing_is_taken_and_it_recovers(self, kind, tmp_path):
        with Adapter(live.model(kind), tmp_path / "s") as adapter:
            ids = adapter.predict(ROWS[:50]).ids
            taken = adapter.label([{"id": id_, "label": "yes"} for id_ in ids[:10]]).accepted
            self.limit(adapter, 1)  # no more than there are
            n_pending, before = adapter.facts()["pending"], adapter.model_file()
            n_pending += _until_full(lambda: len(adapter.predict(ROWS).ids))
            assert adapter.storage == "full"
            taught = [{"row": row, "label": "yes"} for row in ROWS * 5]
            taken += _until_full(lambda: adapter.label(taught).accepted)
            assert adapter.facts()["pending"] == n_pending
            assert adapter.facts()["learnt"] == taken
            if taken == 10:
                assert adapter.model_file() == before
            assert len(adapter.predict(ROWS[:2], issue=False)) == 2  # this needs no disk
            self.limit(adapter, 1 << 30)
            assert adapter.label([{"id": ids[10], "label": "no"}]).accepted == 1
            assert adapter.storage == "ok"
            assert adapter.label([{"id": ids[9], "label": "yes"}]).duplicates == 1
            found = adapter.model_file()
        assert replay(tmp_path / "s").model_bytes() == found
        with Adapter(live.model(kind), tmp_path / "s") as adapter:
            assert adapter.model_file() == found
            assert adapter.facts()["pending"] == n_pending - 1

    def test_commands(self, tmp_path):
        with Adapter(live.model(), tmp_path / "s") as adapter:
            adapter._writer.journal._db = Failing(adapter._writer.journal._db, "insert into journal")
            with pytest.raises(StorageError):
                adapter.promote()
            assert adapter.facts()["deployed"] == 0
            assert adapter.promote()["deployed"] == 1

    def test_checkpoints(self, monkeypatch, tmp_path):
        def full(path, data):
            raise OSError(28, "No space left on device", str(path))

        with monkeypatch.context() as patched:
            patched.setattr("ocboost.live.writer.write_atomically", full)
            patched.setattr("ocboost.live.versions.write_atomically", full)
            with pytest.raises(StorageFullError, match="disk is full"):
                Adapter(live.model(), tmp_path / "s")
        adapter = Adapter(live.model(), tmp_path / "s")
        with monkeypatch.context() as patched:
            patched.setattr("ocboost.live.writer.write_atomically", full)
            patched.setattr("ocboost.live.versions.write_atomically", full)
            adapter.label([{"row": ROWS[0], "label": "yes"}])
            adapter.promote()
            found = adapter.model_file(), adapter.model_file(1)
            adapter.close()
        with Adapter(live.model(), tmp_path / "s") as adapter:
            assert (adapter.model_file(), adapter.model_file(1)) == found


def _until_full(take):
    total = 0
    for _ in range(1000):
        try:
            total += take()
        except StorageFullError:
            return total
    raise AssertionError


class Failing:
    """A connection that fails once, when it is to do something, or just after it has."""

    def __init__(self, db, what, *, after=False):
        self._db, self._what, self._after = db, what, after

    def execute(self, query, *values):
        if self._what and query.startswith(self._what):
            self._what = ""
            if self._after:
                self._db.execute(query, *values)
            raise sqlite3.OperationalError("disk I/O error")
        return self._db.execute(query, *values)

    def __getattr__(self, name):
        return getattr(self._db, name)


class TestFailingDisk:
    @pytest.mark.parametrize(
        "what", ["begin", "insert into journal", "insert or replace into labelled", "commit"]
    )
    def test_is_an_error_and_nothing_is_taken(self, what, tmp_path):
        with Adapter(live.model(), tmp_path / "s") as adapter:
            (id_,) = adapter.predict(ROWS[:1]).ids
            adapter._writer.journal._db = Failing(adapter._writer.journal._db, what)
            with pytest.raises(StorageError, match="I/O error"):
                adapter.label([{"id": id_, "label": "yes"}])
            assert adapter.storage == "failed"
            assert adapter.facts()["learnt"] == 0
            assert adapter.label([{"id": id_, "label": "yes"}]).accepted == 1
            assert adapter.storage == "ok"

    def test_a_commit_that_was_written_all_the_same_counts(self, tmp_path):
        with Adapter(live.model(), tmp_path / "s") as adapter:
            (id_,) = adapter.predict(ROWS[:1]).ids
            adapter._writer.journal._db = Failing(adapter._writer.journal._db, "commit", after=True)
            assert adapter.label([{"id": id_, "label": "yes"}]).accepted == 1
            assert adapter.label([{"id": id_, "label": "yes"}]).duplicates == 1
            found = adapter.model_file()
        assert replay(tmp_path / "s").model_bytes() == found

    def test_a_broken_state_stops_it(self, monkeypatch, tmp_path):
        adapter = Adapter(live.model(), tmp_path / "s")

        def broken(entry):
            raise MemoryError

        monkeypatch.setattr(adapter._state, "apply", broken)
        monkeypatch.setattr("threading.excepthook", lambda args: None)
        with pytest.raises(Exception, match="Start it again"):
            adapter.label([{"row": ROWS[0], "label": "yes"}])
        with pytest.raises(Exception, match=r"closed|failed"):
            adapter.predict(ROWS[:1])
        assert adapter.storage == "failed"
        adapter.close()
        with Adapter(live.model(), tmp_path / "s") as again:
            assert again.facts()["learnt"] == 1  # it was on the disk


def test_ids_are_nobody_elses(tmp_path):
    one, other = Journal(tmp_path / "1.db"), Journal(tmp_path / "2.db")
    try:
        assert one.issued_number(one.id_of(77)) == 77
        assert other.issued_number(one.id_of(77)) is None
        for wrong in ("", "-", "4d", "4d-", "4d-" + "0" * 10, one.id_of(77) + "0", "+4d-x", "é" * 20):
            assert one.issued_number(wrong) is None
        assert list(one.entries()) == []
        one.begin()
        one.add(Entry(1, None, None, 0, 1.0, -1, -1, -1, -1, 0, 0.0, b"", None))
        one.rollback()
        assert (one.last_seq, one.first_seq) == (0, 1)
    finally:
        one.close()
        other.close()


def test_requests_that_wait_share_one_commit(tmp_path):
    with Adapter(live.model(), tmp_path / "s") as adapter:
        journal, commits = adapter._writer.journal, []
        commit = journal.commit
        busy, go_on = threading.Event(), threading.Event()

        def wait():
            busy.set()
            go_on.wait()
            journal.commit = lambda: (commits.append(1), commit())

        waiting = adapter._writer.hand_in(Command(wait))
        busy.wait()
        futures = [adapter.predict_soon(ROWS[:2]) for _ in range(50)]
        futures += [adapter.label_soon([{"row": ROWS[0], "label": "yes"}]) for _ in range(20)]
        go_on.set()
        waiting.result()
        assert len({id_ for future in futures[:50] for id_ in future.result().ids}) == 100
        assert sum(future.result().accepted for future in futures[50:]) == 20
        assert len(commits) <= 2  # a sweep may be another
