"""Files of steps and models: what comes back answers the same; what is wrong is refused."""

from __future__ import annotations

import contextlib
import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import VotingClassifier
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)

from ocboost import InputError, ModelFileError
from ocboost._core.codec import read
from ocboost._core.file_format import from_bytes, to_bytes
from ocboost._core.kinds import FOREIGN, KINDS
from ocboost.foreign.base import PortableClassifier, PortablePart, PortableStep
from ocboost.foreign.bayes import FixedAnswer
from ocboost.foreign.columns import Beside, Chain, Columns
from ocboost.foreign.convert import portable
from ocboost.foreign.encoders import OneHot, ValueLookup
from ocboost.foreign.linear import LinearClassifier
from ocboost.foreign.portable import PortableModel
from ocboost.foreign.scalers import Affine
from tests.foreign.frames import frame, labels, late, matrix, rows_of, saved_and_loaded


def of_numbers(*steps, model=None):
    return portable(make_pipeline(*steps, model or LogisticRegression()).fit(matrix(), labels()))


def of_table():
    table = frame(60)
    pre = ColumnTransformer(
        [
            ("n", SimpleImputer(add_indicator=True), ["size", "price"]),
            ("w", OneHotEncoder(handle_unknown="ignore", drop="first"), ["town"]),
            ("k", OrdinalEncoder(), ["kind"]),
        ]
    )
    return portable(make_pipeline(pre, LogisticRegression()).fit(table, late(table)))


MADE = {
    "table": of_table,
    "scaled": lambda: of_numbers(MinMaxScaler(clip=True), StandardScaler(), Normalizer()),
    "bent": lambda: of_numbers(
        FeatureUnion(
            [
                ("q", QuantileTransformer(n_quantiles=5)),
                ("p", PowerTransformer()),
                ("k", KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform")),
                ("f", PolynomialFeatures(2)),
                ("m", MissingIndicator(features="all")),
                ("c", PCA(2, whiten=True)),
            ]
        ),
        model=GaussianNB(),
    ),
    "calibrated": lambda: of_numbers(model=CalibratedClassifierCV(LogisticRegression(), cv=2)),
    "isotonic": lambda: of_numbers(model=CalibratedClassifierCV(GaussianNB(), method="isotonic", cv=2)),
    "votes": lambda: of_numbers(
        model=VotingClassifier(
            [("a", LogisticRegression()), ("b", DummyClassifier())], voting="soft", weights=[2, 1]
        )
    ),
    "threshold": lambda: of_numbers(model=FixedThresholdClassifier(LogisticRegression(), threshold=0.2)),
}


def rows(made):
    return rows_of(made, frame(seed=2)) if made.vocabularies else matrix()


def kinds_in(tree):
    if isinstance(tree, dict):
        return (
            {tree["kind"]}
            if set(tree) == {"kind"}
            else {
                *([tree["kind"]] if isinstance(tree.get("kind"), str) else []),
                *(kind for value in tree.values() for kind in kinds_in(value)),
            }
        )
    return {kind for value in tree for kind in kinds_in(value)} if isinstance(tree, list) else set()


def subclasses(kind):
    return {each for sub in kind.__subclasses__() for each in ({sub} | subclasses(sub))}


def test_every_kind_is_in_one_of_the_files():
    ours = {
        each
        for each in subclasses(PortablePart)
        if hasattr(each, "kind") and "ocboost.foreign" in each.__module__
    }
    saved = {kind for make in MADE.values() for kind in kinds_in(make().tree())}
    assert saved == {each.kind for each in ours}
    registered = {kind for kind, found in KINDS.items() if found.axis == FOREIGN and found.load() in ours}
    assert registered == saved
    assert KINDS["PortableModel"].load() is PortableModel


@pytest.mark.parametrize("name", MADE)
def test_round_trips(name):
    made = MADE[name]()
    data = to_bytes(made.kind, made.tree())
    loaded = saved_and_loaded(made)
    assert to_bytes(loaded.kind, loaded.tree()) == data
    np.testing.assert_array_equal(loaded.probabilities(rows(made)), made.probabilities(rows(made)))
    np.testing.assert_array_equal(loaded.predict_codes(rows(made)), made.predict_codes(rows(made)))
    assert (loaded.reads, loaded.accepts_missing) == (made.reads, made.accepts_missing)
    assert repr(loaded) == repr(made)


# Steps of any numbers ---------------------------------------------------------------------------------------

finite = st.floats(-1e6, 1e6)


@st.composite
def arrays(draw, *shape):
    size = int(np.prod(shape))
    return np.array(draw(st.lists(finite, min_size=size, max_size=size)), dtype=float).reshape(shape)


@st.composite
def steps(draw, n=None, depth=2):
    """A step, or several, with any numbers."""
    n = draw(st.integers(1, 4)) if n is None else n
    kind = draw(
        st.sampled_from(["columns", "affine", "one-hot", "lookup", *(["chain", "beside"] * (depth > 0))])
    )
    if kind == "columns":
        return Columns(draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=5)), n)
    if kind == "affine":
        scale = draw(arrays(n))
        scale[np.abs(scale) < 1e-3] = 1.0
        optional = st.none() | arrays(n)
        return Affine(n, draw(optional), scale, draw(optional), draw(optional))
    if kind in ("one-hot", "lookup"):
        keys = [np.unique(draw(st.lists(st.integers(-2, 4), max_size=4))).astype(float) for _ in range(n)]
        first, flat = np.cumsum([0, *map(len, keys)]), np.concatenate(keys)
        if kind == "one-hot":
            ends = np.array(draw(st.lists(st.sampled_from([-1, 0]), min_size=n, max_size=n)))
            return OneHot(flat, first, np.arange(flat.size), ends, ends, int(flat.size) + 1)
        values, missing, unknown = (draw(arrays(size, 2)) for size in (flat.size, n, n))
        return ValueLookup(flat, first, values, missing, unknown, np.zeros((n, 2), np.int64))
    one = draw(steps(n, depth - 1))
    return (
        Chain([one, draw(steps(one.n_out, depth - 1))])
        if kind == "chain"
        else Beside([one, draw(steps(n, depth - 1))])
    )


