"""What all classifiers share: input checks, classes, answers from votes, and methods for one row."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ocboost._core.labels import require_same, sorted_classes
from ocboost._core.locks import GuardedEstimator
from ocboost._kernels.answers import first_unusable
from ocboost.errors import InputError
from ocboost.estimators.committee import probabilities, winners
from ocboost.hypotheses import Hypotheses
from ocboost.learners import Learner

_FLOAT64 = np.dtype(np.float64)  # compared by `is`, which takes nanoseconds


class OnlineClassifier(GuardedEstimator, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers. A subclass has ``partial_fit``, ``decision_function`` and `_input_readers`.

    Fitting happens on a draft (`ocboost._core.interrupts.all_or_nothing`), which sets ``classes_`` among
    others: a classifier that has ``classes_`` is fitted.
    """

    classes_: NDArray[Any]
    n_features_in_: int
    random_state: Any

    # Checks ----------------------------------------------------------------------------------------------

    def _input_readers(self, *, reset: bool) -> list[Learner | Hypotheses]:
        """All that must accept X, when it is fitted again (``reset``) or used as it is."""
        raise NotImplementedError

    def _input_checks(self, *, reset: bool = False) -> dict[str, Any]:
        """The arguments of scikit-learn's `validate_data`."""
        readers = self._input_readers(reset=reset)
        return {
            "dtype": (np.float64, np.float32),
            "order": "C",
            "accept_sparse": "csr" if all(each.accepts_sparse for each in readers) else False,
            "ensure_all_finite": "allow-nan" if all(each.accepts_missing for each in readers) else True,
        }

    def _checked_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, **self._input_checks())

    def _checked_examples(self, X: Any, y: ArrayLike, *, reset: bool) -> tuple[Any, NDArray[Any]]:
        """Rows and labels; ``reset`` takes the number of features and their names from them."""
        rows, labels = validate_data(self, X, y, reset=reset, **self._input_checks(reset=reset))
        check_classification_targets(labels)
        return rows, labels

    def _all_classes(
        self, labels: NDArray[Any], classes: ArrayLike | None = None, *, first: bool
    ) -> NDArray[Any]:
        """All classes, sorted. The first call names or shows them; a later one may only repeat them."""
        given = None if classes is None else sorted_classes(np.asarray(classes))
        if not first:
            if given is not None:
                require_same(given, self.classes_)
            return self.classes_
        found = sorted_classes(labels) if given is None else given
        require_two(found, len(labels) if given is None else None)
        return found

    @property
    def _n_encoded(self) -> int:
        """Features that hypotheses and boosters see."""
        return self.n_features_in_

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(1 << 31))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with suppress(InputError):  # of an unsuitable estimator; fit reports it
            checks = self._input_checks()
            tags.input_tags.allow_nan = checks.get("ensure_all_finite") == "allow-nan"
            tags.input_tags.sparse = bool(checks.get("accept_sparse", False))
        return tags

    # Answers ---------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the highest vote, of each row.

        Parameters
        ----------
        X : array of shape (n, n_features)
            The rows.

        Returns
        -------
        array of shape (n,)
            One of ``classes_`` each.
        """
        now = self._snapshot()
        votes = now.decision_function(X)
        return now.classes_[winners(votes)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class of each row, by the logistic link.

        Parameters
        ----------
        X : array of shape (n, n_features)
            The rows.

        Returns
        -------
        array of shape (n, K)
            In the order of ``classes_``.
        """
        return probabilities(self.decision_function(X))

    # One row ---------------------------------------------------------------------------------------------

    def predict_one(self, row: Sequence[float]) -> Any:
        """The class of one row, as `predict` finds it.

        Parameters
        ----------
        row : sequence of n_features numbers
            A list, a tuple or an array; None and NaN are missing numbers.

        Returns
        -------
        object
            One of ``classes_``.
        """
        return self.predict(self._one_row(row)).tolist()[0]

    def predict_proba_one(self, row: Sequence[float]) -> NDArray[np.float64]:
        """The probability of each class for one row, as `predict_proba` finds them.

        Parameters
        ----------
        row : sequence of n_features numbers
            As for `predict_one`.

        Returns
        -------
        array of shape (K,)
            In the order of ``classes_``.
        """
        shares: NDArray[np.float64] = self.predict_proba(self._one_row(row))[0]
        return shares

    def learn_one(self, row: Sequence[float], label: Any, sample_weight: float = 1.0) -> Self:
        """Learn one row, as `partial_fit` would.

        Parameters
        ----------
        row : sequence of n_features numbers
            Its features; None and NaN are missing numbers.
        label : object
            Its class, one of ``classes_``.
        sample_weight : float, default 1.0
            Not negative.

        Returns
        -------
        OnlineClassifier
            This object.
        """
        self._learn_one(row, label, as_one_weight(sample_weight))
        return self

    def _learn_one(self, row: Sequence[float], label: Any, weight: float) -> None:
        weights = None if weight == 1.0 else np.array([weight])
        self.partial_fit(self._one_row(row), np.asarray([label]), sample_weight=weights)

    def _one_row(self, row: Sequence[float]) -> NDArray[Any]:
        check_is_fitted(self)
        return as_one_row(row, self.n_features_in_, missing=True)


