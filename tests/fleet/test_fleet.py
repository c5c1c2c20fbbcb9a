"""Fleets as they are used: keys, sources, facts, models of every kind, and keys that leave."""

from __future__ import annotations

import copy
import os
from dataclasses import replace
from enum import Enum
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocboost import InputError, OCBClassifier, approximation_error

pytest.importorskip("lmdb")

from ocboost.fleet import Fleet, FleetInfo, KeyFacts
from ocboost.fleet.facts import LEAST_ROWS
from ocboost.fleet.keys import KeyGroups, as_key
from tests.fleet.fleets import model, records, rows

X, Y, KEYS = rows()


@pytest.fixture
def fleet(tmp_path):
    """A fleet that has learnt the first 700 rows, with a window of 40."""
    with Fleet(model(), store=tmp_path / "store", window=40) as made:
        made.learn(KEYS[:700], X[:700], Y[:700])
        yield made


@pytest.fixture
def new(tmp_path):
    with Fleet(model(), store=tmp_path / "new", window=40) as made:
        yield made


# Learning and answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [2, 3])
def test_learn_gives_what_predict_would_have_given(tmp_path, K):
    X, y, keys = rows(K=K)
    with Fleet(model(K), store=tmp_path / "store", window=30) as fleet:
        for start in range(0, 60, 3):
            for i in range(start, start + 3):
                predicted = fleet.predict(keys[i : i + 1], X[i : i + 1])
                assert fleet.learn(keys[i : i + 1], X[i : i + 1], y[i : i + 1]) == predicted
        assert fleet.rows == 60
        assert set(fleet.keys()) == {key.encode() for key in keys[:60]}


@pytest.mark.parametrize("K", [2, 3])
def test_votes_probabilities_and_classes_agree(tmp_path, K):
    X, y, keys = rows(K=K)
    with Fleet(model(K), store=tmp_path / "store", window=30) as fleet:
        fleet.learn(keys[:800], X[:800], y[:800])
        votes, shares = fleet.votes(keys, X), fleet.predict_proba(keys, X)
        predicted = fleet.predict(keys, X)
    assert votes.shape == ((len(X),) if K == 2 else (len(X), K))
    assert shares.shape == (len(X), K)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    classes = np.unique(y)
    np.testing.assert_array_equal(predicted, classes[shares.argmax(axis=1)])
    if K == 2:
        np.testing.assert_allclose(shares[:, 1], 1.0 / (1.0 + np.exp(-2.0 * votes)), atol=1e-12)
        np.testing.assert_array_equal(predicted, classes[(votes > 0).astype(int)])
    else:
        np.testing.assert_array_equal(predicted, classes[votes.argmax(axis=1)])


def test_a_key_learns_what_is_its_own(tmp_path):
    """Two keys whose labels are opposite: each comes to be right, and the order of a batch is kept."""
    y = model().predict(X)
    opposite = np.arange(len(X)) % 2 == 1
    labels = np.where(opposite, 1 - y, y)
    keys = np.where(opposite, "turned", "as it was")
    with Fleet(model(), store=tmp_path / "store", window=100) as fleet:
        before = fleet.learn(keys, X, labels)
        assert (before[:20] == y[:20]).mean() > 0.8
        assert (before[-300:] == labels[-300:]).mean() > 0.9
        facts = {each.key: each for each in fleet.table(by="moved")}
        assert facts[b"turned"].moved > facts[b"as it was"].moved
        assert facts[b"turned"].accuracy > 0.9 > 0.1 > facts[b"turned"].deployed_accuracy


def test_a_key_does_not_answer_for_another(fleet):
    """Rows of one key change others through the common weights and the trust only: not within 500 rows."""
    others = [key for key in sorted(set(KEYS)) if key != "key 0"]
    before = {key: records(fleet)[0][key.encode()] for key in others}
    fleet.learn(["key 0"] * 20, X[700:720], Y[700:720])
    after = records(fleet)[0]
    assert {key: after[key.encode()] for key in others} == before


def test_the_model_stays_as_it_was(tmp_path):
    clf = copy.copy(model())
    before = clf.decision_function(X)
    with Fleet(clf, store=tmp_path / "store") as fleet:
        fleet.learn(KEYS, X, Y)
        np.testing.assert_array_equal(clf.decision_function(X), before)
        votes = fleet.votes(KEYS, X)
        clf.partial_fit(X, 1 - Y)
        np.testing.assert_array_equal(fleet.votes(KEYS, X), votes)


