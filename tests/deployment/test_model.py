"""A model over tables: its columns found by name, whatever their order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ocboost import InputError, Model
from ocboost.estimators.classifier import OCBClassifier
from tests.support.cli_runs import NAMES, fitted, table


def test_tables_by_name(tmp_path):
    model = Model.load(fitted(tmp_path))
    frame = pd.DataFrame(table(50, 5), columns=NAMES)
    expected = model.classifier.predict(frame[["a", "b", "c", "d"]].to_numpy())
    mixed = frame[["y", "d", "a", "c", "b"]].assign(more="x")
    np.testing.assert_array_equal(model.predict(mixed), expected)
    np.testing.assert_array_equal(model.predict(pa.Table.from_pandas(mixed)), expected)
    shares = model.predict_proba(mixed)
    np.testing.assert_array_equal(shares.argmax(axis=1), expected)
    assert "stumps" in repr(model)


def test_missing_numbers_are_missing(tmp_path):
    model = Model.load(fitted(tmp_path))
    frame = pd.DataFrame({"a": [1.0, None], "b": [0.0, 1.0], "c": [1, 2], "d": [1, 2]})
    np.testing.assert_array_equal(np.isnan(model.features(frame)), [[False] * 4, [True] + [False] * 3])


def test_refusals(tmp_path):
    model = Model.load(fitted(tmp_path))
    with pytest.raises(InputError, match=r"the table must have the columns .* it lacks 'd'"):
        model.predict(pd.DataFrame({"a": [1.0], "b": [1.0], "c": [1.0]}))
    rows = np.array(table(60))
    plain = Model(OCBClassifier(n_hypotheses=5).fit(rows[:, :4], rows[:, 4].astype(int)))
    with pytest.raises(InputError, match="must know its columns"):
        plain.predict(pd.DataFrame({"a": [1.0]}))
