"""The model that was deployed before: a member that never learns, and the whole prediction at first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.labels import sorted_classes
from ocboost._core.threads import without_warning
from ocboost._kernels.arrays import Floats
from ocboost.errors import InputError, NotSavableError, OcboostError
from ocboost.estimators.committee import probabilities

FEW_ROWS = 32  # for which a portable form answers, if it agrees
CLOSE = 1e-9  # in probability: close enough for one member of many
ROWS_TO_PROBE = 16  # rows whose answers tell one model from another


class DeployedModel:
    """Any fitted classifier, and how it reads the rows of the classifier that has adopted it.

    Parameters
    ----------
    model : object
        With ``predict_proba`` or ``decision_function``; or a portable model (`ocboost.foreign`), which a file
        held.
    places : array of shape (n_columns,), optional
        Where its columns are among the encoded features, if the rows come from tables: -1 for a column that a
        portable form does not read. None if rows are as the model was fitted on.
    labels : array, optional
        Labels whose classes it has, if it has no ``classes_``.
    """

    def __init__(
        self, model: Any, places: NDArray[np.int64] | None = None, labels: NDArray[Any] | None = None
    ) -> None:
        self.model, self.places = model, places
        self.is_portable = hasattr(model, "predict_codes")
        given = _classes_of(model, labels)
        self.classes: NDArray[Any] = np.unique(given)
        self._order = None if np.array_equal(given, self.classes) else np.argsort(given)
        self.names: list[Any] | None = _names_of(model)
        self.probe: Any = None  # some rows as they came, to recognise it by its answers
        self.off = np.inf  # by how much its portable form gives other probabilities, at most
        self._read_by: Any = None  # its portable form, once it was needed

    @property
    def n_columns(self) -> int | None:
        """How many columns it reads; None if it does not say."""
        if hasattr(self.model, "_n_encoded"):  # one of ocboost's, which takes features as well
            return int(self.model._n_encoded)
        n = getattr(self.model, "n_columns" if self.is_portable else "n_features_in_", None)
        return None if n is None else int(n)

    @property
    def link(self) -> str:
        """Where its probabilities come from, in words."""
        if self.is_portable or hasattr(self.model, "predict_proba"):
            return "its own"
        return "the logistic link of its decision_function"

    def require_fit(self, X: Any) -> None:
        """Refuse rows of other features than those that the model was fitted on."""
        n = self.n_columns
        shape = getattr(X, "shape", None) or np.shape(X)
        columns = getattr(X, "columns", None)
        if columns is not None and self.names is not None:
            missing = [name for name in self.names if name not in set(columns)]
            if missing:
                raise InputError(
                    f"X must have the columns of the model, {self.names!s:.80}; it lacks {missing!s:.80}."
                )
        elif n is not None and len(shape) == 2 and shape[1] != n:
            raise InputError(f"X must have the {n} features of the model; got {shape[1]}.")

    # Answers ---------------------------------------------------------------------------------------------

    def probabilities(self, X: Any, table: Any = None, *, exact: bool = True) -> Floats:
        """Its probabilities, (n, K), of encoded rows; of the table that they come from, if it is given.

        Unless they must be ``exact``, those of its portable form will do, where that is close and faster.
        """
        reader, rows = self._reader_of(X, table, exact=exact)
        if reader is not self.model or self.is_portable:
            return self._checked(reader.probabilities(rows), X.shape[0])
        if hasattr(reader, "predict_proba"):
            given = self._called(reader.predict_proba, rows)
        else:
            given = linked(np.asarray(self._called(reader.decision_function, rows), np.float64))
        return self._checked(given, X.shape[0])

    def predict(self, X: Any, table: Any = None) -> NDArray[Any]:
        """Its predictions."""
        reader, rows = self._reader_of(X, table)
        if reader is not self.model or self.is_portable:
            found: NDArray[Any] = self.classes[self._sorted_codes(reader.predict_codes(rows))]
            return found
        if not hasattr(reader, "predict"):
            found = self.classes[self.probabilities(X, table).argmax(axis=1)]
            return found
        return np.asarray(self._called(reader.predict, rows))

    def _sorted_codes(self, codes: NDArray[Any]) -> NDArray[Any]:
        return codes if self._order is None else np.argsort(self._order)[codes]

    def _called(self, method: Any, rows: Any) -> Any:
        with without_warning("X does not have valid feature names"), without_warning("X has feature names"):
            return method(rows)

    def _reader_of(self, X: Any, table: Any, *, exact: bool = True) -> tuple[Any, Any]:
        """What answers, and the rows as it reads them."""
        if self.is_portable:
            return self.model, self._gathered(X)
        if X.shape[0] <= FEW_ROWS and self.off <= (0.0 if exact else CLOSE):
            return self._read_by, self._gathered(X)
        if table is not None:
            return self.model, self.as_fitted(table)
        if self.places is None:
            return self.model, self.as_fitted(X)
        try:
            return self.portable(), self._gathered(X)
        except NotSavableError as error:
            raise InputError(
                f"X must be a table for the deployed model, {self.title}, as it was adopted with one; got "
                f"features. Its own form in ocboost would read them, but {error}"
            ) from None

    def try_portable(self, X: Any, table: Any) -> None:
        """See whether its portable form gives the same; then that answers where the rows are few.

        Libraries take a millisecond to begin with, whatever the number of rows.
        """
        try:
            own = self.portable().probabilities(self._gathered(X))
        except (OcboostError, ValueError):
            return
        off = np.abs(self._checked(own, X.shape[0]) - self.probabilities(X, table))
        self.off = float(off.max(initial=0.0))

    def _gathered(self, X: Any) -> Any:
        """The raw columns of encoded rows; those that are not read are missing."""
        if not isinstance(X, np.ndarray):
            X = X.toarray()
        if self.places is None:
            return X
        return np.where(self.places >= 0, X[:, self.places], np.nan)

    def portable(self) -> Any:
        """Its portable form; a `NotSavableError` says why there is none."""
        if self.is_portable:
            return self.model
        if self._read_by is None:
            from ocboost.foreign.convert import portable

            self._read_by = portable(self.model)
        return self._read_by

    def as_fitted(self, rows: Any) -> Any:
        """Rows with the names that the model knows them by: a pipeline may ask for columns by name."""
        if isinstance(rows, Mapping):
            rows = _frame_of({name: [value] for name, value in rows.items()})
        if self.names is None:
            return rows
        if isinstance(rows, np.ndarray):
            frame = _frame_of(rows, self.names)
            return rows if frame is None else frame
        if not hasattr(rows, "columns") and not hasattr(rows, "__arrow_c_stream__"):
            return rows  # sparse
        if not hasattr(rows, "iloc"):
            rows = rows.to_pandas()
        return rows if list(rows.columns) == self.names else rows[self.names]

    def _checked(self, given: Any, n: int) -> Floats:
        found: Floats = np.asarray(given, np.float64)
        if found.shape != (n, len(self.classes)):
            raise InputError(
                f"the deployed model must give probabilities of shape {(n, len(self.classes))}; got shape "
                f"{found.shape}."
            )
        if self._order is not None:
            found = found[:, self._order]
        finite = np.isfinite(found).all(axis=1)
        if not finite.all():
            row = int(np.argmin(finite))
            raise InputError(
                f"the deployed model must give finite probabilities; {self.title} gives "
                f"{found[row].tolist()!s:.80} for row {row}. Does it take missing values? Fill them in, or "
                "put an imputer before it."
            )
        return found

    @property
    def title(self) -> str:
        """The class of the model, for messages."""
        return type(self.model).__name__


def linked(scores: Floats) -> Floats:
    """Probabilities of a model that only has scores: the logistic link, or softmax for more than two.

    >>> linked(np.array([0.0, 100.0])).round(2)
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    return probabilities(scores / 2.0)


