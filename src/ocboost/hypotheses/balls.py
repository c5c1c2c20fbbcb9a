"""Balls: is a row close to an example, or far from it? The weak hypotheses of the paper for MNIST."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._kernels.answers import first_unusable
from ocboost._kernels.balls import TILE_ROWS, lay_dense, lay_sparse, outside, tile_distances
from ocboost.errors import InputError
from ocboost.hypotheses.base import ArrayHypotheses, as_signs


class Balls(ArrayHypotheses):
    """J balls: ball j answers ``sign_j`` outside radius ``theta_j`` around ``centre_j``, ``-sign_j`` inside.

    That is ``sign_j · sign(‖centre_j - x‖₂ - theta_j)``, the paper's hypothesis with either sign;
    a row exactly at the radius is outside. Computed as ``Σ_f (x_f - c_f)² >= theta²``, in double precision
    and in the order of the features, so that the answer to a row does not depend on the rows around
    it. Features must be finite. Rows of a CSR matrix are made dense a few at a time.

    Parameters
    ----------
    centre : array of shape (J, F)
        float32 or float64, and saved as such.
    theta : array of shape (J,)
        Radii, finite and not negative; 0 makes a ball that answers ``sign_j`` always.
    sign : array of shape (J,) of ±1, optional
        The answer outside; all +1, as in the paper, if left out.

    Examples
    --------
    >>> balls = Balls(centre=[[0.0, 0.0], [3.0, 4.0]], theta=[2.0, 5.0], sign=[1, -1])
    >>> balls.answers(np.array([[1.0, 1.0], [0.0, 0.0]]))
    array([[-1,  1],
           [-1, -1]], dtype=int8)
    """

    kind = "Balls"
    accepts_sparse = True
    _arrays: ClassVar = {"centre": (), "theta": (), "sign": ()}

    def __init__(self, centre: ArrayLike, theta: ArrayLike, sign: ArrayLike | None = None) -> None:
        given = np.array(centre)
        if given.dtype.kind not in "iuf" or given.ndim != 2 or 0 in given.shape:
            raise InputError(f"centre must be a matrix of numbers, one row a ball; got {centre!r:.80}.")
        self.centre = given if given.dtype == np.float32 else given.astype(np.float64)
        self.theta = np.array(theta, dtype=np.float64)
        J = self.centre.shape[0]
        if not np.isfinite(self.centre).all():
            raise InputError("centre must be finite; got a NaN or an infinity. Leave out such examples.")
        if self.theta.shape != (J,) or not (np.isfinite(self.theta) & (self.theta >= 0.0)).all():
            raise InputError(f"theta must be {J} radii, finite and not negative; got {theta!r:.80}.")
        self.sign = as_signs(sign, "sign", J)
        self.n_hypotheses, self.n_features = self.centre.shape
        self._double = np.ascontiguousarray(self.centre, dtype=np.float64)

    def __repr__(self) -> str:
        return f"<{len(self)} balls in {self.n_features} dimensions>"

    def check(self, X: Any) -> Any:
        """Check rows of features, which must be finite.

        Parameters
        ----------
        X : array of shape (n, n_features), or SciPy CSR
            The rows.

        Returns
        -------
        array or CSR matrix
            Contiguous, in a type that the kernels take.
        """
        return finite(super().check(X), "Balls")

    def _fill(self, X: Any, block: NDArray[np.int8]) -> None:
        tile = np.empty((self.n_features, TILE_ROWS))
        squared = np.empty((len(self), TILE_ROWS))
        for first in range(0, X.shape[0], TILE_ROWS):
            if isinstance(X, np.ndarray):
                lay_dense(X[first : first + TILE_ROWS], tile)
            else:
                lay_sparse(X.data, X.indices, X.indptr, first, tile)
            tile_distances(tile, self._double, squared)
            outside(squared, self.theta, self.sign, first, block)


def finite(X: Any, what: str) -> Any:
    """Refuse rows with a NaN or an infinity, and say where it is."""
    dense = isinstance(X, np.ndarray)
    place = int(first_unusable(X.reshape(-1) if dense else X.data, False))
    if place < 0:
        return X
    if dense:
        row, column = divmod(place, X.shape[1])
        value = X[row, column]
    else:
        row, column = int(np.searchsorted(X.indptr, place, side="right")) - 1, int(X.indices[place])
        value = X.data[place]
    raise InputError(
        f"X must be finite for {what}; got {value} at row {row}, column {column}. "
        "Fill in missing values first, for example with sklearn.impute.SimpleImputer."
    )
