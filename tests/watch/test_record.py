"""What is watched: series, drift alarms, events and mistakes, against plain lists of everything."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocboost._core.codec import read
from ocboost._core.file_format import from_bytes, to_bytes
from ocboost._watch import buckets, drift, record
from ocboost._watch.buckets import Buckets, Said, outcome
from ocboost._watch.drift import DriftWatch
from ocboost._watch.record import Watch
from ocboost.errors import ModelFileError
from tests.naive.watch import naive_series
from tests.support.saved_trees import GONE, changed, places

ONE = st.tuples(
    st.integers(0, 1),
    st.one_of(st.none(), st.tuples(st.integers(0, 1), st.floats(0.0, 1.0))),
    st.one_of(st.none(), st.tuples(st.integers(0, 1), st.floats(0.0, 1.0))),
    st.integers(-1, 1),
)


def said(pair):
    return None if pair is None else Said(pair[0], 0.75, pair[1])


def give(watch, labels, start=0):
    for i, (code, deployed, adapted, answered) in enumerate(labels, start):
        watch.take(
            code, said(deployed), said(adapted), np.array([float(i), 0.5]), answered=answered, time=3.0 * i
        )


def saved(watch):
    data = to_bytes("Watch", watch.tree())
    return read(from_bytes(data, "Watch", "it"), "it", lambda fields: Watch.from_tree(fields, 2, 2))


@settings(max_examples=40)
@given(st.lists(ONE, max_size=60), st.sampled_from([1, 3, 20]))
def test_a_series_is_what_the_whole_list_gives(labels, size):
    series = Buckets(size)
    for i, (code, deployed, adapted, answered) in enumerate(labels):
        series.add(i + 1, None, outcome(code, (said(deployed), said(adapted)), answered))
    found, expected = series.as_dict(), naive_series(labels, size)
    assert found["labels"] == [row["labels"] for row in expected]
    assert found["counts"] == [row["counts"] for row in expected]
    assert found["times"] is None
    for name in ("deployed", "adapted"):
        for metric, place in (("accuracy", 0), ("log_loss", 1)):
            for one, other in zip(found[metric][name], (row[name][place] for row in expected), strict=True):
                assert one == other or one == pytest.approx(other)


def test_when_there_are_many_each_two_become_one(monkeypatch):
    monkeypatch.setattr(buckets, "MOST", 8)
    rng = np.random.default_rng(0)
    labels = [
        (int(rng.integers(2)), (int(rng.integers(2)), float(rng.random())), None, -1) for _ in range(101)
    ]
    series = Buckets()
    for i, (code, deployed, _, answered) in enumerate(labels):
        series.add(i + 1, float(i), outcome(code, (said(deployed), None), answered))
        assert len(series.as_dict()["labels"]) <= 8
    assert series.size == 16
    expected = naive_series(labels, 16)
    assert series.as_dict()["labels"] == [row["labels"] for row in expected]
    assert series.as_dict()["times"] == [row["labels"] - 1.0 for row in expected]
    assert series.as_dict()["log_loss"]["deployed"] == pytest.approx([row["deployed"][1] for row in expected])
    assert series.as_dict()["log_loss"]["adapted"] == [None] * len(expected)


def test_a_rolling_series_has_the_last_ones(monkeypatch):
    monkeypatch.setattr(buckets, "MOST", 8)
    series = Buckets(5, rolling=True)
    for i in range(100):
        series.add(i + 1, None, outcome(0, (Said(0, 1.0, 1.0), None), 0))
    assert series.as_dict()["labels"] == [70, 75, 80, 85, 90, 95, 100]
    assert series.last(10)["deployed"] == {"accuracy": 1.0, "log_loss": 0.0}


def test_the_last_labels():
    watch = Watch()
    give(watch, [(1, (0, 0.25), (1, 0.5), 1)] * 500 + [(1, (1, 0.5), (0, 0.25), 0)] * 1000)
    recent = watch.facts()["recent"]
    assert recent["deployed"] == {"accuracy": 1.0, "log_loss": pytest.approx(math.log(2.0))}
    assert recent["adapted"] == {"accuracy": 0.0, "log_loss": pytest.approx(math.log(4.0))}
    assert recent["answered"] == {"accuracy": 0.0}


class TestDrift:
    def test_alarms_are_those_of_river(self):
        adwin = pytest.importorskip("river.drift").ADWIN()
        rng = np.random.default_rng(1)
        wrong = np.concatenate([rng.random(3000) < p for p in (0.1, 0.4, 0.1)])
        expected = []
        for i, each in enumerate(wrong.tolist()):
            adwin.update(int(each))
            if adwin.drift_detected:
                expected.append(i)
        watch, found = DriftWatch(), []
        for i, each in enumerate(wrong.tolist()):
            change = watch.take(each)
            if change is not None:
                found.append((i, change.better))
        assert [i for i, _ in found] == expected
        assert {3000 <= i < 6000 for i, better in found if not better} == {True}
        assert {i >= 6000 for i, better in found if better} == {True}

    def test_memory_is_bounded_and_files_continue_exactly(self, monkeypatch):
        pytest.importorskip("river")
        monkeypatch.setattr(drift, "KEPT", 300)
        rng = np.random.default_rng(2)
        wrong = np.concatenate([rng.random(700) < p for p in (0.1, 0.5, 0.2, 0.6)]).tolist()
        straight, stopped = DriftWatch(), DriftWatch()
        found = []
        for i, each in enumerate(wrong):
            if i % 97 == 0:
                data = to_bytes("D", stopped.tree())
                stopped = read(from_bytes(data, "D", "it"), "it", DriftWatch.from_tree)
            found.append((straight.take(each), stopped.take(each)))
            assert len(straight._wrong) <= 600
        assert [one for one, _ in found] == [other for _, other in found]
        assert sum(one is not None for one, _ in found) >= 3

    def test_without_river_nothing_is_said(self, monkeypatch):
        monkeypatch.setattr(drift, "detector", lambda: None)
        watch = Watch()
        give(watch, [(1, (1, 0.9), (1, 0.9), 1)] * 300 + [(0, (1, 0.9), (1, 0.9), 1)] * 300)
        assert watch.drifts == {"deployed": 0, "adapted": 0}
        assert not watch.happenings

    def test_another_model_begins_anew(self):
        pytest.importorskip("river")
        watch = Watch()
        give(watch, [(1, (1, 0.9), (1, 0.9), 1)] * 500)
        watch.replaced("adapted")
        give(watch, [(0, (1, 0.9), (1, 0.9), 1)] * 500, 500)
        assert watch.drifts == {"deployed": 1, "adapted": 0}
        (event,) = watch.happenings
        assert (event.kind, event.of, event.better) == ("drift", "deployed", False)
        assert 500 < event.label < 600
        assert event.time == 3.0 * (event.label - 1)
        assert event.text == "The deployed model's rate of error rose, from 0.0% to 100.0%."


class TestMistakes:
    def test_of_the_adapted_model(self):
        watch = Watch()
        give(watch, [(1, (0, 0.2), (1, 0.6), 0), (1, (1, 0.9), (0, 0.25), 1), (1, (0, 0.2), None, 0)])
        (mistake,) = watch.mistakes
        assert (mistake.label, mistake.said, mistake.truth) == (2, 0, 1)
        assert (mistake.probability, mistake.truth_probability, mistake.time) == (0.75, 0.25, 3.0)
        assert mistake.x.tolist() == [1.0, 0.5]

    def test_the_last_twenty(self):
        watch = Watch()
        give(watch, [(1, None, (0, 0.2), 0)] * 30)
        assert [each.number for each in watch.mistakes] == list(range(11, 31))

    @pytest.mark.parametrize(("times", "kept"), [([0.0, 0.5, 1.9, 2.0, 3.0, 4.1], 3), ([None] * 6, 6)])
    def test_not_faster_than_somebody_reads(self, times, kept):
        watch = Watch()
        for time in times:
            watch.take(1, None, Said(0, 0.7, 0.3), np.zeros(2), time=time)
        assert len(watch.mistakes) == kept
        assert watch.n_mistakes == 6


def test_the_last_events_are_kept():
    watch = Watch()
    for i in range(250):
        watch.note("guard", f"{i} answers.", of=f"version {i}", time=float(i))
    assert [each.number for each in watch.happenings] == list(range(51, 251))
    assert watch.facts()["guard_decisions"] == watch.facts()["last_event"] == 250


@settings(max_examples=25)
@given(st.lists(ONE, max_size=80), st.integers(0, 80))
def test_saved_and_loaded_it_goes_on_the_same(labels, cut):
    straight, stopped = Watch(), Watch()
    give(straight, labels)
    give(stopped, labels[:cut])
    stopped = saved(stopped)
    give(stopped, labels[cut:], min(cut, len(labels)))
    assert to_bytes("Watch", straight.tree()) == to_bytes("Watch", stopped.tree())


def test_hostile_files():
    watch = Watch()
    give(watch, [(1, (1, 0.9), (1, 0.9), 1)] * 200 + [(0, (1, 0.9), (1, 0.9), 1)] * 200)
    watch.note("frozen", "Learning pauses.")
    tree, n_refused = watch.tree(), 0
    for path in places(tree):
        for value in (None, -1, 10**15, "x", True, 0.5, math.nan, [], {}, GONE, np.full((3, 11), -1.0)):
            try:
                found = read(changed(tree, path, value), "it", lambda fields: Watch.from_tree(fields, 2, 2))
            except ModelFileError:
                n_refused += 1
                continue
            figures = [f for model in found.facts()["recent"].values() for f in model.values()]
            assert all(f is None or math.isfinite(f) for f in figures)
            found.take(0, None, Said(1, 0.5, 0.5), np.zeros(2), time=1.0)
            found.tree()
    assert n_refused > 500
    assert record.MAX_MISTAKES >= len(tree["mistakes"]) > 5
