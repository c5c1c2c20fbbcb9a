"""``ocboost adapt --follow``: each row of a log once, through growth, rotations, stops and kills."""

from __future__ import annotations

import gzip
import io
import os
import random
import signal
import time
from collections import deque
from contextlib import closing

import pyarrow
import pytest

from ocboost._core.interrupts import Ended
from ocboost.cli.adapt_learn import Waiting
from ocboost.deployment.adaptation import Adaptation
from ocboost.deployment.model import Model
from tests.support.cli_runs import (
    Killed,
    fitted,
    kill_after,
    killed,
    left_in,
    n_seen,
    ran,
    refused,
    started,
    table,
    write,
)
from tests.support.growing_log import NAMES, GrowingLog

posix = pytest.mark.skipif("sys.platform == 'win32'", reason="needs POSIX signals")


@pytest.fixture
def script(monkeypatch):
    """Actions to be done in turn whenever nothing arrives; then the run ends as by Ctrl-C."""
    actions = deque()

    def wait(self, file):
        if self.saves is not None:
            self.saves.save_if_due()
        if not actions:
            raise Ended
        actions.popleft()()

    monkeypatch.setattr(Waiting, "wait", wait)
    return actions


def nothing():
    """Wait."""


def die():
    raise Killed


def bare(path, folder):
    """A model's file without its history."""
    model = Model.load(path)
    model.history = []
    model.save(folder / "bare.ocb")
    return (folder / "bare.ocb").read_bytes()


def all_rows(log, folder):
    """All that was ever written, as one file."""
    whole = folder / f"whole{log.path.suffix}"
    head = "" if log.is_json else NAMES + "\n"
    whole.write_text(head + "".join(line + "\n" for line in log.written))
    return whole


def expected(capsys, log, model, folder):
    """The model adapted to all of it at once."""
    out = folder / "whole.ocb"
    code, _, err = ran(capsys, "adapt", model, all_rows(log, folder), "--out", out)
    assert code == 0, err
    return bare(out, folder)


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl"])
def test_grown_and_rotated(name, tmp_path, capsys, script):
    model = fitted(tmp_path)
    first = model.read_bytes()
    with closing(GrowingLog(tmp_path / name, table(60))) as log:
        log.append(10)
        script += [
            lambda: log.append(5, cut=True),
            log.rename,
            lambda: log.append(5),
            log.copy_and_truncate,
            log.compress,
            lambda: log.append(5),
            nothing,
        ]
        words = ["adapt", model, log.path, "--out", model, "--follow"]
        code, printed, err = ran(capsys, *words)
        assert (code, err.count("was rotated; going on")) == (0, 2), err
        assert f"Wrote {model}" in printed
        assert n_seen(model) == 325
        log.append(4)
        log.rename()
        log.append(3)
        log.rename()
        log.compress()
        log.append(1)
        script.append(nothing)
        code, _, err = ran(capsys, *words)
        assert code == 0
        assert "the first 5 rows of" in err
        assert n_seen(model) == 333
        code, _, err = ran(capsys, *words)
        assert (code, "nothing was learnt" in err, n_seen(model)) == (0, True, 333)
        log.append(6)
        code, _, err = ran(capsys, *words[:-1])  # without --follow it goes on as well
        assert (code, n_seen(model)) == (0, 339)
        log.append(2)
        assert ran(capsys, *words)[0] == 0
        start = tmp_path / "first.ocb"
        start.write_bytes(first)
        assert bare(model, tmp_path) == expected(capsys, log, start, tmp_path)
    assert left_in(tmp_path) == []


class TestRandomly:
    @pytest.mark.parametrize(
        ("method", "n_runs", "seed"), [("adaptive", 3, 0), *(("ocb", 7, seed) for seed in range(6))]
    )
    def test_each_row_once(self, method, n_runs, seed, tmp_path, capsys, script):
        rng = random.Random(seed)
        model = fitted(tmp_path, "--method", method)
        start = tmp_path / "first.ocb"
        start.write_bytes(model.read_bytes())
        path = tmp_path / rng.choice(["log.csv", "log.jsonl"])
        with closing(GrowingLog(path, table(300), header=rng.random() < 0.7)) as log:
            log.append(2)

            def act():
                draw = rng.random()
                if draw < 0.5:
                    log.append(rng.randint(1, 9), cut=rng.random() < 0.3)
                elif draw < 0.65:
                    log.rename(ended=rng.random() < 0.7)
                elif draw < 0.8:
                    log.copy_and_truncate(ended=rng.random() < 0.7)
                elif draw < 0.9:
                    log.compress()

            killed = False
            for number in range(n_runs):
                script.clear()
                script.extend([act] * rng.randint(0, 6))
                if number == n_runs - 1:
                    script.extend([log.complete, lambda: log.append(1), nothing])
                elif rng.random() < 0.5:
                    script.append(die)
                words = [
                    "adapt",
                    model,
                    path,
                    "--out",
                    model,
                    "--follow",
                    "--checkpoint-rows",
                    rng.randint(1, 9),
                ]
                try:
                    code, _, err = ran(capsys, *words, *(["--resume"] if killed else []))
                    assert code == 0, err
                    killed = False
                except Killed:
                    killed = True
                for _ in range(rng.randint(0, 4)):
                    act()
            script.extend([log.complete, lambda: log.append(1), nothing, nothing])
            assert ran(capsys, *words, *(["--resume"] if killed else []))[0] == 0
            assert n_seen(model) == 300 + len(log.written)
            assert bare(model, tmp_path) == expected(capsys, log, start, tmp_path)


