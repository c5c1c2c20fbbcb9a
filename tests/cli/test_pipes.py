"""``ocboost adapt`` between two pipes: each row is answered and learnt as it comes, and it ends in order."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time

import numpy as np
import pytest

from ocboost.deployment.adaptation import Adaptation
from ocboost.deployment.model import Model
from ocboost.estimators.classifier import OCBClassifier
from tests.support.cli_runs import (
    NAMES,
    left_in,
    n_seen,
    started,
    table,
    write,
)

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and pipes")
HEADER = ",".join(NAMES) + "\n"


def as_csv(row):
    return ",".join(map(str, row)) + "\n"


def as_json(row, names=NAMES):
    return json.dumps(dict(zip(names, row, strict=True))) + "\n"


def expected(model, rows):
    """The predictions of each row before it is learnt, as `ocboost predict` writes them."""
    clf, lines = Model.load(model).classifier, []
    adaptive = not isinstance(clf, OCBClassifier)
    for row in rows:
        X = np.array([row[:4]])
        share = clf.predict_proba(X, **({"issue": False} if adaptive else {}))[0]
        code = int(clf.predict(X, **({"issue": row[4] is not None} if adaptive else {}))[0])
        lines.append(f"{code},{share[code]:.6g}")
        if row[4] is not None:
            clf.partial_fit(X, row[4:])
    return lines


@contextlib.contextmanager
def piped(*words, **more):
    """A process with pipes at both ends, which is gone at the end of the block."""
    running = started(*words, stdin=-1, stdout=-1, stderr=-1, **more)
    try:
        yield running
    finally:
        running.kill()
        for pipe in (running.stdin, running.stdout, running.stderr):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        running.wait()


def send(running, text):
    running.stdin.write(text.encode())
    running.stdin.flush()


def answer(running):
    return running.stdout.readline().decode().rstrip("\n")


def unread(running):
    """How many bytes of its input a process has not read yet."""
    import fcntl
    import termios

    return int.from_bytes(fcntl.ioctl(running.stdin, termios.FIONREAD, bytes(4)), sys.byteorder)


def until(condition):
    """Wait for something that must come; the test's own time limit is the only one."""
    while not condition():
        time.sleep(0.005)


