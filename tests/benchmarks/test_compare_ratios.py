"""The ratios of two benchmark runs compared: pure functions on small dictionaries, nothing is timed."""

from __future__ import annotations

import importlib.util
import io
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("rich")
from rich.console import Console

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def tool():
    """The script, as it is found when it runs: with its own folder on the path."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        spec = importlib.util.spec_from_file_location("compare_ratios", BENCHMARKS / "compare_ratios.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(BENCHMARKS))
        for name in ("compare_ratios", "harness"):
            sys.modules.pop(name, None)


def row(library, method, rounds, J=100, batch=1, threads=1, order=None):
    return {
        "library": library,
        "method": method,
        "n_hypotheses": J,
        "order": order,
        "batch": batch,
        "threads": threads,
        "cpu_us_rounds": rounds,
    }


def speed(ours, peer, **more):
    rows = [
        row("ocboost", "sketch, balanced", ours, order=100),
        row("MOA", "OCBoost", peer, order=100),
    ]
    return {"targets": [], "rows": rows, **more}


MOA = "J=100: sketch, balanced, batches of 1 / MOA OCBoost"


def test_a_ratio_is_the_peers_median_over_ours(tool):
    found = tool.ratios(speed([2.0, 1.0, 9.0], [30.0, 20.0, 10.0]))
    assert list(found) == [MOA]
    assert found[MOA].value == 10.0


def test_the_spread_is_that_of_the_quartiles_of_both(tool):
    assert tool.spread([5.0]) == 0.0
    assert tool.spread([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(2 / 3)
    ratio = tool.ratio([1.0, 2.0, 3.0, 4.0, 5.0], [10.0, 10.0, 10.0])
    assert ratio.spread == pytest.approx(2 / 3)
    ratio = tool.ratio([1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 4.0, 5.0])
    assert ratio.spread == pytest.approx(2 / 3 * 2**0.5)


@pytest.mark.parametrize(
    ("now", "fell"), [(1.0, False), (1.2, False), (1.26, True), (2.0, True), (0.5, False)]
)
def test_a_ratio_falls_when_it_loses_more_than_a_fifth(tool, now, fell):
    (change,) = tool.compare(speed([1.0, 1.0], [10.0, 10.0]), speed([now, now], [10.0, 10.0]))
    assert change.before == 10.0
    assert change.now == pytest.approx(10.0 / now)
    assert change.relative == pytest.approx(1 / now - 1)
    assert change.tolerance == 0.2
    assert change.fell is fell


def test_timings_that_spread_widen_the_tolerance(tool):
    noisy = speed([0.5, 1.0, 1.5], [10.0, 10.0, 10.0])  # quartiles at 0.75 and 1.25: a spread of ½
    (change,) = tool.compare(noisy, speed([1.4, 1.4], [10.0, 10.0]))
    assert change.tolerance == pytest.approx(0.5 / 1.5)
    assert change.relative == pytest.approx(1 / 1.4 - 1)  # -29 %: more than a fifth
    assert not change.fell
    (change,) = tool.compare(noisy, speed([1.6, 1.6], [10.0, 10.0]))
    assert change.fell


def test_however_wide_the_spread_a_collapse_is_seen(tool):
    noisy = speed([0.1, 1.0, 9.0], [10.0, 10.0, 10.0])
    (change,) = tool.compare(noisy, speed([100.0, 100.0], [10.0, 10.0]))
    assert change.tolerance < 1
    assert change.fell


def test_the_tolerance_can_be_set(tool):
    old, new = speed([1.0], [10.0]), speed([1.1], [10.0])
    assert not tool.compare(old, new)[0].fell
    assert tool.compare(old, new, tolerance=0.05)[0].fell


def test_a_slower_machine_changes_no_ratio(tool):
    (change,) = tool.compare(speed([1.0, 1.0], [10.0, 10.0]), speed([3.0, 3.0], [30.0, 30.0]))
    assert change.relative == 0.0


def test_which_rows_of_speed_are_compared(tool):
    results = {
        "targets": [],
        "rows": [
            row("ocboost", "sketch, balanced", [1.0], J=1520, batch=64, order=400),
            row("ocboost", "sketch, balanced", [1.0], J=1520, batch=64, threads=2, order=400),  # CPU of two
            row("ocboost", "OzaRussell", [1.0], J=1520),
            row("MOA", "OCBoost", [2.0], J=1520, order=1520),
            row("MOA", "OCBoost, long run", [1.5], J=1520, order=1520),  # computes with NaN
            row("MOA", "OzaBoost", [3.0], J=1520),
            row("MOA", "OCBoost", [9.0], J=400, order=400),  # another size
            row("scikit-learn", "SGDClassifier.partial_fit", [4.0], J=1520, batch=64),
        ],
        "batch_adaboost": {
            "rows": 1000,
            "n_hypotheses": 16,
            "cases": {
                "ocboost, rows": {"cpu_rounds": [1.0]},
                "ocboost, rows, two threads": {"cpu_rounds": [1.0]},
                "NumPy by columns": {"cpu_rounds": [5.0]},
            },
        },
    }
    sketch = "J=1,520, order 400: sketch, balanced, batches of 64 / "
    assert {name: found.value for name, found in tool.ratios(results).items()} == {
        f"{sketch}MOA OCBoost": 2.0,
        f"{sketch}scikit-learn SGDClassifier.partial_fit, batches of 64": 4.0,
        "J=1,520: OzaRussell, batches of 1 / MOA OzaBoost": 3.0,
        "batch AdaBoost, 1,000 × 16: ocboost, rows / NumPy by columns": 5.0,
    }


@pytest.mark.parametrize(
    ("results", "name", "ratio"),
    [
        (
            {"following": {"OCBClassifier": {"cpu_us": 2.0}, "SGD": {"cpu_us": 8.0}}, "answering": {}},
            "following: OCBClassifier / SGD",
            4.0,
        ),
        (
            {
                "following": {},
                "answering": {
                    "OCBClassifier": {"cpu_us": 2.0, "cpu_us_rounds": [1.0, 2.0, 3.0]},
                    "AdaBoostClassifier": {"cpu_us": 6.0, "cpu_us_rounds": [6.0]},
                },
            },
            "answering: OCBClassifier / AdaBoostClassifier",
            3.0,
        ),
        (
            {"cpu_us": {"EG±": [1.0, 3.0], "river's trees": [4.0, 8.0]}},
            "one row: ocboost, EG± / river's trees",
            3.0,
        ),
        (
            {
                "settings": {"rows": 1000},
                "rows": [
                    {"features": "two", "stumps": 4, "method": "ocboost", "cpu_rounds": [1.0]},
                    {"features": "two", "stumps": 4, "method": "ocboost, two threads", "cpu_rounds": [1.0]},
                    {"features": "two", "stumps": 4, "method": "scikit-learn", "cpu_rounds": [7.0]},
                ],
            },
            "two, 1,000 rows, 4 stumps: ocboost / scikit-learn",
            7.0,
        ),
        (
            {
                "rows": [
                    {"task": "accept", "windows": 10, "method": "ocboost", "cpu_rounds": [1.0]},
                    {"task": "accept", "windows": 10, "method": "OpenCV", "cpu_rounds": [9.0]},
                ]
            },
            "accept, 10 windows: ocboost / OpenCV",
            9.0,
        ),
        (
            {
                "streams": {
                    "elec2": {
                        "rows": 10,
                        "methods": {
                            "ocboost, naive Bayes": {"runs": [{"cpu_us": 2.0}]},
                            "River, naive Bayes": {"runs": [{"cpu_us": 5.0}, {"cpu_us": 7.0}]},
                            "River, Hoeffding trees": {"runs": [{"cpu_us": 1.0}]},
                            "River, one of the naive Bayes": {"runs": [{"cpu_us": 1.0}]},
                        },
                    }
                }
            },
            "elec2, 10 rows: ocboost, naive Bayes / River, naive Bayes",
            3.0,
        ),
    ],
)
def test_the_results_of_every_benchmark_with_peers_are_read(tool, results, name, ratio):
    assert {each: found.value for each, found in tool.ratios(results).items()} == {name: ratio}


@pytest.mark.parametrize("results", [{}, {"rows": 3}, {"costs": []}, {"rows": []}])
def test_results_without_peers_are_refused(tool, results):
    with pytest.raises(ValueError, match="no results with peers; only those of speed, learning"):
        tool.ratios(results)


@pytest.mark.parametrize("name", ["speed", "learning", "cascade", "adapting", "one_row", "oza_russell"])
def test_the_committed_results_are_known_and_did_not_fall_against_themselves(tool, name):
    results = json.loads((BENCHMARKS / "results" / f"{name}.json").read_text(encoding="utf-8"))
    assert tool.benchmark_of(results) == name
    changes = tool.compare(results, results)
    assert changes
    assert not any(change.fell for change in changes)


def test_what_only_one_of_them_has_is_said(tool):
    old = speed([1.0], [10.0], settings={"quick": False})
    new = speed([1.0], [10.0], settings={"quick": True})
    assert tool.missing(old, old) == []
    new["rows"] = [*new["rows"][:1], row("Vowpal Wabbit", "logistic", [1.0])]
    told = tool.missing(old, new)
    assert told[0] == f"1 ratios are in the old results only, such as: {MOA}"
    assert told[1].startswith("1 ratios are in the new results only, such as: J=100: sketch, balanced")
    assert "--quick" in told[2]
    assert tool.compare(old, new) == []


@pytest.mark.parametrize(
    ("now", "code", "says"),
    [
        (1.0, 0, "0 of 1 ratios fell"),
        (2.0, 1, f"fell: {MOA}, from 10 to 5"),
        (None, 2, "Nothing to compare"),
    ],
)
def test_the_verdict_and_the_exit_code(tool, now, code, says):
    new = {"targets": [], "rows": []} if now is None else speed([now], [10.0])
    out = io.StringIO()
    changes = tool.compare(speed([1.0], [10.0]), new)
    assert tool.show(Console(file=out, width=170), changes, ["a note"]) == code
    assert says in out.getvalue()
    assert "note: a note" in out.getvalue()


def test_as_a_command(tool, tmp_path, monkeypatch, capsys):
    old, new, other = tmp_path / "old.json", tmp_path / "new.json", tmp_path / "other.json"
    old.write_text(json.dumps(speed([1.0], [10.0])), encoding="utf-8")
    new.write_text(json.dumps(speed([1.5], [10.0])), encoding="utf-8")
    other.write_text(json.dumps({"cpu_us": {}}), encoding="utf-8")

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["compare_ratios.py", *map(str, words)])
        return tool.main()

    assert run(new, old) == 1
    assert run(new, old, "--tolerance", "0.5") == 0
    assert run(new, new) == 0
    monkeypatch.setattr(tool, "RESULTS", tmp_path)
    (tmp_path / "speed.json").write_bytes(old.read_bytes())
    assert run(new) == 1  # the committed one is found by what the results are
    capsys.readouterr()
    for words, message in (
        ((new, other), "is of one_row"),
        ((new, old, "--tolerance", "1"), "--tolerance must be at least 0 and below 1; got 1.0"),
    ):
        with pytest.raises(SystemExit) as error:
            run(*words)
        assert error.value.code == 2
        assert message in capsys.readouterr().err
