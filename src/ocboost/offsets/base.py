"""What all offsets have in common: scores F₀, the weights w·exp(-y F₀) they lead to, entries in files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_array
from ocboost._core.codec import Fields, Tree, read
from ocboost._core.kinds import OFFSET, is_known, nested_reader, nested_tree
from ocboost._core.old_format import GIVEN_OFFSET, Arrays, offset_tree_of, parts_of
from ocboost.errors import InputError, ModelFileError, NotSavableError

MAX_OFFSET = 1e100  # so that sums and doubles of scores are finite
MAX_LOG_WEIGHT = 690.0  # |log| of a weight w·exp(-y F₀): from 1e-299 to 1e299, so that their sums are finite
LEFT_OUT = "given"  # stands in files for an offset that they do not hold


class Offset(ABC):
    """A score F₀: a function of rows X that returns (n,) numbers for two classes, (n, K) for more.

    Attributes
    ----------
    classes : array or None
        The classes that the columns stand for, if the scorer knows them; of two, F₀ is positive for the
        second.
    """

    kind: ClassVar[str]  # its name in files
    classes: NDArray[Any] | None = None

    @abstractmethod
    def __call__(self, X: Any) -> Any:
        """The scores of rows X."""

    @abstractmethod
    def tree(self) -> Tree:
        """The contents of a file: plain values and arrays by name.

        Returns
        -------
        dict
            Plain values and arrays, by name.
        """


def not_savable() -> NotSavableError:
    """The error of an offset that no file holds."""
    return NotSavableError(
        "offset must be made of numbers to be saved; this one holds Python code, a function or a model, "
        "which no file does, and nothing was written. Use one of ocboost.offsets, such as "
        "LinearOffset.from_sklearn(fitted) or VotedOffset; or save the classifier without it, "
        "clf.save(path, without_offset=True), and give it again, OCBClassifier.load(path, offset=scorer)."
    )


def as_finite(value: ArrayLike, name: str, dimensions: tuple[int, ...]) -> NDArray[np.float64]:
    """Check that a parameter holds finite numbers with one of these numbers of dimensions."""
    array = as_array(value)
    usable = array.dtype.kind in "iuf" and array.ndim in dimensions
    if not usable or not (np.abs(array) < MAX_OFFSET).all():
        raise InputError(
            f"{name} must be finite numbers, of {' or '.join(map(str, dimensions))} dimensions; got "
            f"{value!r:.80}."
        )
    return array.astype(np.float64)


# Scores and weights -----------------------------------------------------------------------------------------


def checked_scores(offset: Any, X: Any) -> NDArray[np.float64]:
    """The scores of rows X, (n,) or (n, K), if they are finite numbers."""
    try:
        given = offset(X)
    except InputError:
        raise
    except Exception as error:
        error.add_note(f"It was raised by the offset, {getattr(offset, 'function', offset)!r:.80}.")
        raise
    scores = as_array(given)
    if np.ma.is_masked(given) or scores.dtype.kind not in "iuf":
        raise InputError(
            f"offset must give numbers; got {type(given).__name__} of dtype {scores.dtype}. Give an array of "
            "float64."
        )
    if scores.ndim not in (1, 2) or scores.shape[0] != X.shape[0]:
        raise InputError(
            f"offset must give one score, or one for each class, to each of the {X.shape[0]} rows; got shape "
            f"{scores.shape}."
        )
    scores = scores.astype(np.float64)
    bad = ~(np.abs(scores) < MAX_OFFSET)
    if bad.any():
        row = int(np.argmax(bad.reshape(len(bad), -1).any(axis=1)))
        raise InputError(
            f"offset must be finite, below {MAX_OFFSET:g}; got {scores[row].tolist()!s:.80} for row {row}. "
            "Leave such rows out, or bound the score."
        )
    return scores


def scores_of(offset: Any, X: Any, n_boosters: int) -> NDArray[np.float64]:
    """The scores of rows, with a column for each booster.

    Parameters
    ----------
    offset : Offset or None
        None is 0 everywhere.
    X : array of shape (n, n_features)
        The rows.
    n_boosters : int
        1 for two classes, K for more.

    Returns
    -------
    array of shape (n, n_boosters)
        In float64.

    Raises
    ------
    InputError
        If it gives other than one finite score for each row and booster.
    """
    scores = checked_scores(offset, X)
    wanted = (X.shape[0],) if n_boosters == 1 else (X.shape[0], n_boosters)
    if scores.shape != wanted:
        which = "two classes" if n_boosters == 1 else f"{n_boosters} classes"
        raise InputError(
            f"offset must give scores of shape {wanted} for {which}; got shape {scores.shape}. With two it "
            "is one score, positive for the second; with more it is one for each, against the rest."
        )
    return scores.reshape(X.shape[0], n_boosters)


def require_classes(offset: Any, classes: NDArray[Any]) -> None:
    """Refuse an offset whose scorer knows other classes, or has them in another order.

    Parameters
    ----------
    offset : Offset
        The score.
    classes : array of shape (K,)
        Those of the classifier.

    Raises
    ------
    InputError
        If they differ.
    """
    known = getattr(offset, "classes", None)
    if known is not None and known.tolist() != classes.tolist():
        raise InputError(
            f"offset must score the classes {classes.tolist()!s:.80}, in that order; got a scorer of "
            f"{known.tolist()!s:.80}. Give a function that puts its columns in that order."
        )


def require_range(weights: NDArray[np.float64], scores: NDArray[np.float64] | None) -> None:
    """Refuse to learn from examples whose weights w·exp(-y F₀) a double does not hold.

    Parameters
    ----------
    weights : array of shape (n,)
        What examples begin with.
    scores : array of shape (n,) or None
        F₀.

    Raises
    ------
    InputError
        If a weight is not between 1e-299 and 1e299.
    """
    if scores is None:
        return
    with np.errstate(divide="ignore"):
        size = np.abs(scores).max(axis=1) + np.where(weights > 0.0, np.abs(np.log(weights)), -np.inf)
    if (size > MAX_LOG_WEIGHT).any():
        i = int(np.argmax(size))
        raise InputError(
            f"offset must keep sample_weight·exp(-y F₀) between 1e-299 and 1e299 to be learnt on top of; got "
            f"F₀ = {scores[i].tolist()!s:.80} with sample_weight {weights[i]:g} in row {i}. Put it on the "
            "scale of half the log-odds with ocboost.offsets.fit_offset."
        )


def reweighted(
    weights: NDArray[np.float64], labels: NDArray[np.int8], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The weights that examples begin with, w·exp(-y F₀).

    Parameters
    ----------
    weights : array of shape (n,)
        Sample weights w.
    labels : int8 array of shape (n,)
        y, ±1.
    scores : array of shape (n,)
        F₀.

    Returns
    -------
    array of shape (n,)
        In float64.

    Examples
    --------
    >>> reweighted(np.ones(2), np.array([1, -1], np.int8), np.array([0.0, np.log(2)])).tolist()
    [1.0, 2.0]
    """
    result: NDArray[np.float64] = weights * np.exp(-(labels * scores))
    return result


