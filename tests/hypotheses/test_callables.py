"""Hypotheses that are Python objects."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from ocboost import InputError, NotSavableError, OcboostError
from ocboost._core.codec import read
from ocboost.hypotheses import Ballot, Callables
from ocboost.hypotheses.base import ROWS_PER_BLOCK


class Nearest:
    """A classifier with no scikit-learn in it: the class whose number is nearest to a feature."""

    def __init__(self, feature, classes, labels=None):
        self.feature, self.classes_, self.labels, self.calls = feature, np.array(classes), labels, 0

    def __repr__(self):
        return f"Nearest({self.feature})"

    def predict(self, X):
        self.calls += 1
        near = np.abs(X[:, self.feature, None] - np.arange(self.classes_.size)).argmin(axis=1)
        return (self.classes_ if self.labels is None else np.array(self.labels))[near]


def above(feature):
    return lambda X: np.where(X[:, feature] > 0, 1, -1)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(1.0, 1.0, size=(2 * ROWS_PER_BLOCK + 10, 3))


def test_functions(X):
    rules = Callables([above(0), above(2), lambda X: np.ones(len(X))], 3)
    expected = np.stack([np.sign(X[:, 0]), np.sign(X[:, 2]), np.ones(len(X))], axis=1)
    assert np.array_equal(rules.answers(X), expected)
    assert rules.answers(X).dtype == np.int8
    alpha = np.array([1.0, 2.0, 4.0])
    assert np.array_equal(rules.votes(X, [Ballot.of(alpha)])[:, 0], expected @ alpha)
    assert np.array_equal(rules[[2, 0, 0]].answers(X), expected[:, [2, 0, 0]])
    assert (len(rules), rules.n_features) == (3, 3)


def test_two_classes_count_the_second_one(X):
    members = [Nearest(0, ["a", "b"]), Nearest(1, ["a", "b"])]
    mixed = Callables([*members, above(2)], 3)
    expected = np.stack([np.where(m.predict(X) == "b", 1, -1) for m in members] + [np.sign(X[:, 2])], axis=1)
    assert np.array_equal(mixed.answers(X), expected)
    turned = Callables(members, 3, classes=["b", "a"])
    assert np.array_equal(turned.answers(X), -expected[:, :2])


def test_several_classes_have_consecutive_columns_and_predict_is_called_once(X):
    members = [Nearest(0, ["a", "b", "c"]), Nearest(1, ["b", "c"]), Nearest(2, ["a", "b", "c"])]
    pool = Callables(members, 3)
    answers = pool.answers(X)
    assert [member.calls for member in members] == [3, 3, 3]  # blocks
    predicted = np.stack([member.predict(X) for member in members], axis=1)
    expected = np.concatenate([np.where(predicted == label, 1, -1) for label in "abc"], axis=1)
    assert np.array_equal(answers, expected)
    for choice in ([7], slice(3, 6), [8, 0, 4, 4], np.arange(9) % 2 == 1):
        chosen = pool[choice]
        assert np.array_equal(chosen.answers(X), expected[:, choice])
        assert np.array_equal(chosen[::-1].answers(X), expected[:, choice][:, ::-1])
    members[1].calls = 0
    pool[[0, 2]].answers(X)
    assert members[1].calls == 0


@pytest.mark.parametrize(
    ("function", "came"),
    [
        (lambda X: np.zeros(len(X)), "got 0.0"),
        (lambda X: np.full(len(X), np.nan), "got nan"),
        (lambda X: np.ones((len(X), 1)), r"got shape \(522, 1\)|got shape \(256, 1\)"),
        (lambda X: X[:, 0] > 0, "of dtype bool"),
        (lambda X: None, r"got shape \(\) of dtype object"),
    ],
)
def test_other_answers_are_refused_by_number(X, function, came):
    with pytest.raises(InputError, match="members must answer -1 or") as caught:
        Callables([above(0), function], 3).answers(X)
    assert caught.match(came)
    assert caught.match("from member 1, <function")


def test_other_predictions_are_refused_by_number(X):
    with pytest.raises(InputError, match=r"one of the classes .*; got .*'z'.* from member 1, Nearest\(1\)"):
        Callables([Nearest(0, ["a", "b"]), Nearest(1, ["a", "b"], labels=["a", "z"])], 3).answers(X)
    wrong = Nearest(0, ["a", "b"])
    wrong.predict = lambda X: np.array(["a"])
    with pytest.raises(InputError, match=r"one class for each row, shape \(256,\); got shape \(1,\)"):
        Callables([wrong], 3).answers(X)


def test_an_error_of_a_member_says_whose_it_is(X):
    def fails(X):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no") as caught:
        Callables([above(0), fails], 3).answers(X)
    assert "hypothesis 1" in caught.value.__notes__[0]


def test_what_is_no_member_is_refused():
    with pytest.raises(
        InputError, match="members must be functions or fitted classifiers; got 3 as member 0"
    ):
        Callables([3], 2)
    with pytest.raises(InputError, match="at least one function or fitted classifier"):
        Callables([], 2)
    with pytest.raises(InputError, match="a function's ±1 cannot name them"):
        Callables([Nearest(0, ["a", "b", "c"]), above(0)], 2)
    with pytest.raises(InputError, match="classes must name every class"):
        Callables([Nearest(0, ["a", "b", "c"])], 2, classes=["a", "b"])
    with pytest.raises(InputError, match="at least two different ones"):
        Callables([Nearest(0, ["a"])], 2)
    with pytest.raises(InputError, match="n_features must be a whole number"):
        Callables([above(0)], 0)
    with pytest.raises(InputError, match="members must name at least one"):
        Callables([above(0)], 2)[[]]

    from sklearn.linear_model import LogisticRegression

    with pytest.raises(InputError, match=r"fitted classifiers; got LogisticRegression.* Call its fit"):
        Callables([LogisticRegression()], 2)


def test_saving_says_why_not_and_what_to_do(tmp_path):
    rules = Callables([above(0)], 2)
    with pytest.raises(NotSavableError, match=r"a pickle can run code .* from_sklearn, .* booster\.save"):
        rules.save(tmp_path / "rules")
    assert not list(tmp_path.iterdir())
    assert issubclass(NotSavableError, OcboostError)
    assert issubclass(NotSavableError, TypeError)
    with pytest.raises(NotSavableError, match="file cannot hold Callables"):
        read({}, "file", Callables.from_tree)


def test_sparse_rows_only_where_the_members_take_them(X):
    rows = sparse.csr_matrix(X)
    with pytest.raises(InputError, match="X must be a dense array for Callables"):
        Callables([above(0)], 3).answers(rows)

    def sum_above(X):
        return np.where(np.asarray(X.sum(axis=1)).ravel() > 3, 1, -1)

    taking = Callables([sum_above], 3, accepts_sparse=True, accepts_missing=True)
    assert np.array_equal(taking.answers(rows), taking.answers(X))
    assert taking.accepts_missing
    assert not Callables([above(0)], 3).accepts_missing


def test_a_classifier_fitted_to_named_columns_does_not_warn(X):
    pandas = pytest.importorskip("pandas")
    from sklearn.linear_model import LogisticRegression

    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = LogisticRegression().fit(frame, X[:, 0] > 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answers = Callables([model], 3).answers(X)
    assert np.array_equal(answers[:, 0] == 1, model.predict(frame))
