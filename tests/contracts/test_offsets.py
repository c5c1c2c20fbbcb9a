"""The contract of offsets, for every kind, those that files hold and those they do not."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression

from ocboost import InputError, Model, ModelFileError, NotSavableError, OCBClassifier
from ocboost.boosters import BOOSTERS
from ocboost.hypotheses import Stumps
from ocboost.offsets import (
    GivenOffset,
    LinearOffset,
    Offset,
    ScaledOffset,
    VotedOffset,
    as_offset,
    fit_offset,
    require_classes,
    scores_of,
)
from tests.contracts.examples import is_hinted, rows
from tests.support.cli_runs import ran

POOL = Stumps([0, 1, 2, 3, 0, 1], [0.1, -0.4, 0.3, 0.0, 0.9, 0.5], [-1, 1, -1, 1, -1, -1], n_features=4)
COEF = np.random.default_rng(1).normal(size=(3, 4)).round(2) / 2


def _of(K, two, more):
    return two if K == 2 else more


def linear(K):
    return LinearOffset(_of(K, COEF[0], COEF), _of(K, 0.1, [0.1, 0.0, -0.2]))


def voted(K):
    alpha = np.random.default_rng(2).normal(size=(3, len(POOL))).round(2) / 4
    return VotedOffset(POOL, _of(K, alpha[0], alpha), _of(K, -0.1, [0.1, 0.2, 0.0]))


def scaled(K):
    return ScaledOffset(voted(K), _of(K, 1.5, [1.5, 0.5, 1.0]), _of(K, 0.2, [0.0, 0.2, 0.1]))


def function(X):
    """A score as anybody writes it."""
    return X[:, 0] / 2 - 0.1


def functions(X):
    return np.stack([-X[:, 0], 0.1 * X[:, 1], X[:, 0]], axis=1) / 2


def given(K):
    return as_offset(_of(K, function, functions))


def scaled_function(K):
    return ScaledOffset(given(K), 0.8, 0.1)


def deployed(K):
    X, y = rows(K=K)
    return as_offset(AdaBoostClassifier(n_estimators=5, random_state=0).fit(X[:100], y[:100]))


def regression(K):
    X, y = rows(K=K)
    return fit_offset(LogisticRegression().fit(X[:100], y[:100]), X[100:], y[100:])


def fitted_linear(K):
    X, y = rows(K=K)
    return fit_offset(LinearOffset.from_sklearn(LogisticRegression().fit(X[:100], y[:100])), X[100:], y[100:])


OFFSETS = {
    "LinearOffset": linear,
    "VotedOffset": voted,
    "ScaledOffset": scaled,
    "GivenOffset": given,
    "ScaledOffset of a function": scaled_function,
    "VotedOffset of an AdaBoost": deployed,
    "ScaledOffset of a classifier": regression,
    "ScaledOffset of a line": fitted_linear,
}
PYTHON = {"GivenOffset", "ScaledOffset of a function", "ScaledOffset of a classifier"}
every = pytest.mark.parametrize("kind", OFFSETS)
two_and_three = pytest.mark.parametrize("K", [2, 3])


def begun(offset, K, **more):
    return OCBClassifier.from_offset(offset, POOL, classes=range(K), **more)


def test_every_kind_is_made_here():
    ours = {each for each in Offset.__subclasses__() if each.__module__.startswith("ocboost.")}
    assert {type(make(2)) for make in OFFSETS.values()} == ours
    assert len({each.kind for each in ours}) == len(ours)
    assert {name.split(" ")[0] for name in OFFSETS} == {each.kind for each in ours}


# Scores -----------------------------------------------------------------------------------------------


@every
@two_and_three
def test_scores(kind, K):
    X, _ = rows(K=K)
    offset = OFFSETS[kind](K)
    assert type(offset).__name__ == kind.split(" ")[0] == offset.kind
    scores = offset(X)
    assert scores.shape == ((len(X),) if K == 2 else (len(X), K))
    assert scores.dtype == np.float64
    assert np.ptp(scores) > 0.1
    np.testing.assert_array_equal(scores_of(offset, X, 1 if K == 2 else K), scores.reshape(len(X), -1))
    np.testing.assert_allclose(
        np.concatenate([offset(X[i : i + 1]) for i in range(9)]), scores[:9], atol=1e-14
    )
    assert as_offset(offset) is offset


@every
def test_scores_for_another_number_of_classes_are_refused(kind):
    X, y = rows(K=3)
    with pytest.raises(InputError, match=r"offset must (give|score)"):
        OCBClassifier(POOL, offset=OFFSETS[kind](2)).fit(X, y)
    X, y = rows(K=2)
    with pytest.raises(InputError, match=r"offset must (give|score)"):
        OCBClassifier(POOL, offset=OFFSETS[kind](3)).fit(X, y)


@every
@two_and_three
def test_classes_that_the_scorer_knows_are_looked_at(kind, K):
    offset = OFFSETS[kind](K)
    if offset.classes is None:
        require_classes(offset, np.array(list("abc")[:K]))  # nobody knows
        with pytest.raises(InputError, match="classes must name all classes"):
            OCBClassifier.from_offset(offset, POOL)
        return
    require_classes(offset, np.arange(K))
    assert OCBClassifier.from_offset(offset, POOL).classes_.tolist() == list(range(K))
    with pytest.raises(InputError, match=r"offset must score the classes .*in that order"):
        require_classes(offset, np.arange(K) + 1)
    with pytest.raises(InputError, match="offset must score the classes"):
        begun(offset, K + 1)


# In a classifier --------------------------------------------------------------------------------------


@every
@two_and_three
def test_until_the_first_example_it_answers_as_the_offset(kind, K):
    X, y = rows(K=K)
    offset = OFFSETS[kind](K)
    clf = begun(offset, K)
    scores = offset(X)
    np.testing.assert_array_equal(clf.decision_function(X), scores)
    np.testing.assert_array_equal(clf.predict(X), scores > 0 if K == 2 else scores.argmax(axis=1))
    assert [clf.predict_one(x) for x in X[:20]] == clf.predict(X[:20]).tolist()
    clf.partial_fit(X[:1], y[:1])
    changed = clf.decision_function(X)
    assert (changed != scores).any()
    votes = clf.hypotheses_.answers(X) @ np.stack(clf.alpha_).T
    np.testing.assert_allclose(changed, scores + votes.reshape(scores.shape), rtol=0, atol=1e-12)


@every
@two_and_three
def test_examples_weigh_by_what_the_offset_leaves_to_be_learnt(kind, K):
    """w·exp(-y F₀), for each booster by its own column; learnt in one call or one by one."""
    X, y = rows(60, K)
    offset, w = OFFSETS[kind](K), np.random.default_rng(3).uniform(0.5, 2.0, 60)
    clf, one = (begun(offset, K, smoothing=5.0, head=1) for _ in range(2))
    clf.partial_fit(X, y, sample_weight=w)
    for x, label, weight in zip(X, y, w, strict=True):
        one.learn_one(x, label, weight)
    scores = scores_of(offset, X, 1 if K == 2 else K)
    for k, columns in enumerate(clf.committee_.columns):
        labels = np.where(y == (1 if K == 2 else k), 1, -1)
        by_hand = clf.committee_.kind.create(len(POOL), clf.committee_.settings)
        by_hand.update_many(
            POOL.answers(X)[:, columns] * labels[:, None],
            sample_weight=w * np.exp(-labels * scores[:, k]),
        )
        np.testing.assert_allclose(clf.alpha_[k], by_hand.alpha, rtol=0, atol=1e-12)
    assert clf.weight_scale_ == one.weight_scale_ == 1.0
    rounding = 1e-12 if kind in PYTHON else 0.0  # what others compute of one row may round otherwise
    for mine, theirs in zip(clf.alpha_, one.alpha_, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=rounding)


@every
@two_and_three
def test_hypotheses_are_found_on_top_of_it(kind, K):
    X, y = rows(K=K)
    offset = OFFSETS[kind](K)
    clf = OCBClassifier(n_hypotheses=8, offset=offset, random_state=0).fit(X[:150], y[:150])
    clf.partial_fit(X[150:], y[150:])
    scores = offset(X)
    before = np.mean((scores > 0 if K == 2 else scores.argmax(axis=1)) == y)
    assert clf.score(X, y) > before - 0.05
    other = copy.copy(clf)
    np.testing.assert_array_equal(other.decision_function(X), clf.decision_function(X))


@pytest.mark.parametrize("name", BOOSTERS)
@every
def test_boosters_that_can_correct_and_those_that_cannot(kind, name):
    X, y = rows()
    clf = OCBClassifier(POOL, offset=OFFSETS[kind](2), booster=name)
    if BOOSTERS[name].load().can_correct:
        assert np.isfinite(clf.fit(X, y).decision_function(X)).all()
        return
    for act in (lambda: clf.fit(X, y), lambda: begun(OFFSETS[kind](2), 2, booster=name)):
        with pytest.raises(
            InputError, match=r"offset must be None with the booster .* Use 'ocb' or 'oza'"
        ) as caught:
            act()
        assert is_hinted(caught.value)


# Copies and files -------------------------------------------------------------------------------------


def taught(kind, K):
    X, y = rows(K=K)
    return begun(OFFSETS[kind](K), K, head=20).partial_fit(X[:60], y[:60])


def goes_on_as(one, other, K):
    X, y = rows(50, K, seed=3)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
    for each in (one, other):
        each.partial_fit(X, y)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


@every
@two_and_three
def test_copies(kind, K):
    for copied in (copy.copy, copy.deepcopy, lambda clf: pickle.loads(pickle.dumps(clf))):
        clf = taught(kind, K)
        goes_on_as(copied(clf), clf, K)


@every
@two_and_three
def test_files_with_it(kind, K, tmp_path, capsys):
    clf, path = taught(kind, K), tmp_path / "clf.ocb"
    if kind in PYTHON:
        for save in (clf.save, Model(clf).save):
            with pytest.raises(NotSavableError, match="offset must be made of numbers to be saved"):
                save(path)
        assert not path.exists()
        return
    clf.save(path)
    assert ran(capsys, "info", path)[0] == 0
    loaded = OCBClassifier.load(path)
    assert type(loaded.committee_.offset) is type(clf.committee_.offset)
    loaded.save(tmp_path / "again.ocb")
    assert (tmp_path / "again.ocb").read_bytes() == path.read_bytes()
    goes_on_as(loaded, clf, K)
    goes_on_as(Model.load(path).classifier, taught(kind, K), K)
    with pytest.raises(InputError, match="offset must be left out"):
        OCBClassifier.load(path, offset=function)


@every
@two_and_three
def test_files_without_it(kind, K, tmp_path):
    clf, path = taught(kind, K), tmp_path / "clf.ocb"
    clf.save(path, without_offset=True)
    with pytest.raises(ModelFileError, match="holds a classifier without its offset"):
        OCBClassifier.load(path)
    goes_on_as(OCBClassifier.load(path, offset=OFFSETS[kind](K)), clf, K)


# What is refused --------------------------------------------------------------------------------------


@every
@two_and_three
def test_scores_out_of_range_are_not_learnt_from(kind, K):
    """Nothing is clipped: a score a hundred times too sure is an error, and changes nothing."""
    X, y = rows(K=K)
    clf = begun(ScaledOffset(OFFSETS[kind](K), 2e4), K)
    before = clf.decision_function(X)
    with pytest.raises(InputError, match=r"offset must keep sample_weight·exp.*fit_offset"):
        clf.partial_fit(X, y)
    np.testing.assert_array_equal(clf.decision_function(X), before)


@pytest.mark.parametrize("scores", [np.nan, np.inf, 1e200, "a", None, [1.0], 1j])
def test_strange_scores_of_a_function(scores):
    X, y = rows()
    offset = GivenOffset(lambda X: np.array([scores] * len(X), dtype=None))
    with pytest.raises(InputError, match=r"offset must (be finite|give)"):
        OCBClassifier(POOL, offset=offset).fit(X, y)
