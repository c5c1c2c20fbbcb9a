"""Comparisons on named streams: tasks, processes, and what is cached."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys

import pytest

import ocboost
from ocboost._core import interrupts
from ocboost.datasets import drift
from ocboost.datasets.loaders import Loaded
from ocboost.errors import InputError
from ocboost.evaluation import jobs as jobs_module
from ocboost.evaluation.comparison import compare_methods
from ocboost.evaluation.jobs import FinishedBoards, Task, boards_of, run_tasks
from ocboost.streams.rows import Rows
from tests.support.comparisons import rows_of


@pytest.fixture
def named(monkeypatch):
    """Two small streams, one of them drawn."""

    def stream(name, drawn):
        def make(folder, rows, seed):
            return Loaded(Rows(*rows_of(rows or 300, seed if drawn else 0)), f"made up as {name}")

        origin = "generated" if drawn else "bundled"
        return drift.NamedStream(name, name.title(), "rows", origin, drawn, make)

    streams = {"one": stream("one", False), "two": stream("two", True)}
    monkeypatch.setattr(drift, "STREAMS", streams)
    monkeypatch.setattr(drift.loaders, "has_bundled", lambda title: True)
    return streams


def tasks_of(name, seeds=2, names=("static", "oza"), **changes):
    return [Task(name, seed, names, hypotheses=5, start=60, **changes) for seed in range(seeds)]


class TestJobs:
    def test_one_after_the_other(self, named):
        progress = []
        boards, failed = boards_of(
            ["one", "two"],
            tasks_of,
            jobs=1,
            progress=lambda *news: progress.append(news),
            finished=FinishedBoards(None),
        )
        assert failed == {}
        assert list(boards) == ["one", "two"]
        assert boards["two"].seeds == [0, 1]
        assert "Each seed draws another stream." in boards["two"].notes
        assert boards["one"].notes == ["One: rows. Source: made up as one."]
        assert progress[-1][1:] == (4, 4)
        done = [each for _, each, _ in progress]
        assert done == sorted(done)
        assert any(each % 1 for each in done)  # what is half done moves the bar too
        said = [what for what, _, _ in progress]
        assert said[:2] == ["one, seed 0, making the stream", "one, seed 0, reading the first rows"]
        assert "one, seed 0, warming up: Oza-Russell" in said
        assert "two, seed 1, beginning: static, seed 1" in said

    def test_processes_find_the_same(self):
        pytest.importorskip("river")
        tasks = [t for name in ("sea", "phishing") for t in tasks_of(name, rows=300, names=("static", "oza"))]
        alone = {(t.stream, t.seed): outcome for t, outcome in run_tasks(tasks, jobs=1)}
        progress = []
        side = {
            (t.stream, t.seed): o for t, o in run_tasks(tasks, jobs=2, progress=lambda *n: progress.append(n))
        }
        assert set(alone) == set(side)
        for key, outcome in alone.items():
            for a, b in zip(outcome.comparison.runs, side[key].comparison.runs, strict=True):
                assert a.standing.metrics == b.standing.metrics
        assert progress[-1][1:] == (4, 4)

    def test_an_error_in_a_process_is_the_error_here(self):
        pytest.importorskip("river")
        tasks = [Task("sea", seed, ("static",), rows=5) for seed in range(2)]
        for jobs in (1, 2):
            found = dict(run_tasks(tasks, jobs=jobs))
            assert set(found) == set(tasks)
            assert all(isinstance(error, InputError) for error in found.values())
            assert all("at least 10 rows" in str(error) for error in found.values())

    def test_a_stream_that_cannot_be_compared_does_not_stop_the_others(self, named, monkeypatch):
        def make(folder, rows, seed):
            X, y = rows_of(300)
            return Loaded(Rows(X, y if seed == 0 else 0 * y), "one class with seed 1")

        bad = drift.NamedStream("bad", "Bad", "rows", "generated", True, make)
        monkeypatch.setattr(drift, "STREAMS", {"bad": bad, **named})
        run = {"jobs": 1}
        boards, failed = boards_of(["bad", "one"], tasks_of, **run)
        assert list(boards) == ["one"]
        assert list(failed) == ["bad"]
        assert failed["bad"].startswith("the first 60 rows must hold at least two classes; they hold 1. ")

    def test_processes_are_deaf_to_ctrl_c(self):
        asked = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with interrupts.ignoring_ctrl_c():
                child = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
            assert child.stdout == "True\n"
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        finally:
            signal.signal(signal.SIGINT, before)

    def test_ctrl_c_is_not_swallowed(self, named, monkeypatch):
        def pressed(*words, **more):
            found = compare_methods(*words, **more)
            object.__setattr__(found.result, "interrupted", True)
            return found

        monkeypatch.setattr(jobs_module, "compare_methods", pressed)
        with pytest.raises(KeyboardInterrupt):
            list(run_tasks(tasks_of("one"), jobs=1))


class TestFinishedBoards:
    def test_what_is_done_is_not_done_again(self, named, tmp_path, monkeypatch):
        finished = FinishedBoards(tmp_path / "kept")
        run = {"jobs": 1}
        first = boards_of(["one"], tasks_of, finished=finished, **run)
        assert len(list((tmp_path / "kept").iterdir())) == 1
        monkeypatch.setattr(jobs_module, "run_task", lambda *words: pytest.fail("run again"))
        for jobs in (1, 2):  # with nothing left to do
            assert boards_of(["one"], tasks_of, finished=finished, **{**run, "jobs": jobs}) == first
        monkeypatch.undo()

    def test_other_settings_are_other_results(self, named, tmp_path):
        finished = FinishedBoards(tmp_path)
        board = boards_of(["one"], tasks_of, jobs=1, finished=finished)[0]["one"]
        assert finished.get(tasks_of("one")) == board
        assert finished.get(tasks_of("one", seeds=1)) is None
        assert finished.get(tasks_of("one", rows=200)) is None
        assert finished.get(tasks_of("one", delay=20)) is None
        late = boards_of(["one"], lambda name: tasks_of(name, delay=20), jobs=1, finished=finished)[0]["one"]
        assert late.settings["delay"] == 20
        assert finished.get(tasks_of("one", delay=20)) == late
        assert finished.get(tasks_of("one")) == board
        assert finished.get([Task("one", seed, ("static", "oza"), hypotheses=5) for seed in range(2)]) is None
        assert finished.get(tasks_of("two")) is None

    def test_what_a_board_is_known_by_stays(self, named, tmp_path, monkeypatch):
        monkeypatch.setattr(ocboost, "__version__", "1.2.3")
        settings = {"rows": None, "start": 2000, "hypotheses": 100, "step": 1, "window": None}
        whole = {"stream": "one", "seed": 0, "methods": ["static"], "data": None, **settings}
        digest = hashlib.sha256(json.dumps(["1.2.3", [], [whole]]).encode()).hexdigest()
        board = boards_of(["one"], tasks_of, jobs=1)[0]["one"]
        (tmp_path / f"one.{digest[:16]}.json").write_text(json.dumps(board.as_dict()))
        assert FinishedBoards(tmp_path).get([Task("one", 0, ("static",))]) == board
        assert (
            FinishedBoards(tmp_path).get([Task("one", 0, ("static",), start=2000)]) is None
        )  # may be a longer start

    def test_damaged_ones_count_as_missing_and_clear_removes_all(self, named, tmp_path):
        folder = tmp_path / "kept"
        finished = FinishedBoards(folder)
        boards_of(["one"], tasks_of, jobs=1, finished=finished)
        (path,) = folder.iterdir()
        path.write_text("{")
        assert finished.get(tasks_of("one")) is None
        path.write_text("[]")
        assert finished.get(tasks_of("one")) is None
        finished.clear()
        assert not folder.exists()

    def test_nowhere_to_keep(self, named):
        finished = FinishedBoards(None)
        assert finished.get(tasks_of("one")) is None
        finished.clear()
