"""The votes of several weightings, against a plain loop."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost._kernels.voting import scores_of_weights
from tests.naive.voting import twice_the_votes


@pytest.mark.parametrize(
    "columns",
    [
        [slice(0, 1)],
        [slice(0, 70)],
        [slice(0, 30), slice(30, 41), slice(41, 70)],
        [slice(0, 40), slice(40, 70), slice(0, 55), slice(0, 55)],  # two classes without an example
    ],
    ids=["one", "two classes", "three", "shared"],
)
def test_votes(columns):
    rng = np.random.default_rng(0)
    answers = rng.choice(np.array([-1, 1], np.int8), 70)
    sizes = [c.stop - c.start for c in columns]
    weights = [rng.normal(size=(6, n)) * 10.0 ** rng.integers(-3, 4, n) for n in sizes]
    starts = np.cumsum([0, *sizes[:-1]])
    spans = np.array([[a, c.start, n] for a, c, n in zip(starts, columns, sizes, strict=True)])
    out = np.full((6, max(2, len(columns))), np.nan)
    scores_of_weights(np.concatenate(weights, axis=1), answers, spans, out)
    np.testing.assert_allclose(out, twice_the_votes(weights, answers, columns), rtol=1e-9, atol=1e-9)