def require_two(classes: NDArray[Any], n_examples: int | None = None) -> None:
    """Refuse fewer than two classes, which were named, or found in so many examples."""
    if len(classes) < 2:
        what, where = "classes must be at least two", ""
        if n_examples is not None:
            what, where = "y must hold at least two classes", f", in all {n_examples} examples"
        found = f"one class, {classes.tolist()[0]!r:.80}" if len(classes) else "none"
        raise InputError(
            f"{what}; got {found}{where}. Give examples of another, or name all that will ever come: "
            "partial_fit(X, y, classes=[…])."
        )


def as_one_row(row: Any, n_features: int, *, missing: bool) -> NDArray[Any]:
    """Check one row of features; gives a matrix (1, n_features), float32 if the row is that, else float64.

    >>> as_one_row([1, 2.5, None], 3, missing=True)
    array([[1. , 2.5, nan]])
    """
    try:
        x = row if type(row) is np.ndarray else np.asarray(row)
        if x.dtype is not _FLOAT64 and x.dtype not in (np.float64, np.float32):
            if x.dtype.kind not in "biuf" and not _is_numbers(x):
                raise ValueError("not numbers")
            x = x.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"row must be a sequence of {n_features} numbers; got {row!r:.80}. Encode text first."
        ) from None
    if x.shape != (n_features,):
        raise InputError(
            f"row must be a sequence of {n_features} numbers, one for each feature; got shape {x.shape}. "
            "Many rows at once are for predict and partial_fit."
        )
    if not x.flags.c_contiguous:
        x = np.ascontiguousarray(x)
    unusable = first_unusable(x, missing)
    if unusable >= 0:
        allowed = "numbers that are finite, or missing" if missing else "finite numbers"
        raise InputError(
            f"row must hold {allowed}; got {x[unusable]} for feature {unusable}. Leave such rows out, or "
            "fill the number in."
        )
    return x.reshape(1, n_features)


def labels_of(now: dict[str, Any]) -> tuple[list[Any], dict[Any, int]]:
    """The classes of a classifier with these attributes as Python's own values, and the code of each.

    They are made once for an array of classes.
    """
    classes, cached = now["classes_"], now.get("_labels")
    if cached is None or cached[0] is not classes:
        labels = classes.tolist()
        cached = now["_labels"] = classes, labels, {label: code for code, label in enumerate(labels)}
    return cached[1], cached[2]


def code_of(now: dict[str, Any], label: Any) -> int:
    """The code of a label of a classifier with these attributes; any other is an error."""
    try:
        return labels_of(now)[1][label]
    except (KeyError, TypeError):
        raise InputError(
            f"label must be one of the classes {now['classes_'].tolist()!s:.80}; got {label!r:.80}. Leave "
            "such examples out, or fit again with that class."
        ) from None


def as_one_weight(sample_weight: Any) -> float:
    """Check the weight of one row."""
    weight = np.nan
    if type(sample_weight) is float:
        weight = sample_weight
    elif isinstance(sample_weight, Real) and not isinstance(sample_weight, bool):
        with suppress(OverflowError):
            weight = float(sample_weight)
    if not 0.0 <= weight < np.inf:
        raise InputError(
            f"sample_weight must be a finite number that is not negative; got {sample_weight!r:.80}. "
            "Give 1.0 to an example that counts once."
        )
    return weight


def _is_numbers(x: NDArray[Any]) -> bool:
    """Whether objects are numbers, or None for a missing one."""
    return x.dtype == object and all(
        value is None or (isinstance(value, Real | np.number) and not isinstance(value, str))
        for value in x.ravel().tolist()
    )
