"""One round of AdaBoost over stumps on binned features: find the best stump, then reweight the examples.

A feature's histogram holds the signed weight Σ d_i y_i of each bin. A stump that cuts it after bin e is more
right than wrong by |L - R| + |M|: L is the sum of the bins up to e, R of those above, M of the missing, each
side answering as most of its weight wants. With L + R = S this is |2L - S| + |M|, so the largest and the
smallest L of a feature are all that matter.

From one round to the next the weight of a right example is multiplied by a, that of a wrong one by b. Hence
new = a·old + (b - a)·(the histogram of the wrong examples alone), or the same with right and wrong exchanged:
only the fewer of the two are visited. Every feature is summed in the order of the rows, with every rounding
as written, so the result does not depend on how features are shared out among threads.

The Gini impurity needs the weights of the two classes apart: then a histogram has two halves, the weights of
the bins' negative examples before those of the positive. A side of weight w and signed weight s has the
impurity (w - s²/w) / 2, weighted by w; so the cut of least impurity has the greatest sum of s²/w. The missing
values are tried on either side; a cut that takes them to the left is numbered `TO_LEFT` higher.
"""

from __future__ import annotations

import numpy as np

from ocboost._kernels.arrays import Bytes, Flags, Floats, Int8s, Int32s, Ints, UInt32s
from ocboost._kernels.binning import MISSING
from ocboost._kernels.compile import exact, plain

TO_LEFT = MISSING + 1  # also where the positive examples' half of a histogram begins
TIE = 1e-12  # scores this close are equal but for rounding, the weights summing to one
FLOOR = 1e-150  # no weight falls below: numbers that small cost time, and can no longer matter


@exact
def _scan(sums: Floats, n_bins: int, missing: bool) -> tuple[float, int]:
    """The best score of one feature, and after which bin it cuts; the first of several."""
    lowest, at_lowest = np.inf, 0
    highest, at_highest = -np.inf, 0
    left = 0.0
    for e in range(n_bins):
        left += sums[e]
        if left > highest + TIE:
            highest, at_highest = left, e
        if left < lowest - TIE:
            lowest, at_lowest = left, e
    other = abs(sums[MISSING]) if missing else 0.0
    lead = (2.0 * highest - left) - (left - 2.0 * lowest)
    if lead > TIE:
        return 2.0 * highest - left + other, at_highest
    if lead < -TIE:
        return left - 2.0 * lowest + other, at_lowest
    return left - 2.0 * lowest + other, min(at_highest, at_lowest)


@exact
def _add_dense(bins: Bytes, sums: Floats, rows: UInt32s, values: Floats, first: int, last: int) -> None:
    """Add each row's value to the histograms of the features first to last - 1."""
    n = rows.size
    f = first
    while f + 4 <= last:  # four features to each load of a row and its value
        b0, b1, b2, b3 = bins[f], bins[f + 1], bins[f + 2], bins[f + 3]
        s0, s1, s2, s3 = sums[f], sums[f + 1], sums[f + 2], sums[f + 3]
        for k in range(n):
            i, v = rows[k], values[k]
            s0[b0[i]] += v
            s1[b1[i]] += v
            s2[b2[i]] += v
            s3[b3[i]] += v
        f += 4
    while f < last:
        b0, s0 = bins[f], sums[f]
        for k in range(n):
            s0[b0[rows[k]]] += values[k]
        f += 1


@plain
def search_dense(
    bins: Bytes,
    n_bins: Ints,
    missing: Flags,
    sums: Floats,
    factor: float,
    rows: UInt32s,
    values: Floats,
    first: int,
    last: int,
    score: Floats,
    cut: Ints,
) -> None:
    """Bring the histograms of features first to last up to date, and find each one's best cut.

    ``factor`` multiplies what the histograms hold (0 clears them), then each row's value is added.
    """
    for f in range(first, last):
        if factor == 0.0:
            sums[f] = 0.0
        else:
            for b in range(sums.shape[1]):
                sums[f, b] *= factor
    _add_dense(bins, sums, rows, values, first, last)
    for f in range(first, last):
        score[f], cut[f] = _scan(sums[f], n_bins[f], missing[f])


@exact
def _pure(minus: float, plus: float) -> float:
    """s²/w of a side, and at most |s|: rounding may have left little of a small w."""
    w, s = plus + minus, abs(plus - minus)
    return s if s >= w else s * s / w


