"""Boxes of pictures, and which of them a detector finds: against plain loops, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocboost.cascade.detect import clipped
from ocboost.cascade.matching import Matcher, Truth, counts_in, share_inside
from ocboost.cascade.pictures import Picture, as_boxes, overlaps
from ocboost.errors import InputError
from tests.naive.matching import plain_area, plain_counts, plain_overlap

A_BOX = st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(1, 9), st.integers(1, 9))
SOME = st.lists(A_BOX, max_size=7)


def boxes(*rows):
    return as_boxes(list(rows))


def counts(found, faces, ignored=(), iou=0.5):
    return tuple(Matcher(as_boxes(found), Truth(as_boxes(faces), as_boxes(ignored)), iou).count())


def pixels(box):
    x, y, w, h = box
    return {(column, row) for column in range(x, x + w) for row in range(y, y + h)}


class TestOverlaps:
    @given(SOME, SOME)
    def test_they_are_those_of_pixels(self, some, others):
        shared, inside = (
            overlaps(as_boxes(some), as_boxes(others)),
            share_inside(as_boxes(some), as_boxes(others)),
        )
        assert shared.shape == inside.shape == (len(some), len(others))
        for i, box in enumerate(map(pixels, some)):
            for k, other in enumerate(map(pixels, others)):
                assert shared[i, k] == len(box & other) / len(box | other)
                assert inside[i, k] == len(box & other) / len(box)

    @given(A_BOX, A_BOX)
    def test_the_twin_is_that_of_pixels(self, one, other):
        both = pixels(one) & pixels(other)
        assert plain_area(one, other) == len(both)
        assert plain_overlap(one, other) == len(both) / len(pixels(one) | pixels(other))

    def test_far_apart_and_large(self):
        far = boxes([2**31 - 10, 0, 5, 5], [0, 0, 2**31 - 1, 2**31 - 1])
        np.testing.assert_array_equal(overlaps(far[:1], far[:1]), [[1]])
        assert overlaps(far[1:], far[1:]) == 1
        assert 0 < overlaps(far[:1], far[1:]) < 1e-16


class TestCounts:
    @given(SOME, SOME, st.lists(A_BOX, max_size=3), st.sampled_from([0.05, 0.3, 0.5, 0.75, 1.0]))
    def test_they_are_those_of_a_plain_loop(self, found, faces, ignored, iou):
        assert counts(found, faces, ignored, iou) == plain_counts(found, faces, ignored, iou)

    @given(SOME, SOME, st.integers(0, 127))
    def test_some_of_the_detections(self, found, faces, chosen):
        some = np.array([bool(chosen >> k & 1) for k in range(len(found))], np.bool_)
        ignored = [(0, 0, 4, 9)]
        matcher = Matcher(as_boxes(found), Truth(as_boxes(faces), as_boxes(ignored)), 0.4)
        kept = [box for box, keep in zip(found, some, strict=True) if keep]
        before = some.copy()
        for _ in range(2):  # counting changes nothing
            assert tuple(matcher.count(some)) == plain_counts(kept, faces, ignored, 0.4)
        np.testing.assert_array_equal(some, before)
        assert tuple(matcher.count()) == plain_counts(found, faces, ignored, 0.4)

    def test_the_overlap_must_be_reached(self):
        assert counts([[0, 0, 10, 5]], [[0, 0, 10, 10]]) == (0, 0)
        assert counts([[0, 0, 10, 5]], [[0, 0, 10, 10]], iou=0.51) == (1, 1)
        assert counts([[0, 0, 10, 4]], [[0, 0, 10, 10]]) == (1, 1)

    def test_one_detection_for_each_face(self):
        face = [10, 10, 20, 20]
        assert counts([face, face, [11, 10, 20, 20]], [face]) == (0, 2)
        assert counts([face], [face, [11, 10, 20, 20]]) == (1, 0)

    def test_the_largest_overlap_is_first(self):
        """If each took its best in turn, the first would take the face that only the second can have."""
        faces = [[0, 0, 10, 10], [4, 0, 10, 10]]
        assert plain_overlap([3, 0, 10, 10], faces[1]) > plain_overlap([3, 0, 10, 10], faces[0]) > 0.5
        assert counts([[3, 0, 10, 10], [4, 0, 10, 10]], faces) == (0, 0)
        assert counts([[4, 0, 10, 10], [5, 0, 10, 10]], faces) == (1, 1)

    def test_nothing(self):
        assert counts([], []) == (0, 0)
        assert counts([], [[0, 0, 5, 5]]) == (1, 0)
        assert counts([[0, 0, 5, 5]], []) == (0, 1)

    def test_a_picture(self):
        picture = Picture("a", np.zeros((40, 40), np.uint8), boxes([0, 0, 9, 9]), boxes([20, 0, 20, 20]))
        found = boxes([0, 0, 9, 9], [22, 2, 9, 9], [0, 20, 9, 9])
        assert counts_in(picture, found) == (0, 1)
        assert counts_in(picture, found[1:]) == (1, 1)
        assert counts_in(picture, boxes([0, 0, 9, 5])) == (0, 0)
        assert counts_in(picture, boxes([0, 0, 9, 5]), 0.9) == (1, 1)


class TestIgnored:
    def test_more_than_half_inside(self):
        region = [[0, 0, 10, 100]]
        assert counts([[4, 0, 11, 11]], [], region) == (0, 0)
        assert counts([[5, 0, 10, 10]], [], region) == (0, 1)  # half of it
        assert counts([[7, 0, 11, 11]], [], region) == (0, 1)

    def test_regions_do_not_add_up(self):
        assert counts([[0, 0, 10, 10]], [], [[0, 0, 5, 10], [5, 0, 5, 10]], iou=0.9) == (0, 1)

    def test_an_ignored_face_is_found_as_others_are(self):
        """What overlaps enough to show a face is no false alarm where the face is to be ignored."""
        large, small = [0, 0, 10, 10], [0, 0, 6, 7]
        assert counts([large], [small], iou=0.4) == (0, 0)
        assert counts([large], [], [small], iou=0.4) == (0, 0)
        assert counts([large], [], [small], iou=0.43) == (0, 1)

    def test_a_face_in_an_ignored_region_still_counts(self):
        face, region = [2, 2, 8, 8], [[0, 0, 50, 50]]
        assert counts([face], [face], region) == (0, 0)
        assert counts([], [face], region) == (1, 0)


def test_what_is_cut_at_the_edges():
    rects = boxes(
        [-3, -2, 10, 10], [45, 35, 10, 10], [52, 0, 5, 5], [0, 40, 5, 5], [-5, 0, 5, 9], [3, 4, 5, 6]
    )
    cut, inside = clipped(rects, 40, 52)
    assert inside.tolist() == [True, True, False, False, False, True]
    assert cut[inside].tolist() == [[0, 0, 7, 8], [45, 35, 7, 5], [3, 4, 5, 6]]


class TestPictures:
    @pytest.mark.parametrize(
        "wrong",
        [
            [[1, 2, 3]],
            [[1, 2, 3, 4], [1]],
            [1, 2, 3, 4],
            [[0.5, 0, 5, 5]],
            [[0, 0, 0, 5]],
            [[0, 0, 5, -1]],
            [[0, 0, 2**31, 5]],
            [[True, True, True, True]],
            "boxes",
        ],
    )
    def test_boxes_that_make_no_sense(self, wrong):
        with pytest.raises(
            InputError, match=r"faces must be whole numbers of shape \(n, 4\): x, y, .* at least 1; got"
        ):
            as_boxes(wrong, "faces")

    def test_no_boxes(self):
        for none in ([], np.empty((0, 4)), ()):
            assert as_boxes(none).shape == (0, 4)
            assert as_boxes(none).dtype == np.int64

    @pytest.mark.parametrize("name", ["boxes", "ignored"])
    @pytest.mark.parametrize("box", [[-1, 0, 5, 5], [0, -1, 5, 5], [6, 0, 5, 5], [0, 16, 5, 5]])
    def test_boxes_outside(self, name, box):
        with pytest.raises(
            InputError, match=rf"{name} must lie inside .* 10 × 20 pixels; some of 'a.png' .* Cut"
        ):
            Picture("a.png", np.zeros((20, 10), np.uint8), **{name: [box]})

    def test_boxes_at_the_edges(self):
        made = Picture("a", np.zeros((20, 10), np.uint8), [[0, 0, 10, 20]], [[9, 19, 1, 1]])
        assert (made.boxes.tolist(), made.ignored.tolist()) == ([[0, 0, 10, 20]], [[9, 19, 1, 1]])
        assert Picture("a", made.grey).boxes.shape == (0, 4)

    def test_no_grey_picture(self):
        with pytest.raises(InputError, match="image must be uint8 of shape"):
            Picture("a", np.zeros((20, 10, 3), np.uint8))
