"""Short stages: values are those of the cascade, and a stage scores as GentleBoost says."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost.cascade import short_stages, stage_sums
from ocboost.cascade.short_stages import BinnedWindows, FeatureValues
from ocboost.cascade.windows import has_contrast
from tests.naive.cascade import plain_factor, plain_value
from tests.naive.gentle import every_stump, reweighed
from tests.support.cascades import noise, random_cascade
from tests.support.toy_cascade import noisy, toy_cascade

N_BINS = 2 * short_stages.CUTS_OF_EACH + 1


def test_values_are_those_the_cascade_compares_with_its_thresholds():
    cascade = random_cascade(4, share_tilted=0.3)
    windows = noise(1, 25, 7, 8)
    windows = windows[has_contrast(windows)]
    values = FeatureValues(cascade)
    np.testing.assert_array_equal(values.usable, np.flatnonzero(~cascade.tilted))
    assert 0 < values.usable.size < cascade.n_features
    want = [[plain_value(cascade, w, f, plain_factor(w)[0]) for w in windows] for f in values.usable]
    np.testing.assert_allclose(values.of(windows), want, rtol=0, atol=2e-6)


def test_of_whole_weights_they_are_the_same_bits_however_many_at_once(monkeypatch):
    cascade, (faces, _) = toy_cascade(), noisy(1, 30)
    values = FeatureValues(cascade)
    found = values.of(faces)
    monkeypatch.setattr(short_stages, "VALUES_AT_ONCE", 7)
    np.testing.assert_array_equal(values.of(faces), found)
    want = [[plain_value(cascade, w, f, plain_factor(w)[0]) for w in faces[:5]] for f in range(30)]
    np.testing.assert_array_equal(found[:, :5], np.array(want, np.float32))
    assert values.of(faces[:0]).shape == (30, 0)


def test_bins_are_between_quantiles_of_either_class():
    cascade, (faces, others) = toy_cascade(), noisy(2, 60)
    values = FeatureValues(cascade)
    binned = BinnedWindows(values, faces, others[:40])
    np.testing.assert_array_equal(binned.labels, [1] * 60 + [-1] * 40)
    found = values.of(np.concatenate([faces, others[:40]]))
    for row in range(0, 30, 7):
        cuts = []
        for own in (sorted(found[row, :60]), sorted(found[row, 60:])):
            cuts += [own[int((k + 0.5) / 8 * len(own))] for k in range(8)]
        np.testing.assert_array_equal(binned.cuts[row], sorted(cuts))
        assert binned.bins[row].tolist() == [sum(cut <= value for cut in cuts) for value in found[row]]


def gentle_boost(binned, n_stumps, rng):
    """The sums that GentleBoost's stumps give to the windows it learns from, in plain loops."""
    labels = binned.labels.tolist()
    n_faces = labels.count(1.0)
    weights = [0.75 / n_faces if y > 0 else 0.25 / (len(labels) - n_faces) for y in labels]
    sums, chosen = np.zeros(len(labels)), []
    for _ in range(n_stumps):
        some = sorted(rng.permutation(len(binned.bins))[: short_stages.FEATURES_A_ROUND].tolist())
        every = every_stump(binned.bins, some, N_BINS, weights, labels)
        _, f, cut, answers = min(every, key=lambda each: (round(each[0], 12), some.index(each[1]), each[2]))
        answers = [min(max(a, -0.98), 0.98) for a in answers]
        sums += [answers[int(bin_ > cut)] for bin_ in binned.bins[f]]
        weights = reweighed(binned.bins[f], cut, answers, labels, weights)
        chosen.append((f, cut))
    return sums, chosen


@pytest.mark.parametrize(("seed", "features"), [(0, 12), (1, 1000)])
def test_a_stage_scores_as_plain_loops_boost(seed, features, monkeypatch):
    monkeypatch.setattr(short_stages, "FEATURES_A_ROUND", features)
    cascade, (faces, others) = toy_cascade(), noisy(6 + seed, 25)
    windows = np.concatenate([faces, others])
    binned = BinnedWindows(FeatureValues(cascade), faces, others)
    stage = binned.stage(4, np.random.default_rng(seed))
    want, chosen = gentle_boost(binned, 4, np.random.default_rng(seed))
    assert stage.feature.tolist() == [f for f, _ in chosen]
    np.testing.assert_array_equal(stage.threshold, [binned.cuts[f, cut] for f, cut in chosen])
    whole = stage.added_to(cascade, -0.25)
    assert whole.n_stages == cascade.n_stages + 1
    assert whole.stage_threshold[-1] == -0.25
    np.testing.assert_allclose(stage_sums(whole, windows)[:, -1], want, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(stage_sums(whole, windows)[:, :-1], stage_sums(cascade, windows))


def test_features_are_counted_as_the_cascade_counts_them():
    # Where some are tilted, the rows of the bins are not the numbers of the features.
    cascade = random_cascade(4, share_tilted=0.5)
    windows = noise(3, 200, 7, 8)
    windows = windows[has_contrast(windows)]
    values = FeatureValues(cascade)
    f = int(values.usable[-1])
    own = values.of(windows)[-1]
    assert f > len(values.usable) - 1
    high = own > np.median(own)
    stage = BinnedWindows(values, windows[high], windows[~high]).stage(1, np.random.default_rng(0))
    assert stage.feature.tolist() == [f]
    sums = stage_sums(stage.added_to(cascade, 0.0), windows)[:, -1]
    assert sums[high].mean() > sums[~high].mean() + 1.0


def test_no_answer_is_certain():
    cascade, (faces, others) = toy_cascade(), noisy(8, 1)
    binned = BinnedWindows(FeatureValues(cascade), np.repeat(faces, 5, axis=0), others)
    stage = binned.stage(3, np.random.default_rng(0))
    np.testing.assert_array_equal(np.abs(stage.leaves), 0.98)


def test_the_first_stump_of_more_faces_than_others_is_not_that_of_their_counts():
    """Faces have three quarters of the weight, however many there are."""
    cascade, (faces, others) = toy_cascade(), noisy(9, 40)
    first = []
    for times in (1, 5):
        binned = BinnedWindows(FeatureValues(cascade), np.repeat(faces, times, axis=0), others)
        stage = binned.stage(1, np.random.default_rng(0))
        first.append((stage.feature[0], *stage.leaves[0].round(9)))
    assert first[0] == first[1]
