"""Input that makes no sense is refused with a sentence that says what was expected, and nothing is learnt."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from ocboost import AdaptiveClassifier, InputError
from tests.support.adaptive import classifier, fitted, same, sparse_stream, state, stream

X, Y = stream()
X5, Y5 = X[100:105], Y[100:105]


def changed(row, column, value, dtype=float):
    rows = X5.astype(dtype)
    rows[row, column] = value
    return rows


def labelled(value, dtype=object):
    labels = Y5.astype(dtype)
    labels[3] = value
    return labels


# What is wrong, and what the message says; where one row is at fault, it is the fourth.
WRONG = {
    "unseen class": (X5, labelled(7, int), None, r"y must hold the classes \[0, 1\]; got 7 in row 3"),
    "class between": (X5, labelled(0.5, float), None, "Unknown label type|y must hold the classes"),
    "text class": (X5, Y5.astype(str), None, r"y must hold the classes \[0, 1\]; got '[01]' in row 0"),
    "no label": (
        X5,
        labelled(None),
        None,
        "y must hold a label for each row; got None in row 3. Leave it out.",
    ),
    "no label among texts": (
        X5,
        [0, 1, 1, np.nan, None],
        None,
        "y must hold a label for each row; got nan in row 3",
    ),
    "NaN label": (X5, labelled(np.nan, float), None, "NaN"),
    "infinite label": (X5, labelled(np.inf, float), None, "infinity"),
    "fewer labels": (X5, Y5[:4], None, "inconsistent numbers of samples"),
    "no rows": (X5[:0], Y5[:0], None, "0 sample"),
    "labels in two columns": (X5, np.stack([Y5, Y5], 1), None, "1d array|multi"),
    "too few columns": (X5[:, :3], Y5, None, "X has 3 features, but AdaptiveClassifier is expecting 4"),
    "too many columns": (np.c_[X5, X5], Y5, None, "X has 8 features, but AdaptiveClassifier is expecting 4"),
    "sparse, too many columns": (csr_matrix((5, 9)), Y5, None, "X has 9 features"),
    "infinity": (changed(3, 1, np.inf), Y5, None, "infinity"),
    "minus infinity": (changed(3, 1, -np.inf), Y5, None, "infinity"),
    "text": (changed(3, 1, "red", object), Y5, None, "could not convert string to float: 'red'"),
    "an object": (changed(3, 1, [1], object), Y5, None, "sequence|not"),
    "complex": (X5 + 1j, Y5, None, "Complex data not supported"),
    "one row without brackets": (X5[0], Y5[:1], None, "Expected 2D array"),
    "three dimensions": (X5[None], Y5[:1], None, "dim 3"),
    "no matrix": (None, Y5, None, "."),
    "negative weight": (X5, Y5, [1, 1, 1, -1, 1], "[Nn]egative"),
    "NaN weight": (X5, Y5, [1, 1, 1, np.nan, 1], "NaN"),
    "infinite weight": (X5, Y5, [1, 1, 1, np.inf, 1], "infinity"),
    "no weight at all": (X5, Y5, [0.0] * 5, "at least one non-zero"),
    "too few weights": (X5, Y5, [1.0] * 4, r"sample_weight.shape|inconsistent"),
    "text weight": (X5, Y5, ["a"] * 5, "could not convert"),
    "huge weight": (
        X5,
        Y5,
        [1, 1, 1, 1e101, 1],
        r"sample_weight must be at most 1e\+100; got 1e\+101 in row 3",
    ),
}


@pytest.mark.parametrize(("rows", "labels", "weights", "message"), WRONG.values(), ids=WRONG)
def test_refused_and_nothing_learnt(rows, labels, weights, message):
    clf = fitted()
    clf.predict(X[98:105])
    before, said = state(clf), None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        with pytest.raises((ValueError, TypeError), match=message) as said:
            clf.partial_fit(rows, labels, sample_weight=weights)
    assert len(str(said.value)) > 20
    assert state(clf) == before
    with pytest.raises((ValueError, TypeError)):
        classifier().partial_fit(rows, labels, classes=[0, 1], sample_weight=weights).partial_fit(X5, Y5)


@pytest.mark.parametrize(
    "case", [name for name in WRONG if name not in ("unseen class", "text class", "class between")]
)
def test_a_fit_that_is_refused_leaves_what_was_there(case):
    rows, labels, weights, _ = WRONG[case]
    clf = fitted()
    before = state(clf)
    if case in ("too few columns", "too many columns", "sparse, too many columns"):
        clf.fit(np.zeros((5, 9)) if case.startswith("sparse") else np.nan_to_num(rows), [0, 1, 0, 1, 1])
        assert clf.n_features_in_ == (3 if "few" in case else 8 if case[0] == "t" else 9)
        return
    with pytest.raises((ValueError, TypeError)):
        clf.fit(rows, labels, sample_weight=weights)
    assert state(clf) == before


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (X5[:, :3], "X has 3 features"),
        (changed(3, 1, np.inf), "infinity"),
        (changed(3, 1, "red", object), "could not convert"),
        (X5[:0], "0 sample"),
        (X5[0], "Expected 2D array"),
    ],
)
@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_rows_that_cannot_be_predicted(rows, message, method):
    clf = fitted()
    before = state(clf)
    with pytest.raises(ValueError, match=message):
        getattr(clf, method)(rows)
    assert state(clf) == before


@pytest.mark.parametrize(
    ("row", "label", "weight", "message"),
    [
        ([1.0, 2.0], 0, 1.0, r"row must be a sequence of 4 numbers, one for each feature; got shape \(2,\)"),
        (X[:1], 0, 1.0, r"got shape \(1, 4\). Many rows at once are for predict and partial_fit"),
        (
            [1.0, np.inf, 0.0, 0.0],
            0,
            1.0,
            "row must hold numbers that are finite, or missing; got inf for feature 1",
        ),
        ([1.0, "red", 0.0, 0.0], 0, 1.0, "row must be a sequence of 4 numbers; got .* Encode text first"),
        (None, 0, 1.0, "row must be a sequence of 4 numbers"),
        (X[0], 7, 1.0, r"label must be one of the classes \[0, 1\]; got 7. Leave such examples out"),
        (X[0], "0", 1.0, "label must be one of the classes"),
        (X[0], None, 1.0, "got None"),
        (X[0], np.nan, 1.0, "got nan"),
        (X[0], [0], 1.0, r"got \[0\]"),
        (X[0], 0, -1.0, "sample_weight must be a finite number that is not negative; got -1.0"),
        (X[0], 0, np.nan, "got nan"),
        (X[0], 0, "1", "got '1'"),
        (X[0], 0, 1e101, r"sample_weight must be at most 1e\+100; got 1e\+101"),
    ],
)
def test_one_row(row, label, weight, message):
    clf = fitted()
    clf.predict(X[:2])
    before = state(clf)
    with pytest.raises(InputError, match=message):
        clf.learn_one(row, label, weight)
    if message.startswith("row"):
        with pytest.raises(InputError, match=message):
            clf.predict_one(row)
        with pytest.raises(InputError, match=message):
            clf.predict_proba_one(row, issue=False)
    assert state(clf) == before


def test_none_is_a_missing_number():
    clf = fitted()
    row = [None, *X[3, 1:].tolist()]
    np.testing.assert_array_equal(
        clf.predict_proba_one(row), clf.predict_proba([[np.nan, *X[3, 1:]]], issue=False)[0]
    )


def test_renamed_columns():
    table = pd.DataFrame(X, columns=list("abcd"))
    clf = classifier().fit(table[:50], Y[:50])
    before = state(clf)
    for wrong in (table.rename(columns={"b": "z"}), table.drop(columns="a")):
        with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
            clf.partial_fit(wrong[:5], Y[:5])
        with pytest.raises(ValueError, match="feature names"):
            clf.predict(wrong[:5])
    changed_type = table.astype({"b": object})
    changed_type.iloc[3, 1] = "red"
    with pytest.raises(ValueError, match="red"):
        clf.partial_fit(changed_type[:5], Y[:5])
    assert state(clf) == before


def test_other_classes_later():
    clf = fitted()
    before = state(clf)
    with pytest.raises(
        InputError, match=r"classes must be those of the first call, \[0, 1\]; got \[0, 1, 2\]"
    ):
        clf.partial_fit(X5, Y5, classes=[0, 1, 2])
    assert state(clf) == before
    assert same(clf.partial_fit(X5, Y5, classes=[1, 0]), fitted().partial_fit(X5, Y5))


def test_the_first_call_needs_all_classes():
    with pytest.raises(InputError, match=r"at least two classes; got one class, 1, in all 3 examples"):
        classifier().partial_fit(X[:3], [1, 1, 1])
    with pytest.raises(InputError, match="at least two classes"):
        classifier().fit(X[:3], [1, 1, 1])
    with pytest.raises(InputError, match="classes must be at least two"):
        classifier().partial_fit(X[:3], [1, 1, 1], classes=[1])
    with pytest.raises(InputError, match=r"y must hold the classes \[0, 1\]; got 2 in row 1"):
        classifier().partial_fit(X[:3], [1, 2, 1], classes=[0, 1])


SETTINGS = {
    "no hypotheses": ({"n_hypotheses": 0}, "n_hypotheses must be a whole number from 1 to 100000; got 0"),
    "half a hypothesis": ({"n_hypotheses": 2.5}, "n_hypotheses must be a whole number .*; got 2.5"),
    "far too many": ({"n_hypotheses": 10**9}, "from 1 to 100000; got 1000000000"),
    "no such member": ({"without": ["neighbors"]}, "got 'neighbors'. Did you mean 'neighbours'"),
    "no such booster": ({"extra": ["winow"]}, "extra must be some of .*; got 'winow'. Did you mean 'winnow'"),
    "there anyway": ({"extra": ["eg"]}, "extra must be boosters that do not take part anyway; got 'eg'"),
    "driver": ({"extra": ["ocb-forgetting"]}, "do not take part anyway"),
    "a text": ({"extra": "winnow"}, "extra must be names of members, as a list; got 'winnow'"),
    "a number": ({"without": 3}, "without must be names of members, as a list; got 3"),
    "none": ({"without": None}, "without must be names of members, as a list; got None"),
    "no names": ({"without": [3]}, r"without must be names of members; got \[3\]"),
    "lists": ({"without": [["labels"]]}, "without must be names of members"),
    "seed": ({"random_state": "x"}, "x"),
}


@pytest.mark.parametrize(("settings", "message"), SETTINGS.values(), ids=SETTINGS)
def test_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        classifier(**settings).fit(X[:50], Y[:50])
    unfitted = classifier(**settings)
    with pytest.raises(ValueError, match=message):
        unfitted.partial_fit(X[:1], Y[:1], classes=[0, 1])
    assert not hasattr(unfitted, "classes_")


# Numbers at the edge ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [1e30, 1e308, -1e308, 5e-324, 1e-310, np.nan])
@pytest.mark.parametrize("sparse", [False, True])
def test_extreme_features(value, sparse):
    rows, labels = sparse_stream() if sparse else stream()
    rows = rows.toarray() if sparse else rows.copy()
    rows[::3, 1], rows[:, 3] = value, np.where(rows[:, 3] > 0, value, 0.0)
    rows = csr_matrix(rows) if sparse else rows
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = classifier().fit(rows[:120], labels[:120])
        clf.predict(rows[120:])
        clf.partial_fit(rows[120:], labels[120:])
        p = clf.predict_proba(rows)
    assert np.isfinite(p).all()
    usual = classifier().fit(*(part[:120] for part in (sparse_stream() if sparse else stream())))
    assert usual.n_features_in_ == clf.n_features_in_
    assert (p.argmax(axis=1) == labels).mean() > 0.55


def test_one_row_of_1e30_does_not_spoil_the_mix():
    rows = X.copy()
    rows[150] = 1e30
    clf, usual = fitted(), fitted()
    for each, given in ((clf, rows), (usual, X)):
        each.partial_fit(given[100:200], Y[100:200])
    ours, theirs = (each.predict(X[:200], issue=False) for each in (clf, usual))
    assert (ours == theirs).mean() > 0.9


@pytest.mark.parametrize(
    "weights", [[1e-300, 1.0], [1e-320, 1.0], [1e90, 1.0], [0.0, 1.0, 3.0], [1e-5], [1e50]]
)
@pytest.mark.parametrize("start", ["fit", "from nothing", "later"])
def test_weights(weights, start, tmp_path):
    given = np.resize(weights, len(Y))
    if start == "later":
        clf = fitted().partial_fit(X[100:], Y[100:], sample_weight=given[100:])
    elif start == "fit":
        clf = classifier().fit(X[:150], Y[:150], sample_weight=given[:150])
        clf.partial_fit(X[150:], Y[150:], sample_weight=given[150:])
    else:
        clf = classifier().partial_fit(X[:2], Y[:2], classes=[0, 1], sample_weight=given[-2:])
        clf.partial_fit(X[2:], Y[2:], sample_weight=given[2:])
    p = clf.predict_proba(X)
    assert np.isfinite(p).all()
    clf.save(tmp_path / "model")
    loaded = AdaptiveClassifier.load(tmp_path / "model")
    for each in (clf, loaded):
        each.partial_fit(X[:20], Y[:20])
    assert same(clf, loaded)


def test_small_weights_are_on_the_scale_of_the_first():
    small = classifier().fit(X[:100], Y[:100], sample_weight=np.full(100, 2.0**-40))
    plain = fitted()
    small.partial_fit(X[100:150], Y[100:150], sample_weight=np.full(50, 2.0**-40))
    plain.partial_fit(X[100:150], Y[100:150])
    np.testing.assert_array_equal(small.predict_proba(X), plain.predict_proba(X))
    with pytest.raises(InputError, match=r"sample_weight must be at most 9.09\d*e\+87; got 1e\+90 in row 0"):
        small.partial_fit(X[:1], Y[:1], sample_weight=[1e90])


def test_weights_too_small_to_be_scaled():
    with pytest.raises(InputError, match="sample_weight must not be as small as this"):
        classifier().fit(X[:50], Y[:50], sample_weight=np.full(50, 5e-324))


def test_many_rows_stay_finite():
    """A long stream of few different rows, whose labels turn, with classes that go away."""
    rng = np.random.default_rng(0)
    clf = classifier(n_hypotheses=5, without=["forests"]).fit(X[:60], Y[:60])
    rows = X[rng.integers(0, 20, 8_000)]
    labels = ((rows[:, 0] > 0) ^ (np.arange(8_000) // 2000 % 2 == 1)).astype(int)
    labels[4_000:6_000] = 1
    for at in range(0, 8_000, 500):
        clf.predict(rows[at : at + 500])
        clf.partial_fit(rows[at : at + 500], labels[at : at + 500])
    p = clf.predict_proba(X)
    assert np.isfinite(p).all()
    assert clf.n_learnt_ == 8_060
    mixing = clf.bank_.mixing
    assert all(np.isfinite(array).all() for array in vars(mixing).values() if isinstance(array, np.ndarray))


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pd.NA, pd.NaT])
def test_a_label_that_is_missing(missing):
    clf = fitted()
    before = state(clf)
    with pytest.raises(InputError, match=r"y must hold a label for each row; got .* in row 1"):
        clf.partial_fit(stream()[0][:2], np.array([0, missing], object))
    assert state(clf) == before


def test_a_class_may_be_called_nan():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, "nan", "None").astype(object)
    clf = AdaptiveClassifier(n_hypotheses=5, random_state=0).fit(X, y)
    assert clf.score(X, y) > 0.8
