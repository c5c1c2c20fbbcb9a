"""The stores of fleets, and the models that they begin with."""

from __future__ import annotations

import copy
import os
import stat

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from ocboost import AdaptiveClassifier, InputError, Model, OCBClassifier

pytest.importorskip("lmdb")

from ocboost.fleet import Fleet, FleetStoreError
from ocboost.fleet.state import REFRESH
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


# Stores ---------------------------------------------------------------------------------------------------


def test_a_store_is_opened_again(tmp_path):
    """With the model, without it, and only to read it; what it learns is as if it had stayed open."""
    store = tmp_path / "a folder" / "store"
    with Fleet(model(), store=store, window=30) as fleet:
        fleet.learn(KEYS[:650], X[:650], Y[:650])
        votes = fleet.votes(KEYS, X)
    with Fleet(store=str(store), read_only=True) as fleet:
        np.testing.assert_array_equal(fleet.votes(KEYS, X), votes)
        assert (fleet.window, fleet.rows) == (30, 650)
    with Fleet(model(), store=store) as fleet:
        fleet.learn(KEYS[650:1200], X[650:1200], Y[650:1200])
    with Fleet(store=store, window=30) as fleet, Fleet(model(), store=tmp_path / "b", window=30) as other:
        other.learn(KEYS[:1200], X[:1200], Y[:1200])
        assert records(fleet) == records(other)
        assert fleet.rows > 2 * REFRESH
    assert stat.S_IMODE(os.stat(store).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(store / "data.mdb").st_mode) == 0o600


def test_the_window_is_that_of_the_store(tmp_path):
    with Fleet(model(), store=tmp_path / "store") as fleet:
        assert fleet.window == 200
    with Fleet(model(), store=tmp_path / "store", window=200) as fleet:
        assert fleet.window == 200
    with pytest.raises(FleetStoreError, match=r"window must be 200, as in the store in .*; got 100\. Leave"):
        Fleet(model(), store=tmp_path / "store", window=100)


def test_a_store_of_another_model(tmp_path):
    with Fleet(model(), store=tmp_path / "store") as fleet:
        fleet.learn(KEYS[:9], X[:9], Y[:9])
        before = records(fleet)
    for other in (model(J=11), model(3), model(threshold=0.3), model(n=201)):
        with pytest.raises(FleetStoreError, match=r"belongs to another model\. Give the one"):
            Fleet(other, store=tmp_path / "store")
    with Fleet(copy.copy(model()), store=tmp_path / "store") as fleet:
        assert records(fleet) == before


def test_a_model_with_a_history_is_known_again(tmp_path):
    given = Model(model(), None, [{"command": "fit"}])
    Fleet(given, store=tmp_path / "store").close()
    with Fleet(given, store=tmp_path / "store") as fleet:
        assert fleet.model.history == [{"command": "fit"}]
    Fleet(model(), store=tmp_path / "store").close()


def test_room_of_dropped_keys_is_given_back(tmp_path):
    with Fleet(model(), store=tmp_path / "store", window=40) as fleet:
        many = np.arange(len(X))
        fleet.learn(many, X, Y)
        fleet.learn(KEYS[:300], X[:300], Y[:300])
        fleet.drop(many)
        expected, votes = records(fleet), fleet.votes(KEYS, X)
        before, after = fleet.compact()
        assert after < before / 3
        assert after == fleet.info().bytes
        assert records(fleet) == expected
        np.testing.assert_array_equal(fleet.votes(KEYS, X), votes)
        fleet.learn(KEYS[300:400], X[300:400], Y[300:400])
        expected = records(fleet)
    assert not (tmp_path / "store" / "data.mdb.new").exists()
    with Fleet(store=tmp_path / "store") as fleet:
        assert records(fleet) == expected


