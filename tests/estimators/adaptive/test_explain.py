"""What carried a prediction of an `AdaptiveClassifier`, what has changed, and which features count."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression

from ocboost import AdaptiveClassifier, ModelFileError
from ocboost._core.file_format import load, save
from ocboost.estimators.adaptive import explain
from ocboost.estimators.adaptive.forests import RollingForests


def rows(n=600, K=2, seed=0, F=5):
    """Two features matter, and half-way through a third instead."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, F)).round(3)
    score = np.where(np.arange(n) < n // 2, X[:, 0] + 0.5 * X[:, 1], X[:, 2]) + 0.2 * rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, K) / K))


@pytest.fixture(scope="module", params=[2, 3])
def clf(request):
    X, y = rows(K=request.param)
    made = AdaptiveClassifier(n_hypotheses=20, random_state=0).fit(X[:250], y[:250])
    return made.partial_fit(X[250:], y[250:])


def as_saved(clf, tmp_path):
    clf.save(tmp_path / "state.ocb")
    return (tmp_path / "state.ocb").read_bytes()


class TestExplain:
    def test_the_prediction_and_nothing_remembered(self, clf, tmp_path):
        X = rows(6, seed=1)[0]
        before = as_saved(clf, tmp_path)
        why = clf.explain(X)
        assert as_saved(clf, tmp_path) == before
        shares = clf.predict_proba(X, issue=False)
        assert [each.prediction for each in why] == clf.predict(X, issue=False).tolist()
        assert [each.probability for each in why] == shares.max(axis=1).tolist()
        assert not any(each.alone for each in why)
        json.dumps(why.to_dict(), allow_nan=False)

    def test_members(self, clf):
        why = clf.explain(rows(1, seed=1)[0], top=None)[0]
        assert [(m.name, m.share) for m in why.members] == [(m.name, m.share) for m in clf.members_]
        assert sum(m.share for m in why.members) == pytest.approx(1.0)
        assert all(0.0 <= m.probability <= 1.0 for m in why.members)

    def test_what_a_member_says_is_mixed_in(self, clf):
        """One that has the whole share says the prediction."""
        now = clf.__copy__()
        mixing, E = now.bank_.mixing, now.bank_.mixing.n_experts
        for e in (1, E - 1):
            mixing.share[:] = 0.0
            mixing.share[mixing.n_mixers + e] = 1.0  # as it is calibrated
            mixing.final_share[:] = [1.0, 0.0, 0.0, 0.0]
            why = now.explain(rows(1, seed=1)[0])[0]
            assert why.members[0].name == now.bank_.names[e]
            assert why.members[0].probability == pytest.approx(why.probability, rel=1e-9)

    def test_hypotheses_are_those_of_the_boosters(self, clf):
        X = rows(3, seed=1)[0]
        bank, K = clf.bank_, len(clf.classes_)
        n = len(explain.FIXED) + len(bank.boosters)
        shares, scales = bank.mixing.influence()[:n], bank.mixing.scales[:n, 0]
        for i, why in enumerate(clf.explain(X, top=4)):
            votes = np.zeros((n, K))
            bank.voting.scores(bank.row(X[i : i + 1]), votes)
            code = clf.classes_.tolist().index(why.prediction)
            own = votes[:, code] if K > 2 else votes[:, 1] * (1 if code else -1)
            assert why.score == pytest.approx(float(shares @ (own / np.maximum(scales, 0.05))), rel=1e-9)
            listed = [part.contribution for part in why.hypotheses]
            assert math.fsum([*listed, why.other_hypotheses]) == pytest.approx(why.score, abs=1e-12)
            assert len(listed) == 4
            assert why.n_other_hypotheses + 4 <= len(bank.pool.hypotheses)

    def test_features_are_what_the_prediction_loses(self, clf):
        X = rows(2, seed=1)[0]
        lenders = explain._lenders(clf.bank_, 5)
        assert len(lenders) == explain.MOST_REPLACEMENTS
        for i, why in enumerate(clf.explain(X, top=None)):
            code = clf.classes_.tolist().index(why.prediction)
            for part in why.features:
                f = int(part.name[1:])
                replaced = np.repeat(X[i : i + 1], len(lenders), axis=0)
                replaced[:, f] = lenders[:, f]
                mean = clf.predict_proba(replaced, issue=False)[:, code].mean()
                assert part.contribution == pytest.approx(why.probability - mean, abs=1e-12)
                assert part.value == f"{X[i, f]:.6g}"
            assert why.other_features is None

    def test_the_feature_that_decides_comes_first(self):
        X, y = rows(900, seed=2)
        made = AdaptiveClassifier(n_hypotheses=20, random_state=0).fit(X[:450], y[:450])
        sure = np.array([[2.5, 1.5, -0.1, 0.0, 0.0]])
        assert made.explain(sure)[0].features[0].name == "x0"
        made.partial_fit(X[450:], y[450:])
        assert made.explain(np.array([[0.1, 0.1, -2.5, 0.0, 0.0]]))[0].features[0].name == "x2"

    def test_text(self, clf):
        why = clf.explain(rows(1)[0])[0]
        for text in (str(why), why._repr_html_()):
            for part in ("Members", "Hypotheses", "Features", " points", "ocb-forgetting"):
                assert part in text

    def test_missing_values(self, clf):
        why = clf.explain([[np.nan, 1.0, np.nan, 0.0, 0.0]])[0]
        assert {f.value for f in why.features if f.name in ("x0", "x2")} <= {"missing"}
        json.dumps(why.to_dict(), allow_nan=False)

    def test_sparse_rows(self):
        X, y = rows()
        X[X < 0] = 0.0
        made = AdaptiveClassifier(n_hypotheses=10, random_state=0).fit(csr_matrix(X), y)
        why = made.explain(csr_matrix(X[:2]), top=None)
        for i, each in enumerate(why):
            assert {int(f.name[1:]) for f in each.features} <= set(np.flatnonzero(X[i]).tolist())
            assert each.features
        assert made.feature_importances_.sum() == pytest.approx(1.0)

    def test_before_there_are_hypotheses(self):
        X, y = rows()
        made = AdaptiveClassifier(random_state=0).partial_fit(X[:1], y[:1], classes=[0, 1])
        assert made.feature_importances_.shape == (5,)
        made.partial_fit(X[1:30], y[1:30])
        why = made.explain(X[30:31])[0]
        assert (why.hypotheses, why.score) == ((), 0.0)
        assert why.members
        assert why.features
        assert made.weight_changes().hypotheses == ()


class TestAdopted:
    @pytest.fixture
    def adopted(self):
        X, y = rows()
        model = LogisticRegression().fit(X[:300], y[:300])
        return AdaptiveClassifier.from_fitted(model, X[:300], y[:300], n_hypotheses=10, random_state=0)

    def test_it_decides_alone(self, adopted):
        X = rows(3, seed=1)[0]
        for each in adopted.explain(X):
            assert each.alone
            assert each.title.endswith("; the adopted model decides alone")
            assert (each.hypotheses, len(each.members)) == ((), 1)
            assert each.members[0].share == 1.0
            assert each.members[0].probability == each.probability
            assert each.features[0].name in ("x0", "x1")
        assert np.argsort(-adopted.feature_importances_)[:2].tolist() == [0, 1]

    def test_until_the_first_label(self, adopted):
        X, y = rows(3, seed=1)
        why = adopted.partial_fit(X[:1], y[:1]).explain(X[1:2])[0]
        assert not why.alone
        assert why.hypotheses
        changes = adopted.weight_changes()
        assert changes.members[0] == explain.ShareChange("deployed", 1.0, changes.members[0].now)

    def test_no_row_is_known(self):
        X, y = rows()
        model = LogisticRegression().fit(X[:300], y[:300])
        made = AdaptiveClassifier.from_fitted(model, random_state=0)
        why = made.explain(X[:1])[0]
        assert (why.features, why.alone) == ((), True)
        assert made.feature_importances_.tolist() == [0.0] * 5


class TestChanges:
    def test_weights_and_shares(self, clf):
        found = clf.weight_changes(None)
        assert found.hypotheses == clf.bank_.pool.driver.weight_changes(None).hypotheses
        assert {m.name: m.now for m in found.members} == {m.name: m.share for m in clf.members_}
        assert sum(m.before for m in found.members) == pytest.approx(1.0)
        sizes = [abs(m.now - m.before) for m in found.members]
        assert sizes == sorted(sizes, reverse=True)
        assert len(clf.weight_changes(3).members) == 3

    def test_nothing_at_first(self):
        X, y = rows(120)
        found = AdaptiveClassifier(n_hypotheses=5, random_state=0).fit(X, y).weight_changes()
        assert (found.hypotheses, found.members) == ((), ())

    def test_files(self, clf, tmp_path):
        clf.save(tmp_path / "m.ocb")
        again = AdaptiveClassifier.load(tmp_path / "m.ocb")
        assert again.weight_changes() == clf.weight_changes()
        tree = load(tmp_path / "m.ocb", "AdaptiveClassifier")
        shares = tree["bank"].pop("start_shares")
        save(tmp_path / "old.ocb", "AdaptiveClassifier", tree)
        assert AdaptiveClassifier.load(tmp_path / "old.ocb").weight_changes().members == ()
        for wrong in (shares[1:], np.append(shares[1:], np.nan), np.append(shares[1:], -0.1), 7):
            tree["bank"]["start_shares"] = wrong
            save(tmp_path / "bad.ocb", "AdaptiveClassifier", tree)
            with pytest.raises(ModelFileError, match="start_shares"):
                AdaptiveClassifier.load(tmp_path / "bad.ocb")


class TestImportances:
    def test_the_right_ones_come_first(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(900, 8))
        y = (2.0 * X[:, 3] + X[:, 6] > 0.3 * rng.normal(size=900)).astype(int)
        made = AdaptiveClassifier(n_hypotheses=20, random_state=0).fit(X[:600], y[:600])
        found = made.feature_importances_
        assert found.sum() == pytest.approx(1.0)
        assert np.argsort(-found)[:2].tolist() == [3, 6]
        permuted = permutation_importance(made, X[600:], y[600:], n_repeats=1, random_state=0)
        assert np.argsort(-permuted.importances_mean)[:2].tolist() == [3, 6]

    def test_splits_of_forests(self):
        """As a plain walk through every tree finds them."""
        X, y = rows(500)
        forests = RollingForests(5, 2)
        forests.learn_many(X, y.astype(np.int64))

        def gini(counts):
            return counts.sum() - (counts**2).sum() / max(counts.sum(), 1e-300)

        def walked(f, t, v, found):
            from ocboost.estimators.adaptive.forests import FIRST_LEAF, FIRST_NODE, MOST_LEAVES, MOST_NODES

            node = forests._nodes[FIRST_NODE[f] + t * MOST_NODES[f] + v]
            if node["left"] < 0:
                return forests._counts[FIRST_LEAF[f] + t * MOST_LEAVES[f] - 1 - node["left"]]
            left, right = (walked(f, t, node["left"] + side, found) for side in (0, 1))
            found[node["feature"]] += gini(left + right) - gini(left) - gini(right)
            return left + right

        expected = np.zeros((3, 5))
        for f in range(3):
            for t in range(10):
                walked(f, t, 0, expected[f])
        np.testing.assert_allclose(forests.importances(), expected, atol=1e-9)
        assert expected.sum(axis=1).min() > 0.0
