"""Adapting cascades: whole and stage by stage, on drawn faces behind a camera that darkens one side."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocboost import adaboost_weights
from ocboost.cascade import StageAdapter, WholeAdapter, accepts, has_contrast, stage_sums
from ocboost.cascade.adapt_base import NewestWindows
from ocboost.cascade.measure import trees_evaluated
from ocboost.cascade.roc import relaxed_thresholds, threshold_for_false_positives, threshold_for_hits
from ocboost.datasets.faces import draw_toys
from ocboost.errors import InputError
from tests.support.toy_cascade import boosted

SIZES = (8, 14, 20)


def windows_of(seed, n, camera=False):
    """Drawn faces and others under noise, mixed; behind the camera the light comes from the right."""
    rng = np.random.default_rng([seed, camera])
    X = np.concatenate(draw_toys(n, seed=seed)).astype(np.float64)
    X += rng.normal(0, 35, X.shape)
    if camera:
        X = X * np.linspace(0.25, 1.0, 24) + np.linspace(0, 110, 24)
    y = np.repeat(np.array([1, -1], np.int8), n)
    order = rng.permutation(2 * n)
    return np.rint(X).clip(0, 255).astype(np.uint8)[order], y[order]


@pytest.fixture(scope="module")
def cascade():
    """Boosted on windows from everywhere."""
    windows, labels = windows_of(1, 400)
    return boosted(SIZES, windows[labels > 0], windows[labels < 0])


@pytest.fixture(scope="module")
def seen():
    return windows_of(2, 1500, camera=True)


@pytest.fixture(scope="module")
def unseen():
    return windows_of(3, 1500, camera=True)


@pytest.fixture(scope="module")
def adapter(cascade, seen):
    made = WholeAdapter(cascade, smoothing=500.0, batch_size=50)
    for at in range(0, 3000, 300):
        made.update(seen[0][at : at + 300], seen[1][at : at + 300])
    return made


def misses(scores, y, rate=0.05):
    others = np.sort(scores[y < 0])[::-1]
    return float(np.mean(scores[y > 0] <= others[int(rate * others.size)]))


class TestWhole:
    def test_before_it_has_learnt_it_says_what_the_cascade_says(self, cascade, unseen):
        sums = stage_sums(cascade, unseen[0]).sum(axis=1)
        np.testing.assert_allclose(WholeAdapter(cascade).score(unseen[0]), sums / 2, rtol=1e-5, atol=1e-5)

    def test_with_a_head_for_all_it_is_adaboost_from_the_offset(self, cascade, seen):
        windows, y = seen
        made = WholeAdapter(cascade, head=5000, smoothing=300.0, face_weight=2.0)
        made.update(windows, y)
        turn = np.array([(np.cumsum(y == label)[i] % 10 == 0) for i, label in enumerate(y)])
        learnt = has_contrast(windows) & ~turn
        assert has_contrast(windows).all()
        X, labels = windows[learnt], y[learnt]
        margins = cascade.stumps().answers(X.reshape(len(X), -1)) * labels[:, None]
        sums = stage_sums(cascade, X).sum(axis=1)
        weights = np.where(labels > 0, 2.0, 1.0)
        enter = weights * np.exp(-labels * (made.scale * sums + made.shift))
        exact = adaboost_weights(margins, sample_weight=enter, smoothing=300.0 * enter.mean())
        np.testing.assert_allclose(made.alpha, exact, rtol=1e-4, atol=1e-6)

    def test_it_learns_the_camera(self, cascade, adapter, unseen):
        windows, y = unseen
        before, after = stage_sums(cascade, windows).sum(axis=1), adapter.score(windows)
        assert misses(after, y) < 0.8 * misses(before, y)

    def test_one_by_one_is_batches_of_one(self, cascade, seen):
        windows, y = seen[0][:600], seen[1][:600]
        single, together = (WholeAdapter(cascade, batch_size=1, calibrate_on=100) for _ in range(2))
        for window, label in zip(windows, y, strict=True):
            single.update(window, int(label))
        together.update(windows[:101], y[:101])
        together.update(windows[101:], y[101:])
        assert single.n_seen == together.n_seen == 600
        assert single.n_held_out == together.n_held_out
        assert single.scale == pytest.approx(together.scale, rel=0.3)
        assert single.alpha.any()

    @pytest.mark.parametrize("how", [{"hits": 0.9}, {"false_positives": 0.05}, {}])
    def test_the_written_cascade_is_the_classifier(self, adapter, cascade, unseen, how):
        windows, _ = unseen
        written = adapter.adapted(keep=2, between=(), pass_rate=0.995, **how)
        assert written.n_stages == 3
        sums = stage_sums(written, windows)
        np.testing.assert_allclose(sums[:, -1], adapter.score(windows) - adapter.shift, atol=1e-4)
        assert (written.stage_threshold[:2] <= cascade.stage_threshold[:2]).all()
        passes = (sums >= written.stage_threshold - 1e-5).all(axis=1) & has_contrast(windows)
        np.testing.assert_array_equal(accepts(written, windows), passes)
        held = adapter._held[-1 if "false_positives" in how else 1].windows
        share = float((stage_sums(written, held, [2])[:, 0] >= written.stage_threshold[2] - 1e-5).mean())
        if "false_positives" in how:
            assert share <= 0.05
        else:
            assert how.get("hits", 0.95) <= share <= how.get("hits", 0.95) + 0.03

    def test_a_short_stage_has_the_stumps_that_say_most(self, adapter, cascade):
        plain, written = (
            adapter.adapted(keep=2, between=()),
            adapter.adapted(keep=2, between=(9,), pass_rate=0.99),
        )
        assert written.n_stages == 4
        assert written.n_trees == plain.n_trees + 9
        short, last = (written.leaf_pairs[written.trees_of(stage)] for stage in (2, 3))
        spread = np.abs(last[:, 1] - last[:, 0])
        np.testing.assert_array_equal(short, last[np.sort(np.argsort(-spread)[:9])])
        for faces, n in ((adapter._faces.windows, 1500), (adapter._held[1].windows, 150)):
            assert len(faces) == n
            passes = (stage_sums(written, faces)[:, :3] >= written.stage_threshold[:3]).all(axis=1).mean()
            assert passes >= 0.99
        assert (written.stage_threshold[:2] <= cascade.stage_threshold[:2]).all()
        assert written.stage_threshold[3] == plain.stage_threshold[2]

    def test_by_default_the_cheapest_form_is_taken(self, adapter):
        others = adapter._held[-1].windows
        costs = [float(trees_evaluated(adapter.adapted(keep=n), others).mean()) for n in (0, 3)]
        assert float(trees_evaluated(adapter.adapted(), others).mean()) == min(costs)
        assert costs[0] != costs[1]

    def test_few_windows_are_enough_to_be_adapted_to(self, cascade, seen):
        made = WholeAdapter(cascade)
        made.update(seen[0][:120], seen[1][:120])
        assert not made.alpha.any()
        early = made.adapted()
        assert early.n_trees > sum(SIZES)
        assert (early.leaf_pairs[early.trees_of(early.n_stages - 1)] != cascade.leaf_pairs / 2).any()
        assert not made.alpha.any()  # it goes on waiting
        assert made.scale == 0.5

    def test_without_first_stages(self, adapter, unseen):
        written = adapter.adapted(keep=0, between=())
        assert written.n_stages == 1
        assert written.n_trees == sum(SIZES)

    def test_low_contrast_is_not_learnt(self, cascade):
        made = WholeAdapter(cascade)
        made.update(np.full((5, 24, 24), 100, np.uint8), np.ones(5, np.int8))
        assert made.n_seen == 0

    def test_turned_labels_leave_it_as_it_was(self, cascade, seen):
        made, clean = WholeAdapter(cascade), WholeAdapter(cascade)
        with pytest.raises(InputError, match="turned round"):
            made.update(seen[0], -seen[1])
        assert (made.n_seen, made.n_held_out, len(made._faces)) == (0, (0, 0), 0)
        for each in (made, clean):
            each.update(*seen)
        np.testing.assert_array_equal(made.alpha, clean.alpha)
        assert made.scale == clean.scale

    def test_refused_weights_leave_it_as_it_was(self, cascade, seen):
        for kind in (WholeAdapter, StageAdapter):
            made, clean = kind(cascade), kind(cascade)
            for each in (made, clean):
                each.update(seen[0][:1500], seen[1][:1500])
            weights = np.ones(1500)
            weights[1200] = 1e297
            with pytest.raises(InputError, match="sample_weight must be 0 or from 1e-06"):
                made.update(seen[0][1500:], seen[1][1500:], weights)
            for each in (made, clean):
                each.update(seen[0][1500:], seen[1][1500:])
            assert made.n_seen == clean.n_seen
            np.testing.assert_array_equal(made.adapted().leaf, clean.adapted().leaf)

    def test_windows_of_no_weight_are_as_if_never_shown(self, cascade, seen):
        made, clean = WholeAdapter(cascade), WholeAdapter(cascade)
        made.update(seen[0][:900], -seen[1][:900], np.zeros(900))
        for each in (made, clean):
            each.update(*seen)
        np.testing.assert_array_equal(made.alpha, clean.alpha)
        assert made.n_seen == clean.n_seen == 3000

    def test_what_it_refuses(self, cascade, adapter, seen):
        made = WholeAdapter(cascade)
        with pytest.raises(InputError, match="uint8 of shape"):
            made.update(seen[0][:, :20], seen[1])
        with pytest.raises(InputError, match="-1 and \\+1"):
            made.update(seen[0][:2], [0, 1])
        with pytest.raises(InputError, match="at least one window"):
            made.update(seen[0][:0], [])
        with pytest.raises(InputError, match="got 0 faces and 0 others"):
            made.adapted()
        with pytest.raises(InputError, match="not both"):
            adapter.adapted(hits=0.9, false_positives=0.1)
        with pytest.raises(InputError, match="keep must be"):
            adapter.adapted(keep=4)
        for bad in (
            {"face_weight": 0.0},
            {"smoothing": -1.0},
            {"forgetting": 0.0},
            {"order": 0},
            {"head": 0},
        ):
            with pytest.raises(InputError, match=next(iter(bad))):
                WholeAdapter(cascade, **bad)

    def test_forgetting_follows_a_change(self, cascade, seen, unseen):
        clear, y = windows_of(4, 1500)
        kept, fading = (WholeAdapter(cascade, smoothing=20.0, forgetting=f) for f in (1.0, 0.999))
        for made in (kept, fading):
            made.update(clear, y)
            made.update(255 - clear, -y)
            made.update(*seen)
        assert misses(fading.score(unseen[0]), unseen[1]) < misses(kept.score(unseen[0]), unseen[1])


class TestStages:
    def test_few_others_move_thresholds_alone(self, cascade, seen):
        windows, y = seen
        some = np.concatenate([np.flatnonzero(y > 0), np.flatnonzero(y < 0)[:100]])
        made = StageAdapter(cascade, pass_rate=0.98)
        made.update(windows[some], y[some])
        adapted = made.adapted()
        assert made.n_adapted == 0
        np.testing.assert_array_equal(adapted.leaf, cascade.leaf)
        assert (adapted.stage_threshold != cascade.stage_threshold).all()

    def test_many_others_move_the_leaves(self, cascade, seen, unseen):
        made = StageAdapter(cascade, pass_rate=0.98, smoothing=300.0, batch_size=50)
        for at in range(0, 3000, 300):
            made.update(seen[0][at : at + 300], seen[1][at : at + 300])
        adapted = made.adapted()
        assert made.n_adapted >= 2
        assert adapted.n_stages == cascade.n_stages
        faces = unseen[0][unseen[1] > 0]
        assert accepts(adapted, faces).mean() == pytest.approx(0.98**3, abs=0.03)
        for k, stage in enumerate(made._stages[: made.n_adapted]):  # what AdaBoost makes small
            sums = (stage_sums(c, unseen[0], [k])[:, 0] for c in (cascade, adapted))
            before, after = (np.exp(-unseen[1] * (stage.scale * s + stage.shift)).mean() for s in sums)
            assert after < before - 0.002

    def test_one_by_one(self, cascade, seen):
        made = StageAdapter(cascade, least_others=50, batch_size=1)
        for window, label in zip(seen[0][:400], seen[1][:400], strict=True):
            made.update(window, int(label))
        assert made.n_seen == 400
        assert made.n_adapted >= 1
        assert np.isfinite(made.adapted().leaf).all()

    def test_what_it_refuses(self, cascade):
        for bad in ({"pass_rate": 0.0}, {"pass_rate": 1.5}, {"forgetting": 2.0}, {"least_others": 3}):
            with pytest.raises(InputError, match=next(iter(bad))):
                StageAdapter(cascade, **bad)

    def test_faces_alone_do_not_pile_up(self, cascade, seen):
        made = StageAdapter(cascade)
        faces = seen[0][seen[1] > 0]
        for _ in range(8):
            made.update(faces, np.ones(len(faces), np.int8))
        assert all(sum(len(y) for _, y, _ in stage.waiting) < 7000 for stage in made._stages)


class TestBars:
    @given(st.lists(st.floats(-5, 5), min_size=1, max_size=50), st.floats(0.01, 1.0))
    def test_shares(self, scores, rate):
        found = np.array(scores)
        assert np.mean(found >= threshold_for_hits(found, rate)) >= rate - 1e-9
        assert (
            rate == 1.0
            or np.mean(found.astype(np.float32) >= threshold_for_false_positives(found, rate)) <= rate + 1e-9
        )

    @given(st.integers(1, 40), st.integers(1, 4), st.floats(0.5, 1.0), st.integers(0, 9))
    def test_relaxed_passes_enough_and_raises_nothing(self, n, S, rate, seed):
        rng = np.random.default_rng(seed)
        sums, bars = rng.normal(size=(n, S)), rng.normal(size=S).astype(np.float32)
        lower = relaxed_thresholds(sums, bars, rate)
        assert (lower <= bars).all()
        assert (sums >= lower).all(axis=1).mean() >= rate - 1e-9

    def test_contrast_is_the_deviation_of_inner_pixels(self):
        rng = np.random.default_rng(0)
        windows = (
            rng.normal(100, rng.uniform(5, 15, (200, 1, 1)), (200, 24, 24)).clip(0, 255).astype(np.uint8)
        )
        plain = [np.std(window[1:-1, 1:-1].astype(np.float64)) > 10 for window in windows]
        np.testing.assert_array_equal(has_contrast(windows), plain)
        assert 20 < sum(plain) < 180

    @given(st.integers(1, 7), st.lists(st.integers(0, 9), max_size=8))
    def test_the_newest_are_kept(self, most, sizes):
        kept, shade = NewestWindows(most, 24, 24), 0
        for size in sizes:
            kept.add(
                np.arange(shade, shade + size).astype(np.uint8)[:, None, None]
                * np.ones((1, 24, 24), np.uint8)
            )
            shade += size
        assert sorted(kept.windows[:, 0, 0].tolist()) == list(range(max(0, shade - most), shade))
