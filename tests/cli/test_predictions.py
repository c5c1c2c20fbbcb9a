"""``ocboost adapt --predictions``: what is written where, also after an interruption."""

from __future__ import annotations

import json

import pytest

from ocboost.cli import adapt
from ocboost.deployment.adaptation import Adaptation
from ocboost.deployment.model import Model
from tests.cli.test_pipes import HEADER, as_csv, as_json, expected
from tests.support.cli_runs import feed, kill_after, killed, n_seen, ran, refused, table, write


class TestPredictions:
    def test_of_a_file(self, model, tmp_path, capsys):
        rows = table(120)
        rows[7][4] = rows[8][4] = None
        stream = write(tmp_path / "s.csv", rows)
        words = ["adapt", model, stream, "--out", tmp_path / "o.ocb", "--predictions", "-"]
        code, out, err = ran(capsys, *words)
        assert code == 0
        assert out.splitlines() == ["prediction,probability", *expected(model, rows)]
        assert "Wrote" in err
        assert "2 rows had no label" in err
        assert ran(capsys, "adapt", model, stream, "--out", tmp_path / "without.ocb")[0] == 0
        assert (tmp_path / "o.ocb").read_bytes() == (tmp_path / "without.ocb").read_bytes()

    def test_before_learning_also_in_batches(self, ocb, tmp_path, capsys):
        rows = table(50)
        stream = write(tmp_path / "s.csv", rows)
        words = ["adapt", ocb, stream, "--out", tmp_path / "o.ocb", "--predictions", "-", "--batch", "50"]
        _, out, _ = ran(capsys, *words)
        assert out == ran(capsys, "predict", ocb, stream)[1]

    def test_without_a_label_column_it_only_predicts(self, model, tmp_path, capsys):
        rows = [row[:4] for row in table(20)]
        stream = write(tmp_path / "s.csv", rows, ["a", "b", "c", "d"])
        words = ["adapt", model, stream, "--out", tmp_path / "o.ocb"]
        assert "label must name a column" in refused(capsys, *words)
        _, out, err = ran(capsys, *words, "--predictions", "-")
        assert out == ran(capsys, "predict", model, stream)[1]
        assert "20 rows had no label" in err
        assert n_seen(tmp_path / "o.ocb") == 300

    def test_json_lines_from_standard_input(self, ocb, tmp_path, capsys, monkeypatch):
        rows = table(30)
        text = "".join(map(as_json, rows)).encode()
        feed(monkeypatch, text)
        _, out, _ = ran(capsys, "adapt", ocb, "-", "--out", tmp_path / "o.ocb", "--predictions", "-")
        found = [json.loads(line) for line in out.splitlines()]
        assert [f"{one['prediction']},{one['probability']}" for one in found] == expected(ocb, rows)
        for words in (
            ["predict", ocb, "-"],
            ["explain", ocb, "-"],
            ["fit", "-", "--label", "y", "--out", tmp_path / "f.ocb"],
        ):
            feed(monkeypatch, text)
            assert ran(capsys, *words)[0] == 0

    def test_the_first_object_may_lack_columns(self, ocb, tmp_path, capsys, monkeypatch):
        text = '{"a": 1.0}\n{"y": 1, "d": 1, "c": 2, "b": 3, "a": 4}\n'
        feed(monkeypatch, text.encode())
        code, out, err = ran(capsys, "adapt", ocb, "-", "--out", tmp_path / "o.ocb", "--predictions", "-")
        assert code == 0
        assert len(out.splitlines()) == 2
        assert "The first row lacks 'b', 'c', 'd'" in err
        assert n_seen(tmp_path / "o.ocb") == 301
        feed(monkeypatch, b'{"other": 1.0}\n')
        assert "some of the columns the model was made for" in refused(
            capsys, "adapt", ocb, "-", "--out", tmp_path / "o2.ocb", "--predictions", "-"
        )

    @pytest.mark.parametrize("kind", ["model", "stream", "out", "checkpoint", "folder", "nowhere"])
    def test_must_be_a_file_of_its_own(self, kind, ocb, tmp_path, capsys):
        stream, out = write(tmp_path / "s.csv", table(20)), tmp_path / "o.ocb"
        other = {
            "model": ocb,
            "stream": stream,
            "out": out,
            "checkpoint": tmp_path / "o.ocb.checkpoint",
            "folder": tmp_path,
            "nowhere": tmp_path / "no" / "p.csv",
        }[kind]
        before = {path: path.read_bytes() for path in (ocb, stream)}
        assert "--predictions must" in refused(
            capsys, "adapt", ocb, stream, "--out", out, "--predictions", other
        )
        assert {path: path.read_bytes() for path in before} == before

    @pytest.mark.parametrize("calls", [1, 5])
    def test_resumed(self, calls, model, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(adapt, "ROWS_PER_READ", 40)
        rows = table(250)
        stream, out, file = write(tmp_path / "s.csv", rows), tmp_path / "o.ocb", tmp_path / "p.csv"
        file.write_text("of an earlier run\n")
        words = ["adapt", model, stream, "--out", out, "--predictions", file, "--checkpoint-rows", "80"]
        with monkeypatch.context() as patch:
            kill_after(patch, Adaptation, "take", calls)
            killed(capsys, *words)
        assert ran(capsys, *words, "--resume")[0] == 0
        assert file.read_text().splitlines() == ["prediction,probability", *expected(model, rows)]

    def test_resumed_with_a_file_that_lacks_rows(self, ocb, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(adapt, "ROWS_PER_READ", 40)
        stream, out, file = write(tmp_path / "s.csv", table(250)), tmp_path / "o.ocb", tmp_path / "p.csv"
        words = ["adapt", ocb, stream, "--out", out, "--predictions", file, "--checkpoint-rows", "80"]
        with monkeypatch.context() as patch:
            kill_after(patch, Adaptation, "take", 5)
            killed(capsys, *words)
        file.write_text("prediction,probability\n")
        assert "must hold the predictions up to the checkpoint" in refused(capsys, *words, "--resume")

    def test_standard_input_in_place_after_kill_9(self, ocb, tmp_path, capsys, monkeypatch):
        model = tmp_path / "m.ocb"
        model.write_bytes(ocb.read_bytes())
        text = (HEADER + "".join(map(as_csv, table(403)))).encode()
        feed(monkeypatch, text)
        assert ran(capsys, "adapt", ocb, "-", "--out", tmp_path / "whole.ocb")[0] == 0
        words = ["adapt", model, "-", "--out", model, "--checkpoint-rows", "40"]
        feed(monkeypatch, text)
        with monkeypatch.context() as patch:
            kill_after(patch, adapt.Saves, "save", 1 + 1)
            monkeypatch.setattr(adapt, "ROWS_PER_READ", 40)
            killed(capsys, *words)
        assert n_seen(model) == 340
        feed(monkeypatch, text)
        assert ran(capsys, *words, "--resume")[0] == 0
        assert (
            Model.load(model).classifier.alpha_[0].tolist()
            == Model.load(tmp_path / "whole.ocb").classifier.alpha_[0].tolist()
        )


class TestCheckpoints:
    def test_every_command_reads_the_model_inside(self, ocb, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(adapt, "ROWS_PER_READ", 40)
        stream = write(tmp_path / "s.csv", table(200))
        with monkeypatch.context() as patch:
            kill_after(patch, Adaptation, "take", 3)
            killed(capsys, "adapt", ocb, stream, "--out", tmp_path / "o.ocb", "--checkpoint-rows", "40")
        checkpoint = tmp_path / "o.ocb.checkpoint"
        inside = tmp_path / "inside.ocb"
        Adaptation.load(checkpoint).model.save(inside)
        assert n_seen(checkpoint) == n_seen(inside) == 380
        for command in ("predict", "explain"):
            code, out, _ = ran(capsys, command, checkpoint, stream)
            assert code == 0
            assert out == ran(capsys, command, inside, stream)[1]
        assert "A checkpoint of ocboost adapt after 80 rows" in ran(capsys, "info", checkpoint)[1]