def _frame_of(values: Any, names: list[Any] | None = None) -> Any:
    """A DataFrame, or None without pandas."""
    try:
        from pandas import DataFrame
    except ModuleNotFoundError:
        return None
    return DataFrame(values, columns=names)


def _names_of(model: Any) -> list[Any] | None:
    names = getattr(model, "column_names" if hasattr(model, "predict_codes") else "feature_names_in_", None)
    return None if names is None else list(names)


def _classes_of(model: Any, labels: NDArray[Any] | None) -> NDArray[Any]:
    """The classes of a model that can be adopted, in its order; anything else is an error."""
    title = type(model).__name__
    if isinstance(model, type):
        raise InputError(f"model must be a fitted classifier; got the class {model.__name__}. Fit one first.")
    answers = any(hasattr(model, name) for name in ("predict_codes", "predict_proba", "decision_function"))
    if hasattr(model, "n_waiting_") and answers:
        raise InputError(
            f"model must be a classifier of another kind; got {title}, which learns by itself: call its "
            "partial_fit."
        )
    classes = getattr(model, "classes" if hasattr(model, "predict_codes") else "classes_", None)
    if classes is None and _is_unfitted(model):
        raise InputError(
            f"model must be a fitted classifier; got {title}, which is not fitted. Call its fit first."
        )
    if not answers:
        raise InputError(
            f"model must be a fitted classifier with predict_proba or decision_function; got {title}. Wrap "
            "it in a class that has one of them."
        )
    if classes is None and labels is None:
        raise InputError(
            f"X and y must be given, as {title} has no classes_; got neither. Give labelled rows of all "
            "classes."
        )
    if classes is None:
        return sorted_classes(np.asarray(labels))
    if (isinstance(classes, list) and any(np.ndim(each) for each in classes)) or np.ndim(classes) != 1:
        raise InputError(f"model must predict one label for each row; got {title}, which predicts several.")
    found = np.asarray(classes)
    if len(found) < 2 or len(np.unique(found)) != len(found):
        raise InputError(
            f"the model's classes_ must be two or more, all different; got {found.tolist()!s:.80}. Fit it on "
            "labels of two classes or more."
        )
    return found


def _is_unfitted(model: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        return True
    except TypeError:  # it is no estimator
        return False
    return False
