"""AdaBoost with sampling over box filters, as for the face detector of the paper."""

from __future__ import annotations

from collections.abc import Hashable
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
from ocboost.hypotheses.learners.base import Learner, as_examples, as_labels
from ocboost.hypotheses.learners.boosting import Taken, boost, draw

SAMPLE_ADVICE = "More find better filters, and take longer."
ROWS = 1024  # examples whose integral images lie together
SOME_ROWS = 256  # drawn examples that meet filters at once
SOME_FILTERS = 32  # filters a task tries
SOME_SORTED = 16  # promising filters whose values are sorted before looking whether more can be good

Found = tuple[int, float]  # a filter's place in `all_boxes`, and a threshold


class BoxLearner(Learner):
    """Finds thresholded box filters by AdaBoost with sampling: `ocboost.hypotheses.Boxes`.

    In every round ``n_sample`` examples are drawn by their weights, with replacement, and ``n_filters`` of
    all box filters of the images' size, `ocboost.hypotheses.boxes.all_boxes`. Of these, all thresholds and
    both signs the one of least error on the sample is taken, the threshold halfway between two neighbouring
    values. Its weight α, and hence the next weights, come from all examples. Where a filter that was good on
    the sample turns out worse than chance on all of them, its sign is turned.

    A filter that is right on every example leaves the weights as they were, and sampling goes on, so that
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
        self.n_sample = as_count(n_sample, "n_sample", 2, 1 << 20, SAMPLE_ADVICE)
        self.n_filters = as_count(n_filters, "n_filters", 1, 1 << 20, SAMPLE_ADVICE)
        self.side = side if side is None else as_count(side, "side", 2, MAX_SIDE, SIDE_ADVICE)

    def __repr__(self) -> str:
        return f"BoxLearner(n_sample={self.n_sample}, n_filters={self.n_filters}, side={self.side})"

    def learn(
        self,
        X: Any,
        y: NDArray[np.int8],
        *,
        n_hypotheses: int,
        sample_weight: NDArray[np.float64] | None = None,
        rng: np.random.Generator | None = None,
    ) -> Boxes:
        """Find at most ``n_hypotheses`` filters; ``rng`` draws the samples and the filters."""
        n_hypotheses = as_count(n_hypotheses, "n_hypotheses", 1, None, "")
        X, weights = as_examples(X, sample_weight, sparse=False, what="BoxLearner")
        y, side = as_labels(y, X.shape[0]), side_of(X.shape[1], self.side, "BoxLearner")
        X = as_images(X, "BoxLearner")
        rng = np.random.default_rng() if rng is None else rng
        images = _Images(X, side)

        def find(d: NDArray[np.float64], taken: Taken) -> tuple[tuple[int, float], Hashable] | None:
            drawn, times = draw(d, self.n_sample, rng)
            tried = self._draw_filters(side, rng)
            found = best_filter(X[drawn], times * y[drawn], tried, side, taken)
            return None if found is None else (found[:2], found[2])

        members = boost(y, weights, n_hypotheses, find, lambda found: images.answers(*found))
        place, theta = zip(*[found for found, _ in members], strict=True)
        sign = [sign for _, sign in members]
        return Boxes(*boxes_at(side, np.array(place)), list(theta), sign, side=side)

    def _draw_filters(self, side: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Places in `all_boxes`, in order."""
        total = n_boxes(side)
        if self.n_filters >= total:
            return np.arange(total)
        return np.sort(rng.choice(total, self.n_filters, replace=False, shuffle=False))


def best_filter(
    X: NDArray[Any],
    signed: NDArray[np.float64],
    tried: NDArray[np.int64],
    side: int,
    taken: Taken,
) -> tuple[int, float, Found] | None:
    """The filter and threshold that err least on a sample, whatever the sign, and are not taken yet.

    Parameters
    ----------
    X : array of shape (n, side²)
        The sample.
    signed : array of shape (n,)
        How often each example was drawn, times its label: whole numbers.
    tried : array of whole numbers
        Places in `all_boxes`; of filters equally good the first is taken.
    side : int
        Pixels of an image's side.
    taken : set
        What was found before and is not wanted again.

    Returns
    -------
    place, threshold, known_as
        ``known_as`` is for ``taken``: all filters that tell no examples apart are known as one.
    """
    n = signed.size
    rects, weight = boxes_at(side, tried)
    starts = range(0, n, SOME_ROWS)
    tables = [np.empty(((side + 1) ** 2, min(SOME_ROWS, n - at))) for at in starts]
    scale = np.empty(n)
    bound = np.empty(tried.size)

    def lay(at: int) -> None:
        lay_images(X[at : at + SOME_ROWS], side, tables[at // SOME_ROWS], scale[at : at + SOME_ROWS])

    def values_of(some: Any) -> NDArray[np.float32]:
        own_rects, own_weight = rects[some], weight[some]
        values = np.empty((own_weight.shape[0], n), np.float32)
        for first, table in zip(starts, tables, strict=True):
            filter_each(table, scale[first:], side, own_rects, own_weight, first, values)
        return values

    def bound_some(at: int) -> None:
        some = slice(at, at + SOME_FILTERS)
        bound_scores(values_of(some), signed, bound[some])

    run(lay, starts)
    run(bound_some, range(0, tried.size, SOME_FILTERS))
    best, found = -1.0, tried.size
    answer: tuple[int, float, Found] | None = None
    order = np.argsort(-bound, kind="stable")
    for at in range(0, tried.size, SOME_SORTED):
        some = order[at : at + SOME_SORTED]
        if bound[some[0]] < best:  # nor can any of the rest be as good
            break
        for t, score, threshold, cut in zip(some.tolist(), *_cuts(values_of(some), signed), strict=True):
            place = int(tried[t])
            known_as = (place, threshold) if cut >= 0 else (-1, 0.0)
            if (score > best or (score == best and t < found)) and known_as not in taken:
                best, found, answer = score, t, (place, threshold, known_as)
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


class _Images:
    """The integral images of all examples, for one filter after the other."""

    def __init__(self, X: NDArray[Any], side: int) -> None:
        n = X.shape[0]
        # Sums of whole pixels that fit are exact either way.
        whole = first_not_whole(X.reshape(-1), (2**31 - 1) / side**2) < 0
        number = np.int32 if whole else np.float64
        self._n, self._side = n, side
        self._tables: list[NDArray[Any]] = [
            np.empty(((side + 1) ** 2, min(ROWS, n - at)), number) for at in range(0, n, ROWS)
        ]
        self._scale = np.empty(n)

        def lay(t: int) -> None:
            at = slice(t * ROWS, (t + 1) * ROWS)
            lay_images(X[at], side, self._tables[t], self._scale[at])

        run(lay, range(len(self._tables)))

    def answers(self, place: int, theta: float) -> NDArray[np.int8]:
        """+1 where a filter's value is above a threshold: what `Boxes` answers, to the last bit."""
        out = np.empty((1, self._n), np.int8)
        rects, weight = boxes_at(self._side, np.array([place]))
        limit, sign = np.array([theta]), np.ones(1, np.int8)

        def answer(t: int) -> None:
            at = t * ROWS
            above_each(self._tables[t], self._scale[at:], self._side, rects, weight, limit, sign, at, out)

        run(answer, range(len(self._tables)))
        answers: NDArray[np.int8] = out[0]
        return answers
