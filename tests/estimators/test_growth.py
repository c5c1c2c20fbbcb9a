"""Hypotheses that come from the stream: against the plain twin, however it is cut, and whatever comes."""

from __future__ import annotations

import copy
import functools
import pickle

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

from ocboost import Growth, InputError, OCBClassifier
from ocboost._core.storage import to_bytes
from ocboost.estimators.classifier_file import classifier_tree
from ocboost.hypotheses import Balls, Callables, Joined, Stumps, Trees, from_sklearn
from ocboost.hypotheses.learners import Learner, StumpLearner
from tests.across.test_interruption import interrupted_at
from tests.naive.growth import NaiveGrowth, as_tuples

QUICK = {"budget": 8, "sample": 12, "candidates": 3, "test": 6, "delta": 0.4, "every": 5}
ROWS = 700
SETTINGS = {
    "window": {"tail": False, "head": 60},
    "forgetting": {"forgetting": 0.98, "head": 25},
    "head of one": {"forgetting": 0.98, "head": 1},
    "all": {},
}


def stream(n, n_classes=2, *, seed=0, n_features=5, period=150, noise=0.1):
    """The label depends on one feature, and on another one every ``period`` rows.

    Fewer rows are the first of more.
    """
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(ROWS, n_features)), 3)
    score = X[np.arange(ROWS), np.arange(ROWS) // period % n_features]
    y = np.digitize(score, [0.0] if n_classes == 2 else np.linspace(-0.5, 0.5, n_classes - 1))
    wrong = rng.random(ROWS) < noise
    y[wrong] = rng.integers(0, n_classes, wrong.sum())
    return X[:n], y[:n]


def growing(n_classes=2, n=100, *, n_hypotheses=5, grow=None, period=150, **options):
    """A classifier fitted to the first n rows of the stream, that grows."""
    X, y = stream(n, n_classes, period=period)
    clf = OCBClassifier(
        n_hypotheses=n_hypotheses, grow=Growth(**QUICK) if grow is None else grow, random_state=3, **options
    )
    return clf.fit(X, y)


def pools_of(clf):
    return [as_tuples(clf.hypotheses_[c]) for c in clf.committee_.columns]


def state_of(clf):
    """Everything that a file would hold, as something to compare."""
    return to_bytes("x", classifier_tree(clf))


def assert_sound(clf):
    """Committee, boosters, handover, scouts and rows fit one another."""
    committee, grower = clf.committee_, clf.grower_
    sizes = [booster.n_hypotheses for booster in clf.boosters_]
    assert [c.stop - c.start for c in committee.columns] == sizes
    assert max(c.stop for c in committee.columns) == len(clf.hypotheses_)
    assert [alpha.size for alpha in clf.alpha_] == sizes
    assert all(np.isfinite(alpha).all() for alpha in clf.alpha_)
    if committee.deployed_weights is not None:
        assert [w.size for w in committee.deployed_weights.deployed] == sizes
        assert [w.size for w in committee.deployed_weights.started] == sizes
    if grower is not None:
        assert max(sizes) <= grower.growth.budget
        assert [scout.worth.size for scout in grower.searches] == sizes
        assert all(np.isfinite(scout.worth).all() for scout in grower.searches)
        assert [alpha.size for alpha in grower._alphas] == sizes


# The twin ---------------------------------------------------------------------------------------------------


class DrawnStumps(Learner):
    """Some stumps at examples drawn by lot: what it finds depends on the generator and on nothing else."""

    def learn(self, X, y, *, n_hypotheses, sample_weight=None, rng=None):
        feature = rng.integers(0, X.shape[1], n_hypotheses)
        threshold = X[rng.integers(0, len(X), n_hypotheses), feature]
        left = rng.choice([-1, 1], n_hypotheses)
        return Stumps(feature, threshold, left, n_features=X.shape[1])


@pytest.mark.parametrize("learner", [StumpLearner(), DrawnStumps()], ids=["stumps", "drawn"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_in_a_window_it_is_the_twin(n_classes, learner, weighted):
    X, y = stream(500, n_classes, period=50)
    weights = np.random.default_rng(1).choice([0.0, 0.4, 1.0, 2.5], 500) if weighted else np.ones(500)
    quick = {**QUICK, "budget": 6, "sample": 8, "test": 4, "delta": 0.8}
    clf = growing(n_classes, period=50, tail=False, head=60, grow=Growth(**quick, learner=learner))
    seed = check_random_state(3).randint(1 << 31)
    twin = NaiveGrowth(pools_of(clf), X[:100], y[:100], 60, quick, learner, seed)
    n_looks = 0
    for i in range(100, 500):
        clf.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=weights[i : i + 1] + 1e-300)
        if twin.take(X[i], y[i], weights[i]):
            n_looks += 1
            assert pools_of(clf) == twin.pools
            for alpha, expected in zip(clf.alpha_, twin.alphas, strict=True):
                np.testing.assert_allclose(alpha, expected, rtol=0, atol=1e-10)
            assert (clf.n_grown_, clf.n_retired_) == (twin.n_grown, twin.n_retired)
            assert_sound(clf)
    assert n_looks == 80
    assert clf.n_grown_ >= 5
    assert clf.n_retired_ >= 3


def test_with_classes_that_share_their_hypotheses_it_is_the_twin():
    X, y = stream(400, 3)
    pool = Stumps([0, 1, 2], [0.5, -0.5, 0.0], [-1, 1, 1], n_features=5)
    clf = OCBClassifier(pool, tail=False, head=60, grow=Growth(**QUICK), random_state=3)
    clf.fit(X[:100], y[:100])
    twin = NaiveGrowth(
        [as_tuples(pool)] * 3,
        X[:100],
        y[:100],
        60,
        QUICK,
        StumpLearner(),
        check_random_state(3).randint(1 << 31),
    )
    for i in range(100, 400):
        clf.partial_fit(X[i : i + 1], y[i : i + 1])
        if twin.take(X[i], y[i]):
            assert pools_of(clf) == twin.pools
            for alpha, expected in zip(clf.alpha_, twin.alphas, strict=True):
                np.testing.assert_allclose(alpha, expected, rtol=0, atol=1e-10)
    assert clf.n_grown_ >= 5
    assert len(pool) == 3


def test_on_the_edge_a_candidate_is_taken():
    """δ = 1 asks for no edge at all: a share of exactly one half passes, and less does not."""

    class Two(Learner):
        def learn(self, X, y, *, n_hypotheses, sample_weight=None, rng=None):
            return Stumps([1, 2], [0.0, 0.0], [-1, -1], n_features=3)

    y = np.arange(40) % 2
    sign = 2.0 * y - 1.0
    halves = np.where(np.arange(40) % 4 < 2, sign, -sign)  # right, right, wrong, wrong, and so on
    X = np.stack([sign, halves, np.where(np.arange(40) % 4 == 0, sign, -sign)], axis=1)
    growth = Growth(budget=20, sample=2, test=4, delta=1.0, every=1, learner=Two())
    clf = OCBClassifier.from_offset(
        lambda X: -40.0 * X[:, 0],  # sure and wrong: every row comes through
        Stumps([0], [-np.inf], [1], n_features=3),
        classes=[0, 1],
        grow=growth,
        random_state=0,
    )
    clf.partial_fit(X, y)
    assert [stump[0] for stump in as_tuples(clf.hypotheses_)] == [0, *[1] * 9]


# However it is cut -----------------------------------------------------------------------------------------


def rows_as(X, kind):
    if kind == "missing":
        return np.where(np.random.default_rng(5).random(X.shape) < 0.15, np.nan, X)
    if kind == "sparse":
        return sparse.csr_matrix(np.where(np.abs(X) < 0.6, 0.0, X))
    return X.astype(np.float32 if kind == "single" else np.float64)


def fed(name, kind, cuts, n_classes=2):
    X, y = stream(330, n_classes, period=80)
    X = rows_as(X, kind)
    growth = Growth(budget=9, sample=10, candidates=2, test=5, delta=0.5, every=7)
    clf = OCBClassifier(n_hypotheses=4, grow=growth, random_state=0, **SETTINGS[name]).fit(X[:50], y[:50])
    for start, stop in zip([50, *cuts], [*cuts, 330], strict=True):
        clf.partial_fit(X[start:stop], y[start:stop])
    return clf


@functools.cache
def row_by_row(name, kind):
    clf = fed(name, kind, tuple(range(51, 330)))
    assert clf.n_grown_ >= 4
    return state_of(clf)


KINDS = [
    *((name, "double") for name in SETTINGS),
    *((name, kind) for name in ("window", "all") for kind in ("single", "sparse", "missing")),
]


@pytest.mark.parametrize(("name", "kind"), KINDS)
@given(cuts=st.lists(st.integers(51, 329), unique=True, max_size=8).map(sorted))
@settings(max_examples=4)
def test_the_cut_does_not_matter(name, kind, cuts):
    assert state_of(fed(name, kind, cuts)) == row_by_row(name, kind)


def test_the_cut_does_not_matter_for_more_classes_and_looks_far_apart():
    X, y = stream(500, 3)
    states = []
    for step in (1, 33, 400):
        clf = growing(3, grow=Growth(**{**QUICK, "every": 300}), tail=False, head=60)
        for start in range(100, 500, step):
            clf.partial_fit(X[start : start + step], y[start : start + step])
        states.append(state_of(clf))
    assert states[0] == states[1] == states[2]


def test_sparse_and_dense_calls_mixed():
    X, y = stream(700)
    X[np.abs(X) < 0.6] = 0.0
    clfs = []
    for formats in ([np.asarray], [sparse.csr_matrix], [np.asarray, sparse.csr_matrix, sparse.csr_array]):
        clf = OCBClassifier(n_hypotheses=5, grow=Growth(**QUICK), head=40, forgetting=0.98, random_state=0)
        clf.fit(formats[0](X[:100]), y[:100])
        for k, start in enumerate(range(100, 700, 13)):
            rows = slice(start, start + 13)
            clf.partial_fit(formats[k % len(formats)](X[rows]), y[rows])
        assert_sound(clf)
        clfs.append(clf)
    assert clfs[0].n_grown_ > 5
    for other in clfs[1:]:
        assert pools_of(other) == pools_of(clfs[0])
        np.testing.assert_array_equal(other.alpha_, clfs[0].alpha_)


# The budget and the parameters ---------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [5, 6, 9, 200])
@pytest.mark.parametrize("name", SETTINGS)
def test_the_budget_is_kept(name, budget):
    X, y = stream(700)
    clf = growing(grow=Growth(**{**QUICK, "budget": budget, "delta": 1.0}), **SETTINGS[name])
    for i in range(100, 700, 5):
        clf.partial_fit(X[i : i + 5], y[i : i + 5])
        assert_sound(clf)
        assert len(clf.hypotheses_) == 5 + clf.n_grown_ - clf.n_retired_
    assert clf.n_grown_ > 5
    assert (clf.n_retired_ == 0) == (budget == 200)


def test_a_budget_of_one_and_of_two():
    X, y = stream(500)
    clf = growing(n_hypotheses=1, grow=Growth(**{**QUICK, "budget": 1}))
    before = as_tuples(clf.hypotheses_)
    clf.partial_fit(X[100:500], y[100:500])
    assert as_tuples(clf.hypotheses_) == before
    assert (clf.n_grown_, clf.n_retired_) == (0, 0)
    clf = growing(n_hypotheses=1, grow=Growth(**{**QUICK, "budget": 2}))
    clf.partial_fit(X[100:500], y[100:500])
    assert len(clf.hypotheses_) == 2
    assert clf.n_grown_ == clf.n_retired_ + 1 > 2
    assert_sound(clf)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"grow": 4}, "grow must be at least the 5 hypotheses there are.*got 4"),
        ({"grow": True}, "grow must be None, the most hypotheses there may be, or a Growth; got True"),
        ({"grow": "yes"}, "grow must be None"),
        ({"grow": 10.0}, "grow must be None"),
        ({"grow": [10]}, "grow must be None"),
        ({"grow": 0}, "grow must be at least 1 and at most 100,000; got 0"),
        ({"grow": -3}, "grow must be at least 1 and at most 100,000; got -3"),
        ({"grow": 10, "order": 2}, r"order must be None where hypotheses come and go \(grow\); got 2"),
    ],
)
def test_bad_settings(options, match):
    X, y = stream(100)
    with pytest.raises(InputError, match=match):
        OCBClassifier(n_hypotheses=5, **options).fit(X, y)
    fitted = OCBClassifier(n_hypotheses=5).fit(X, y)
    fitted.set_params(**options)
    with pytest.raises(InputError, match=match):
        fitted.partial_fit(X, y)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("budget", [0, -1, 2.0, None, "a", True]),
        ("sample", [1, 0, 2.5, None]),
        ("candidates", [0, None, 1.5]),
        ("test", [0, None, 1.5]),
        ("every", [0, -1, None, False]),
        ("delta", [0.0, -0.1, 1.01, float("nan"), float("inf"), None, "0.1", True]),
        ("learner", ["tree", 5, Stumps([0], [0.0], [1]), DecisionTreeClassifier, object()]),
    ],
)
def test_growth_out_of_range(name, values):
    for value in values:
        with pytest.raises(InputError, match=f"^{name} must be") as caught:
            Growth(**{"budget": 10, name: value})
        assert "got" in str(caught.value)


