"""Small tables, models and runs of the command line, for its tests."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from ocboost.__main__ import main
from ocboost.deployment.model import Model
from ocboost.estimators.adaptive.classifier import AdaptiveClassifier
from tests.support import processes
from tests.support.stream_files import write_csv, write_jsonl, write_parquet

NAMES = ["a", "b", "c", "d", "y"]


def table(n, seed=0, classes=2, drift=True):
    """Rows of four numbers and a label; half-way through, the classes move."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(4)
    second = np.where(drift & (np.arange(n) > n // 2), X[:, 2], X[:, 1])
    score = X[:, 0] + 0.7 * second + 0.3 * rng.normal(size=n)
    y = (score > 0).astype(int) + (0 if classes == 2 else (score > 0.8))
    return [[*row, int(label)] for row, label in zip(X.tolist(), y.tolist(), strict=True)]


def write(path, rows, names=NAMES):
    """Rows as a file of the format its name says."""
    makers = {".csv": write_csv, ".jsonl": write_jsonl, ".parquet": write_parquet}
    return makers[path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix](path, names, rows)


def fitted(folder, *words, classes=2, name="model.ocb"):
    """The path of a small model of an OCBClassifier, or of another ``--method``, fitted from a file."""
    data = write(folder / "train.csv", table(300, 99, classes))
    out = folder / name
    method = [] if "--method" in words else ["--method", "ocb"]
    options = ["--label", "y", "--hypotheses", "12", *method, *words]
    assert main(["fit", str(data), "--out", str(out), *options]) == 0
    return out


def ran(capsys, *words):
    """The exit code, stdout and stderr of a run in this process."""
    capsys.readouterr()
    code = main([str(word) for word in words])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def refused(capsys, *words, code=1):
    """What a run says that must fail with one line and no traceback."""
    found, _, err = ran(capsys, *words)
    assert found == code, err
    assert err.startswith("ocboost: ")
    assert err.count("\n") == 1
    return err


def left_in(folder):
    """The names of files in a folder, without data and models of the test."""
    return sorted(p.name for p in Path(folder).iterdir() if re.search(r"tmp$|checkpoint$", p.name))


def process(*words, **more):
    """A run as a process of its own."""
    return processes.ran(*words, **more)


def started(*words, **more):
    """A process that listens to Ctrl-C even if a shell started the tests in the background."""
    return processes.Ocboost(words, **more)


def feed(monkeypatch, data):
    """Let standard input be these bytes."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def n_seen(model):
    """How many examples the model of a file has seen."""
    clf = Model.load(model).classifier
    return clf.n_learnt_ if isinstance(clf, AdaptiveClassifier) else clf.boosters_[0].n_seen


def shown_on_terminal(*words, stdout=None):
    """What a process writes to a terminal, and its exit code; standard output may go elsewhere."""
    import pty

    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm"}
    running = started(*words, stdout=theirs if stdout is None else stdout, stderr=theirs, env=env)
    os.close(theirs)
    text = b""
    try:
        while piece := os.read(ours, 4096):
            text += piece
    except OSError:  # Linux says EIO, not end of file, when the other side closes
        pass
    os.close(ours)
    return text.decode(), running.wait(timeout=60)


class Killed(BaseException):
    """The process is gone: nobody catches this."""


def kill_after(monkeypatch, owner, name, calls):
    """Let the process die when a method has returned so many times."""
    method, left = getattr(owner, name), [calls]

    def dying(*words, **more):
        result = method(*words, **more)
        left[0] -= 1
        if not left[0]:
            raise Killed
        return result

    monkeypatch.setattr(owner, name, dying)


def killed(capsys, *words):
    """A run that dies."""
    with pytest.raises(Killed):
        ran(capsys, *words)
