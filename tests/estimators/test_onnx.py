"""Exported hypotheses and weights answer as the classifier does, to the last bit."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from ocboost import OCBClassifier
from ocboost.estimators.deployed_weights import DeployedWeights
from ocboost.hypotheses import Balls, Boxes, Joined, Stumps, Trees, all_boxes, from_sklearn, join
from tests.contracts.examples import rows
from tests.support.onnx_runs import answered, assert_same, weighing

F = 9


def _rng():
    return np.random.default_rng(5)


def stumps(J=40, **more):
    rng = _rng()
    threshold = rng.normal(size=J).round(1)
    threshold[:2] = np.inf, -np.inf
    signs = rng.choice([-1, 1], (2, J))
    return Stumps(rng.integers(F, size=J), threshold, *signs, n_features=F, **more)


def trees(depth=3, n_classes=2, **more):
    X = _rng().normal(size=(300, F)).round(1)
    X[::7, 0] = np.nan
    y = (np.nan_to_num(X[:, 0]) * 2 + X[:, 1] * X[:, 2] > 0) + (0 if n_classes == 2 else X[:, 3] > 0.5)
    members = [
        DecisionTreeClassifier(max_depth=depth, splitter="random", random_state=t, **more).fit(X, y)
        for t in range(8)
    ]
    return from_sklearn(members)


def chain(depth):
    """A tree that goes down one level at a time: +1 at even leaves; NaN goes left at every third node."""
    inner = np.arange(depth)
    nodes = 2 * depth + 1
    feature, threshold = np.full(nodes, -1), np.zeros(nodes)
    left, right = np.full((2, nodes), -1)
    feature[2 * inner], threshold[2 * inner] = inner % F, 0.1 * inner - 1.0
    left[2 * inner], right[2 * inner] = 2 * inner + 1, 2 * inner + 2
    answer = np.where(np.arange(nodes) // 2 % 2 == 0, 1, -1)
    missing = (np.arange(nodes) % 3 == 0).astype(int)
    return Trees([0], feature, threshold, left, right, answer, missing, n_features=F)


def leaf():
    return Trees([0, 0], [-1], [0.0], [-1], [-1], [[1, -1, 1]], n_features=F)


def balls(dimensions=F, dtype=np.float64):
    rng = _rng()
    centre = rng.normal(size=(12, dimensions)).astype(dtype)
    return Balls(centre, np.sqrt(rng.uniform(1, 2 * dimensions, 12)), rng.choice([-1, 1], 12))


def boxes():
    rng = _rng()
    rects, weight = (array[rng.integers(0, 20, 12)] for array in all_boxes(3))
    return Boxes(rects, weight * 0.1, rng.normal(size=12) / 30, rng.choice([-1, 1], 12), side=3)


KINDS = {
    "stumps": stumps,
    "stumps, single": lambda: stumps(precision="single"),
    "one stump": lambda: Stumps([F - 1], [0.5], [-1], n_features=F),
    "trees": trees,
    "trees of three classes": lambda: trees(n_classes=3),
    "trees of any depth": lambda: trees(depth=None, min_samples_leaf=3),
    "chain": lambda: chain(40),
    "leaves": leaf,
    "balls": balls,
    "balls, single": lambda: balls(dtype=np.float32),
    "boxes": boxes,
    "joined": lambda: Joined([stumps(5), trees(n_classes=3), stumps(3, precision="single"), trees(1)]),
    "all joined": lambda: join([balls(), boxes(), stumps(4), chain(3)]),
}


def features(hypotheses, n=300):
    """Rows with many ties, and NaN where it may be."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(n, hypotheses.n_features)).round(1)
    if hypotheses.accepts_missing:
        X[rng.random(X.shape) < 0.1] = np.nan
        X[0] = np.nan
    return X


