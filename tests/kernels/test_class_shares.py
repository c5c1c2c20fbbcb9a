"""The kernel that counts labels, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost._kernels.class_shares import take_labels
from tests.naive.class_shares import taken


@pytest.mark.parametrize("K", [2, 5])
@pytest.mark.parametrize("cut", [0, 7, 40])
def test_as_plain_loops_have_it_however_it_is_cut(K, cut):
    rng = np.random.default_rng(K)
    codes = rng.integers(K, size=60)
    weights = rng.choice([0.0, 0.5, 1.0, 3.0, 1e6], size=60)
    sums, balance = np.zeros(K + 1), np.empty(60)
    for part in (slice(0, cut), slice(cut, 60)):
        take_labels(sums, codes[part], weights[part], 0.9, balance[part])
    want_sums, want = taken(K, codes.tolist(), weights.tolist(), 0.9)
    np.testing.assert_allclose(sums, want_sums, rtol=1e-12)
    np.testing.assert_allclose(balance, want, rtol=1e-12)


def test_a_weight_of_three_is_three_labels():
    once, thrice, balance = np.zeros(3), np.zeros(3), np.empty(4)
    take_labels(once, np.array([0, 1]), np.array([1.0, 3.0]), 0.8, balance[:2])
    take_labels(thrice, np.array([0, 1, 1, 1]), np.ones(4), 0.8, balance)
    np.testing.assert_allclose(once, thrice, rtol=1e-12)
