"""Encoders and imputers, over numbers and texts, give what scikit-learn's give."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

from ocboost import InputError, NotSavableError
from ocboost.foreign import slots
from ocboost.foreign.convert import portable_steps
from tests.foreign.frames import check_step, frame, late, matrix, rows_of

SOME = ["town", "rooms", "new", "kind"]


def whole(n=120, missing=0.15):
    """A few different numbers in each column."""
    return np.round(matrix(n, missing=missing) / [1.0, 8.0, 0.1, 3.0])


def check_table(fitted, table):
    with warnings.catch_warnings():  # of scikit-learn's, about unknown categories
        warnings.simplefilter("ignore")
        return check_step(fitted, table, given=lambda made: rows_of(made, table))


ONE_HOT = {
    "plain": {},
    "first dropped": {"drop": "first"},
    "of two dropped": {"drop": "if_binary"},
    "rare": {"min_frequency": 30},
    "few": {"max_categories": 3},
    "few, first dropped": {"max_categories": 2, "drop": "first"},
    "only rare": {"min_frequency": 1000},
    "share": {"min_frequency": 0.3, "drop": "if_binary"},
}


@pytest.mark.parametrize("unknown", ["ignore", "infrequent_if_exist", "warn"])
@pytest.mark.parametrize("name", ONE_HOT)
def test_one_hot(name, unknown):
    if unknown == "warn" and not hasattr(OneHotEncoder(), "feature_name_combiner"):
        pytest.skip("an older scikit-learn")
    try:
        encoder = OneHotEncoder(handle_unknown=unknown, **ONE_HOT[name]).fit(frame()[SOME])
    except ValueError as error:
        if "handle_unknown" not in str(error):
            raise
        pytest.skip("scikit-learn has 'warn' since 1.6")
    made = check_table(encoder, frame(seed=1, unknown=True)[SOME])
    assert made.vocabularies == {0: ("Bern", "Nice", "Oslo", "Rome"), 3: ("flat", "house")}
    X = whole()
    check_step(OneHotEncoder(handle_unknown="ignore", **ONE_HOT[name]).fit(X), X)


def test_one_hot_that_drops_a_named_category():
    table = frame()[["kind", "new"]]
    check_table(OneHotEncoder(drop=["house", False]).fit(table), table)
    check_table(OneHotEncoder(categories=[["house", "flat"], [False, True]]).fit(table), table)


@pytest.mark.parametrize("encoder", [OneHotEncoder(), OrdinalEncoder()])
def test_unknown_categories_that_are_refused(encoder):
    fitted = encoder.fit(frame()[SOME])
    made = check_table(fitted, frame(seed=2)[SOME])  # missing towns are known
    unknown = frame(seed=1, unknown=True)[SOME]
    with pytest.raises(ValueError, match="unknown categories"):
        fitted.transform(unknown)
    with pytest.raises(InputError, match="a category that is not known in row 1, column 0"):
        made.step(np.array([[0.0, 1.0, 1.0, 1.0], [-1.0, 1.0, 1.0, 1.0]]))
    with pytest.raises(InputError, match="a missing value in row 0, column 3"):
        made.step(np.array([[0.0, 1.0, 1.0, np.nan]]))
    assert made.step.missing_after(np.array([True, False, False, False])) is not None
    assert made.step.missing_after(np.array([False, True, False, False])) is None
    assert made.step.needs(np.zeros(made.step.n_out, bool)).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"unknown_value": -1},
        {"unknown_value": np.nan, "encoded_missing_value": -7},
        {"unknown_value": 99, "min_frequency": 30},
        {"unknown_value": -1, "max_categories": 2, "encoded_missing_value": -5},
    ],
)
def test_ordinal(settings):
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", **settings)
    check_table(encoder.fit(frame()[SOME]), frame(seed=1, unknown=True)[SOME])
    check_step(encoder.fit(whole()), whole(80))


@pytest.mark.parametrize("K", [2, 3])
def test_target(K):
    table, y = frame(), np.arange(150) % K
    encoder = TargetEncoder(random_state=0).fit(table[SOME], y)
    made = check_table(encoder, frame(seed=1, unknown=True)[SOME])
    assert made.step.n_out == 4 * (1 if K == 2 else 3)


def test_needs_of_encoders():
    made = portable_steps([OneHotEncoder(handle_unknown="ignore").fit(frame()[SOME])])
    wanted = np.zeros(made.step.n_out, bool)
    wanted[[0, -1]] = True
    np.testing.assert_array_equal(made.step.needs(wanted), [True, False, False, True])


# Imputers ---------------------------------------------------------------------------------------------------

NUMBERS = {
    "mean": {},
    "median": {"strategy": "median"},
    "most": {"strategy": "most_frequent"},
    "constant": {"strategy": "constant", "fill_value": -3.5},
    "indicator": {"add_indicator": True},
    "zero": {"missing_values": 0.0, "strategy": "median"},
    "zero, indicator": {"missing_values": 0.0, "add_indicator": True},
}


@pytest.mark.parametrize("name", NUMBERS)
def test_imputed_numbers(name):
    marked = NUMBERS[name].get("missing_values") == 0.0
    X = np.nan_to_num(whole()) if marked else whole()
    made = check_step(SimpleImputer(**NUMBERS[name]).fit(X), X)
    every = np.ones(4, bool)
    if marked:
        assert made.step.missing_after(every) is None
        with pytest.raises(InputError, match="finite for an imputer with missing_values=0"):
            made.step(np.full((1, 4), np.nan))
    else:
        assert not made.step.missing_after(every).any()


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("strategy", ["mean", "most_frequent"])
def test_empty_columns(strategy, keep):
    X = whole().copy()
    X[:, 1] = np.nan
    imputer = SimpleImputer(strategy=strategy, keep_empty_features=keep, add_indicator=True).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_step(imputer, X)
    wanted = np.zeros(portable_steps([imputer]).step.n_out, bool)
    wanted[0] = True
    assert portable_steps([imputer]).step.needs(wanted).tolist() == [True, False, False, False]


@pytest.mark.parametrize("features", ["missing-only", "all"])
def test_marks_of_missing_values(features):
    X = matrix(missing=0.2).copy()
    X[:, 2] = 1.0
    made = check_step(MissingIndicator(features=features).fit(X), X)
    new = np.where(np.arange(4) == 2, np.nan, X)
    if features == "all":
        assert made.step(new)[:, 2].all()
    else:
        assert made.step.missing_after(np.ones(4, bool)) is None
        with pytest.raises(InputError, match=r"missing values only where.*column 2"):
            made.step(new)
        check_step(MissingIndicator(error_on_new=False).fit(X), new)


@pytest.mark.parametrize(
    "imputer",
    [
        SimpleImputer(strategy="most_frequent"),
        SimpleImputer(strategy="most_frequent", missing_values=None),
        SimpleImputer(strategy="constant", fill_value="nowhere", add_indicator=True),
        SimpleImputer(strategy="constant", fill_value="Bern", missing_values="Rome"),
    ],
)
def test_imputed_texts(imputer):

    def towns(**more):
        table = frame(**more)[["town"]].astype(object)
        if imputer.missing_values == "Rome":
            return table.fillna("Oslo")
        return table.where(table.notna(), imputer.missing_values)

    pipe = make_pipeline(imputer, OneHotEncoder(handle_unknown="ignore")).fit(towns())
    made = check_table(pipe, towns(seed=1, unknown=True))
    assert ("nowhere" in made.vocabularies[0]) == (imputer.fill_value == "nowhere")


def test_numbers_and_texts_through_one_imputer():
    """An object array has columns of either type."""
    table = frame()[["town", "size", "rooms"]].astype(object)
    table = table.where(table.notna(), np.nan)
    pipe = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    made = check_table(pipe.fit(table), table)
    assert list(made.vocabularies) == [0]


# What has no form here --------------------------------------------------------------------------------------


def test_other_categories_are_refused_by_name():
    coded = pd.DataFrame({"a": ["x", "y"], "b": [b"z", b"w"]}, dtype=object)
    with pytest.raises(NotSavableError, match=r"knows values of type bytes of column 'b'. They must be all"):
        portable_steps([OneHotEncoder().fit(coded)])
    dates = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-02"])})
    with pytest.raises(NotSavableError, match="categories of column 'day' are of type datetime64"):
        portable_steps([OneHotEncoder().fit(dates)])
    twice = pd.DataFrame({"a": ["x", None, np.nan]}, dtype=object)
    with pytest.raises(NotSavableError, match="None and NaN as two categories of column 'a'"):
        portable_steps([OneHotEncoder().fit(twice)])
    large = np.array([[2**53], [2**53 + 1]])
    with pytest.raises(NotSavableError, match="all numbers that float64 holds exactly"):
        portable_steps([OrdinalEncoder().fit(large)])


def test_text_and_numbers_in_one_column_are_refused():
    table = pd.DataFrame({"a": [1.0, 2.0, 1.0]}, dtype=object)
    pipe = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder(handle_unknown="ignore")
    ).fit(table)
    with pytest.raises(
        NotSavableError, match="column 'a', which the step 'simpleimputer' of the Pipeline reads as text"
    ):
        portable_steps([pipe])


def test_too_many_texts(monkeypatch):
    monkeypatch.setattr(slots, "MAX_VOCABULARY", 3)
    with pytest.raises(NotSavableError, match=r"column 'town' with more than 3 different texts. Group"):
        portable_steps([OneHotEncoder().fit(frame()[SOME])])


def test_the_table_has_what_it_should():
    assert set(late(frame())) == {"yes", "no"}
    assert frame()["town"].isna().any()
