"""Columns that go to several steps, by name and by position, and texts as codes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

from ocboost import InputError, NotSavableError
from ocboost.foreign.base import MAX_WIDTH
from ocboost.foreign.columns import Beside, Chain, Columns, all_columns, codes_of_texts, index_of
from ocboost.foreign.convert import portable_steps
from ocboost.foreign.scalers import Affine
from tests.foreign.frames import check_step, frame, matrix, rows_of

ignore = {"handle_unknown": "ignore"}


def check_table(fitted, table, **more):
    return check_step(fitted, table, given=lambda made: rows_of(made, table), **more)


def test_texts_as_codes():
    values = ["Rome", None, float("nan"), "Oslo", "NA", "", pd.NA, pd.NaT, 3, np.str_("Bern")]
    found = codes_of_texts(values, ("Bern", "Rome"))
    np.testing.assert_array_equal(found, [1, np.nan, np.nan, -1, np.nan, np.nan, np.nan, np.nan, -1, 0])
    np.testing.assert_array_equal(codes_of_texts(["NA", "?"], index_of(("NA",))), [0, np.nan])
    assert codes_of_texts([], ("a",)).shape == (0,)
    assert codes_of_texts(np.array(["a", "b"]), ("a",)).tolist() == [0, -1]


WAYS = {
    "names": [("a", StandardScaler(), ["price", "rooms"]), ("b", OneHotEncoder(**ignore), ["town", "kind"])],
    "positions": [("a", StandardScaler(), [5, 2]), ("b", OneHotEncoder(**ignore), [1, -2])],
    "slices": [("a", StandardScaler(), slice(2, 4)), ("b", OneHotEncoder(**ignore), slice("kind", "kind"))],
    "masks": [("a", OneHotEncoder(**ignore), [False, True, False, True, True, False])],
    "types": [
        ("a", SimpleImputer(), make_column_selector(dtype_include=float)),
        ("b", OneHotEncoder(**ignore), make_column_selector(pattern="town|kind")),
    ],
    "none": [("a", StandardScaler(), []), ("b", "passthrough", ["rooms"]), ("c", "drop", ["town"])],
}


@pytest.mark.parametrize("way", WAYS)
def test_ways_to_name_columns(way):
    table = frame()
    made = check_table(ColumnTransformer(WAYS[way]).fit(table), table)
    used = {"names": 4, "positions": 4, "slices": 3, "masks": 3, "types": 4, "none": 1}
    assert made.step.needs(np.ones(made.step.n_out, bool)).sum() == used[way]
    assert set(made.vocabularies) == {"slices": {4}, "none": set()}.get(way, {1, 4})


@pytest.mark.parametrize("way", ["names", "positions", "masks", "types"])
def test_the_rest_passes_through(way):
    table = frame()
    made = check_table(ColumnTransformer(WAYS[way], remainder="passthrough").fit(table), table)
    assert made.step.needs(np.ones(made.step.n_out, bool)).all()


def test_a_transformer_for_the_rest_and_weights():
    table = frame()[["size", "town", "rooms", "price"]]
    fitted = ColumnTransformer(
        [("a", OneHotEncoder(**ignore), ["town"]), ("b", SimpleImputer(), ["size"])],
        remainder=StandardScaler(),
        transformer_weights={"b": 0.1, "a": 3.0},
        sparse_threshold=1.0,
    ).fit(table)
    check_table(fitted, table)


def test_one_text_column_in_several_steps():
    """Each knows its own texts; rows hold codes of one vocabulary."""
    table = frame()
    few = OneHotEncoder(categories=[["Rome", "Bern"]], **ignore)
    filled = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="nowhere"),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-9),
    )
    fitted = ColumnTransformer(
        [
            ("few", few, ["town"]),
            ("filled", filled, ["town"]),
            ("both", OneHotEncoder(**ignore), ["kind", "town"]),
        ]
    ).fit(table)
    made = check_table(fitted, frame(seed=1, unknown=True))
    assert made.vocabularies == {1: ("Bern", "Nice", "Oslo", "Rome", "nowhere"), 4: ("flat", "house")}
    assert made.step.missing_after(np.ones(6, bool)) is not None


def test_tables_inside():
    """A second transformer selects columns by the names that the first one gives."""
    first = ColumnTransformer(
        [
            ("n", SimpleImputer(), ["size", "price"]),
            ("t", OneHotEncoder(sparse_output=False, **ignore), ["town"]),
        ]
    ).set_output(transform="pandas")
    second = ColumnTransformer([("s", StandardScaler(), ["n__price"])], remainder="passthrough")
    check_table(make_pipeline(first, second).fit(frame()), frame(seed=3))


def test_names_of_what_has_no_form():
    table = frame()[["size", "price"]]
    own = make_pipeline(SimpleImputer(), FunctionTransformer(np.cbrt))
    fitted = ColumnTransformer([("clean", own, ["size"])], remainder="passthrough").fit(table)
    where = "the step 'functiontransformer' of the transformer 'clean' of the ColumnTransformer, a Func"
    with pytest.raises(NotSavableError, match=where):
        portable_steps([fitted])
    union = FeatureUnion([("a", SimpleImputer()), ("b", FunctionTransformer(np.cbrt))]).fit(table)
    with pytest.raises(
        NotSavableError, match="the transformer 'b' of the FeatureUnion, a FunctionTransformer"
    ):
        portable_steps([union])
    nothing = ColumnTransformer([("a", "drop", ["size"])]).fit(table)
    with pytest.raises(NotSavableError, match="which keeps no column"):
        portable_steps([nothing])
    both = ColumnTransformer([("a", OneHotEncoder(), ["town"]), ("b", "passthrough", ["town"])]).fit(frame())
    with pytest.raises(
        NotSavableError, match=r"column 'town', which the transformer 'a' of the Col.* reads as text"
    ):
        portable_steps([both, StandardScaler().fit(np.ones((3, 6)))])


def test_steps_that_do_not_fit_together():
    scaler = StandardScaler().fit(matrix())
    with pytest.raises(InputError, match="the SelectKBest must take the 4 columns it is given; got one of 2"):
        portable_steps([scaler, SelectKBest(k=1).fit(matrix(columns=2), np.arange(120) % 2)])
    with pytest.raises(InputError, match="each step must take the columns that the one before it gives"):
        Chain([Columns([0], 3), all_columns(3)])
    with pytest.raises(InputError, match=r"same columns; got steps for \[2, 3\]"):
        Beside([all_columns(2), all_columns(3)])
    with pytest.raises(InputError, match="at least one; got none"):
        Chain([])
    for wrong in ([3], [-1], [0.5], ["a"], [[0]]):
        with pytest.raises(InputError, match="indices must"):
            Columns(wrong, 3)
    with pytest.raises(InputError, match="divide must not be zero"):
        Affine(1, divide=np.zeros(1))


def test_steps_cannot_grow_without_end():
    """A few steps that double the columns must not need all memory."""
    step = all_columns(1 << 16)

    def doubled(step):
        return Chain([step, Beside([all_columns(step.n_out)] * 2)])

    while step.n_out < MAX_WIDTH:
        step = doubled(step)
    with pytest.raises(InputError, match=f"at most {MAX_WIDTH:,}"):
        doubled(step)
    with pytest.raises(InputError, match="at most"):
        all_columns(MAX_WIDTH + 1)


def test_columns_may_come_twice():
    step = Columns([1, 1, 0], 3)
    np.testing.assert_array_equal(step(np.array([[1.0, 2.0, 3.0]])), [[2, 2, 1]])
    np.testing.assert_array_equal(step.missing_after(np.array([False, True, True])), [True, True, False])
    np.testing.assert_array_equal(step.needs(np.array([True, False, False])), [False, True, False])
