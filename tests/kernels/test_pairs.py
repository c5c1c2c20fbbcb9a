"""The band and the pairs in it: where they lie, and that they are those of the plain twin."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost._kernels import arrays
from ocboost._kernels.tail import CORRECTIONS
from tests.naive import sketch as naive
from tests.support.compiled import as_in_kernels
from tests.support.makers import independent_columns, newest, newest_from, random_margins


@as_in_kernels
def call_band(j, order):
    return arrays.row_start(j, order), arrays.first_column(j, order)


@pytest.mark.parametrize("J", [1, 2, 3, 8, 70])
def test_the_band_holds_each_pair_once(J):
    for order in sorted({1, 2, 3, J // 2, J - 1, J} & set(range(1, J + 1))):
        dense = [(j, k) for j in range(J) for k in range(J) if j - order <= k < j]
        packed = []
        for j in range(J):
            start, low = call_band(j, order)
            assert start == len(packed)
            packed += [(j, k) for k in range(low, j)]
        assert packed == dense
        assert arrays.n_pairs(J, order) == len(dense)


def pairs_of(sketch):
    """p⁺ and p⁻ as (J, J) matrices, NaN outside the band."""
    J, result = sketch.n_hypotheses, []
    for packed in (sketch._store.state.tail.p_plus, sketch._store.state.tail.p_minus):
        p, places = np.full((J, J), np.nan), iter(packed[0])
        for j in range(J):
            for k in range(max(0, j - sketch.order), j):
                p[j, k] = next(places)
        assert next(places, None) is None
        result.append(p)
    return result


@pytest.mark.parametrize("forgetting", [1.0, 0.99])
@pytest.mark.parametrize(("J", "order", "head", "batch_size"), [(9, 9, 1, 1), (9, 4, 6, 1), (70, 66, 1, 16)])
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_the_pairs_are_those_of_the_plain_twin(correction, J, order, head, batch_size, forgetting):
    rng = np.random.default_rng(206)
    margins = random_margins(rng, 260, J, low=0.45, high=0.65)
    options = {"order": order, "head": head, "correction": correction, "forgetting": forgetting}
    sketch = newest_from(margins[:200], **options)
    plain = naive.NaiveSketch.from_margins(margins[:200], **options)
    for booster in (sketch, plain):
        booster.update_many(margins[200:], batch_size=batch_size)
    assert np.abs(plain.alpha).max() < 20
    for sigma, p in zip((+1, -1), pairs_of(sketch), strict=True):
        W = plain.tail.W[sigma]
        for j in range(J):
            band_of_j = slice(max(0, j - order), j)
            assert W[j, j] > 0
            np.testing.assert_allclose(p[j, band_of_j], W[j, band_of_j] / W[j, j], rtol=0, atol=1e-9)


@pytest.mark.parametrize("weight", [1e6, 1e12, 1e15, 1e18])
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_rows_of_one_mind_survive_a_large_change(correction, weight):
    # All of W⁺_10 is at p = 1: its weight must fall by exp(-Δ), though exp(Δ) is 10^16 times as much.
    options = {"correction": correction}
    margins = np.array([[1, 1]] * 100 + [[-1, -1]] * 60 + [[-1, 1]])
    for rows in (margins[:-1], margins):
        sketch = newest_from(rows, **options)
        plain = naive.NaiveSketch.from_margins(rows, **options)
        for booster in (sketch, plain):
            booster.update([1, -1], weight)
        expected = plain.alpha
        assert np.abs(expected).max() < 20
        assert np.abs(sketch.alpha - expected).max() / np.abs(expected).max() < 1e-9
        for sigma, p in zip((+1, -1), pairs_of(sketch), strict=True):
            W = plain.tail.W[sigma][1]
            assert p[1, 0] == pytest.approx(W[0] / W[1], rel=1e-9)


def assert_pairs_in_range(sketch):
    for p in (sketch._store.state.tail.p_plus, sketch._store.state.tail.p_minus):
        assert ((p >= 0.0) & (p <= 1.0)).all()


def test_pairs_stay_in_range_after_large_folds_and_merges():
    # Hundreds of shares are added up here, mostly of rows in step with one another: rounding can pass one.
    for seed in range(40):
        rng = np.random.default_rng(seed)
        a, b = (
            newest_from(random_margins(rng, 300, 130, low=0.85, high=0.99), head=head) for head in (1, 100)
        )
        for sketch in (a, b, a.merge(b)):
            assert_pairs_in_range(sketch)


@pytest.mark.parametrize("head", [1, 100, 220])
def test_copies_of_one_hypothesis_are_of_one_mind_exactly(head):
    # A digit less than one would be examples that differ, and a large Δ would bring them up by exp(2Δ).
    rng = np.random.default_rng(208)
    margins = np.repeat(random_margins(rng, 300, 1), 300, axis=1)
    a, b = (newest_from(margins, head=head, sample_weight=rng.random(300)) for _ in "ab")
    c = a.merge(b)
    c.update_many(margins[:50], sample_weight=rng.random(50))
    for sketch in (a, b, a.merge(b), c):
        assert (sketch._store.state.tail.p_plus == 1.0).all()
        assert (sketch._store.state.tail.p_minus == 1.0).all()


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize(("head", "batch_size"), [(1, 1), (1, 40), (70, 1)])
def test_pairs_stay_in_range_on_hard_streams(head, batch_size, correction):
    rng = np.random.default_rng(207)
    J, n = 66, 600
    calm = independent_columns(rng, n, rng.uniform(0.5, 0.9, J))
    copies = np.repeat(calm[:, :1], J, axis=1)
    turning = calm * np.where(np.arange(n) // 100 % 2, -1, 1)[:, None].astype(np.int8)
    wild = 10.0 ** rng.uniform(-300, 300, n)
    for margins, weight, options in [
        (calm, None, {}),
        (copies, None, {"smoothing": 1e-9}),
        (turning, None, {"forgetting": 0.9, "smoothing": 1e-3}),
        (turning, wild, {"smoothing": 0.0}),
        (np.ones((n, J), np.int8), None, {"smoothing": 0.0}),
    ]:
        sketch = newest(J, head=head, correction=correction, **options)
        for start in range(0, n, 200):
            part = slice(start, start + 200)
            w = None if weight is None else weight[part]
            sketch.update_many(margins[part], batch_size=batch_size, sample_weight=w)
            assert_pairs_in_range(sketch)
