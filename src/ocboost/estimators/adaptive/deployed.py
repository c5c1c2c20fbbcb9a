"""The model that was deployed before: a member that never learns, and the whole prediction at first."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.labels import sorted_classes
from ocboost._core.threads import without_warning
from ocboost._kernels.arrays import Floats
from ocboost.errors import InputError, NotSavableError, OcboostError
from ocboost.estimators.adaptive.model_tables import ModelTables, first_rows
from ocboost.foreign.linear import linked
from ocboost.streams.tables import is_table, names_in

FEW_ROWS = 32  # for which a portable form answers, if it agrees
CLOSE = 1e-9  # in probability: close enough for one member of many
MAX_CELLS = 1 << 22  # of sparse rows that are made dense at once
SAME_ANSWERS = 1e-6  # the most by which probabilities may differ: some libraries compute in single precision


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
        self.title = type(model).__name__  # for messages
        self.is_portable = hasattr(model, "predict_codes")
        given = _classes_of(model, labels)
        self.classes: NDArray[Any] = np.unique(given)
        self._order = None if np.array_equal(given, self.classes) else np.argsort(given)
        self.names: list[Any] | None = _names_of(model)
        self.probe: Any = None  # some rows as they came, to recognise it by its answers
        self.answers: Floats | None = None  # to these, if they are known
        self.tables = ModelTables()
        self.off = np.inf  # by how much its portable form gives other probabilities, at most
        self._read_by: Any = None  # its portable form, once it was needed
        self._not_portable = ""  # why it has none, if that is known

    @property
    def n_columns(self) -> int | None:
        """How many columns it reads; None if it does not say."""
        if hasattr(self.model, "_n_encoded"):  # one of ocboost's, which takes features as well
            return int(self.model._n_encoded)
        n = getattr(self.model, "n_columns" if self.is_portable else "n_features_in_", None)
        return None if n is None else int(n)

    def require_fit(self, X: Any) -> None:
        """Refuse rows of other features than those that the model was fitted on."""
        n = self.n_columns
        shape = getattr(X, "shape", None) or np.shape(X)
        if is_table(X) and self.names is not None:
            there = set(names_in(X))
            missing = [name for name in self.names if name not in there]
            if missing:
                raise InputError(
                    f"X must have the columns of the model, {self.names!s:.80}; it lacks {missing!s:.80}."
                )
        elif n is not None and len(shape) == 2 and shape[1] != n:
            raise InputError(f"X must have the {n} features of the model; got {shape[1]}.")

    def take_table(self, X: Any) -> None:
        """Remember how the tables look that it was adopted with; its columns are theirs if it names none."""
        if self.names is None:
            self.names = names_in(X)
        self.tables = ModelTables.like(X)

    # Answers ---------------------------------------------------------------------------------------------

    def probabilities(self, X: Any, given: Any = None, *, exact: bool = True) -> Floats:
        """Its probabilities, (n, K), of encoded rows; ``given`` is what they were made from, if it is known.

        The model is asked about that, as it would be without us: single precision may make a difference.
        Unless they must be ``exact``, those of its portable form will do, where that is close and faster.
        """
        reader, rows = self._reader_of(X, given, exact=exact)
        if reader is not self.model or self.is_portable:
            return self._checked(in_blocks(reader.probabilities, rows, self.places), X.shape[0])
        return self._asked(rows, X.shape[0])

    def answers_to(self, rows: Any) -> Floats:
        """What the model says of rows that it is recognised by, (n, K): a table, or features."""
        if hasattr(rows, "iloc"):
            return self._asked(self.as_fitted(rows), rows.shape[0])
        return self.probabilities(rows)

    def _asked(self, rows: Any, n: int) -> Floats:
        if hasattr(self.model, "predict_proba"):
            return self._checked(self._called(self.model.predict_proba, rows), n)
        scores = self._numbers(self._called(self.model.decision_function, rows))
        shapes = [(n,), (n, 1)] if len(self.classes) == 2 else [(n, len(self.classes))]
        if scores.shape not in shapes:
            raise InputError(
                f"decision_function of the deployed model must give scores of shape {shapes[0]}; "
                f"{self.title} gives shape {scores.shape}."
            )
        two = len(self.classes) == 2
        return self._checked(linked(scores.reshape(n, -1), "logistic" if two else "softmax"), n)

    def predict(self, X: Any, given: Any = None) -> NDArray[Any]:
        """Its predictions."""
        reader, rows = self._reader_of(X, given)
        if reader is not self.model or self.is_portable:
            found: NDArray[Any] = self.classes[
                self._sorted_codes(in_blocks(reader.predict_codes, rows, self.places))
            ]
            return found
        if not hasattr(reader, "predict"):
            found = self.classes[self.probabilities(X, given).argmax(axis=1)]
            return found
        found = np.asarray(self._called(reader.predict, rows))
        if found.shape == (X.shape[0], 1):
            found = found[:, 0]
        if found.shape != (X.shape[0],) or not np.isin(found, self.classes).all():
            raise InputError(
                f"predict of the deployed model must give one of the classes {self.classes.tolist()!s:.80} "
                f"for each of {X.shape[0]} rows; {self.title} gives {found!s:.80}."
            )
        return found

    def _sorted_codes(self, codes: NDArray[Any]) -> NDArray[Any]:
        return codes if self._order is None else np.argsort(self._order)[codes]

    def _called(self, method: Any, rows: Any) -> Any:
        with without_warning("X does not have valid feature names"), without_warning("X has feature names"):
            return method(rows)

    def _reader_of(self, X: Any, given: Any, *, exact: bool = True) -> tuple[Any, Any]:
        """What answers, and the rows as it reads them."""
        if self.is_portable:
            return self.model, X
        if X.shape[0] <= FEW_ROWS and self.off <= (0.0 if exact else CLOSE):
            return self._read_by, X
        if getattr(self.model, "schema_", None) is not None:
            return self.model, X  # one of ocboost's, whose features are the same
        if given is not None:
            return self.model, self.as_fitted(given)
        if self.places is None:
            return self.model, self.as_fitted(X)
        try:
            return self.portable(), X
        except NotSavableError as error:
            raise InputError(
                f"X must be a table for the deployed model, {self.title}, as it was adopted with one; got "
                f"features. Its own form in ocboost would read them, but {error}"
            ) from None

    # Its portable form -----------------------------------------------------------------------------------

    def try_portable(self, X: Any, given: Any) -> None:
        """See whether its portable form gives the same; then that answers where the rows are few.

        Libraries take a millisecond to begin with, whatever the number of rows. They add in another order if
        there is one row only, so that is tried too. A form that answers otherwise is none.
        """
        said = self.probabilities(X, given)
        try:
            form = self.portable()
            own = self._checked(in_blocks(form.probabilities, X, self.places), X.shape[0])
        except (OcboostError, ValueError):
            return
        off = float(np.abs(own - said).max(initial=0.0))
        if off > SAME_ANSWERS:
            self.refuse_portable(f"answers otherwise, by up to {off:.2g}")
            return
        if X.shape[0] * X.shape[1] > MAX_CELLS:
            return
        for n in {1, min(FEW_ROWS, X.shape[0])} if off == 0.0 else ():
            some = self.probabilities(X[:n], None if given is None else first_rows(given, n))
            own = self._checked(in_blocks(form.probabilities, X[:n], self.places), n)
            off = max(off, float(np.abs(own - some).max()))
        self.off = off

    def refuse_portable(self, why: str) -> None:
        """Do without its portable form from now on."""
        self._read_by = None
        self._not_portable = (
            f"a fitted model must be made of arrays that give its answers to be saved; got {self.title}, "
            f"whose form in ocboost {why}."
        )

    def portable(self) -> Any:
        """Its portable form; a `NotSavableError` says why there is none."""
        if self.is_portable:
            return self.model
        if self._not_portable:
            raise NotSavableError(self._not_portable)
        if self._read_by is None:
            from ocboost.foreign.base import not_portable
            from ocboost.foreign.convert import portable

            if not hasattr(self.model, "fit") or not hasattr(self.model, "classes_"):
                raise not_portable(f"a {self.title}, which is of no class that ocboost knows")
            try:
                self._read_by = portable(self.model)
            except NotSavableError:
                raise
            except Exception as error:  # a version of a library that is not known
                raise not_portable(f"a {self.title}, which cannot be read: {error!s:.200}") from None
        return self._read_by

    def as_fitted(self, rows: Any) -> Any:
        """Rows with the names that the model knows them by: a pipeline may ask for columns by name."""
        if isinstance(rows, Mapping):
            return self.tables.of_row(rows, self.names or list(rows))
        if self.names is None:
            return rows
        if isinstance(rows, np.ndarray):
            return self.tables.of_array(rows, self.names)
        return self.tables.of_table(rows, self.names) if is_table(rows) else rows

    def _numbers(self, given: Any) -> Floats:
        try:
            if np.asarray(given).dtype.kind not in "SUc":
                found: Floats = np.asarray(given, np.float64)
                return found
        except (TypeError, ValueError):
            pass
        raise InputError(f"the deployed model must answer with numbers; {self.title} gives {given!r:.80}.")

    def _checked(self, given: Any, n: int) -> Floats:
        found = self._numbers(given)
        if found.shape != (n, len(self.classes)):
            raise InputError(
                f"the deployed model must give probabilities of shape {(n, len(self.classes))}; {self.title} "
                f"gives shape {found.shape}."
            )
        if self._order is not None:
            found = found[:, self._order]
        with np.errstate(invalid="ignore"):
            fits = ((found >= -SAME_ANSWERS) & (found <= 1.0 + SAME_ANSWERS)).all(axis=1)
        if fits.all():
            return found
        row = int(np.argmin(fits))
        shown = f"{self.title} gives {found[row].tolist()!s:.80} for row {row}."
        if np.isfinite(found[row]).all():
            raise InputError(f"the deployed model must give probabilities from 0 to 1; {shown}")
        raise InputError(
            f"the deployed model must give finite probabilities; {shown} Does it take missing values? Fill "
            "them in, or put an imputer before it."
        )


def in_blocks(answer: Callable[[Floats], Any], X: Any, places: NDArray[np.int64] | None) -> Any:
    """What a portable model says of encoded rows; sparse ones become dense a few at a time."""
    if isinstance(X, np.ndarray):
        return answer(_gathered(X, places))
    each = max(1, MAX_CELLS // max(X.shape[1], 1))
    parts = [answer(_gathered(X[i : i + each].toarray(), places)) for i in range(0, X.shape[0], each)]
    return np.concatenate(parts) if parts else answer(_gathered(X.toarray(), places))


def _gathered(X: Floats, places: NDArray[np.int64] | None) -> Floats:
    """The raw columns of encoded rows; those that are not read are missing."""
    return X if places is None else np.where(places >= 0, X[:, places], np.nan)


def own_copy(model: Any) -> Any:
    """A copy, so that what becomes of the model makes no difference; itself if it cannot be copied."""
    try:
        return copy.deepcopy(model)
    except Exception:  # it holds a lock, a connection, …
        return model


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
    if not answers and _other_kind(model):
        raise InputError(f"model must be a classifier; got {title}, a {_other_kind(model)}.")
    if not answers and hasattr(model, "cv_results_"):
        raise InputError(
            f"model must be a fitted classifier; got {title}, which keeps none. Fit it with refit=True, "
            "around a classifier."
        )
    if not answers:
        raise InputError(
            f"model must be a fitted classifier with predict_proba or decision_function; got {title}. Wrap "
            "it in a class that has one of them."
        )
    if classes is None and _other_kind(model):
        raise InputError(f"model must be a classifier; got {title}, a {_other_kind(model)}.")
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


def _other_kind(model: Any) -> str:
    """What an estimator of scikit-learn is if it is no classifier: a regressor, an outlier detector."""
    from sklearn.utils import get_tags

    try:
        kind = get_tags(model).estimator_type
    except Exception:  # it is no estimator
        return ""
    return "" if kind in (None, "classifier") else str(kind).replace("_", " ")
