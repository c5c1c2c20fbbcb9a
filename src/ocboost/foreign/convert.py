"""Reading fitted models and transformers of scikit-learn: which class of ours each becomes.

A reader takes the fitted estimator, the columns it is given (`ocboost.foreign.slots.Slot`) and the words by
which errors call it. One for a transformer returns a `Planned` step, one for a classifier a function that
makes the portable classifier. Only scikit-learn's own classes are read: a subclass may answer otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ocboost.errors import InputError
from ocboost.foreign.base import Make, PortableStep, as_floats, is_scored, not_portable
from ocboost.foreign.bayes import plan_dummy, plan_gaussian
from ocboost.foreign.calibrated import CalibratedModel, maps_of
from ocboost.foreign.columns import Beside, Chain, Columns, all_columns
from ocboost.foreign.combined import Piped, ThresholdModel, VotingModel
from ocboost.foreign.encoders import plan_one_hot, plan_ordinal, plan_recoding, plan_target
from ocboost.foreign.imputers import plan_flags, plan_imputer
from ocboost.foreign.linear import plan_linear, plan_multinomial, plan_projection
from ocboost.foreign.mappings import plan_intervals, plan_power, plan_products, plan_quantiles
from ocboost.foreign.portable import PortableModel
from ocboost.foreign.scalers import Affine, plan_affine, plan_norms
from ocboost.foreign.slots import Planned, Slot, claim_numbers
from ocboost.foreign.trees import tree_model

_FARTHEST = 1e300  # stands for an infinite threshold


class PortableSteps(NamedTuple):
    """Fitted transformers as one step, and the texts of the columns that are text."""

    step: PortableStep
    vocabularies: dict[int, tuple[str, ...]]


def portable(model: Any, n_columns: int | None = None) -> PortableModel:
    """A fitted classifier in ocboost's own form.

    Parameters
    ----------
    model : fitted classifier
        A linear model, GaussianNB, trees, a Pipeline of those after transformers, a search, a
        CalibratedClassifierCV, … (docs/adopt.md).
    n_columns : int, optional
        The number of columns, for a model that does not know it.

    Raises
    ------
    NotSavableError
        The model has a part that cannot be written as arrays; the message names it.
    InputError
        The model is not fitted, or no classifier.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), ["no", "no", "yes", "yes"]
    >>> model = portable(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y))
    >>> model
    <a model of 2 classes over 1 columns>
    >>> model.classes[model.predict_codes(X)]
    array(['no', 'no', 'yes', 'yes'], dtype='<U3')
    """
    answers = hasattr(model, "predict_proba") or hasattr(model, "decision_function")
    if answers and not hasattr(model, "fit"):
        raise not_portable(f"the {type(model).__name__}, a class of its own")
    require_fitted(model, classifier=True)
    classes = np.asarray(model.classes_)
    if classes.ndim != 1 or classes.size < 2:
        raise InputError(f"model must know two classes or more; got {classes!r:.80}. Fit it on both.")
    names = column_names_of(model)
    slots = _raw_slots(_count(model, n_columns), names)
    build = _plan_model(model, slots, f"the {type(model).__name__}")
    vocabularies = _vocabularies(slots)
    return PortableModel(build(), classes, names, vocabularies)


def portable_steps(transformers: Sequence[Any], n_columns: int | None = None) -> PortableSteps:
    """Fitted transformers, one after the other, as one portable step.

    Raises `NotSavableError` where one cannot be written as arrays.
    """
    if not transformers:
        raise InputError("transformers must be at least one; got none.")
    for each in transformers:
        require_fitted(each)
    slots = _raw_slots(_count(transformers[0], n_columns), column_names_of(transformers[0]))
    planned = _plan_chain([(f"the {type(each).__name__}", each) for each in transformers], slots)
    vocabularies = _vocabularies(slots)
    return PortableSteps(planned.build(), vocabularies)


def require_fitted(model: Any, *, classifier: bool = False) -> None:
    """Refuse what is no fitted estimator, or no fitted classifier."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if isinstance(model, type) or not hasattr(model, "fit"):
        raise InputError(f"model must be a fitted model; got {model!r:.80}.")
    try:
        if hasattr(model, "get_params") and type(model).__module__.startswith("sklearn."):
            check_is_fitted(model)
        if classifier:
            model.classes_  # noqa: B018
    except (NotFittedError, AttributeError):
        what = "a fitted classifier" if classifier else "fitted"
        raise InputError(f"model must be {what}; got {model!r:.80}, which is not. Call its fit.") from None


