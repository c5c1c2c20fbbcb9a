"""Linear scores as offsets."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.codec import Fields, Tree
from ocboost.errors import InputError
from ocboost.foreign.linear import products
from ocboost.offsets.base import Offset, as_finite


class LinearOffset(Offset):
    """A linear score, x·coef + intercept. It can be saved.

    Parameters
    ----------
    coef : array of shape (F,) for two classes, (K, F) for more
        The weight of each feature.
    intercept : float, or array of shape (K,)
        What is added.

    Examples
    --------
    >>> LinearOffset([1.0, -2.0], 0.5)(np.array([[1.0, 1.0], [0.0, 0.0]]))
    array([-0.5,  0.5])
    """

    kind = "LinearOffset"

    def __init__(self, coef: ArrayLike, intercept: ArrayLike = 0.0) -> None:
        self.coef = as_finite(coef, "coef", (1, 2))
        self.intercept = as_finite(intercept, "intercept", (0, 1))
        if self.coef.shape[:-1] != self.intercept.shape or 0 in self.coef.shape:
            raise InputError(
                "coef and intercept must be of shapes (F,) and () for two classes, (K, F) and (K,) for more; "
                f"got {self.coef.shape} and {self.intercept.shape}."
            )

    @classmethod
    def from_sklearn(cls, fitted: Any) -> Self:
        """The decision function of a fitted linear classifier of scikit-learn, unchanged.

        It is seldom on the right scale; see `fit_offset`.

        Parameters
        ----------
        fitted : classifier
            With ``coef_`` and ``intercept_``.

        Returns
        -------
        LinearOffset
            With the same scores.

        Raises
        ------
        InputError
            If it is no fitted linear classifier.
        """
        if not hasattr(fitted, "coef_") or not hasattr(fitted, "classes_"):
            raise InputError(
                f"fitted must be a fitted linear classifier, with coef_ and classes_; got {fitted!r:.80}. "
                "Any other score can be given as a function."
            )
        coef, intercept = np.atleast_2d(fitted.coef_), np.asarray(fitted.intercept_)
        if len(fitted.classes_) == 2:
            offset = cls(coef[0], intercept.reshape(-1)[0])
        else:
            offset = cls(coef, np.broadcast_to(intercept, coef.shape[:1]))
        offset.classes = np.asarray(fitted.classes_)
        return offset

    def __call__(self, X: Any) -> NDArray[np.float64]:
        """The scores of rows X."""
        F = self.coef.shape[-1]
        if X.ndim != 2 or X.shape[1] != F:
            raise InputError(f"X must have the {F} features of the offset's coef; got shape {X.shape}.")
        coef = np.atleast_2d(self.coef)
        out = np.asarray(X @ coef.T) if hasattr(X, "tocsr") else products(X, coef)
        out += self.intercept
        return out[:, 0] if self.coef.ndim == 1 else out

    def tree(self) -> Tree:
        """The contents of a file.

        Returns
        -------
        dict
            Plain values and arrays, by name.
        """
        return {"coef": self.coef, "intercept": self.intercept}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """The inverse of `tree`.

        Parameters
        ----------
        fields : mapping
            What `tree` gave.

        Returns
        -------
        Offset
            With the same scores.
        """
        return fields.make(cls, fields.array("coef"), fields.array("intercept"))