def test_prediction_changes_nothing(fleet):
    before = records(fleet)
    fleet.predict(KEYS, X)
    fleet.predict_proba(["nobody"] * 5, X[:5])
    fleet.table()
    fleet.info()
    fleet.verify()
    fleet.export("key 1")
    assert records(fleet) == before
    assert "nobody" not in fleet


def test_more_rows_than_are_looked_at_at_once(fleet):
    """A call of many rows gives what several calls give."""
    some, _, keys = rows(n=9000)
    found = fleet.votes(keys, some)
    parts = [fleet.votes(keys[start : start + 3000], some[start : start + 3000]) for start in (0, 3000, 6000)]
    np.testing.assert_array_equal(found, np.concatenate(parts))


@pytest.mark.parametrize("cuts", [[1300], [500, 800], [510, 790], [100] * 13, [499, 1, 1, 799]])
def test_rows_without_a_label_are_predicted_only(tmp_path, cuts):
    """They change nothing, wherever the stream is cut; after 500 labels come 20 rows without one."""
    labelled = np.ones(1300, np.bool_)
    labelled[[3, 7, 150, *range(503, 523)]] = False
    labelled[1100:] = False
    codes = np.where(labelled, Y[:1300], -1)
    with Fleet(model(), store=tmp_path / "a", window=40) as fleet:
        at, votes = 0, []
        for size in cuts:
            part = slice(at, at + size)
            votes.append(fleet.learn_coded(KEYS[part], X[part], codes[part], source="log", offset=at))
            at += size
        assert (fleet.rows, fleet.offset("log")) == (labelled.sum(), 1300)
        found, kept = np.concatenate(votes), records(fleet)
    with Fleet(model(), store=tmp_path / "b", window=40) as fleet:
        expected, ends = [], [*np.flatnonzero(np.diff(labelled)) + 1, 1300]
        for start, stop in pairwise([0, *ends]):
            part = slice(start, stop)
            one = fleet.learn_coded(KEYS[part], X[part], codes[part]) if labelled[start] else None
            expected.append(fleet.votes(KEYS[part], X[part]) if one is None else one)
        np.testing.assert_array_equal(found, np.concatenate(expected))
        assert records(fleet)[0] == kept[0]


# Keys -----------------------------------------------------------------------------------------------------


@given(st.lists(st.binary(min_size=1, max_size=500), min_size=1, max_size=8))
def test_any_bytes_are_a_key(tmp_path_factory, keys):
    with Fleet(model(), store=tmp_path_factory.mktemp("keys") / "store", window=8) as fleet:
        fleet.learn(keys, X[: len(keys)], Y[: len(keys)])
        assert list(fleet.keys()) == sorted(set(keys))
        assert len(fleet) == len(set(keys))
        assert all(key in fleet for key in keys)
        assert {each.key: each.rows for each in fleet.table(20, "rows")} == {k: keys.count(k) for k in keys}


@given(st.one_of(st.text(min_size=1, max_size=120), st.integers()))
def test_keys_are_what_is_written(key):
    try:
        expected = str(key).encode()
    except UnicodeEncodeError:
        with pytest.raises(InputError, match="text that UTF-8 can hold"):
            as_key(key)
        return
    assert as_key(key) == as_key(expected) == expected


def test_keys_of_every_kind_are_the_same(fleet):
    numbers = [17, 4, 17, 200]
    texts = ["17", "4", "17", "200"]
    given = [
        *(numbers, texts, tuple(texts), [text.encode() for text in texts], iter(numbers)),
        *(np.array(numbers), np.array(numbers, np.uint8), np.array(texts), np.array(texts, object)),
        *(np.array(texts, "S"), pd.Series(numbers), pd.Series(texts), pd.Series(texts, dtype="category")),
        *(pd.Series(texts, dtype="string"), pd.Series(numbers, dtype="Int64"), pd.Index(texts)),
        *(pa.array(texts), pa.array(numbers), pa.chunked_array([texts[:2], texts[2:]])),
        *(pa.array(texts).dictionary_encode(), [17, "4", b"17", np.int64(200)]),
    ]
    fleet.learn(numbers, X[:4], Y[:4])
    expected = fleet.votes(numbers, X[:4])
    for each in given:
        np.testing.assert_array_equal(fleet.votes(each, X[:4]), expected)
    polars = pytest.importorskip("polars")
    np.testing.assert_array_equal(fleet.votes(polars.Series(texts), X[:4]), expected)
    assert 17 in fleet
    assert "17" in fleet
    assert b"17" in fleet
    assert 18 not in fleet


