"""The stumps of a cascade as weak hypotheses: answers against plain loops, votes, files."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from ocboost import OCBClassifier
from ocboost._core.codec import read
from ocboost._core.kinds import HYPOTHESES, nested_reader, nested_tree
from ocboost.cascade import stage_sums
from ocboost.errors import InputError, ModelFileError
from ocboost.hypotheses import Ballot, CascadeStumps
from tests.naive.cascade import plain_answers
from tests.support.cascades import noise, random_cascade


@pytest.fixture(params=[0.0, 0.5], ids=["upright", "tilted"])
def cascade(request):
    return random_cascade(seed=20, width=9, height=8, share_tilted=request.param)


def flat(windows):
    return windows.reshape(len(windows), -1)


@pytest.mark.parametrize("n", [1, 64, 70])
def test_answers_are_those_of_a_plain_loop(cascade, n):
    windows = noise(21, n, 8, 9)
    stumps = cascade.stumps()
    expected = plain_answers(cascade, windows)
    np.testing.assert_array_equal(stumps.answers(flat(windows)), expected)
    for dtype in (np.float32, np.float64, np.int64):
        np.testing.assert_array_equal(stumps.answers(flat(windows).astype(dtype)), expected)
    if n == 70:
        assert set(np.unique(expected)) == {-1, 1}
        assert 0.05 < (expected == 1).mean() < 0.95


def test_answers_do_not_depend_on_what_is_asked_together(cascade):
    windows = noise(22, 300, 8, 9)
    stumps = cascade.stumps()
    every = stumps.answers(flat(windows))
    odd = flat(windows).astype(float)
    odd[5] += 0.25  # one window that is not whole changes how all are summed
    mixed = stumps.answers(odd)
    np.testing.assert_array_equal(np.delete(mixed, 5, 0), np.delete(every, 5, 0))
    np.testing.assert_array_equal(stumps.answers(odd[5:6])[0], mixed[5])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("share", "shift"), [(8, 0), (4, -20), (0.25, 1)])
def test_pixels_that_are_not_whole_or_not_bytes(cascade, share, shift, dtype):
    windows = (noise(23, 66, 8, 9) / share + shift).astype(dtype)  # still exact in binary
    found = cascade.stumps().answers(flat(windows))
    np.testing.assert_array_equal(found, plain_answers(cascade, windows))
    if shift == 0:  # contrast does not matter
        np.testing.assert_array_equal(found, plain_answers(cascade, noise(23, 66, 8, 9)))


def test_constant_and_almost_constant_windows_are_answered(cascade):
    faint = np.full((3, 72), 1e-30)
    faint[1, 40] = 0
    faint[2] = 0
    assert np.isin(cascade.stumps().answers(faint), (-1, 1)).all()


def test_leaves_make_the_sums_of_the_stages(cascade):
    windows = noise(24, 40, 8, 9)
    pairs = cascade.leaf_pairs.astype(np.float64)
    centre, half = pairs.mean(axis=1), (pairs[:, 1] - pairs[:, 0]) / 2
    answers = cascade.stumps().answers(flat(windows))
    for s in range(cascade.n_stages):
        trees = cascade.trees_of(s)
        found = (centre[trees] + half[trees] * answers[:, trees]).sum(axis=1)
        np.testing.assert_allclose(found, stage_sums(cascade, windows, [s])[:, 0], rtol=0, atol=1e-12)
    votes = cascade.stumps().votes(flat(windows), [Ballot(0, pairs[:, 1].copy(), pairs[:, 0].copy())])
    np.testing.assert_allclose(votes[:, 0], stage_sums(cascade, windows).sum(axis=1), rtol=0, atol=1e-12)


def test_some_of_them_and_files(cascade, tmp_path):
    windows = flat(noise(25, 30, 8, 9))
    stumps = cascade.stumps()
    np.testing.assert_array_equal(stumps[[3, 0]].answers(windows), stumps.answers(windows)[:, [3, 0]])
    assert len(stumps[5]) == 1
    stumps.save(tmp_path / "stumps")
    again = CascadeStumps.load(tmp_path / "stumps")
    np.testing.assert_array_equal(again.answers(windows), stumps.answers(windows))
    known = read(nested_tree(stumps, HYPOTHESES), "a file", nested_reader(HYPOTHESES))
    np.testing.assert_array_equal(known.answers(windows), stumps.answers(windows))
    assert "12 stumps over Haar features of windows of 9 × 8 pixels" in repr(stumps)


def test_a_classifier_of_them_is_saved_and_learns(cascade, tmp_path):
    windows = flat(noise(26, 200, 8, 9))
    y = np.where(cascade.stumps().answers(windows).sum(axis=1) > 0, 1, 0)
    clf = OCBClassifier(cascade.stumps()).fit(windows, y)
    clf.partial_fit(windows, y)
    clf.save(tmp_path / "model")
    again = OCBClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(windows), clf.predict(windows))
    assert (clf.predict(windows) == y).mean() > 0.8


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda a: a.update(width=2), "width must be a whole number from 3 to 256"),
        (lambda a: a.update(width="9"), "width must be a whole number"),
        (lambda a: a.pop("height"), "height is missing"),
        (lambda a: a.pop("tilted"), "tilted is missing"),
        (
            lambda a: a.update(weights=a["weights"].astype(float)),
            "array weights has the wrong shape",
        ),
        (lambda a: a.update(rects=a["rects"][:5]), "tilted must be 5 times true or false"),
        (lambda a: a.update(rects=a["rects"] + 100), "rects must lie inside the window"),
        (lambda a: a.update(rects=-a["rects"]), "rects must lie inside the window"),
        (lambda a: a.update(threshold=a["threshold"] * np.float32(np.nan)), "threshold must be finite"),
        (lambda a: a.update(tilted=a["tilted"] + np.int8(2)), "tilted must be 12 times true or false"),
        (lambda a: a.update(rects=np.zeros((0, 3, 4), np.int32)), "rects must be whole numbers of shape"),
        (lambda a: a.update(rects=np.array(3, np.int32)), "rects must be whole numbers of shape"),
    ],
)
def test_files_that_make_no_sense_are_refused(change, text):
    tree = random_cascade(seed=20, width=9, height=8).stumps().tree()
    change(tree)
    with pytest.raises(ModelFileError, match=text):
        read(tree, "a file", CascadeStumps.from_tree)


@pytest.mark.parametrize(
    ("X", "text"),
    [
        (np.zeros((2, 71), np.uint8), r"X must have shape \(rows, 72\)"),
        (np.zeros((2, 8, 9), np.uint8), r"X must have shape \(rows, 72\)"),
        (np.full((2, 72), np.nan), "X must be finite and at most 1e.06 .* got nan at row 0, column 0"),
        (np.full((2, 72), 1e7), "got 10000000.0 at row 0, column 0. Scale the pixels"),
        (sp.csr_matrix((2, 72)), "X must be a dense array"),
        ([["a"] * 72], "X must be a matrix of numbers"),
    ],
)
def test_rows_that_are_no_windows_are_refused(X, text):
    with pytest.raises(InputError, match=text):
        random_cascade(seed=20, width=9, height=8).stumps().answers(X)
