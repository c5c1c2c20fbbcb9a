"""Contenders from other libraries, over the features themselves: scikit-learn's and river's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError, MissingExtraError
from ocboost.evaluation.contenders import Contender, uniform
from ocboost.streams.rows import Rows


class Imputed(Contender):
    """A contender that needs every number: missing ones become these means."""

    def __init__(self, contender: Contender, means: NDArray[np.float64]) -> None:
        super().__init__(contender.name)
        self.role = contender.role
        self.contender = contender
        self._means = means

    def begin(self, classes: Sequence[Any]) -> None:
        """Pass on the classes."""
        self.contender.begin(classes)

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """Its predictions for the imputed rows."""
        return self.contender.predict(self._imputed(view))

    def learn(self, view: Rows) -> None:
        """Let it learn the imputed rows."""
        self.contender.learn(self._imputed(view))

    def _imputed(self, view: Rows) -> Rows:
        X = view.X
        missing = np.isnan(X)
        return Rows.of(np.where(missing, self._means, X), view.codes) if missing.any() else view

    @property
    def nbytes(self) -> int | None:
        """Its bytes."""
        return self.contender.nbytes


class SklearnContender(Contender):
    """A scikit-learn classifier with ``partial_fit`` and ``predict_proba``, over the features.

    Parameters
    ----------
    estimator : classifier
        Fitted or not; it learns in place.
    name : str, optional
        The name of its class if left out.
    """

    deployable = False

    def __init__(self, estimator: Any, name: str | None = None) -> None:
        super().__init__(type(estimator).__name__ if name is None else name)
        for method in ("partial_fit", "predict_proba"):
            if not hasattr(estimator, method):
                raise InputError(
                    f"estimator must have partial_fit and predict_proba; {type(estimator).__name__} has no "
                    f"{method}. Choose one that learns step by step and gives probabilities."
                )
        self.estimator = estimator
        self._labels: NDArray[Any] = np.arange(2)

    def begin(self, classes: Sequence[Any]) -> None:
        """Note the labels.

        Parameters
        ----------
        classes : sequence
            The labels, in the order of their codes.
        """
        self._labels = np.array(classes)

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """Its probabilities, in the order of the evaluation's classes; even ones before the first label.

        Parameters
        ----------
        view : Batch
            The rows.

        Returns
        -------
        array of shape (n, K)
            In the order of the classes.
        """
        n, K = len(view), len(self._labels)
        known = getattr(self.estimator, "classes_", None)
        if known is None:
            return uniform(n, K)
        given = self.estimator.predict_proba(view.X)
        if list(known) == list(self._labels):
            return np.asarray(given, np.float64)
        place = {label: column for column, label in enumerate(list(known))}
        share = np.zeros((n, K))
        for code, label in enumerate(self._labels):
            if label in place:
                share[:, code] = given[:, place[label]]
        total = share.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, share / np.where(total > 0.0, total, 1.0), 1.0 / K)

    def learn(self, view: Rows) -> None:
        """One call of ``partial_fit``.

        Parameters
        ----------
        view : Batch
            The rows, with codes.
        """
        labels = self._labels[view.codes]
        if hasattr(self.estimator, "classes_"):
            self.estimator.partial_fit(view.X, labels)
        else:
            self.estimator.partial_fit(view.X, labels, classes=np.sort(self._labels))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that the estimator has as attributes, also in lists and tuples."""
        total = 0
        for value in vars(self.estimator).values():
            parts = value if isinstance(value, list | tuple) else (value,)
            total += sum(part.nbytes for part in parts if isinstance(part, np.ndarray))
        return total


class RiverContender(Contender):
    """A river classifier, over the features.

    Features are named 0, 1, 2 and so on; missing ones (NaN) are left out, as river expects.

    Parameters
    ----------
    model : river.base.Classifier
        It learns in place.
    name : str, optional
        The name of its class if left out.
    """

    deployable = False

    def __init__(self, model: Any, name: str | None = None) -> None:
        super().__init__(type(model).__name__ if name is None else name)
        try:
            from river.base import Classifier
        except ModuleNotFoundError as error:
            raise MissingExtraError("river", "river", "Evaluating a river model") from error
        wrapped = getattr(model, "_last_step", model)  # a pipeline is what its last step is
        if not isinstance(wrapped, Classifier):
            raise InputError(
                f"model must be a river classifier; got {type(model).__name__}. "
                "It must implement learn_one and predict_proba_one."
            )
        self.model = model
        self._K = 2

    def begin(self, classes: Sequence[Any]) -> None:
        """Note how many classes there are.

        Parameters
        ----------
        classes : sequence
            The labels, in the order of their codes.
        """
        self._K = len(classes)

    def predict(self, view: Rows) -> NDArray[np.float64]:
        """Its probabilities, made to sum to one; even ones where it has none.

        Parameters
        ----------
        view : Batch
            The rows.

        Returns
        -------
        array of shape (n, K)
            In the order of the classes.
        """
        share = np.zeros((len(view), self._K))
        for row, x in zip(share, _dictionaries(view.X), strict=True):
            given = self.model.predict_proba_one(x)
            for code, probability in given.items():
                if probability is not None and probability > 0.0:
                    row[int(code)] = probability
            total = row.sum()
            row[:] = row / total if 0.0 < total < np.inf else 1.0 / self._K
        return share

    def learn(self, view: Rows) -> None:
        """Learn row by row.

        Parameters
        ----------
        view : Batch
            The rows, with codes.
        """
        for x, code in zip(_dictionaries(view.X), view.codes.tolist(), strict=True):
            self.model.learn_one(x, code)

    @property
    def nbytes(self) -> int | None:
        """What river counts, where it can."""
        try:
            return int(self.model._raw_memory_usage)
        except Exception:  # it walks through everything the model holds
            return None


def _dictionaries(X: Any) -> list[dict[int, float]]:
    rows = X.toarray() if hasattr(X, "toarray") else X
    if np.isnan(rows).any():
        return [{j: x for j, x in enumerate(row) if x == x} for row in rows.tolist()]
    return [dict(enumerate(row)) for row in rows.tolist()]
