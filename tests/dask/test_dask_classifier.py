"""`DaskOCBClassifier` on a cluster of two processes: what one machine finds, however the rows are cut."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from ocboost import InputError, OCBClassifier
from ocboost._shards.features import BinnedFeatures
from ocboost.hypotheses import Stumps
from ocboost.learners import StumpLearner
from tests.support.dask_clusters import local_cluster, processes  # noqa: F401
from tests.support.doomed_workers import hide_xgboost, show_xgboost
from tests.support.shards import some_rows

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

from ocboost.dask import DaskOCBClassifier  # noqa: E402
from ocboost.dask.tasks import bin_partition  # noqa: E402


@pytest.fixture(scope="module")
def client(processes):  # noqa: F811
    with distributed.Client(processes) as client:
        yield client


def cut(array, chunks):
    rows = (chunks, *((-1,) * (array.ndim - 1)))
    return da.from_array(array, chunks=rows)


def assert_same(found, expected):
    """The same hypotheses, and weights to 1e-10, also after more examples."""
    assert found.classes_.tolist() == expected.classes_.tolist()
    one, other = found.hypotheses_, expected.hypotheses_
    for name in ("feature", "threshold", "left", "missing"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    for a, b in zip(found.alpha_, expected.alpha_, strict=True):
        assert np.abs(a - b).max() < 1e-10


# Equal to one machine --------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", [37, (1, 0, 298, 0, 1), 300])
def test_any_partitioning(client, chunks):
    X, y = some_rows(300, 1)
    weights = np.random.default_rng(1).integers(0, 3, 300) * 1.5
    clf = DaskOCBClassifier(25, client).fit(cut(X, chunks), cut(y, chunks), cut(weights, chunks))
    expected = OCBClassifier(n_hypotheses=25).fit(X, y, weights)
    assert_same(clf, expected)
    assert clf.n_rows_ == np.count_nonzero(weights)
    local = clf.to_local()
    assert np.abs(local.alpha_[0] - expected.alpha_[0]).max() < 1e-10
    assert (local.partial_fit(X, y).predict(X) == expected.partial_fit(X, y).predict(X)).mean() > 0.99


def test_actors_find_the_same(client):
    X, y = some_rows(300, 2, n_classes=3)
    client.run(hide_xgboost)
    try:
        clf = DaskOCBClassifier(10, client).fit(cut(X, 40), cut(y, 40))
    finally:
        client.run(show_xgboost)
    assert_same(clf, OCBClassifier(n_hypotheses=10).fit(X, y))
    assert_same(DaskOCBClassifier(10, client).fit(cut(X, 40), cut(y, 40)), clf)


@pytest.mark.parametrize("protocol", ["inproc://", "tcp"])
def test_workers_in_threads(protocol):
    X, y = some_rows(300, 3)
    with (
        local_cluster(n_workers=2, processes=False, protocol=protocol) as cluster,
        distributed.Client(cluster),
    ):
        clf = DaskOCBClassifier(10).fit(cut(X, 50), cut(y, 50))  # the client is the present one
    assert_same(clf, OCBClassifier(n_hypotheses=10).fit(X, y))


def test_edges_that_are_given_and_edges_of_its_own(client):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(4000, 3))
    y = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)
    clf = DaskOCBClassifier(40, client).fit(cut(X, 500), cut(y, 500))
    assert [len(edges) for edges in clf.edges_] == [254, 254, 254]
    local = OCBClassifier(StumpLearner(edges=clf.edges_), 40).fit(X, y)
    assert_same(clf, local)
    again = DaskOCBClassifier(40, client, estimator=StumpLearner(edges=clf.edges_)).fit(
        cut(X, 777), cut(y, 777)
    )
    assert_same(again, local)
    assert (
        abs(np.mean(clf.to_local().predict(X) == y) - OCBClassifier(n_hypotheses=40).fit(X, y).score(X, y))
        < 0.02
    )


def test_hypotheses_that_are_given(client):
    X, y = some_rows(400, 5, n_classes=3)
    stumps = Stumps([0, 1, 3, 0], [3.5, 0.4, 2.5, 6.5], [1, -1, 1, 1], n_features=6)
    clf = DaskOCBClassifier(client=client, estimator=stumps).fit(cut(X, 90), cut(y, 90))
    assert_same(clf, OCBClassifier(stumps).fit(X, y))
    assert clf.edges_ is None


def test_settings_of_the_sketch_and_of_the_decision(client):
    X, y = some_rows(2000, 6)
    how = {"memory": 20_000, "smoothing": 3.0, "class_weight": "balanced", "threshold": 0.7}
    clf = DaskOCBClassifier(20, client, **how).fit(cut(X, 300), cut(y, 300))
    expected = OCBClassifier(n_hypotheses=20, **how).fit(X, y)
    assert_same(clf, expected)
    assert (clf.to_local().predict(X) == expected.predict(X)).all()
    booster = clf.to_local().boosters_[0]
    assert (booster.memory, booster.smoothing, booster.n_seen) == (20_000, 3.0, 2000)
    window = clf.to_local().set_params(tail=False, head=50, memory=None).partial_fit(X[:10], y[:10])
    assert window.boosters_[0].window_size == 50


# Tables ----------------------------------------------------------------------------------------------------


def table(n=500, seed=7):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "amount": rng.integers(0, 20, n) / 4,
            "colour": rng.choice(["red", "green", "blue"], n),
            "old": rng.random(n) < 0.5,
            "kind": pd.Categorical(rng.choice(["a", "b"], n)),
        }
    )
    frame.loc[rng.random(n) < 0.1, "amount"] = np.nan
    late = (frame["amount"].fillna(2) > 2.5) ^ (frame["colour"] == "red")
    return frame, pd.Series(np.where(late, "late", "on time"), name="arrival", dtype=object)


def test_data_frames(client):
    frame, labels = table()
    X, y = dd.from_pandas(frame, npartitions=4), dd.from_pandas(labels.to_frame(), npartitions=4)["arrival"]
    clf = DaskOCBClassifier(15, client).fit(X, y)
    expected = OCBClassifier(n_hypotheses=15).fit(frame, labels)
    assert_same(clf, expected)
    assert clf.to_local().schema_ == expected.schema_
    predicted = clf.predict(X)
    assert isinstance(predicted, dd.Series)
    assert predicted.compute().tolist() == expected.predict(frame).tolist()
    shares = clf.predict_proba(X).compute()
    assert shares.columns.tolist() == ["late", "on time"]
    assert np.allclose(shares.to_numpy(), expected.predict_proba(frame))
    assert clf.score(X, y) == pytest.approx(expected.score(frame, labels))


def test_unknown_divisions(client):
    frame, labels = table()
    both = dd.from_pandas(frame.assign(arrival=labels), npartitions=3).clear_divisions()
    both = both[both["amount"] != 1.0]  # sizes are unknown as well
    kept = frame["amount"] != 1.0
    clf = DaskOCBClassifier(10, client).fit(both[frame.columns.tolist()], both["arrival"])
    assert_same(clf, OCBClassifier(n_hypotheses=10).fit(frame[kept], labels[kept]))


# Answers ---------------------------------------------------------------------------------------------------


def test_answers_are_lazy_and_those_of_the_local_classifier(client):
    X, y = some_rows(300, 8, n_classes=3)
    clf = DaskOCBClassifier(8, client).fit(cut(X, 100), cut(y, 100))
    local, rows = clf.to_local(), da.from_array(X, chunks=(70, 4))
    for method in ("predict", "predict_proba", "decision_function"):
        lazy = getattr(clf, method)(rows)
        assert isinstance(lazy, da.Array)
        expected = getattr(local, method)(X)
        assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
        assert (lazy.compute() == expected).all()
        assert (getattr(clf, method)(X) == expected).all()  # rows in memory
    weights = np.arange(300.0)
    assert clf.score(rows, cut(y, 70), cut(weights, 70)) == pytest.approx(local.score(X, y, weights))


def test_unknown_sizes_and_empty_blocks(client):
    X, y = some_rows(300, 9)
    clf = DaskOCBClassifier(8, client).fit(cut(X, 100), cut(y, 100))
    rows = cut(X, 100)
    some = rows[rows[:, 0] > 100.0]  # none, and Dask does not know it
    assert clf.predict(some).compute().shape == (0,)
    assert clf.predict_proba(some).compute().shape == (0, 2)
    filled = cut(np.nan_to_num(X), 60)
    chosen = filled[:, 0] > 2.0
    again = DaskOCBClassifier(8, client).fit(filled[chosen], cut(y, 60)[chosen])
    kept = np.nan_to_num(X)[:, 0] > 2.0
    assert_same(again, OCBClassifier(n_hypotheses=8).fit(np.nan_to_num(X)[kept], y[kept]))


def test_empty_partitions_among_others(client):
    X, y = some_rows(200, 14)
    clf = DaskOCBClassifier(5, client).fit(cut(X, 100), cut(y, 100))
    parts = (100, 0, 100)
    for method in ("predict", "predict_proba", "decision_function"):
        expected = getattr(clf.to_local(), method)(X)
        assert np.array_equal(getattr(clf, method)(cut(X, parts)).compute(), expected)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    tables = dd.from_pandas(frame, npartitions=2)
    clf.fit(tables, dd.from_pandas(pd.Series(y), npartitions=2))
    some = tables[tables["a"] > 100.0]  # none
    assert clf.predict(dd.concat([tables, some])).compute().dtype == y.dtype
    assert clf.predict(some).partitions[0].compute().dtype == y.dtype


def test_a_client_that_is_not_the_default(processes):  # noqa: F811
    frame, labels = table(200)
    X, y = dd.from_pandas(frame, npartitions=2), dd.from_pandas(labels.to_frame(), npartitions=2)["arrival"]
    with distributed.Client(processes, set_as_default=False) as other:
        X, y = other.persist(X), other.persist(y)
        clf = DaskOCBClassifier(5, other).fit(X, y)
        assert clf.score(X, y) == pytest.approx(clf.to_local().score(frame, labels))


def test_rows_that_change_between_the_passes_are_refused():
    X, y = some_rows(60, 15)
    features = BinnedFeatures.of([np.array([2.5])] * 6, np.ones(6, bool))
    assert bin_partition(X, y, None, None, 3, np.unique(y), features, 60).bins.shape == (6, 60)
    with pytest.raises(InputError, match=r"partition 3: X must stay the same.*had 61 rows.*now has 60"):
        bin_partition(X, y, None, None, 3, np.unique(y), features, 61)


def test_decisions_may_change_after_the_fit(client):
    X, y = some_rows(200, 14)
    clf = DaskOCBClassifier(5, client).fit(cut(X, 100), cut(y, 100))
    clf.set_params(threshold=0.99)
    expected = OCBClassifier(n_hypotheses=5, threshold=0.99).fit(X, y).predict(X)
    assert (clf.predict(X) == expected).all()
    assert (clf.predict(cut(X, 50)).compute() == expected).all()


def test_copies(client):
    X, y = some_rows(200, 10)
    clf = DaskOCBClassifier(5, client).fit(cut(X, 100), cut(y, 100))
    assert clone(clf).client is client
    loaded = pickle.loads(pickle.dumps(clf))
    assert loaded.client is None
    assert (loaded.predict(X) == clf.predict(X)).all()
    clf.to_local().partial_fit(X, y)
    assert clf.to_local().boosters_[0].n_seen == 200


# Bad input -------------------------------------------------------------------------------------------------


def bad(client, message, X, y, weights=None, **how):
    with pytest.raises(InputError, match=message):
        DaskOCBClassifier(5, client, **how).fit(X, y, weights)


def test_bad_input(client):
    X, y = some_rows(100, 11)
    rows, labels = cut(X, 30), cut(y, 30)
    bad(client, "X must be an array or a data frame of Dask; got ndarray", X, labels)
    bad(client, "y must be an array or a data frame of Dask; got ndarray", rows, y)
    bad(client, "one value for each of the 100 rows; got 99", rows, cut(y[:99], 30))
    bad(client, "y must have one dimension", rows, rows)
    bad(client, "X must have two dimensions", labels, labels)
    bad(client, "at least two classes.*got one class, 1", rows, da.ones(100, chunks=30, dtype=int))
    bad(client, "all partitions are empty", rows[:0], labels[:0])
    three, some = np.arange(100) % 3, np.where(np.arange(100) % 3 == 2, 0.0, 1.0)
    bad(client, "not be 0 in all rows of a class; it is for 2", rows, cut(three, 30), cut(some, 30))
    bad(client, "sample_weight must not be 0 in all rows", rows, labels, da.zeros(100, chunks=30))
    bad(
        client,
        "partition 1: sample_weight must",
        rows,
        labels,
        cut(np.where(np.arange(100) == 40, -1.0, 1.0), 30),
    )
    mixed = np.where(np.arange(100) == 40, None, np.where(y > 0, "a", "b").astype(object))
    bad(client, "y must hold labels of one type", rows, cut(mixed, 30))
    for size, word in ((1e-320, "small"), (1.7e308, "large")):
        bad(client, f"sample_weight must not be as {word} as this", rows, labels, cut(np.full(100, size), 30))
    infinite = X.copy()
    infinite[70, 0] = np.inf
    bad(client, "partition 2: X must not hold infinity", cut(infinite, 30), labels)
    bad(
        client, r"partition \d: y must hold a label for each row", rows, cut(np.where(y > 0, np.nan, 1.0), 30)
    )
    bad(client, "X must hold numbers", cut(X.astype(str), 30), labels)
    bad(client, "estimator must be None, 'stump'", rows, labels, estimator="ball")
    bad(client, "smoothing must be at least", rows, labels, smoothing=0.0)
    bad(
        client,
        "edges must be given for each of the 6 features",
        rows,
        labels,
        estimator=StumpLearner(edges=[[1.0]]),
    )
    bad(client, "head must be 'auto' or at least 2 examples; got 1", rows, labels, head=1)
    sparse = da.from_array(X, chunks=(30, -1)).map_blocks(
        lambda block: __import__("scipy.sparse").sparse.csr_matrix(block)
    )
    bad(client, "X must be dense", sparse, labels)


def test_bad_tables(client):
    frame, labels = table(200)
    X, y = dd.from_pandas(frame, npartitions=3), dd.from_pandas(labels.to_frame(), npartitions=3)["arrival"]
    other = dd.from_pandas(labels.to_frame(), npartitions=2)["arrival"]
    bad(client, "y must have the divisions of X", X, other)
    bad(client, "y must have the 3 partitions of X; it has 2", X.clear_divisions(), other.clear_divisions())
    shifted = dd.from_pandas(labels.set_axis(range(1, 201)).to_frame(), npartitions=3)["arrival"]
    bad(
        client,
        r"partition \d: X and y must have the same index",
        X.clear_divisions(),
        shifted.clear_divisions(),
    )
    weights = dd.from_pandas(pd.Series(np.arange(200.0), name="w", index=range(1, 201)), npartitions=3)
    bad(
        client,
        r"partition \d: X and sample_weight must have the same index",
        X.clear_divisions(),
        y.clear_divisions(),
        weights.clear_divisions(),
    )
    numbered = frame.set_axis([0, 1, 2, 3], axis=1)
    bad(client, "names are texts", dd.from_pandas(numbered, npartitions=3), y)
    parts = [frame.iloc[:100], frame.iloc[100:].assign(amount="much")]
    mixed = dd.from_map(lambda part: parts[part], [0, 1], meta=frame.iloc[:0])
    own = dd.from_map(
        lambda part: [labels.iloc[:100], labels.iloc[100:]][part].to_frame(),
        [0, 1],
        meta=labels.iloc[:0].to_frame(),
    )
    bad(client, "column 'amount' must hold numbers", mixed, own["arrival"])


def test_without_a_client(monkeypatch):
    def nobody():
        raise ValueError("No global client found")

    X, y = some_rows(50, 12)
    monkeypatch.setattr("distributed.get_client", nobody)
    with pytest.raises(InputError, match="there must be a Dask client"):
        DaskOCBClassifier(5).fit(cut(X, 25), cut(y, 25))
    with pytest.raises(InputError, match=r"client must be a dask\.distributed\.Client; got str"):
        DaskOCBClassifier(5, "tcp://127.0.0.1:1").fit(cut(X, 25), cut(y, 25))


@pytest.mark.parametrize("estimator", [OCBClassifier(), OCBClassifier(estimator="ball")])
def test_other_classifiers_say_what_to_use(estimator):
    X, y = some_rows(50, 13)
    with pytest.raises(InputError, match=r"got Array of Dask\. Use ocboost\.dask\.DaskOCBClassifier"):
        estimator.fit(cut(X, 25), cut(y, 25))
    with pytest.raises(InputError, match="map_blocks"):
        OCBClassifier(n_hypotheses=2).fit(X, y).predict(cut(X, 25))
