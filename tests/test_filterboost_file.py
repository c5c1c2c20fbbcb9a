"""A FilterBoost in a file: it goes on as it would have, and a stranger's file is refused."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from ocboost import InputError, ModelFileError, NotSavableError, OCBClassifier
from ocboost.lineage import FilterBoost
from ocboost.lineage.filterboost_file import filterboost_from_parts, filterboost_parts
from ocboost.storage import from_bytes, to_bytes


def examples(n, seed=0, K=2):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 2)), 1)
    score = X[:, 0] + 0.2 * rng.normal(size=n)
    return X, np.digitize(score, [0.0] if K == 2 else [-0.5, 0.5])


def state_of(clf):
    return to_bytes("x", *filterboost_parts(clf))


def at(stage, K=2, **given):
    """One that has come to this point of its way."""
    X, y = examples(6_000, K=K)
    clf = FilterBoost(sample=40, tau=1.0, random_state=0, **given)
    n = 0
    while True:
        clf.partial_fit(X[n : n + 7], y[n : n + 7], range(K))
        n += 7
        machine = clf.machines_[0]
        if {
            "first": n > 20,
            "collecting": len(machine.voters) == 1 and len(machine.rows) > 1,
            "testing": len(machine.voters) == 1 and machine.test is not None and machine.test.n > 5,
            "ended": clf.stopped_ is not None,
        }[stage]:
            return clf


class TestRoundTrip:
    @pytest.mark.parametrize("stage", ["first", "collecting", "testing"])
    @pytest.mark.parametrize("K", [2, 3])
    def test_goes_on_exactly(self, tmp_path, stage, K):
        clf = at(stage, K)
        clf.save(tmp_path / "model")
        other = FilterBoost.load(tmp_path / "model")
        X, y = examples(3_000, seed=1, K=K)
        assert state_of(other) == state_of(clf)
        assert other.get_params() == clf.get_params()
        np.testing.assert_array_equal(other.decision_function(X), clf.decision_function(X))
        before = len(clf.alpha_[0])
        for model in (clf, other):
            model.partial_fit(X[:1_001], y[:1_001]).partial_fit(X[1_001:], y[1_001:])
        assert len(clf.alpha_[0]) > before
        assert state_of(other) == state_of(clf)
        np.testing.assert_array_equal(other.predict_proba(X), clf.predict_proba(X))

    def test_one_that_has_ended(self, tmp_path):
        clf = at("ended", n_hypotheses=2)
        clf.save(tmp_path / "model")
        other = FilterBoost.load(tmp_path / "model")
        assert other.stopped_ == clf.stopped_ == "n_hypotheses reached: there are 2"

    def test_the_end_of_a_stream(self, tmp_path):
        clf = FilterBoost(random_state=0).fit_stream([examples(100)])
        clf.save(tmp_path / "model")
        assert FilterBoost.load(tmp_path / "model").stopped_ == "the stream ended after 100 examples"

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_sparse_samples(self, tmp_path, dtype):
        X, y = examples(3_000)
        X = csr_matrix(X.astype(dtype))
        clf = FilterBoost(sample=40, tau=1.0, random_state=0).partial_fit(X[:30], y[:30])
        clf.save(tmp_path / "model")
        other = FilterBoost.load(tmp_path / "model")
        for model in (clf, other):
            model.partial_fit(X[30:], y[30:])
        assert len(clf.alpha_[0]) > 0
        assert state_of(other) == state_of(clf)

    def test_sparse_rows_after_dense_ones(self):
        X, y = examples(1_000)
        both = FilterBoost(sample=40, tau=1.0, random_state=0).partial_fit(X[:30], y[:30])
        both.partial_fit(csr_matrix(X[30:]), y[30:])
        dense = FilterBoost(sample=40, tau=1.0, random_state=0).partial_fit(X, y)
        np.testing.assert_array_equal(both.edges_[0], dense.edges_[0])

    def test_a_mixed_sample_is_sparse(self):
        X, y = examples(30)
        both = FilterBoost(sample=40, random_state=0).partial_fit(X[:15], y[:15])
        parameters, arrays = filterboost_parts(both.partial_fit(csr_matrix(X[15:]), y[15:]))
        assert parameters["machines"][0]["sample"] == "sparse"
        clf = filterboost_from_parts(parameters, arrays, "a file", FilterBoost)
        dense = FilterBoost(sample=40, random_state=0).partial_fit(X, y)
        np.testing.assert_array_equal(
            clf.machines_[0].rows[0].toarray(), np.concatenate(dense.machines_[0].rows)
        )

    def test_names_of_columns_and_text_labels(self, tmp_path):
        X, y = examples(500)
        frame = pd.DataFrame(X, columns=["a", "b"])
        clf = FilterBoost(sample=20, random_state=0).partial_fit(frame, np.array(["no", "yes"])[y])
        clf.save(tmp_path / "model")
        other = FilterBoost.load(tmp_path / "model")
        assert other.feature_names_in_.tolist() == ["a", "b"]
        assert other.classes_.tolist() == ["no", "yes"]
        np.testing.assert_array_equal(other.predict(frame), clf.predict(frame))

    def test_an_estimator_is_given_again(self, tmp_path):
        X, y = examples(3_000)
        tree = DecisionTreeClassifier(max_depth=2)
        clf = FilterBoost(tree, sample=40, tau=1.0, random_state=0).partial_fit(X, y)
        clf.save(tmp_path / "model")
        with pytest.raises(InputError, match="estimator must be given"):
            FilterBoost.load(tmp_path / "model")
        other = FilterBoost.load(tmp_path / "model", estimator=tree)
        for model in (clf, other):
            model.partial_fit(X, y)
        assert len(clf.alpha_[0]) > 0
        assert state_of(other) == state_of(clf)

    def test_python_objects_are_not_saved(self, tmp_path):
        X, y = examples(2_000)
        clf = FilterBoost(LogisticRegression(), sample=40, tau=1.0, random_state=0).partial_fit(X, y)
        with pytest.raises(NotSavableError):
            clf.save(tmp_path / "model")
        assert not (tmp_path / "model").exists()

    @pytest.mark.parametrize(
        ("change", "match"),
        [
            ({"epsilon": 0.0}, "epsilon must be a finite number"),
            ({"sample": 1}, "sample must be a whole number"),
            ({"tau": float("nan")}, "tau must be a finite number"),
            ({"estimator": "oak"}, "estimator must be"),
        ],
    )
    def test_settings_that_no_file_is_read_with(self, change, match, tmp_path):
        clf = at("collecting").set_params(**change)
        with pytest.raises(InputError, match=match):
            clf.save(tmp_path / "model")
        assert not (tmp_path / "model").exists()

    def test_files_of_others(self, tmp_path):
        X, y = examples(100)
        OCBClassifier(n_hypotheses=2).fit(X, y).save(tmp_path / "model")
        with pytest.raises(ModelFileError, match="OCBClassifier, not FilterBoost"):
            FilterBoost.load(tmp_path / "model")


def put(key, value):
    def change(parameters, arrays):
        parameters[key] = value

    return change


def setting(key, value):
    def change(parameters, arrays):
        parameters["settings"][key] = value

    return change


def state(key, value):
    def change(parameters, arrays):
        parameters["machines"][0][key] = value

    return change


def array(key, make):
    def change(parameters, arrays):
        arrays[key] = make(arrays.get(key))

    return change


def drop(key):
    def change(parameters, arrays):
        del arrays[key]

    return change


ANY = [
    (put("x", 1), "has the entries"),
    (put("settings", None), "settings"),
    (setting("tau", 2.0), "settings make no sense"),
    (setting("sample", 1.5), "settings make no sense"),
    (setting("estimator", "tree"), "estimator is not known"),
    (setting("estimator", {}), "settings are not known"),
    (setting("extra", 1), "settings are not known"),
    (put("classes", ["i8", [1]]), "two classes"),
    (put("classes", ["i8", [0, 1, 2]]), "state is missing"),
    (put("features", [3, None]), "features"),
    (put("features", [2, ["a"]]), "feature names"),
    (put("features", ["2", None]), "features"),
    (put("ended", 3), "its end"),
    (put("machines", []), "state is missing"),
    (put("machines", [None]), "state is not known"),
    (state("round", 0), "counts"),
    (state("n_seen", 1), "counts"),
    (state("n_seen", 1 << 70), "counts"),
    (state("calls", 10**9), "counts"),
    (state("n_positive", 10**9), "counts"),
    (state("n_positive", -1), "counts"),
    (state("taken", True), "counts"),
    (state("waited", -1), "counts"),
    (state("tries", 9), "counts"),
    (state("seed", [1]), "seed"),
    (state("seed", [1.0, 2]), "seed"),
    (state("shown", [1, 0]), "shown"),
    (state("reason", ["x"]), "its end"),
    (state("reason", "x" * 2_000), "its end"),
    (state("rng", None), "random numbers"),
    (state("rng", [1, 2, 0, 0]), "random numbers"),
    (state("rng", [1 << 128, 1, 0, 0]), "random numbers"),
    (state("hypotheses", None), "do not fit its hypotheses"),
    (state("hypotheses", ["Callables", {}]), "Callables"),
    (state("hypotheses", "Stumps"), "not known"),
    (array("0/edges", lambda a: a * 0 + 0.5), "edges must lie"),
    (array("0/edges", lambda a: a * np.nan), "edges must lie"),
    (array("0/edges", lambda a: a.astype(np.float32)), "edges must lie"),
    (array("0/edges", lambda a: np.concatenate([a, a])), "do not fit its hypotheses"),
    (drop("0/edges"), "edges must lie"),
    (array("0/hypotheses/left", lambda a: a * 2), "left must be"),
    (array("extra", lambda a: np.zeros(1)), "unknown arrays: extra"),
]
COLLECTING = [
    (state("sample", "sparse"), "sample is not known"),
    (state("sample", "x"), "sample is not known"),
    (state("sample", None), "unknown arrays"),
    (state("candidate", ["Stumps", {"n_features": 2, "precision": "double"}]), "arrays"),
    (state("test", [3, 1, 0.5, 0.01]), "belong together"),
    (state("taken", 1), "labels"),
    (array("0/labels", lambda a: a * 0), "labels must be"),
    (array("0/labels", lambda a: a[:-1]), "does not fit its labels"),
    (array("0/labels", lambda a: a[:0]), "labels must be"),
    (array("0/sample/X", lambda a: a[:, :1]), "does not fit its labels"),
    (array("0/sample/X", lambda a: np.full_like(a, np.inf)), "finite"),
    (array("0/sample/X", lambda a: a.astype(np.int64)), "finite"),
]
TESTING = [
    (state("test", None), "belong together"),
    (state("test", [3, 4, 0.5, 0.01]), "test is not known"),
    (state("test", [10**6, 10**6, 0.5, 0.01]), "must not have ended"),
    (state("test", [3, 1, 5.0, 0.01]), "test makes no sense"),
    (state("test", [3, 1, 0.5, float("inf")]), "test makes no sense"),
    (state("test", [3, 1, 0.5, 0.01]), "does not fit its counts"),
    (state("candidate", None), "belong together"),
    (state("sample", "dense"), "must be gone"),
    (array("0/candidate/feature", lambda a: a + 7), "feature must lie"),
]
BAD = [("collecting", *case) for case in ANY + COLLECTING] + [("testing", *case) for case in TESTING]


@pytest.fixture(scope="module")
def good():
    return {stage: filterboost_parts(at(stage)) for stage in ("collecting", "testing")}


class TestStrangersFiles:
    @pytest.mark.parametrize(("stage", "change", "message"), BAD)
    def test_nonsense_is_refused(self, good, stage, change, message):
        parameters, arrays = copy.deepcopy(good[stage])
        change(parameters, arrays)
        with pytest.raises(ModelFileError, match=message):
            filterboost_from_parts(parameters, arrays, "a file", FilterBoost)

    def test_a_good_one_is_not(self, good):
        for parts in good.values():
            clf = filterboost_from_parts(*copy.deepcopy(parts), "a file", FilterBoost)
            assert state_of(clf) == to_bytes("x", *parts)

    def test_missing_values_in_the_sample_of_a_learner_that_takes_none(self, good):
        parameters, arrays = copy.deepcopy(good["collecting"])
        arrays["0/sample/X"][0, 0] = np.nan
        filterboost_from_parts(copy.deepcopy(parameters), dict(arrays), "a file", FilterBoost)
        parameters["settings"]["estimator"] = "ball"
        with pytest.raises(ModelFileError, match="sample must be finite"):
            filterboost_from_parts(parameters, arrays, "a file", FilterBoost)

    @pytest.mark.parametrize(
        "change",
        [
            lambda a: a.update({"0/sample/indices": a["0/sample/indices"] + 2}),
            lambda a: a.update({"0/sample/indices": a["0/sample/indices"] - 1}),
            lambda a: a.update({"0/sample/indptr": a["0/sample/indptr"][::-1].copy()}),
            lambda a: a.update({"0/sample/indptr": a["0/sample/indptr"] + 1}),
            lambda a: a.update({"0/sample/indptr": a["0/sample/indptr"][:-1]}),
            lambda a: a.update({"0/sample/indices": a["0/sample/indices"].astype(float)}),
            lambda a: a.update({"0/sample/data": a["0/sample/data"][:-1]}),
        ],
    )
    def test_sparse_nonsense(self, change):
        X, y = examples(30)
        clf = FilterBoost(sample=40, random_state=0).partial_fit(csr_matrix(X), y)
        parameters, arrays = filterboost_parts(clf)
        change(arrays)
        with pytest.raises(ModelFileError, match="sample does not fit"):
            filterboost_from_parts(parameters, arrays, "a file", FilterBoost)

    @settings(max_examples=60)
    @given(st.data())
    def test_damage_is_found(self, good, data):
        whole = to_bytes("FilterBoost", *good["collecting"])
        place = data.draw(st.integers(0, len(whole) - 1))
        damaged = bytearray(whole)
        damaged[place] ^= data.draw(st.integers(1, 255))
        with pytest.raises(ModelFileError):
            from_bytes(bytes(damaged), "FilterBoost")
