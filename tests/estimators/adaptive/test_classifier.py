"""AdaptiveClassifier: the same calls give the same bits, however they are cut; what it takes and gives."""

from __future__ import annotations

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_matrix, csc_matrix, csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from ocboost import AdaptiveClassifier
from tests.support.adaptive import classifier, fitted, same, sparse_stream, state, stream

# The same calls, cut otherwise ----------------------------------------------------------------------------


@pytest.mark.parametrize("K", [2, 3])
def test_rows_learnt_in_any_cut_into_calls(K):
    X, y = stream(K=K)
    whole, one_by_one, cut = fitted(K), fitted(K), fitted(K)
    whole.partial_fit(X[100:200], y[100:200])
    for i in range(100, 200):
        one_by_one.learn_one(X[i].tolist(), y[i].item())
    for part in np.split(np.arange(100, 200), [1, 8, 41, 73, 99]):
        cut.partial_fit(X[part], y[part])
    assert state(whole) == state(one_by_one) == state(cut)
    assert whole.n_learnt_ == 200


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_rows_predicted_one_by_one_and_together(K, sparse):
    X, _ = sparse_stream(K=K) if sparse else stream(K=K)
    clf = fitted(K, sparse=sparse)
    X = X[100:140]
    together = clf.predict_proba(X, issue=False)
    np.testing.assert_array_equal(
        [clf.predict_proba(X[i : i + 1], issue=False)[0] for i in range(40)], together
    )
    rows = X.toarray() if sparse else X
    np.testing.assert_array_equal([clf.predict_proba_one(row, issue=False) for row in rows], together)
    np.testing.assert_array_equal(
        [clf.predict_one(row, issue=False) for row in rows], clf.predict(X, issue=False)
    )
    np.testing.assert_array_equal(clf.predict(X), together.argmax(axis=1))
    np.testing.assert_allclose(together.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_loop_of_one_row_methods_is_that_of_matrices(sparse):
    X, y = sparse_stream() if sparse else stream()
    by_rows, by_matrices = fitted(sparse=sparse), fitted(sparse=sparse)
    for i in range(100, 170):
        row = X[i].toarray()[0] if sparse else X[i]
        assert by_rows.predict_one(row) == by_matrices.predict(X[i : i + 1])[0]
        by_rows.learn_one(row, y[i], 1.5)
        by_matrices.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=[1.5])
    assert same(by_rows, by_matrices)


def test_predictions_issued_together_and_one_by_one():
    X, y = stream()
    together, one_by_one = fitted(), fitted()
    together.predict(X[100:130])
    for i in range(100, 130):
        one_by_one.predict_one(X[i])
    for clf in (together, one_by_one):
        assert clf.n_waiting_ == 30
        clf.partial_fit(X[100:130], y[100:130])
    assert same(together, one_by_one)


@pytest.mark.parametrize(
    "look",
    [
        lambda clf, X, y: clf.predict(X, issue=False),
        lambda clf, X, y: clf.predict_proba(X, ids=range(len(X)), issue=False),
        lambda clf, X, y: clf.predict_one(X[0], issue=False),
        lambda clf, X, y: clf.predict_proba_one(X[0], issue=False),
        lambda clf, X, y: clf.decision_function(X),
        lambda clf, X, y: clf.score(X, y),
        lambda clf, X, y: (clf.members_, clf.nbytes, clf.n_waiting_, repr(clf), copy.copy(clf)),
    ],
)
def test_looking_changes_nothing(look):
    X, y = stream()
    clf, alone = fitted(), fitted()
    for each in (clf, alone):
        each.predict(X[100:103])
    for i in range(100, 125):
        look(clf, X[i : i + 2], y[i : i + 2])
        for each in (clf, alone):
            each.partial_fit(X[i : i + 1], y[i : i + 1])
    assert same(clf, alone)


@pytest.mark.parametrize(
    "again",
    [
        copy.copy,
        copy.deepcopy,
        lambda clf: pickle.loads(pickle.dumps(clf)),
        lambda clf: pickle.loads(pickle.dumps(copy.copy(clf), protocol=2)),
    ],
    ids=["copy", "deepcopy", "pickle", "pickle of a copy"],
)
@pytest.mark.parametrize("K", [2, 3])
def test_a_copy_goes_on_as_the_original_and_leaves_it_alone(again, K):
    X, y = stream(K=K)
    clf, twin = fitted(K), fitted(K)
    for each in (clf, twin):
        each.predict(X[100:120])
        each.partial_fit(X[100:111], y[100:111])
    before = state(twin)
    other = again(clf)
    for each in (other, twin):
        each.partial_fit(X[111:160], y[111:160])
        each.predict(X[160:170])
    assert same(other, twin)
    assert state(clf) == before


