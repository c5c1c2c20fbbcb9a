"""A classifier that learns partitions: as if it had seen all rows, where they fit."""

from __future__ import annotations

import functools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import NotFittedError

from ocboost import InputError, OCBClassifier
from ocboost.boosters import OzaRussell
from ocboost.dask import learn_partitions
from ocboost.offsets import LinearOffset
from tests.dask.test_merging import cut, of_unknown_sizes
from tests.naive.sketch import adaboost_weights
from tests.support.classifiers import assert_same_weights, examples

dask = pytest.importorskip("dask")

START, ALL = 60, 300  # rows that the classifiers are fitted on, and rows there are


@pytest.fixture(autouse=True, scope="module")
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@functools.cache
def rows_of(K):
    X, y = examples(K, ALL)
    X[::17, 1] = np.nan
    X.flags.writeable = y.flags.writeable = False  # as Dask's workers have them
    return X, y


@functools.cache
def fitted(K):
    X, y = rows_of(K)
    return OCBClassifier(n_hypotheses=6, head=400).fit(X[:START], y[:START])


def made(K=2, **parameters):
    X, y = rows_of(K)
    return OCBClassifier(**{"n_hypotheses": 6, "head": 400, **parameters}).fit(X[:START], y[:START])


def rest(K=2, sizes=(100, 0, 140)):
    X, y = rows_of(K)
    stop = START + sum(sizes)
    return cut(X[START:stop], sizes), cut(y[START:stop], sizes)


def exact_weights(clf, X, y, weights):
    """AdaBoost on all rows, over the hypotheses of each booster."""
    answers, columns, found = clf.hypotheses_.answers(X), clf.committee_.columns, []
    for k, own in enumerate(columns):
        target = np.where(y == clf.classes_[1 if len(columns) == 1 else k], 1, -1)
        found.append(adaboost_weights(answers[:, own] * target[:, None], sample_weight=weights))
    return found


def assert_close(mine, others, atol=1e-9):
    for a, b in zip(mine, others, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=atol)


@given(
    st.sampled_from([2, 3]),
    st.lists(st.integers(0, 40), min_size=1, max_size=6).filter(any),
    st.booleans(),
    st.booleans(),
)
def test_what_fits_is_adaboost_however_it_is_cut(K, sizes, unknown, weighted):
    clf, (X, y), stop = fitted(K), rows_of(K), START + sum(sizes)
    weights = np.ones(stop)
    if weighted:
        weights[START:] = np.random.default_rng(stop).choice([0.0, 1.0, 4.0], sum(sizes))
        weights[-1] = 2.0
    before = pickle.dumps(clf)
    rows, labels = rest(K, sizes)
    learnt = learn_partitions(
        clf,
        of_unknown_sizes(rows) if unknown else rows,
        labels,
        cut(weights[START:], sizes) if weighted else None,
        split_every=2,
    )
    assert_close(learnt.alpha_, exact_weights(clf, X[:stop], y[:stop], weights))
    assert [booster.n_seen for booster in learnt.boosters_] == [stop] * len(learnt.boosters_)
    assert pickle.dumps(clf) == before


@pytest.mark.parametrize("K", [2, 3])
def test_what_does_not_fit_is_close_and_goes_on(K, tmp_path):
    X, y = rows_of(K)
    clf = made(K, head=50)
    learnt = learn_partitions(clf, *rest(K))
    expected = exact_weights(clf, X, y, None)
    for mine, exact in zip(learnt.alpha_, expected, strict=True):
        assert 0 < np.abs(mine - exact).max() < 0.15
    assert max(booster.n_head for booster in learnt.boosters_) <= 50
    learnt.save(tmp_path / "model")
    again = OCBClassifier.load(tmp_path / "model")
    assert_same_weights(again.partial_fit(X[:20], y[:20]), learnt.partial_fit(X[:20], y[:20]))
    learnt.set_params(head=30).partial_fit(X[:1], y[:1])
    assert learnt.boosters_[0].n_head <= 30


def test_settings_that_were_changed_count():
    learnt = learn_partitions(made(head=20).set_params(smoothing=3.0, head=400), *rest())
    assert learnt.boosters_[0].smoothing == 3.0
    assert learnt.boosters_[0].head == 400
    # A sketch that was a window keeps the newest, whatever its parameter says.
    clf = made(head=30, tail=False).set_params(tail=True)
    learnt = learn_partitions(clf, *rest())
    assert learnt.boosters_[0].keep == "newest"
    assert learnt.boosters_[0].n_seen > 240


def test_sample_weights_are_scaled_as_those_of_the_first_call():
    X, y = rows_of(2)
    clf = OCBClassifier(n_hypotheses=6, head=400)
    clf.fit(X[:START], y[:START], np.full(START, 0.01))
    assert clf.weight_scale_ == pytest.approx(100.0)
    learnt = learn_partitions(clf, *rest(), np.full(240, 0.01))
    assert_close(learnt.alpha_, exact_weights(clf, X, y, np.ones(ALL)))


def test_an_offset():
    X, y = rows_of(2)
    X = np.nan_to_num(X)
    offset = LinearOffset(np.array([0.8, 0.1, 0.0, 0.0]), 0.1)
    clf = OCBClassifier(n_hypotheses=6, head=400, offset=offset).fit(X[:START], y[:START])
    learnt = learn_partitions(clf, cut(X[START:], (100, 140)), y[START:])
    assert_close(learnt.alpha_, clf.__copy__().partial_fit(X[START:], y[START:]).alpha_)
    np.testing.assert_allclose(learnt.decision_function(X) - offset(X), _votes(learnt, X), atol=1e-12)


