"""What a cascade says to windows: against plain loops over pixels, whatever is asked together."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocboost._core.threads import get_num_threads, set_num_threads
from ocboost._kernels.cascade_windows import turn_windows
from ocboost._kernels.llvm_cascade import WINDOW_LANES
from ocboost.cascade import accepts, passed, stage_sums, windows
from ocboost.errors import InputError
from tests.naive.cascade import plain_factor, plain_passed, plain_stage_sum, plain_value
from tests.support.cascades import noise, random_cascade

KINDS = {
    "stumps": {},
    "tilted": {"share_tilted": 0.6, "width": 9, "height": 10},
    "trees": {"max_nodes": 3},
    "tilted trees": {"max_nodes": 4, "share_tilted": 0.5, "width": 10, "height": 9},
}


@pytest.fixture(params=KINDS)
def cascade(request):
    made = random_cascade(seed=5, **KINDS[request.param])
    sums = stage_sums(made, noise(1, 70, made.height, made.width))
    return made.with_thresholds(np.quantile(sums, 0.3, axis=0))


def test_sums_and_stages_are_those_of_a_plain_loop(cascade):
    seen = noise(1, 70, cascade.height, cascade.width)
    sums = np.array([[plain_stage_sum(cascade, w, s) for s in range(cascade.n_stages)] for w in seen])
    np.testing.assert_array_equal(stage_sums(cascade, seen), sums)
    counts = np.array([plain_passed(cascade, w) for w in seen])
    np.testing.assert_array_equal(passed(cascade, seen), counts)
    np.testing.assert_array_equal(accepts(cascade, seen), counts == cascade.n_stages)
    assert len(np.unique(counts)) >= 3  # or the test would say little


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(3, 20),
    st.integers(3, 20),
    st.sampled_from([0.0, 0.4]),
    st.integers(1, 3),
)
def test_windows_of_any_size(seed, width, height, share_tilted, max_nodes):
    cascade = random_cascade(
        seed, width, height, (2, 2), max_nodes=max_nodes, share_tilted=share_tilted, n_features=4
    )
    seen = noise(seed, 6, height, width)
    np.testing.assert_array_equal(passed(cascade, seen), [plain_passed(cascade, w) for w in seen])
    expected = [[plain_stage_sum(cascade, w, s) for s in (1, 0)] for w in seen]
    np.testing.assert_array_equal(stage_sums(cascade, seen, [1, 0]), expected)


@pytest.mark.parametrize("n", [0, 1, WINDOW_LANES - 1, WINDOW_LANES, WINDOW_LANES + 1, 3 * WINDOW_LANES + 7])
def test_what_is_asked_together_does_not_matter(cascade, n, monkeypatch):
    seen = noise(2, n, cascade.height, cascade.width)
    one_by_one = [int(passed(cascade, seen[i : i + 1])[0]) for i in range(n)]
    for early in (1, 4, 8, 1000):  # when those that pass gather
        monkeypatch.setattr(windows, "EARLY_STUMPS", early)
        np.testing.assert_array_equal(passed(cascade, seen), one_by_one)
    singly = [stage_sums(cascade, seen[i : i + 1])[0] for i in range(n)]
    np.testing.assert_array_equal(stage_sums(cascade, seen), np.reshape(singly, (n, cascade.n_stages)))


def test_threads_do_not_change_anything(cascade, monkeypatch):
    seen = noise(3, 300, cascade.height, cascade.width)
    expected, sums = passed(cascade, seen), stage_sums(cascade, seen)
    monkeypatch.setattr(windows, "WINDOWS_PER_TASK", 37)
    before = get_num_threads()
    try:
        for n in (1, 2):
            set_num_threads(n)
            np.testing.assert_array_equal(passed(cascade, seen), expected)
            np.testing.assert_array_equal(stage_sums(cascade, seen), sums)
    finally:
        set_num_threads(before)


def test_windows_of_low_contrast_pass_nothing_but_have_sums():
    cascade = random_cascade(seed=1).with_thresholds([-1e5] * 3)
    flat = np.full((2, 7, 8), 130, np.uint8)
    flat[1, ::2] += 20  # a deviation of 10
    rough = flat.copy()
    rough[:, 3:] += 90
    np.testing.assert_array_equal(passed(cascade, np.concatenate([flat, rough])), [0, 0, 3, 3])
    assert np.isfinite(stage_sums(cascade, flat)).all()


def test_a_sum_just_below_the_threshold_passes_as_in_opencv():
    cascade = random_cascade(seed=5).first(1)
    seen = noise(1, 1, 7, 8)
    total = stage_sums(cascade, seen)[0, 0]
    for above, expected in ((0.0, 1), (0.9e-5, 1), (1.2e-5, 0), (-1.0, 1)):
        assert passed(cascade.with_thresholds([total + above]), seen)[0] == expected


def test_a_value_at_the_threshold_goes_right(cascade):
    seen = noise(1, 3, cascade.height, cascade.width)
    bars = cascade.node_threshold.copy()
    for n, f in enumerate(cascade.node_feature):
        window = seen[n % 3]
        bars[n] = plain_value(cascade, window, f, plain_factor(window)[0])
    cascade = dataclasses.replace(cascade, node_threshold=bars)
    expected = [[plain_stage_sum(cascade, w, s) for s in range(cascade.n_stages)] for w in seen]
    np.testing.assert_array_equal(stage_sums(cascade, seen), expected)


def test_sums_stay_exact_in_the_largest_and_brightest_window():
    cascade = random_cascade(seed=3, width=256, height=256, stages=(2,), n_features=3)
    rects = np.zeros((3, 3, 4), np.int32)
    rects[:, 0] = (0, 0, 256, 256)
    rects[:, 1] = (1, 0, 255, 256)
    weights = np.tile(np.array([1, -1, 0], np.float32), (3, 1))
    cascade = dataclasses.replace(cascade, rects=rects, weights=weights)
    window = np.full((1, 256, 256), 255, np.uint8)
    window[0, 100:120, 100:120] = 0
    expected = [[plain_stage_sum(cascade, window[0], 0)]]
    np.testing.assert_array_equal(stage_sums(cascade, window), expected)


@pytest.mark.parametrize("pixels", [1, 15, 16, 33, 576])
@pytest.mark.parametrize("n", [1, WINDOW_LANES - 1, WINDOW_LANES])
def test_bytes_change_rows_for_columns(n, pixels):
    X = np.random.default_rng(pixels).integers(0, 256, (n, pixels)).astype(np.uint8)
    room = np.full((pixels, WINDOW_LANES), 7, np.uint8)
    turn_windows(X, room)
    np.testing.assert_array_equal(room[:, :n], X.T)
    assert not room[:, n:].any()


def test_other_windows_are_refused():
    cascade = random_cascade()
    for wrong in (np.zeros((2, 8, 7), np.uint8), np.zeros((2, 7, 8)), np.zeros((7, 8), np.uint8)):
        with pytest.raises(InputError, match=r"windows must be uint8 of shape \(n, 7, 8\).* got"):
            passed(cascade, wrong)
    with pytest.raises(InputError, match="stages must be a whole number from 0 to 2; got 3"):
        stage_sums(cascade, noise(0, 1, 7, 8), [3])


def test_views_and_arrays_that_cannot_be_written_to():
    cascade = random_cascade(seed=5)
    seen = noise(4, 40, 7, 8)
    expected = passed(cascade, seen)
    np.testing.assert_array_equal(passed(cascade, seen[::2]), expected[::2])
    seen.flags.writeable = False
    np.testing.assert_array_equal(passed(cascade, seen), expected)


def test_picking_changing_and_adding_stages():
    cascade = random_cascade(seed=6)
    seen = noise(5, 100, 7, 8)
    sums = stage_sums(cascade, seen)
    np.testing.assert_array_equal(stage_sums(cascade.pick([2, 0]), seen), sums[:, [2, 0]])
    assert cascade.first(1).n_trees == 3
    np.testing.assert_array_equal(cascade.pick([2, 0]).stage_origin, [2, 0])
    assert passed(cascade.with_thresholds([-1e6, -1e6, -1e6]), seen).max() == 3
    doubled = stage_sums(cascade.with_leaves(2 * cascade.leaf_pairs), seen)
    np.testing.assert_array_equal(doubled, 2 * sums)
    longer = cascade.with_stage(
        cascade.node_feature, cascade.node_threshold, cascade.leaf_pairs, stage_threshold=-2.5
    )
    assert longer.n_stages == 4
    assert longer.stage_threshold[3] == np.float32(-2.5)
    np.testing.assert_allclose(stage_sums(longer, seen)[:, 3], sums.sum(axis=1), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(longer.stage_origin, [0, 1, 2, -1])
    assert "4 stages, 24 stumps" in repr(longer)


def test_changed_copies_share_what_stays(cascade):
    seen = noise(1, 40, cascade.height, cascade.width)
    stage_sums(cascade, seen)  # what is prepared for the kernels is there
    changed = cascade.with_leaves(2 * cascade.leaf).with_thresholds(np.arange(cascade.n_stages))
    anew = dataclasses.replace(
        cascade, leaf=2 * cascade.leaf, stage_threshold=np.arange(cascade.n_stages, dtype=np.float32)
    )
    np.testing.assert_array_equal(stage_sums(changed, seen), stage_sums(anew, seen))
    np.testing.assert_array_equal(passed(changed, seen), passed(anew, seen))
    own = {name for name, value in vars(changed).items() if value is not vars(cascade).get(name)}
    assert own - {"stage_origin"} == {"leaf", "stage_threshold", "_window_parts"}
    assert changed._window_parts.corners is cascade._window_parts.corners
    for name in ("leaf", "stage_threshold", "stage_origin"):
        assert not getattr(changed, name).flags.writeable


def test_stages_of_trees_keep_their_nodes():
    cascade = random_cascade(seed=7, max_nodes=3)
    seen = noise(6, 50, 7, 8)
    np.testing.assert_array_equal(stage_sums(cascade.pick([1]), seen), stage_sums(cascade, seen, [1]))
    for ask in (lambda: cascade.leaf_pairs, cascade.stumps):
        with pytest.raises(InputError, match="must be asked of a cascade of stumps; this one has trees"):
            ask()


def test_a_cascade_cannot_be_written_to():
    cascade = random_cascade()
    with pytest.raises(ValueError, match="read-only"):
        cascade.leaf[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        cascade.width = 9


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"width": 2}, "width must be a whole number from 3 to 256; got 2"),
        ({"node_feature": np.full(12, 12, np.int32)}, "node_feature must be from 0 to 11"),
        ({"node_feature": np.full(12, -1, np.int32)}, "node_feature must be from 0 to 11"),
        ({"node_left": np.full(12, 1, np.int32)}, "node_left must be a node or a leaf of its tree"),
        ({"node_right": np.full(12, -2, np.int32)}, "node_right must be a node or a leaf of its tree"),
        ({"node_right": np.full(12, 0, np.int32)}, "of stumps must be 0 and -1"),
        ({"leaf": np.full(24, np.nan)}, "leaf must be finite numbers"),
        ({"leaf": np.zeros(23)}, r"leaf must be finite numbers of shape \(24,\).* got shape \(23,\)"),
        ({"node_threshold": np.full(12, 1e30)}, "node_threshold must be finite numbers .* at most 1e\\+20"),
        ({"stage_threshold": np.zeros(4)}, "stage_tree must be 5 numbers for 4 stages"),
        ({"stage_tree": np.array([0, 0, 5, 12])}, "stage_tree must rise by at least 1"),
        ({"tree_leaf": np.arange(13)}, "tree_leaf must rise by at least 2"),
        ({"tree_node": np.arange(12)}, "tree_node must be 13 numbers"),
        ({"tilted": np.full(12, 2)}, "tilted must be 12 times true or false"),
        ({"weights": np.full((12, 3), np.inf)}, "weights must be finite numbers"),
        ({"rects": np.full((12, 3, 4), 5)}, "rects must lie inside the window of 8 × 7 pixels; rectangle 0"),
        ({"rects": np.zeros((12, 3, 4), int)}, "rects must have at least one rectangle a feature; feature 0"),
        ({"rects": np.zeros((12, 4, 4), int)}, r"rects must be whole numbers of shape \(F, 3, 4\)"),
    ],
)
def test_what_is_no_cascade_is_refused(change, text):
    with pytest.raises(InputError, match=text):
        dataclasses.replace(random_cascade(), **change)


def test_trees_that_go_in_circles_are_refused():
    cascade = random_cascade(seed=7, max_nodes=3)
    left = cascade.node_left.copy()
    tree = int(np.argmax(np.diff(cascade.tree_node)))
    left[cascade.tree_node[tree] + 1] = 1
    with pytest.raises(InputError, match="node_left must lead to later nodes"):
        dataclasses.replace(cascade, node_left=left)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda c: c.first(0), "n_stages must be a whole number from 1 to 3; got 0"),
        (lambda c: c.pick([]), "stages must have at least one"),
        (lambda c: c.pick([3]), "stages must be a whole number from 0 to 2"),
        (lambda c: c.with_thresholds([1, 2]), r"thresholds must be finite numbers of shape \(3,\)"),
        (lambda c: c.with_thresholds([1, 2, np.inf]), "thresholds must be finite .* got inf"),
        (lambda c: c.with_leaves(np.full(24, np.nan)), "leaf must be finite .* got nan"),
        (lambda c: c.with_leaves(["a"] * 24), "leaf must be numbers"),
        (lambda c: c.with_stage([12], [0], [[0, 1]], stage_threshold=0), "feature must be .* 0 to 11"),
        (lambda c: c.with_stage([], [], [], stage_threshold=0), "feature must be .* at least one"),
        (lambda c: c.with_stage([1], [0, 1], [[0, 1]], stage_threshold=0), "threshold must be"),
        (lambda c: c.with_stage([1], [0], [0, 1], stage_threshold=0), r"leaves must be .* \(1, 2\)"),
        (lambda c: c.with_stage([1], [0], [[0, 1]], stage_threshold=np.nan), "stage_threshold must be"),
    ],
)
def test_changes_that_make_no_sense_are_refused(call, text):
    with pytest.raises(InputError, match=text):
        call(random_cascade())