def test_a_memory_mapped_pickle_learns(tmp_path):
    X, y = stream()
    clf = fitted()
    joblib.dump(clf, tmp_path / "clf")
    loaded = joblib.load(tmp_path / "clf", mmap_mode="r")
    for each in (clf, loaded):
        each.predict(X[100:150])
        each.partial_fit(X[100:150], y[100:150])
    assert same(clf, loaded)


def test_fit_begins_anew_and_depends_on_the_seed_alone():
    X, y = stream()
    clf = fitted()
    clf.predict(X[100:120])
    clf.partial_fit(X[100:200], y[100:200])
    assert same(clf.fit(X[:100], y[:100]), fitted())
    assert clf.n_waiting_ == 0
    assert not same(classifier(random_state=1).fit(X[:100], y[:100]), fitted())
    assert same(clone(clf).fit(X[:100], y[:100]), clf)
    given = [classifier(random_state=np.random.RandomState(3)).fit(X[:100], y[:100]) for _ in range(2)]
    assert same(*given)


# It learns -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [2, 3, 7, 12])
def test_it_learns(K):
    X, y = stream(900, K, seed=1)
    clf = classifier().fit(X[:300], y[:300])
    right = 0
    for at in range(300, 900, 3):
        right += (clf.predict(X[at : at + 3]) == y[at : at + 3]).sum()
        clf.partial_fit(X[at : at + 3], y[at : at + 3])
    assert right / 600 > {2: 0.75, 3: 0.6, 7: 0.25, 12: 0.15}[K]
    assert clf.n_waiting_ == 0
    assert clf.predict_proba(X[:9]).shape == (9, K)


def test_the_order_of_the_rows_matters_as_it_says():
    X, y = stream()
    assert not same(classifier().fit(X[:100], y[:100]), classifier().fit(X[99::-1], y[99::-1]))


def test_decision_function():
    X, _ = stream()
    p = fitted().predict_proba(X, issue=False)
    np.testing.assert_allclose(fitted().decision_function(X), np.log(p[:, 1] / p[:, 0]))
    X, _ = stream(K=3)
    np.testing.assert_allclose(
        np.exp(fitted(3).decision_function(X)), fitted(3).predict_proba(X, issue=False)
    )


# Labels and classes ----------------------------------------------------------------------------------------

LABELS = {
    "texts": ["a", "bb", "ccc"],
    "objects": np.array(["a", "bb", "ccc"], dtype=object),
    "floats": [-1.5, 0.0, 7.25],
    "bytes of integers": np.array([3, 5, 250], np.uint8),
    "bools": [False, True],
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_any_type(labels, tmp_path):
    names = np.asarray(labels)
    names = names if names.dtype.kind != "f" else names.round()
    K = len(names)
    X, codes = stream(K=K)
    clf, plain = classifier().fit(X[:100], names[codes[:100]]), fitted(K)
    for i in range(100, 130):
        assert clf.predict_one(X[i]) == names[plain.predict_one(X[i])]
        assert not isinstance(clf.predict_one(X[i], issue=False), np.generic)
        clf.learn_one(
            X[i], names[codes[i]] if i % 2 else names[codes[i]].item() if K < 3 else names[codes[i]]
        )
        plain.learn_one(X[i], codes[i])
    clf.save(tmp_path / "model")
    loaded = AdaptiveClassifier.load(tmp_path / "model")
    assert loaded.classes_.dtype == clf.classes_.dtype == names.dtype
    np.testing.assert_array_equal(loaded.predict(X[:50]), names[plain.predict(X[:50])])
    np.testing.assert_array_equal(clf.predict_proba(X), plain.predict_proba(X))


def test_a_class_that_is_not_there_at_first_and_one_that_never_comes_again():
    X, y = stream(600, 4)
    first = y[:300] != 3
    clf = classifier().partial_fit(X[:300][first], y[:300][first], classes=[0, 1, 2, 3])
    assert clf.bank_.pool is not None
    later = y[300:] != 0
    clf.partial_fit(X[300:][later], y[300:][later])
    p = clf.predict_proba(X[:50])
    assert np.isfinite(p).all()
    assert (p > 0.0).all()
    assert (clf.predict(X[300:][later]) == 3).any()
    assert (clf.predict(X[300:], issue=False) == 0).mean() < 0.05


# Kinds of rows ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [csr_matrix, csc_matrix, coo_matrix, lambda X: X.toarray()])
def test_sparse_rows_in_any_form(make):
    X, y = sparse_stream()
    clf, other = fitted(sparse=True), fitted(sparse=True)
    np.testing.assert_array_equal(clf.predict(X[100:150]), other.predict(make(X[100:150])))
    clf.partial_fit(X[100:150], y[100:150])
    other.partial_fit(make(X[100:150]), y[100:150])
    assert other.n_waiting_ == 0
    assert same(clf, other)


def test_stored_zeros_and_entries_in_parts_are_the_same_rows():
    X, y = sparse_stream()
    odd = X[100:110].tocoo()
    rows = np.concatenate([odd.row, odd.row, [0, 1]])
    columns = np.concatenate([odd.col, odd.col, [29, 28]])
    halves = csr_matrix(
        (np.concatenate([odd.data / 2, odd.data / 2, [0.0, -0.0]]), (rows, columns)), odd.shape
    )
    halves.sum_duplicates()
    raw = csr_matrix((halves.data[::1], halves.indices, halves.indptr), halves.shape)
    assert raw.nnz > X[100:110].nnz
    before = raw.copy()
    clf, other = fitted(sparse=True), fitted(sparse=True)
    clf.predict(X[100:110])
    other.predict(raw)
    clf.partial_fit(X[100:110], y[100:110])
    other.partial_fit(X[100:110], y[100:110])
    assert other.n_waiting_ == 0
    assert same(clf, other)
    assert raw.nnz == before.nnz  # what was given is left as it was


def test_sparse_rows_for_one_fitted_on_dense_ones():
    X, y = sparse_stream()
    dense, other = (classifier().fit(X[:100].toarray(), y[:100]) for _ in range(2))
    for clf, rows in ((dense, X.toarray()), (other, X)):
        clf.predict(rows[100:120])
        clf.partial_fit(rows[100:140], y[100:140])
    assert same(dense, other)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, bool])