def column_names_of(model: Any) -> tuple[str, ...] | None:
    """The names of the columns that a model was fitted on, if it knows them."""
    names = _first_known(model, "feature_names_in_")
    return None if names is None else tuple(str(name) for name in names)


def _count(model: Any, given: int | None) -> int:
    found = given if given is not None else _first_known(model, "n_features_in_")
    if found is None:
        raise not_portable(
            f"a {type(model).__name__} that does not know how many columns it was fitted on",
            "Fit it with a first step that counts them, such as a ColumnTransformer.",
        )
    return int(found)


def _first_known(model: Any, attribute: str) -> Any:
    """What a model knows of its columns, or the first step of a Pipeline that changes any."""
    found = getattr(model, attribute, None)
    if found is None and _name(model) == "Pipeline":
        for _, step in model.steps:
            same = step is None or isinstance(step, str) or _name(step) == "FunctionTransformer"
            found = _first_known(step, attribute)
            if found is not None or not same:
                break
    for inside in ("best_estimator_", "estimator_", "estimator"):
        if found is None and hasattr(model, inside):
            found = _first_known(getattr(model, inside), attribute)
    return found


def _raw_slots(n: int, names: Sequence[str] | None) -> list[Slot]:
    return [Slot(f"column {i if names is None else names[i]!r:.60}") for i in range(n)]


def _vocabularies(slots: Sequence[Slot]) -> dict[int, tuple[str, ...]]:
    return {i: slot.vocabulary for i, slot in enumerate(slots) if slot.is_text}


def _name(estimator: Any) -> str:
    """The name of a class of scikit-learn's own; empty for any other."""
    kind = type(estimator)
    return kind.__name__ if kind.__module__.split(".")[0] == "sklearn" else ""


def _described(fitted: Any, where: str) -> str:
    """Where a part is, and its class, if that was not said."""
    kind = type(fitted).__name__
    return where if where.split(" in ")[0] == f"the {kind}" else f"{where}, a {kind}"


def _inside(name: Any, where: str, part: str = "step") -> str:
    return f"the {part} {name!r:.40} of {where}"


# Transformers -----------------------------------------------------------------------------------------------


def _plan_step(fitted: Any, slots: list[Slot], where: str) -> Planned:
    """Any transformer."""
    if fitted is None or (isinstance(fitted, str) and fitted == "passthrough"):
        return _plan_nothing(fitted, slots, where)
    reader = STEPS.get(_name(fitted))
    if reader is None and type(fitted).__module__.startswith("sklearn.feature_selection."):
        reader = _plan_selection
    if reader is None:
        raise not_portable(_described(fitted, where))
    known = getattr(fitted, "n_features_in_", len(slots))
    if known != len(slots):
        raise InputError(f"{where} must take the {len(slots)} columns it is given; got one of {known}.")
    return reader(fitted, slots, where)


def _plan_nothing(fitted: Any, slots: list[Slot], where: str) -> Planned:
    return Planned(lambda: all_columns(len(slots)), list(slots))


def _plan_function(fitted: Any, slots: list[Slot], where: str) -> Planned:
    if fitted.func is not None:
        raise not_portable(f"{where}, a FunctionTransformer with a function of its own")
    return _plan_nothing(fitted, slots, where)


def _plan_selection(fitted: Any, slots: list[Slot], where: str) -> Planned:
    claim_numbers(slots, where)
    kept = np.flatnonzero(fitted.get_support())
    return Planned(lambda: Columns(kept, len(slots)), [slots[i] for i in kept])


def _plan_pipeline(fitted: Any, slots: list[Slot], where: str) -> Planned:
    return _plan_chain([(_inside(name, where), each) for name, each in fitted.steps], slots)


