"""AdaBoost with sampling over box filters, as for the face detector of the paper."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.checks import as_count
from ocboost._core.threads import run
from ocboost._kernels.boxes import (
    above_each,
    best_thresholds,
    bound_scores,
    filter_each,
    first_not_whole,
    lay_images,
    pack,
)
from ocboost.hypotheses.boxes import MAX_SIDE, SIDE_ADVICE, Boxes, as_images, boxes_at, n_boxes, side_of
from ocboost.learners.boosting import Found, SamplingLearner, Taken

MORE_ADVICE = "More find better filters, and take longer."
IMAGES_PER_TABLE = 1024  # examples whose integral images lie together
SAMPLE_PER_TABLE = 256  # drawn examples whose integral images lie together
FILTERS_PER_TASK = 32
FILTERS_PER_SORT = 16  # promising filters whose values are sorted before checking if others can be as good


class BoxLearner(SamplingLearner):
    """Finds thresholded box filters by AdaBoost with sampling: `ocboost.hypotheses.Boxes`.

    In every round ``n_sample`` examples are drawn by their weights, with replacement, and ``n_filters`` of
    all box filters of the images' size, ``ocboost.hypotheses.all_boxes``. Of these, all thresholds and
    both signs the one of least error on the sample is taken, the threshold halfway between two neighbouring
    values. Its weight α, and hence the next weights, come from all examples. Where a filter that was good on
    the sample turns out worse than chance on all of them, its sign is turned.

    A filter that is right on every example leaves the weights unchanged, and sampling continues, so that
    others are there when a stream changes. No filter is taken twice with the same threshold. Learning stops
    when ten samples in a row gave nothing new that is better than chance.

    The integral images of all examples are held: four bytes a pixel where pixels are whole numbers, as grey
    levels are, and eight otherwise.

    Parameters
    ----------
    n_sample : int, default 2000
        Examples drawn in each round.
    n_filters : int, default 2000
        Filters tried in each round; all of them, where there are not more.
    side : int, optional
        Pixels of an image's side; by default the square root of the number of features.

    Examples
    --------
    >>> left, right = [9.0, 1.0, 9.0, 1.0], [1.0, 9.0, 1.0, 9.0]
    >>> X, y = np.array([left, right, left, right]), np.array([1, -1, 1, -1])
    >>> boxes = BoxLearner(n_sample=20).learn(X, y, n_hypotheses=1, rng=np.random.default_rng(0))
    >>> boxes.answers(X).T
    array([[ 1, -1,  1, -1]], dtype=int8)
    """

    def __init__(self, n_sample: int = 2000, n_filters: int = 2000, side: int | None = None) -> None:
        self.n_sample = as_count(n_sample, "n_sample", 2, 1 << 20, MORE_ADVICE)
        self.n_filters = as_count(n_filters, "n_filters", 1, 1 << 20, MORE_ADVICE)
        self.side = side if side is None else as_count(side, "side", 2, MAX_SIDE, SIDE_ADVICE)

    def __repr__(self) -> str:
        return f"BoxLearner(n_sample={self.n_sample}, n_filters={self.n_filters}, side={self.side})"

    def _search(self, X: NDArray[Any], y: NDArray[np.int8]) -> _BoxSearch:
        side = side_of(X.shape[1], self.side, "BoxLearner")
        return _BoxSearch(as_images(X, "BoxLearner"), y, side, self.n_filters)


class _BoxSearch:
    """Box filters, each a place in `all_boxes` and a threshold; holds the integral images of all examples."""

    def __init__(self, X: NDArray[Any], y: NDArray[np.int8], side: int, n_filters: int) -> None:
        self._X, self._y, self._side, self._n_filters = X, y, side, n_filters
        # Sums of whole pixels that fit are exact either way.
        whole = first_not_whole(X.reshape(-1), (2**31 - 1) / side**2) < 0
        self._tables, self._scale = _integrals(X, side, IMAGES_PER_TABLE, np.int32 if whole else np.float64)

    def find(
        self, rows: NDArray[np.int64], times: NDArray[np.float64], rng: np.random.Generator, taken: Taken
    ) -> tuple[Found, Hashable] | None:
        """The filter and the threshold that err least on a sample, among some filters drawn."""
        total = n_boxes(self._side)
        tried = np.arange(total)
        if self._n_filters < total:
            tried = np.sort(rng.choice(total, self._n_filters, replace=False, shuffle=False))
        return best_filter(self._X[rows], times * self._y[rows], tried, self._side, taken)

    def answers(self, found: Found) -> NDArray[np.int8]:
        """+1 where a filter's value is above a threshold: what `Boxes` answers, to the last bit."""
        place, theta = found
        out = np.empty((1, self._y.size), np.int8)
        rects, weight = boxes_at(self._side, np.array([place]))
        limit, sign = np.array([theta]), np.ones(1, np.int8)

        def answer(t: int) -> None:
            at = t * IMAGES_PER_TABLE
            above_each(self._tables[t], self._scale[at:], self._side, rects, weight, limit, sign, at, out)

        run(answer, range(len(self._tables)))
        answers: NDArray[np.int8] = out[0]
        return answers

    def hypotheses(self, found: Sequence[Found], signs: Sequence[int]) -> Boxes:
        """All filters that were found."""
        places, theta = zip(*found, strict=True)
        return Boxes(*boxes_at(self._side, np.array(places)), theta, signs, side=self._side)


