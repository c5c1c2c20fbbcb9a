"""Portable models answer as scikit-learn's, in memory and from a file."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    PassiveAggressiveClassifier,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from ocboost import InputError, NotSavableError
from ocboost.foreign import combined
from ocboost.foreign.convert import portable
from tests.foreign.frames import check_model, frame, labels, late, matrix, rows_of, saved_and_loaded

LINEAR = {
    "logistic": LogisticRegression(),
    "logistic, no intercept": LogisticRegression(fit_intercept=False),
    "ridge": RidgeClassifier(),
    "ridge, chosen": RidgeClassifierCV(),
    "ridge, no intercept": RidgeClassifier(fit_intercept=False),
    "gradient": SGDClassifier(loss="log_loss", random_state=0),
    "gradient, huber": SGDClassifier(loss="modified_huber", random_state=0),
    "gradient, hinge": SGDClassifier(random_state=0, average=True),
    "vectors": LinearSVC(),
    "perceptron": Perceptron(),
    "discriminant": LinearDiscriminantAnalysis(),
}
OTHERS = {
    "bayes": GaussianNB(),
    "counts": make_pipeline(MinMaxScaler(clip=True), MultinomialNB()),
    "prior": DummyClassifier(),
    "most frequent": DummyClassifier(strategy="most_frequent"),
    "constant": DummyClassifier(strategy="constant", constant=1),
    "search": GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
    "random search": RandomizedSearchCV(make_pipeline(StandardScaler(), GaussianNB()), {}, n_iter=1, cv=2),
    "soft votes": VotingClassifier(
        [("a", LogisticRegression()), ("b", "drop"), ("c", GaussianNB())], voting="soft", weights=[1, 5, 2.5]
    ),
    "soft votes, even": VotingClassifier([("a", LogisticRegression()), ("c", GaussianNB())], voting="soft"),
    "pipeline in pipeline": make_pipeline(
        make_pipeline("passthrough", StandardScaler()), LogisticRegression()
    ),
    "nothing before": Pipeline([("m", LogisticRegression())]),
}
ALL = {**LINEAR, **OTHERS}


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("name", ALL)
def test_models(name, K):
    y = np.array(["d", "a", "c", "b"])[labels(K=K)] if name != "constant" else labels(K=K)
    X, scale = matrix(), 1.0 if "gradient" not in name else 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence
        fitted = ALL[name].fit(X * scale, y)
    if isinstance(fitted, DummyClassifier):
        fitted.n_features_in_ = 4  # older ones do not count
    made = check_model(fitted, np.vstack([X, 40 * X, np.zeros((1, 4))]) * scale)
    assert made.accepts_missing == isinstance(fitted, DummyClassifier)
    if not made.accepts_missing:
        with pytest.raises(InputError, match="finite"):
            made.probabilities(np.full((1, 4), np.nan))


def test_logistic_regression_chosen_by_folds():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = LogisticRegressionCV(Cs=2, cv=2).fit(matrix(), labels(K=3))
    check_model(fitted, matrix())


def test_passive_aggressive():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated
        fitted = PassiveAggressiveClassifier(random_state=0).fit(matrix(), labels(K=3))
    check_model(fitted, matrix())


def test_scores_that_are_huge():
    """A share of exactly 0 or 1 is no NaN, and one for all classes becomes an even one."""
    for model in (SGDClassifier(loss="log_loss", random_state=0), LogisticRegression(C=1e6, max_iter=5000)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = model.fit(matrix(), labels(K=3))
        made = portable(fitted)
        for X in (matrix() * 1e200, -matrix() * 1e30):
            found = made.probabilities(X)
            with np.errstate(invalid="ignore"):  # before 1.8 scikit-learn answers NaN there
                expected = fitted.predict_proba(X)
            known = np.isfinite(expected).all(axis=1)
            np.testing.assert_allclose(found[known], expected[known], rtol=0, atol=1e-12)
            np.testing.assert_allclose(found.sum(axis=1), 1.0)
    with pytest.raises(InputError, match="must answer with numbers"):
        made.probabilities(np.full((1, 4), 1e308) * [1, -1, 1, -1])


def test_votes_without_probabilities():
    models = [("a", LogisticRegression()), ("b", GaussianNB()), ("c", RidgeClassifier())]
    for weights in (None, [1, 1, 1.5]):
        fitted = VotingClassifier(models, voting="hard", weights=weights).fit(matrix(), labels(K=3))
        made = portable(fitted)
        for model in (made, saved_and_loaded(made)):
            np.testing.assert_array_equal(
                model.classes[model.predict_codes(matrix())], fitted.predict(matrix())
            )
        votes = fitted.transform(matrix())
        share = np.average(votes[:, :, None] == np.arange(3), axis=1, weights=weights)
        np.testing.assert_allclose(made.probabilities(matrix()), share, atol=1e-15)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize(
    "inner", [LinearSVC(), GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())]
)
@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_calibrated(method, inner, K):
    try:
        fitted = CalibratedClassifierCV(inner, method=method, cv=3).fit(matrix(), labels(K=K))
    except ValueError:
        if method != "temperature":
            raise
        pytest.skip("scikit-learn has it since 1.8")
    check_model(fitted, np.vstack([matrix(), 10 * matrix()]))
    whole = CalibratedClassifierCV(inner, method=method, cv=3, ensemble=False).fit(matrix(), labels(K=K))
    check_model(whole, matrix())
    frozen = FrozenEstimator(inner.fit(matrix(), labels(K=K)))
    check_model(CalibratedClassifierCV(frozen, method=method).fit(matrix(), labels(K=K)), matrix())


@pytest.mark.parametrize("by", ["auto", "predict_proba", "decision_function"])
@pytest.mark.parametrize("positive", [None, "a", "b"])
def test_thresholds(by, positive):
    y = np.array(["a", "b"])[labels()]
    if positive is not None or by != "auto":
        fixed = FixedThresholdClassifier(
            LogisticRegression(), threshold=0.3, pos_label=positive, response_method=by
        ).fit(matrix(), y)
    else:
        fixed = FixedThresholdClassifier(LinearSVC()).fit(matrix(), y)
    check_model(fixed, matrix())
    plain = portable(LogisticRegression().fit(matrix(), y))
    if by != "auto" or positive is not None:
        assert (portable(fixed).predict_codes(matrix()) != plain.predict_codes(matrix())).any()


def test_a_tuned_threshold():
    y = np.array(["a", "b"])[labels()]
    fitted = TunedThresholdClassifierCV(LogisticRegression(), scoring="balanced_accuracy", cv=3).fit(
        matrix(), y
    )
    check_model(fitted, matrix())


def test_a_table_with_everything():
    table, y = frame(), late(frame())
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    pre = ColumnTransformer([("n", numbers, ["size", "price"]), ("w", words, ["kind", "town"])])
    fitted = make_pipeline(pre, LogisticRegression()).fit(table, y)
    other = frame(seed=1, unknown=True)
    made = check_model(fitted, other, given=lambda made: rows_of(made, other))
    assert made.column_names == ("size", "town", "rooms", "new", "kind", "price")
    assert made.reads == (0, 1, 4, 5)
    assert made.accepts_missing
    assert made.vocabularies[1] == ("Bern", "Nice", "Oslo", "Rome")
    assert repr(made) == "<a model of 2 classes over 6 columns, 2 of them text>"
    calibrated = CalibratedClassifierCV(fitted, cv=3).fit(table, y)
    check_model(calibrated, other, given=lambda made: rows_of(made, other))
    search = GridSearchCV(fitted, {"logisticregression__C": [0.1, 1]}, cv=2).fit(table, y)
    check_model(search, other, given=lambda made: rows_of(made, other))
    for wrapped in (
        calibrated,
        search,
        FixedThresholdClassifier(fitted).fit(table, y),
        FixedThresholdClassifier(FrozenEstimator(fitted)).fit(table, y),
        VotingClassifier([("a", fitted)], voting="soft").fit(table, y),
    ):
        assert portable(wrapped).column_names == made.column_names


def test_wide_rows_are_answered_a_few_at_a_time(monkeypatch):
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(matrix(), labels(K=3))
    whole = portable(fitted).probabilities(matrix())
    monkeypatch.setattr(combined, "NUMBERS_AT_ONCE", 30)
    np.testing.assert_array_equal(portable(fitted).probabilities(matrix()), whole)
    check_model(CalibratedClassifierCV(fitted, cv=2).fit(matrix(), labels(K=3)), matrix())


# What has no form, and what is wrong ------------------------------------------------------------------------


def test_models_without_a_form_are_named():
    X, y = matrix(), labels()
    with pytest.raises(NotSavableError, match=r"got the KNeighborsClassifier\. docs"):
        portable(KNeighborsClassifier().fit(X, y))
    pipe = Pipeline([("clean", FunctionTransformer(np.abs)), ("m", LogisticRegression())]).fit(X, y)
    with pytest.raises(
        NotSavableError, match="the step 'clean' of the Pipeline, a FunctionTransformer with a func"
    ):
        portable(pipe, n_columns=4)
    votes = VotingClassifier([("near", KNeighborsClassifier()), ("b", GaussianNB())], voting="soft").fit(X, y)
    with pytest.raises(
        NotSavableError, match="the model 'near' of the VotingClassifier, a KNeighborsClassifier"
    ):
        portable(votes)
    search = GridSearchCV(pipe, {"m__C": [1.0]}, cv=2).fit(X, y)
    with pytest.raises(NotSavableError, match="the step 'clean' of the Pipeline in the GridSearchCV"):
        portable(search, n_columns=4)
    calibrated = CalibratedClassifierCV(KNeighborsClassifier(), cv=2).fit(X, y)
    with pytest.raises(NotSavableError, match="model 0 of the CalibratedClassifierCV, a KNeighbors"):
        portable(calibrated)
    with pytest.raises(NotSavableError, match="answers at random"):
        portable(DummyClassifier(strategy="uniform").fit(X, y), n_columns=4)
    forgetful = DummyClassifier().fit(X, y)
    vars(forgetful).pop("n_features_in_", None)
    with pytest.raises(NotSavableError, match="a DummyClassifier that does not know how many columns"):
        portable(forgetful)


def test_what_is_no_fitted_classifier():
    for wrong in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression()), "model", int):
        with pytest.raises(InputError, match="model must be a fitted"):
            portable(wrong)
    with pytest.raises(InputError, match="two classes or more"):
        portable(DummyClassifier().fit(matrix(), np.zeros(120)))
    with pytest.raises(InputError, match="model must be a fitted classifier"):
        portable(StandardScaler().fit(matrix()))


def test_rows_that_do_not_fit():
    made = portable(LogisticRegression().fit(matrix(), labels()))
    for wrong in (np.ones((2, 3)), np.ones(4)):
        with pytest.raises(InputError, match=r"X must have shape \(rows, 4\)"):
            made.probabilities(wrong)
    with pytest.raises(InputError, match="finite for a linear model"):
        made.predict_codes(np.full((1, 4), np.inf))
