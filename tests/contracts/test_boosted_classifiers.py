"""Every booster in a classifier: scikit-learn's, River's, and what the command line shows of its files."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier

from ocboost import InputError, Model, OCBClassifier
from ocboost._core.codec import read
from ocboost.boosters import BOOSTERS, BoostingSketch
from ocboost.estimators.booster_settings import SKETCH_DEFAULTS
from ocboost.estimators.classifier_file import classifier_from_tree, classifier_tree
from ocboost.lineage import FilterBoost
from tests.contracts.examples import booster, is_hinted, rows, weights
from tests.support import thread_stress
from tests.support.cli_runs import fitted as fitted_file
from tests.support.cli_runs import ran, table, write

FIRST = 120
J = 9
every = pytest.mark.parametrize("name", BOOSTERS)
two_and_three = pytest.mark.parametrize("K", [2, 3])


def made(name, **parameters):
    return OCBClassifier(n_hypotheses=J, booster=name, random_state=0, **parameters)


def fitted(name, K=2, **parameters):
    X, y = rows(K=K)
    return made(name, **parameters).fit(X[:FIRST], y[:FIRST])


def taught(name, K=2, **parameters):
    X, y = rows(K=K)
    return fitted(name, K, **parameters).partial_fit(X[FIRST:], y[FIRST:], sample_weight=weights()[FIRST:])


def assert_same(one, other, X):
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    for mine, theirs in zip(one.alpha_, other.alpha_, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def assert_continues_as(one, other):
    """Both are the same, and stay so while they learn."""
    X, y = rows(40, len(one.classes_), seed=5)
    assert_same(one, other, X)
    for each in (one, other):
        each.partial_fit(X, y)
    assert_same(one, other, X)


# Learning ---------------------------------------------------------------------------------------------


@every
@two_and_three
def test_it_learns_and_answers(name, K):
    X, y = rows(K=K)
    clf = taught(name, K)
    assert [type(each) for each in clf.boosters_] == [BOOSTERS[name].load()] * (1 if K == 2 else 3)
    assert all(each.n_seen == len(y) for each in clf.boosters_)
    proba = clf.predict_proba(X)
    assert proba.shape == (len(y), K)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert clf.decision_function(X).shape == ((len(y),) if K == 2 else (len(y), K))
    assert set(clf.predict(X)) == set(range(K))
    assert clf.score(X[FIRST:], y[FIRST:]) > 1.25 / K


@every
@two_and_three
def test_each_booster_weighs_its_own_hypotheses_by_its_own_labels(name, K):
    """A classifier is no more than its boosters, fed by hand: margins, weights and labels."""
    X, y = rows(K=K)
    w = weights()
    w_first = np.maximum(w[:FIRST], 1.0)
    clf = made(name).fit(X[:FIRST], y[:FIRST], w_first)
    answers = clf.hypotheses_.answers(X)
    expected = []
    for k, columns in enumerate(clf.committee_.columns):
        labels = np.where(y == (1 if K == 2 else k), 1, -1)
        margins = answers[:, columns] * labels[:, None]
        kind, settings = clf.committee_.kind, clf.committee_.settings
        if kind is BoostingSketch:
            settings = {**settings, "order": None}
        by_hand = kind.from_margins(margins[:FIRST], sample_weight=w_first, labels=labels[:FIRST], **settings)
        np.testing.assert_array_equal(by_hand.alpha, clf.alpha_[k])
        by_hand.update_many(margins[FIRST:], sample_weight=w[FIRST:], labels=labels[FIRST:])
        expected.append(by_hand.alpha)
    clf.partial_fit(X[FIRST:], y[FIRST:], sample_weight=w[FIRST:])
    for found, alpha in zip(clf.alpha_, expected, strict=True):
        np.testing.assert_array_equal(found, alpha)
    votes = np.stack(
        [answers[:, c] @ a for c, a in zip(clf.committee_.columns, expected, strict=True)], axis=1
    )
    np.testing.assert_allclose(clf.decision_function(X).reshape(votes.shape), votes, rtol=0, atol=1e-12)


@every
@two_and_three
def test_one_row_at_a_time(name, K):
    X, y = rows(K=K)
    w = weights()
    one, many = fitted(name, K), fitted(name, K)
    for i in range(FIRST, FIRST + 30):
        assert one.predict_one(X[i].tolist()) == many.predict(X[i : i + 1])[0]
        np.testing.assert_array_equal(one.predict_proba_one(X[i]), many.predict_proba(X[i : i + 1])[0])
        if w[i]:
            one.learn_one(X[i].tolist(), int(y[i]), w[i])
            many.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=w[i : i + 1])
    assert_continues_as(one, many)


@every
def test_the_first_call_of_partial_fit_is_fit(name):
    X, y = rows(K=3)
    w = weights()
    one = made(name).fit(X, y, w)
    other = made(name).partial_fit(X, y, classes=[0, 1, 2], sample_weight=w)
    assert_continues_as(one, other)


@every
@two_and_three
def test_growing_where_it_can(name, K):
    X, y = rows(K=K)
    if not BOOSTERS[name].load().can_grow:
        with pytest.raises(InputError, match="grow must be None with the booster") as caught:
            fitted(name, K, grow=J + 4)
        assert is_hinted(caught.value)
        return
    clf = fitted(name, K, grow=J + 4)
    clf.partial_fit(X[FIRST:], y[FIRST:])
    assert all(np.isfinite(alpha).all() for alpha in clf.alpha_)
    assert all(J <= each.n_hypotheses <= J + 4 for each in clf.boosters_)
    assert_continues_as(clf, copy.copy(clf))


# Parameters -------------------------------------------------------------------------------------------


@every
@two_and_three
def test_an_object_in_the_place_of_the_name(name, K):
    X, y = rows(K=K)
    by_object = made(booster(name, 1)).fit(X[:FIRST], y[:FIRST])
    if name == "ocb":  # by name it is the classifier's own defaults, a head that is automatic
        by_object = made(BoostingSketch(1, head="auto")).fit(X[:FIRST], y[:FIRST])
    assert_continues_as(by_object, fitted(name, K))


@every
def test_one_that_has_learnt_is_no_pattern(name):
    used = booster(name, 1)
    used.update([1])
    X, y = rows()
    with pytest.raises(InputError, match="booster must be one that has learnt nothing") as caught:
        made(used).fit(X, y)
    assert is_hinted(caught.value)


@every
def test_clones_are_fitted_from_the_start(name):
    X, y = rows()
    again = clone(taught(name))
    assert not hasattr(again, "committee_")
    assert_same(again.fit(X[:FIRST], y[:FIRST]), fitted(name), X)


OTHERS = {
    "order": 2,
    "head": 30,
    "memory": 5000,
    "keep": "newest",
    "tail": False,
    "smoothing": 2.0,
    "forgetting": 0.9,
    "correction": "own",
}


def test_every_setting_of_sketches_is_tried():
    assert set(OTHERS) == set(SKETCH_DEFAULTS)


@every
@pytest.mark.parametrize("setting", OTHERS)
def test_settings_of_sketches_are_for_sketches(name, setting):
    X, y = rows()
    if name == "ocb":
        made(name, **{setting: OTHERS[setting]}).fit(X, y)
        return
    given = {setting: OTHERS[setting]}
    clf = fitted(name)
    before = clf.alpha_[0]
    for act in (
        lambda: made(name, **given).fit(X, y),
        lambda: clf.set_params(**given).partial_fit(X, y),
        lambda: clf.learn_one(X[0], 1),
    ):
        with pytest.raises(InputError, match=f"{setting} must be left out with the booster") as caught:
            act()
        assert is_hinted(caught.value)
    np.testing.assert_array_equal(clf.alpha_[0], before)


@every
def test_a_fitted_classifier_keeps_its_booster(name):
    X, y = rows()
    other = next(n for n in BOOSTERS if BOOSTERS[n].load() is not BOOSTERS[name].load())
    clf = fitted(name).set_params(booster=other)
    with pytest.raises(InputError, match="booster cannot change once the classifier has been fitted"):
        clf.partial_fit(X, y)
    assert_continues_as(clf.set_params(booster=name), fitted(name))


@every
@two_and_three
def test_a_deployed_model_answers_as_before_until_the_first_example(name, K):
    X, y = rows(K=K)
    deployed = AdaBoostClassifier(n_estimators=8, random_state=0).fit(X[:FIRST], y[:FIRST])
    clf = OCBClassifier.from_fitted(deployed, X[:FIRST], y[:FIRST], booster=name)
    np.testing.assert_array_equal(clf.predict(X), deployed.predict(X))
    assert [clf.predict_one(row) for row in X[:30]] == deployed.predict(X[:30]).tolist()
    before = clf.decision_function(X)
    clf.partial_fit(X[FIRST:], y[FIRST:])
    assert (clf.decision_function(X) != before).any()
    assert clf.score(X[FIRST:], y[FIRST:]) > 1.2 / K


# Copies and files -------------------------------------------------------------------------------------


@every
@two_and_three
@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda clf: pickle.loads(pickle.dumps(clf))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_are_the_same_and_by_themselves(name, K, copied):
    X, y = rows(K=K)
    clf = taught(name, K)
    before = clf.decision_function(X)
    copied(clf).partial_fit(X, y)
    np.testing.assert_array_equal(clf.decision_function(X), before)
    assert_continues_as(copied(clf), clf)


@every
@two_and_three
def test_what_was_saved_goes_on(name, K, tmp_path):
    clf, path = taught(name, K), tmp_path / "clf.ocb"
    clf.save(path)
    loaded = OCBClassifier.load(path)
    assert loaded.get_params()["booster"] == name or type(loaded.booster) is BOOSTERS[name].load()
    loaded.save(tmp_path / "again.ocb")
    assert (tmp_path / "again.ocb").read_bytes() == path.read_bytes()
    assert_continues_as(Model.load(path).classifier, copy.copy(clf))
    assert_continues_as(loaded, clf)


# The command line and River ---------------------------------------------------------------------------


@every
def test_info_shows_both_of_its_files(name, tmp_path, capsys):
    alone, path = booster(name, 5), tmp_path / "booster.ocb"
    alone.update_many(np.where(np.random.default_rng(0).random((1234, 5)) < 0.7, 1, -1))
    alone.save(path)
    code, out, err = ran(capsys, "info", path)
    assert (code, err) == (0, "")
    assert type(alone).__name__ in out
    assert "1,234" in out
    assert f"{np.abs(alone.alpha).max():.3f}" in out
    clf = taught(name)
    clf.save(tmp_path / "clf.ocb")
    code, out, err = ran(capsys, "info", tmp_path / "clf.ocb", "--top", "1")
    assert (code, err) == (0, "")
    heaviest = clf.alpha_[0][np.argmax(np.abs(clf.alpha_[0]))]
    assert f"{heaviest:.3f}" in out
    assert f"{J} stumps" in out


def test_info_shows_filterboost(tmp_path, capsys):
    """The other classifier that is saved."""
    X, y = rows()
    clf = FilterBoost(n_hypotheses=4, sample=30, tau=0.9, delta=0.5, random_state=0).fit(X, y)
    clf.save(tmp_path / "clf.ocb")
    code, out, err = ran(capsys, "info", tmp_path / "clf.ocb")
    assert (code, err) == (0, "")
    assert "FilterBoost" in out


@every
def test_fit_and_adapt_take_it(name, tmp_path, capsys):
    model = fitted_file(tmp_path, "--method", name)
    kind = BOOSTERS[name].load()
    assert Model.load(model).classifier.committee_.kind is kind
    stream, out = write(tmp_path / "s.csv", table(30)), tmp_path / "out.ocb"
    code, _, err = ran(capsys, "adapt", model, stream, "--out", out)
    assert (code, err) == (0, "")
    assert all(type(each) is kind for each in Model.load(out).classifier.boosters_)
    assert ran(capsys, "info", out)[0] == 0


@every
@two_and_three
def test_river_takes_it(name, K):
    from ocboost.river import OCBClassifier as RiverOCB

    X, y = rows(K=K)
    model = RiverOCB(n_hypotheses=J, grace_period=FIRST, booster=name, seed=0)
    for x, label in zip(X, y, strict=True):
        model.learn_one(dict(zip("abcd", x.tolist(), strict=True)), int(label))
    right = [
        model.predict_one(dict(zip("abcd", x.tolist(), strict=True))) == label
        for x, label in zip(X[FIRST:], y[FIRST:], strict=True)
    ]
    assert np.mean(right) > 1.25 / K
    assert copy.deepcopy(model).predict_one({"a": 1.0}) == model.predict_one({"a": 1.0})
    assert all(type(each) is BOOSTERS[name].load() for each in model._clf.boosters_)


# Files of earlier versions ----------------------------------------------------------------------------


def test_a_setting_of_sketches_that_came_later(monkeypatch):
    """None has come since, so one that all files hold stands for it."""
    clf = taught("ocb")
    tree = classifier_tree(clf)
    for each in (tree["settings"], tree["committee"]["settings"], *tree["committee"]["boosters"]):
        del each["forgetting"]
    del tree["schema"], tree["history"]
    monkeypatch.setattr(BoostingSketch, "later_settings", {"forgetting": 1.0})
    older = read(tree, "a file", lambda fields: classifier_from_tree(fields, OCBClassifier))
    assert_continues_as(older, clf)


# Threads ----------------------------------------------------------------------------------------------


@every
@two_and_three
def test_readers_while_it_learns(name, K):
    X, y = thread_stress.rows(180, K)
    subject = thread_stress.classifier_subject(
        name, lambda: made(name).fit(X[:60], y[:60]), K, refit=False, one_by_one=K == 2
    )
    alone = thread_stress.expected(subject)
    with thread_stress.switching(1e-6):
        assert not thread_stress.trial(subject, alone, n_readers=2)