@given(steps())
def test_any_step_comes_back(step):
    X = np.array([[0.0, 1.0, 2.0, -1.0], [0.5, np.nan, 3.0, 4.0]])[:, : step.n_columns].copy()
    loaded = saved_and_loaded(step)
    found = step(X)
    assert (found.shape, loaded.n_columns) == ((2, step.n_out), step.n_columns)
    np.testing.assert_array_equal(loaded(X), found)
    missing = np.array([False, True, False, False])[: step.n_columns]
    np.testing.assert_array_equal(loaded.missing_after(missing), step.missing_after(missing))
    assert not np.isnan(found[:, ~step.missing_after(missing)]).any()
    needed = step.needs(np.ones(step.n_out, bool))
    other = X.copy()
    other[:, ~needed] = 7.0
    np.testing.assert_array_equal(step(other), found)


# Files that are wrong ---------------------------------------------------------------------------------------


def leaves(tree, path=()):
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, key))


def changes(value):
    """What somebody could write in place of a value."""
    yield from (None, -1, 0, 1 << 40, 0.5, True, "x", [], {}, np.zeros(0), np.zeros((2, 2)))
    if isinstance(value, np.ndarray) and value.size:
        yield value[:-1]
        yield value.astype(np.float32 if value.dtype == np.float64 else np.int8)
        yield np.concatenate([value, value])
        for wrong in (np.nan, np.inf, -1e308, 0.0) if value.dtype == np.float64 else (-3, 1 << 40, 0):
            other = value.copy()
            other.flat[-1] = wrong
            yield other
        yield value[::-1].copy()


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


