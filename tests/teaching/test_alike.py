"""A face that was marked is seen again in other frames."""

import numpy as np

from ocboost._teaching.alike import normalised, seen_again, unlike
from ocboost._teaching.scanned import Windows
from ocboost.cascade.pictures import as_boxes

RNG = np.random.default_rng(3)
FACE, OTHER, THIRD = (RNG.integers(0, 255, (24, 24)).astype(np.uint8) for _ in range(3))


def windows(*found):
    rects = as_boxes([[x, 0, 24, 24] for x, _ in found])
    pixels = np.array([each for _, each in found], np.uint8).reshape(-1, 24, 24)
    return Windows(rects, pixels, np.zeros((len(found), 1)), np.zeros((len(found), 1), np.uint8))


def test_the_likest_window_of_each_place():
    darker = (FACE * 0.5).astype(np.uint8)  # light does not count
    noisy = np.clip(FACE + RNG.normal(0, 25, (24, 24)), 0, 255).astype(np.uint8)
    seen = windows((0, OTHER), (100, noisy), (102, darker), (300, FACE))
    found = seen_again(seen, as_boxes([]), np.array([FACE]))
    assert sorted(found[:, 0].tolist()) == [102, 300]


def test_what_is_known_is_not_seen_again():
    seen = windows((100, FACE), (300, FACE))
    assert seen_again(seen, as_boxes([[295, 0, 24, 24]]), np.array([FACE]))[:, 0].tolist() == [100]
    assert len(seen_again(seen, as_boxes([]), np.array([THIRD]))) == 0
    assert len(seen_again(seen, as_boxes([]), np.empty((0, 24, 24), np.uint8))) == 0
    assert len(seen_again(windows(), as_boxes([]), np.array([FACE]))) == 0


def test_boxes_that_look_like_what_was_wrong():
    seen = windows((0, OTHER), (100, FACE))
    boxes = as_boxes([[1, 0, 24, 24], [99, 0, 24, 24]])
    assert unlike(seen, boxes, normalised(np.array([OTHER]))).tolist() == [False, True]
    assert unlike(seen, boxes, normalised(np.empty((0, 24, 24), np.uint8))).tolist() == [True, True]


def test_a_box_without_windows_looks_like_nothing():
    seen = windows((0, OTHER))
    assert unlike(seen, as_boxes([[300, 300, 24, 24]]), normalised(np.array([OTHER]))).tolist() == [True]
