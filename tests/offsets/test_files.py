"""Offsets in files: those made of numbers are saved, functions are given again."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression

from ocboost import InputError, Model, ModelFileError, NotSavableError, OCBClassifier
from ocboost._core import file_format
from ocboost.deployment.adaptation import Adaptation
from ocboost.hypotheses import Callables
from ocboost.offsets import LinearOffset, ScaledOffset, VotedOffset, fit_offset
from tests.support.offset_examples import assert_same, examples, linear
from tests.support.saved_trees import GONE, changed


def voted(n_classes):
    X, y = examples(n_classes, 200)
    return VotedOffset.from_adaboost(AdaBoostClassifier(n_estimators=5, random_state=0).fit(X, y))


def scaled(n_classes):
    return fit_offset(linear(n_classes), *examples(n_classes, 300, 4))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "make",
    [linear, voted, scaled, lambda K: ScaledOffset(voted(K))],
)
@pytest.mark.filterwarnings("ignore:the score is higher where:UserWarning")
def test_an_offset_of_numbers_is_saved(make, n_classes, tmp_path):
    X, y = examples(n_classes, 200)
    clf = OCBClassifier(n_hypotheses=5, offset=make(n_classes), head=30).fit(X[:100], y[:100])
    clf.save(tmp_path / "model")
    for loaded in (OCBClassifier.load(tmp_path / "model"), Model.load(tmp_path / "model").classifier):
        expected = copy.copy(clf)
        assert_same(loaded, expected, X)
        for each in (loaded, expected):
            each.partial_fit(X[100:], y[100:])
        assert_same(loaded, expected, X)
        assert type(loaded.offset) is type(clf.offset)
        loaded.save(tmp_path / "one")
        expected.save(tmp_path / "other")
        assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    with pytest.raises(InputError, match=r"offset must be left out for .* whose own is in the file"):
        OCBClassifier.load(tmp_path / "model", offset=linear(n_classes))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_function_is_given_again(n_classes, tmp_path):
    X, y = examples(n_classes, 200)
    fitted = LogisticRegression().fit(X, y)
    rules = Callables([lambda X: np.where(X[:, 0] > 0, 1, -1)], n_features=4)
    shape = (n_classes, 1) if n_classes > 2 else 1
    for offset in (
        fitted,
        fitted.decision_function,
        ScaledOffset(fitted),
        VotedOffset(rules, np.ones(shape)),
    ):
        clf = OCBClassifier(n_hypotheses=5, offset=offset).fit(X[:100], y[:100])
        for each in (clf, Model(clf), Adaptation(Model(clf), {})):
            with pytest.raises(
                NotSavableError,
                match=r"made of numbers .* ocboost\.offsets, .* clf\.save\(path, without_offset=True\), and "
                r"give it again, OCBClassifier\.load\(path, offset=scorer\)",
            ):
                each.save(tmp_path / "no model")
        assert not (tmp_path / "no model").exists()
        clf.save(tmp_path / "model", without_offset=True)
        for load in (OCBClassifier.load, Model.load):
            with pytest.raises(ModelFileError, match=r"without its offset.*Give it again: .*offset=scorer"):
                load(tmp_path / "model")
        loaded = OCBClassifier.load(tmp_path / "model", offset=offset)
        assert_same(loaded.partial_fit(X, y), clf.partial_fit(X, y), X)
    with pytest.raises(InputError, match="offset must score the classes"):
        OCBClassifier.load(tmp_path / "model", offset=LogisticRegression().fit(X, y + 1))
    with pytest.raises(InputError, match="offset must be None, an offset"):
        OCBClassifier.load(tmp_path / "model", offset=3)
    OCBClassifier(n_hypotheses=5).fit(X, y).save(tmp_path / "without")
    with pytest.raises(InputError, match=r"offset must be left out for .* whose own has none"):
        OCBClassifier.load(tmp_path / "without", offset=fitted)


def test_an_offset_of_numbers_may_be_left_out(tmp_path):
    X, y = examples(n=200)
    clf = OCBClassifier(n_hypotheses=5, offset=linear(2)).fit(X[:100], y[:100])
    clf.save(tmp_path / "model", without_offset=True)
    with pytest.raises(ModelFileError, match="Give it again"):
        OCBClassifier.load(tmp_path / "model")
    assert_same(OCBClassifier.load(tmp_path / "model", offset=linear(2)), clf, X)
    # One without an offset has none to leave out.
    OCBClassifier(n_hypotheses=5).fit(X, y).save(tmp_path / "other", without_offset=True)
    OCBClassifier.load(tmp_path / "other")


class Doubled(LinearOffset):
    """Somebody's own: a file would have it loaded as another one."""

    def __call__(self, X):
        return 2.0 * super().__call__(X)