@posix
class TestAsTheyCome:
    def test_each_row_is_answered_before_the_next_is_sent(self, model, tmp_path):
        rows, out = table(30), tmp_path / "out.ocb"
        with piped("adapt", model, "-", "--out", out, "--predictions", "-") as running:
            send(running, HEADER)
            found = []
            for i, row in enumerate(rows):
                send(running, as_csv(row))
                if not i:
                    assert answer(running) == "prediction,probability"
                found.append(answer(running))
            rest, err = running.communicate(timeout=60)
        assert (rest, running.returncode) == (b"", 0)
        assert found == expected(model, rows)
        assert b"Wrote" in err
        assert b"30" in err
        assert n_seen(out) == 330
        assert left_in(tmp_path) == []

    def test_json_lines(self, ocb, tmp_path):
        rows = table(6)
        rows[2][4] = None
        words = ["adapt", ocb, "-", "--out", tmp_path / "o.ocb", "--predictions", "-", "--on-bad-row", "skip"]
        with piped(*words) as running:
            found = []
            for i, row in enumerate(rows):
                names = NAMES[i % 5 :] + NAMES[: i % 5]  # the order of names is free
                send(running, as_json([row[NAMES.index(name)] for name in names], names))
                found.append(json.loads(answer(running)))
            send(running, '{"a": 1.5, "b"\n')
            assert json.loads(answer(running)) == {"prediction": None, "probability": None}
            send(running, '{"a": 1.5, "note": "no label, and most columns are missing"}\n')
            assert set(json.loads(answer(running))) == {"prediction", "probability"}
            _, err = running.communicate(timeout=60)
        assert running.returncode == 0
        assert [f"{one['prediction']},{one['probability']}" for one in found] == expected(ocb, rows)
        assert b"2 rows had no label" in err
        assert b"1 bad row was left out (1 broken JSON)" in err
        assert n_seen(tmp_path / "o.ocb") == 305

    def test_a_model_of_arrays_does_not_wait_for_types(self, tmp_path):
        rows = np.array(table(300))
        model = tmp_path / "m.ocb"
        OCBClassifier(n_hypotheses=5).fit(rows[:, :4], rows[:, 4].astype(int)).save(model)
        with piped("adapt", model, "-", "--label", "y", "--out", model, "--predictions", "-") as running:
            send(running, "p,q,r,s,y\n1,2,,4,1\n")
            assert answer(running) == "prediction,probability"
            assert answer(running).startswith("1,")
            running.communicate(timeout=60)
        assert running.returncode == 0
        assert n_seen(model) == 301

    def test_the_model_is_on_the_disk_while_nothing_comes(self, ocb, tmp_path):
        out, rows = tmp_path / "out.ocb", table(5)
        words = ["adapt", ocb, "-", "--out", out, "--predictions", "-", "--checkpoint-seconds", "0.3"]
        with piped(*words) as running:
            send(running, HEADER + "".join(map(as_csv, rows)))
            for _ in range(6):
                answer(running)
            until(lambda: out.exists() and n_seen(out) == 305)
            assert Model.load(out).history[-1]["rows"] == 5
            checkpoint = tmp_path / "out.ocb.checkpoint"
            assert n_seen(checkpoint) == 305
            assert Adaptation.load(checkpoint).rows == 5
            send(running, as_csv(rows[0]) + "0.5,0.5")
            until(lambda: n_seen(out) == 306)
            running.send_signal(signal.SIGINT)
            assert running.wait(timeout=60) == 0  # the pipe is still open; what is no row yet is not learnt
            assert b"Wrote" in running.stderr.read()
        assert n_seen(out) == 306
        assert Model.load(out).history[-1]["rows"] == 6
        assert left_in(tmp_path) == []

    def test_rows_that_come_together_are_saved_in_time(self, ocb, tmp_path):
        words = ["adapt", ocb, "-", "--out", tmp_path / "out.ocb", "--predictions", "-", "--batch", "3"]
        with piped(*words, "--checkpoint-rows", "50") as running:
            send(running, HEADER + "".join(map(as_csv, table(220))))
            for _ in range(221):
                answer(running)
            running.kill()
        assert 220 - 52 <= Adaptation.load(tmp_path / "out.ocb.checkpoint").rows <= 220
        assert n_seen(tmp_path / "out.ocb") >= 300 + 220 - 52 - 51

    def test_a_named_pipe(self, ocb, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        words = ["adapt", ocb, pipe, "--out", tmp_path / "o.ocb", "--predictions", "-"]
        with piped(*words) as running, open(pipe, "wb", buffering=0) as end:
            end.write((HEADER + as_csv(table(1)[0])).encode())
            assert answer(running) == "prediction,probability"
            assert "," in answer(running)
            running.send_signal(signal.SIGTERM)
            assert running.wait(timeout=60) == 0
        assert n_seen(tmp_path / "o.ocb") == 301


@posix
class TestEnding:
    def test_rows_that_were_taken_are_learnt(self, ocb, tmp_path):
        out = tmp_path / "out.ocb"
        with piped("adapt", ocb, "-", "--out", out, "--predictions", tmp_path / "p.csv") as running:
            send(running, HEADER + "".join(map(as_csv, table(3000))))
            until(lambda: (tmp_path / "p.csv").exists() and (tmp_path / "p.csv").stat().st_size > 100)
            running.send_signal(signal.SIGTERM)
            assert running.wait(timeout=60) == 0
        n = len((tmp_path / "p.csv").read_text().splitlines()) - 1
        assert n_seen(out) == 300 + n
        assert (tmp_path / "p.csv").read_text().splitlines()[1:] == expected(ocb, table(3000)[:n])

    def test_before_the_first_row(self, ocb, tmp_path):
        with piped("adapt", ocb, "-", "--out", tmp_path / "out.ocb") as running:
            until(lambda: (tmp_path / ".out.ocb.lock").exists())
            running.send_signal(signal.SIGTERM)
            assert running.wait(timeout=60) == 0
            assert b"nothing was learnt" in running.stderr.read()
        assert n_seen(tmp_path / "out.ocb") == 300

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_before_the_predictions_have_a_reader(self, ocb, tmp_path, number):
        os.mkfifo(tmp_path / "answers")
        out = tmp_path / "out.ocb"
        with piped("adapt", ocb, "-", "--out", out, "--predictions", tmp_path / "answers") as running:
            send(running, HEADER + as_csv(table(1)[0]))
            until(lambda: not unread(running))
            running.send_signal(number)
            assert running.wait(timeout=60) == 0
            assert b"nothing was learnt" in running.stderr.read()
        assert n_seen(out) == 300

    def test_a_reader_that_takes_nothing(self, ocb, tmp_path):
        out, (end, start) = tmp_path / "out.ocb", os.pipe()
        os.set_blocking(start, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(start, bytes(4096))  # until it is full
        os.set_blocking(start, True)
        with started(
            "adapt", ocb, "-", "--out", out, "--predictions", "-", stdin=-1, stdout=start
        ) as running:
            send(running, HEADER + "".join(map(as_csv, table(3))))
            until(lambda: not unread(running))
            running.send_signal(signal.SIGTERM)
            assert running.wait(timeout=60) == 0
        os.close(end)
        os.close(start)
        assert n_seen(out) <= 303
        assert left_in(tmp_path) == []

    def test_a_reader_that_goes_away(self, ocb, tmp_path):
        out = tmp_path / "out.ocb"
        with piped("adapt", ocb, "-", "--out", out, "--predictions", "-") as running:
            send(running, HEADER + "".join(map(as_csv, table(20))))
            for _ in range(21):
                answer(running)
            running.stdout.close()  # it waits for rows, and nothing is written
            assert running.wait(timeout=60) == 0
            assert b"Wrote" in running.stderr.read()
        assert n_seen(out) == 320
        assert left_in(tmp_path) == []

    def test_a_file_is_learnt_to_its_end(self, ocb, tmp_path):
        stream = write(tmp_path / "s.csv", table(3000))
        with piped("adapt", ocb, stream, "--out", tmp_path / "out.ocb", "--predictions", "-") as running:
            answer(running)
            running.stdout.close()
            assert running.wait(timeout=60) == 0
            assert b"nobody reads the predictions" in running.stderr.read()
        assert n_seen(tmp_path / "out.ocb") == 3300

    def test_sigterm_leaves_a_checkpoint_of_a_file(self, ocb, tmp_path):
        stream, out = write(tmp_path / "s.csv", table(20_000)), tmp_path / "out.ocb"
        checkpoint = tmp_path / "out.ocb.checkpoint"
        words = ["adapt", ocb, stream, "--out", out, "--checkpoint-rows", "500"]
        with piped(*words) as running:
            until(lambda: checkpoint.exists() and Adaptation.load(checkpoint).rows)
            running.send_signal(signal.SIGTERM)
            assert running.wait(timeout=60) == 143
            assert b"--resume continues from there" in running.stderr.read()
        assert 0 < Adaptation.load(checkpoint).rows < 20_000
        assert not out.exists()
