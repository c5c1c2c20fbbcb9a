"""Weak hypotheses that are Python objects: functions, and fitted classifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.checks import as_count
from ocboost._core.codec import Fields
from ocboost._core.threads import without_warning
from ocboost.errors import InputError, NotSavableError
from ocboost.hypotheses.base import Hypotheses

_PREDICTED_WITHOUT_NAMES = "X does not have valid feature names"


class Callables(Hypotheses):
    """Hypotheses that are functions, or fitted classifiers. They work in memory and cannot be saved.

    Parameters
    ----------
    members : list of functions and classifiers
        A function takes rows ``X`` of shape (n, n_features) and gives (n,) answers, each -1 or +1. A
        classifier has ``predict`` and ``classes_``. With two classes it answers +1 where it predicts the
        second one. With K > 2 classes each gives K columns, ±1 for whether it predicts that class; column
        k·T + t is what member t says of class k. ``predict`` is called once for a block of rows.
    n_features : int
        Features of a row.
    classes : array of shape (K,), optional
        The classes in the order of the columns; by default all that any of the classifiers knows, sorted.
    accepts_sparse : bool, default False
        Whether the members can be given SciPy CSR.
    accepts_missing : bool, default False
        Whether the members can be given NaN.

    Examples
    --------
    >>> rules = Callables([lambda X: np.where(X[:, 0] > X[:, 1], 1, -1)], n_features=2)
    >>> rules.answers(np.array([[1.0, 2.0], [2.0, 1.0]]))
    array([[-1],
           [ 1]], dtype=int8)
    """

    kind = "Callables"
    thread_safe = False  # the members may not be

    def __init__(
        self,
        members: Iterable[Any],
        n_features: int,
        *,
        classes: ArrayLike | None = None,
        accepts_sparse: bool = False,
        accepts_missing: bool = False,
    ) -> None:
        self.members = list(members)
        if not self.members:
            raise InputError("members must be at least one function or fitted classifier; got none.")
        self.n_features = as_count(n_features, "n_features", 1, None, "It is the number of columns of X.")
        self.accepts_sparse = bool(accepts_sparse)  # it is up to the members
        self.accepts_missing = bool(accepts_missing)
        known = [_classes_of(member, t) for t, member in enumerate(self.members)]
        self.classes = _classes_in_order(classes, known)
        groups = self.classes.size if self.classes is not None and self.classes.size > 2 else 1
        if groups > 1:
            for t, labels in enumerate(known):
                if labels is None:
                    raise InputError(
                        f"members must be classifiers if there are {groups} classes, for a function's ±1 "
                        f"cannot name them; got {self.members[t]!r:.80} as member {t}."
                    )
        T = len(self.members)
        self.n_hypotheses = groups * T
        self._member = np.tile(np.arange(T), groups)
        self._group = np.repeat(np.arange(groups), T) if groups > 1 else np.ones(T, np.int64)

    def __repr__(self) -> str:
        return f"<{len(self)} answers of {len(self.members)} Python objects, which cannot be saved>"

    def __getitem__(self, members: Any) -> Self:
        at = self._indices(members)
        if at.size == 0:
            raise InputError("members must name at least one hypothesis; got none.")
        new = copy(self)
        new.n_hypotheses = at.size
        needed, new._member = np.unique(self._member[at], return_inverse=True)
        new._group = self._group[at]
        new.members = [self.members[t] for t in needed]
        return new

    def _fill(self, X: Any, block: NDArray[np.int8]) -> None:
        for t, member in enumerate(self.members):
            columns = np.flatnonzero(self._member == t)
            try:
                if _is_classifier(member):
                    self._predicted(member, t, X, block, columns)
                else:
                    block[columns] = _answered(member, t, X)
            except InputError:
                raise
            except Exception as error:
                error.add_note(f"It was raised by hypothesis {t}, {member!r:.80}, in Callables.")
                raise

    def _predicted(
        self, member: Any, t: int, X: Any, block: NDArray[np.int8], columns: NDArray[np.intp]
    ) -> None:
        with without_warning(_PREDICTED_WITHOUT_NAMES):
            labels = np.asarray(member.predict(X))
        if labels.shape != (X.shape[0],):
            raise InputError(
                f"members must predict one class for each row, shape ({X.shape[0]},); "
                f"got shape {labels.shape} from member {t}, {member!r:.80}."
            )
        assert self.classes is not None  # there is a classifier
        known = np.zeros(labels.shape, bool)
        for label in self.classes:
            known |= labels == label
        if not known.all():
            raise InputError(
                f"members must predict one of the classes {self.classes!r:.80}; "
                f"got {labels[~known][0]!r:.40} from member {t}, {member!r:.80}. "
                "Name all classes with classes=."
            )
        for column in columns:
            block[column] = np.where(labels == self.classes[self._group[column]], 1, -1)

    def tree(self) -> NoReturn:
        """Refuse: Python objects have no form in a file.

        Raises
        ------
        NotSavableError
            Always.
        """
        raise NotSavableError(
            "hypotheses must be arrays to be saved; these are Python objects, which only a pickle could "
            "hold, and a pickle can run code when it is loaded. Take over trees with from_sklearn, or keep "
            "the code that makes the hypotheses and save only their weights, with booster.save(path)."
        )

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """Refuse: no file holds Python objects.

        Parameters
        ----------
        fields : mapping
            What the file holds.

        Raises
        ------
        NotSavableError
            Always.
        """
        raise NotSavableError(f"{fields.name} cannot hold Callables, for Python objects are never saved.")


def _is_classifier(member: Any) -> bool:
    return hasattr(member, "predict") and hasattr(member, "classes_")


def _classes_of(member: Any, t: int) -> NDArray[Any] | None:
    """The classes of a classifier; None for a function."""
    if _is_classifier(member):
        return np.asarray(member.classes_)
    if hasattr(member, "predict") and hasattr(member, "fit"):
        raise InputError(
            f"members must be fitted classifiers; got {member!r:.80} as member {t}. Call its fit."
        )
    if not callable(member):
        raise InputError(
            f"members must be functions or fitted classifiers; got {member!r:.80} as member {t}. "
            "Give functions that take X and answer -1 or +1 for each row."
        )
    return None


def _classes_in_order(given: ArrayLike | None, known: list[NDArray[Any] | None]) -> NDArray[Any] | None:
    labels = [own for own in known if own is not None]
    if given is None:
        if not labels:
            return None
        classes = np.unique(np.concatenate(labels))
    else:
        classes = np.asarray(given)
    for own in labels or [classes]:
        check_order(classes, own, "members know")
    return classes


def check_order(order: NDArray[Any], own: NDArray[Any], who: str, advice: str = "") -> None:
    """Refuse an order of classes that does not name at least two, or not all that are known."""
    if order.ndim != 1 or np.unique(order).size != order.size or order.size < 2:
        raise InputError(f"classes must be at least two different ones; got {order!r:.80}.{advice}")
    other = own[~np.isin(own, order)]
    if other.size:
        raise InputError(
            f"classes must name every class the {who}; got {order!r:.80}, without {other[0]!r:.40}."
        )


def _answered(member: Callable[[Any], ArrayLike], t: int, X: Any) -> NDArray[np.int8]:
    answers = np.asarray(member(X))
    fits = answers.shape == (X.shape[0],) and answers.dtype.kind in "iuf"
    if not fits or not ((answers == 1) | (answers == -1)).all():
        if fits:
            came = f"{answers[(answers != 1) & (answers != -1)][0]}"
        else:
            came = f"shape {answers.shape} of dtype {answers.dtype}"
        raise InputError(
            f"members must answer -1 or +1 to each row, shape ({X.shape[0]},); got {came} from member {t}, "
            f"{member!r:.80}. Convert with np.where(condition, 1, -1)."
        )
    return answers.astype(np.int8)
