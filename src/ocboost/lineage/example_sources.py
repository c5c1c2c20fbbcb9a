"""Where FilterBoost's examples come from: rows as they arrive, or rows drawn from a training set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError


def drawn(n: int, reach: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """The places of so many rows of a training set, drawn with replacement.

    Parameters
    ----------
    n : int
    reach : array
        The sum of the weights of all rows up to each; a row is drawn in proportion to its weight.
    rng : Generator

    Examples
    --------
    >>> drawn(5, np.cumsum([1.0, 0.0, 2.0]), np.random.default_rng(0))
    array([2, 0, 0, 0, 2])
    """
    places = np.searchsorted(reach, rng.random(n) * reach[-1], side="right")
    result: NDArray[np.intp] = np.minimum(places, len(reach) - 1)
    return result


def labelled(batches: Iterable[Any]) -> Iterator[tuple[Any, NDArray[Any]]]:
    """The rows that have a label, and their labels, of each batch that has any."""
    try:
        several = iter(batches)
    except TypeError:
        raise InputError(
            f"batches must be something to go through, of pairs (X, y); got {batches!r:.80}. For one pair of "
            "arrays use fit(X, y)."
        ) from None
    for number, batch in enumerate(several):
        if hasattr(batch, "X") and hasattr(batch, "y"):
            X, y, known = batch.X, batch.y, getattr(batch, "known", None)
        elif isinstance(batch, tuple | list) and len(batch) == 2:
            X, y, known = batch[0], batch[1], None
        else:
            raise InputError(
                f"batches must be pairs (X, y), or batches of ocboost.streams; got {batch!r:.80} as number "
                f"{number}. For one pair of arrays use fit(X, y)."
            )
        if y is None:
            raise InputError(
                f"batches must have labels to learn from; got none in number {number}. Name the label column."
            )
        labels = np.asarray(y)
        if labels.ndim != 1:
            raise InputError(
                f"batches must have one label for each row; got labels of shape {labels.shape} in number "
                f"{number}. Flatten them: y.ravel()."
            )
        if known is not None and not np.all(known):
            X, labels = X[known], labels[known]
        if len(labels):
            yield X, labels
