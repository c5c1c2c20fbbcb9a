"""``ocboost warmup``, and the word that is said where kernels are compiled."""

from __future__ import annotations

import sys

import pytest

from ocboost.__main__ import main
from ocboost._kernels.compilations import Compilations
from ocboost.cli import app, warmup
from ocboost.errors import MissingExtraError


@pytest.fixture
def counts(monkeypatch):
    """Counts of its own, instead of those of the process."""
    fresh = Compilations()
    for place in ("ocboost._kernels.compilations", "ocboost._kernels.compile", "ocboost.cli.app"):
        monkeypatch.setattr(f"{place}.COMPILATIONS", fresh)
    return fresh


def test_everything_is_run(counts, capsys, monkeypatch):
    assert main(["warmup"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for title in warmup._WORK:
        assert f"{title}: " in out
    assert "left out" not in out
    assert f"Compiled {counts.compiled:,} kernels" in out
    assert counts.tell is None


def test_a_command_whose_extra_is_missing_is_left_out(counts, capsys, monkeypatch):
    def work(folder):
        raise MissingExtraError("lmdb", "fleet", "A fleet")

    monkeypatch.setattr(warmup, "_WORK", {"fleet": work})
    assert main(["warmup"]) == 0
    assert "fleet: left out. A fleet needs the package 'lmdb'" in capsys.readouterr().out


def test_a_cache_that_cannot_be_written_is_an_error(counts, capsys, monkeypatch):
    def work(folder):
        print("never seen")
        counts.add(0.1)
        counts.unsaved += 1
        counts.folders.add("/read/only")

    monkeypatch.setattr(warmup, "_WORK", {"fit": work})
    assert main(["warmup"]) == 1
    out, err = capsys.readouterr()
    assert "never seen" not in out
    assert "'/read/only' cannot be written. Set NUMBA_CACHE_DIR" in err


def test_a_command_that_fails_is_not_passed_over(counts, capsys, monkeypatch):
    monkeypatch.setattr(warmup, "_WORK", {"fit": lambda folder: warmup._run("fit", "no.csv", "--label", "y")})
    assert main(["warmup"]) == 70
    assert "ended with 2" in capsys.readouterr().err


@pytest.mark.parametrize("terminal", [True, False])
def test_compiling_is_told_on_a_terminal_only(terminal, counts, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    assert app.run(["--version"]) == 0
    counts.add(30.0)
    counts.add(30.0)
    said = capsys.readouterr().err
    assert said.count("ocboost: compiling for this machine, once") == terminal
