"""``ocboost compare`` and ``reproduce`` with --dask: what is refused, the same results, and Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys

import pytest

from ocboost._extras import install_line
from tests.support.cli_runs import ran, refused, started, table, write
from tests.support.dask_clusters import busy, eventually, processes

__all__ = ["processes"]

pytest.importorskip("river")
SMALL = ("--methods", "static,oza", "--rows", "300", "--start", "60", "--hypotheses", "5", "--seeds", "2")
TIMES = re.compile("(.*_|)us|.*seconds|peak_bytes|versions")


def without_times(found):
    if isinstance(found, dict):
        return {k: without_times(v) for k, v in found.items() if not TIMES.fullmatch(k)}
    return [without_times(each) for each in found] if isinstance(found, list) else found


def record(out):
    return without_times(json.loads((out / "results.json").read_text()))


def test_a_named_stream(processes, tmp_path, capsys):
    for name, words in (
        ("report", ("--jobs", "1")),
        ("there/report", ("--dask", processes.scheduler_address)),
    ):
        code, printed, _ = ran(capsys, "compare", "sea", *SMALL, "--out", tmp_path / name, *words)
        assert code == 0
        assert "Oza-Russell" in printed
    here, there = record(tmp_path / "report"), record(tmp_path / "there" / "report")
    assert here["places"]
    assert here == there


def test_synthetic(processes, tmp_path, capsys):
    for name, words in (("report", ()), ("there", ("--dask", processes.scheduler_address))):
        words = ("reproduce", "synthetic", "--quick", "--runs", "1", "--out", tmp_path / name, *words)
        assert ran(capsys, *words)[0] == 0
    assert record(tmp_path / "report") == record(tmp_path / "there")


@pytest.mark.parametrize("command", [("compare", "sea"), ("reproduce", "synthetic")])
class TestRefused:
    def test_an_address_that_is_none(self, command, tmp_path, capsys):
        err = refused(capsys, *command, "--out", tmp_path / "report", "--dask", "localhost\x1b")
        assert "must be tcp://HOST:PORT or tls://HOST:PORT, such as tcp://127.0.0.1:8786; got" in err
        assert "\x1b" not in err
        assert not (tmp_path / "report").exists()

    def test_without_dask(self, command, tmp_path, capsys, monkeypatch):
        monkeypatch.setitem(sys.modules, "distributed", None)
        err = refused(capsys, *command, "--out", tmp_path / "report", "--dask", "tcp://127.0.0.1:1")
        assert install_line("dask") in err

    def test_help(self, command, capsys):
        out = ran(capsys, *command[: 1 + (command[0] == "reproduce")], "--help")[1]
        assert "--dask" in out
        assert "--dask tcp://HOST:8786" in " ".join(out.split())


def test_dask_or_jobs(tmp_path, capsys):
    err = refused(capsys, "compare", "sea", "--dask", "tcp://127.0.0.1:1", "--jobs", "2", code=2)
    assert "--dask and --jobs exclude each other. Drop --jobs" in err


def test_a_file_is_read_here(tmp_path, capsys):
    path = write(tmp_path / "stream.csv", table(300))
    words = ("compare", path, "--label", "y", *SMALL[:2], "--out", tmp_path / "report")
    code, _, err = ran(capsys, *words, "--dask", "tcp://127.0.0.1:1")
    assert code == 0
    assert "--dask is for named streams; a file is read once, in one process." in err


@pytest.mark.parametrize(
    "command",
    [("compare", "sea", "--methods", "oza", "--seeds", "4"), ("reproduce", "synthetic", "--runs", "40")],
)
def test_ctrl_c(processes, command, tmp_path):
    words = (*command, "--out", tmp_path / "report", "--dask", processes.scheduler_address)
    run = started(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        eventually(lambda: busy(processes))
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    finally:
        run.kill()
    assert (run.returncode, out) == (130, "")
    assert err.startswith("ocboost: interrupted; nothing was written to ")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    eventually(lambda: not processes.scheduler.tasks)  # all were cancelled
