"""The fitted classifier inside pipelines and searches."""

from __future__ import annotations

from typing import Any

from ocboost.errors import InputError

_NOT_FITTED = (
    "fitted must be a fitted scikit-learn model; got {!r:.80}, which is not fitted. Call its fit first."
)


def unwrapped(model: Any) -> tuple[list[Any], Any]:
    """The fitted transformers that come first, and the fitted classifier they lead to.

    Sees through pipelines, searches (GridSearchCV and the like, whose best estimator it takes) and
    FrozenEstimator, in each other too. Steps that pass everything through are left out.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> pipeline = make_pipeline("passthrough", StandardScaler(), DecisionTreeClassifier())
    >>> unwrapped(pipeline.fit([[0.0], [1.0]], [0, 1]))
    ([StandardScaler()], DecisionTreeClassifier())
    """
    from sklearn.pipeline import Pipeline

    transformers: list[Any] = []
    while not isinstance(model, type):
        if isinstance(model, Pipeline):
            require_fitted(model)
            *before, model = (step for _, step in model.steps)
            transformers += _flattened(before)
            if model is None or isinstance(model, str):
                raise InputError(
                    f"fitted must end in a classifier; got a Pipeline whose last step is {model!r:.20}."
                )
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "cv_results_"):
            raise InputError(
                f"fitted must have its best estimator; got a {type(model).__name__} with refit=False. Fit it "
                "with refit=True, or give the model that you chose."
            )
        elif type(model).__name__ == "FrozenEstimator":
            model = model.estimator
        else:
            break
    return transformers, model


def _flattened(steps: list[Any]) -> list[Any]:
    from sklearn.pipeline import Pipeline

    out: list[Any] = []
    for step in steps:
        if isinstance(step, Pipeline):
            out += _flattened([inner for _, inner in step.steps])
        elif step is not None and step != "passthrough":
            out.append(step)
    return out


def require_fitted(estimator: Any) -> None:
    """Refuse a model of scikit-learn that was not fitted."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise InputError(_NOT_FITTED.format(estimator)) from None


def description(fitted: Any) -> str:
    """What a model is, for errors: "GridSearchCV around a RandomForestClassifier"."""
    inside = type(unwrapped(fitted)[1]).__name__
    outside = type(fitted).__name__
    return outside if inside == outside else f"{outside} around {inside}"
