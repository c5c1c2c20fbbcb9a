from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocboost import OCBClassifier
from ocboost.deployment.model import Model
from ocboost.errors import InputError
from ocboost.learners import BallLearner
from ocboost.live.held_out import HeldOut
from ocboost.live.rows import LabelReader, RowReader
from tests.support import live

NUMBERS = st.one_of(
    st.floats(allow_infinity=False), st.integers(-(10**20), 10**20), st.none(), st.booleans(), st.just("1.5")
)


def of_numbers(n=2):
    X = np.random.default_rng(0).normal(size=(60, n))
    y = X[:, 0] > 0
    return X, y


@pytest.fixture(scope="module")
def named():
    import pandas as pd

    X, y = of_numbers()
    return RowReader(Model(OCBClassifier(n_hypotheses=5).fit(pd.DataFrame(X, columns=["a", "b"]), y)))


@pytest.fixture(scope="module")
def nameless():
    X, y = of_numbers()
    return RowReader(Model(OCBClassifier(n_hypotheses=5).fit(X, y)))


@given(
    rows=st.lists(st.fixed_dictionaries({"a": NUMBERS, "b": NUMBERS, "c": NUMBERS}), min_size=1, max_size=5)
)
def test_plain_numbers_are_read_as_all_others(named, rows):
    expected = np.array([named.schema.encode_row(row) for row in rows])
    np.testing.assert_array_equal(named.features(rows), expected)


def test_huge_numbers_are_not_finite(named):
    for huge in (10**400, -(10**400)):
        with pytest.raises(InputError, match="finite"):
            named.features([{"a": huge, "b": 1.0}])
    assert named.features([{"a": 1e308, "b": 1e308}, {"a": 1e308, "b": -1e308}]).shape == (2, 2)


def test_one_column():
    import pandas as pd

    X, y = of_numbers(1)
    reader = RowReader(Model(OCBClassifier(n_hypotheses=5).fit(pd.DataFrame(X, columns=["only"]), y)))
    assert reader.features([{"only": 2}, {"only": 3.5}]).tolist() == [[2.0], [3.5]]


def test_without_names(nameless):
    assert nameless.columns is None
    assert nameless.features([[1, 2.5], [None, 3]]).tolist()[0] == [1.0, 2.5]
    with pytest.raises(InputError, match="lists of the 2 features"):
        nameless.features([{"a": 1, "b": 2}])


def test_models_that_need_every_number():
    X, y = of_numbers()
    clf = OCBClassifier(BallLearner(n_sample=20), n_hypotheses=5).fit(X, y)
    with pytest.raises(InputError, match="cannot handle missing"):
        RowReader(Model(clf)).features([[1.0, None]])


@pytest.mark.parametrize(
    ("classes", "label", "code"),
    [
        (["no", "yes"], "yes", 1),
        ([0, 1], 1, 1),
        ([0, 1], 1.0, 1),
        ([0, 1], "1", 1),
        ([0, 1], True, None),
        ([0, 1], 1.5, None),
        ([0, 1], None, None),
        ([0, 1], [1], None),
        ([0, 1], float("nan"), None),
        ([0.5, 1.0], 1, 1),
        ([False, True], True, 1),
        ([False, True], 1, None),
        ([False, True], "True", 1),
        (["1", "2"], 1, None),
        ([0, 1], np.int64(1), 1),
    ],
)
def test_labels(classes, label, code):
    assert LabelReader(classes).code(label) == code


class TestHeldOut:
    def test_round_trip(self, tmp_path):
        rows = HeldOut(np.arange(6.0).reshape(3, 2), np.array([0, 1, 1]))
        rows.save(tmp_path)
        again = HeldOut.load(tmp_path, rows.sha256)
        np.testing.assert_array_equal(again.X, rows.X)
        assert again.sha256 == rows.sha256

    def test_sizes(self):
        for n in (0, 20_001):
            with pytest.raises(InputError, match="1 to 20,000 rows"):
                HeldOut(np.zeros((n, 1)), np.zeros(n, np.int64))
        with pytest.raises(InputError, match="one of the classes"):
            HeldOut.of(np.zeros((1, 1)), [None], ["a", "b"])
        with pytest.raises(InputError, match="a label for each row"):
            HeldOut.of(np.zeros((1, 1)), [], ["a", "b"])

    def test_judge_in_place_of_labels(self, tmp_path):
        from ocboost.live import Adapter

        X, y = live.table()
        path = tmp_path / "trusted.csv"
        X[300:].assign(answer=y[300:]).to_csv(path, index=False)
        with Adapter(live.model(), tmp_path / "s", held_out=path) as adapter:
            assert adapter.facts()["guard"] == "held-out rows"
            adapter.label(
                [
                    {"row": row, "label": label}
                    for row, label in zip(live.records(), live.labels(), strict=True)
                ]
            )
            found = adapter.facts()["judge"], adapter.model_file()
        with Adapter(live.model(), tmp_path / "s", held_out=(X[300:], y[300:])) as adapter:  # the same rows
            assert (adapter.facts()["judge"], adapter.model_file()) == found
            assert adapter.facts()["seq"] == 201
        with Adapter(live.model(), tmp_path / "s") as adapter:
            assert adapter.facts()["guard"] == "recent labels"
            assert adapter.facts()["seq"] == 202
        with Adapter(live.model(), tmp_path / "s", guard=False) as adapter:
            assert adapter.facts()["guard"] == "off"
