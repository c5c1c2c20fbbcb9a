"""``ocboost compare``: files and named streams, what is written, and what is refused."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time

import numpy as np
import pytest

from ocboost._extras import install_line
from ocboost.datasets import drift
from ocboost.datasets.loaders import Loaded
from ocboost.estimators.classifier import OCBClassifier
from ocboost.evaluation import jobs as jobs_module
from ocboost.evaluation.contenders import Majority
from ocboost.evaluation.methods import METHODS
from ocboost.streams.rows import Rows
from tests.support.cli_runs import feed, ran, refused, started, table, write

FILES = ["curves.png", "curves.svg", "report.html", "report.md", "results.json"]
FEW = "static,ocb-window-20,oza,no-change"
SIZES = ("--start", "100", "--hypotheses", "8")


def compare(stream, out, *words, methods=FEW):
    return ["compare", stream, "--out", out, "--methods", methods, *SIZES, *words]


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    return write(tmp_path_factory.mktemp("data") / "stream.csv", table(600))


@pytest.fixture
def named(monkeypatch):
    """Small streams in place of the real ones: two drawn, and one whose file is missing."""

    def make(folder, rows, seed):
        data = np.array(table(rows or 300, seed))
        return Loaded(Rows(data[:, :4], data[:, 4].astype(int)), "made up")

    streams = {
        "file": drift.NamedStream("file", "A file", "rows", "file", True, make, None, "streams/a.csv.gz"),
        "one": drift.NamedStream("one", "One", "rows", "generated", True, make),
        "two": drift.NamedStream("two", "Two", "rows", "generated", False, make),
    }
    monkeypatch.setattr(drift, "STREAMS", streams)
    monkeypatch.delenv("OCBOOST_DATA", raising=False)
    return streams


def record(out):
    return json.loads((out / "results.json").read_text())


class TestFile:
    def test_table_page_curves_and_results(self, stream, tmp_path, capsys):
        out = tmp_path / "report"
        code, printed, err = ran(capsys, *compare(stream, out, "--label", "y", "--seeds", "2"))
        assert (code, err) == (0, "")
        assert sorted(p.name for p in out.iterdir()) == FILES
        found = record(out)
        assert [place["name"] for place in found["places"]] == FEW.split(",")
        assert found["seeds"] == [0, 1]
        assert (found["start"], found["n_scored"]) == (100, 500)
        rows = np.array(table(600))
        X, y = rows[:, :4], rows[:, 4].astype(int)
        expected = OCBClassifier(n_hypotheses=8).fit(X[:100], y[:100]).score(X[100:], y[100:])
        static = found["places"][0]
        assert static["values"]["accuracy"][0] == pytest.approx(expected, abs=1e-12)
        assert static["accuracy"]["mean"] == pytest.approx(np.mean(static["values"]["accuracy"]))
        assert f"{static['accuracy']['mean']:.4f} ± {static['accuracy']['sd']:.4f}" in printed
        assert "★" in printed
        page = (out / "report.html").read_text()
        assert "stream.csv" in page
        assert not re.search(r"""(src|href)=["'](?!#)""", page), "the page must need nothing but itself"

    def test_standard_input_and_rows(self, stream, tmp_path, capsys, monkeypatch):
        feed(monkeypatch, stream.read_bytes())
        words = compare("-", tmp_path / "report", "--label", "y", "--rows", "400", "--seeds", "1")
        assert ran(capsys, *words)[0] == 0
        assert record(tmp_path / "report")["n_scored"] == 300
        assert record(tmp_path / "report")["about"]["stream"] == "standard input"

    def test_quick(self, tmp_path, capsys):
        path = write(tmp_path / "long.csv", table(3200))
        words = compare(path, tmp_path / "report", "--label", "y", "--quick", methods="majority")
        assert ran(capsys, *words)[0] == 0
        assert record(tmp_path / "report")["n_scored"] == 2900
        assert record(tmp_path / "report")["seeds"] == [0, 1]

    def test_hostile_names_are_only_text(self, tmp_path, capsys):
        bad = "<script>alert(1)</script>"
        path = write(tmp_path / "bad.csv", table(300), ["a", "b", "c", "d", bad])
        words = compare(path, tmp_path / "report", "--label", bad, methods="majority")
        assert ran(capsys, *words)[0] == 0
        assert "<script" not in (tmp_path / "report" / "report.html").read_text()

    def test_how_it_was_made_is_said(self, tmp_path, capsys):
        path = write(tmp_path / "my stream.csv", table(300))
        words = compare(path, tmp_path / "report", "--label", "y", "--drop", "a", "b", "--step", "7")
        assert ran(capsys, *words, "--seeds", "1")[0] == 0
        command = (
            f"ocboost compare 'my stream.csv' --label y --drop a b --methods {FEW} --seeds 1 --start 100 "
            "--hypotheses 8 --step 7 --out report"
        )
        assert record(tmp_path / "report")["command"] == command
        assert command in (tmp_path / "report" / "report.md").read_text()

    def test_rows_without_a_label_and_columns_left_out_are_said(self, tmp_path, capsys):
        rows = [[*row[:3], f"text {k}", "" if k % 10 == 3 else row[4]] for k, row in enumerate(table(300))]
        path = write(tmp_path / "gaps.csv", rows)
        code, _, err = ran(capsys, *compare(path, tmp_path / "report", "--label", "y", methods="oza"))
        assert code == 0
        text = (tmp_path / "report" / "report.md").read_text()
        for said in (err, text):
            assert "30 rows have no label" in said
            assert "is left out: it holds 300 different texts" in said
        assert err.count("is left out") == 1

    def test_options_for_named_streams_only(self, stream, tmp_path, capsys):
        words = compare(stream, tmp_path / "report", "--label", "y", "--jobs", "2", methods="majority")
        code, _, err = ran(capsys, *words)
        assert (code, err.count("\n")) == (0, 1)
        assert "--jobs is for named streams" in err

    def test_a_file_with_the_name_of_a_stream(self, named, stream, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "one").write_bytes(stream.read_bytes())
        more = ("--label", "y", "--format", "csv", "--seeds", "1")
        for name in ("./one", "one", tmp_path / "one"):
            assert ran(capsys, *compare(name, "report", *more, methods="majority"))[0] == 0
            assert record(tmp_path / "report")["n_scored"] == 500  # the file has 600 rows, the stream 300
        code, _, err = ran(capsys, *compare("one", "report", "--seeds", "1", methods="majority"))
        assert code == 0
        assert record(tmp_path / "report")["n_scored"] == 200
        assert "one is taken for the name of a stream" in err
        assert "--label must name" in refused(capsys, *compare("./one", "report"), code=2)

    @pytest.mark.parametrize("calls", [3, 30])
    def test_interrupted(self, calls, tmp_path, capsys, monkeypatch):
        learn, left = Majority.learn, [calls]

        def pressed(self, view):
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
            learn(self, view)

        monkeypatch.setattr(Majority, "learn", pressed)
        path, out = write(tmp_path / "long.csv", table(2500)), tmp_path / "report"
        words = compare(path, out, "--label", "y", "--step", "50", "--seeds", "1", methods="majority")
        code, _, err = ran(capsys, *words)
        assert code == 130
        if calls == 3:  # before anything was done
            assert err == f"ocboost: interrupted; nothing was written to '{out}'.\n"
            assert not out.exists()
        else:
            assert sorted(p.name for p in out.iterdir()) == FILES
            assert record(out)["interrupted"]
            assert record(out)["n_scored"] == 1000
            assert "Interrupted: this is about the rows before that." in (out / "report.md").read_text()