class TestStarts:
    def test_the_old_file_is_gone(self, tmp_path, capsys, script):
        model = fitted(tmp_path)
        with closing(GrowingLog(tmp_path / "log.csv", table(60))) as log:
            log.append(10)
            words = ["adapt", model, log.path, "--out", model, "--follow"]
            assert ran(capsys, *words)[0] == 0
            log.rename()
            os.remove(tmp_path / "log.csv.1")
            log.append(3)
            assert "does not begin as it did when 10 rows" in refused(capsys, *words)
            assert "does not begin as it did when 10 rows" in refused(capsys, *words[:-1])
            assert ran(capsys, *words, "--new")[0] == 0
            log.append(4)
            assert ran(capsys, *words)[0] == 0
            assert n_seen(model) == 317

    def test_with_another_model_to_write(self, tmp_path, capsys, script):
        model, out = fitted(tmp_path), tmp_path / "out.ocb"
        with closing(GrowingLog(tmp_path / "log.csv", table(60))) as log:
            log.append(10)
            words = ["adapt", model, log.path, "--out", out, "--follow"]
            assert ran(capsys, *words)[0] == 0
            log.rename()
            log.append(1)
            assert f"Give '{out}' as the model" in refused(capsys, *words)
            assert ran(capsys, "adapt", out, log.path, "--out", out, "--follow")[0] == 0
            assert n_seen(out) == 311

    def test_rows_to_skip(self, tmp_path, capsys, script):
        model = fitted(tmp_path)
        with closing(GrowingLog(tmp_path / "log.csv", table(60))) as log:
            log.append(10)
            script += [log.rename, lambda: log.append(5), nothing]
            words = ["adapt", model, log.path, "--out", model, "--follow", "--skip", "4"]
            assert ran(capsys, *words)[0] == 0
            log.append(3)
            assert ran(capsys, *words)[0] == 0
            assert n_seen(model) == 300 + 6 + 5 + 3

    def test_bad_rows_and_predictions(self, tmp_path, capsys, script):
        model, answers = fitted(tmp_path), tmp_path / "answers.csv"
        with closing(GrowingLog(tmp_path / "log.csv", table(60))) as log:
            log.append(3)

            def spoil():
                with log.path.open("a") as file:
                    file.write("1,2\n")

            words = ["adapt", model, log.path, "--out", model, "--follow", "--on-bad-row", "skip"]
            script += [spoil, lambda: log.append(2), log.rename, lambda: log.append(1), spoil, nothing]
            code, _, err = ran(capsys, *words, "--predictions", answers)
            assert code == 0, err
            assert len(answers.read_text().splitlines()) == 1 + 8
            spoil()
            log.append(2)
            assert ran(capsys, *words)[0] == 0
            assert n_seen(model) == 300 + 3 + 2 + 1 + 2
            assert len((tmp_path / "model.ocb.bad-rows.jsonl").read_text().splitlines()) == 3

    @posix
    def test_a_signal_while_arrow_reads(self, tmp_path, capsys, script, monkeypatch):
        model, log = fitted(tmp_path), tmp_path / "log.csv"
        log.write_text(f"{NAMES}\n1,2,3,4,0\n")

        class Interrupted(io.BytesIO):
            def read(self, *size):
                signal.raise_signal(signal.SIGTERM)
                return super().read(*size)

        monkeypatch.setattr(pyarrow, "BufferReader", lambda data: pyarrow.PythonFile(Interrupted(data), "r"))
        script.append(die)
        words = ["adapt", model, log, "--out", model, "--follow"]
        code, _, err = ran(capsys, *words)
        assert code == 0, err
        assert n_seen(model) == 301

    def test_a_run_of_another_kind(self, tmp_path, capsys, script, monkeypatch):
        model = fitted(tmp_path)
        with closing(GrowingLog(tmp_path / "log.csv", table(60))) as log:
            log.append(10)
            words = ["adapt", model, log.path, "--out", model, "--checkpoint-rows", "1"]
            script.append(die)
            with pytest.raises(Killed):
                ran(capsys, *words, "--follow")
            assert "Give --resume" in refused(capsys, *words, "--follow")
            assert "belongs to a run with or without --follow" in refused(capsys, *words, "--resume")
            assert ran(capsys, *words, "--resume", "--follow")[0] == 0
            assert n_seen(model) == 310
            log.append(10)
            with monkeypatch.context() as patch:
                kill_after(patch, Adaptation, "take", 1)
                killed(capsys, *words)
            assert "belongs to a run without --follow" in refused(capsys, *words, "--resume", "--follow")

    def test_a_model_that_has_the_rows_though_killed(self, tmp_path, capsys, script):
        model = fitted(tmp_path)
        with closing(GrowingLog(tmp_path / "log.csv", table(60))) as log:
            log.append(10)
            script += [log.rename, lambda: log.append(5), nothing, die]
            words = ["adapt", model, log.path, "--out", model, "--follow", "--checkpoint-rows", "1"]
            with pytest.raises(Killed):
                ran(capsys, *words)
            assert n_seen(model) == 315
            log.append(2)
            assert ran(capsys, *words, "--restart")[0] == 0
            assert n_seen(model) == 317

    def test_other_columns_after_a_rotation(self, tmp_path, capsys, script):
        model = fitted(tmp_path)
        with closing(GrowingLog(tmp_path / "log.csv", table(60))) as log:
            log.append(10)

            def rotate():
                log.rename(begin=False)
                log.path.write_text("y,a,b,c,d\n1,1,2,3,4\n")

            script += [rotate, nothing]
            words = ["adapt", model, log.path, "--out", model, "--follow"]
            code, _, err = ran(capsys, *words)
            assert code == 1
            assert "has other columns since it was rotated" in err
            assert "10 rows are kept in" in err
            assert ran(capsys, *words, "--new", "--restart")[0] == 0
            assert n_seen(model) == 311

    @pytest.mark.parametrize(
        ("name", "message", "code"),
        [
            ("-", "standard input is read as it comes", 2),
            ("log.csv.gz", "is compressed", 1),
            ("packed.csv", "it is compressed with gzip", 1),
            ("log.parquet", "is Parquet", 1),
            ("nowhere/log.csv", "there is no", 1),
            ("folder.csv", "needs an ordinary file", 1),
            ("log.txt", "must tell its format", 1),
        ],
    )
    def test_what_cannot_be_followed(self, name, message, code, tmp_path, capsys, script, monkeypatch):
        monkeypatch.chdir(tmp_path)
        model = fitted(tmp_path)
        write(tmp_path / "log.parquet", table(5))
        (tmp_path / "packed.csv").write_bytes(gzip.compress(b"a,b\n1,2\n"))
        (tmp_path / "folder.csv").mkdir()
        (tmp_path / "log.txt").touch()
        assert message in refused(capsys, "adapt", model, name, "--out", model, "--follow", code=code)

    def test_a_log_that_cannot_be_read(self, tmp_path, capsys, script, monkeypatch):
        model, log = fitted(tmp_path), write(tmp_path / "log.csv", table(5))
        access = os.access
        monkeypatch.setattr(os, "access", lambda path, mode: path != log and access(path, mode))
        err = refused(capsys, "adapt", model, log, "--out", model, "--follow")
        assert "needs a file that can be read" in err

    def test_a_log_that_never_comes(self, tmp_path, capsys, script):
        model = fitted(tmp_path)
        before = model.read_bytes()
        words = ["adapt", model, tmp_path / "late.csv", "--out", model, "--follow"]
        code, _, err = ran(capsys, *words)
        assert code == 0
        assert f"waiting for '{tmp_path / 'late.csv'}': No such file" in err
        assert model.read_bytes() == before
        assert left_in(tmp_path) == []


