"""The comparison with peers, on a toy stream: what is counted, what the file keeps, what the tables say."""

from __future__ import annotations

import dataclasses
import importlib.util
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rich")
from rich.console import Console
from sklearn.linear_model import SGDClassifier

from ocboost.datasets.drift import STREAMS, NamedStream
from ocboost.datasets.loaders import Loaded
from ocboost.errors import InputError
from ocboost.evaluation.methods import METHODS
from ocboost.streams.rows import Rows

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def tool():
    """The script, as it is found when it runs: with its own folder on the path."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        spec = importlib.util.spec_from_file_location("adaptive", BENCHMARKS / "adaptive.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(BENCHMARKS))
        for name in [*sys.modules]:
            if name in ("adaptive", "adaptive_report", "harness") or name.split(".")[0] == "peers":
                sys.modules.pop(name)


def toy_rows(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) * (1.0, 10.0, 0.1) + (0.0, 5.0, 1.0)
    y = np.where(X[:, 0] + X[:, 1] / 10 + rng.normal(size=n) > 0.5, "up", "down")
    X[::7, 1] = np.nan
    return X, y


@pytest.fixture
def toy(monkeypatch, tool):
    """A stream called toy of so many rows; the first fifth is the start."""

    def make(n):
        X, y = toy_rows(n)
        drawn = NamedStream("toy", "Toy", "", "generated", False, lambda *_: Loaded(Rows(X, y), "here"))
        monkeypatch.setitem(STREAMS, "toy", drawn)
        tool.part_of.cache_clear()

    yield make
    tool.part_of.cache_clear()


def result(points, start=100, seed=0, stopped=False):
    rows, right, loss, spent = points[-1]
    n = rows - start
    scores = {"accuracy": right / n, "log_loss": loss / n, "cpu_us": 1e6 * spent / n}
    return {"start": start, "rows": rows, "seed": seed, "stopped": stopped, **scores, "points": points}


def printed(tool, record):
    text = io.StringIO()
    tool.show(Console(file=text, width=160), record)
    return text.getvalue()


def test_sgd_predicts_each_row_before_it_learns_it(tool, toy, tmp_path, capsys):
    toy(150)
    out = tmp_path / "new" / "adaptive.json"
    assert tool.main(["--streams", "toy", "--only", "sgd", "--rows", "100", "--out", str(out)]) == 0
    found = json.loads(out.read_text())["streams"]["toy"]["sgd"]

    X, y = toy_rows(150)
    codes = (y == "up").astype(int)
    model = SGDClassifier(loss="log_loss", random_state=0)
    right, loss = 0, 0.0
    for i in range(100):
        x = X[i : i + 1]
        if i >= 30:  # a fifth of the whole stream
            seen = X[:i]
            share = model.predict_proba(np.nan_to_num((x - np.nanmean(seen, 0)) / np.nanstd(seen, 0)))[0]
            right += int(share.argmax() == codes[i])
            loss -= np.log(max(share[codes[i]], 1e-15))
        seen = X[: i + 1]
        mean = [np.mean(column[column == column]) if (column == column).any() else 0.0 for column in seen.T]
        deviation = [
            np.std(column[column == column]) if (column == column).any() else 0.0 for column in seen.T
        ]
        z = np.nan_to_num((x - mean) / [each or 1.0 for each in deviation])
        model.partial_fit(z, codes[i : i + 1], classes=[0, 1])
    assert (found["start"], found["rows"], found["columns"], found["classes"]) == (30, 100, 3, 2)
    assert found["accuracy"] == right / 70
    assert found["log_loss"] == pytest.approx(loss / 70, rel=1e-6)
    assert found["cpu_us"] > 0.0
    text = capsys.readouterr().out
    assert f"toy, sgd: {100 * right / 70:.2f} %" in text
    assert "no results of AdaptiveClassifier yet" in text


def test_results_are_added_to_those_of_other_methods(tool, toy, tmp_path, monkeypatch):
    toy(1_500)
    monkeypatch.setitem(METHODS, "adaptive", dataclasses.replace(METHODS["majority"], name="adaptive"))
    out = tmp_path / "adaptive.json"
    peer = result([[800, 300, 200.0, 1.0]], start=300)
    tool.add(out, "toy", "arf", peer, {})
    tool.add(out, "sea", "arf", peer, {})
    assert tool.main(["--streams", "toy", "--only", "adaptive", "--out", str(out)]) == 0
    record = json.loads(out.read_text())
    assert list(record["streams"]) == ["sea", "toy"]
    assert list(record["streams"]["toy"]) == ["adaptive", "arf"]
    assert record["streams"]["toy"]["arf"] == record["streams"]["sea"]["arf"] == peer
    assert [point[0] for point in record["streams"]["toy"]["adaptive"]["points"]] == [800, 1_300, 1_500]
    assert [path.name for path in tmp_path.iterdir()] == ["adaptive.json"]


def test_what_the_file_has_is_not_measured_again_where_only_the_missing_is_asked_for(tool, toy, tmp_path):
    toy(150)
    out = tmp_path / "adaptive.json"
    tool.add(out, "toy", "sgd", result([[150, 20, 9.0, 1.0]]), {})
    before = out.read_bytes()
    assert tool.main(["--streams", "toy", "--only", "sgd", "--missing", "--out", str(out)]) == 0
    assert out.read_bytes() == before


def test_a_method_whose_time_is_up_stops_at_a_point(tool, toy, monkeypatch):
    toy(1_500)
    monkeypatch.setitem(METHODS, "adaptive", dataclasses.replace(METHODS["majority"], name="adaptive"))
    found = tool.measured("toy", "adaptive", None, 8_000, 0, 0.0)
    assert (found["rows"], found["stopped"], len(found["points"])) == (800, True, 1)
    whole = tool.measured("toy", "adaptive", None, 8_000, 0, 6.0)
    assert (whole["rows"], whole["stopped"]) == (1_500, False)
    assert whole["points"][0][:3] == found["points"][0][:3]


def test_two_methods_are_compared_on_the_rows_both_have(tool):
    ours = result([[200, 90, 10.0, 0.1], [300, 130, 30.0, 0.2]])
    peer = result([[200, 95, 5.0, 0.4]], stopped=True)  # ahead on these rows, though not of all of ours
    from adaptive_report import side_by_side

    both = side_by_side(ours, peer)
    assert [score.rows for score in both] == [200, 200]
    assert [score.accuracy for score in both] == [0.9, 0.95]
    assert both[0].cpu_us / both[1].cpu_us == pytest.approx(0.25)
    assert side_by_side(ours, result([[200, 95, 5.0, 0.4]], seed=1)) is None
    assert side_by_side(ours, result([[250, 95, 5.0, 0.4]])) is None


def test_the_tables_say_who_is_ahead_and_at_what_cost(tool):
    ours = result([[200, 90, 10.0, 0.1], [300, 180, 30.0, 0.2]])
    other = result([[200, 95, 5.0, 0.4]], stopped=True)
    streams = {
        "elec2": {"adaptive": ours, "srp": result([[300, 160, 40.0, 2.0]])},
        "sea": {"adaptive": ours, "srp": other},
        "spam": {"adaptive": ours, "srp": {"start": 100, "left_out": "too slow on 39,916 columns"}},
    }
    text = printed(tool, {"streams": streams})
    assert "Ahead of SRP on 1 of 2 streams, with the lower log-loss on 1, at 0.17 of its time" in text
    assert "(at most 0.25). Not ahead on sea by 5.00 points." in text
    assert "srp on spam is left out: too slow on 39,916 columns." in text
    assert "srp on sea stopped after 200 rows" in text
    assert "95.00 (200)" in text
    assert "no results yet" in printed(tool, {"streams": {}})


def test_a_version_without_the_method_says_so(tool, toy, tmp_path, monkeypatch, capsys):
    toy(150)
    every = {name: method for name, method in METHODS.items() if name != "adaptive"}
    monkeypatch.setattr("ocboost.evaluation.methods.METHODS", every)  # an entry put back would come last
    arguments = ["--streams", "toy", "--out", str(tmp_path / "adaptive.json")]
    assert tool.main([*arguments, "--only", "adaptive,sgd"]) == 2
    assert "no method called 'adaptive', so it cannot be measured. Leave it out" in capsys.readouterr().err
    assert not (tmp_path / "adaptive.json").exists()
    assert tool.measured("toy", "adaptive", None, 150, 0, 1.0)["left_out"].endswith("called adaptive")


def test_unknown_names_and_too_few_rows(tool, toy):
    toy(150)
    with pytest.raises(InputError, match=r"--only must be some of adaptive,arf,srp,lb,sgd; got 'sgdd'"):
        tool.words("sgdd", tool.LEARNERS, "--only")
    with pytest.raises(InputError, match=r"--rows must be more than the 30 rows of the start of toy; got 30"):
        tool.part_of("toy", None, 30, 0)


def test_too_many_columns_for_river_and_predictions_that_are_none(tool):
    from peers.stream_learners import OfRiver, UnavailableError

    first_rows = tool.FirstRows(np.zeros((4, 1_001)), np.array([0, 1, 0, 1]), [0, 1])
    with pytest.raises(UnavailableError, match="too slow on 1,001 columns"):
        tool.LEARNERS["arf"][1](first_rows)
    learner = OfRiver(None, 2)
    assert learner.probabilities({}).tolist() == [0.5, 0.5]
    assert learner.probabilities({1: 2.0, 0: None}).tolist() == [0.0, 1.0]
    assert learner.prepared(np.array([[1.0, np.nan]]), np.array([1])) == [({0: 1.0}, 1)]
