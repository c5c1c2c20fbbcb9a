"""Growth with changing settings, copies, deployed models, offsets and odd streams."""

from __future__ import annotations

import copy
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from ocboost import Growth, InputError, OCBClassifier
from ocboost.hypotheses import Balls, Callables, Joined, Stumps, Trees, from_sklearn
from ocboost.learners import Learner, StumpLearner
from tests.across.test_interruption import interrupted_at
from tests.support.growing import QUICK, SETTINGS, assert_sound, growing, state_of, stream

# Settings that change, and copies ------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETTINGS)
def test_growing_begins_later_and_ends(name):
    X, y = stream(700)
    clf = OCBClassifier(n_hypotheses=5, random_state=3, **SETTINGS[name]).fit(X[:100], y[:100])
    clf.partial_fit(X[100:150], y[100:150])
    assert (clf.n_grown_, clf.n_retired_) == (0, 0)
    clf.set_params(grow=Growth(**QUICK))
    held = None
    for i in range(150, 500):
        clf.partial_fit(X[i : i + 1], y[i : i + 1])
        if held is None and clf.n_grown_:
            held = i + 1 - 150
            assert held >= clf.boosters_[0].n_head  # the rows of the head must be known
        assert_sound(clf)
    assert held is not None
    clf.set_params(grow=Growth(budget=12, sample=10, test=20))
    clf.partial_fit(X[500:600], y[500:600])
    assert_sound(clf)
    J = len(clf.hypotheses_)
    clf.set_params(grow=None)
    clf.partial_fit(X[600:], y[600:])
    assert len(clf.hypotheses_) == J
    assert clf.grower_ is None
    assert_sound(clf)


def test_a_long_head_does_not_keep_a_deployed_model_from_growing():
    X, y = stream(700)
    clf = OCBClassifier(n_hypotheses=5, head=5000, random_state=3).fit(X[:100], y[:100])
    clf.set_params(grow=Growth(**QUICK))
    clf.partial_fit(X[100:400], y[100:400])
    assert clf.n_grown_ > 0
    assert clf.boosters_[0].head == 5000
    assert clf.boosters_[0].n_head <= 300  # the rows from before are in the tail
    assert clf.boosters_[0].n_seen == 400
    assert_sound(clf)


def test_the_least_budget_is_what_there_is():
    X, y = stream(500)
    clf = growing().partial_fit(X[100:400], y[100:400])
    J = len(clf.hypotheses_)
    assert J == 8
    clf.set_params(grow=J - 1)
    with pytest.raises(InputError, match="grow must be at least the"):
        clf.partial_fit(X[400:], y[400:])
    clf.set_params(grow=J).partial_fit(X[400:], y[400:])
    assert_sound(clf)


def reloaded_by_joblib(clf, folder):
    joblib.dump(clf, folder / "model")
    return joblib.load(folder / "model", mmap_mode="r")  # arrays that cannot be written to


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("way", ["copy", "deepcopy", "pickle", "joblib"])
def test_copies_go_their_own_ways(way, n_classes, tmp_path):
    X, y = stream(700, n_classes)
    clf = growing(n_classes, head=40, forgetting=0.98).partial_fit(X[100:333], y[100:333])
    before = state_of(clf)
    assert any(scout.candidates is not None for scout in clf.grower_.searches)
    other = {
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
        "pickle": lambda c: pickle.loads(pickle.dumps(c)),
        "joblib": lambda c: reloaded_by_joblib(c, tmp_path),
    }[way](clf)
    other.partial_fit(X[333:500], y[333:500])
    assert other.n_grown_ > clf.n_grown_
    assert state_of(clf) == before
    clf.partial_fit(X[333:420], 1 - np.minimum(y[333:420], 1))
    clf = growing(n_classes, head=40, forgetting=0.98).partial_fit(X[100:500], y[100:500])
    assert state_of(other) == state_of(clf)


def test_a_clone_is_not_fitted_and_learns_the_same():
    X, y = stream(500)
    clf = growing(grow=Growth(**QUICK, learner=DecisionTreeClassifier(max_depth=1)))
    clf.partial_fit(X[100:], y[100:])
    other = clone(clf)
    assert not hasattr(other, "committee_")
    assert not hasattr(other, "n_grown_")
    other.fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    np.testing.assert_array_equal(other.decision_function(X), clf.decision_function(X))
    assert other.n_grown_ == clf.n_grown_ > 0