class TestNamed:
    def test_one_stream(self, named, tmp_path, capsys):
        out = tmp_path / "report"
        code, printed, err = ran(capsys, *compare("one", out, "--seeds", "2", "--jobs", "1", "--rows", "400"))
        assert code == 0
        assert "Each seed draws another stream." in err
        assert sorted(p.name for p in out.iterdir()) == FILES
        found = record(out)
        assert found["command"].startswith(f"ocboost compare one --methods {FEW} --seeds 2 --start 100")
        assert found["n_scored"] == 300
        assert "static" in printed
        assert "Highest accuracy: " in printed
        *_, said, fit, after = printed.splitlines()
        assert said.startswith("To deploy ")
        assert fit.startswith("  ocboost fit stream.csv --label LABEL --rows 100 --hypotheses 8 --method ")
        assert after.endswith((" model.ocb stream.csv", " stream.csv --skip 100 --out model.ocb"))

    def test_late_labels(self, named, tmp_path, capsys):
        out, words = tmp_path / "report", ("--seeds", "1", "--jobs", "1", "--delay", "30")
        code, printed, _ = ran(capsys, *compare("one", out, *words, methods="no-change,majority"))
        assert code == 0
        assert "labels 30 rows late" in " ".join(printed.split())
        found = record(out)
        assert found["settings"]["delay"] == 30
        assert "--delay 30" in found["command"]
        labels = np.array(table(300))[:, 4]
        late = found["places"][0]["values"]["accuracy"][0]
        assert late == pytest.approx(
            np.mean([labels[k] == (labels[k - 31] if k > 130 else 0) for k in range(100, 300)]), abs=0.02
        )

    def test_all(self, named, tmp_path, capsys):
        out = tmp_path / "report"
        code, printed, err = ran(capsys, *compare("all", out, "--seeds", "2", "--jobs", "1"))
        assert code == 0
        assert err == (
            "ocboost: file is left out: it needs streams/a.csv.gz of a data folder; say where with --data or "
            "OCBOOST_DATA.\n"
        )
        pictures = ["behind.svg", "ranks.svg", "stream-one.svg", "stream-two.svg"]
        reports = ["report.html", "report.md", "results.json"]
        assert sorted(p.name for p in out.iterdir()) == sorted([*pictures, *reports])
        found = record(out)
        assert list(found["streams"]) == ["one", "two"]
        assert set(found["summary"]["mean_ranks"]) == set(FEW.split(","))
        assert list(found["left_out"]) == ["file"]
        assert "file was left out" in (out / "report.md").read_text()
        assert "Best mean rank" in printed
        *_, said, fit, _ = printed.splitlines()
        assert said.endswith("on your stream:")
        assert fit.startswith("  ocboost fit first.csv --label LABEL --hypotheses 8 ")

    def test_a_stream_of_one_class_is_left_out(self, named, tmp_path, capsys):
        def make(folder, rows, seed):
            data = np.array(table(300, seed))
            return Loaded(Rows(data[:, :4], np.where(np.arange(300) < 250, 0, 1)), "late")

        named["bad"] = drift.NamedStream("bad", "Bad", "rows", "generated", True, make)
        out = tmp_path / "report"
        code, printed, err = ran(capsys, *compare("all", out, "--seeds", "2", "--jobs", "1"))
        assert code == 0
        said = "the first 100 rows must hold at least two classes; they hold 1. Take more with --start"
        assert f"ocboost: bad is left out: {said}" in err
        assert err.count("bad is left out") == 1
        assert said in record(out)["left_out"]["bad"]
        assert f"bad was left out: {said}" in (out / "report.md").read_text()
        assert not (out / "stream-bad.svg").exists()
        assert " 4 figures" in printed
        assert f"the stream 'bad' cannot be compared: {said}" in refused(
            capsys, *compare("bad", out, "--jobs", "1")
        )
        for name in ("one", "two"):
            del named[name]
        code, printed, err = ran(capsys, *compare("all", tmp_path / "none", "--jobs", "1"))
        assert (code, printed) == (1, "")
        assert "at least one stream must be fit to compare on" in err
        assert not (tmp_path / "none").exists()

    def test_what_was_done_is_kept_when_interrupted(self, named, tmp_path, capsys, monkeypatch):
        out = tmp_path / "report"
        run, done = jobs_module.run_task, []

        def pressed(task, progress=None):
            if task.stream == "two":
                raise KeyboardInterrupt
            done.append(task)
            return run(task, progress)

        words = compare("all", out, "--seeds", "2", "--jobs", "1", methods="static,oza")
        monkeypatch.setattr(jobs_module, "run_task", pressed)
        code, printed, err = ran(capsys, *words)
        assert (code, printed) == (130, "")
        assert "streams that were done are kept" in err
        assert [p.name for p in out.iterdir()] == [".finished"]
        assert len(done) == 2
        monkeypatch.setattr(jobs_module, "run_task", lambda *task: done.append(task[0]) or run(*task))
        assert ran(capsys, *words)[0] == 0
        assert [task.stream for task in done[2:]] == ["two", "two"]
        assert not (out / ".finished").exists()

    def test_nothing_is_kept_if_not_wanted(self, named, tmp_path, capsys, monkeypatch):
        out = tmp_path / "report"

        def pressed(task, progress=None):
            raise KeyboardInterrupt

        monkeypatch.setattr(jobs_module, "run_task", pressed)
        code, _, err = ran(capsys, *compare("all", out, "--jobs", "1", "--no-cache"))
        assert code == 130
        assert "are kept" not in err
        assert not out.exists()
        (out / ".finished").mkdir(parents=True)
        (out / ".finished" / "one.0123.json").write_text("{}")
        assert ran(capsys, *compare("all", out, "--jobs", "1", "--no-cache"))[0] == 130
        assert not any(out.iterdir())  # what was there before was forgotten

    def test_slow_methods_shorten_all_streams(self, named, tmp_path, capsys, monkeypatch):
        seen = []

        def stop(task, progress=None):
            seen.append(task.rows)
            raise KeyboardInterrupt

        monkeypatch.setattr(jobs_module, "run_task", stop)
        said = ""
        for methods, more in (("static", ()), ("static,forest", ()), ("forest", ("--rows", "777"))):
            words = compare("all", tmp_path / "report", "--jobs", "1", *more, methods=methods)
            code, _, err = ran(capsys, *words)
            assert code == 130
            said += err
        assert seen == [None, 4000, 777]
        assert "are kept" not in said  # nothing was done

    def test_list(self, capsys):
        code, printed, _ = ran(capsys, "compare", "--list")
        assert code == 0
        for name in (*METHODS, *drift.STREAMS):
            assert re.search(rf"^  {re.escape(name)} ", printed, re.MULTILINE), name
        assert METHODS["eg"].about in printed
        assert "c: comparison only, it cannot be deployed" in printed
        for method in METHODS.values():
            (line,) = [line for line in printed.splitlines() if line.startswith(f"  {method.name} ")]
            assert ("c" in line[23:26]) is not method.deployable

    def test_a_number_of_ones_own(self, stream, tmp_path, capsys):
        words = compare(stream, tmp_path / "report", "--label", "y", methods="ocb-window-50,logistic-0.1")
        assert ran(capsys, *words)[0] == 0
        titles = [place["title"] for place in record(tmp_path / "report")["places"]]
        assert titles == ["OCB, window 50", "logistic regression, rate 0.1"]
        for bad in ("ocb-window-0", "ocb-window-1.5", "ocb-forgetting-2", "eg-3"):
            words = compare(stream, tmp_path / "report", "--label", "y", methods=bad)
            assert f"got '{bad}'" in refused(capsys, *words)


