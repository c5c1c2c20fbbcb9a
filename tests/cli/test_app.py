"""The command line, in this process and as a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ocboost
from ocboost.__main__ import main
from ocboost._extras import install_line
from ocboost.errors import InputError
from ocboost.paper import synthetic
from ocboost.paper.synthetic import SyntheticResult, SyntheticSettings, run_synthetic
from tests.support.cli_runs import process, shown_on_terminal, started
from tests.support.modules import forget_modules

WRITTEN = {"results.json", "report.html", "report.md", "synthetic.png", "synthetic.svg"}
INSTALL = install_line("all")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shrink the experiment: these tests are about the command."""

    def run(settings: SyntheticSettings, **rest: object) -> SyntheticResult:
        tiny = SyntheticSettings(
            seed=settings.seed, runs=settings.runs, matrices=2, examples_per_matrix=400, quick=settings.quick
        )
        return run_synthetic(tiny, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(synthetic, "run_synthetic", run)


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The experiment must not be reached."""

    def run(*_: object, **__: object) -> None:
        raise AssertionError("the work was started")

    monkeypatch.setattr(synthetic, "run_synthetic", run)


class TestHelp:
    def test_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--version"]) == 0
        assert capsys.readouterr().out.strip() == f"ocboost {ocboost.__version__}"

    @pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
    def test_help(self, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert main(words) == 0
        assert "reproduce" in capsys.readouterr().out

    def test_help_of_reproduce_has_examples(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["reproduce", "--help"]) == 0
        assert "ocboost reproduce synthetic --quick" in capsys.readouterr().out

    def test_help_of_synthetic(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["reproduce", "synthetic", "--help"]) == 0
        out = capsys.readouterr().out
        for option in ("--quick", "--out", "--seed", "--runs", "--data", "OCBOOST_DATA"):
            assert option in out

    @pytest.mark.parametrize(
        "command",
        [
            "fit",
            "adapt",
            "predict",
            "info",
            "explain",
            "evaluate",
            "compare",
            "cascade adapt",
            "reproduce mnist",
        ],
    )
    def test_every_option_is_explained(self, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([*command.split(), "--help"]) == 0
        out = capsys.readouterr().out
        assert len(re.findall(r"^│ \*? *--[a-z]", out, re.MULTILINE)) >= 1
        bare = re.findall(r"^│ \*? *(--[\w-]+)(?: [A-Z]+)? *(?:\[.*)?│$", out, re.MULTILINE)
        assert bare == []


class TestUsage:
    @pytest.mark.parametrize(
        ("words", "text"),
        [
            (["nonsense"], "nonsense"),
            (["--nonsense"], "--nonsense"),
            (["reproduce", "nonsense"], "nonsense"),
            (["reproduce", "synthetic", "--nonsense"], "--nonsense"),
            (["reproduce", "synthetic", "extra"], "extra"),
            (["reproduce", "synthetic", "--runs", "0"], "--runs"),
            (["reproduce", "synthetic", "--runs", "many"], "--runs"),
            (["reproduce", "synthetic", "--seed", "-1"], "--seed"),
            (["reproduce", "synthetic", "--out"], "--out"),
        ],
    )
    @pytest.mark.usefixtures("no_work")
    def test_wrong_usage(self, words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(words) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.count("\n") == 1
        assert printed.err.startswith("ocboost: ")
        assert text in printed.err


@pytest.mark.usefixtures("small")
class TestSynthetic:
    def test_writes_and_tells(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out = tmp_path / "deep" / "er"
        assert main(["reproduce", "synthetic", "--quick", "--out", str(out), "--seed", "7"]) == 0
        assert {path.name for path in out.iterdir()} == WRITTEN
        results = json.loads((out / "results.json").read_text())
        assert results["seeds"] == [[7, 0], [7, 1]]
        assert results["quick"] is True
        printed = capsys.readouterr()
        assert "quick" in printed.out
        assert "OCB, order 20" in printed.out
        assert str(out.resolve()) in printed.out
        assert printed.err == ""

    def test_default_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert main(["reproduce", "synthetic", "--runs", "3"]) == 0
        results = json.loads((tmp_path / "results" / "synthetic" / "results.json").read_text())
        assert len(results["seeds"]) == 3
        assert results["quick"] is False
        assert "quick" not in capsys.readouterr().out

    def test_older_results_are_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "results.json").write_text("old")
        (tmp_path / "notes.txt").write_text("mine")
        assert main(["reproduce", "synthetic", "--runs", "1", "--out", str(tmp_path)]) == 0
        assert {path.name for path in tmp_path.iterdir()} == WRITTEN | {"notes.txt"}
        assert (tmp_path / "results.json").read_text() != "old"

    def test_data_is_accepted(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OCBOOST_DATA", str(tmp_path / "nowhere"))
        words = ["reproduce", "synthetic", "--runs", "1", "--out", str(tmp_path / "a")]
        assert main(words) == 0
        assert main([*words, "--data", str(tmp_path)]) == 0

    def test_odd_folder_names(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out = tmp_path / "[red]α b"
        assert main(["reproduce", "synthetic", "--runs", "1", "--out", str(out)]) == 0
        assert str(out) in capsys.readouterr().out


class TestErrors:
    @pytest.mark.usefixtures("no_work")
    def test_unwritable_out_is_found_before_the_work(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "file").write_text("")
        assert main(["reproduce", "synthetic", "--out", str(tmp_path / "file")]) == 1
        message = capsys.readouterr().err
        assert message.startswith("ocboost: out must be a folder that can be written")
        assert message.count("\n") == 1

    @pytest.mark.parametrize("error", [InputError("margins must be\n±1"), OSError(28, "No space left")])
    def test_an_error_is_one_line(
        self,
        error: Exception,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(synthetic, "run_synthetic", fail)
        assert main(["reproduce", "synthetic", "--out", str(tmp_path / "a")]) == 1
        assert capsys.readouterr().err.count("\n") == 1
        assert not (tmp_path / "a").exists()

    def test_interrupted(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def interrupt(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(synthetic, "run_synthetic", interrupt)
        assert main(["reproduce", "synthetic", "--out", str(tmp_path / "a")]) == 130
        assert "nothing was written" in capsys.readouterr().err
        assert not (tmp_path / "a").exists()

    @pytest.mark.usefixtures("no_work")
    def test_without_matplotlib(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        assert main(["reproduce", "synthetic", "--out", str(tmp_path / "a")]) == 1
        message = capsys.readouterr().err
        assert INSTALL in message
        assert "'matplotlib'" in message
        assert message.count("\n") == 1

    @pytest.mark.parametrize("package", ["cyclopts", "rich"])
    def test_without_the_command_line_extra(
        self, package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        forget_modules(monkeypatch, package, "ocboost.cli")
        monkeypatch.setitem(sys.modules, package, None)
        assert main(["--version"]) == 1
        message = capsys.readouterr().err
        assert INSTALL in message
        assert f"'{package}'" in message
        assert message.count("\n") == 1


class TestProcess:
    def test_quiet_when_piped(self, tmp_path: Path) -> None:
        done = process("reproduce", "synthetic", "--quick", "--runs", "1", cwd=tmp_path, fresh=True)
        assert done.returncode == 0
        assert done.stderr == ""
        assert "\x1b" not in done.stdout
        assert {path.name for path in (tmp_path / "results" / "synthetic").iterdir()} == WRITTEN

    def test_exit_codes(self, tmp_path: Path) -> None:
        assert process("--version", fresh=True).returncode == 0
        assert process("nonsense", fresh=True).returncode == 2
        (tmp_path / "file").write_text("")
        assert process("reproduce", "synthetic", "--out", str(tmp_path / "file")).returncode == 1

    def test_a_terminal_without_unicode(self) -> None:
        done = process("reproduce", "--help", env={**os.environ, "PYTHONIOENCODING": "ascii"})
        assert done.returncode == 0
        assert done.stdout.isascii()

    @pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
    def test_progress_on_a_terminal(self, tmp_path: Path) -> None:
        words = ["reproduce", "synthetic", "--quick", "--runs", "1", "--out", tmp_path]
        shown, code = shown_on_terminal(*words, stdout=subprocess.DEVNULL)
        assert code == 0
        assert "synthetic" in shown
        assert "\x1b" in shown

    @pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
    def test_ctrl_c(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        words = ["reproduce", "synthetic", "--out", out]
        running = started(*words, stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 60
        while not out.exists() and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        _, printed = running.communicate(timeout=60)
        assert running.returncode == 130
        assert printed.strip() == f"ocboost: interrupted; nothing was written to '{out}'."
        assert not out.exists()
