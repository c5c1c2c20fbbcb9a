"""Box filters: values and answers against a plain loop, whatever is asked together; files."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from ocboost._core import file_format
from ocboost._core.codec import read
from ocboost._core.kinds import HYPOTHESES, nested_reader, nested_tree
from ocboost.errors import InputError, ModelFileError
from ocboost.hypotheses import Ballot, Boxes, all_boxes
from ocboost.hypotheses.boxes import boxes_at, n_boxes
from ocboost.learners import BoxLearner
from tests.naive.boxes import plain_all, plain_values


def grey(rng, n, side, dtype=np.float32):
    return rng.integers(0, 256, (n, side * side)).astype(dtype)


def random_boxes(rng, J, side):
    """Filters of all shapes, and some of rectangles that have nothing to do with each other."""
    rects, weight = boxes_at(side, rng.choice(n_boxes(side), J))
    for j in range(0, J, 3):
        corner = rng.integers(0, side, (4, 2))
        size = rng.integers(0, side - corner + 1)
        rects[j] = np.hstack([corner, size])
        rects[j, rects[j, :, 3] == 0] = 0
        rects[j, 0] = (0, 0, 1, side)
        weight[j] = rng.normal(size=4)
    return Boxes(rects, weight, rng.normal(size=J), rng.choice([-1, 1], J), side=side)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "J", "side"), [(1, 1, 2), (17, 30, 5), (130, 9, 7), (9, 40, 24)])
def test_values_and_answers_are_those_of_a_plain_loop(n, J, side, dtype):
    rng = np.random.default_rng(n + J)
    boxes = random_boxes(rng, J, side)
    for X in (grey(rng, n, side, dtype), rng.normal(size=(n, side * side)).astype(dtype)):
        values, expected = boxes.values(X), plain_values(boxes, X)
        assert values.shape == (n, J)
        assert np.allclose(values, expected, rtol=1e-12, atol=1e-11)
        clear = np.abs(expected - boxes.theta) > 1e-9
        assert clear.mean() > 0.9
        answers = boxes.answers(X)
        assert answers.dtype == np.int8
        assert np.array_equal(
            answers[clear], np.where(expected > boxes.theta, boxes.sign, -boxes.sign)[clear]
        )
        assert np.array_equal(answers, np.where(values > boxes.theta, boxes.sign, -boxes.sign))


def test_answers_do_not_depend_on_what_is_asked_together():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 36))
    boxes = random_boxes(rng, 20, 6)
    values = boxes.values(X)
    assert np.array_equal(np.vstack([boxes.values(X[i : i + 1]) for i in range(150)]), values)
    assert np.array_equal(np.vstack([boxes.values(X[i : i + 7]) for i in range(0, 150, 7)]), values)
    assert np.array_equal(np.hstack([boxes[j].values(X) for j in range(20)]), values)
    # Thresholds that are some image's value to the last bit: those are not above.
    at = rng.integers(0, 150, 20)
    tight = Boxes(boxes.rects, boxes.weight, values[at, np.arange(20)], boxes.sign, side=6)
    answers = tight.answers(X)
    assert np.array_equal(answers[at, np.arange(20)], -boxes.sign)
    assert np.array_equal(np.vstack([tight.answers(X[i : i + 5]) for i in range(0, 150, 5)]), answers)


def test_votes_are_those_of_a_plain_sum():
    rng = np.random.default_rng(2)
    boxes, X, alpha = random_boxes(rng, 9, 4), grey(rng, 300, 4), rng.normal(size=9)
    votes = boxes.votes(X, [Ballot.of(alpha)])
    for i, row in enumerate(boxes.answers(X).tolist()):
        total = 0.0
        for j in range(9):
            total += float(alpha[j]) if row[j] > 0 else -float(alpha[j])
        assert votes[i, 0] == total


def test_brightness_and_contrast_do_not_matter():
    rng = np.random.default_rng(3)
    rects, weight = all_boxes(5)
    boxes, X = Boxes(rects, weight, np.zeros(len(rects)), side=5), grey(rng, 6, 5)
    assert np.allclose(boxes.values(3.0 * X + 40.0), boxes.values(X), rtol=1e-9, atol=1e-9)
    assert not np.allclose(boxes.values(-X), boxes.values(X))


@pytest.mark.parametrize("side", [4, 5, 7])
@pytest.mark.parametrize("level", [0.0, 7.0, 0.1, 1 / 3, -1e25, 1e-320])
def test_a_constant_image_counts_as_it_is(level, side):
    # The mean of such pixels may be off in the last digit, and their deviation not quite zero.
    X = np.full((1, side * side), level)
    rects, weight = all_boxes(side)
    values = Boxes(rects, weight, np.zeros(len(rects)), side=side).values(X)
    assert (np.abs(values) <= 1e-13 * abs(level)).all()
    whole = Boxes([[[0, 0, side, side]] + [[0] * 4] * 3], [[1.0, 0, 0, 0]], [0.0], side=side)
    assert whole.values(X)[0, 0] == pytest.approx(side * side * level)


def test_rectangles_that_are_not_used_are_zeros():
    boxes = Boxes([[[0, 0, 1, 1], [9, -9, 0, 5], [0] * 4, [0] * 4]], [[1.0, 2.0, 3.0, 4.0]], [0.0], side=2)
    assert boxes.rects[0, 1:].max() == boxes.rects[0, 1:].min() == 0
    assert boxes.weight.tolist() == [[1.0, 0.0, 0.0, 0.0]]


@pytest.mark.parametrize("side", range(1, 8))
def test_all_boxes_are_all_there_are(side):
    rects, weight = all_boxes(side)
    ours = [
        frozenset((*r, int(v)) for r, v in zip(rs, vs, strict=True) if r[2])
        for rs, vs in zip(rects.tolist(), weight.tolist(), strict=True)
    ]
    assert len(ours) == len(set(ours)) == n_boxes(side)
    assert set(ours) == plain_all(side)


@pytest.mark.parametrize("side", range(4, 25))
def test_all_boxes_count(side):
    def lines(cells):
        return sum(side - cells * size + 1 for size in range(1, side // cells + 1))

    one, two, three = lines(1), lines(2), lines(3)
    rects, weight = all_boxes(side)
    assert rects.dtype == np.int32
    assert rects.shape == (2 * two * one + 2 * three * one + two * two, 4, 4)
    assert weight.shape == rects.shape[:2]
    assert (weight.sum(axis=1) == 0.0).all()
    used = (rects[:, :, 2] > 0).sum(axis=1)
    counts = [int((used == k).sum()) for k in (2, 3, 4)]
    assert counts == [2 * two * one, 2 * three * one, two * two]
    if side == 24:
        assert counts == [2 * 43_200, 2 * 27_600, 20_736]
        assert len(rects) == 162_336
        across = (rects[:, 0, 1] == rects[:, 1, 1]) & (used < 4)
        assert [int((across & (used == k)).sum()) for k in (2, 3)] == [43_200, 27_600]


def test_some_of_all_boxes_are_those_of_all():
    rects, weight = all_boxes(9)
    places = np.array([5, 0, n_boxes(9) - 1, 700, 5])
    some_rects, some_weight = boxes_at(9, places)
    assert np.array_equal(some_rects, rects[places])
    assert np.array_equal(some_weight, weight[places])
    for wrong in ([-1], [n_boxes(9)]):
        with pytest.raises(InputError, match="places must be from 0 to"):
            boxes_at(9, np.array(wrong))
    with pytest.raises(
        InputError, match=r"side must be a whole number from 1 to 64; got 65\. boxes_at gives"
    ):
        all_boxes(65)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_with_its_place(value):
    X = np.zeros((5, 4))
    X[3, 1] = value
    boxes = random_boxes(np.random.default_rng(0), 2, 2)
    for given in (X, X.astype(np.float32)):
        with pytest.raises(InputError, match=rf"finite for Boxes; got {value} at row 3, column 1\. Fill in"):
            boxes.answers(given)
    with pytest.raises(InputError, match=r"finite for BoxLearner; got .* at row 3, column 1"):
        BoxLearner(5).learn(X, np.ones(5), n_hypotheses=1)


def test_rows_that_are_no_images_are_refused():
    boxes = random_boxes(np.random.default_rng(0), 2, 3)
    with pytest.raises(InputError, match=r"at most 1e30 in size for Boxes; got 2e\+30 at row 0, column 4"):
        boxes.answers(np.array([[0.0] * 4 + [2e30] + [0.0] * 4]))
    with pytest.raises(InputError, match=r"shape \(rows, 9\)"):
        boxes.answers(np.zeros((2, 16)))
    with pytest.raises(InputError, match=r"dense array for Boxes"):
        boxes.answers(sp.csr_matrix(np.zeros((2, 9))))


def test_a_saved_file_brings_them_back(tmp_path):
    rng = np.random.default_rng(3)
    boxes, X = random_boxes(rng, 7, 5), grey(rng, 40, 5)
    boxes.save(tmp_path / "boxes")
    back = Boxes.load(tmp_path / "boxes")
    assert repr(back) == "<7 box filters over images of 5 × 5 pixels>"
    assert np.array_equal(back.values(X), boxes.values(X))
    assert np.array_equal(back.answers(X), boxes.answers(X))
    assert np.array_equal(back[[4, 1]].answers(X), boxes.answers(X)[:, [4, 1]])
    assert isinstance(read(nested_tree(boxes, HYPOTHESES), "a file", nested_reader(HYPOTHESES)), Boxes)


def changed(index, value):
    rects = np.zeros((2, 4, 4), np.int32)
    rects[:, 0] = (1, 1, 2, 2)
    rects[index] = value
    return rects


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("rects", changed((1, 2), (-1, 0, 1, 1)), r"rectangle 2 of filter 1 .*= \[-1, 0, 1, 1\]"),
        ("rects", changed((1, 2), (0, -1, 1, 1)), "rectangle 2 of filter 1"),
        ("rects", changed((0, 3), (0, 0, -1, 1)), "rectangle 3 of filter 0"),
        ("rects", changed((0, 3), (0, 0, 1, 0)), "rectangle 3 of filter 0"),
        ("rects", changed((0, 3), (0, 0, 4, 1)), "rectangle 3 of filter 0"),
        ("rects", changed((0, 3), (0, 2, 1, 2)), "rectangle 3 of filter 0"),
        ("rects", changed((0, 0), (2**31 - 1, 0, 2**31 - 1, 1)), "rectangle 0 of filter 0"),
        ("rects", changed((0, 0), 0), "filter 0 has none"),
        ("rects", changed((0, 0), 1).astype(np.float64), "the array rects has the wrong shape or type"),
        ("rects", np.zeros((2, 4), np.int32), r"rects must be whole numbers of shape \(J, 4, 4\)"),
        ("rects", np.zeros((0, 4, 4), np.int32), r"rects must be whole numbers of shape \(J, 4, 4\)"),
        ("rects", None, "rects is missing"),
        ("weight", np.full((2, 4), np.nan), "weight must be 2 rows of 4"),
        ("weight", np.full((2, 4), 1e31), "weight must be 2 rows of 4"),
        ("weight", np.zeros((2, 3)), "weight must be 2 rows of 4"),
        ("weight", np.zeros((2, 4), "U1"), "the array weight has the wrong shape or type"),
        ("theta", np.array([1.0, np.inf]), "theta must be 2 finite thresholds"),
        ("theta", np.array([1.0]), "theta must be 2 finite thresholds"),
        ("sign", np.array([1, 0], np.int8), "sign must be 2 answers"),
        ("side", 0, "side must be a whole number from 1 to 256; got 0"),
        ("side", 10**9, "side must be a whole number"),
        ("side", 3.0, "side must be a whole number"),
        ("side", "3", "side must be a whole number"),
        ("side", None, "side is missing"),
        ("colour", 1, "entries that are not known"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(tmp_path, key, value, text):
    tree = Boxes(changed((0, 0), (0, 0, 3, 3)), np.ones((2, 4)), [0.0, 1.0], side=3).tree()
    tree[key] = value
    if value is None:
        del tree[key]
    if getattr(value, "dtype", np.dtype(int)).kind == "U":  # no file holds text, but a caller may
        with pytest.raises(ModelFileError, match=text):
            read(tree, "a file", Boxes.from_tree)
        return
    file_format.save(tmp_path / "bad", "Boxes", tree)
    with pytest.raises(ModelFileError, match=text):
        Boxes.load(tmp_path / "bad")