class TestKinds:
    @pytest.mark.parametrize("n_boosters", [1, 3])
    @pytest.mark.parametrize("kind", KINDS)
    def test_scores_and_labels_are_the_same(self, kind, n_boosters):
        made = KINDS[kind]()
        alphas = np.random.default_rng(7).normal(size=(n_boosters, len(made)))
        X = features(made)
        clf = weighing(made, alphas)
        assert len(np.unique(clf.decision_function(X))) > 1 or kind == "leaves"
        assert_same(clf, X)

    @pytest.mark.parametrize("dimensions", [1, 15, 16, 17, 32, 50])
    def test_balls_of_any_dimension(self, dimensions):
        """Features are taken some at a time."""
        made = balls(dimensions)
        assert_same(weighing(made, np.arange(1.0, 13.0)), features(made, 60))

    def test_balls_at_their_radius(self):
        made = Balls([[0.0, 0.0], [0.1, 0.2]], [5.0, np.sqrt(0.02)], [1, -1])
        X = np.array([[3.0, 4.0], [np.nextafter(3.0, 0), 4.0], [0.2, 0.3], [0.0, 0.1], [0.0, 0.3]])
        assert_same(weighing(made, [1.0, 0.25]), X)

    def test_images_without_contrast(self):
        made = boxes()
        X = np.array([np.zeros(9), np.full(9, 7.0), np.r_[np.full(8, 1.0), 1.0 + 1e-12], np.arange(9.0)])
        assert_same(weighing(made, np.arange(1.0, 13.0)), X)

    def test_float32_is_rounded_before_it_is_compared(self):
        """0.1 is below float32(0.1), which is what scikit-learn's trees compare."""
        at = float(np.float32(0.1))
        X = np.array([0.1, at, np.nextafter(at, 1), 0.1000001, 1e300, -1e300, np.nan])[:, None]
        for made in (
            Stumps([0, 0], [at, 0.1], [1, 1], precision="single"),
            Trees([0], [0, -1, -1], [0.1, 0, 0], [1, -1, -1], [2, -1, -1], [1, 1, -1], precision="single"),
        ):
            assert_same(weighing(made, np.arange(1.0, 1.0 + len(made))), X)

    def test_no_rows(self):
        for kind in ("joined", "all joined"):
            label, shares, scores = answered(
                weighing(KINDS[kind](), np.ones((3, len(KINDS[kind]())))).to_onnx(), np.empty((0, F))
            )
            assert (label.shape, shares.shape, scores.shape) == ((0,), (0, 3), (0, 3))

    @pytest.mark.parametrize("kind", ["joined", "all joined"])
    def test_infinity_is_answered_with_something(self, kind):
        made = KINDS[kind]()
        X = np.zeros((4, F))
        X[0], X[1], X[2, 3] = np.inf, -np.inf, np.inf
        label, _, scores = answered(weighing(made, np.ones(len(made))).to_onnx(), X)
        assert np.isfinite(scores).all()
        assert set(label.tolist()) <= {0, 1}

    @pytest.mark.parametrize("kind", ["trees", "chain"])
    def test_infinity_goes_where_large_numbers_go(self, kind):
        made = KINDS[kind]()
        clf = weighing(made, np.arange(1.0, 1.0 + len(made)))
        X = np.stack([np.full(F, np.inf), np.full(F, -np.inf)])
        expected = clf.decision_function(np.sign(X) * 1e30)
        np.testing.assert_array_equal(answered(clf.to_onnx(), X)[2], expected)


