"""``ocboost fleet adapt``: each row is learnt once, however often, and wherever, it was stopped."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
import time

import pytest

from ocboost.cli.outputs import RowOutputs
from ocboost.fleet import Fleet
from tests.support.cli_runs import kill_after, killed, ran, refused, started
from tests.support.fleet_runs import entries, keyed_table, learnt, without_files, write

pytest.importorskip("lmdb")
posix = pytest.mark.skipif("sys.platform == 'win32'", reason="needs POSIX signals")


def adapt_words(model, stream, store, *more):
    return ["fleet", "adapt", model, stream, "--key", "id", "--store", store, *more]


def rows_in(store):
    """How many rows a store has learnt."""
    with Fleet(store=store, read_only=True) as fleet:
        return fleet.rows


def some_unlabelled(n, seed=0):
    """Rows, a fifth of them without a label, the last ones too."""
    rows = keyed_table(n, seed)
    return [[*row[:-1], None] if i % 5 == 4 or i >= n - 12 else row for i, row in enumerate(rows)]


@pytest.fixture
def whole(tmp_path, ocb, capsys):
    """A function that learns a file in one go: all that the store holds then, and the predictions."""

    def run(stream):
        out, store = tmp_path / "p.csv", tmp_path / "whole"
        words = adapt_words(ocb, stream, store, "--predictions", out, "--batch", "20")
        assert ran(capsys, *words)[0] == 0
        text = out.read_text()
        out.unlink()
        return entries(store), text

    return run


class TestKilled:
    @pytest.mark.parametrize("name", ["s.csv", "s.jsonl.gz", "s.parquet"])
    def test_anywhere(self, name, tmp_path, ocb, whole, capsys, monkeypatch):
        stream = write(tmp_path / name, some_unlabelled(203))
        held, predicted = whole(stream)
        store, out = tmp_path / "store", tmp_path / "p.csv"
        words = adapt_words(ocb, stream, store, "--predictions", out, "--batch", "20")
        places = [(Fleet, "learn_coded", 1), (RowOutputs, "synced", 3), (Fleet, "learn_coded", 2)]
        for owner, method, calls in [*places, (RowOutputs, "synced", 1), (Fleet, "note_source", 1)]:
            with monkeypatch.context() as patch:
                kill_after(patch, owner, method, calls)
                killed(capsys, *words)
            assert (RowOutputs, "synced") != (owner, method) or len(out.read_text()) <= len(predicted)
        assert ran(capsys, *words)[0] == 0
        assert entries(store) == held
        assert out.read_text() == predicted
        code, _, err = ran(capsys, *words)  # once more than needed
        assert code == 0
        assert "nothing new: all 203 rows" in err
        assert (entries(store), out.read_text()) == (held, predicted)

    @posix
    def test_by_the_system(self, tmp_path, ocb, whole, capsys):
        stream = write(tmp_path / "s.csv", some_unlabelled(3000))
        held, predicted = whole(stream)
        store, out = tmp_path / "store", tmp_path / "p.csv"
        words = adapt_words(ocb, stream, store, "--predictions", out, "--batch", "20")
        draw, kills = random.Random(3), 0
        for _ in range(4):
            size = out.stat().st_size if out.exists() else 0
            running = started(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            until = time.monotonic() + 60
            more = draw.randrange(1, 4000)
            while running.poll() is None and time.monotonic() < until:
                if out.exists() and out.stat().st_size > size + more:
                    running.kill()
                    break
            kills += running.wait(timeout=60) == -signal.SIGKILL
        assert kills >= 2
        assert ran(capsys, *words)[0] == 0
        assert entries(store) == held
        assert out.read_text() == predicted


class TestKnownRows:
    def test_a_file_that_has_grown(self, tmp_path, ocb, whole, capsys):
        rows = some_unlabelled(203)
        stream, store, out = tmp_path / "s.csv", tmp_path / "store", tmp_path / "p.csv"
        held, predicted = whole(write(stream, rows))
        words = adapt_words(ocb, stream, store, "--predictions", out, "--batch", "20")
        for n in (40, 40, 120, 203):
            write(stream, rows[:n])
            assert ran(capsys, *words)[0] == 0
        assert learnt(store) == without_files(held)
        assert out.read_text() == predicted

    @pytest.mark.parametrize("name", ["other.csv", "other.csv.gz"])
    def test_under_another_name(self, name, tmp_path, ocb, capsys):
        rows = keyed_table(100)
        first, store = write(tmp_path / "s.csv", rows[:60]), tmp_path / "store"
        assert ran(capsys, *adapt_words(ocb, first, store))[0] == 0
        other = write(tmp_path / name, rows)
        code, _, err = ran(capsys, *adapt_words(ocb, other, store))
        assert code == 0
        assert err == "ocboost: the first 60 rows were learnt before; continuing at row 60.\n"
        assert rows_in(store) == 100
        held = entries(store)
        for path in (other, first):  # of the second there is nothing new either
            code, printed, err = ran(capsys, *adapt_words(ocb, path, store))
            assert (code, printed) == (0, "")
            assert f"nothing new: all {60 if path == first else 100} rows" in err
            assert entries(store) == held
        with Fleet(store=store, read_only=True) as fleet:
            assert len(fleet.sources) == 1

    def test_skip_and_what_was_learnt(self, tmp_path, ocb, capsys):
        rows = keyed_table(100)
        stream, store = write(tmp_path / "s.csv", rows[:60]), tmp_path / "store"
        assert ran(capsys, *adapt_words(ocb, stream, store, "--skip", "10"))[0] == 0
        write(stream, rows)
        assert ran(capsys, *adapt_words(ocb, stream, store, "--skip", "20"))[0] == 0
        assert rows_in(store) == 90
        write(stream, [*rows, *keyed_table(30, 4)])
        assert ran(capsys, *adapt_words(ocb, stream, store, "--skip", "120"))[0] == 0
        assert rows_in(store) == 100

    def test_a_last_row_that_was_being_written(self, tmp_path, ocb, capsys):
        stream, store = write(tmp_path / "s.csv", keyed_table(20)), tmp_path / "store"
        data = stream.read_bytes()
        stream.write_bytes(data.removesuffix(b"\r\n"))
        assert ran(capsys, *adapt_words(ocb, stream, store))[0] == 0
        stream.write_bytes(data.removesuffix(b"\r\n") + b"0\r\nk001,1,2,3,4,1\r\n")
        _, _, err = ran(capsys, *adapt_words(ocb, stream, store))
        assert "row 19, the last of them, was learnt while it was still being written" in err
        assert rows_in(store) == 21

    def test_two_files(self, tmp_path, ocb, capsys):
        store = tmp_path / "store"
        for seed in (1, 2, 1, 2):
            stream = write(tmp_path / f"{seed}.csv", keyed_table(50, seed))
            assert ran(capsys, *adapt_words(ocb, stream, store))[0] == 0
        assert rows_in(store) == 100
        printed = ran(capsys, "fleet", "info", store)[1]
        assert "1.csv" in printed
        assert "2.csv" in printed


class TestChangedFiles:
    def test_another_stream_under_the_same_name(self, tmp_path, ocb, capsys, monkeypatch):
        stream, store = write(tmp_path / "s.csv", keyed_table(100)), tmp_path / "store"
        assert ran(capsys, *adapt_words(ocb, stream, store))[0] == 0
        write(stream, keyed_table(100, 5))
        held = entries(store)
        said = refused(capsys, *adapt_words(ocb, stream, store))
        assert "does not begin as it did when 100 rows of it were learnt. Give --new" in said
        assert entries(store) == held
        words = adapt_words(ocb, stream, store, "--new", "--batch", "20")
        with monkeypatch.context() as patch:
            kill_after(patch, Fleet, "learn_coded", 2)
            killed(capsys, *words)
        assert "continuing at row 40" in ran(capsys, *words)[2]  # --new does not begin a second time
        assert rows_in(store) == 200
        assert "nothing new" in ran(capsys, *words)[2]
        assert "nothing new" in ran(capsys, *adapt_words(ocb, stream, store))[2]
        assert rows_in(store) == 200

    def test_rows_behind_the_beginning(self, tmp_path, ocb, capsys):
        rows = keyed_table(3000)
        stream, store = write(tmp_path / "s.csv", rows), tmp_path / "store"
        assert stream.stat().st_size > 1 << 16
        assert ran(capsys, *adapt_words(ocb, stream, store))[0] == 0
        rows[2900][1] = 17.0
        write(stream, rows)
        assert "Give --new" in refused(capsys, *adapt_words(ocb, stream, store))
        assert "Give --new" in refused(capsys, *adapt_words(ocb, stream.rename(tmp_path / "t.csv"), store))
        assert rows_in(store) == 3000

    def test_an_interrupted_file_that_was_replaced(self, tmp_path, ocb, capsys, monkeypatch):
        stream, store = write(tmp_path / "s.csv", keyed_table(100)), tmp_path / "store"
        with monkeypatch.context() as patch:
            kill_after(patch, Fleet, "learn_coded", 2)
            killed(capsys, *adapt_words(ocb, stream, store, "--batch", "20"))
        write(stream, keyed_table(100, 5))
        said = refused(capsys, *adapt_words(ocb, stream, store))
        assert "when 40 rows of it were learnt" in said

    def test_a_file_that_was_cut(self, tmp_path, ocb, capsys, monkeypatch):
        stream, store = write(tmp_path / "s.csv", keyed_table(3000)), tmp_path / "store"
        data = stream.read_bytes()
        with monkeypatch.context() as patch:
            kill_after(patch, Fleet, "learn_coded", 1)
            killed(capsys, *adapt_words(ocb, stream, store, "--batch", "2900"))
        stream.write_bytes(data[: data.index(b"\n", 70_000) + 1])
        code, _, err = ran(capsys, *adapt_words(ocb, stream, store))
        assert code == 1
        assert "must hold the 2900 rows to skip" in err
        assert rows_in(store) == 2900


class TestPredictionsFile:
    def words(self, ocb, tmp_path, *more):
        return adapt_words(ocb, tmp_path / "s.csv", tmp_path / "store", *more)

    def test_another_file_begins_with_the_rows_to_come(self, tmp_path, ocb, capsys):
        rows = keyed_table(60)
        for n, name in ((40, "a.csv"), (60, "b.csv")):
            write(tmp_path / "s.csv", rows[:n])
            assert ran(capsys, *self.words(ocb, tmp_path, "--predictions", tmp_path / name))[0] == 0
        assert [(tmp_path / name).read_text().count("\n") for name in ("a.csv", "b.csv")] == [41, 21]

    def test_a_file_that_was_taken_away(self, tmp_path, ocb, capsys):
        rows, out = keyed_table(60), tmp_path / "p.csv"
        for n in (40, 60):
            write(tmp_path / "s.csv", rows[:n])
            assert ran(capsys, *self.words(ocb, tmp_path, "--predictions", out))[0] == 0
            assert out.read_text().count("\n") == (41 if n == 40 else 21)
            out.unlink()

    def test_a_file_that_lacks_something(self, tmp_path, ocb, capsys):
        rows, out = keyed_table(60), tmp_path / "p.csv"
        write(tmp_path / "s.csv", rows[:40])
        assert ran(capsys, *self.words(ocb, tmp_path, "--predictions", out))[0] == 0
        out.write_text("prediction,probability\n")
        write(tmp_path / "s.csv", rows)
        code, _, err = ran(capsys, *self.words(ocb, tmp_path, "--predictions", out))
        assert code == 1
        assert "--predictions must hold what was predicted of the rows before" in err
        assert rows_in(tmp_path / "store") == 40

    def test_what_belongs_to_somebody_else_is_cut(self, tmp_path, ocb, capsys):
        rows, out = keyed_table(60), tmp_path / "p.csv"
        out.write_text("older\n" * 100)
        write(tmp_path / "s.csv", rows)
        assert ran(capsys, *self.words(ocb, tmp_path, "--predictions", out))[0] == 0
        assert out.read_text().count("\n") == 61
        assert "older" not in out.read_text()

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
    def test_a_full_disk_learns_nothing(self, tmp_path, ocb, capsys):
        write(tmp_path / "s.csv", keyed_table(60))
        said = refused(capsys, *self.words(ocb, tmp_path, "--predictions", "/dev/full"))
        assert "No space left" in said
        assert "Nothing was learnt" in said
        assert rows_in(tmp_path / "store") == 0


@posix
class TestSignals:
    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_a_file(self, number, code, tmp_path, ocb, whole, capsys):
        stream = write(tmp_path / "s.csv", some_unlabelled(2000))
        held, predicted = whole(stream)
        store, out = tmp_path / "store", tmp_path / "p.csv"
        words = adapt_words(ocb, stream, store, "--predictions", out, "--batch", "20")
        running = started(*words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 60
        while not (out.exists() and out.stat().st_size > 200) and time.monotonic() < until:
            time.sleep(0.001)
        running.send_signal(number)
        _, said = running.communicate(timeout=60)
        assert running.returncode == code, said
        assert "of the stream are in the store; the same line continues after them" in said
        assert ran(capsys, "fleet", "verify", store)[0] == 0
        assert ran(capsys, *words)[0] == 0
        assert entries(store) == held
        assert out.read_text() == predicted

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_pipe_ends_in_order(self, number, tmp_path, ocb):
        data = write(tmp_path / "s.csv", keyed_table(30)).read_bytes()
        store = tmp_path / "store"
        words = adapt_words(ocb, "-", store, "--predictions", "-")
        running = started(*words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        running.stdin.write(data)
        running.stdin.flush()
        for _ in range(31):  # each row is answered before more comes
            assert running.stdout.readline()
        running.send_signal(number)
        assert running.wait(timeout=60) == 0
        assert b"deployed model" in running.stderr.read()
        for pipe in (running.stdin, running.stdout, running.stderr):
            pipe.close()
        assert rows_in(store) == 30

    def test_before_the_first_row(self, tmp_path, ocb):
        os.mkfifo(tmp_path / "rows.csv")
        words = adapt_words(ocb, tmp_path / "rows.csv", tmp_path / "store")
        with started(*words, stderr=subprocess.PIPE) as running, open(tmp_path / "rows.csv", "wb"):
            running.send_signal(signal.SIGTERM)  # it has opened the pipe, so it listens
            assert running.wait(timeout=60) == 0
            assert b"nothing was learnt" in running.stderr.read()
        assert not (tmp_path / "store").exists()


def test_a_second_run_is_refused(tmp_path, ocb, capsys):
    stream, store = write(tmp_path / "s.csv", keyed_table(20)), tmp_path / "store"
    with Fleet(ocb, store=store):
        assert "is open in this process already" in refused(capsys, *adapt_words(ocb, stream, store))


def test_gzip_in_the_middle_of_a_run(tmp_path, ocb, capsys, monkeypatch):
    """Packed anew, its first bytes are others: it is not taken for a new one."""
    stream, store = write(tmp_path / "s.csv", keyed_table(100)), tmp_path / "store"
    assert ran(capsys, *adapt_words(ocb, stream, store))[0] == 0
    packed = tmp_path / "s.csv.gz"
    packed.write_bytes(gzip.compress(stream.read_bytes(), 1))
    assert "nothing new" in ran(capsys, *adapt_words(ocb, packed, store))[2]
    assert learnt(store)
    assert rows_in(store) == 100
