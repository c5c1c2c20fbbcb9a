"""1 - AUC, beside scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from ocboost._core.metrics import one_minus_auc
from ocboost.errors import InputError


class TestArea:
    @given(st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=2, max_size=60))
    def test_is_scikit_learns(self, pairs):
        votes = np.array([vote for vote, _ in pairs], np.float64)
        positive = np.array([sign for _, sign in pairs])
        if positive.all() or not positive.any():
            with pytest.raises(InputError, match="both kinds"):
                one_minus_auc(votes, positive)
            return
        assert one_minus_auc(votes, positive) == pytest.approx(
            1.0 - roc_auc_score(positive, votes), abs=1e-12
        )

    def test_small_areas_keep_their_digits(self):
        votes = np.arange(200_000.0)
        positive = votes >= 100_000
        votes[positive.argmax()] = 99_998.5
        assert one_minus_auc(votes, positive) == 1e-10

    def test_nan_is_refused(self):
        with pytest.raises(InputError, match="finite"):
            one_minus_auc(np.array([0.0, np.nan]), np.array([True, False]))
