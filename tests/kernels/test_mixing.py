"""The kernels that mix experts, against their plain twin, and what they are for."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost._kernels.calibration import FLOOR, N_KNOTS, REACH
from ocboost._kernels.mixing import GAMMA, N_MIXERS, PRIOR_COUNT, RHO
from ocboost.estimators.adaptive.mixing import FINAL_SHARE_PRIOR, MAX_FINAL_LAG, Mixing
from tests.naive.mixing import NaiveMixer, NaiveMixing

STRICT = {"rtol": 1e-8, "atol": 1e-11}  # log p / (1 - p) near p = 1 loses digits, and maps may be steep


def scores_of(rng, E, K, code, sizes=(0.3, 1.0, 4.0, 30.0)):
    """Scores that know something of the class; some are strange."""
    scores = rng.normal(size=(E, K)) * rng.choice(sizes, (E, 1))
    scores[np.arange(E), code] += rng.random(E)
    return scores


def issued(mixing, scores):
    record = np.full((mixing.record_rows, mixing.n_classes), np.nan)
    record[: mixing.n_experts] = scores
    mixing.issue(record)
    return record


def assert_same_state(mixing, twin):
    E = mixing.n_experts
    np.testing.assert_allclose(mixing.share, twin.share, **STRICT)
    np.testing.assert_allclose(mixing.prior, twin.prior, **STRICT)
    np.testing.assert_allclose(mixing.final_share, twin.final_share, **STRICT)
    np.testing.assert_allclose(mixing.weights, [mixer.w for mixer in twin.mixers], rtol=1e-8, atol=1e-10)
    for inverse, mixer in zip(mixing.inverses, twin.mixers, strict=True):
        np.testing.assert_allclose(inverse @ mixer.A, np.eye(E), rtol=0, atol=1e-8)
    np.testing.assert_allclose(mixing.scales, [[s.mean, s.n] for s in twin.scales], **STRICT)
    finals = [twin.temperature, twin.curvature, *(s.mean for s in twin.final_scales)]
    np.testing.assert_allclose(mixing.final[:4], finals, **STRICT)
    rates = np.concatenate([mixing.rates.reshape(-1, N_KNOTS), mixing.final_rates])
    counts = np.concatenate([mixing.counts.reshape(-1, N_KNOTS), mixing.final_counts])
    maps = [*(m for maps in twin.maps for m in maps), *twin.final_maps, twin.top_map]
    for rate, count, naive in zip(rates, counts, maps, strict=True):
        for i, (expected, n) in naive.knots.items():
            np.testing.assert_allclose((rate[i], count[i]), (expected, n), rtol=1e-8, atol=1e-10)
        assert set(np.flatnonzero(count > naive.prior)) <= set(naive.knots)
    for e in range(E + 1):
        np.testing.assert_allclose(mixing.recent[e, :2], twin.recent(e), **STRICT)
    np.testing.assert_allclose(mixing.mean_lag, twin.mean_lag, **STRICT)


@pytest.mark.parametrize("K", [2, 3, 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_labels_on_time(K, weighted):
    rng, E = np.random.default_rng(K), 5
    mixing, twin = Mixing(E, K), NaiveMixing(E, K)
    for _ in range(300):
        code = int(rng.integers(K))
        scores = scores_of(rng, E, K, code)
        scores[0] *= 1e-3  # one that hardly says anything
        weight = float(rng.choice([0.01, 0.5, 1.0, 3.0, 500.0])) if weighted else 1.0
        record, expected = issued(mixing, scores), twin.issue(scores)
        np.testing.assert_allclose(record, expected.rows(), **STRICT)
        mixing.learn(record, code, weight, 0)
        twin.learn(expected, code, weight, 0)
    assert_same_state(mixing, twin)


@pytest.mark.parametrize("K", [2, 3, 7])
@pytest.mark.parametrize("mean_lag", [5, 80])
def test_late_labels_and_two_tracks(K, mean_lag):
    rng, E = np.random.default_rng(K), 4
    mixing, twin = Mixing(E, K), NaiveMixing(E, K)
    waiting, both = [], set()
    for n in range(300):
        code = int(rng.integers(K))
        scores = scores_of(rng, E, K, code)
        record, expected = issued(mixing, scores), twin.issue(scores)
        np.testing.assert_allclose(record, expected.rows(), **STRICT)
        waiting.append((n, scores, record, expected, code))
        while len(waiting) > (0 if n < 30 else rng.integers(2 * mean_lag)):
            at = int(rng.integers(len(waiting)))
            number, scores, record, expected, code = waiting.pop(at)
            lag, weight = n - number, float(rng.choice([0.2, 1.0, 2.0]))
            if lag and not mixing.two_tracks:
                mixing.begin_second_track()
                twin.begin_second_track()
            if len(record) < mixing.record_rows:
                record = mixing.with_two_tracks(record)
                M = N_MIXERS
                expected.experts = np.vstack([expected.experts[:M], expected.experts])
            if mixing.two_tracks:
                mixing.learn_fresh(issued(mixing, scores), code, weight)
                twin.learn_fresh(twin.issue(scores), code, weight)
            mixing.learn(record, code, weight, lag)
            twin.learn(expected, code, weight, lag)
            both.add(mixing.has_final)
    assert mixing.two_tracks
    assert both == ({True} if mean_lag == 5 else {True, False})
    assert_same_state(mixing, twin)


@pytest.mark.parametrize("K", [2, 3])
def test_extreme_scores_are_limited_and_those_that_are_no_numbers_count_as_0(K):
    rng, E = np.random.default_rng(0), 6
    mixing, twin = Mixing(E, K), NaiveMixing(E, K)
    strange = [1e300, -1e300, 1.7e308, -1.7e308, np.nan, np.inf, -np.inf, 0.0, 1e-300]
    for i in range(300):
        code = int(rng.integers(K))
        scores = np.where(rng.random((E, K)) < 0.4, rng.choice(strange, (E, K)), rng.normal(size=(E, K)))
        record, expected = issued(mixing, scores), twin.issue(scores)
        np.testing.assert_allclose(record, expected.rows(), rtol=1e-9, atol=1e-10, err_msg=str(i))
        assert np.abs(record[: 2 * E]).max() <= 2 * FLOOR
        mixing.learn(record, code, 1.0, 0)
        twin.learn(expected, code, 1.0, 0)
    assert_same_state(mixing, twin)
    zeros = np.zeros((E, K))
    np.testing.assert_array_equal(issued(mixing, np.full((E, K), np.nan)), issued(mixing, zeros))


@pytest.mark.parametrize(("K", "E"), [(2, 6), (2, 20), (3, 6)])
def test_after_many_rows_inverses_are_still_inverses(K, E):
    """What rounding leaves would grow by 1/γ a row, e¹⁰⁰ times here, if anything amplified it."""
    rng = np.random.default_rng(1)
    mixing = Mixing(E, K)
    plain = [NaiveMixer(E, GAMMA[m], RHO[m]) for m in (1, 3)]
    for n in range(20_000):
        code = int(rng.integers(K))
        scores = scores_of(rng, E, K, code, sizes=(0.3, 2.0))
        scores[1] = scores[0]  # two that are the same
        record = issued(mixing, scores)
        mixing.learn(record, code, 1.0, 0)
        for mixer in plain:
            mixer.learn(record[:E], code, 1.0, n)
    for m, mixer in zip((1, 3), plain, strict=True):
        np.testing.assert_array_equal(mixing.inverses[m], mixing.inverses[m].T)
        np.testing.assert_allclose(mixing.inverses[m] @ mixer.A, np.eye(E), rtol=0, atol=1e-7)
        np.testing.assert_allclose(mixing.weights[m], mixer.w, rtol=1e-6, atol=1e-8)
    for inverse in mixing.inverses:
        np.testing.assert_array_equal(inverse, inverse.T)
        assert np.linalg.eigvalsh(inverse).min() > 0.0
    assert all(np.isfinite(array).all() for array in mixing.tree().values() if isinstance(array, np.ndarray))


def test_a_mixer_that_rounding_has_spoilt_begins_again():
    mixing = Mixing(3, 2)
    mixing.inverses[1, 0, 0] = -1e9
    mixing.weights[1] = 5.0
    record = issued(mixing, [[0.0, 1.0], [0.0, 2.0], [0.0, -1.0]])
    mixing.learn(record, 1, 1.0, 0)
    np.testing.assert_array_equal(mixing.inverses[1], np.eye(3) / RHO[1])
    np.testing.assert_array_equal(mixing.weights[1], np.full(3, 1 / 3))
    assert not np.array_equal(mixing.inverses[0], np.eye(3) / RHO[0])


@pytest.mark.parametrize("K", [2, 3, 7])
def test_probabilities_sum_to_one_whatever_was_learnt(K):
    rng, E = np.random.default_rng(K), 4
    mixing = Mixing(E, K)
    for _ in range(500):
        record = issued(mixing, scores_of(rng, E, K, 0, sizes=(1.0, 100.0)))
        np.testing.assert_allclose(record[2 * E :].sum(axis=1), 1.0, rtol=0, atol=1e-9)
        assert (record[2 * E :] >= 0.0).all()
        assert (record[-1] > 0.0).all()
        mixing.learn(record, 0, float(rng.choice([1.0, 100.0])), int(rng.choice([0, 20])))


# Maps -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.05, 0.7, 1.0, 3.0])
def test_a_map_that_has_learnt_nothing_is_the_identity(scale):
    mixing = Mixing(1, 2)
    mixing.scales[0, 0] = scale
    end = REACH * scale
    for z in (*np.linspace(-1.5 * end, 1.5 * end, 101), -end, end, 0.0, -FLOOR, FLOOR):
        if abs(z) <= FLOOR:
            record = issued(mixing, [[0.0, z]])
            np.testing.assert_allclose(record[1, 1], z, rtol=1e-14, atol=1e-14)
    rng = np.random.default_rng(0)
    mixing = Mixing(1, 4)
    mixing.scales[0, 0] = scale
    for _ in range(50):
        record = issued(mixing, rng.normal(size=(1, 4)) * 2.0)
        np.testing.assert_allclose(record[1], record[0], rtol=1e-12, atol=1e-12)


def test_beyond_its_knots_a_map_has_slope_one():
    mixing = Mixing(1, 2)
    mixing.levels[0, 0, [0, -1]] = -2.0, 2.5
    mixing.counts[0, 0, [0, -1]] = PRIOR_COUNT + 1.0
    for z, mapped in ((-4.0, -2.0), (-7.0, -5.0), (4.0, 2.5), (6.0, 4.5), (12.0, 10.5), (2.0, 2.0)):
        np.testing.assert_allclose(issued(mixing, [[0.0, z]])[1, 1], mapped, rtol=1e-13)


@pytest.mark.parametrize("K", [2, 3])
def test_a_map_learns_how_much_an_expert_exaggerates(K):
    rng = np.random.default_rng(0)
    mixing, losses = Mixing(1, K), []
    for _ in range(6000):
        true = np.concatenate([[0.0], rng.normal(size=K - 1) * 1.5])
        p = np.exp(true) / np.exp(true).sum()
        code = int(rng.choice(K, p=p))
        record = issued(mixing, [3.0 * true])
        calibrated, plain = record[2 + N_MIXERS], record[2 + N_MIXERS + 1]
        losses.append(-np.log([p[code], calibrated[code], plain[code]]))
        mixing.learn(record, code, 1.0, 0)
    best, calibrated, plain = np.mean(losses[2000:], axis=0)
    assert plain - best > 0.2
    assert calibrated - best < 0.03


# Shares -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [2, 3])
def test_the_best_expert_gets_the_share_and_loses_it_when_another_is_better(K):
    rng, E = np.random.default_rng(0), 5
    mixing = Mixing(E, K)
    for best in (3, 1):
        for _ in range(400):
            code = int(rng.integers(K))
            scores = rng.normal(size=(E, K))
            scores[best, code] += 6.0
            mixing.learn(issued(mixing, scores), code, 1.0, 0)
        assert int(mixing.influence().argmax()) == best
        assert mixing.influence()[best] > 0.5
        assert int(mixing.recent[:E, 0].argmax()) == best or best == 1


def test_a_late_label_moves_shares_less():
    moves = []
    for lag in (0, 10, 100):
        mixing = Mixing(3, 2)
        mixing.learn(issued(mixing, [[0.0, 3.0], [0.0, -3.0], [0.0, 0.0]]), 1, 1.0, lag)
        moves.append(np.abs(mixing.share - mixing.prior).sum())
    assert moves[0] > 1.3 * moves[1] > 3.0 * moves[2] > 0.0


def test_where_all_that_has_share_is_hopelessly_wrong_the_prior_returns():
    mixing = Mixing(2, 2)
    mixing.only(0)
    record = issued(mixing, [[0.0, -12.0], [0.0, 12.0]])
    mixing.learn(record, 1, 100.0, 0)
    np.testing.assert_array_equal(mixing.share, mixing.prior)


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("factor", [0.4, 3.0])
def test_the_last_stage_corrects_confidence(K, factor):
    """Only the plain expert has share, which is too sure of itself, or not sure enough."""
    rng = np.random.default_rng(0)
    mixing, losses = Mixing(1, K), []
    for _ in range(4000):
        true = np.concatenate([[0.0], rng.normal(size=K - 1) * 1.5])
        p = np.exp(true) / np.exp(true).sum()
        code = int(rng.choice(K, p=p))
        mixing.share[:] = 0.0
        mixing.share[N_MIXERS + 1] = 1.0
        record = issued(mixing, [factor * true])
        losses.append(-np.log([p[code], record[-2 - 3, code], record[-1, code]]))
        mixing.learn(record, code, 1.0, 0)
    best, shared, last = np.mean(losses[1500:], axis=0)
    np.testing.assert_allclose(mixing.final[0], 1.0 / factor, rtol=0.25)  # drawn to 1
    assert shared - best > 0.03
    assert last - best < 0.3 * (shared - best)
    assert mixing.final_share[0] < FINAL_SHARE_PRIOR[0]


def test_the_last_stage_is_left_out_where_labels_are_very_late():
    rng = np.random.default_rng(0)
    mixing = Mixing(2, 3)
    for _ in range(300):
        code = int(rng.integers(3))
        mixing.learn(issued(mixing, scores_of(rng, 2, 3, code)), code, 1.0, 50)
    assert mixing.mean_lag > MAX_FINAL_LAG
    final = mixing.final.copy()
    record = issued(mixing, scores_of(rng, 2, 3, 0))
    for row in record[-5:-1]:
        np.testing.assert_array_equal(row, record[-1])
    mixing.learn(record, 0, 1.0, 50)
    np.testing.assert_array_equal(mixing.final, final)