def _votes(clf, X):
    return clf.hypotheses_.answers(X) @ clf.alpha_[0]


@pytest.mark.parametrize("K", [2, 3])
def test_deployed_weights_fade_as_in_one_stream(K):
    X, y = rows_of(K)
    X, weights = np.nan_to_num(X), np.linspace(0.5, 2.0, ALL - START)
    deployed = AdaBoostClassifier(n_estimators=6, random_state=0).fit(X[:START], y[:START])
    clf = OCBClassifier.from_fitted(deployed, X[:START], y[:START], head=400)
    learnt = learn_partitions(clf, cut(X[START:], (100, 140)), y[START:], weights)
    expected = clf.__copy__().partial_fit(X[START:], y[START:], sample_weight=weights)
    assert_close(learnt.alpha_, expected.alpha_)
    assert (clf.predict(X) == deployed.predict(X)).all()
    # And from there on.
    assert_close(learnt.partial_fit(X[:9], y[:9]).alpha_, expected.partial_fit(X[:9], y[:9]).alpha_)


def test_the_weights_of_the_start_stay():
    clf = made()
    learnt = learn_partitions(clf, *rest())
    assert_close([each.alpha for each in learnt.committee_.start_weights], clf.alpha_, atol=0)


def test_tables():
    pytest.importorskip("pyarrow")
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y = rows_of(2)
    table = pd.DataFrame(X, columns=list("abcd")).assign(e=np.where(X[:, 0] > 0.5, "high", "low"))
    labels = pd.Series(np.where(y > 0, "yes", "no"), name="y")
    clf = OCBClassifier(n_hypotheses=6, head=400).fit(table[:START], labels[:START])
    cuts = [START, 90, 200, ALL - 1]
    rows, known = (dd.from_pandas(each[START:], npartitions=1).repartition(cuts) for each in (table, labels))
    learnt = learn_partitions(clf, rows, known)
    expected = clf.__copy__().partial_fit(table[START:], labels[START:])
    assert_close(learnt.alpha_, expected.alpha_)
    with pytest.raises(InputError, match=r"y must be a Dask array where the sizes .* of X are not known"):
        learn_partitions(clf, rows, labels[START:])


# Errors ---------------------------------------------------------------------------------------------------


def test_an_unseen_class_is_named():
    y = rows_of(2)[1][START:].copy()
    y[150] = 7
    with pytest.raises(
        InputError, match=r"in partition 2: y must hold the classes \[0, 1\]; got 7 in row 50"
    ):
        learn_partitions(fitted(2), rest()[0], y)


def test_bad_rows_labels_and_weights_are_named():
    (X, y), clf = rest(), fitted(2)
    bad = X.compute().copy()
    bad[120, 3] = np.inf
    with pytest.raises(InputError, match="in partition 2: Input X contains infinity"):
        learn_partitions(clf, cut(bad, (100, 0, 140)), y)
    with pytest.raises(
        InputError, match=r"in partition \d: X has 3 features, but OCBClassifier is expecting 4"
    ):
        learn_partitions(clf, X[:, :3], y)
    with pytest.raises(
        InputError, match=r"in partition \d: sample_weight must be finite and not negative; got -1"
    ):
        learn_partitions(clf, X, y, np.full(240, -1.0))
    with pytest.raises(InputError, match="sample_weight must hold at least one number that is not 0"):
        learn_partitions(clf, X, y, np.zeros(240))
    with pytest.raises(InputError, match="y must be one for each of the 240 rows of X; got 239"):
        learn_partitions(clf, X, y[1:])
    with pytest.raises(InputError, match="in partition 1: Found input variables with inconsistent numbers"):
        learn_partitions(
            clf, of_unknown_sizes(cut(X.compute(), (100, 140))), cut(y.compute()[1:], (100, 139))
        )
    with pytest.raises(InputError, match="in partition 1: "):  # rows are missing, labels are not
        learn_partitions(
            clf,
            of_unknown_sizes(cut(X.compute(), (100, 140)), np.arange(240) < 100),
            y.rechunk(((100, 140),)),
        )
    with pytest.raises(InputError, match="y must hold the class of each row of X; got None"):
        learn_partitions(clf, X, None)
    with pytest.raises(InputError, match=r"X must be a Dask array or data frame; got ndarray.*partial_fit"):
        learn_partitions(clf, X.compute(), y)
    with pytest.raises(InputError, match="all 3 partitions are empty"):
        learn_partitions(
            clf, of_unknown_sizes(X, np.zeros(240, bool)), of_unknown_sizes(y, np.zeros(240, bool))
        )


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"forgetting": 0.99}, r"remember all it has seen .* got forgetting=0.99\. Use partial_fit"),
        ({"tail": False, "head": 30}, "remember all it has seen .* got a window"),
        ({"grow": 12}, r"must not grow \(grow=None\).* got grow=12"),
        ({"class_weight": "balanced"}, "must not have class_weight='balanced'"),
        ({"booster": OzaRussell(1), "head": "auto"}, "must have the booster 'ocb'.* got OzaRussell"),
    ],
)
def test_classifiers_that_need_one_stream_are_refused(parameters, said):
    with pytest.raises(
        InputError, match=f"clf {said}" if not said.startswith("remember") else f"clf must {said}"
    ):
        learn_partitions(made(**parameters), *rest())


def test_what_is_no_fitted_classifier():
    with pytest.raises(InputError, match=r"clf must be an ocboost.OCBClassifier; got str"):
        learn_partitions("stump", *rest())
    with pytest.raises(NotFittedError):
        learn_partitions(OCBClassifier(), *rest())