def _integrals(
    X: NDArray[Any], side: int, per_table: int, number: Any = np.float64
) -> tuple[list[NDArray[Any]], NDArray[np.float64]]:
    """The integral images, ``per_table`` in a table, and the scale of each image."""
    n = X.shape[0]
    tables = [np.empty(((side + 1) ** 2, min(per_table, n - at)), number) for at in range(0, n, per_table)]
    scale = np.empty(n)

    def lay(t: int) -> None:
        at = slice(t * per_table, (t + 1) * per_table)
        lay_images(X[at], side, tables[t], scale[at])

    run(lay, range(len(tables)))
    return tables, scale


def best_filter(
    X: NDArray[Any], signed: NDArray[np.float64], tried: NDArray[np.int64], side: int, taken: Taken
) -> tuple[Found, Found] | None:
    """The filter and threshold that err least on a sample, with either sign, and the key they are taken by.

    X is the sample, ``signed`` how often each example was drawn times its label, ``tried`` the places in
    `all_boxes`. Of equally good filters the first is taken. All that tell no examples apart share one key.
    """
    n = signed.size
    rects, weight = boxes_at(side, tried)
    tables, scale = _integrals(X, side, SAMPLE_PER_TABLE)
    bound = np.empty(tried.size)

    def values_of(some: Any) -> NDArray[np.float32]:
        own_rects, own_weight = rects[some], weight[some]
        values = np.empty((own_weight.shape[0], n), np.float32)
        for t, table in enumerate(tables):
            first = t * SAMPLE_PER_TABLE
            filter_each(table, scale[first:], side, own_rects, own_weight, first, values)
        return values

    def bound_some(at: int) -> None:
        some = slice(at, at + FILTERS_PER_TASK)
        bound_scores(values_of(some), signed, bound[some])

    run(bound_some, range(0, tried.size, FILTERS_PER_TASK))
    best, best_at = -1.0, tried.size
    answer: tuple[Found, Found] | None = None
    order = np.argsort(-bound, kind="stable")
    for at in range(0, tried.size, FILTERS_PER_SORT):
        some = order[at : at + FILTERS_PER_SORT]
        if bound[some[0]] < best:  # nor can any of the rest be as good
            break
        for t, score, threshold, cut in zip(some.tolist(), *_cuts(values_of(some), signed), strict=True):
            found = (int(tried[t]), threshold)
            key = found if cut >= 0 else (-1, 0.0)
            if (score > best or (score == best and t < best_at)) and key not in taken:
                best, best_at, answer = score, t, (found, key)
    return answer


def _cuts(
    values: NDArray[np.float32], signed: NDArray[np.float64]
) -> tuple[list[float], list[float], list[int]]:
    """Each filter's best score, its threshold, and after which place in order that cuts."""
    keys = np.empty(values.shape, np.uint64)
    pack(values, keys)
    keys.sort(axis=1)
    J = values.shape[0]
    score, theta, cut = np.empty(J), np.empty(J), np.empty(J, np.int64)
    best_thresholds(values, keys, signed, score, theta, cut)
    return score.tolist(), theta.tolist(), cut.tolist()