@pytest.mark.parametrize("name", MADE)
def test_changed_files_are_refused_or_answer_with_numbers(name):
    made = MADE[name]()
    X = rows(made)[:5]
    refused = answered = 0
    for path in list(leaves(made.tree())):
        for new in changes(at(made.tree(), path)):
            tree = copy.deepcopy(made.tree())
            at(tree, path[:-1])[path[-1]] = new
            try:
                loaded = read(tree, "a file", PortableModel.from_tree)
            except ModelFileError:
                refused += 1
                continue
            with np.errstate(all="ignore"), contextlib.suppress(InputError):
                found = loaded.probabilities(X)
                assert ((found >= 0.0) & (found <= 1.0 + 1e-9)).all()
                answered += 1
    assert refused > 10 * answered > 0


@pytest.mark.parametrize("name", ["table", "calibrated", "votes"])
def test_entries_that_are_missing_or_more(name):
    made = MADE[name]()
    for path in [(), *leaves(made.tree())]:
        place = at(made.tree(), path)
        if isinstance(place, dict) and place:
            tree = copy.deepcopy(made.tree())
            at(tree, path)["more"] = 1
            with pytest.raises(ModelFileError, match="not known: 'more'"):
                read(tree, "a file", PortableModel.from_tree)
            for key in place:
                tree = copy.deepcopy(made.tree())
                del at(tree, path)[key]
                with pytest.raises(ModelFileError):
                    read(tree, "a file", PortableModel.from_tree)


def test_steps_and_models_do_not_stand_for_each_other():
    made = of_numbers(StandardScaler())
    tree = made.tree()
    tree["model"]["step"], tree["model"]["model"] = tree["model"]["model"], tree["model"]["step"]
    with pytest.raises(ModelFileError, match="it must be a step"):
        read(tree, "a file", PortableModel.from_tree)
    tree = made.tree()
    tree["model"] = {"kind": "PortableModel", **made.tree()}
    with pytest.raises(ModelFileError, match="must not hold itself"):
        read(tree, "a file", PortableModel.from_tree)
    tree["model"] = {"kind": "Stumps"}
    with pytest.raises(ModelFileError, match="holds foreign of the kind 'Stumps'"):
        read(tree, "a file", PortableModel.from_tree)


def test_texts_of_files():
    made = of_table()
    for wrong in (["a", "a"], [1], "ab", None):
        tree = copy.deepcopy(made.tree())
        tree["vocabularies"][0]["texts"] = wrong
        with pytest.raises(ModelFileError):
            read(tree, "a file", PortableModel.from_tree)
    twice = copy.deepcopy(made.tree())
    twice["vocabularies"] += twice["vocabularies"][:1]
    with pytest.raises(ModelFileError, match="one vocabulary"):
        read(twice, "a file", PortableModel.from_tree)
    odd = copy.deepcopy(made.tree())
    odd["vocabularies"][0]["texts"] = ["a\ud800", "\x00", "é"]
    assert (
        read(from_bytes(to_bytes("x", odd), "x"), "f", PortableModel.from_tree).vocabularies[1][1] == "\x00"
    )


def test_what_constructors_refuse():
    one = np.ones((1, 2))
    with pytest.raises(InputError, match="link must be one of logistic, softmax, huber; got 'probit'"):
        LinearClassifier(one, np.zeros(1), "probit")
    with pytest.raises(InputError, match="coef must have a row for each score"):
        LinearClassifier(np.ones((0, 2)), np.zeros(0), "softmax")
    with pytest.raises(InputError, match="classes must be those of the model; got 3 for 2"):
        PortableModel(LinearClassifier(one, np.zeros(1), "softmax"), np.arange(3))
    with pytest.raises(InputError, match="column_names must be 2; got 1"):
        PortableModel(LinearClassifier(one, np.zeros(1), "softmax"), np.arange(2), ["a"])
    with pytest.raises(InputError, match="of columns 0 to 1; got 1 for column 5"):
        PortableModel(LinearClassifier(one, np.zeros(1), "softmax"), np.arange(2), None, {5: ("a",)})
    assert isinstance(FixedAnswer(1, np.array([0.5, 0.5]), np.array([1])), PortableClassifier)
    assert issubclass(Columns, PortableStep)