class Named(Doubled):
    kind = "Named"


@pytest.mark.parametrize("make", [Doubled, Named, lambda *a: ScaledOffset(Doubled(*a))])
def test_an_offset_that_load_does_not_know_is_not_saved(make, tmp_path):
    X, y = examples()
    offset = make(np.ones(4), 0.5)
    clf = OCBClassifier(n_hypotheses=5, offset=offset).fit(X, y)
    with pytest.raises(NotSavableError, match="made of numbers"):
        clf.save(tmp_path / "model")
    clf.save(tmp_path / "model", without_offset=True)
    assert_same(OCBClassifier.load(tmp_path / "model", offset=offset), clf, X)


def test_a_pickle_keeps_what_a_file_does_not():
    X, y = examples()
    clf = OCBClassifier(n_hypotheses=5, offset=LogisticRegression().fit(X, y)).fit(X, y)
    assert_same(pickle.loads(pickle.dumps(clf)), clf, X)


FILES = {
    "another kind": ("offset.kind", "Stumps", "offset of the kind 'Stumps', and this ocboost knows Linear"),
    "a function": ("offset.kind", "GivenOffset", "offset of the kind 'GivenOffset'"),
    "no entries": ("offset", 7, "offset must be entries with names"),
    "no word": ("offset.kind", {}, "offset.kind must be a text"),
    "not there": ("offset", GONE, "offset is missing"),
    "left out": ("offset", "given", "without its offset"),
    "another word": ("offset", "gone", "offset must be entries with names"),
    "scaled twice": (
        "offset.scorer",
        lambda scorer: {"kind": "ScaledOffset", "scorer": scorer, "scale": np.ones(()), "shift": np.ones(())},
        "not scaled again",
    ),
    "no scorer": ("offset.scorer", GONE, "offset.scorer is missing"),
    "more": ("offset.scorer.more", 1, "entries that are not known: 'more'"),
    "no scale": ("offset.scale", GONE, "offset.scale is missing"),
    "no coef": ("offset.scorer.coef", GONE, "offset.scorer.coef is missing"),
    "no array": ("offset.scorer.coef", 1.0, "the array .*offset.scorer.coef has the wrong shape or type"),
    "more arrays": ("offset.x", np.ones(1), "entries that are not known: 'x'"),
    "not finite": ("offset.scorer.coef", lambda coef: coef * np.nan, "coef must be finite"),
    "another shape": ("offset.scale", np.ones((2, 2)), "scale must be finite"),
    "of three classes": (
        "offset.scorer",
        {"kind": "LinearOffset", "coef": np.ones((3, 4)), "intercept": np.ones(3)},
        "offset does not fit its classes",
    ),
    "of other features": ("offset.scorer.coef", np.ones(5), "offset does not fit its classes or features"),
    "a handover": ("handover", {"old": 1.0}, "handover.new is missing"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_strangers_file(name, tmp_path):
    path, value, match = FILES[name]
    X, y = examples()
    OCBClassifier(n_hypotheses=4, offset=scaled(2)).fit(X, y).save(tmp_path / "model")
    tree = file_format.load(tmp_path / "model", "OCBClassifier")
    file_format.save(tmp_path / "model", "OCBClassifier", changed(tree, f"committee.{path}", value))
    for load in (OCBClassifier.load, Model.load):
        with pytest.raises(ModelFileError, match=match):
            load(tmp_path / "model")
