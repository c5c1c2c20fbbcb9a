"""``ocboost adapt --report``: the page of a run, also of one that was stopped."""

from __future__ import annotations

import errno
import json
import os
import re
import sys

import pytest

from ocboost.cli import adapt, adapt_page
from ocboost.deployment.adaptation import Adaptation
from ocboost.deployment.model import Model
from tests.support.cli_runs import feed, kill_after, killed, left_in, ran, refused, table, write


@pytest.fixture
def often(monkeypatch):
    """Read a few rows at once, so that small streams have many places to stop at."""
    monkeypatch.setattr(adapt, "ROWS_PER_READ", 40)


@pytest.fixture
def stream(tmp_path):
    return write(tmp_path / "s.csv", table(200))


def shown_in(page):
    """The document that a page shows."""
    return json.loads(re.search(r'<script type="application/json" id="document">(.*?)</script>', page)[1])


def document(path):
    return shown_in(path.read_text())


def test_the_page_of_a_run(model, stream, tmp_path, capsys):
    words = ["adapt", model, stream, "--out", tmp_path / "o.ocb"]
    code, printed, err = ran(capsys, *words, "--report", tmp_path / "p.html")
    assert (code, err) == (0, "")
    assert printed.rstrip().endswith("p.html")
    found = document(tmp_path / "p.html")
    assert (found["kind"], found["title"]) == ("run", "o.ocb")
    assert found["subtitle"] == "Adapted to s.csv: 200 rows were taken, 200 learnt."
    assert found["status"]["labels"] == 200
    assert [name for name, _ in found["mistakes"][0]["row"]] == ["a", "b", "c", "d"]
    assert f"{found['status']['accuracy']:.1%}" in printed
    assert bool(found["members"]) == ("adaptive" in repr(Model.load(model)))
    assert ran(capsys, *words[:-1], tmp_path / "without.ocb")[0] == 0
    assert (tmp_path / "o.ocb").read_bytes() == (tmp_path / "without.ocb").read_bytes()


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("options", [[], ["--batch", "7"]])
def test_killed_and_resumed_it_is_the_same_page(options, in_place, model, tmp_path, capsys, monkeypatch):
    rows = table(203)
    rows[9][4] = rows[70][4] = None
    stream = write(tmp_path / "s.csv", rows)
    own = tmp_path / "model.ocb"
    own.write_bytes(model.read_bytes())
    whole, page = tmp_path / "whole" / own.name, tmp_path / "p.html"
    whole.parent.mkdir()
    more = [*options, "--checkpoint-rows", "60", "--report", page]
    assert ran(capsys, "adapt", own, stream, "--out", whole, *more)[0] == 0
    before = page.read_text()
    page.unlink()
    out = own if in_place else tmp_path / "out" / own.name
    out.parent.mkdir(exist_ok=True)
    words = ["adapt", own, stream, "--out", out, *more]
    for owner, name, calls in ((Adaptation, "take", 2), (Adaptation, "take", 3), (Model, "save", 1)):
        with monkeypatch.context() as patch:
            kill_after(patch, owner, name, calls)
            killed(capsys, *words, *([] if (owner, calls) == (Adaptation, 2) else ["--resume"]))
    page.unlink()
    assert ran(capsys, *words, "--resume")[0] == 0
    assert page.read_text() == before
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.usefixtures("often")
class TestResumed:
    def stopped(self, ocb, stream, tmp_path, capsys, monkeypatch, *words):
        words = ["adapt", ocb, stream, "--out", tmp_path / "o.ocb", *words]
        with monkeypatch.context() as patch:
            patch.setattr(Adaptation, "pass_bad_rows", interrupting(3))
            assert ran(capsys, *words)[0] == 130

    def test_ctrl_c_writes_the_page_so_far(self, ocb, stream, tmp_path, capsys, monkeypatch):
        page = tmp_path / "p.html"
        self.stopped(ocb, stream, tmp_path, capsys, monkeypatch, "--report", page)
        found = document(page)
        assert "120 rows were taken so far" in found["subtitle"]
        assert found["status"]["labels"] == 120

    def test_a_page_that_is_wanted_only_then(self, ocb, stream, tmp_path, capsys, monkeypatch):
        self.stopped(ocb, stream, tmp_path, capsys, monkeypatch)
        page = tmp_path / "p.html"
        words = ["adapt", ocb, stream, "--out", tmp_path / "o.ocb", "--resume", "--report", page]
        _, _, err = ran(capsys, *words)
        assert "the page begins with row 120" in err
        found = document(page)
        assert "This page begins with row 120, where the run was resumed" in found["subtitle"]
        assert found["status"]["labels"] == 80

    def test_a_page_that_is_not_wanted_any_more(self, ocb, stream, tmp_path, capsys, monkeypatch):
        page = tmp_path / "p.html"
        self.stopped(ocb, stream, tmp_path, capsys, monkeypatch, "--report", page)
        page.unlink()
        _, _, err = ran(capsys, "adapt", ocb, stream, "--out", tmp_path / "o.ocb", "--resume")
        assert "is forgotten" in err
        assert not page.exists()


