"""Edges that are found piece by piece: exact for few values, close for many; and what is known of classes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocboost._kernels.binning import EACH_ONCE, count_values, edges_of
from ocboost._shards.facts import Facts, Quantiles
from ocboost.errors import InputError


def edges_of_all(values, most=255):
    known = np.sort(values[~np.isnan(values)])
    room = np.empty(255)
    return room[: edges_of(known, EACH_ONCE, 0, most, room)]


@given(
    st.lists(st.sampled_from([-1.5, -0.0, 0.0, 1.0, 2.0, 1e300, np.nan]), min_size=1, max_size=60),
    st.integers(2, 255),
    st.integers(1, 59),
    st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_few_values_are_cut_as_by_one_machine(values, most, at, merge):
    column = np.array(values)
    quantiles = Quantiles()
    quantiles.take(column[:at])
    if merge:
        other = Quantiles()
        other.take(column[at:])
        quantiles.merge(other)
    else:
        quantiles.take(column[at:])
    assert quantiles.edges(most).tolist() == edges_of_all(column, most).tolist()
    assert quantiles.n_missing == np.isnan(column).sum()
    assert quantiles.n_known + quantiles.n_missing == len(column)


def ranks(edges, values):
    return np.searchsorted(np.sort(values), edges) / len(values)


@pytest.mark.parametrize("how", ["at once", "pieces", "merged", "pickled", "saved"])
def test_many_values_are_cut_at_about_the_same_ranks(how):
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=30_000), np.zeros(3000)])  # zero fills bins of its own
    rng.shuffle(values)
    with_missing = np.insert(values, 5, np.nan)
    quantiles = Quantiles()
    if how == "at once":
        quantiles.take(with_missing)
    elif how == "merged":
        parts = np.array_split(with_missing, 7)
        quantiles.take(parts[0][:200])
        for part in [parts[0][200:], *parts[1:]]:
            other = Quantiles()
            other.take(part)
            quantiles.merge(other)
    else:
        for part in np.array_split(with_missing, 9):
            quantiles.take(part)
            if how == "pickled":
                quantiles = pickle.loads(pickle.dumps(quantiles))
            if how == "saved":
                quantiles = Quantiles.from_tree(quantiles.tree())
    edges = quantiles.edges(255)
    assert 200 <= edges.size <= 254
    assert quantiles.n_known == len(values)
    gaps = np.diff(ranks(edges, values[values != 0.0]))
    assert gaps.max() < 4 / 255
    assert not ((edges[:-1] < 0.0) & (edges[1:] >= 0.0) & (edges[1:] - edges[:-1] > 0.02)).any()


def test_more_values_than_are_counted_come_late():
    quantiles = Quantiles()
    quantiles.take(np.repeat(np.arange(255.0), 40))
    quantiles.take(np.arange(255.0, 300.0))
    assert quantiles.n_known == 255 * 40 + 45
    assert (
        np.abs(ranks(quantiles.edges(10), np.repeat(np.arange(255.0), 40)) - np.arange(1, 10) / 10).max()
        < 0.03
    )


def test_count_values_stops_where_there_is_no_room():
    values, counts = np.empty(3), np.empty(3, np.int64)
    n, end, missing = count_values(np.array([5.0, np.nan, 1.0, 5.0, 3.0, 1.0, 4.0, 1.0]), values, counts, 0)
    assert (n, end, missing) == (3, 6, 1)
    assert values.tolist() == [1.0, 3.0, 5.0]
    assert counts.tolist() == [2, 1, 2]


def test_classes_are_counted_and_rows_without_weight_are_not():
    facts = Facts(1)
    facts.take(np.array([[1.0], [2.0], [9.0]]), np.array(["a", "b", "a"]), np.array([1.0, 2.0, 0.0]))
    other = Facts(1)
    other.take(np.array([[3.0]]), np.array(["c"]))
    facts.merge(other)
    assert facts.n_rows == 3
    assert facts.counts == {"a": 1, "b": 1, "c": 1}
    assert facts.weights == {"a": 1.0, "b": 2.0, "c": 1.0}
    assert facts.edges(255)[0].tolist() == [1.5, 2.5]
    again = Facts.from_tree(facts.tree())
    assert (again.counts, again.weights, again.n_rows) == (facts.counts, facts.weights, 3)
    with pytest.raises(InputError, match="same number of features"):
        facts.merge(Facts(2))