class TestTies:
    def test_of_two_classes_the_first_wins(self):
        clf = weighing(Stumps([0, 1], [0.0, 0.0], [1, 1]), [0.3, 0.3], ["no", "yes"])
        X = np.array([[-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
        assert answered(clf.to_onnx(), X)[0].tolist() == ["no", "no", "yes"]
        assert_same(clf, X)

    def test_of_more_classes_the_first_of_the_highest_wins(self):
        clf = weighing(Stumps([0], [0.0], [1]), [[0.1], [0.7], [0.7]])
        X = np.array([[-1.0], [1.0]])
        assert answered(clf.to_onnx(), X)[0].tolist() == [1, 0]
        assert_same(clf, X)

    def test_the_sum_is_taken_in_the_order_of_the_hypotheses(self):
        """0.1 + 0.2 + 0.3 - 0.6 is positive from left to right, and 0 from right to left."""
        made = Stumps([0] * 4, [0.0] * 4, [1, 1, 1, -1])
        X = np.full((40, 1), -1.0)
        for alpha in ([0.1, 0.2, 0.3, 0.6], [0.6, 0.3, 0.2, 0.1]):
            assert_same(weighing(made, alpha), X)
        clf = weighing(made, [0.1, 0.2, 0.3, 0.6])
        assert answered(clf.to_onnx(), X)[0].tolist() == [1] * 40


class TestProperties:
    values = st.sampled_from([-1.5, -0.0, 0.0, 0.1, float(np.float32(0.1)), 0.3, 2.0, 1e30])
    weights = st.sampled_from([0.0, 0.1, 0.2, 0.3, -0.3, 1.0, 1e-17, 1e17])

    def grid(self, draw, n, n_features, missing=True):
        value = st.one_of(self.values, st.just(np.nan)) if missing else self.values
        flat = draw(st.lists(value, min_size=n * n_features, max_size=n * n_features))
        return np.array(flat).reshape(n, n_features)

    def drawn(self, draw, of, n):
        return draw(st.lists(of, min_size=n, max_size=n))

    def compare(self, draw, made, missing=True):
        n_boosters = draw(st.sampled_from([1, 3]))
        alphas = [self.drawn(draw, self.weights, len(made)) for _ in range(n_boosters)]
        X = self.grid(draw, 6, made.n_features, missing)
        assert_same(weighing(made, np.array(alphas)), X, batches=(1,))

    def some_stumps(self, draw, n_features=3):
        J = draw(st.integers(1, 6))
        edge = st.one_of(self.values, st.sampled_from([np.inf, -np.inf]))
        return Stumps(
            self.drawn(draw, st.integers(0, n_features - 1), J),
            self.drawn(draw, edge, J),
            *(self.drawn(draw, st.sampled_from([-1, 1]), J) for _ in range(2)),
            n_features=n_features,
            precision=draw(st.sampled_from(["double", "single"])),
        )

    def some_trees(self, draw, n_features=3):
        """Nodes that split the first leaf, or any other, until there are enough."""
        leaves, left, right = [0], [-1], [-1]
        for place in self.drawn(draw, st.integers(0, 10), draw(st.integers(0, 6))):
            node = leaves.pop(place % len(leaves))
            left[node], right[node] = len(left), len(left) + 1
            leaves += [len(left), len(left) + 1]
            left += [-1, -1]
            right += [-1, -1]
        nodes, G = len(left), draw(st.sampled_from([1, 2]))
        feature = np.where(np.array(left) < 0, -1, self.drawn(draw, st.integers(0, n_features - 1), nodes))
        return Trees(
            [0] * draw(st.integers(1, 2)),
            feature,
            self.drawn(draw, self.values, nodes),
            left,
            right,
            np.reshape(self.drawn(draw, st.sampled_from([-1, 1]), nodes * G), (nodes, G)),
            self.drawn(draw, st.integers(0, 1), nodes),
            n_features=n_features,
            precision=draw(st.sampled_from(["double", "single"])),
        )

    @settings(max_examples=40, deadline=None)
    @given(st.data())
    def test_stumps(self, data):
        self.compare(data.draw, self.some_stumps(data.draw))

    @settings(max_examples=40, deadline=None)
    @given(st.data())
    def test_trees(self, data):
        self.compare(data.draw, self.some_trees(data.draw))

    @settings(max_examples=20, deadline=None)
    @given(st.data())
    def test_joined(self, data):
        self.compare(data.draw, Joined([self.some_stumps(data.draw), self.some_trees(data.draw)]))

    @settings(max_examples=30, deadline=None)
    @given(st.data())
    def test_balls(self, data):
        """Some radii are the distances of rows, as they are rounded."""
        draw, n_features = data.draw, data.draw(st.sampled_from([2, 18]))
        centre, X = (self.grid(draw, 4, n_features, missing=False) % 7 for _ in range(2))
        theta = np.sqrt(((X - centre) ** 2).cumsum(axis=1)[:, -1])
        made = Balls(centre, theta, self.drawn(draw, st.sampled_from([-1, 1]), 4))
        assert_same(weighing(made, self.drawn(draw, self.weights, 4)), X, batches=(1,))


class TestFitted:
    @pytest.mark.parametrize("K", [2, 3])
    @pytest.mark.parametrize("estimator", ["stump", "ball", DecisionTreeClassifier(max_depth=2)])
    def test_after_learning_a_stream(self, estimator, K):
        X, y = rows(260, K)
        clf = OCBClassifier(estimator, 15, random_state=0).fit(X[:120], y[:120])
        assert_same(clf, X)
        clf.partial_fit(X[120:], y[120:])
        assert_same(clf, X)

    @pytest.mark.parametrize("K", [2, 4])
    def test_adopted_models_before_and_after_the_first_example(self, K):
        X, y = rows(260, K)
        tree = DecisionTreeClassifier(max_depth=2)
        ada = AdaBoostClassifier(tree, n_estimators=12, random_state=0).fit(X[:150], y[:150])
        clf = OCBClassifier.from_fitted(ada, X[:150], y[:150])
        assert clf.committee_.view().deployed is not None
        assert_same(clf, X)
        np.testing.assert_array_equal(answered(clf.to_onnx(), X)[0], ada.predict(X))
        clf.partial_fit(X[150:170], y[150:170])
        assert clf.committee_.view().deployed is None
        assert_same(clf, X)

    def test_the_labels_of_an_adopted_model_are_decided_by_its_own_sum(self):
        """Where classes are level but for rounding, scikit-learn's sum and ours differ."""
        alpha = np.array([0.2, 0.5, 0.7])
        clf = weighing(Stumps(np.arange(12), np.zeros(12), np.ones(12, int)), np.ones((4, 12)))
        clf.committee_.columns = [slice(3 * k, 3 * k + 3) for k in range(4)]
        clf.committee_.deployed_weights = DeployedWeights([alpha] * 4, [alpha] * 4, 1.0, 2.8)
        X = np.array(list(product([-1.0, 1.0], repeat=12)))
        assert (clf.decision_function(X).argmax(axis=1) != clf.predict(X)).any()
        assert_same(clf, X)

    def test_a_growing_model_is_exported_as_it_is_now(self):
        X, y = rows(260, 3)
        clf = OCBClassifier(n_hypotheses=4, grow=12, random_state=0).fit(X[:60], y[:60])
        before = clf.to_onnx()
        expected = clf.decision_function(X)
        clf.partial_fit(X, y)
        clf.partial_fit(X, y)
        assert clf.n_grown_ > 0
        np.testing.assert_array_equal(answered(before, X)[2], expected)
        assert_same(clf, X)

    @pytest.mark.parametrize("booster", ["oza", "winnow", "logistic"])
    def test_other_boosters(self, booster):
        X, y = rows()
        assert_same(OCBClassifier(n_hypotheses=10, booster=booster).fit(X, y), X)