def interrupting(calls):
    """`Adaptation.pass_bad_rows` that is interrupted by Ctrl-C, after so many batches."""
    passing, left = Adaptation.pass_bad_rows, [calls]

    def interrupted(self):
        passing(self)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    return interrupted


@pytest.mark.usefixtures("often")
class TestEndless:
    def test_the_page_is_written_with_each_checkpoint(self, ocb, stream, tmp_path, capsys, monkeypatch):
        page, seen = tmp_path / "p.html", []
        write_page = adapt_page.RunPage.write

        def noting(self, run, *, ended):
            write_page(self, run, ended=ended)
            seen.append((ended, document(page)["status"]["labels"]))

        monkeypatch.setattr(adapt_page.RunPage, "write", noting)
        feed(monkeypatch, stream.read_bytes())
        words = ["adapt", ocb, "-", "--out", tmp_path / "o.ocb", "--report", page, "--checkpoint-rows", "60"]
        assert ran(capsys, *words)[0] == 0
        assert seen == [(False, 60), (False, 120), (False, 180), (True, 200)]
        assert document(page)["subtitle"].startswith("Adapted to standard input: 200 rows were taken, 200")
        assert left_in(tmp_path) == []

    def test_a_page_that_cannot_be_written_stops_nothing(self, ocb, stream, tmp_path, capsys, monkeypatch):
        write_page = adapt_page.RunPage.write

        def full(self, run, *, ended):
            if not ended:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            write_page(self, run, ended=ended)

        monkeypatch.setattr(adapt_page.RunPage, "write", full)
        feed(monkeypatch, stream.read_bytes())
        page = tmp_path / "p.html"
        words = ["adapt", ocb, "-", "--out", tmp_path / "o.ocb", "--report", page, "--checkpoint-rows", "60"]
        code, _, err = ran(capsys, *words)
        assert code == 0
        assert err.count("could not be written") == 1
        assert document(page)["status"]["labels"] == 200


def test_a_page_that_cannot_be_written_at_the_end(ocb, stream, tmp_path, capsys, monkeypatch):
    def full(self, run, *, ended):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "p.html")

    words = ["adapt", ocb, stream, "--out", tmp_path / "o.ocb", "--report", tmp_path / "p.html"]
    with monkeypatch.context() as patch:
        patch.setattr(adapt_page.RunPage, "write", full)
        assert "No space left" in refused(capsys, *words)
    assert ran(capsys, *words, "--resume")[0] == 0
    assert document(tmp_path / "p.html")["status"]["labels"] == 200
    assert left_in(tmp_path) == []


def test_bad_rows_and_hostile_names(ocb, tmp_path, capsys):
    stream = write(tmp_path / "<img src=x>.csv", table(60))
    stream.write_text(stream.read_text() + "1,two,3,4,0\n")
    page = tmp_path / "p.html"
    words = ["adapt", ocb, stream, "--out", tmp_path / "<b>.ocb", "--report", page, "--on-bad-row", "skip"]
    assert ran(capsys, *words)[0] == 0
    assert "1 bad row was left out." in document(page)["subtitle"]
    assert "<img" not in page.read_text()
    assert "<b>" not in page.read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX devices")
def test_refusals(ocb, stream, tmp_path, capsys):
    def said(report, *more):
        return refused(capsys, "adapt", ocb, stream, "--out", tmp_path / "o.ocb", "--report", report, *more)

    assert "--report must not be the stream" in said(stream)
    assert "--report must not be the model" in said(ocb)
    assert "--report must not be --out" in said(tmp_path / "o.ocb")
    assert "--report must not be the checkpoint" in said(tmp_path / "o.ocb.checkpoint")
    assert "--report must not be --predictions" in said(tmp_path / "p", "--predictions", tmp_path / "p")
    assert "--report must be a file" in said(tmp_path)
    assert "there is no" in said(tmp_path / "none" / "p.html")
    assert "--report must be an ordinary file" in said("/dev/null")
    assert not (tmp_path / "o.ocb").exists()
