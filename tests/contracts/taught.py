"""Boosters that have learnt, for the contract suites."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost.boosters import BOOSTERS
from tests.contracts.examples import margins, weights

J = 7
N = 90
every = pytest.mark.parametrize("name", BOOSTERS)


def given_to(name, n=N, seed=0):
    """Examples that a booster takes: margins, and their weights and labels."""
    rows, labels = margins(n, J, seed)
    return rows, {"sample_weight": weights(n, seed), "labels": labels}


def taught(name, n=N):
    """A booster that has begun with half of its examples and learnt the others."""
    rows, more = given_to(name, n)
    half = n // 2
    registered = BOOSTERS[name]
    first, rest = ({key: part[at] for key, part in more.items()} for at in (slice(half), slice(half, n)))
    begun = registered.load().from_margins(rows[:half], **first, **registered.settings)
    begun.update_many(rows[half:], **rest)
    return begun


def assert_same(one, other):
    np.testing.assert_array_equal(one.alpha, other.alpha)
    assert (one.n_seen, one.n_hypotheses) == (other.n_seen, other.n_hypotheses)
    assert one.has_settings(other.given_settings)
    assert other.has_settings(one.given_settings)


def goes_on_as(one, other, saved_bytes):
    """Both are the same, and stay so while they learn."""
    assert_same(one, other)
    rows, more = given_to("", 40, seed=3)
    for each in (one, other):
        each.update_many(rows, **more)
    assert_same(one, other)
    assert saved_bytes(one) == saved_bytes(other)
