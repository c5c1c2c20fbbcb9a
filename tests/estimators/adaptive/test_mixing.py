"""The state of the mix: two tracks, taking over, influence, files."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost import ModelFileError
from ocboost._core.codec import read
from ocboost._core.file_format import from_bytes, to_bytes
from ocboost._kernels.mixing import N_MIXERS
from ocboost.estimators.adaptive.mixing import Mixing
from tests.kernels.test_mixing import issued, scores_of
from tests.support.saved_trees import GONE, changed

E = 4


def taught(K=3, n=150, seed=0, mixing=None, lag=0):
    mixing = Mixing(E, K) if mixing is None else mixing
    rng = np.random.default_rng(seed)
    for _ in range(n):
        code = int(rng.integers(K))
        record = issued(mixing, scores_of(rng, E, K, code))
        if mixing.two_tracks:
            mixing.learn_fresh(record, code, 1.0)
        mixing.learn(record, code, float(rng.choice([0.5, 1.0])), lag)
    return mixing


def state_of(mixing):
    return to_bytes("x", mixing.tree())


def resumed(tree, K=3):
    mixing = Mixing(E, K)
    read(tree, "a file", mixing.resume)
    return mixing


def late(K=3):
    """With two tracks that have gone apart."""
    mixing = taught(K)
    mixing.begin_second_track()
    return taught(K, 50, 1, mixing, lag=3)


@pytest.mark.parametrize("K", [2, 3])
def test_a_second_track_begins_as_a_clone_and_changes_no_prediction(K):
    mixing = taught(K)
    scores = scores_of(np.random.default_rng(5), E, K, 0)
    before, rows, shares = issued(mixing, scores), mixing.record_rows, mixing.share.copy()
    mixing.begin_second_track()
    after = issued(mixing, scores)
    assert mixing.two_tracks
    assert mixing.n_mixers == 2 * N_MIXERS
    assert mixing.record_rows == len(after) == rows + N_MIXERS
    assert mixing.possible_record_rows == (rows + N_MIXERS, rows)
    np.testing.assert_allclose(after[-1], before[-1], rtol=1e-12)
    np.testing.assert_allclose(mixing.share.sum(), 1.0, rtol=1e-12)
    np.testing.assert_allclose(mixing.prior.sum(), 1.0, rtol=1e-12)
    np.testing.assert_allclose(mixing.share[:N_MIXERS] * 2.0, shares[:N_MIXERS])
    np.testing.assert_allclose(mixing.influence().sum(), 1.0)


@pytest.mark.parametrize("K", [2, 3])
def test_a_record_from_before_the_second_track_is_as_if_it_had_been_there(K):
    mixing = taught(K)
    scores = scores_of(np.random.default_rng(5), E, K, 0)
    record = issued(mixing, scores)
    mixing.begin_second_track()
    np.testing.assert_allclose(mixing.with_two_tracks(record), issued(mixing, scores), rtol=1e-12)


def test_the_second_track_learns_from_fresh_records_and_the_first_from_issued_ones():
    mixing, rng = taught(), np.random.default_rng(2)
    mixing.begin_second_track()
    weights = mixing.weights.copy()
    record = issued(mixing, scores_of(rng, E, 3, 1))
    mixing.learn_fresh(record, 1, 1.0)
    np.testing.assert_array_equal(mixing.weights[:N_MIXERS], weights[:N_MIXERS])
    assert (mixing.weights[N_MIXERS:] != weights[N_MIXERS:]).any(axis=1).all()
    weights = mixing.weights.copy()
    mixing.learn(record, 1, 1.0, 5)
    np.testing.assert_array_equal(mixing.weights[N_MIXERS:], weights[N_MIXERS:])
    np.testing.assert_allclose(mixing.weights[:N_MIXERS], mixing.weights[N_MIXERS:], rtol=1e-12)


@pytest.mark.parametrize("other", [taught, late])
def test_maps_and_mixers_are_taken_over_but_no_shares(other):
    trial, mixing = other(), Mixing(E, 3)
    mixing.take_over(trial)
    assert mixing.two_tracks == trial.two_tracks
    np.testing.assert_array_equal(mixing.share, mixing.prior)
    np.testing.assert_array_equal(mixing.final_share, Mixing(E, 3).final_share)
    assert mixing.recent.sum() == 0.0
    for name in ("scales", "rates", "levels", "counts", "weights", "inverses", "final", "final_rates"):
        np.testing.assert_array_equal(getattr(mixing, name), getattr(trial, name))
    before = state_of(trial)
    taught(3, 20, 7, mixing)
    assert state_of(trial) == before
    assert np.isfinite(issued(mixing, np.zeros((E, 3)))).all()


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("two_tracks", [False, True])
def test_one_expert_alone_decides(K, two_tracks):
    mixing = late(K) if two_tracks else taught(K)
    mixing.only(2)
    scores = scores_of(np.random.default_rng(5), E, K, 0, sizes=(1.0,))
    expected = np.exp(scores[2]) / np.exp(scores[2]).sum()
    np.testing.assert_allclose(issued(mixing, scores)[-1], expected, rtol=1e-12)
    np.testing.assert_allclose(mixing.influence(), np.eye(E)[2])


@pytest.mark.parametrize("make", [lambda: Mixing(E, 3), taught, late], ids=["new", "taught", "late"])
def test_influence_sums_to_one(make):
    influence = make().influence()
    assert influence.shape == (E,)
    assert (influence >= 0.0).all()
    np.testing.assert_allclose(influence.sum(), 1.0, rtol=1e-12)


def test_influence_through_mixers_is_by_the_size_of_weights():
    mixing = Mixing(2, 2)
    mixing.share[:] = 0.0
    mixing.share[0], mixing.share[N_MIXERS], mixing.share[N_MIXERS + 2] = 0.5, 0.2, 0.3
    mixing.weights[0] = 3.0, -1.0
    np.testing.assert_allclose(mixing.influence(), [0.5 * 0.75 + 0.5, 0.5 * 0.25])


def test_a_copy_goes_its_own_way():
    mixing = late()
    before = state_of(mixing)
    taught(3, 20, 7, mixing.copy())
    assert state_of(mixing) == before


# Files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [taught, late])
@pytest.mark.parametrize("K", [2, 3])
def test_loaded_it_goes_on_bit_for_bit(make, K):
    mixing = make(K)
    loaded = resumed(from_bytes(state_of(mixing), "x"), K)
    assert state_of(loaded) == state_of(mixing)
    np.testing.assert_array_equal(loaded.prior, mixing.prior)
    for each in (mixing, loaded):
        taught(K, 50, 9, each, lag=2)
    assert state_of(loaded) == state_of(mixing)
    assert loaded.nbytes == mixing.nbytes


def with_entry(index, value):
    def change(array):
        array = array.copy()
        array[index] = value
        return array

    return change


def attacks():
    tree = taught().tree()
    for name, array in tree.items():
        if isinstance(array, np.ndarray):
            yield name, GONE, f"{name} is missing"
            yield name, array[None], f"{name} has the wrong shape or type"
            yield name, array.astype(np.float32), f"{name} has the wrong shape or type"
            for wrong in (np.nan, np.inf):
                yield name, with_entry(-1, wrong), "its numbers must be finite"
    for name in ("scales", "counts", "final", "final_counts"):
        yield name, with_entry(0, 0.0), f"{name} must be positive"
    for name in ("share", "final_share"):
        yield name, lambda share: share * 1.1, f"{name} must sum to one"
        yield name, with_entry(slice(0, 2), [-0.5, 0.5]), f"{name} must sum to one"
    for name in ("rates", "final_rates"):
        yield name, with_entry(0, 1.5), f"{name} must be shares"
        yield name, with_entry(0, -0.5), f"{name} must be shares"
    for name in ("levels", "final_levels"):
        yield name, with_entry(0, -13.0), f"{name} must be logits"
    yield "weights", with_entry((0, 0), 1e200), "its mixers do not fit"
    yield "inverses", with_entry((0, 0, 0), -1.0), "its mixers do not fit"
    yield "inverses", with_entry((0, 0, 1), 7.0), "its mixers do not fit"
    yield "final", with_entry(0, 11.0), "its temperature does not fit"
    yield "recent", with_entry((0, 2), -1.0), "recent must not be negative"
    yield "two_tracks", 1, "two_tracks must be true or false"
    yield "two_tracks", True, "weights has the wrong shape"
    yield "mean_lag", -1.0, "mean_lag must be a number"
    yield "mean_lag", float("nan"), "mean_lag must be a number"
    yield "turn", -1, "turn must be a whole number"


def test_a_file_that_was_never_written_is_refused():
    tree = from_bytes(state_of(taught()), "x")
    resumed(tree)
    for name, value, message in attacks():
        with pytest.raises(ModelFileError, match=message):
            resumed(changed(tree, name, value))
    with pytest.raises(ModelFileError, match="wrong shape"):
        resumed(tree, K=4)
