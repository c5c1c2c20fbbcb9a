"""Steps over numbers give what scikit-learn's transformers give."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from ocboost import InputError, NotSavableError
from ocboost.foreign.convert import portable_steps
from tests.foreign.frames import check_step, labels, matrix

TAKES_MISSING = {
    "standard": StandardScaler(),
    "standard, no mean": StandardScaler(with_mean=False),
    "standard, no scale": StandardScaler(with_std=False),
    "standard, nothing": StandardScaler(with_mean=False, with_std=False),
    "min-max": MinMaxScaler(),
    "min-max, clipped": MinMaxScaler(feature_range=(-0.5, 2.0), clip=True),
    "max-abs": MaxAbsScaler(),
    "robust": RobustScaler(),
    "robust, no centre": RobustScaler(with_centering=False, quantile_range=(10, 80)),
    "robust, no scale": RobustScaler(with_scaling=False),
    "quantiles": QuantileTransformer(n_quantiles=20),
    "quantiles, normal": QuantileTransformer(n_quantiles=50, output_distribution="normal"),
    "nothing": FunctionTransformer(),
    "variance": VarianceThreshold(0.5),
    "powers, not scaled": PowerTransformer(standardize=False),
    "powers": PowerTransformer(),
}
FINITE = {
    "lengths": Normalizer(),
    "lengths, l1": Normalizer("l1"),
    "lengths, max": Normalizer("max"),
    "products": PolynomialFeatures(3),
    "products, interactions": PolynomialFeatures((2, 3), interaction_only=True, include_bias=False),
    "bins": KBinsDiscretizer(4, encode="ordinal", strategy="uniform"),
    "bins, one-hot": KBinsDiscretizer(3, strategy="uniform"),
    "bins, dense": KBinsDiscretizer(3, encode="onehot-dense", strategy="kmeans"),
    "best": SelectKBest(k=2),
    "eliminated": RFE(LogisticRegression(), n_features_to_select=2),
    "of a model": SelectFromModel(ExtraTreesClassifier(5, random_state=0)),
    "union": FeatureUnion(
        [("a", StandardScaler()), ("b", "passthrough"), ("c", "drop"), ("d", Normalizer())],
        transformer_weights={"a": 0.25},
    ),
    "in a row": make_pipeline(StandardScaler(), "passthrough", SelectKBest(k=3), MinMaxScaler()),
    "of none": Pipeline([("nothing", None), ("max", MaxAbsScaler())]),
}
ROUNDED = {
    "components": PCA(3),
    "components, white": PCA(2, whiten=True),
    "components, incremental": IncrementalPCA(2, whiten=True),
    "singular values": TruncatedSVD(2, random_state=0),
}
PASSES_ON = {"best", "eliminated", "of a model", "of none", "in a row"}  # missing numbers, to the next step
ALL = {**TAKES_MISSING, **FINITE, **ROUNDED}
NEARLY = {"powers", "powers, not scaled", *ROUNDED}  # others are equal to the bit


def extremes(X):
    """Rows beyond those that were fitted, rows of zeros, and ties with fitted values."""
    return np.vstack([X, X[:3] * 50, np.zeros((1, X.shape[1])), np.nanmin(X, axis=0), np.nanmax(X, axis=0)])


@pytest.mark.parametrize("name", ALL)
def test_finite_numbers(name):
    fitted = ALL[name].fit(matrix(), labels())
    check_step(fitted, extremes(matrix()), exactly=name not in NEARLY)


@pytest.mark.parametrize("name", TAKES_MISSING)
def test_missing_numbers(name):
    X = matrix(missing=0.2)
    fitted = ALL[name].fit(X)
    made = check_step(fitted, extremes(X), exactly=name not in NEARLY)
    every = np.ones(4, bool)
    assert made.step.missing_after(every).all()


def test_box_cox():
    X = np.abs(matrix()) + 0.1
    made = check_step(PowerTransformer("box-cox").fit(X), X, exactly=False)
    with pytest.raises(InputError, match="above zero"):
        made.step(-X)


@pytest.mark.parametrize("name", sorted({*FINITE, *ROUNDED} - PASSES_ON))
def test_steps_that_refuse_missing_numbers_say_so(name):
    step = portable_steps([ALL[name].fit(matrix(), labels())]).step
    assert step.missing_after(np.ones(4, bool)) is None
    assert step.missing_after(np.zeros(4, bool)) is not None
    assert step.needs(np.zeros(step.n_out, bool)).all()
    with pytest.raises(InputError, match="finite"):
        step(np.full((2, 4), np.nan))


def test_which_columns_are_needed():
    step = portable_steps(
        [VarianceThreshold(0.5).fit(matrix()), StandardScaler().fit(matrix(columns=3))]
    ).step
    kept = np.flatnonzero(VarianceThreshold(0.5).fit(matrix()).get_support())
    assert kept.tolist() == [0, 1, 3]
    np.testing.assert_array_equal(step.needs(np.array([False, True, True])), [False, True, False, True])


def test_other_classes_are_refused_by_name():
    class Doubled(StandardScaler):
        def transform(self, X, copy=None):
            return 2 * super().transform(X)

    with pytest.raises(NotSavableError, match=r"got the Doubled\. docs/adopt\.md"):
        portable_steps([Doubled().fit(matrix())])
    own = FunctionTransformer(np.log1p).fit(matrix())
    with pytest.raises(NotSavableError, match="FunctionTransformer with a function of its own"):
        portable_steps([own])
    with pytest.raises(InputError, match="at least one; got none"):
        portable_steps([])
    with pytest.raises(InputError, match="model must be fitted; got StandardScaler"):
        portable_steps([StandardScaler()])