@pytest.mark.parametrize("size", [1, 3, 9, 4096])
def test_many_keys_are_read_some_at_a_time(fleet, monkeypatch, size):
    """As whoever asks for all keys may stop, the store is not held meanwhile; tables need bounded memory."""
    expected, table = sorted({key.encode() for key in KEYS[:700]}), fleet.table(100, "rows")
    monkeypatch.setattr("ocboost.fleet.fleet.KEYS_AT_ONCE", size)
    monkeypatch.setattr("ocboost.fleet.facts.KEYS_AT_ONCE", size)
    assert list(fleet.keys()) == expected
    for one, before in zip(fleet.table(100, "rows"), table, strict=True):
        assert replace(one, moved=0.0) == replace(before, moved=0.0)
        assert one.moved == pytest.approx(before.moved)
    keys = fleet.keys()
    first = next(keys)
    fleet.drop([first])
    fleet.compact()
    assert [first, *keys] == expected


def test_seventeen_is_one_key_in_one_call(new, tmp_path):
    mixed = [17, "17", b"17", np.int32(17), "18", 18]
    new.learn(mixed, X[:6], Y[:6])
    with Fleet(model(), store=tmp_path / "other", window=40) as other:
        other.learn(["17"] * 4 + ["18"] * 2, X[:6], Y[:6])
        assert records(new) == records(other)
    assert KeyGroups.of([1, "1", 2], 3).index.tolist() == [0, 0, 1]


def test_texts_that_are_members_of_an_enumeration_are_their_values():
    class Camera(str, Enum):  # noqa: UP042
        FRONT = "front"

    assert as_key(Camera.FRONT) == b"front"


# Sources --------------------------------------------------------------------------------------------------


def test_a_source_that_is_replayed_changes_nothing(new):
    new.learn(KEYS[:300], X[:300], Y[:300], source="log", offset=0)
    before = records(new)
    again = new.learn(KEYS[:300], X[:300], Y[:300], source="log", offset=0)
    assert records(new) == before
    np.testing.assert_array_equal(again, new.predict(KEYS[:300], X[:300]))
    assert (new.offset("log"), new.rows, new.offset("another")) == (300, 300, 0)


def test_rows_that_overlap_are_learnt_once(new, tmp_path):
    for start in (0, 100, 150, 120, 290):
        part = slice(start, start + 200)
        new.learn(KEYS[part], X[part], Y[part], source="log", offset=start)
    with Fleet(model(), store=tmp_path / "other", window=40) as other:
        other.learn(KEYS[:490], X[:490], Y[:490], source="log", offset=0)
        assert records(new) == records(other)
    assert new.offset("log") == 490


def test_gaps_and_numbers_of_rows(new, tmp_path):
    """A gap is passed; numbers given one by one leave out what was learnt, however they lie."""
    new.learn(KEYS[:3], X[:3], Y[:3], source="log", offset=10)
    assert new.offset("log") == 13
    numbers = np.array([2, 11, 12, 13, 20, 21])
    part = slice(3, 9)
    new.learn(KEYS[part], X[part], Y[part], source="log", offset=numbers)
    assert (new.offset("log"), new.rows) == (22, 6)
    new.learn(KEYS[part], X[part], Y[part], source="log", offset=numbers.tolist())
    assert (new.offset("log"), new.rows) == (22, 6)
    with Fleet(model(), store=tmp_path / "other", window=40) as other:
        taken = [0, 1, 2, 6, 7, 8]
        other.learn([KEYS[i] for i in taken], X[taken], Y[taken])
        assert records(new)[0] == records(other)[0]


def test_sources_do_not_know_of_each_other(new):
    new.learn(KEYS[:5], X[:5], Y[:5], source="a", offset=0)
    new.learn(KEYS[5:7], X[5:7], Y[5:7], source="b", offset=100)
    new.learn(KEYS[7:8], X[7:8], Y[7:8])
    assert new.sources == {"a": {"offset": 5}, "b": {"offset": 102}}
    assert new.rows == 8