def _plan_chain(steps: Sequence[tuple[str, Any]], slots: list[Slot]) -> Planned:
    """Transformers one after the other, each with the words that errors call it by."""
    builds = []
    for where, each in steps:
        planned = _plan_step(each, slots, where)
        builds.append(planned.build)
        slots = planned.out
    return Planned(lambda: Chain([build() for build in builds]), slots)


def _plan_columns(fitted: Any, slots: list[Slot], where: str) -> Planned:
    """ColumnTransformer: what it sends where is resolved to positions when it is fitted."""
    parts: list[tuple[Any, Planned]] = []
    for name, each, _ in fitted.transformers_:
        at = np.asarray(fitted._transformer_to_input_indices.get(name, ()), dtype=np.int64)
        if at.size and not (isinstance(each, str) and each == "drop"):
            own = _plan_step(each, [slots[i] for i in at], _inside(name, where, "transformer"))
            parts.append((at, _weighted(own, (fitted.transformer_weights or {}).get(name))))
    return _side_by_side(parts, len(slots), where)


def _plan_union(fitted: Any, slots: list[Slot], where: str) -> Planned:
    parts = []
    for name, each in fitted.transformer_list:
        if not (isinstance(each, str) and each == "drop"):
            own = _plan_step(each, slots, _inside(name, where, "transformer"))
            parts.append((None, _weighted(own, (fitted.transformer_weights or {}).get(name))))
    return _side_by_side(parts, len(slots), where)


def _weighted(planned: Planned, weight: float | None) -> Planned:
    if weight is None:
        return planned
    claim_numbers(planned.out, "a weight")
    factor = Affine(len(planned.out), multiply=as_floats(weight, len(planned.out)))
    return Planned(lambda: Chain([planned.build(), factor]), planned.out)


def _side_by_side(parts: Sequence[tuple[Any, Planned]], n: int, where: str) -> Planned:
    if not parts:
        raise not_portable(f"{where}, which keeps no column")

    def build() -> PortableStep:
        made = [(at, planned.build()) for at, planned in parts]
        return Beside([step if at is None else Chain([Columns(at, n), step]) for at, step in made])

    return Planned(build, [slot for _, planned in parts for slot in planned.out])


STEPS: dict[str, Callable[[Any, list[Slot], str], Planned]] = {
    **dict.fromkeys(("StandardScaler", "RobustScaler", "MinMaxScaler", "MaxAbsScaler"), plan_affine),
    "Normalizer": plan_norms,
    "SimpleImputer": plan_imputer,
    "MissingIndicator": plan_flags,
    "OneHotEncoder": plan_one_hot,
    "OrdinalEncoder": plan_ordinal,
    "TargetEncoder": plan_target,
    "KBinsDiscretizer": plan_intervals,
    "PolynomialFeatures": plan_products,
    "QuantileTransformer": plan_quantiles,
    "PowerTransformer": plan_power,
    **dict.fromkeys(("PCA", "IncrementalPCA", "TruncatedSVD"), plan_projection),
    "FunctionTransformer": _plan_function,
    "Pipeline": _plan_pipeline,
    "ColumnTransformer": _plan_columns,
    "FeatureUnion": _plan_union,
}


# Classifiers ------------------------------------------------------------------------------------------------


def _plan_model(fitted: Any, slots: list[Slot], where: str) -> Make:
    """Any classifier."""
    reader = MODELS.get(_name(fitted))
    if reader is not None:
        return reader(fitted, slots, where)
    trees = tree_model(fitted)
    if trees is None:
        raise not_portable(_described(fitted, where))
    texts: dict[int, tuple[str, ...]] = getattr(trees, "vocabularies", {})
    claim_numbers([slot for i, slot in enumerate(slots) if i not in texts], where)
    recoding = plan_recoding(texts, slots, where)

    def build() -> Any:
        same = all(slots[i].vocabulary == own for i, own in texts.items())
        return trees if same else Piped(recoding(), trees)

    return build


def _plan_piped(fitted: Any, slots: list[Slot], where: str) -> Make:
    """A Pipeline that ends in a classifier."""
    *steps, (name, last) = fitted.steps
    if not steps:
        return _plan_model(last, slots, _inside(name, where))
    planned = _plan_chain([(_inside(own, where), each) for own, each in steps], slots)
    model = _plan_model(last, planned.out, _inside(name, where))
    return lambda: Piped(planned.build(), model())