# In files ---------------------------------------------------------------------------------------------------


def offset_tree(offset: Offset | None, *, without: bool = False) -> Tree | str | None:
    """The entry of an offset in a file; ``without`` leaves it out, to be given again when it is loaded."""
    if offset is None:
        return None
    if without:
        return LEFT_OUT
    if not is_known(offset, OFFSET):
        raise not_savable()
    try:
        return nested_tree(offset, OFFSET)
    except NotSavableError as error:  # something within it cannot be saved
        raise not_savable() from error


def offset_from(fields: Fields, key: str, given: Offset | None) -> Offset | None:
    """The offset that a file holds, or the one that is given in its place."""
    if fields.takes(key, LEFT_OUT):
        if given is None:
            raise ModelFileError(
                f"{fields.name} holds a classifier without its offset, which is a Python function or was "
                "left out when it was saved. Give it again: OCBClassifier.load(path, offset=scorer)."
            )
        return given
    found: Offset | None = fields.read_optional(key, nested_reader(OFFSET))
    if given is not None:
        what = "has none" if found is None else "is in the file"
        raise InputError(f"offset must be left out for {fields.name}, whose own {what}; got {given!r:.80}.")
    return found


def offset_parts(offset: Offset, *, without: bool = False) -> tuple[list[Any], Arrays]:
    """An offset as files of version 1 have it: its kind with parameters, and its arrays.

    Parameters
    ----------
    offset : Offset
        What is saved.
    without : bool, default False
        Whether it is left out.

    Returns
    -------
    tuple
        ``[kind, parameters]``, and a dict of arrays.
    """
    tree = offset_tree(offset, without=without)
    return parts_of(tree) if isinstance(tree, dict) else ([GIVEN_OFFSET, {}], {})


def offset_in(described: Any, held: Arrays, name: str, given: Offset | None) -> Offset | None:
    """The inverse of `offset_parts`.

    Parameters
    ----------
    described : object
        What the file says of it.
    held : dict
        The arrays of the file.
    name : str
        The file, for messages.
    given : Offset or None
        The one to take if it was left out.

    Returns
    -------
    Offset or None
        None where there is none.
    """
    tree = {"offset": offset_tree_of(described, held, name)}
    return read(tree, name, lambda fields: offset_from(fields, "offset", given))
