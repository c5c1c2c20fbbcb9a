"""What carried a prediction of an `OCBClassifier`, and which features count."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.tree import DecisionTreeClassifier

from ocboost import AdaptiveClassifier, InputError, OCBClassifier
from ocboost.hypotheses import Stumps
from ocboost.offsets import LinearOffset
from ocboost.streams import Column, Schema


def rows(n=240, K=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(3)
    score = X[:, 0] + 0.5 * X[:, 1] + 0.2 * rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, K) / K))


def ensemble(K):
    X, y = rows(K=K)
    tree = DecisionTreeClassifier(max_depth=3)
    return AdaBoostClassifier(tree, n_estimators=6, random_state=0).fit(X, y)


def made(name):
    X, y = rows(K=3 if "3" in name else 2)
    if "adopted" in name:
        clf = OCBClassifier.from_fitted(ensemble(len(set(y))), X, y)
        return clf if "untouched" in name else clf.partial_fit(X[:50], y[:50])
    more = {"offset": LinearOffset([0.3, 0.0, 0.1, 0.0], -0.2)} if "offset" in name else {}
    more |= {"grow": 20, "head": 60} if "grown" in name else {}
    estimator = {"balls": "ball", "trees": DecisionTreeClassifier(max_depth=2)}.get(name)
    clf = OCBClassifier(estimator, 12, random_state=0, **more).fit(X, y)
    return clf.partial_fit(X, np.roll(y, 1)) if "grown" in name else clf


MODELS = ["stumps", "stumps, 3", "offset", "balls", "trees", "adopted", "adopted, 3, untouched", "grown"]


@pytest.mark.parametrize("name", MODELS)
class TestContributions:
    def test_they_add_up(self, name):
        clf, X = made(name), rows(30, seed=1)[0]
        votes = clf.decision_function(X)
        for top in (3, None):
            for i, why in enumerate(clf.explain(X, top)):
                code = clf.classes_.tolist().index(why.prediction)
                score = votes[i, code] if votes.ndim == 2 else votes[i] if code else -votes[i]
                assert why.score == score
                offset = why.offset or 0.0
                listed = [part.contribution for part in why.hypotheses]
                assert math.fsum([*listed, why.other_hypotheses, offset]) == pytest.approx(score, abs=1e-12)
                listed = [part.contribution for part in why.features]
                assert math.fsum([*listed, why.other_features, offset]) == pytest.approx(score, abs=1e-12)
                if top is None:
                    assert why.n_other_hypotheses == sum(
                        abs(a) == 0.0 for a in clf.alpha_[code % len(clf.alpha_)]
                    )
                    assert why.other_hypotheses == 0.0

    def test_the_prediction_is_that_of_the_classifier(self, name):
        clf, X = made(name), rows(30, seed=1)[0]
        why = clf.explain(X)
        assert [each.prediction for each in why] == clf.predict(X).tolist()
        shares = clf.predict_proba(X).max(axis=1)
        np.testing.assert_allclose([each.probability for each in why], shares, rtol=1e-12)

    def test_parts(self, name):
        clf, X = made(name), rows(5, seed=1)[0]
        for why in clf.explain(X, 4):
            sizes = [abs(part.contribution) for part in why.hypotheses]
            assert len(sizes) == 4
            assert sizes == sorted(sizes, reverse=True)
            for part in why.hypotheses:
                assert part.contribution == part.weight * part.answer
                assert "inf" not in part.words.lower()
            assert len(why.features) <= 4
            json.dumps(why.to_dict(), allow_nan=False)


def test_by_hand():
    clf = OCBClassifier(Stumps([0, 1, 0], [0.5, 2.0, np.inf], [-1, -1, 1], [1, 1, 1]), booster="logistic")
    clf.partial_fit([[0, 1], [1, 3], [1, 1]], ["no", "yes", "yes"])
    alpha = clf.alpha_[0]
    why = clf.explain([[1.0, 1.0]])[0]
    assert why.prediction == "yes"
    found = {part.words: (part.answer, part.weight) for part in why.hypotheses}
    assert found == {"x0 > 0.5": (1, alpha[0]), "x1 > 2": (-1, alpha[1]), "always": (1, alpha[2])}
    assert {f.name: f.contribution for f in why.features} == {"x0": alpha[0], "x1": -alpha[1]}
    assert why.other_features == pytest.approx(alpha[2])  # it is of no feature
    against = clf.explain([[0.0, 1.0]])[0]
    assert against.prediction == "no"
    assert {part.words: part.weight for part in against.hypotheses}["x0 > 0.5"] == -alpha[0]


def test_names_and_text():
    pandas = pytest.importorskip("pandas")
    X, y = rows()
    table = pandas.DataFrame(X, columns=["price", "<b>", "evil\x1b[31m", "d$"])
    why = OCBClassifier(n_hypotheses=30, random_state=0).fit(table, y).explain(table[:2], top=100)
    text, page = str(why), why._repr_html_()
    assert text.startswith(f"row 0: class {why[0].prediction}, probability ")
    assert "price > " in text
    assert "\x1b" not in text + page
    assert "<b> " in text
    assert "<b> " not in page
    assert "&lt;b&gt; " in page
    assert str(why[1]) in text


def test_categories_belong_to_their_column():
    X = np.array([[1.0, 0.0, 5.0], [0.0, 1.0, 5.0], [0.0, 0.0, 7.0]] * 20)
    clf = OCBClassifier(Stumps([0, 1, 2], [0.5, 0.5, 6.0], [-1, 1, -1]), booster="logistic")
    clf.fit(X, (X[:, 2] > 6).astype(int))
    clf.schema_ = Schema((Column("carrier", "category", ("UA", "B6")), Column("hour")))
    clf.n_features_in_ = 3  # of the encoded rows
    why = clf.explain(X[:1])[0]
    assert {part.words for part in why.hypotheses} == {"carrier is UA", "carrier is not B6", "hour > 6"}
    assert {f.name: f.value for f in why.features} == {"carrier": "UA", "hour": "5"}
    by_words = {part.words: part.contribution for part in why.hypotheses}
    by_name = {f.name: f.contribution for f in why.features}
    assert by_name["carrier"] == pytest.approx(by_words["carrier is UA"] + by_words["carrier is not B6"])
    assert clf.feature_importances_.shape == (2,)


def test_sparse_rows():
    X, y = rows()
    X[X < 0] = 0.0
    clf = OCBClassifier(n_hypotheses=10, random_state=0).fit(csr_matrix(X), y)
    assert clf.explain(csr_matrix(X[:3])).to_dict() == clf.explain(X[:3]).to_dict()


class TestImportances:
    def test_the_right_ones_come_first(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(3000, 10))
        y = (2.0 * X[:, 3] + X[:, 7] > 0.3 * rng.normal(size=3000)).astype(int)
        clf = OCBClassifier(n_hypotheses=40, random_state=0).fit(X[:2000], y[:2000])
        found = clf.feature_importances_
        assert found.sum() == pytest.approx(1.0)
        assert np.argsort(-found)[:2].tolist() == [3, 7]
        permuted = permutation_importance(clf, X[2000:], y[2000:], n_repeats=2, random_state=0)
        assert np.argsort(-permuted.importances_mean)[:2].tolist() == [3, 7]
        assert found[[3, 7]].sum() > 0.9

    def test_of_trees(self):
        assert np.argsort(-made("adopted").feature_importances_)[:2].tolist() == [0, 1]

    def test_zeros_before_anything_is_learnt(self):
        hypotheses = Stumps([0, 1], [0.5, 1.0], [1, 1])
        clf = OCBClassifier.from_offset(lambda X: X[:, 0], hypotheses, classes=[0, 1])
        assert clf.feature_importances_.tolist() == [0.0, 0.0]
        why = clf.explain([[1.0, 2.0]])[0]
        assert (why.hypotheses, why.features, why.score, why.offset) == ((), (), 1.0, 1.0)

    def test_a_constant_carries_nothing(self):
        clf = OCBClassifier(Stumps([0, 1], [0.5, np.inf], [-1, 1], [1, 1]), booster="logistic")
        clf.fit([[0, 1], [1, 3], [1, 1]], [0, 1, 1])
        assert clf.feature_importances_.tolist() == [1.0, 0.0]


class TestInput:
    def test_unfitted(self):
        clf = OCBClassifier()
        for call in (lambda: clf.explain([[1.0]]), clf.weight_changes, lambda: clf.plot_explanation([1.0])):
            with pytest.raises(NotFittedError):
                call()
        assert not hasattr(clf, "feature_importances_")

    @pytest.mark.parametrize("top", [0, -1, 1.5, "all", True])
    def test_top(self, top):
        with pytest.raises(InputError, match="top must be"):
            made("stumps").explain(rows(1)[0], top)

    def test_other_columns(self):
        with pytest.raises(ValueError, match="features"):
            made("stumps").explain([[1.0, 2.0]])


@pytest.mark.parametrize("kind", [OCBClassifier, AdaptiveClassifier])
def test_the_likeliest_class_is_named_where_another_is_predicted(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.where(X[:, 0] + rng.normal(size=200) > 0.0, "ok", "late")
    clf = kind(n_hypotheses=6, random_state=0).fit(X, y)
    likely = clf.explain(X)
    assert all(each.likeliest is None and "likelier" not in each.title for each in likely)
    clf.set_params(threshold=0.99)
    for before, after in zip(likely, clf.explain(X), strict=True):
        other = before.prediction != after.prediction
        assert after.likeliest == (before.prediction if other else None)
        assert (
            after.title.endswith("though ok is likelier: class weights, a threshold or costs decide") == other
        )
    assert any(each.likeliest for each in clf.explain(X))