def _plan_inner(attribute: str) -> Callable[[Any, list[Slot], str], Make]:
    """A model that passes everything on to another."""

    def plan(fitted: Any, slots: list[Slot], where: str) -> Make:
        if not hasattr(fitted, attribute):
            raise not_portable(f"{where}, which has no {attribute}", "Fit it with refit=True.")
        inner = getattr(fitted, attribute)
        return _plan_model(inner, slots, f"the {type(inner).__name__} in {where}")

    return plan


def _plan_calibrated(fitted: Any, slots: list[Slot], where: str) -> Make:
    members = []
    for i, each in enumerate(fitted.calibrated_classifiers_):
        own = f"model {i} of {where}"
        members.append((_plan_model(each.estimator, slots, own), maps_of(each, fitted.classes_), own))

    def build() -> CalibratedModel:
        made = []
        for make, maps, own in members:
            model = make()
            _require_scores(model, maps.by_score, own)
            made.append((model, maps))
        return CalibratedModel(made, len(fitted.classes_))

    return build


def _require_scores(model: Any, needed: bool, where: str) -> None:
    if needed and not is_scored(model):
        raise not_portable(f"{where}, whose decision_function is needed")


def _plan_voting(fitted: Any, slots: list[Slot], where: str) -> Make:
    makes = []
    for (name, _), each in zip(_taking_part(fitted), fitted.estimators_, strict=True):
        if len(each.classes_) != len(fitted.classes_):
            raise not_portable(f"{_inside(name, where, 'model')}, which knows only some of the classes")
        makes.append(_plan_model(each, slots, _inside(name, where, "model")))
    weights = None
    if fitted.weights is not None:
        pairs = zip(fitted.estimators, fitted.weights, strict=True)
        weights = as_floats([weight for (_, each), weight in pairs if not isinstance(each, str)])
    return lambda: VotingModel([make() for make in makes], weights, fitted.voting == "hard")


def _taking_part(fitted: Any) -> list[tuple[str, Any]]:
    return [(name, each) for name, each in fitted.estimators if not isinstance(each, str)]


def _plan_threshold(fitted: Any, slots: list[Slot], where: str) -> Make:
    """FixedThresholdClassifier, TunedThresholdClassifierCV."""
    inner = getattr(fitted, "estimator_", None) or fitted.estimator
    make = _plan_model(inner, slots, f"the {type(inner).__name__} in {where}")
    by_score = fitted.response_method == "decision_function" or not hasattr(inner, "predict_proba")
    if hasattr(fitted, "best_threshold_"):
        threshold, label = fitted.best_threshold_, fitted._curve_scorer._get_pos_label()
    else:
        threshold, label = fitted.threshold, fitted.pos_label
        threshold = (0.0 if by_score else 0.5) if isinstance(threshold, str) else threshold
    positive = label is None or bool(np.asarray(fitted.classes_)[1] == label)
    limited = np.clip(as_floats([threshold]), -_FARTHEST, _FARTHEST)

    def build() -> ThresholdModel:
        model = make()
        _require_scores(model, by_score, where)
        return ThresholdModel(model, limited, positive, by_score)

    return build


_LINEAR = (
    "LogisticRegression",
    "LogisticRegressionCV",
    "SGDClassifier",
    "LinearDiscriminantAnalysis",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "LinearSVC",
    "Perceptron",
    "PassiveAggressiveClassifier",
)
_SEARCHES = ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")
MODELS: dict[str, Callable[[Any, list[Slot], str], Make]] = {
    **dict.fromkeys(_LINEAR, plan_linear),
    "MultinomialNB": plan_multinomial,
    "GaussianNB": plan_gaussian,
    "DummyClassifier": plan_dummy,
    "Pipeline": _plan_piped,
    **dict.fromkeys(_SEARCHES, _plan_inner("best_estimator_")),
    "FrozenEstimator": _plan_inner("estimator"),
    "CalibratedClassifierCV": _plan_calibrated,
    "VotingClassifier": _plan_voting,
    **dict.fromkeys(("FixedThresholdClassifier", "TunedThresholdClassifierCV"), _plan_threshold),
}