def test_numbers_of_other_types(dtype):
    X, y = stream()
    X = np.nan_to_num(X * 10).astype(dtype)
    clf, other = classifier().fit(X[:100], y[:100]), classifier().fit(X[:100].astype(float), y[:100])
    for i in range(100, 130):
        assert clf.predict_one(X[i]) == other.predict_one(X[i].astype(float))
        clf.learn_one(X[i], y[i])
        other.learn_one(X[i].astype(float), y[i])
    clf.predict_one(X[130])  # found again by a matrix
    other.predict(X[130:131].astype(float))
    for each in (clf, other):
        each.partial_fit(X[130:131], y[130:131])
        assert each.n_waiting_ == 0
    clf.predict(X[130:150])
    other.predict(np.asfortranarray(X[130:150].astype(float)))
    clf.partial_fit(X[130:150].tolist(), y[130:150])
    other.partial_fit(X[130:150], y[130:150])
    assert clf.n_waiting_ == other.n_waiting_ == 0
    assert same(clf, other)


def test_tables_with_names(tmp_path):
    X, y = stream()
    table = pd.DataFrame(X, columns=["one", "two", "three", "four"])
    clf, plain = classifier().fit(table[:100], pd.Series(y[:100])), fitted()
    assert list(clf.feature_names_in_) == list(table.columns)
    np.testing.assert_array_equal(clf.predict(table[100:120]), plain.predict(X[100:120]))
    clf.partial_fit(table[100:120], y[100:120])
    plain.partial_fit(X[100:120], y[100:120])
    np.testing.assert_array_equal(clf.predict_proba(table), plain.predict_proba(X))
    clf.save(tmp_path / "model")
    loaded = AdaptiveClassifier.load(tmp_path / "model")
    assert list(loaded.feature_names_in_) == list(table.columns)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(table.rename(columns={"two": "zwei"}))


def test_any_nan_is_missing():
    X, y = stream()
    odd = X[100:110].copy()
    odd[:, 1] = np.nan
    other = odd.copy()
    other[:, 1] = -np.float64("nan")
    other[:, 2] = np.where(other[:, 2] == 0.0, -0.0, other[:, 2])
    assert odd.tobytes() != other.tobytes()
    clf = fitted()
    clf.predict(odd)
    clf.partial_fit(other, y[100:110])
    assert clf.n_waiting_ == 0


def test_nothing_before_it_is_fitted():
    clf, (X, y) = classifier(), stream()
    for look in (
        lambda: clf.predict(X),
        lambda: clf.predict_proba(X),
        lambda: clf.predict_one(X[0]),
        lambda: clf.learn_one(X[0], y[0]),
        lambda: clf.members_,
        lambda: clf.n_learnt_,
        lambda: clf.n_waiting_,
        lambda: clf.nbytes,
        lambda: clf.plot_shares(),
        lambda: clf.save("nowhere"),
    ):
        with pytest.raises(NotFittedError, match="not fitted"):
            look()
    assert not hasattr(clf, "members_")
    assert set(vars(clf)) - {"_guard_kept"} == set(clf.get_params())
    assert copy.copy(clf).get_params() == clf.get_params()
    pickle.loads(pickle.dumps(clf)).fit(X[:50], y[:50])
