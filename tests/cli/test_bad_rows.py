"""``ocboost adapt --on-bad-row skip``: what cannot be used is left out, counted and kept."""

from __future__ import annotations

import json

import pytest

from ocboost.cli import adapt
from ocboost.deployment.adaptation import Adaptation
from ocboost.deployment.model import Model
from tests.cli.test_pipes import HEADER, as_csv, expected
from tests.support.cli_runs import feed, kill_after, killed, n_seen, ran, refused, table

BAD = {10: "1,2,3\n", 11: "one,2,3,4,0\n", 30: "1,2,3,4,5\n", 77: "1,inf,3,4,0\n", 199: "end\n"}
REASONS = {
    10: "wrong number of fields",
    11: "not a number",
    30: "unknown class",
    77: "not finite",
    199: "wrong number of fields",
}


@pytest.fixture
def stream(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text(HEADER + "".join(BAD.get(i, as_csv(row)) for i, row in enumerate(table(200))))
    return path


def good():
    return [row for i, row in enumerate(table(200)) if i not in BAD]


def answers(model):
    """The lines of predictions that the stream should give."""
    rows = [
        [1.0, 2.0, 3.0, 4.0, None] if i == 30 else row
        for i, row in enumerate(table(200))
        if i == 30 or i not in BAD
    ]
    lines = iter(expected(model, rows))
    return ["prediction,probability", *("," if i in BAD and i != 30 else next(lines) for i in range(200))]


def entries(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class TestSkip:
    def test_they_are_left_out_counted_and_kept(self, model, stream, tmp_path, capsys):
        out = tmp_path / "o.ocb"
        words = ["adapt", model, stream, "--out", out, "--predictions", "-"]
        assert "must have 5 fields" in refused(capsys, *words, "--restart")
        code, printed, err = ran(capsys, *words, "--on-bad-row", "skip", "--restart")
        assert code == 0
        assert printed.splitlines() == answers(model)
        assert (
            "5 bad rows were left out (1 not a number, 1 not finite, 1 unknown class, 2 wrong number" in err
        )
        assert n_seen(out) == 300 + 195
        found = entries(tmp_path / "o.ocb.bad-rows.jsonl")
        assert [(one["line"], one["reason"], one["text"] + "\n") for one in found] == [
            (i + 2, REASONS[i], text) for i, text in BAD.items()
        ]
        assert Model.load(out).history[-1]["rows"] == 200

    def test_the_model_is_that_of_the_other_rows(self, ocb, stream, tmp_path, capsys):
        assert ran(capsys, "adapt", ocb, stream, "--out", tmp_path / "o.ocb", "--on-bad-row", "skip")[0] == 0
        clean = tmp_path / "clean.csv"
        clean.write_text(HEADER + "".join(map(as_csv, good())))
        assert ran(capsys, "adapt", ocb, clean, "--out", tmp_path / "c.ocb")[0] == 0
        one, other = (Model.load(tmp_path / name).classifier for name in ("o.ocb", "c.ocb"))
        assert one.alpha_[0].tolist() == other.alpha_[0].tolist()

    @pytest.mark.parametrize(("calls", "batch"), [(1, 1), (4, 1), (1, 8), (3, 8)])
    def test_resumed(self, calls, batch, model, stream, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(adapt, "ROWS_PER_READ", 40)
        bad = tmp_path / "bad.jsonl"
        extra = ["--on-bad-row", "skip", "--batch", batch, "--checkpoint-rows", "1"]
        whole = ["--predictions", tmp_path / "p0.csv", "--bad-rows", tmp_path / "bad0.jsonl"]
        assert ran(capsys, "adapt", model, stream, "--out", tmp_path / "whole.ocb", *extra, *whole)[0] == 0
        words = ["adapt", model, stream, "--out", tmp_path / "o.ocb", *extra]
        words += ["--predictions", tmp_path / "p.csv", "--bad-rows", bad]
        bad.write_text('{"of": "an earlier run"}\n')
        with monkeypatch.context() as patch:
            kill_after(patch, Adaptation, "take", calls)
            killed(capsys, *words)
        code, printed, _ = ran(capsys, *words, "--resume")
        assert code == 0
        assert "5 bad rows were left out" in printed
        assert (tmp_path / "o.ocb").read_bytes() == (tmp_path / "whole.ocb").read_bytes()
        assert (tmp_path / "p.csv").read_bytes() == (tmp_path / "p0.csv").read_bytes()
        assert entries(bad)[1:] == entries(tmp_path / "bad0.jsonl")

    def test_added_after_it_stopped(self, ocb, stream, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(adapt, "ROWS_PER_READ", 4)
        words = ["adapt", ocb, stream, "--out", tmp_path / "o.ocb"]
        assert "10 rows are kept" in refused(capsys, *words)
        assert ran(capsys, *words, "--on-bad-row", "skip", "--resume")[0] == 0
        assert n_seen(tmp_path / "o.ocb") == 300 + 195

    def test_not_taken_back(self, ocb, stream, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(adapt, "ROWS_PER_READ", 40)
        words = ["adapt", ocb, stream, "--out", tmp_path / "o.ocb", "--checkpoint-rows", "1"]
        with monkeypatch.context() as patch:
            kill_after(patch, Adaptation, "take", 2)
            killed(capsys, *words, "--on-bad-row", "skip")
        assert "belongs to a run with --on-bad-row skip" in refused(capsys, *words, "--resume")

    def test_a_log_that_has_grown(self, ocb, stream, tmp_path, capsys):
        model = tmp_path / "m.ocb"
        model.write_bytes(ocb.read_bytes())
        words = ["adapt", model, stream, "--out", model]
        assert ran(capsys, *words, "--on-bad-row", "skip")[0] == 0
        with stream.open("a") as file:
            file.write("".join(map(as_csv, table(20, 5))))
        code, _, err = ran(capsys, *words)  # the bad rows lie behind
        assert code == 0
        assert "the first 200 rows were learnt before" in err
        assert n_seen(model) == 300 + 195 + 20

    def test_text_that_is_not_utf8_is_kept(self, ocb, tmp_path, capsys, monkeypatch):
        feed(monkeypatch, HEADER.encode() + b"1,2,3,4,\xff\x1b[31m\n" + as_csv(table(1)[0]).encode())
        words = ["adapt", ocb, "-", "--out", tmp_path / "o.ocb", "--on-bad-row", "skip", "--bad-rows"]
        assert ran(capsys, *words, tmp_path / "bad.jsonl")[0] == 0
        (entry,) = entries(tmp_path / "bad.jsonl")
        assert entry["text"].encode(errors="surrogateescape") == b"1,2,3,4,\xff\x1b[31m"
        assert b"\x1b" not in (tmp_path / "bad.jsonl").read_bytes()

    def test_an_unknown_class_that_is_left_out_anyway(self, ocb, stream, tmp_path, capsys):
        words = ["adapt", ocb, stream, "--out", tmp_path / "o.ocb", "--on-bad-row", "skip", "--leave-unseen"]
        _, printed, _ = ran(capsys, *words)
        assert "4 bad rows were left out" in printed
        assert "1 row had no label, or one the model does not know" in printed

    def test_usage(self, ocb, stream, tmp_path, capsys):
        words = ["adapt", ocb, stream, "--out", tmp_path / "o.ocb", "--bad-rows"]
        assert "--bad-rows needs --on-bad-row skip" in refused(capsys, *words, tmp_path / "b", code=2)
        same = [tmp_path / "p", "--predictions", tmp_path / "p", "--on-bad-row", "skip"]
        assert "--bad-rows must not be --predictions" in refused(capsys, *words, *same)
