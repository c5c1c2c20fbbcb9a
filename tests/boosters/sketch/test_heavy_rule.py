"""Which examples a sketch keeps that keeps heavy ones: every part of the score counts, and ties go by age."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost import BoostingSketch
from tests.naive.heavy import NaiveHeavy
from tests.support.heavy_twin import TOLERANCE, both, distance
from tests.support.makers import random_margins

# Mutants of the twin: each is another rule, and the sketch must tell -------------------------------------


class ByAge(NaiveHeavy):
    def scores(self, d, W):
        return np.arange(1.0, len(d) + 1.0)


class NoWeights(NaiveHeavy):
    """Scores as if every example had come just now, and with a weight of one."""

    def scores(self, d, W):
        first = d[:, :1].copy()
        return super().scores(d / np.where(first > 0, first, 1.0), W)


class NoTies(NaiveHeavy):
    def ranked(self, q):
        rng = np.random.default_rng(0)
        return sorted(range(len(q)), key=lambda i: (q[i].round(12), rng.random()))


@pytest.mark.parametrize(
    ("mutant", "weighted", "forgetting"),
    [
        (ByAge, False, 1.0),
        (NoWeights, False, 0.99),  # the decay alone
        (NoWeights, True, 1.0),  # sample weights alone
        (NoTies, False, 1.0),
        (NoTies, True, 1.0),
    ],
)
def test_another_rule_is_seen(mutant, weighted, forgetting):
    rng = np.random.default_rng(306)
    kinds = random_margins(rng, 30, 10, low=0.4, high=0.7)
    margins = kinds[rng.integers(0, 30, 300)]
    weight = rng.choice([0.5, 1.0, 2.0], 300) if weighted else np.ones(300)
    sketch, right = both(10, head=40, forgetting=forgetting)
    wrong = mutant(10, head=40, forgetting=forgetting)
    for booster in (sketch, right, wrong):
        booster.update_many(margins, sample_weight=weight)
    assert distance(sketch.alpha, right.alpha) < TOLERANCE
    assert distance(sketch.alpha, wrong.alpha) > 1e-6


# What stays, seen from outside ---------------------------------------------------------------------------


def kept_exactly(sketch):
    """The rows that are kept exactly, as numbers that their margins spell."""
    rows = sketch.head_margins[sketch._store.state.n_light :]
    return ((rows > 0) @ (1 << np.arange(rows.shape[1]))).tolist()


def spelled(n, bits=8):
    """Margins that spell the numbers 0 … n - 1, so that examples can be told apart."""
    return np.where((np.arange(n)[:, None] >> np.arange(bits)) & 1, 1, -1)


def test_old_examples_that_weigh_stay():
    weight = np.ones(64)
    weight[[3, 10]] = 30.0
    sketch = BoostingSketch(8, head=64, keep="heavy")
    sketch.update_many(spelled(64), sample_weight=weight)
    assert {3, 10} <= set(kept_exactly(sketch))


def test_what_is_forgotten_leaves_first():
    sketch = BoostingSketch(8, head=64, keep="heavy", forgetting=0.8, smoothing=1e3)
    sketch.update_many(spelled(64))
    kept = kept_exactly(sketch)
    assert kept == list(range(64 - len(kept), 64))
    assert len(kept) > 10


def test_weights_decide_where_all_else_is_equal():
    weight = np.ones(64)
    heavy = np.arange(0, 64, 7)
    weight[heavy] = 20.0
    sketch = BoostingSketch(8, head=64, keep="heavy", smoothing=1e6)  # α is about zero
    sketch.update_many(spelled(64), sample_weight=weight)
    assert kept_exactly(sketch) == heavy.tolist()


def test_of_equal_examples_the_same_are_taken_each_time(saved_bytes):
    kinds = random_margins(np.random.default_rng(1), 6, 8)
    margins = kinds[np.random.default_rng(2).integers(0, 6, 300)]
    found = set()
    for _ in range(3):
        sketch = BoostingSketch(8, head=30, keep="heavy")
        sketch.update_many(margins)
        found.add(saved_bytes(sketch))
    assert len(found) == 1