# Deployed models and offsets ------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("depth", [1, 2])
def test_a_deployed_model_grows(name, n_classes, depth):
    X, y = stream(700, n_classes)
    tree = DecisionTreeClassifier(max_depth=depth)
    deployed = AdaBoostClassifier(tree, n_estimators=5, random_state=0).fit(X[:200], y[:200])
    growth = Growth(**QUICK, learner=None if depth == 1 else tree)
    clf = OCBClassifier.from_fitted(deployed, X[:200], y[:200], grow=growth, random_state=0, **SETTINGS[name])
    np.testing.assert_array_equal(clf.predict(X), deployed.predict(X))
    for mine, alpha in zip(clf.grower_._alphas, clf.alpha_, strict=True):
        np.testing.assert_array_equal(mine, alpha)  # the first rows are judged by what was deployed
    fixed = OCBClassifier.from_fitted(deployed, X[:200], y[:200], **SETTINGS[name])
    assert (clf.decision_function(X) == fixed.decision_function(X)).all()
    for start in range(200, 700, 50):
        clf.partial_fit(X[start : start + 50], y[start : start + 50])
        assert_sound(clf)
        assert np.isfinite(clf.decision_function(X)).all()
    assert clf.n_retired_ > 0
    if depth == 2:
        kinds = {type(each) for each in clf.hypotheses_.sets}
        assert Trees in kinds


@pytest.mark.parametrize("n_classes", [2, 3])
def test_on_top_of_an_offset(n_classes):
    X, y = stream(700, n_classes)
    scores = (lambda X: 0.6 * X[:, 0]) if n_classes == 2 else (lambda X: 0.3 * X[:, :3])
    pool = Stumps([0, 1], [0.5, -0.5], [-1, 1], n_features=5)
    clf = OCBClassifier.from_offset(
        scores, pool, classes=list(range(n_classes)), grow=Growth(**QUICK), forgetting=0.98, smoothing=1.0
    )
    np.testing.assert_array_equal(clf.decision_function(X), scores(X))
    clf.partial_fit(X, y)
    assert clf.n_grown_ > 0
    assert_sound(clf)
    alphas, columns = clf.alpha_, clf.committee_.columns
    votes = [clf.hypotheses_[c].answers(X) @ alpha for c, alpha in zip(columns, alphas, strict=True)]
    expected = scores(X) + (votes[0] if n_classes == 2 else np.stack(votes, axis=1))
    np.testing.assert_allclose(clf.decision_function(X), expected, rtol=0, atol=1e-12)
    auto = OCBClassifier(n_hypotheses=5, offset=scores, grow=8).fit(X[:100], y[:100])
    assert auto.committee_.settings["smoothing"] == 80.0
    assert auto.boosters_[0].head == Growth(8).head


def test_an_offset_is_asked_for_the_whole_call_before_it_is_learnt():
    X, y = stream(300)
    clf = OCBClassifier(n_hypotheses=5, offset=lambda X: X[:, 0], grow=Growth(**QUICK)).fit(X[:100], y[:100])
    X[290, 0] = 1e80
    with pytest.raises(InputError):
        clf.partial_fit(X[100:], y[100:])
    assert clf.boosters_[0].n_seen == 100


def test_a_row_that_no_hypothesis_accepts_is_refused_with_its_whole_call():
    X, y = stream(300, n_features=4)
    clf = OCBClassifier("box", 5, grow=Growth(**QUICK), random_state=0).fit(X[:100], y[:100])
    X[290, 0] = 1e31
    with pytest.raises(InputError, match="at most 1e30"):
        clf.partial_fit(X[100:], y[100:])
    assert clf.boosters_[0].n_seen == 100


@pytest.mark.parametrize("pool", ["functions", "joined"])
def test_hypotheses_of_any_kind_grow(pool):
    X, y = stream(600)
    functions = Callables([lambda X: np.where(X[:, 0] > 0, 1, -1), lambda X: np.ones(len(X))], 5)
    given_ = functions if pool == "functions" else Joined([Balls(np.eye(5)[:2], [1.0, 2.0]), functions])
    clf = OCBClassifier(given_, grow=Growth(**QUICK), random_state=0, head=30).fit(X[:100], y[:100])
    clf.partial_fit(X[100:], y[100:])
    assert clf.n_retired_ > 0
    assert_sound(clf)
    assert len(clf.hypotheses_) == 8


def test_trees_that_share_their_nodes_grow():
    """Several answers of one tree are columns of several classes: each class goes on with its own."""
    X, y = stream(700, 3)
    members = [DecisionTreeClassifier(max_depth=2, random_state=k).fit(X[:150], y[:150]) for k in range(3)]
    pool = from_sklearn(members, classes=np.arange(3))
    clf = OCBClassifier(pool, grow=Growth(**{**QUICK, "budget": len(pool) + 2}), head=40, random_state=0)
    clf.fit(X[:150], y[:150]).partial_fit(X[150:], y[150:])
    assert clf.n_retired_ > 0
    assert_sound(clf)