def test_facts_of_a_source(new, tmp_path):
    new.note_source("log", {"path": "ü.csv", "parts": [1, None, 2.5], "deep": {"a": True}})
    assert new.sources == {
        "log": {"offset": 0, "path": "ü.csv", "parts": [1, None, 2.5], "deep": {"a": True}}
    }
    codes = np.searchsorted(model().classes_, Y[:9])
    new.learn(KEYS[:9], X[:9], Y[:9], source="log", offset=0)  # they stay
    assert new.sources["log"]["path"] == "ü.csv"
    new.learn_coded(KEYS[:9], X[:9], codes, source="log", offset=9, before_commit=lambda votes: {"path": "b"})
    assert new.sources == {"log": {"offset": 18, "path": "b"}}
    before = records(new)[0]
    new.note_source("log", {})
    assert new.sources == {"log": {"offset": 18}}
    assert records(new)[0] == before
    new.close()
    with Fleet(store=tmp_path / "new") as again:
        assert again.sources == {"log": {"offset": 18}}


def test_offset_of_a_source_is_not_hidden_by_its_facts(new):
    new.learn(KEYS[:5], X[:5], Y[:5], source="log", offset=0)
    new.note_source("log", {"offset": "of something else"})
    assert new.sources["log"]["offset"] == new.offset("log") == 5


# Dropping and exporting -----------------------------------------------------------------------------------


def test_dropped_keys_begin_anew(fleet):
    shared = records(fleet)[1]
    assert fleet.drop(["key 1", b"key 2", "never seen", "key 1"]) == 2
    assert "key 1" not in fleet
    assert len(fleet) == len(set(KEYS)) - 2
    assert records(fleet)[1] == shared
    np.testing.assert_array_equal(fleet.votes(["key 1"] * 9, X[:9]), fleet.votes(["new"] * 9, X[:9]))
    assert fleet.drop("key 3") == 1  # one text is one key
    assert fleet.drop(fleet.keys()) == len(set(KEYS)) - 3
    assert len(fleet) == 0
    assert fleet.table() == []


def exported_as_the_fleet(fleet, key, some, y, path):
    """Check an exported key: its votes, its file, and that it goes on; gives the classifier."""
    votes = fleet.votes([key] * 60, some[:60])
    clf = fleet.export(key)
    np.testing.assert_allclose(clf.decision_function(some[:60]), votes, atol=1e-9, rtol=0)
    np.testing.assert_array_equal(clf.predict(some[:60]), fleet.predict([key] * 60, some[:60]))
    clf.save(path)
    again = OCBClassifier.load(path)
    np.testing.assert_array_equal(again.decision_function(some[:60]), clf.decision_function(some[:60]))
    for each in (clf, again):
        each.partial_fit(some[60:200], y[60:200])
    np.testing.assert_array_equal(again.decision_function(some[:60]), clf.decision_function(some[:60]))
    assert not np.array_equal(clf.decision_function(some[:60]), votes)
    np.testing.assert_array_equal(fleet.votes([key] * 60, some[:60]), votes)
    return clf


@pytest.mark.parametrize("key", ["key 0", "key 7", "never seen"])
@pytest.mark.parametrize("K", [2, 3])
def test_exported_keys(tmp_path, K, key):
    X, y, keys = rows(K=K)
    with Fleet(model(K), store=tmp_path / "store", window=40) as fleet:
        fleet.learn(keys[:900], X[:900], y[:900])
        clf = exported_as_the_fleet(fleet, key, X, y, tmp_path / "key.ocb")
        assert len(clf.hypotheses_) == len(model(K).hypotheses_) + (1 if K == 2 else K)


def test_exported_keys_keep_their_window_in_its_order(fleet):
    """A window's worth of new rows leaves nothing of the fleet: it is the sliding window of the last 40."""
    clf = fleet.export("key 0")
    clf.partial_fit(X[700:740], Y[700:740])
    plain = OCBClassifier(clf.hypotheses_, head=40, tail=False).partial_fit(
        X[700:740], Y[700:740], classes=[0, 1]
    )
    np.testing.assert_allclose(clf.alpha_[0], plain.alpha_[0], atol=1e-9)
    # Ten rows push out the ten oldest of the key's, whichever place of the ring they have.
    clf = fleet.export("key 0")
    clf.partial_fit(X[700:710], Y[700:710])
    own = [i for i in range(700) if KEYS[i] == "key 0"][-30:]
    some = [*own, *range(700, 710)]
    plain = OCBClassifier(clf.hypotheses_, head=40, tail=False).partial_fit(X[some], Y[some], classes=[0, 1])
    np.testing.assert_allclose(
        clf.committee_.boosters[0].alpha, plain.committee_.boosters[0].alpha, atol=1e-9
    )


