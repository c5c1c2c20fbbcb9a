"""Blocks of eight coordinates against `adaboost_weights`, and the kernels against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocboost import adaboost_weights
from ocboost._kernels import shards as kernels
from ocboost._shards.chunks import MemoryChunk
from ocboost._shards.weights import ChunkWeights, weigh_hypotheses
from tests.support.shards import some_shards, together


def weigh(margins, weights, shards, smoothing=1.0):
    """The weights of margins that are cut into shards; the labels are drawn, and answers follow."""
    y = np.random.default_rng(0).integers(0, 2, len(margins))
    packed = np.packbits(margins * np.where(y == 1, 1, -1)[:, None] > 0, axis=1).T

    def task(rank, collective):
        chunks = [
            MemoryChunk(
                np.empty((0, rows.size), np.uint8),
                y[rows],
                weights[rows],
                np.ascontiguousarray(packed[:, rows]),
            )
            for rows in shards[rank]
            if rows.size
        ]
        how = {
            "total": float(weights.sum()),
            "smoothing": smoothing,
            "collective": collective,
            "n_threads": 1,
        }
        return weigh_hypotheses(chunks, 0, 1, margins.shape[1], np.ones(2), **how)

    return together(task, len(shards))[0]


@given(
    st.integers(1, 30), st.integers(1, 60), st.integers(1, 4), st.integers(0, 1000), st.floats(1e-3, 100.0)
)
@settings(max_examples=40, deadline=None)
def test_any_margins(J, n, n_shards, seed, smoothing):
    rng = np.random.default_rng(seed)
    margins = np.where(rng.random((n, J)) < rng.random(J), 1, -1).astype(np.int8)
    weights = rng.random(n) + 0.01
    found = weigh(margins, weights, some_shards(n, n_shards, 2, seed), smoothing)
    expected = adaboost_weights(margins, smoothing=smoothing, sample_weight=weights)
    assert np.abs(found.alpha - expected).max() < 1e-10


def test_the_sums_are_adaboosts():
    rng = np.random.default_rng(1)
    margins = np.where(rng.random((200, 21)) < 0.6, 1, -1).astype(np.int8)
    weights = rng.random(200) + 0.1
    found = weigh(margins, weights, [[np.arange(100)], [np.arange(100, 200)]])
    d = weights / weights.sum()
    for j in range(21):
        for sign, σ in enumerate((1, -1)):
            assert np.exp(found.logs[sign, j]) == pytest.approx(d[margins[:, j] == σ].sum(), rel=1e-12)
        d = d * np.exp(-found.alpha[j] * margins[:, j])


def test_weights_beyond_the_range_of_a_double():
    """A row that almost vanished, by its own weight or by 1,500 coordinates, comes back with its digits."""
    rng = np.random.default_rng(2)
    margins = np.where(rng.random((60, 1600)) < 0.97, 1, -1).astype(np.int8)
    margins[0], margins[0, 1500:] = 1, -1
    weights = np.ones(60)
    weights[1] = 1e-290
    margins[1] = -1
    found = weigh(margins, weights, [[np.arange(30)], [np.arange(30, 60)]], smoothing=1e-3)
    expected = adaboost_weights(margins, smoothing=1e-3, sample_weight=weights)
    assert np.abs(found.alpha - expected).max() < 1e-10


def test_a_chunk_changes_to_units_of_its_own_and_loses_nothing():
    rng = np.random.default_rng(3)
    signed = np.array([0.5, -0.25, 1e-190, -1e-199])
    packed = rng.integers(0, 256, (4, 4)).astype(np.uint8)
    factors = [np.exp(rng.normal(-30, 20, 256)) for _ in range(4)]
    own, logs = ChunkWeights(signed.copy()), np.log(np.abs(signed))
    for line, factor in zip(packed, factors, strict=True):
        own.reweigh(line, factor)
        logs += np.log(factor[line ^ np.where(signed < 0, 255, 0).astype(np.uint8)])
    assert own._unit is not None
    found = np.log(np.abs(own.signed)) + own._unit * 256 * np.log(2)
    assert np.abs(found - logs).max() < 1e-9
    assert (np.sign(own.signed) == np.sign(signed)).all()


# Kernels against plain loops ----------------------------------------------------------------------------


def rows_of_kernels(n=500, seed=0):
    rng = np.random.default_rng(seed)
    column = rng.integers(0, 6, n).astype(np.uint8)
    column[rng.random(n) < 0.2] = 255
    return column, rng.normal(size=n), rng.integers(0, 256, n).astype(np.uint8)


def side_of(b, cut):
    return 2 if b == 255 else 0 if b <= cut else 1


def test_weigh_sides():
    column, signed, _ = rows_of_kernels()
    out, counts = np.zeros((3, 2)), np.zeros((3, 2), np.int64)
    kernels.weigh_sides(column, 2, signed, out, counts)
    expected, number = np.zeros((3, 2)), np.zeros((3, 2), int)
    for b, s in zip(column.tolist(), signed.tolist(), strict=True):
        expected[side_of(b, 2), int(s > 0)] += abs(s)
        number[side_of(b, 2), int(s > 0)] += 1
    assert np.allclose(out, expected, rtol=1e-14)
    assert (counts == number).all()


@pytest.mark.parametrize("listed", [False, True])
def test_reweigh_rows(listed):
    column, signed, _ = rows_of_kernels()
    signed[:3] *= 1e-150
    before, rows, values = signed.copy(), np.empty(500, np.uint32), np.empty(500)
    k = kernels.reweigh_rows(column, 2, 1, -1, -1, signed, 0.25, 4.0, listed, 1000, rows, values)
    expected = []
    for i, (b, s) in enumerate(zip(column.tolist(), before.tolist(), strict=True)):
        right = ((1, -1, -1)[side_of(b, 2)] > 0) == (s > 0)
        changed = s * (0.25 if right else 4.0)
        assert signed[i] == (changed if abs(changed) >= 1e-150 else np.copysign(1e-150, s))
        if right == listed:
            expected.append((1000 + i, (0.25 - 4.0 if listed else 4.0 - 0.25) * s))
    assert list(zip(rows[:k].tolist(), values[:k].tolist(), strict=True)) == expected


def test_pack_stumps_and_words_of_codes():
    rng = np.random.default_rng(4)
    bins = np.stack([rows_of_kernels(seed=s)[0] for s in range(3)])
    stumps = np.array(
        [[f, c, a, b, m] for f in (0, 1, 2) for c, a, b, m in ((1, 1, -1, 1), (4, -1, 1, -1), (5, 1, 1, -1))]
    )
    signed = rng.normal(size=500)
    packed = np.empty((2, 500), np.uint8)
    for group in range(2):
        kernels.pack_stumps(bins, stumps[8 * group : 8 * group + 8], packed[group])
    words = np.empty((8, 9), np.uint64)
    kernels.words_of_codes(packed, signed, words)
    for i in range(500):
        for j, (f, cut, *answers) in enumerate(stumps.tolist()):
            answer = answers[side_of(int(bins[f, i]), cut)]
            assert bool(packed[j // 8, i] & (0x80 >> j % 8)) == (answer > 0)
            margin = answer * (1 if signed[i] > 0 else -1)
            assert bool(int(words[i // 64, j]) >> (i % 64) & 1) == (margin > 0)


def test_sums_and_factors_by_code():
    _, signed, packed = rows_of_kernels(n=1003)
    sums, factor = np.zeros(256), np.exp(np.random.default_rng(1).normal(size=256))
    kernels.add_by_code(packed, signed, sums)
    codes = [int(p) ^ (255 if s < 0 else 0) for p, s in zip(packed, signed, strict=True)]
    expected = np.zeros(256)
    for code, s in zip(codes, signed, strict=True):
        expected[code] += abs(s)
    assert np.allclose(sums, expected, rtol=1e-13)
    after = signed.copy()
    least = kernels.reweigh_by_code(packed, after, factor)
    assert (after == signed * factor[codes]).all()
    assert least == np.abs(after).min()


def test_sign_weights():
    codes, out = np.array([0, 1, 2, 1], np.uint32), np.empty(4)
    kernels.sign_weights(codes, 1, np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 0.5, 2.0]), out)
    assert out.tolist() == [-1.0, 1.0, -6.0, 2.0]
    kernels.sign_weights(codes, 0, np.ones(1), np.ones(3), out)
    assert out.tolist() == [1.0, -1.0, -1.0, -1.0]