def test_another_working_directory(tmp_path, monkeypatch):
    """A store that was named by where it lies from here stays where it is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with Fleet(model(), store="store", window=40) as fleet:
        fleet.learn(KEYS[:300], X[:300], Y[:300])
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert fleet.info().bytes == os.path.getsize(tmp_path / "store" / "data.mdb")
        fleet.compact()
        fleet.learn(KEYS[:3], X[:3], Y[:3])
        assert fleet.rows == 303
    assert list((tmp_path / "elsewhere").iterdir()) == []


# Models ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{"booster": "oza"}, {"booster": "logistic"}, {"head": 50, "tail": False}]
)
def test_models_of_other_boosters(tmp_path, options):
    check_model(tmp_path, OCBClassifier(n_hypotheses=8, random_state=0, **options).fit(X[:200], Y[:200]))


def test_a_model_that_grows_does_not_grow_in_a_fleet(tmp_path):
    clf = OCBClassifier(n_hypotheses=8, random_state=0, grow=50, forgetting=0.99, head=100).fit(
        X[:300], Y[:300]
    )
    check_model(tmp_path, clf)
    assert clf.grow == 50


def test_a_deployed_adaboost(tmp_path):
    for K in (2, 3):
        X, y, _ = rows(K=K)
        deployed = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=9, random_state=0)
        clf = OCBClassifier.from_fitted(deployed.fit(X[:200], y[:200]), X[:200], y[:200])
        check_model(tmp_path / str(K), clf, X, y)


@pytest.mark.parametrize("scale", [1e5, 1e30, 9e98])
def test_weights_beyond_all_measure(tmp_path, scale):
    """Such a model is refused, or what is written can be read again."""
    deployed = AdaBoostClassifier(n_estimators=9, random_state=0).fit(X[:200], Y[:200])
    deployed.estimator_weights_ *= scale
    clf = OCBClassifier.from_fitted(deployed, X[:200], Y[:200])
    try:
        fleet = Fleet(clf, store=tmp_path / "store", window=20)
    except InputError:
        return
    with fleet:
        fleet.learn(KEYS, X, Y)
        assert np.isfinite(fleet.votes(KEYS, X)).all()
    with Fleet(store=tmp_path / "store") as fleet:
        fleet.learn(KEYS, X, Y)
        assert np.isfinite(fleet.votes(KEYS, X)).all()
        assert fleet.verify() == []


def test_sparse_rows(tmp_path):
    dense = np.where(X > 0.5, X, 0.0)
    some = csr_matrix(dense)
    clf = OCBClassifier(n_hypotheses=12, random_state=0).fit(some[:200], Y[:200])
    check_model(tmp_path, clf, some)
    with Fleet(clf, store=tmp_path / "dense", window=20) as fleet:
        fleet.learn(KEYS[:300], dense[:300], Y[:300])
        expected = records(fleet)[0]
    with Fleet(clf, store=tmp_path / "sparse", window=20) as fleet:
        fleet.learn(KEYS[:300], some[:300], Y[:300])
        assert records(fleet)[0] == expected


def test_missing_values(tmp_path):
    some = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    clf = OCBClassifier(n_hypotheses=12, random_state=0).fit(some[:200], Y[:200])
    check_model(tmp_path, clf, some)


def check_model(folder, clf, some=X, y=Y):
    """A fleet begins as its model, learns, exports, and is opened again with it."""
    with Fleet(clf, store=folder / "store", window=20) as fleet:
        np.testing.assert_array_equal(fleet.votes(KEYS, some), clf.decision_function(some))
        assert fleet.classifier.grow is None
        predicted = fleet.learn(KEYS[:600], some[:600], y[:600])
        assert (predicted == y[:600]).mean() > (clf.predict(some[:600]) == y[:600]).mean() - 0.05
        np.testing.assert_allclose(
            fleet.export("key 0").decision_function(some[:50]),
            fleet.votes(["key 0"] * 50, some[:50]),
            atol=1e-9,
        )
        assert fleet.verify() == []
        expected = records(fleet)
    with Fleet(clf, store=folder / "store") as fleet:
        assert records(fleet) == expected


@pytest.fixture(scope="module")
def adaptive():
    return AdaptiveClassifier(random_state=0, threshold=0.7).fit(X[:300], Y[:300])


def test_the_ocb_of_an_adaptive_classifier(tmp_path, adaptive):
    """Itself, its file, and its model are the same."""
    adaptive.save(tmp_path / "model.ocb")
    pool = adaptive.bank_.pool
    with Fleet(adaptive, store=tmp_path / "store") as fleet:
        assert fleet.classifier.threshold == 0.7
        assert len(fleet.classifier.hypotheses_) == len(pool.hypotheses)
        shares = fleet.predict_proba(KEYS, X)
        np.testing.assert_array_equal(fleet.predict(KEYS, X), (shares[:, 1] >= 0.7).astype(int))
        fleet.learn(KEYS[:300], X[:300], Y[:300])
        expected = records(fleet)
    for each in (tmp_path / "model.ocb", str(tmp_path / "model.ocb"), Model.load(tmp_path / "model.ocb")):
        with Fleet(each, store=tmp_path / "store") as fleet:
            assert records(fleet) == expected


def test_an_adaptive_classifier_that_was_deployed_with_an_ocb(tmp_path):
    adopted = AdaptiveClassifier.from_fitted(model(), X[:200], Y[:200])
    with Fleet(adopted, store=tmp_path / "store") as fleet:
        np.testing.assert_array_equal(fleet.votes(KEYS, X), model().decision_function(X))


def test_an_adopted_ocb_that_has_a_threshold(tmp_path):
    """As long as it has learnt nothing the adaptive classifier answers as it does, threshold and all."""
    adopted = AdaptiveClassifier.from_fitted(model(threshold=0.9), X[:200], Y[:200])
    with Fleet(adopted, store=tmp_path / "store") as fleet:
        np.testing.assert_array_equal(fleet.predict(KEYS, X), adopted.predict(X, issue=False))


@pytest.mark.parametrize("how", [{"threshold": 0.9}, {"costs": {(0, 1): 9.0}}, {"class_weight": {0: 9.0}}])
def test_an_adopted_ocb_decides_as_the_adaptive_classifier_does(tmp_path, how):
    adopted = AdaptiveClassifier.from_fitted(model(), X[:200], Y[:200], **how)
    with Fleet(adopted, store=tmp_path / "store") as fleet:
        np.testing.assert_array_equal(fleet.predict(KEYS, X), adopted.predict(X, issue=False))


@pytest.mark.parametrize(
    "how",
    [{"class_weight": {0: 5.0, 1: 1.0}}, {"threshold": 0.8}, {"costs": {(0, 1): 5.0}}],
    ids=["class_weight", "threshold", "costs"],
)
def test_decisions_are_those_of_the_model(tmp_path, how):
    clf = model(**{name: value for name, value in how.items() if not isinstance(value, dict)})
    clf = copy.copy(clf).set_params(**how)
    with (
        Fleet(clf, store=tmp_path / "store", window=30) as fleet,
        Fleet(model(), store=tmp_path / "plain", window=30) as plain,
    ):
        np.testing.assert_array_equal(fleet.predict(KEYS, X), clf.predict(X))
        predicted = fleet.learn(KEYS[:600], X[:600], Y[:600])
        assert (predicted != plain.learn(KEYS[:600], X[:600], Y[:600])).any()
        shares = fleet.predict_proba(KEYS, X)
        np.testing.assert_array_equal(shares, plain.predict_proba(KEYS, X))  # they stay what they are
        assert records(fleet)[0] == records(plain)[0]
        at = 0.8 if "threshold" in how else 5.0 / 6.0
        np.testing.assert_array_equal(fleet.predict(KEYS, X), (shares[:, 1] >= at).astype(int))
        np.testing.assert_array_equal(fleet.export("key 1").predict(X), fleet.predict(["key 1"] * len(X), X))
    with Fleet(clf, store=tmp_path / "store") as fleet:
        np.testing.assert_array_equal(fleet.predict(KEYS, X), (shares[:, 1] >= at).astype(int))
