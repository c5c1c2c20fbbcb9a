"""A classifier that learns partitions side by side: boosters of each, merged in a tree and into its own."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple, cast

from sklearn.utils.validation import check_is_fitted

from ocboost._core.checks import as_weights
from ocboost._core.labels import codes_of
from ocboost.boosters.sketch.merge_tree import SPLIT_EVERY, as_split
from ocboost.boosters.sketch.sketch import BoostingSketch
from ocboost.dask.partitions import aligned, in_partition, learn_and_merge, partitions_of
from ocboost.errors import InputError
from ocboost.estimators.classifier import OCBClassifier
from ocboost.estimators.decisions import is_balanced


def learn_partitions(
    clf: OCBClassifier,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    client: Any = None,
    split_every: int = SPLIT_EVERY,
) -> OCBClassifier:
    """A classifier that has learnt a Dask collection of examples, which is read once.

    The hypotheses of ``clf`` stay. Every partition is learnt by boosters of its own, where it lies; these
    are merged in a tree, and then into those of ``clf``. What ``partial_fit`` would learn row after row is
    learnt side by side, and the order of the rows does not matter. If all rows fit in the heads the
    result has AdaBoost's weights; otherwise they are approximate (docs/merging.md).

    Parameters
    ----------
    clf : OCBClassifier
        Fitted, for instance on a sample of the rows; it is not changed. It may have an offset, or weights it
        was deployed with. It must keep sums (``booster="ocb"``) of all it has seen: no ``grow``, no window,
        no ``forgetting``, no ``class_weight="balanced"``.
    X : Dask array of shape (n, n_features), or Dask data frame
        In chunks of rows, whose sizes need not be known; some may be empty. A classifier fitted on a table
        takes a data frame. Missing values are accepted as ``clf`` accepts them.
    y : Dask array of shape (n,), series, or array
        Classes that ``clf`` knows.
    sample_weight : Dask array of shape (n,), series, or array, optional
        Finite and not negative. Where sizes are not known, y and this are in the same partitions as X.
    client : distributed.Client, optional
        By default the present one; without any, threads of this process.
    split_every : int, default 4
        How many results a task merges.

    Returns
    -------
    OCBClassifier
        A new one, in this process.

    Raises
    ------
    InputError
        If the examples are not what they must be. It names the partition, from 0, and where it can the row.
    MissingExtraError
        Without Dask.

    Examples
    --------
    >>> import dask.array as da
    >>> from ocboost import OCBClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = OCBClassifier(n_hypotheses=50).fit(X[:200], y[:200])
    >>> clf = learn_partitions(clf, da.from_array(X[200:], chunks=(100, -1)), y[200:])
    >>> clf.boosters_[0].n_seen, bool(clf.score(X, y) > 0.97)
    (569, True)
    """
    split_every = as_split(split_every)
    if not isinstance(clf, OCBClassifier):
        raise InputError(f"clf must be an ocboost.OCBClassifier; got {type(clf).__name__}.")
    check_is_fitted(clf)
    result = copy.copy(clf)
    result.follow_settings()
    _require_mergeable(result)
    rows = partitions_of(X, "X", 2, "Of an array in memory: clf.partial_fit(X, y).")
    if y is None:
        raise InputError("y must hold the class of each row of X; got None.")
    labels = aligned(y, "y", rows, "X")
    weights = aligned(sample_weight, "sample_weight", rows, "X")
    learnt: _Learnt | None = learn_and_merge(
        _learnt_by,
        _Learnt.merge,
        list(zip(rows.tasks, labels, weights, strict=True)),
        shared=_emptied(result),
        split_every=split_every,
        client=client,
    )
    if learnt is None:
        raise InputError(f"X must hold at least one example; all {len(rows.tasks)} partitions are empty.")
    if learnt.weight == 0.0:
        raise InputError(
            "sample_weight must hold at least one number that is not 0. Give 1.0 to examples that count."
        )
    result.committee_.merge(learnt.boosters, learnt.n, learnt.weight)
    return result


class _Learnt(NamedTuple):
    """What partitions taught: boosters, the number of examples, and their Σw."""

    boosters: list[BoostingSketch]
    n: int
    weight: float

    def merge(self, other: _Learnt) -> _Learnt:
        both = zip(self.boosters, other.boosters, strict=True)
        return _Learnt([a.merge(b) for a, b in both], self.n + other.n, self.weight + other.weight)


def _learnt_by(number: int, clf: OCBClassifier, X: Any, y: Any, weights: Any) -> _Learnt | None:
    """What one partition teaches; None of an empty one."""
    with in_partition(number):
        given = as_weights(weights, X.shape[0])
        if X.shape[0] == 0 and len(y) == 0:
            return None
        rows, labels = clf._checked_examples(X, y, reset=False)
        codes, scaled = codes_of(labels, clf.classes_), given * clf.weight_scale_
        committee = clf.committee_.emptied()
        committee.fit(rows, codes, scaled, committee.scores_of(rows))
    return _Learnt(cast(list[BoostingSketch], committee.boosters), len(codes), float(scaled.sum()))


def _emptied(clf: OCBClassifier) -> OCBClassifier:
    """What the workers need of a classifier: little to send, whatever it has learnt."""
    other = copy.copy(clf)
    other.committee_ = clf.committee_.emptied()
    return other


def _require_mergeable(clf: OCBClassifier) -> None:
    """Refuse classifiers whose rows have an order that partitions lack, or whose state cannot be merged."""
    kind, booster = clf.committee_.kind, clf.boosters_[0]
    advice = "Use partial_fit, in the order of the stream."
    if not issubclass(kind, BoostingSketch):
        raise InputError(
            f"clf must have the booster 'ocb', whose sums can be merged; got {kind.__name__}. {advice}"
        )
    if clf.grower_ is not None:
        raise InputError(
            "clf must not grow (grow=None): hypotheses are found in rows of one stream, with their features; "
            f"got grow={clf.grow!r:.80}. {advice}"
        )
    if booster.forgetting != 1.0 or booster.window_size is not None:
        what = "a window" if booster.window_size is not None else f"forgetting={booster.forgetting}"
        raise InputError(
            "clf must remember all it has seen (tail=True, forgetting=1), as partitions have no order in "
            f"time; got {what}. {advice}"
        )
    if is_balanced(clf.class_weight):
        raise InputError(
            "clf must not have class_weight='balanced', which follows the labels of one stream. Set it to "
            "None and give sample_weight."
        )
