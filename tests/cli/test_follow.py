"""``ocboost adapt --follow``: each row of a log once, through growth, rotations, stops and kills."""

from __future__ import annotations

import gzip
import os
import random
import signal
import time
from collections import deque
from contextlib import closing

import pytest

from ocboost._core.interrupts import Ended
from ocboost.cli.adapt_learn import Waiting
from ocboost.deployment.model import Model
from tests.support.cli_runs import Killed, fitted, left_in, n_seen, ran, refused, started, table, write
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