@exact
def _scan_gini(sums: Floats, n_bins: int, missing: bool) -> tuple[float, int]:
    """The best score of one feature by Gini impurity, and its cut; the first of several."""
    minus, plus = 0.0, 0.0
    for b in range(n_bins):
        minus += sums[b]
        plus += sums[TO_LEFT + b]
    other_minus = sums[MISSING] if missing else 0.0
    other_plus = sums[TO_LEFT + MISSING] if missing else 0.0
    best, cut = -1.0, 0
    left_minus, left_plus = 0.0, 0.0
    for e in range(n_bins - 1):
        left_minus += sums[e]
        left_plus += sums[TO_LEFT + e]
        right_minus, right_plus = minus - left_minus, plus - left_plus
        found = _pure(left_minus, left_plus) + _pure(right_minus + other_minus, right_plus + other_plus)
        if found > best + TIE:
            best, cut = found, e
        if missing:
            found = _pure(left_minus + other_minus, left_plus + other_plus) + _pure(right_minus, right_plus)
            if found > best + TIE:
                best, cut = found, e + TO_LEFT
    if missing:
        found = _pure(minus, plus) + _pure(other_minus, other_plus)
        if found > best + TIE:
            best, cut = found, n_bins - 1
    return best, cut


@exact
def _scale(sums: Floats, n_bins: int, factor: float) -> None:
    """Multiply both halves of a histogram where they are in use; 0 clears what was not finite too."""
    for half in (0, TO_LEFT):
        for b in range(half, half + n_bins):
            sums[b] = 0.0 if factor == 0.0 else sums[b] * factor
        sums[half + MISSING] = 0.0 if factor == 0.0 else sums[half + MISSING] * factor


@exact
def _add_dense_gini(
    bins: Bytes, y: Int8s, sums: Floats, rows: UInt32s, values: Floats, first: int, last: int
) -> None:
    """As `_add_dense`; each row goes to its own class's half of the histograms."""
    n = rows.size
    f = first
    while f + 4 <= last:
        b0, b1, b2, b3 = bins[f], bins[f + 1], bins[f + 2], bins[f + 3]
        s0, s1, s2, s3 = sums[f], sums[f + 1], sums[f + 2], sums[f + 3]
        for k in range(n):
            i = rows[k]
            v = values[k] * y[i]
            half = np.uint64(TO_LEFT if y[i] > 0 else 0)
            s0[half + b0[i]] += v
            s1[half + b1[i]] += v
            s2[half + b2[i]] += v
            s3[half + b3[i]] += v
        f += 4
    while f < last:
        b0, s0 = bins[f], sums[f]
        for k in range(n):
            i = rows[k]
            half = np.uint64(TO_LEFT if y[i] > 0 else 0)
            s0[half + b0[i]] += values[k] * y[i]
        f += 1


@plain
def search_dense_gini(
    bins: Bytes,
    n_bins: Ints,
    missing: Flags,
    y: Int8s,
    sums: Floats,
    factor: float,
    rows: UInt32s,
    values: Floats,
    first: int,
    last: int,
    score: Floats,
    cut: Ints,
) -> None:
    """As `search_dense`, by Gini impurity."""
    for f in range(first, last):
        _scale(sums[f], n_bins[f], factor)
    _add_dense_gini(bins, y, sums, rows, values, first, last)
    for f in range(first, last):
        score[f], cut[f] = _scan_gini(sums[f], n_bins[f], missing[f])


# The same where the rows lie in several places: histograms are added up, and scanned once all are in. ------


@plain
def add_to_histograms(
    bins: Bytes, y: Int8s, sums: Floats, rows: UInt32s, values: Floats, first: int, last: int
) -> None:
    """Add each row's value to the histograms of some features: both classes' halves if they have halves."""
    if sums.shape[1] == TO_LEFT:
        _add_dense(bins, sums, rows, values, first, last)
    else:
        _add_dense_gini(bins, y, sums, rows, values, first, last)


@plain
def scan_histograms(sums: Floats, n_bins: Ints, missing: Flags, score: Floats, cut: Ints) -> None:
    """Find each feature's best cut."""
    for f in range(n_bins.size):
        if sums.shape[1] == TO_LEFT:
            score[f], cut[f] = _scan(sums[f], n_bins[f], missing[f])
        else:
            score[f], cut[f] = _scan_gini(sums[f], n_bins[f], missing[f])


@exact
def _two_bins(first: int, last: int, rows: Int32s, bins: Bytes, signed: Floats) -> tuple[float, float]:
    """The sum of a feature's stored entries, and of those in its bin 1: words that are there or not.

    Two sums of each take turns, so that an addition need not wait for the one before.
    """
    stored, above = 0.0, 0.0
    more_stored, more_above = 0.0, 0.0
    for e in range(first, last - 1, 2):
        v, w = signed[np.uint32(rows[e])], signed[np.uint32(rows[e + 1])]
        stored += v
        more_stored += w
        above += v if bins[e] > 0 else 0.0
        more_above += w if bins[e + 1] > 0 else 0.0
    if (last - first) % 2:
        v = signed[np.uint32(rows[last - 1])]
        stored += v
        above += v if bins[last - 1] > 0 else 0.0
    return stored + more_stored, above + more_above