def wait_until(condition, process):
    """Wait for something that a process does."""
    for _ in range(3000):
        if condition():
            return
        assert process.poll() is None
        time.sleep(0.02)
    raise AssertionError("it did not happen")


@posix
def test_a_process(tmp_path, capsys):
    model = fitted(tmp_path)
    start = tmp_path / "first.ocb"
    start.write_bytes(model.read_bytes())
    answers = tmp_path / "answers"
    words = ["adapt", model, tmp_path / "log.csv", "--out", model, "--follow", "--predictions", answers]

    def answered(n):
        return lambda: answers.exists() and len(answers.read_text().splitlines()) == 1 + n

    with closing(GrowingLog(tmp_path / "log.csv", table(60))) as log:
        log.append(5)
        process = started(*words, "--checkpoint-rows", "3")
        wait_until(answered(5), process)
        log.rename()
        log.append(4, cut=True)
        wait_until(answered(8), process)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
        log.copy_and_truncate()
        log.append(2)
        log.rename()
        log.compress()
        log.append(3)
        process = started(*words, "--checkpoint-rows", "3", "--resume")
        wait_until(answered(14), process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        assert n_seen(model) == 314
        assert bare(model, tmp_path) == expected(capsys, log, start, tmp_path)
    assert left_in(tmp_path) == []