def gone(group):
    """Whether all processes of a group end within ten seconds."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.skipif(os.name == "nt", reason="signals are those of Unix")
@pytest.mark.parametrize("delay", [0.6, 4.0])  # while the processes start, and while they work
def test_ctrl_c_with_processes(delay, tmp_path):
    pytest.importorskip("river")
    out = tmp_path / "report"
    slow = "forest,oza-trees,oza-bayes,pa,perceptron"  # minutes, if nobody stops them
    running = started(
        "compare", "sea", "--out", out, "--jobs", "2", "--methods", slow,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job would ignore it
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not out.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(delay)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to every process
    printed, err = running.communicate(timeout=30)
    assert running.returncode == 130, err
    assert (printed, err) == ("", f"ocboost: interrupted; nothing was written to '{out}'.\n")
    assert not out.exists()
    assert gone(running.pid), "a process of its group is left"


class TestRefusals:
    def test_no_label(self, stream, tmp_path, capsys):
        assert "--label must name" in refused(capsys, *compare(stream, tmp_path / "report"), code=2)
        assert not (tmp_path / "report").exists()

    def test_label_not_there(self, stream, tmp_path, capsys):
        assert "'z'" in refused(capsys, *compare(stream, tmp_path / "report", "--label", "z"))
        assert not (tmp_path / "report").exists()

    def test_unknown_method(self, stream, tmp_path, capsys):
        words = compare(stream, tmp_path / "report", "--label", "y", methods="ocb,boost")
        err = refused(capsys, *words)
        assert "got 'boost'. Did you mean filterboost? There are adaptive, static, ocb" in err

    def test_unknown_stream(self, tmp_path, capsys):
        err = refused(capsys, *compare("electric", tmp_path / "report"))
        assert err.startswith(
            "ocboost: there is no file 'electric', nor a stream of that name. Did you mean elec2?"
        )

    def test_no_stream(self, capsys):
        assert "A stream must be given" in refused(capsys, "compare", code=2)

    def test_no_such_option(self, tmp_path, capsys):
        assert ran(capsys, *compare("--lable", tmp_path / "report", "y"))[0] == 2

    def test_a_label_for_a_named_stream(self, tmp_path, capsys):
        words = compare("sea", tmp_path / "report", "--label", "y")
        assert "sea is the name of a stream; a file of that name is ./sea" in refused(capsys, *words, code=2)
        words = compare("all", tmp_path / "report", "--label", "y")
        assert "all means all named streams" in refused(capsys, *words, code=2)

    def test_a_stream_whose_file_is_missing(self, tmp_path, capsys, monkeypatch):
        monkeypatch.delenv("OCBOOST_DATA", raising=False)
        assert "--data" in refused(capsys, *compare("elec2", tmp_path / "report"))
        words = compare("elec2", tmp_path / "report", "--data", tmp_path)
        assert "there is no file" in refused(capsys, *words)
        assert not (tmp_path / "report").exists()

    def test_one_class_at_first(self, tmp_path, capsys):
        rows = table(600)
        for row in rows[:150]:
            row[4] = 1
        path = write(tmp_path / "late.csv", rows)
        words = [
            "compare",
            path,
            "--out",
            tmp_path / "report",
            "--label",
            "y",
            "--methods",
            "static,majority",
        ]
        said = refused(capsys, *words)
        found = re.search(r"two classes; they hold 1\. Take more with --start: .* in row (15\d)\.", said)
        assert ran(capsys, *words, "--start", found[1])[0] == 0  # what it says helps
        for row in rows[:560]:
            row[4] = 1
        said = refused(capsys, "compare", write(path, rows), *words[2:])
        assert "nine tenths of the stream, 540 rows, are the most" in said
        assert "--start" not in said

    @pytest.mark.parametrize(
        ("label", "said"),
        [
            (lambda place, row: row[0] + 0.00005, "it holds numbers with fractions"),
            (lambda place, row: place, "it holds 600 values in 600 rows: 0, 1, 2"),
            (lambda place, row: f"k{place}", "it holds 600 values in 600 rows: 'k0', 'k1', 'k10'"),
        ],
    )
    def test_labels_that_are_no_classes(self, tmp_path, capsys, label, said):
        rows = [[*row[:4], label(place, row)] for place, row in enumerate(table(600))]
        path = write(tmp_path / "numbers.csv", rows)
        words = compare(path, tmp_path / "report", "--label", "y")
        assert said in refused(capsys, *words)
        assert not (tmp_path / "report").exists()

    def test_an_unreadable_file(self, tmp_path, capsys):
        path = tmp_path / "bad.csv"
        path.write_bytes(b"\x00\x01\x02\xff\xfe")
        refused(capsys, *compare(path, tmp_path / "report", "--label", "y"))
        assert not (tmp_path / "report").exists()

    def test_too_short(self, tmp_path, capsys):
        path = write(tmp_path / "short.csv", table(8))
        assert "at least 10 rows" in refused(capsys, *compare(path, tmp_path / "report", "--label", "y"))

    @pytest.mark.parametrize(
        "words",
        [
            ("--seeds", "0"),
            ("--start", "1"),
            ("--step", "0"),
            ("--hypotheses", "0"),
            ("--rows", "0"),
            ("--curve", "0"),
            ("--jobs", "0"),
            ("--seeds", "two"),
        ],
    )
    def test_usage(self, stream, tmp_path, capsys, words):
        assert ran(capsys, "compare", stream, "--label", "y", "--out", tmp_path / "report", *words)[0] == 2

    def test_a_package_that_is_missing(self, stream, tmp_path, capsys, monkeypatch):
        from ocboost.evaluation import methods

        monkeypatch.setattr(methods, "find_spec", lambda name: None)
        words = compare(stream, tmp_path / "report", "--label", "y", methods="forest")
        assert install_line("river") in refused(capsys, *words)

    def test_out_is_a_file(self, stream, tmp_path, capsys):
        (tmp_path / "file").write_text("")
        words = compare(stream, tmp_path / "file", "--label", "y")
        assert "out must be a folder" in refused(capsys, *words)