@plain
def search_sparse(
    start: Ints,
    rows: Int32s,
    bins: Bytes,
    zero: Bytes,
    n_bins: Ints,
    missing: Flags,
    signed: Floats,
    total: float,
    first: int,
    last: int,
    score: Floats,
    cut: Ints,
) -> None:
    """Find each feature's best cut from the stored entries; the bin of zero gets the rest of the total."""
    sums = np.zeros(MISSING + 1)
    for f in range(first, last):
        if n_bins[f] == 2 and not missing[f]:
            stored, above = _two_bins(start[f], start[f + 1], rows, bins, signed)
            sums[0], sums[1] = stored - above, above
            sums[zero[f]] += total - stored
            score[f], cut[f] = _scan(sums, 2, False)
            continue
        sums[: n_bins[f]] = 0.0
        sums[MISSING] = 0.0
        stored = 0.0
        for e in range(start[f], start[f + 1]):
            v = signed[np.uint32(rows[e])]
            sums[bins[e]] += v
            stored += v
        sums[zero[f]] += total - stored
        score[f], cut[f] = _scan(sums, n_bins[f], missing[f])


@plain
def search_sparse_gini(
    start: Ints,
    rows: Int32s,
    bins: Bytes,
    zero: Bytes,
    n_bins: Ints,
    missing: Flags,
    signed: Floats,
    minus: float,
    plus: float,
    first: int,
    last: int,
    score: Floats,
    cut: Ints,
) -> None:
    """As `search_sparse`, by Gini impurity; ``minus`` and ``plus`` are the classes' total weights."""
    sums = np.zeros(2 * TO_LEFT)
    for f in range(first, last):
        _scale(sums, n_bins[f], 0.0)
        rest_minus, rest_plus = minus, plus
        for e in range(start[f], start[f + 1]):
            v = signed[np.uint32(rows[e])]
            if v > 0.0:
                sums[TO_LEFT + bins[e]] += v
                rest_plus -= v
            else:
                sums[np.int64(bins[e])] -= v
                rest_minus += v
        sums[zero[f]] += max(0.0, rest_minus)
        sums[TO_LEFT + zero[f]] += max(0.0, rest_plus)
        score[f], cut[f] = _scan_gini(sums, n_bins[f], missing[f])


@plain
def sides(column: Bytes, cut: int, signed: Floats) -> tuple[float, float, float]:
    """The signed weight at or below a cut, above it, and of the missing ones."""
    below, above, other = 0.0, 0.0, 0.0
    for i in range(column.size):
        if column[i] == MISSING:
            other += signed[i]
        elif column[i] <= cut:
            below += signed[i]
        else:
            above += signed[i]
    return below, above, other


@plain
def answer_column(column: Bytes, cut: int, left: int, missing: int, out: Int8s) -> None:
    """What a stump answers to each row."""
    for i in range(column.size):
        out[i] = np.int8(left) if column[i] <= cut else np.int8(-left)
        if column[i] == MISSING:
            out[i] = np.int8(missing)


@plain
def weigh(answers: Int8s, y: Int8s, d: Floats) -> tuple[float, float, int]:
    """W⁺ and W⁻, the weights of the examples answered right and wrong, and how many are wrong."""
    right, wrong, n_wrong = 0.0, 0.0, 0
    for i in range(y.size):
        if answers[i] == y[i]:
            right += d[i]
        else:
            wrong += d[i]
            n_wrong += 1
    return right, wrong, n_wrong


@plain
def reweigh(
    answers: Int8s,
    y: Int8s,
    d: Floats,
    right: float,
    wrong: float,
    listed: bool,
    rows: UInt32s,
    values: Floats,
) -> int:
    """Multiply the weights of right and wrong examples by two factors, and list one kind's rows and change.

    ``listed`` says which kind: that of the right examples, or of the wrong. A row's value is what its signed
    weight gains beyond the factor of the kind that is not listed. Gives the length of the list.
    """
    gain = right - wrong if listed else wrong - right
    k = 0
    for i in range(y.size):
        is_right = answers[i] == y[i]
        rows[k] = i
        values[k] = gain * d[i] * y[i]
        k += is_right == listed
        changed = d[i] * (right if is_right else wrong)
        d[i] = FLOOR if changed < FLOOR and d[i] > 0.0 else changed
    return k


@plain
def renormalise(d: Floats, y: Int8s, rows: UInt32s, signed: Floats) -> None:
    """Make the weights sum to one, and list every row with its signed weight."""
    total = 0.0
    for i in range(d.size):
        total += d[i]
    for i in range(d.size):
        d[i] /= total
        signed[i] = d[i] * y[i]
        rows[i] = i
