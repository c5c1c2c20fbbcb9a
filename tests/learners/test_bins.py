"""Features cut into bins: edges between values, quantiles, sparse matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from ocboost._kernels.binning import EACH_ONCE, edges_of
from ocboost.learners import StumpLearner
from ocboost.learners.bins import DenseBins, bins_of
from tests.support.noisy_features import noisy

numbers = st.floats(allow_nan=False, width=64)


def edges_in(values, most, zeros=0):
    room = np.full(255, np.inf)
    made = edges_of(np.sort(np.asarray(values)), EACH_ONCE, zeros, most, room)
    assert np.isinf(room[made:]).all()
    return room[:made]


@settings(deadline=None, max_examples=150)
@given(
    st.lists(numbers | st.sampled_from([0.0, 1.0, 2.0]), max_size=60), st.integers(2, 20), st.integers(0, 30)
)
def test_edges_part_neighbouring_values(values, most, zeros):
    edges = edges_in(np.array(values, float), most, zeros)
    everything = np.array(values + [0.0] * zeros)
    distinct = np.unique(everything)
    assert edges.size <= max(0, min(most, distinct.size) - 1)
    assert (np.diff(edges) > 0).all()
    where = np.searchsorted(edges, distinct)  # the bin of a value: edges below it
    assert np.array_equal(np.unique(where), np.arange(edges.size + 1) if distinct.size else [])  # none empty
    if distinct.size <= most:
        assert np.array_equal(where, np.arange(distinct.size))
    assert np.array_equal(edges, edges_in(everything, most))  # zeros counted are zeros given


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1.0, np.nextafter(1.0, 2.0)),
        (0.0, 5e-324),
        (5e-324, 1e-323),
        (-1.7e308, 1.7e308),
        (1.7e308, np.inf),
        (-np.inf, -1.7e308),
        (-np.inf, np.inf),
        (np.float32(1.0), np.nextafter(np.float32(1.0), np.float32(2.0))),
    ],
)
def test_an_edge_parts_two_values_however_close_or_far(low, high):
    X = np.array([[low], [high]])
    stumps = StumpLearner().learn(X, np.array([1, -1]), n_hypotheses=3)
    assert low <= stumps.threshold[0] < high
    assert stumps.answers(X).T.tolist() == [[1, -1]]


def test_quantile_bins_hold_about_as_many_each():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=9000), np.zeros(3000), np.full(500, 7.0)])
    edges = edges_in(values, 50)
    assert edges.size == 49
    bins = np.searchsorted(edges, values)
    counts = np.bincount(bins)
    for heavy, count in ((0.0, 3000), (7.0, 500)):  # alone in their bins
        assert counts[np.searchsorted(edges, heavy)] == count
    rest = np.delete(counts, np.searchsorted(edges, [0.0, 7.0]))
    assert rest.max() <= 1.1 * 9000 / 48 + 1
    assert np.median(rest) == pytest.approx(9000 / 48, rel=0.1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_bin_is_at_most_its_edge(dtype):
    X, _ = noisy(700, 3, 1, missing=0.1)
    X = X.astype(dtype)
    X[:5, 0] = [np.inf, -np.inf, 0.0, -0.0, 1e30]
    bins = DenseBins(X, 40, 1)
    for f in range(3):
        column = bins.column(f)
        for cut in range(bins.n_bins[f]):
            below = X[:, f] <= bins.threshold(f, cut)
            assert np.array_equal(below, (column <= cut) & ~np.isnan(X[:, f]))
        assert np.array_equal(column == 255, np.isnan(X[:, f]))


def test_sparse_bins_are_those_of_the_dense_matrix():
    X, _ = noisy(300, 20, 2, missing=0.05, levels=20)
    X[np.random.default_rng(0).random(X.shape) < 0.7] = 0.0
    X[:, 3], X[:, 4], X[:, 5], X[:, 6] = 0.0, 2.0, np.nan, np.where(np.arange(300) % 3, np.nan, 0.0)
    given = sp.csr_matrix(X)
    given.data[np.flatnonzero(given.indices == 0)[:3]] = 0.0  # stored zeros
    dense, sparse = bins_of(given.toarray(), 12, 1), bins_of(given, 12, 1)
    assert np.array_equal(dense.feature, sparse.feature)
    assert not {3, 4, 5} & set(dense.feature.tolist())
    assert 6 in dense.feature
    assert np.array_equal(dense.n_bins, sparse.n_bins)
    assert np.array_equal(dense.missing, sparse.missing)
    for f in range(dense.feature.size):
        assert np.array_equal(dense.column(f), sparse.column(f))
        for cut in range(dense.n_bins[f]):
            assert dense.threshold(f, cut) == sparse.threshold(f, cut)
