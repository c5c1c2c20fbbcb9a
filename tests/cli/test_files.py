"""The files of a command: one run at a time, never one of its inputs, and exit status 0 means written."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from ocboost._core.file_lock import lock_name, locked
from ocboost.cli import adapt
from ocboost.deployment.adaptation import Adaptation
from ocboost.deployment.model import Model
from tests.support.cli_runs import (
    fitted,
    kill_after,
    killed,
    left_in,
    n_seen,
    process,
    ran,
    refused,
    started,
    table,
    write,
)

posix = pytest.mark.skipif("sys.platform == 'win32'", reason="needs links, or devices")


class TestOneRunAtATime:
    def test_a_live_run_is_not_an_interrupted_one(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(adapt, "ROWS_PER_READ", 40)
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(200))
        words = ["adapt", model, stream, "--out", model, "--checkpoint-rows", "40"]
        with monkeypatch.context() as patch:
            kill_after(patch, Adaptation, "take", 3)
            killed(capsys, *words)
        checkpoint = tmp_path / "model.ocb.checkpoint"
        (tmp_path / ".model.ocb.0123abcd.tmp").write_bytes(b"being written")
        before = model.read_bytes(), checkpoint.read_bytes()
        with locked(model):
            for more in ([], ["--resume"], ["--restart"]):
                message = refused(capsys, *words, *more)
                assert f"is being written by another run, process {os.getpid()}, since" in message
                assert "interrupted" not in message
            assert "another run" in refused(capsys, "fit", stream, "--label", "y", "--out", model)
        assert (model.read_bytes(), checkpoint.read_bytes()) == before
        assert (tmp_path / ".model.ocb.0123abcd.tmp").exists()
        assert ran(capsys, *words, "--resume")[0] == 0
        assert not lock_name(model).exists()

    @posix
    def test_a_link_is_the_same_model(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(adapt, "ROWS_PER_READ", 40)
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(100))
        (tmp_path / "link.ocb").symlink_to(model)
        words = ["adapt", tmp_path / "link.ocb", stream, "--out", tmp_path / "link.ocb"]
        with locked(model):
            assert "another run" in refused(capsys, *words)
        with monkeypatch.context() as patch:
            kill_after(patch, Adaptation, "take", 2)
            killed(capsys, *words, "--checkpoint-rows", "1")
        assert left_in(tmp_path) == ["model.ocb.checkpoint"]
        assert "interrupted" in refused(capsys, "adapt", model, stream, "--out", model)
        assert ran(capsys, *words, "--resume")[0] == 0
        assert (tmp_path / "link.ocb").is_symlink()
        assert n_seen(model) == 400

    def test_no_pair_loses_a_run(self, tmp_path, monkeypatch):
        place = Path(__file__).parents[2] / "experiments" / "concurrent_adapt.py"
        spec = importlib.util.spec_from_file_location("concurrent_adapt", place)
        experiment = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(experiment)
        monkeypatch.setattr(
            experiment, "ocboost", lambda *words: started(*words, stdout=-3, stderr=-1, text=True)
        )
        counts, wrong = experiment.run(2, 1, tmp_path)
        assert wrong == []
        assert sum(counts.values()) == 2
        assert counts["none"] == 0


class TestNames:
    @pytest.mark.parametrize(
        "name", ["m.ocb.checkpoint", ".m.ocb.lock", ".m.ocb.0123abcd.tmp", ".m.ocb.checkpoint.0123abcd.tmp"]
    )
    @pytest.mark.parametrize("more", [[], ["--restart"], ["--resume"]])
    def test_the_stream_is_never_replaced(self, name, more, tmp_path, capsys):
        model = fitted(tmp_path, name="m.ocb")
        data = write(tmp_path / "s.csv", table(30)).read_bytes()
        stream = tmp_path / name
        stream.write_bytes(data)
        words = ["--out", model, "--format", "csv", *more]
        assert "the stream must not be" in refused(capsys, "adapt", model, stream, *words)
        assert stream.read_bytes() == data
        fit = ["fit", stream, "--label", "y", "--out", model, "--format", "csv"]
        assert "the data must not be" in refused(capsys, *fit)

    @posix
    def test_through_links(self, tmp_path, capsys, monkeypatch):
        model, stream = fitted(tmp_path, name="m.ocb"), write(tmp_path / "s.csv", table(30))
        data = stream.read_bytes()
        checkpoint = tmp_path / "m.ocb.checkpoint"
        monkeypatch.chdir(tmp_path)
        for link in (checkpoint.symlink_to, checkpoint.hardlink_to):
            link(stream)
            for name in (stream, "s.csv", "../" + tmp_path.name + "/s.csv"):
                message = refused(capsys, "adapt", model, name, "--out", "m.ocb", "--restart")
                assert "that is the checkpoint of --out" in message
            checkpoint.unlink()
        (tmp_path / "hard.csv").hardlink_to(stream)
        assert "--out must not be the data" in refused(capsys, "adapt", model, stream, "--out", "hard.csv")
        assert stream.read_bytes() == data

    def test_the_model(self, tmp_path, capsys):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(30))
        other = tmp_path / "m.ocb.checkpoint"
        other.write_bytes(model.read_bytes())
        assert "the model must not be" in refused(
            capsys, "adapt", other, stream, "--out", tmp_path / "m.ocb", "--restart"
        )
        assert other.read_bytes() == model.read_bytes()
        assert "must not end in .checkpoint" in refused(capsys, "adapt", model, stream, "--out", other)

    @posix
    def test_a_loop_of_links(self, tmp_path, capsys):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(30))
        (tmp_path / "one").symlink_to(tmp_path / "two")
        (tmp_path / "two").symlink_to(tmp_path / "one")
        message = refused(capsys, "adapt", model, stream, "--out", tmp_path / "one")
        assert "is a link that leads back to itself" in message
        assert "--out must" in refused(capsys, "adapt", model, stream, "--out", tmp_path / "one" / "m.ocb")
        assert "itself" in refused(capsys, "fit", stream, "--label", "y", "--out", tmp_path / "two")


class _Full:
    """Standard output on a full disk."""

    encoding = "utf-8"

    def write(self, text):
        raise OSError(28, "No space left on device")

    def flush(self):
        raise OSError(28, "No space left on device")

    def isatty(self):
        return False


class TestExitStatus:
    def test_written_though_the_report_was_not(self, tmp_path, capsys, monkeypatch):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(30))
        new = tmp_path / "new.ocb"
        runs = (
            (model, ["adapt", model, stream, "--out", model]),
            (new, ["fit", stream, "--label", "y", "--out", new]),
        )
        for out, words in runs:
            with monkeypatch.context() as patch:
                patch.setattr(sys, "stdout", _Full())
                code, _, err = ran(capsys, *words)
            assert code == 0
            assert err == (
                f"ocboost: the model was written to '{out}', but the report could not be printed: No space "
                "left on device\n"
            )
        assert n_seen(model) == 330
        assert n_seen(new) == 30

    @pytest.mark.skipif("not __import__('os').path.exists('/dev/full')", reason="needs /dev/full")
    def test_a_full_device(self, tmp_path):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(30))
        with open("/dev/full", "w") as full:
            running = started("adapt", model, stream, "--out", model, stdout=full, stderr=-1, text=True)
            _, err = running.communicate(timeout=60)
            assert running.returncode == 0
            assert err.count("\n") == 1
            assert f"the model was written to '{model}'" in err
            running = started("info", model, stdout=full, stderr=-1, text=True)
            _, err = running.communicate(timeout=60)
            assert (running.returncode, err) == (1, "ocboost: [Errno 28] No space left on device\n")

    def test_an_error_before_writing_is_one(self, tmp_path, capsys, monkeypatch):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(30))

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Model, "save", full)
        assert "No space" in refused(capsys, "adapt", model, stream, "--out", model)
        assert n_seen(model) == 300

    def test_a_checkpoint_that_stays(self, tmp_path, capsys, monkeypatch):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(30))

        def stuck(*_, **__):
            raise OSError(1, "Operation not permitted")

        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", stuck)
            code, _, err = ran(capsys, "adapt", model, stream, "--out", model)
        assert code == 0
        assert "could not be removed (Operation not permitted)" in err
        assert ran(capsys, "adapt", model, stream, "--out", model, "--resume")[0] == 0
        assert n_seen(model) == 330
        assert left_in(tmp_path) == []

    def test_the_checkpoint_goes_last(self, tmp_path, capsys, monkeypatch):
        model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(30))
        done, save, unlink = [], Model.save, Path.unlink
        monkeypatch.setattr(Model, "save", lambda self, path: (save(self, path), done.append("model")))
        monkeypatch.setattr(
            Path, "unlink", lambda self, **more: (unlink(self, **more), done.append(self.name))
        )
        assert ran(capsys, "adapt", model, stream, "--out", model)[0] == 0
        assert done == ["model", "model.ocb.checkpoint"]


def test_a_process_refused_says_so(tmp_path):
    model, stream = fitted(tmp_path), write(tmp_path / "s.csv", table(30))
    with locked(model):
        ended = process("adapt", model, stream, "--out", model, fresh=True)
    assert ended.returncode == 1
    assert f"process {os.getpid()}" in ended.stderr
