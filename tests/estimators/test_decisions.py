"""What is predicted from probabilities: weights of classes, thresholds, costs, and shares that follow."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.class_weight import compute_sample_weight

from ocboost import AdaptiveClassifier, InputError, ModelFileError, OCBClassifier
from ocboost._core.codec import read
from ocboost.estimators.adaptive.file import adaptive_from_tree, adaptive_tree
from ocboost.estimators.classifier_file import classifier_from_tree, classifier_tree
from ocboost.estimators.decisions import (
    BALANCE_MEMORY,
    ClassShares,
    Decision,
    balanced_weights,
    decision_of,
)
from tests.support.saved_trees import changed

CLASSES = np.array(["a", "b", "c"])


def likelihoods(n, K, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(K), size=n)


def rare(n, seed=0, share=0.15):
    """Two classes, the second of them rare and hard to tell."""
    rng = np.random.default_rng(seed)
    codes = (rng.random(n) < share).astype(int)
    X = rng.normal(size=(n, 3))
    X[:, 0] += codes
    return X, np.array(["in time", "late"])[codes]


MAKERS = {
    "OCB": lambda **rule: OCBClassifier(n_hypotheses=10, random_state=0, **rule),
    "adaptive": lambda **rule: AdaptiveClassifier(n_hypotheses=10, random_state=0, **rule),
}
both = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def predicted(clf, X):
    return clf.predict(X, issue=False) if isinstance(clf, AdaptiveClassifier) else clf.predict(X)


def probabilities(clf, X):
    return clf.predict_proba(X, issue=False) if isinstance(clf, AdaptiveClassifier) else clf.predict_proba(X)


class TestDecision:
    def test_least_expected_cost_by_plain_loops(self):
        p, costs = likelihoods(50, 3), np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [9.0, 3.0, 0.5]])
        want = []
        for row in p:
            expected = [sum(row[k] * costs[k, j] for k in range(3)) for j in range(3)]
            want.append(min(range(3), key=expected.__getitem__))
        assert decision_of(CLASSES, costs=costs).codes(p).tolist() == want

    def test_weights_are_costs_of_a_class_s_errors(self):
        p, w = likelihoods(200, 3), {"a": 2.0, "c": 0.25}
        errors = np.array([2.0, 1.0, 0.25])[:, None] * (1.0 - np.eye(3))
        by_weights = decision_of(CLASSES, w).codes(p)
        np.testing.assert_array_equal(by_weights, decision_of(CLASSES, costs=errors).codes(p))
        assert (by_weights != p.argmax(axis=1)).any()

    def test_costs_by_name_are_the_same_as_in_a_table(self):
        p, table = likelihoods(100, 3), np.array([[0.0, 1.0, 7.0], [1.0, 0.0, 1.0], [1.0, 0.5, 0.0]])
        named = decision_of(CLASSES, costs={("a", "c"): 7, ("c", "b"): 0.5})
        np.testing.assert_array_equal(named.costs, table)
        np.testing.assert_array_equal(named.codes(p), decision_of(CLASSES, costs=table).codes(p))

    def test_the_second_class_from_the_threshold_on(self):
        p = np.array([[0.7, 0.3], [0.71, 0.29], [0.2, 0.8]])
        assert decision_of(CLASSES[:2], threshold=0.3).codes(p).tolist() == [1, 0, 1]
        assert decision_of(CLASSES[:2], threshold=0.0).codes(p).tolist() == [1, 1, 1]

    @pytest.mark.parametrize(
        "rule",
        [
            {"threshold": 0.2},
            {"costs": [[0, 1], [4, 0]]},
            {"costs": [[1, 2], [6, 2]]},
            {"class_weight": {"b": 4.0}},
            {"class_weight": {"b": 2.0}, "costs": [[0, 1], [2, 0]]},
            {"class_weight": {"b": 4.0}, "threshold": 0.5},
        ],
    )
    def test_rules_that_mean_the_same_threshold(self, rule):
        decision = decision_of(CLASSES[:2], **rule)
        assert decision.least_probability == pytest.approx(0.2)
        p = likelihoods(300, 2, 1)
        np.testing.assert_array_equal(decision.codes(p), p[:, 1] >= 0.2)

    def test_balance_is_by_the_shares_that_are_given(self):
        p = np.array([[0.75, 0.25], [0.85, 0.15]])
        decision = decision_of(CLASSES[:2], "balanced")
        assert decision.codes(p, np.array([0.8, 0.2])).tolist() == [1, 0]
        assert decision.least_probability is None

    def test_one_row_and_many_decide_alike(self):
        p, decision = likelihoods(64, 3), decision_of(CLASSES, costs=likelihoods(3, 3, 5))
        assert [int(decision.codes(row[None])[0]) for row in p] == decision.codes(p).tolist()

    def test_nothing_is_the_likeliest(self):
        assert decision_of(CLASSES) is None
        p = likelihoods(20, 3)
        np.testing.assert_array_equal(Decision().codes(p), p.argmax(axis=1))


class TestShares:
    def test_follow_a_balance_that_drifts_and_never_reach_zero(self):
        shares = ClassShares(2)
        np.testing.assert_array_equal(shares.shares, [0.5, 0.5])
        shares.take(np.zeros(10, np.int64), np.ones(10))
        np.testing.assert_allclose(shares.shares, [11 / 12, 1 / 12], atol=0.01)  # at once, not after 1,000
        shares.take(np.zeros(20_000, np.int64), np.ones(20_000))
        assert 0.0 < shares.shares[1] < 0.003
        shares.take(np.ones(int(BALANCE_MEMORY), np.int64), np.ones(int(BALANCE_MEMORY)))
        assert 0.6 < shares.shares[1] < 0.66  # 1 - 1/e

    def test_in_a_batch_as_scikit_learn_has_it(self):
        codes = np.random.default_rng(0).choice(3, size=90, p=[0.7, 0.2, 0.1])
        want = compute_sample_weight("balanced", codes)
        np.testing.assert_allclose(balanced_weights(codes, np.ones(90)), want, rtol=1e-12)


class TestClassifiers:
    @both
    def test_only_predictions_change_and_at_once(self, make):
        X, y = rare(900)
        clf = make().fit(X[:600], y[:600])
        before, p = predicted(clf, X[600:]), probabilities(clf, X[600:])
        for rule in ({"threshold": 0.2}, {"costs": {("late", "in time"): 4}}, {"class_weight": {"late": 4}}):
            clf.set_params(**{"threshold": None, "costs": None, "class_weight": None, **rule})
            want = np.where(p[:, 1] >= 0.2, "late", "in time")
            np.testing.assert_array_equal(predicted(clf, X[600:]), want)
            np.testing.assert_array_equal(probabilities(clf, X[600:]), p)
            one = [clf.predict_one(row) for row in X[600:620]]
            assert one == want[:20].tolist()
        assert (want != before).any()
        clf.set_params(class_weight=None)
        np.testing.assert_array_equal(predicted(clf, X[600:]), before)

    @both
    def test_balance_finds_more_of_the_rare_class(self, make):
        X, y = rare(3000)
        late = y[1500:] == "late"
        recall = []
        for class_weight in (None, "balanced"):
            clf = make(class_weight=class_weight).fit(X[:1500], y[:1500])
            recall.append(float((predicted(clf, X[1500:])[late] == "late").mean()))
        assert recall[0] < 0.35 < 0.5 < recall[1] < 0.9

    def test_the_adaptive_balance_follows_the_labels(self):
        X, y = rare(1000, share=0.1)
        clf = AdaptiveClassifier(n_hypotheses=10, random_state=0, class_weight="balanced").fit(X, y)
        looked = copy.copy(clf)
        found = clf.bank_.class_shares.shares
        assert 0.07 < found[1] < 0.14
        p = probabilities(clf, X)
        want = np.array(["in time", "late"])[(p / found).argmax(axis=1)]
        np.testing.assert_array_equal(predicted(clf, X), want)
        for row in X[:100]:
            clf.learn_one(row, "late")
        assert clf.bank_.class_shares.shares[1] > 0.2
        np.testing.assert_array_equal(looked.bank_.class_shares.shares, found)

    def test_ocb_balances_what_it_learns(self):
        X, y = rare(600)
        weights = compute_sample_weight("balanced", y)
        weighted = OCBClassifier(n_hypotheses=10, random_state=0).fit(X, y, weights)
        clf = OCBClassifier(n_hypotheses=10, random_state=0, class_weight="balanced").fit(X, y)
        np.testing.assert_array_equal(clf.alpha_[0], weighted.alpha_[0])
        more, labels = rare(200, seed=1, share=0.6)
        running = clf.class_shares_.copy()
        own = running.take((labels == "late").astype(np.int64), np.ones(200))
        weighted.partial_fit(more, labels, sample_weight=own)
        for part in (slice(0, 1), slice(1, 120), slice(120, 200)):
            clf.partial_fit(more[part], labels[part])
        np.testing.assert_array_equal(clf.alpha_[0], weighted.alpha_[0])
        assert np.isfinite(clf.alpha_[0]).all()
        np.testing.assert_array_equal(clf.class_shares_.shares, running.shares)

    def test_learning_one_row_and_growing_balance_too(self):
        X, y = rare(500)
        by_row, at_once = (
            OCBClassifier(n_hypotheses=10, grow=15, random_state=0, class_weight="balanced").fit(X, y)
            for _ in range(2)
        )
        more, labels = rare(60, seed=1)
        for row, label in zip(more, labels.tolist(), strict=True):
            by_row.learn_one(row, label)
        at_once.partial_fit(more, labels)
        np.testing.assert_array_equal(by_row.alpha_[0], at_once.alpha_[0])

    def test_rows_that_cannot_be_learnt_are_not_counted(self):
        X, y = rare(300)
        clf = OCBClassifier(n_hypotheses=5, class_weight="balanced").fit(X, y)
        before = clf.class_shares_.shares
        with pytest.raises(InputError):
            clf.learn_one([1.0, 2.0, np.inf], "late")
        np.testing.assert_array_equal(clf.class_shares_.shares, before)

    def test_an_adopted_model_decides_alone_unless_something_is_set(self):
        X, y = rare(600)
        model = LogisticRegression().fit(X, y)
        clf = AdaptiveClassifier.from_fitted(model, X, y, n_hypotheses=5, random_state=0)
        np.testing.assert_array_equal(clf.predict(X, issue=False), model.predict(X))
        clf.set_params(threshold=0.2)
        want = np.where(model.predict_proba(X)[:, 1] >= 0.2, "late", "in time")
        np.testing.assert_array_equal(clf.predict(X, issue=False), want)

    @both
    def test_three_classes_and_copies(self, make):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(400, 2)), rng.choice(3, size=400, p=[0.7, 0.2, 0.1])
        X[:, 0] += y
        clf = make(costs=np.array([[0, 1, 1], [3, 0, 1], [8, 8, 0.0]])).fit(X, y)
        want = decision_of(np.arange(3), costs=clf.costs).codes(probabilities(clf, X))
        np.testing.assert_array_equal(predicted(clf, X), want)
        for other in (clone(clf).fit(X, y), copy.copy(clf), pickle.loads(pickle.dumps(clf))):
            np.testing.assert_array_equal(predicted(other, X), want)


RULES = [
    {"class_weight": "balanced"},
    {"class_weight": {"late": 3.0}, "threshold": 0.25},
    {"costs": {("late", "in time"): 5.0}},
    {},
]


class TestFiles:
    @both
    @pytest.mark.parametrize("rule", RULES, ids=str)
    def test_they_are_kept(self, make, rule, tmp_path):
        X, y = rare(500)
        clf = make(**rule).fit(X[:300], y[:300])
        clf.save(tmp_path / "model.ocb")
        again = type(clf).load(tmp_path / "model.ocb")
        for each in (clf, again):
            each.partial_fit(X[300:400], y[300:400])
        np.testing.assert_array_equal(predicted(again, X), predicted(clf, X))
        np.testing.assert_array_equal(probabilities(again, X), probabilities(clf, X))
        given = {name: getattr(again, name) is None for name in ("class_weight", "threshold", "costs")}
        assert given == {name: name not in rule for name in given}

    def test_older_files_have_none(self):
        X, y = rare(300)
        tree = classifier_tree(MAKERS["OCB"]().fit(X, y))
        assert "decisions" not in tree
        del tree["class_shares"]
        tree = {key: value for key, value in tree.items() if key not in ("schema", "history")}
        clf = read(tree, "a file", lambda fields: classifier_from_tree(fields, OCBClassifier))
        assert (clf.class_weight, clf.threshold, clf.costs) == (None, None, None)
        np.testing.assert_array_equal(clf.class_shares_.shares, [0.5, 0.5])

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            ("decisions.weights", "even"),
            ("decisions.weights", np.array([1.0, np.nan])),
            ("decisions.weights", np.array([1.0, 2.0, 3.0])),
            ("decisions.weights", np.array([1, 2])),
            ("decisions.weights", 3),
            ("decisions.threshold", 1.5),
            ("decisions.threshold", "0.5"),
            ("decisions.threshold", float("nan")),
            ("decisions.costs", np.array([[0.0, -1.0], [1.0, 0.0]])),
            ("decisions.costs", np.array([[0.0, 1.0], [np.inf, 0.0]])),
            ("decisions.costs", np.zeros((3, 3))),
            ("decisions.costs", [[0, 1], [1, 0]]),
            ("decisions", None),
            ("class_shares.sums", np.array([1.0, 2.0, np.nan])),
            ("class_shares.sums", np.array([1.0, -1.0, 0.0])),
            ("class_shares.sums", np.array([1.0, 1.0, 300.0])),
            ("class_shares.sums", np.array([1e9, 1e9, 2e9])),
            ("class_shares.sums", np.zeros(4)),
        ],
    )
    @both
    def test_hostile_files_are_refused(self, make, path, value):
        X, y = rare(300)
        clf = make(class_weight={"late": 2.0}).fit(X, y)
        adaptive = isinstance(clf, AdaptiveClassifier)
        tree = adaptive_tree(clf) if adaptive else classifier_tree(clf)
        tree = {key: each for key, each in tree.items() if key not in ("schema", "history")}
        place = f"bank.{path}" if adaptive and path.startswith("class_shares") else path

        def loaded(fields):
            if adaptive:
                return adaptive_from_tree(fields, AdaptiveClassifier)
            return classifier_from_tree(fields, OCBClassifier)

        read(tree, "a file", loaded)
        with pytest.raises(ModelFileError, match="a file is not a valid model"):
            read(changed(tree, place, value), "a file", loaded)


WRONG = [
    ({"class_weight": "even"}, "class_weight must be None, 'balanced' or a dictionary .* got 'even'"),
    (
        {"class_weight": {"soon": 2}},
        r"class_weight must be about the classes \['in time', 'late'\]; got 'soon'",
    ),
    ({"class_weight": {"late": -1}}, "class_weight of 'late' must be a number from 0 to 1e.100; got -1"),
    ({"class_weight": {"late": np.nan}}, "class_weight of 'late' must be a number .* got nan"),
    ({"class_weight": {"late": 0, "in time": 0}}, "class_weight must give a weight above 0 to some class"),
    ({"threshold": 1.2}, "threshold must be a probability from 0 to 1; got 1.2"),
    ({"threshold": "half"}, "threshold must be a probability from 0 to 1; got 'half'"),
    ({"costs": [[0, 1, 1], [1, 0, 1]]}, r"costs must be 2 × 2 numbers.*got shape \(2, 3\)"),
    ({"costs": [[0, 1], [1]]}, r"costs must be 2 × 2 numbers"),
    ({"costs": [[0, -2], [1, 0]]}, r"costs\[0, 1\] must be a number from 0 to 1e.100; got -2"),
    ({"costs": [[0, 1], [np.nan, 0]]}, r"costs\[1, 0\] must be a number .* got nan"),
    ({"costs": {("late", "soon"): 1}}, "costs must be about the classes .* got 'soon'"),
    ({"costs": {"late": 1}}, r"costs must have keys \(true, predicted\); got 'late'"),
    ({"costs": [[0, 1], [1, 0]], "threshold": 0.5}, "threshold and costs exclude each other"),
]


@both
@pytest.mark.parametrize(("rule", "text"), WRONG)
def test_what_makes_no_sense_is_refused(make, rule, text, tmp_path):
    X, y = rare(300)
    with pytest.raises(InputError, match=text):
        make(**rule).fit(X, y)
    clf = make().fit(X, y).set_params(**rule)
    with pytest.raises(InputError, match=text):
        clf.predict(X)
    assert getattr(clf, "n_waiting_", 0) == 0
    with pytest.raises(InputError, match=text):
        clf.save(tmp_path / "model.ocb")
    assert not (tmp_path / "model.ocb").exists()


def test_a_threshold_is_for_two_classes():
    with pytest.raises(InputError, match=r"threshold must be None for more than two classes; got 0\.5 for 3"):
        OCBClassifier(threshold=0.5).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