def test_export_of_a_table_with_gaps(tmp_path):
    table = pd.DataFrame(X, columns=list("abcde"))
    table["side"] = np.where(X[:, 0] > 0, "left", "right")
    table.loc[::7, "b"] = np.nan
    table.loc[::11, "side"] = None
    clf = OCBClassifier(n_hypotheses=12, random_state=0).fit(table[:200], Y[:200])
    with Fleet(clf, store=tmp_path / "store", window=40) as fleet:
        fleet.learn(KEYS[:600], table[:600], Y[:600])
        found = exported_as_the_fleet(fleet, "key 1", table, Y, tmp_path / "key.ocb")
        assert found.schema_ is not None
        shuffled = table[:50][list(table.columns[::-1])]
        np.testing.assert_array_equal(fleet.votes(KEYS[:50], shuffled), fleet.votes(KEYS[:50], table[:50]))
    with Fleet(clf, store=tmp_path / "store") as fleet:
        assert fleet.model.schema is not None
        assert fleet.predict(["key 1"], table[:1]).shape == (1,)


# Facts ----------------------------------------------------------------------------------------------------


def test_info(fleet, tmp_path):
    info = fleet.info()
    assert isinstance(info, FleetInfo)
    assert (info.n_keys, info.rows, info.window, info.n_hypotheses) == (len(set(KEYS[:700])), 700, 40, 12)
    assert info.bytes == os.path.getsize(tmp_path / "store" / "data.mdb")
    assert info.bytes_per_key == info.bytes / info.n_keys
    with Fleet(model(), store=tmp_path / "other", window=40) as other:
        before = other.info()
        assert (before.accuracy, before.deployed_accuracy, before.n_keys, before.bytes_per_key) == (
            *(None, None),
            *(0, 0.0),
        )
        right = 0
        for start in range(0, 700, 70):
            part = slice(start, start + 70)
            right += int((other.learn(KEYS[part], X[part], Y[part]) == Y[part]).sum())
        deployed = float((model().predict(X[:700]) == Y[:700]).mean())
        assert other.info().accuracy == info.accuracy == right / 700
        assert other.info().deployed_accuracy == pytest.approx(deployed, abs=1e-12)
    assert repr(fleet) == (
        f"<fleet in '{tmp_path / 'store'}': {info.n_keys} keys, 12 hypotheses, 700 rows learnt>"
    )


def test_table(fleet):
    fleet.learn(["seldom"] * 5, X[700:705], Y[700:705])
    everything = fleet.table(100, "rows")
    counts = {key.encode(): KEYS[:700].count(key) for key in set(KEYS[:700])} | {b"seldom": 5}
    assert {each.key: each.rows for each in everything} == counts
    assert [each.rows for each in everything] == sorted(counts.values(), reverse=True)
    assert fleet.table(3, "rows") == everything[:3]
    moved = fleet.table(100, "moved")
    assert [each.moved for each in moved] == sorted((each.moved for each in everything), reverse=True)
    deployed = np.append(model().alpha_[0], 0.0)  # and no bias
    for each in moved:
        expected = approximation_error(deployed, fleet.export(each.key).alpha_[0])
        assert each.moved == pytest.approx(expected)
    worst = fleet.table(100)
    assert {each.key for each in worst} == {key for key, n in counts.items() if n >= LEAST_ROWS}
    assert [each.accuracy for each in worst] == sorted(each.accuracy for each in worst)
    assert all(isinstance(each, KeyFacts) for each in worst)
    sizes = {key: len(record) for key, record in records(fleet)[0].items()}
    assert {each.key: each.bytes for each in everything} == sizes


def test_accuracy_of_a_key_is_that_of_its_latest_rows(new):
    """Each row counts 0.97 of the next one, and the first of a key counts as one row."""
    right, deployed, total = 0.0, 0.0, 0.0
    for i in range(60):
        predicted = new.learn(["one"], X[i : i + 1], Y[i : i + 1])
        right = 0.97 * right + float(predicted[0] == Y[i])
        deployed = 0.97 * deployed + float(model().predict(X[i : i + 1])[0] == Y[i])
        total = 0.97 * total + 1.0
    (facts,) = new.table()
    assert facts.accuracy == pytest.approx(right / total)
    assert facts.deployed_accuracy == pytest.approx(deployed / total)
