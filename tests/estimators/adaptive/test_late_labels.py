"""Labels that come late, in another order, twice or never; ids, and rows without them."""

from __future__ import annotations

import copy
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from ocboost import AdaptiveClassifier, InputError
from ocboost.estimators.adaptive import issued as module
from ocboost.estimators.adaptive.issued import IssuedPredictions, key_of_id
from tests.support.adaptive import classifier, fitted, same, sparse_stream, state, stream

# Ids -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ids",
    [
        range(100, 120),
        [f"row {i}" for i in range(20)],
        np.arange(20, dtype=np.int16),
        np.array([f"{i}" for i in range(20)]),
        np.array([f"{i}" for i in range(20)], dtype=object),
        [bytes([i]) for i in range(20)],
        pd.Series(range(20), index=range(7, 27)),
        [10**30 + i for i in range(20)],
        [str(UUID(int=i)) for i in range(20)],
        ["", "é", "\ud800", *range(17)],
    ],
)
def test_ids_of_any_kind(ids):
    X, y = stream()
    clf, plain = fitted(), fitted()
    clf.predict(X[100:120], ids=ids)
    assert clf.n_waiting_ == 20
    plain.predict(X[100:120])
    order = np.random.default_rng(0).permutation(20)
    kinds = list(ids)
    clf.partial_fit(X[100:120][order], y[100:120][order], ids=[kinds[i] for i in order])
    plain.partial_fit(X[100:120][order], y[100:120][order])
    assert clf.n_waiting_ == 0
    assert same(clf, plain)


def test_whole_numbers_are_ids_whatever_their_type_and_texts_are_others():
    assert key_of_id(7) == key_of_id(np.int8(7)) == key_of_id(np.uint64(7))
    assert key_of_id("a") == key_of_id(np.str_("a"))
    assert len({key_of_id(each) for each in (7, "7", b"7", -7, 70)}) == 5


def test_the_id_decides_and_not_the_row():
    """What was said is found by its id; what is learnt is the row that comes with the label."""
    X, y = stream()
    rows, other = X[100:120], X[200:220]
    clf, twin = fitted(), fitted()
    for each in (clf, twin):
        each.predict(rows, ids=range(20))
    twin = copy.copy(twin)  # a copy remembers no more than a file does
    for each in (clf, twin):
        each.partial_fit(other[::-1], y[100:120][::-1], ids=range(19, -1, -1))
        assert each.n_waiting_ == 0
    assert same(clf, twin)
    newest = fitted().partial_fit(other, y[100:120])
    assert not same(clf, newest)


def test_another_prediction_of_an_id_replaces_the_first():
    X, y = stream()
    clf, once = fitted(), fitted()
    clf.predict(X[200:210], ids=range(10))
    clf.predict_proba(X[100:110], ids=range(10))
    assert clf.n_waiting_ == 10
    once.bank_.issued.n_issued += 10
    once.predict(X[100:110], ids=range(10))
    for each in (clf, once):
        each.partial_fit(X[100:110], y[100:110], ids=range(10))
    assert same(clf, once)


def test_ids_twice_in_one_call():
    X, y = stream()
    clf = fitted()
    clf.predict(X[100:102], ids=["a", "b"])
    before = state(clf)
    for call in (
        lambda: clf.predict(X[:3], ids=["a", "c", "a"]),
        lambda: clf.predict_proba(X[:3], ids=np.array([1, 2, 2])),
        lambda: clf.predict(X[:3], ids=["a", "c", "a"], issue=False),
        lambda: clf.partial_fit(X[:3], y[:3], ids=["a", "c", "a"]),
    ):
        with pytest.raises(InputError, match=r"ids must differ from each other in one call; got .* twice"):
            call()
    assert state(clf) == before


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1, 2], "ids must be one for each of the 3 rows; got 2"),
        ([], "ids must be one for each of the 3 rows; got 0"),
        ([1, 2, 3.5], r"ids must be texts, whole numbers or bytes, .*; got 3.5. Give str\(id\)"),
        ([1, 2, None], "got None"),
        ([True, 1, 2], "got True"),
        ([1, 2, [3]], r"got \[3\]"),
        (np.zeros((3, 2), int), r"got \[0, 0\]"),
        (np.array([0.0, 1.0, 2.0]), "got 0.0"),
        ("abc", "ids must be a list or array, one for each of the 3 rows; got 'abc'"),
        (7, "ids must be a list or array"),
        ({1, 2, 3}, "ids must be a list or array"),
        (np.array(5), "ids must be"),
    ],
)
def test_wrong_ids(ids, message):
    X, y = stream()
    clf = fitted()
    before = state(clf)
    for call in (
        lambda: clf.predict(X[:3], ids=ids),
        lambda: clf.predict_proba(X[:3], ids=ids, issue=False),
        lambda: clf.partial_fit(X[:3], y[:3], ids=ids),
        lambda: classifier().partial_fit(X[:3], y[:3], classes=[0, 1], ids=ids),
    ):
        with pytest.raises(InputError, match=message):
            call()
    assert state(clf) == before


