"""The folder that results are written into: all files or none, and never half of one."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from ocboost._report.output import OutputFolder
from ocboost.errors import InputError


class TestOutputFolder:
    def test_an_unused_folder_is_taken_away_again(self, tmp_path: Path) -> None:
        with OutputFolder(tmp_path / "a" / "b", ["x"]):
            assert (tmp_path / "a" / "b").is_dir()
        assert not (tmp_path / "a").exists()

    def test_a_folder_that_was_there_stays(self, tmp_path: Path) -> None:
        with OutputFolder(tmp_path, ["x"]):
            pass
        assert list(tmp_path.iterdir()) == []

    def test_a_file_in_the_way(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(InputError, match=r"out must be a folder that can be written; got '.*file/sub'"):
            OutputFolder(tmp_path / "file" / "sub", ["x"]).__enter__()

    def test_a_folder_where_a_file_must_go(self, tmp_path: Path) -> None:
        (tmp_path / "results.json").mkdir()
        with pytest.raises(InputError, match=r"results\.json is a folder"):
            OutputFolder(tmp_path, ["results.json"]).__enter__()

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
    def test_a_folder_without_permission(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o500)
        try:
            with pytest.raises(InputError, match="Permission denied"):
                OutputFolder(tmp_path / "sub", ["x"]).__enter__()
        finally:
            tmp_path.chmod(0o700)

    def test_a_failure_leaves_the_old_files_whole(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "a").write_text("old")

        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with OutputFolder(tmp_path, ["a", "b"]) as folder, pytest.raises(OSError, match="No space"):
            folder.write({"a": b"new", "b": b"new"})
        assert [path.name for path in tmp_path.iterdir()] == ["a"]
        assert (tmp_path / "a").read_text() == "old"

    def test_a_file_is_renamed_into_place(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_text("old")
        os.link(tmp_path / "a", tmp_path / "same file")  # would change with it if it were written over
        with OutputFolder(tmp_path, ["a"]) as folder:
            folder.write({"a": b"new"})
        assert (tmp_path / "a").read_text() == "new"
        assert (tmp_path / "same file").read_text() == "old"

    def test_interrupt_waits_for_the_renames(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        replace = os.replace

        def interrupted_replace(source: Path, target: Path) -> None:
            signal.raise_signal(signal.SIGINT)
            replace(source, target)

        monkeypatch.setattr(os, "replace", interrupted_replace)
        with OutputFolder(tmp_path, ["a", "b"]) as folder:
            folder.write({"a": b"1", "b": b"2"})
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
        assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN

    def test_files_follow_the_umask(self, tmp_path: Path) -> None:
        with OutputFolder(tmp_path, ["a"]) as folder:
            folder.write({"a": b""})
        (tmp_path / "b").write_bytes(b"")
        assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode
