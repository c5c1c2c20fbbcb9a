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
from ocboost._core.codec import read
from ocboost._core.file_format import from_bytes, to_bytes
from ocboost._core.kinds import HYPOTHESES, nested_tree
from ocboost.estimators.filterboost_file import filterboost_tree
from ocboost.hypotheses import Stumps
from ocboost.lineage import FilterBoost
from tests.support.saved_trees import GONE, changed


def examples(n, seed=0, K=2):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 2)), 1)
    score = X[:, 0] + 0.2 * rng.normal(size=n)
    return X, np.digitize(score, [0.0] if K == 2 else [-0.5, 0.5])


def state_of(clf):
    return to_bytes("x", filterboost_tree(clf))


def back(tree):
    return read(tree, "a file", FilterBoost.from_tree)


def at(stage, K=2, **given):
    """One that has come to this point of its way."""
    X, y = examples(6_000, K=K)
    clf = FilterBoost(sample=40, tau=1.0, random_state=0, **given)
    n = 0
    while True:
        clf.partial_fit(X[n : n + 7], y[n : n + 7], range(K))
        n += 7
        machine = clf.boosters_[0]
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
        tree = filterboost_tree(both.partial_fit(csr_matrix(X[15:]), y[15:]))
        assert sorted(tree["machines"][0]["sample"]) == ["data", "indices", "indptr"]
        clf = back(tree)
        dense = FilterBoost(sample=40, random_state=0).partial_fit(X, y)
        np.testing.assert_array_equal(
            clf.boosters_[0].rows[0].toarray(), np.concatenate(dense.boosters_[0].rows)
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
        with pytest.raises(ModelFileError, match="'OCBClassifier', not FilterBoost"):
            FilterBoost.load(tmp_path / "model")


ANY = [
    ("x", 1, "entries that are not known: 'x'"),
    ("settings", None, "settings must be entries"),
    ("settings.tau", 2.0, "tau must be"),
    ("settings.sample", 1.5, "sample must be"),
    ("settings.estimator", "tree", "estimator is not known"),
    ("settings.estimator", {}, "estimator must be a single value"),
    ("settings.extra", 1, "entries that are not known: 'extra'"),
    ("classes.values", [1], "there must be at least two"),
    ("classes.values", [0, 1, 2], "machines must be a list of 3"),
    ("n_features", 3, "do not fit its features"),
    ("n_features", "2", "n_features must be a whole number"),
    ("feature_names", ["a"], "feature_names must be a list of 2"),
    ("ended", 3, "ended must be a text"),
    ("machines", [], "machines must be a list of 1"),
    ("machines", [None], "machines.0. must be entries"),
    ("0.more", 3, "entries that are not known: 'more'"),
    ("0.round", GONE, "round is missing"),
    ("0.round", 0, "counts"),
    ("0.n_seen", 1, "counts"),
    ("0.n_seen", 1 << 70, "n_seen must be"),
    ("0.calls", 10**9, "counts"),
    ("0.n_positive", 10**9, "counts"),
    ("0.n_positive", -1, "n_positive must be"),
    ("0.taken", True, "taken must be"),
    ("0.waited", -1, "waited must be"),
    ("0.tries", 9, "counts"),
    ("0.seed", [1], "seed"),
    ("0.seed", [1.0, 2], "seed"),
    ("0.shown", [1, 0], "shown"),
    ("0.reason", ["x"], "reason must be a text"),
    ("0.reason", "x" * 2_000, "reason must be a text"),
    ("0.rng", None, "rng must be entries"),
    ("0.rng.inc", "2", "random numbers must be odd"),
    ("0.rng.state", "f" * 33, "state must be a text"),
    ("0.hypotheses", None, "do not fit its hypotheses"),
    ("0.hypotheses.kind", "Callables", "Callables"),
    ("0.hypotheses", "Stumps", "hypotheses must be entries"),
    ("0.edges", lambda a: a * 0 + 0.5, "edges must lie"),
    ("0.edges", lambda a: a * np.nan, "edges must lie"),
    ("0.edges", lambda a: a.astype(np.float32), "edges has the wrong shape or type"),
    ("0.edges", lambda a: np.concatenate([a, a]), "do not fit its hypotheses"),
    ("0.edges", GONE, "edges is missing"),
    ("0.hypotheses.left", lambda a: a * 2, "left must be"),
    ("extra", np.zeros(1), "entries that are not known: 'extra'"),
]
STUMP = Stumps([0], [0.0], [1], n_features=2)
COLLECTING = [
    ("0.sample", {}, "sample.data is missing"),
    ("0.sample", "x", "sample must be entries"),
    ("0.sample", None, "sample must be entries"),
    ("0.candidate", nested_tree(STUMP, HYPOTHESES), "belong together"),
    ("0.candidate", {"kind": "Stumps"}, "feature is missing"),
    ("0.test", {"n": 3, "right": 1, "tau": 0.5, "delta": 0.01}, "belong together"),
    ("0.taken", 1, "labels"),
    ("0.labels", lambda a: a * 0, "labels must be"),
    ("0.labels", lambda a: a[:-1], "sample has the wrong shape"),
    ("0.labels", lambda a: a[:0], "sample has no labels"),
    ("0.labels", GONE, "labels is missing"),
    ("0.sample", lambda a: a[:, :1], "sample has the wrong shape"),
    ("0.sample", lambda a: np.full_like(a, np.inf), "finite"),
    ("0.sample", lambda a: a.astype(np.int64), "finite"),
]
TESTING = [
    ("0.test", None, "belong together"),
    ("0.test.right", 10**6, "right must be a whole number"),
    ("0.test", {"n": 10**6, "right": 10**6, "tau": 0.5, "delta": 0.01}, "must not have ended"),
    ("0.test.tau", 5.0, "tau must be"),
    ("0.test.tau", 1, "must be numbers"),
    ("0.test.delta", float("inf"), "delta must be"),
    ("0.test", {"n": 3, "right": 1, "tau": 0.5, "delta": 0.01}, "does not fit its counts"),
    ("0.candidate", None, "belong together"),
    ("0.labels", np.ones(2, np.int8), "must be gone"),
    ("0.sample", np.ones((2, 2)), "sample has no labels"),
    ("0.candidate.feature", lambda a: a + 7, "feature must lie"),
]
BAD = [("collecting", *case) for case in ANY + COLLECTING] + [("testing", *case) for case in TESTING]


@pytest.fixture(scope="module")
def good():
    return {stage: filterboost_tree(at(stage)) for stage in ("collecting", "testing")}


def spoilt(tree, path, value):
    """A tree with a change at a path, which begins in the list of machines if it begins with a number."""
    return changed(tree, f"machines.{path}" if path[0].isdigit() else path, value)


class TestStrangersFiles:
    @pytest.mark.parametrize(("stage", "path", "value", "message"), BAD)
    def test_nonsense_is_refused(self, good, stage, path, value, message):
        with pytest.raises(ModelFileError, match=message):
            back(spoilt(good[stage], path, value))

    def test_a_good_one_is_not(self, good):
        for tree in good.values():
            assert state_of(back(tree)) == to_bytes("x", tree)

    def test_missing_values_in_the_sample_of_a_learner_that_takes_none(self, good):
        tree = copy.deepcopy(good["collecting"])
        tree["machines"][0]["sample"][0, 0] = np.nan
        back(tree)
        tree["settings"]["estimator"] = "ball"
        with pytest.raises(ModelFileError, match="sample must be finite"):
            back(tree)

    @pytest.mark.parametrize(
        ("key", "change"),
        [
            ("indices", lambda a: a + 2),
            ("indices", lambda a: a - 1),
            ("indptr", lambda a: a[::-1].copy()),
            ("indptr", lambda a: a + 1),
            ("indptr", lambda a: a[:-1]),
            ("indices", lambda a: a.astype(float)),
            ("data", lambda a: a[:-1]),
            ("data", GONE),
        ],
    )
    def test_sparse_nonsense(self, key, change):
        X, y = examples(30)
        clf = FilterBoost(sample=40, random_state=0).partial_fit(csr_matrix(X), y)
        with pytest.raises(ModelFileError, match=r"rows of sample do not fit|wrong shape or type|is missing"):
            back(spoilt(filterboost_tree(clf), f"0.sample.{key}", change))

    @settings(max_examples=60)
    @given(st.data())
    def test_damage_is_found(self, good, data):
        whole = to_bytes("FilterBoost", good["collecting"])
        place = data.draw(st.integers(0, len(whole) - 1))
        damaged = bytearray(whole)
        damaged[place] ^= data.draw(st.integers(1, 255))
        with pytest.raises(ModelFileError):
            from_bytes(bytes(damaged), "FilterBoost")