def test_numbers_of_numpy_are_numbers():
    growth = Growth(np.int64(9), test=np.int8(7), delta=np.float32(0.5))
    assert growth == Growth(9, test=7, delta=0.5)
    assert type(growth.budget) is type(growth.test) is int
    assert type(growth.delta) is float
    assert growing(grow=np.int32(9)).committee_.settings["head"] == Growth(9).head


def test_a_class_that_comes_later_shares_within_the_budget():
    X, y = stream(600, 3)
    first = np.flatnonzero(y[:150] < 2)
    clf = OCBClassifier(n_hypotheses=5, grow=Growth(**QUICK), random_state=0)
    clf.partial_fit(X[first], y[first], classes=[0, 1, 2])
    clf.partial_fit(X[150:], y[150:])
    assert_sound(clf)
    assert clf.n_grown_ > 0


def test_what_a_learner_does_not_accept_is_refused_before_anything_is_learnt():
    X, y = stream(300)
    clf = growing(grow=Growth(**QUICK, learner="ball"))
    X[150, 2] = np.nan
    for call in (clf.predict, lambda rows: clf.partial_fit(rows, y)):
        with pytest.raises(ValueError, match="NaN"):
            call(X)
    assert clf.boosters_[0].n_seen == 100
    assert not clf.__sklearn_tags__().input_tags.allow_nan
    tree = growing(grow=Growth(**QUICK, learner=DecisionTreeClassifier(max_depth=2)))
    assert tree.__sklearn_tags__().input_tags.allow_nan
    assert growing().__sklearn_tags__().input_tags.sparse
    only_dense = growing(grow=Growth(**QUICK, learner=DrawnStumps()))
    with pytest.raises(TypeError, match="dense"):
        only_dense.partial_fit(sparse.csr_matrix(X[:9]), y[:9])


def test_from_a_learner_that_accepts_all_to_one_that_does_not():
    X, y = stream(700)
    clf = growing(head=150, forgetting=0.98)
    X[:300][np.random.default_rng(0).random((300, 5)) < 0.1] = np.nan
    clf.partial_fit(X[100:303], y[100:303])
    clf.set_params(grow=Growth(**QUICK, learner="ball"))
    grown = clf.n_grown_
    clf.partial_fit(X[303:], y[303:])
    assert clf.n_grown_ > grown
    assert isinstance(clf.hypotheses_, Joined | Balls)
    assert_sound(clf)


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