# Odd streams ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETTINGS)
def test_one_class_for_a_long_time(name):
    X, y = stream(500)
    clf = growing(**SETTINGS[name])
    clf.partial_fit(X, np.zeros(500, int))
    clf.partial_fit(X, np.ones(500, int))
    assert_sound(clf)
    assert len(clf.grower_.searches[0].labels) <= QUICK["sample"]
    grown = clf.n_grown_
    clf.partial_fit(X, y)
    assert clf.n_grown_ > grown


def test_rows_without_weight_are_never_let_through():
    X, y = stream(700)
    clf = growing()
    clf.partial_fit(X[100:], y[100:], sample_weight=np.full(600, 1e-300))
    assert clf.n_grown_ == 0
    assert clf.grower_.searches[0].labels == []
    assert clf.boosters_[0].n_seen == 700


def test_where_all_is_easy_nothing_grows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = (X[:, 0] > 0).astype(int)
    pool = Stumps([0] * 6, [0.0] * 6, [-1] * 6, n_features=3)
    clf = OCBClassifier(pool, smoothing=1e-12, grow=Growth(**QUICK), random_state=0).fit(X[:200], y[:200])
    fixed = OCBClassifier(pool, smoothing=1e-12, head=clf.boosters_[0].head).fit(X[:200], y[:200])
    for each in (clf, fixed):
        each.partial_fit(X[200:], y[200:])
    assert clf.n_grown_ == 0
    np.testing.assert_array_equal(clf.alpha_, fixed.alpha_)


class Failing(Learner):
    """Fails every third time."""

    def __init__(self):
        self.calls = 0

    def learn(self, X, y, *, n_hypotheses, sample_weight=None, rng=None):
        self.calls += 1
        if self.calls % 3 == 0:
            raise RuntimeError("not today")
        return StumpLearner().learn(X, y, n_hypotheses=n_hypotheses)


def test_after_a_learner_has_failed_all_fits_together():
    X, y = stream(700, 3)
    clf = growing(3, grow=Growth(**{**QUICK, "every": 40, "learner": Failing()}), head=50, forgetting=0.98)
    n_failed = n_grew_too = 0
    for start in range(100, 700, 40):
        grown = clf.n_grown_
        try:
            clf.partial_fit(X[start : start + 40], y[start : start + 40])
        except RuntimeError:
            n_failed += 1
            n_grew_too += clf.n_grown_ > grown
        assert_sound(clf)
        assert clf.boosters_[0].n_seen == start + 40
    assert n_failed > 3
    assert n_grew_too > 0


def test_ctrl_c_leaves_what_the_rows_so_far_make():
    X, y = stream(160, 2, period=40)
    begun = growing(head=20, forgetting=0.98, grow=Growth(**{**QUICK, "sample": 6, "test": 3}))
    references = {}
    for n in range(100, 161, 5):
        clf = copy.copy(begun)
        if n > 100:
            clf.partial_fit(X[100:n], y[100:n])
        references[n] = state_of(clf)
    assert clf.n_grown_ > 1
    line, seen = 1, set()
    while True:
        clf = copy.copy(begun)
        came = interrupted_at(line, lambda c=clf: c.partial_fit(X[100:160], y[100:160]))
        n = clf.boosters_[0].n_seen
        assert state_of(clf) == references[n]
        seen.add(n)
        if not came:
            break
        line += 1 + line // 3 if line < 30 else 61
    assert len(seen) > 8
    assert n == 160


# It helps -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "behind"), [("window", 0.05), ("forgetting", 0.05), ("all", 0.12)])
def test_where_the_stream_moves_to_what_nobody_looked_at(name, behind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 4))
    X[:1000, 3] = 0.0  # nothing to be seen there at first
    moved = np.arange(5000) >= 1000
    y = (np.where(moved, X[:, 3], X[:, 0]) > 0).astype(int)
    y = np.where(rng.random(5000) < 0.03, 1 - y, y)
    options = {"n_hypotheses": 10, "random_state": 0, **SETTINGS[name]}
    fixed, grown = OCBClassifier(**options), OCBClassifier(grow=30, **options)
    for clf in (fixed, grown):
        clf.fit(X[:500], y[:500]).partial_fit(X[500:4000], y[500:4000])
    batch = OCBClassifier(n_hypotheses=10).fit(X[3000:4000], y[3000:4000]).score(X[4000:], y[4000:])
    assert fixed.score(X[4000:], y[4000:]) < 0.6
    assert grown.score(X[4000:], y[4000:]) > batch - behind
    assert batch > 0.9