# Rows without ids ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_of_equal_rows_the_first_predicted_is_the_first_labelled(sparse):
    X, _ = sparse_stream() if sparse else stream()
    clf, named = fitted(sparse=sparse), fitted(sparse=sparse)
    rows = [100, 101, 100, 100, 101]
    clf.predict(X[rows])
    named.predict(X[rows], ids=range(5))
    clf.partial_fit(X[[101, 100, 100, 100]], [0, 1, 0, 1])
    named.partial_fit(X[[101, 100, 100, 100]], [0, 1, 0, 1], ids=[1, 0, 2, 3])
    assert clf.n_waiting_ == named.n_waiting_ == 1
    ours, theirs = (dict(each.bank_.issued._waiting) for each in (clf, named))
    assert list(ours) == list(theirs) == [4]
    np.testing.assert_array_equal(ours[4][1], theirs[4][1])
    clf.bank_.issued, clf.bank_._usual_lag = named.bank_.issued, named.bank_._usual_lag
    assert same(clf, named)


def test_stale_predictions_of_equal_rows_are_passed_over():
    """Few different rows, half of them never labelled: a label must not meet a prediction of long ago."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (1500, 3)).astype(float)
    y = (X[:, 0] != (np.arange(1500) // 500 == 1)).astype(int)
    clf, right = classifier().fit(X[:200], y[:200]), 0
    for i in range(200, 1500):
        right += clf.predict_one(X[i]) == y[i]
        if rng.random() < 0.5:
            clf.learn_one(X[i], y[i])
    assert right / 1300 > 0.9
    assert clf.n_waiting_ < 400


@pytest.mark.parametrize("start", ["fit", "from_fitted"])
def test_rows_that_were_predicted_long_before(start):
    """The rows to come are predicted once, and again one by one: the mix follows all the same."""
    X, y = stream()
    X = np.nan_to_num(X)
    clf = classifier().fit(X[:100], y[:100])
    if start == "from_fitted":
        wrong = LogisticRegression().fit(X[:200], 1 - y[:200])
        clf = type(clf).from_fitted(wrong, X[:200], y[:200], n_hypotheses=10, random_state=0)
    clf.predict_proba(X)
    right = []
    for i in range(200, len(X)):
        right.append(clf.predict_one(X[i]) == y[i])
        clf.learn_one(X[i], y[i])
    assert np.mean(right[50:]) > 0.7


def test_late_is_what_was_learnt_since():
    """A block that was predicted at once: the first label of it is on time, the last is late."""
    X, y = stream()
    clf = fitted()
    clf.predict(X[100:150])
    lags = []
    learn = clf.bank_.mixing.learn
    clf.bank_.mixing.learn = lambda record, code, weight, lag: (
        lags.append(lag) or learn(record, code, weight, lag)
    )
    clf.partial_fit(X[100:150], y[100:150])
    assert lags == list(range(50))


def test_empty_sparse_rows_are_recognised():
    X, y = sparse_stream()
    clf = fitted(sparse=True)
    clf.predict(X[:5])
    assert clf.n_waiting_ == 5
    clf.partial_fit(X[:3], y[:3])
    assert clf.n_waiting_ == 2


@pytest.mark.parametrize("between", [copy.copy, lambda clf: clf], ids=["copied", "as it is"])
def test_the_row_predicted_last_is_no_shortcut_to_another_result(between):
    """Labelled twice, or late, or predicted twice with labels in between: a copy has no such row."""
    X, y = stream()
    a, b, c = 100, 101, 102

    def go(clf):
        clf.predict(X[[a, b]])
        clf.learn_one(X[c], y[c])
        clf = between(clf)
        clf.learn_one(X[b], y[b])
        clf = between(clf)
        clf.learn_one(X[b], 1 - y[b])  # again, while another waits
        clf.predict(X[[c]])
        clf.predict(X[[c]])
        clf.learn_one(X[b], 1 - y[b])
        clf = between(clf)
        clf.learn_one(X[c], y[c])
        clf = between(clf)
        return clf.learn_one(X[c], y[c])

    reference = fitted()
    for step in (
        lambda clf: clf.predict(X[[a, b]]),
        lambda clf: clf.learn_one(X[c], y[c]),
        lambda clf: clf.learn_one(X[b], y[b]),
        lambda clf: clf.learn_one(X[b], 1 - y[b]),
        lambda clf: clf.predict(X[[c]]),
        lambda clf: clf.predict(X[[c]]),
        lambda clf: clf.learn_one(X[b], 1 - y[b]),
        lambda clf: clf.learn_one(X[c], y[c]),
        lambda clf: clf.learn_one(X[c], y[c]),
    ):
        reference = copy.copy(reference)
        step(reference)
    assert same(go(fitted()), reference)


# Late, never, twice ----------------------------------------------------------------------------------------


def test_labels_of_rows_never_predicted_are_learnt_as_if_just_predicted():
    X, y = stream()
    predicted, not_predicted, strange = fitted(), fitted(), fitted()
    strange.predict(X[300:301], ids=["another"])
    strange.bank_.issued.n_issued = 0  # as if nothing had been said in between
    for i in range(100, 150):
        predicted.predict(X[i : i + 1])
        predicted.partial_fit(X[i : i + 1], y[i : i + 1])
        not_predicted.partial_fit(X[i : i + 1], y[i : i + 1])
        strange.partial_fit(X[i : i + 1], y[i : i + 1], ids=[i])
    np.testing.assert_array_equal(
        predicted.predict_proba(X[200:]), not_predicted.predict_proba(X[200:], issue=False)
    )
    np.testing.assert_array_equal(
        strange.predict_proba(X[200:], issue=False), not_predicted.predict_proba(X[200:])
    )


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("delay", [1, 7, 60])
def test_late_labels(K, delay, tmp_path):
    X, y = stream(K=K)
    clf, moved = fitted(K), fitted(K)
    for i in range(100, 300):
        for each in (clf, moved):
            each.predict(X[i : i + 1], ids=[i])
            if i >= 100 + delay and (i - delay) % 9:  # some labels never come
                each.partial_fit(X[i - delay : i - delay + 1], y[i - delay : i - delay + 1], ids=[i - delay])
        if i in (100, 105, 170, 250):
            moved.save(tmp_path / "model")
            moved = AdaptiveClassifier.load(tmp_path / "model")
    assert clf.bank_.mixing.two_tracks
    assert clf.n_waiting_ >= delay
    assert same(clf, moved)
    p = clf.predict_proba(X[300:])
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    if delay < 60:  # the stream turns at row 200
        assert (p.argmax(axis=1) == y[300:]).mean() > 1.3 / K


def test_labels_twice():
    X, y = stream()
    clf = fitted()
    clf.predict(X[100:110], ids=range(10))
    clf.partial_fit(X[100:105], y[100:105], ids=range(5))
    clf.partial_fit(X[100:105], y[100:105], ids=range(5))
    assert clf.n_learnt_ == 110
    assert clf.n_waiting_ == 5


def test_without_weight_a_label_only_ends_the_waiting():
    X, y = stream()
    clf, other = fitted(), fitted()
    for each in (clf, other):
        each.predict(X[100:103])
        each.learn_one(X[100], y[100])
    clf.learn_one(X[101], y[101], 0.0)
    assert (clf.n_waiting_, clf.n_learnt_) == (1, 101)
    other.bank_.issued.forget(other.bank_.issued.find(module.key_of_row(X[101:102])))
    assert same(clf, other)


# Bounded memory --------------------------------------------------------------------------------------------


def test_predictions_that_never_get_a_label_take_bounded_memory(monkeypatch):
    monkeypatch.setattr(module, "MAX_ISSUED", 50)
    X, y = stream()
    clf, one_by_one = fitted(), fitted()
    clf.predict(X[100:180])
    for i in range(100, 180):
        one_by_one.predict_one(X[i])
    assert clf.n_waiting_ == 50
    assert clf.bank_.issued.n_dropped == 30
    assert same(clf, one_by_one)
    assert len(clf.bank_.issued._numbers) == 50
    clf.partial_fit(X[100:180], y[100:180])  # the dropped ones count as never predicted
    assert clf.n_waiting_ == 0
    assert clf.bank_.issued.nbytes == 0


def test_so_many_bytes_at_most(monkeypatch):
    monkeypatch.setattr(module, "MAX_ISSUED_BYTES", 10_000)
    X, _ = stream()
    clf = fitted()
    clf.predict(X)
    assert 0 < clf.bank_.issued.nbytes <= 10_000
    size = next(iter(clf.bank_.issued._waiting.values()))[1].nbytes
    assert clf.n_waiting_ == 10_000 // size


def test_no_row_keeps_all_those_that_it_came_with():
    X, y = stream()
    clf = fitted()
    clf.predict(X)
    clf.partial_fit(X[:397], y[:397])
    bank = clf.bank_
    newest = bank._newest[1]
    waiting = [row for row, _, _ in bank.pool._waiting]
    assert waiting
    for array in (newest.X, newest.answers, *waiting):
        assert (array if array.base is None else array.base).nbytes <= array.nbytes


def test_the_oldest_of_equal_rows_goes_first(monkeypatch):
    monkeypatch.setattr(module, "MAX_ISSUED", 3)
    issued = IssuedPredictions()
    for number, key in enumerate([b"a", b"b", b"a", b"a", b"a"]):
        issued.add(key, np.full((1, 2), float(number)), 0, 0, replace=False)
    assert len(issued) == 3
    assert issued.find(b"b") is None
    for number in (2, 3, 4):
        found = issued.find(b"a")
        assert found.number == number == found.record[0, 0]
        issued.forget(found)
    assert issued.find(b"a") is None
    assert issued.nbytes == len(issued) == 0


def test_a_long_call_remembers_in_parts(monkeypatch):
    from ocboost.estimators.adaptive import bank

    X, _ = stream()
    clf, parts = fitted(), fitted()
    clf.predict(X, ids=range(len(X)))
    monkeypatch.setattr(bank, "ROWS_PER_ISSUE", 7)
    parts.predict(X, ids=range(len(X)))
    assert same(clf, parts)
