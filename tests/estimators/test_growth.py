"""Growth against its naive twin, however a stream is cut, and within its budget."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

from ocboost import Growth, InputError, OCBClassifier
from ocboost.hypotheses import Balls, Joined, Stumps
from ocboost.learners import Learner, StumpLearner
from tests.naive.growth import NaiveGrowth, as_tuples
from tests.support.growing import QUICK, SETTINGS, assert_sound, growing, pools_of, state_of, stream

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


def test_candidates_are_bounded():
    """A file may ask for any number that is allowed, and learning 2³¹ of them would never end."""
    assert Growth(20, candidates=100_000).candidates == 100_000
    with pytest.raises(InputError, match="candidates must be"):
        Growth(20, candidates=1 << 31)


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
