"""A sketch that keeps heavy examples beside its plain twin, for the tests that compare them."""

from __future__ import annotations

import math

import numpy as np

from ocboost import BoostingSketch
from tests.naive.heavy import NaiveHeavy

TOLERANCE = 1e-9


def distance(alpha, expected):
    return np.abs(alpha - expected).max() / (np.abs(expected).max() or 1.0)


def both(J, *, head=None, memory=None, pairs=True, **options):
    """A sketch and its twin with the same room."""
    if memory is None:
        sketch = BoostingSketch(J, head=head, keep="heavy", **options)
        room = sketch._store.capacity._replace(pairs=pairs)
    else:
        sketch = BoostingSketch(J, memory=memory, keep="heavy", **options)
        room = sketch._store.capacity
    sketch._store.capacity = room
    plain = NaiveHeavy(J, head=room.head, first_head=room.first, pairs=room.pairs, **options)
    return sketch, plain


def compare(sketch, plain, margins, *, weight=None, every=50, batch_size=1):
    for start in range(0, len(margins), every):
        part = slice(start, start + every)
        w = None if weight is None else weight[part]
        for booster in (sketch, plain):
            booster.update_many(margins[part], batch_size=batch_size, sample_weight=w)
        expected = plain.alpha
        assert distance(sketch.alpha, expected) < TOLERANCE, f"after {plain.n_seen} examples"
        assert sketch.n_head == plain.n_head
        assert sketch._store.state.n_light == len(plain.light)
    assert plain.folds > 2


def assert_bounded(alpha, total, smoothing):
    assert np.isfinite(alpha).all()
    if smoothing > 0 and total > 0:
        bound = 0.5 * np.logaddexp(0.0, math.log(total) - math.log(smoothing))
        assert np.abs(alpha).max() <= bound * (1 + 1e-12)
