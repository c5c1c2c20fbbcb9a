"""Neighbours by answers, against a comparison of every answer."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost._kernels.neighbours import add_row, neighbour_scores, set_column
from tests.naive.neighbours import NaiveNeighbours

WINDOWS, WIDTHS, EXPERTS = (7, 30, 100), (0.02, 0.3), ((0, 0), (0, 1), (1, 1), (2, 0), (2, 1))


class Ring:
    """The arrays of the kernels, for J hypotheses at given bits."""

    def __init__(self, size, slots, K):
        n_words = int(slots.max()) // 64 + 1
        J, bits = len(slots), 64 * n_words
        self.slots, self.n, self.at, self.size, self.K = slots, 0, 0, size, K
        self.ring = np.zeros((n_words, size), np.uint64)
        self.codes, self.weights = np.zeros(size, np.int64), np.zeros(size)
        self.table = np.exp(-np.arange(bits + 1) / (np.array(WIDTHS)[:, None] * J))
        self.query = np.full(n_words, 5, np.uint64)
        distances = np.full(size, 5, np.uint64)
        self.room = self.query, distances, np.full((K, bits + 1), np.nan), np.full((2, K), np.nan)

    def learn(self, answers, code, weight):
        kept = (self.ring, self.codes, self.weights)
        add_row(answers, self.slots, code, weight, *kept, self.at, self.query)
        self.at = (self.at + 1) % self.size
        self.n = min(self.n + 1, self.size)

    def scores(self, answers):
        out = np.full((len(EXPERTS), self.K), np.nan)
        kept = (self.ring, self.codes, self.weights, self.at, self.n)
        how = (np.array(WINDOWS), np.array(EXPERTS), self.table)
        neighbour_scores(answers, self.slots, *kept, *how, *self.room, out)
        return out


def answers_of(rng, n, J):
    return rng.choice(np.array([-1, 1], np.int8), (n, J))


@pytest.mark.parametrize("K", [2, 3, 7])
@pytest.mark.parametrize("J", [1, 63, 64, 65, 130])
def test_votes_of_the_last_rows(K, J):
    rng = np.random.default_rng(J)
    slots = rng.permutation(J + 5)[:J].astype(np.int64)  # in any order, some bits free
    ring, twin = Ring(WINDOWS[-1], slots, K), NaiveNeighbours(K, WINDOWS, WIDTHS, EXPERTS)
    patterns = answers_of(rng, 10, J)
    for i in range(230):
        row = patterns[rng.integers(10)] * np.where(rng.random(J) < 0.1, -1, 1).astype(np.int8)
        if i in (0, 1, 6, 7, 8, 29, 31, 99, 100, 101, 105, 115, 135, 199, 200, 229):
            np.testing.assert_allclose(ring.scores(row), twin.scores(row), rtol=1e-9, atol=1e-12)
        code, weight = int(rng.integers(K)), float(rng.choice([0.25, 1.0]))
        ring.learn(row, code, weight)
        twin.learn(row, code, weight)


@pytest.mark.parametrize("first", [0, 3, 35])
def test_a_column_is_written_around_the_end_of_the_ring(first):
    rng = np.random.default_rng(0)
    ring = rng.integers(0, 1 << 63, (2, 40)).astype(np.uint64)
    expected = (ring[:, :, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    answers = answers_of(rng, 1, 12)[0]
    for slot in (0, 63, 64, 100):
        set_column(answers, slot, ring, first)
        for i, answer in enumerate(answers):
            expected[slot // 64, (first + i) % 40, slot % 64] = answer > 0
    bits = (ring[:, :, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    np.testing.assert_array_equal(bits, expected)


def test_the_nearest_class_has_the_highest_score():
    rng = np.random.default_rng(0)
    ring, (a, b) = Ring(100, np.arange(100), 2), answers_of(rng, 2, 100)
    for _ in range(50):
        ring.learn(a, 0, 1.0)
        ring.learn(b, 1, 1.0)
    assert (ring.scores(a).argmax(axis=1) == 0).all()
    assert (ring.scores(b).argmax(axis=1) == 1).all()
    assert np.isfinite(ring.scores(-a)).all()
