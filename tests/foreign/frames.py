"""Rows as people have them, and the same rows as a portable model takes them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from scipy.special import expit

from ocboost._core.codec import read
from ocboost._core.file_format import from_bytes, to_bytes
from ocboost._core.kinds import FOREIGN, known
from ocboost.foreign.columns import codes_of_texts
from ocboost.foreign.convert import portable, portable_steps


@cache
def matrix(n=120, columns=4, seed=0, missing=0.0):
    """Numbers with ties, and missing ones."""
    rng = np.random.default_rng([seed, n, columns])
    X = np.round(rng.normal(size=(n, columns)) * [1.0, 10.0, 0.1, 3.0][:columns], 1)
    X[rng.random(X.shape) < missing] = np.nan
    X.flags.writeable = False
    return X


@cache
def labels(n=120, K=2, seed=0):
    X = matrix(n, 4, seed)
    y = np.digitize(X[:, 0] + 0.1 * X[:, 1], np.quantile(X[:, 0] + 0.1 * X[:, 1], np.arange(1, K) / K))
    y.flags.writeable = False
    return y


def frame(n=150, seed=0, *, unknown=False):
    """A table with numbers, missing ones, whole numbers, truth values, texts and categories."""
    rng = np.random.default_rng([seed, n])
    towns = ["Bern", "Oslo", "Rome", "Nice"] + (["Lima", "Kyiv"] if unknown else [])
    table = pd.DataFrame(
        {
            "size": np.round(rng.normal(5, 2, n), 1),
            "town": rng.choice(towns, n).astype(object),
            "rooms": rng.integers(1, 6 + unknown, n),
            "new": rng.random(n) < 0.4,
            "kind": pd.Categorical(rng.choice(["flat", "house"], n, p=[0.7, 0.3])),
            "price": np.round(rng.lognormal(3, 1, n), 2),
        }
    )
    table.loc[rng.random(n) < 0.15, "size"] = np.nan
    table.loc[rng.random(n) < 0.15, "town"] = None
    return table


def late(table, seed=0):
    """Labels that depend on numbers and texts."""
    noise = np.random.default_rng(seed).normal(size=len(table))
    score = np.log(table["price"]) - 3 + (table["town"] == "Rome") + (table["kind"] == "house") + noise / 2
    return np.where(score > 0.5, "yes", "no")


def rows_of(made, table):
    """A table as a portable model takes it: codes for texts, numbers for everything else."""
    columns = []
    for i, name in enumerate(table.columns):
        if i in made.vocabularies:
            columns.append(codes_of_texts(table[name].tolist(), made.vocabularies[i]))
        else:
            numeric = pd.to_numeric(table[name].astype(object), errors="coerce")
            columns.append(numeric.to_numpy(np.float64))
    return np.stack(columns, axis=1)


def saved_and_loaded(part):
    """The same part from the bytes of a file."""
    tree = from_bytes(to_bytes(part.kind, part.tree()), part.kind)
    return read(tree, "a file", known(part.kind, FOREIGN, "a file").load().from_tree)


def dense(given):
    given = given.toarray() if hasattr(given, "toarray") else given
    return np.asarray(given, dtype=np.float64)


def check_step(fitted, X, *, exactly=True, given=None):
    """A transformer's own output, that of our step, and that of the step from a file."""
    made = portable_steps([fitted])
    rows = np.asarray(X, dtype=np.float64) if given is None else given(made)
    expected = dense(fitted.transform(X))
    before = rows.copy()
    for step in (made.step, saved_and_loaded(made.step)):
        found = step(rows)
        assert (step.n_columns, step.n_out) == (rows.shape[1], expected.shape[1])
        assert (found.shape, found.dtype) == (expected.shape, np.float64)
        if exactly:
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(rows, before)
        one_by_one = np.concatenate([step(rows[i : i + 1]) for i in range(len(rows))])
        np.testing.assert_array_equal(one_by_one, found)
        after = step.missing_after(np.isnan(rows).any(axis=0))
        assert after is not None
        assert not np.isnan(found[:, ~after]).any()
        assert step(rows[:0]).shape == (0, step.n_out)
    return made


def check_model(fitted, X, given=None, *, tolerance=1e-12):
    """A model's own answers, those of the portable model, and those of the model from a file."""
    made = portable(fitted)
    rows = np.asarray(X, dtype=np.float64) if given is None else given(made)
    expected = expected_probabilities(fitted, X)
    for model in (made, saved_and_loaded(made)):
        found = model.probabilities(rows)
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
        assert model.classes.dtype == np.asarray(fitted.classes_).dtype
        np.testing.assert_array_equal(model.classes[model.predict_codes(rows)], fitted.predict(X))
        assert model.n_columns == rows.shape[1]
        assert model.column_names == made.column_names
        assert model.vocabularies == made.vocabularies
        assert model.reads == made.reads
        unread = np.setdiff1d(np.arange(rows.shape[1]), model.reads)
        other = rows.copy()
        other[:, unread] = np.nan
        np.testing.assert_array_equal(model.probabilities(other), found)
    return made


def expected_probabilities(fitted, X):
    """``predict_proba``, or the logistic function or softmax of the scores."""
    if hasattr(fitted, "predict_proba"):
        return fitted.predict_proba(X)
    scores = fitted.decision_function(X)
    if scores.ndim == 1:
        share = expit(scores)
        return np.stack([1.0 - share, share], axis=1)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
