"""Texts, dates and missing values in River's examples: encoded by a schema of the first ones."""

from __future__ import annotations

import datetime
import pickle

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("river")

from ocboost import InputError
from ocboost.river import AdaptiveClassifier, OCBClassifier
from ocboost.streams import Column

KINDS = [OCBClassifier, AdaptiveClassifier]


def examples(n, seed=0):
    rng = np.random.default_rng(seed)
    for k in range(n):
        colour = str(rng.choice(["red", "blue", "green"]))
        x = {
            "colour": None if k % 11 == 5 else colour,
            "size": round(float(rng.normal()), 2),
            "sold": datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=7 * k),
            "flag": bool(k % 3),
        }
        yield x, "yes" if colour == "red" or x["size"] > 0.5 else "no"


def fed(kind, examples, **parameters):
    model = kind(**{"n_hypotheses": 12, "grace_period": 60, "seed": 0, **parameters})
    for x, y in examples:
        model.learn_one(x, y)
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_texts_and_dates_are_learnt(kind):
    model = fed(kind, examples(400))
    assert model._schema.columns == (
        Column("colour", "category", model._schema.columns[0].categories),
        Column("flag"),
        Column("size"),
        Column("sold", "date", parts=("month", "day", "weekday", "hour")),
    )
    assert set(model._schema.columns[0].categories) == {"red", "blue", "green"}
    right = [model.predict_one(x) == y for x, y in examples(200, seed=1)]
    assert np.mean(right) > 0.8
    again = pickle.loads(pickle.dumps(model))
    for x, _ in examples(5, seed=2):
        assert again.predict_proba_one(x) == model.predict_proba_one(x)


@pytest.mark.parametrize("kind", KINDS)
def test_order_missing_names_and_new_ones_make_no_difference(kind):
    model, other = fed(kind, examples(150)), fed(kind, (({**x, "later": None}, y) for x, y in examples(150)))
    for x, _ in examples(20, seed=1):
        expected = model.predict_proba_one(x)
        assert other.predict_proba_one(dict(reversed(x.items())) | {"new": "text", "more": 3}) == expected
    without = {name: value for name, value in x.items() if name != "colour"}
    expected = model.predict_proba_one({**x, "colour": None})
    for missing in (without, {**x, "colour": np.nan}, {**x, "colour": pd.NA}, {**x, "colour": "unknown"}):
        assert model.predict_proba_one(missing) == expected
    assert sum(model.predict_proba_one({}).values()) == pytest.approx(1.0)
    model.learn_one({**x, "new": "text"}, "yes")


@pytest.mark.parametrize("kind", KINDS)
def test_frames(kind):
    rows, labels = zip(*examples(120), strict=True)
    X, y = pd.DataFrame(rows), pd.Series(labels)
    X["colour"] = X["colour"].astype("category")
    a, b = fed(kind, []), fed(kind, examples(120))
    a.learn_many(X[:50], y[:50])
    a.learn_many(X[50:], y[50:])
    other = pd.DataFrame([x for x, _ in examples(20, seed=1)])
    pd.testing.assert_frame_equal(a.predict_proba_many(other), b.predict_proba_many(other))
    assert a.predict_many(other).tolist() == b.predict_many(other).tolist()


def test_a_new_label_starts_again_with_a_new_schema():
    model = fed(OCBClassifier, examples(100))
    for k, (x, _) in enumerate(examples(80, seed=1)):
        model.learn_one(
            {**x, "colour": "white" if k % 2 else "black", "added": "p" if k % 3 else "q"}, f"new{k % 2}"
        )
    assert {"added", "colour"} <= set(model._schema.column_names)
    assert {"white", "black"} <= set(model._schema.columns[1].categories)
    assert model.predict_one({"colour": "white", "size": 0.0}) == "new1"


@pytest.mark.parametrize("grace_period", [20, 200])
def test_other_kinds_of_values_are_refused(grace_period):
    model = fed(OCBClassifier, examples(60), grace_period=grace_period)
    x = next(examples(1))[0]
    counts = dict(model._counts)
    wrong = [
        ({"colour": 3}, "x must hold texts for 'colour', as before; got 3"),
        ({"size": "big"}, "x must hold numbers for 'size', as before; got 'big'"),
        ({"sold": "2024-01-31"}, "x must hold dates for 'sold', as before; got '2024-01-31'"),
        ({"sold": datetime.timedelta(1)}, "x must hold numbers, texts or dates; got datetime.timedelta"),
    ]
    for change, message in wrong:
        with pytest.raises(InputError, match=message):
            model.learn_one({**x, **change}, "yes")
        with pytest.raises(InputError, match=message):
            model.learn_many(pd.DataFrame([x, {**x, **change}]), pd.Series(["yes", "no"]))
    assert dict(model._counts) == counts
    if grace_period == 20:
        with pytest.raises(InputError, match="column 'size' must hold numbers; got 'big'"):
            model.predict_one({**x, "size": "big"})


def test_what_is_left_out_is_told():
    rows = [({"id": f"N{k}", "a": k % 7}, k % 7 > 3) for k in range(200)]
    with pytest.warns(UserWarning, match="Column 'id' is left out: it holds 150 different texts"):
        model = fed(OCBClassifier, rows, grace_period=150)
    assert model.predict_one({"id": "N1", "a": 6}) is True
    with pytest.warns(UserWarning, match="must have a column of numbers, categories or dates"):
        model = fed(OCBClassifier, [({"id": x["id"]}, y) for x, y in rows[:151]], grace_period=150)
    assert model.predict_proba_one({"id": "N1"})[False] > 0.5
    with pytest.raises(
        InputError, match="x must have texts as names, as some of its values are texts or dates"
    ):
        fed(OCBClassifier, [({1: "a" if k % 2 else "b"}, k % 2) for k in range(50)], grace_period=20)
