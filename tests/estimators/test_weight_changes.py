"""What has changed since a model was deployed, and that it is saved."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier

from ocboost import ModelFileError, OCBClassifier
from ocboost._core.file_format import load, save
from ocboost.hypotheses import Stumps
from tests.estimators.test_explain import rows


def growing(K=2):
    X, y = rows(K=K)
    clf = OCBClassifier(n_hypotheses=8, grow=10, head=40, forgetting=0.98, random_state=0)
    return clf.fit(X[:100], y[:100])


def learnt(clf, K=2, n=1500):
    """After rows that turn: hypotheses come and go."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 4)).round(3)
    score = np.where(np.arange(n) < n // 2, X[:, 2], X[:, 3] - X[:, 0])
    return clf.partial_fit(X, np.digitize(score, np.quantile(score, np.arange(1, K) / K)))


def test_weights_before_and_now():
    X, y = rows()
    clf = OCBClassifier(n_hypotheses=12, random_state=0).fit(X, y)
    assert clf.weight_changes().hypotheses == ()
    before = clf.alpha_[0]
    clf.partial_fit(X, 1 - y)
    found = clf.weight_changes(top=None)
    assert len(found.hypotheses) == found.n_hypotheses == 12
    assert sorted(each.before for each in found.hypotheses) == sorted(before.tolist())
    assert sorted(each.now for each in found.hypotheses) == sorted(clf.alpha_[0].tolist())
    sizes = [abs(each.change) for each in found.hypotheses]
    assert sizes == sorted(sizes, reverse=True)
    assert clf.weight_changes(3).hypotheses == found.hypotheses[:3]
    assert found.members == ()
    json.dumps(found.to_dict(), allow_nan=False)


def test_the_first_partial_fit_is_the_start():
    X, y = rows()
    for estimator in (None, Stumps([0, 1], [0.0, 0.0], [-1, -1], n_features=4)):
        clf = OCBClassifier(estimator, 5, random_state=0).partial_fit(X, y)
        assert clf.weight_changes().hypotheses == ()
        assert clf.partial_fit(X[:9], 1 - y[:9]).weight_changes().hypotheses


def test_adopted():
    X, y = rows(K=3)
    deployed = AdaBoostClassifier(n_estimators=6, random_state=0).fit(X, y)
    clf = OCBClassifier.from_fitted(deployed, X, y)
    assert clf.weight_changes().hypotheses == ()
    clf.partial_fit(X, np.roll(y, 1))
    found = clf.weight_changes(None)
    assert {each.label for each in found.hypotheses} == {0, 1, 2}
    np.testing.assert_allclose(
        sorted(each.before for each in found.hypotheses),
        np.sort(np.repeat(deployed.estimator_weights_ / 2, 3)),
    )


@pytest.mark.parametrize("K", [2, 3])
def test_growth(K):
    clf = growing(K)
    start = [(own, alpha) for own, alpha in zip(clf.committee_.columns, clf.alpha_, strict=True)]
    first, names = clf.hypotheses_, ["feature", "threshold", "left"]
    known = {
        (k, *(getattr(first, name)[own.start + j] for name in names)): alpha[j]
        for k, (own, alpha) in enumerate(start)
        for j in range(len(alpha))
    }
    learnt(clf, K)
    assert clf.n_retired_ > 0
    found = clf.weight_changes(None)
    view = clf.committee_.view()
    gone = [(k, j) for k, each in enumerate(view.start) for j in range(len(each.gone_alpha))]
    for k, j in gone:
        own = view.start[k].gone
        assert known[(k, *(getattr(own, name)[j] for name in names))] == view.start[k].gone_alpha[j]
    assert found.n_went == len(gone) <= clf.n_retired_
    here = sum(int(each.here.sum()) for each in view.start)
    assert here + len(gone) == sum(len(alpha) for _, alpha in start)  # nothing is lost
    assert found.n_came == sum(len(alpha) for alpha in clf.alpha_) - here
    assert {each.before for each in found.hypotheses if each.came} == {0.0}
    assert {each.now for each in found.hypotheses if each.went} == {0.0}
    text = str(found)
    assert f"{found.n_came:,} came, {found.n_went:,} went" in text
    assert " new " in text
    assert " gone " in text
    assert ("for class" in text) == (K == 3)


class TestFiles:
    @pytest.mark.parametrize("K", [2, 3])
    def test_saved_and_copied(self, K, tmp_path):
        clf = learnt(growing(K), K)
        clf.save(tmp_path / "m.ocb")
        found = clf.weight_changes()
        assert found.hypotheses
        again = OCBClassifier.load(tmp_path / "m.ocb")
        for other in (again, copy.copy(clf), pickle.loads(pickle.dumps(clf))):
            assert other.weight_changes() == found
        X, y = rows(60, K, seed=3)
        assert again.partial_fit(X, y).weight_changes() == clf.partial_fit(X, y).weight_changes()

    def test_an_earlier_version_had_none(self, tmp_path):
        clf = learnt(growing())
        clf.save(tmp_path / "m.ocb")
        tree = load(tmp_path / "m.ocb", "OCBClassifier")
        del tree["committee"]["start"]
        save(tmp_path / "old.ocb", "OCBClassifier", tree)
        old = OCBClassifier.load(tmp_path / "old.ocb")
        assert old.weight_changes().hypotheses == ()
        learnt(old, n=50)
        assert old.weight_changes().hypotheses

    @pytest.mark.parametrize(
        ("change", "what"),
        [
            (lambda start: start.clear(), "start must be a list of 1"),
            (lambda start: start[0].pop("alpha"), "alpha is missing"),
            (lambda start: start[0].update(alpha=np.zeros(99)), "wrong shape or type"),
            (lambda start: start[0]["alpha"].__setitem__(0, np.nan), "must be finite"),
            (lambda start: start[0]["alpha"].__setitem__(0, np.inf), "must be finite"),
            (lambda start: start[0]["alpha"].__setitem__(-1, 1.0), "had no weight"),
            (lambda start: start[0]["here"].__setitem__(0, 2), "here must be 0 or 1"),
            (lambda start: start[0].update(gone=None), "wrong shape or type"),
            (lambda start: start[0]["gone_alpha"].__setitem__(0, np.nan), "must be finite"),
            (lambda start: start[0]["gone"].update(n_features=9), "has other features"),
            (lambda start: start[0]["gone"].update(kind="OCBClassifier"), "OCBClassifier"),
            (lambda start: start[0].update(more=1), "not known: 'more'"),
        ],
    )
    def test_hostile(self, change, what, tmp_path):
        learnt(growing()).save(tmp_path / "m.ocb")
        tree = load(tmp_path / "m.ocb", "OCBClassifier")
        start = tree["committee"]["start"]
        assert len(start[0]["gone_alpha"])
        assert not start[0]["here"][-1]
        start[0] = {key: each.copy() for key, each in start[0].items()}
        change(start)
        save(tmp_path / "bad.ocb", "OCBClassifier", tree)
        with pytest.raises(ModelFileError, match=what):
            OCBClassifier.load(tmp_path / "bad.ocb")
