"""Detectors judged on whole pictures, against detecting and counting in plain loops; their differences."""

from __future__ import annotations

import importlib
import json

import numpy as np
import pytest

from ocboost.cascade import candidates, detect
from ocboost.cascade.bounds import RESAMPLES, SEED, count_bounds, hit_bounds, rate_bounds, share_bounds
from ocboost.cascade.cascade import OPENCV_TOLERANCE
from ocboost.cascade.detect import scored_candidates
from ocboost.cascade.picture_curve import PictureCurve
from ocboost.cascade.picture_measure import (
    PictureMeasurement,
    PictureSettings,
    bootstrap_difference,
    measure_on_pictures,
)
from ocboost.cascade.pictures import Picture
from ocboost.errors import InputError
from tests.naive.matching import plain_counts
from tests.support.cascades import random_cascade
from tests.support.judged_pictures import FACTOR, blotches, judged_pictures, splitting_cascade

MEASURE = importlib.import_module("ocboost.cascade.picture_measure")


def measured(pictures, cascade=None, **more):
    return measure_on_pictures("x", cascade or splitting_cascade(), pictures, scale_factor=FACTOR, **more)


def accepting():
    """A cascade that accepts every window."""
    return splitting_cascade().with_thresholds([-99] * splitting_cascade().n_stages)


class TestMeasuring:
    @pytest.mark.parametrize(
        ("neighbours", "min_size", "iou"),
        [(3, None, 0.5), (0, None, 0.5), (1, (11, 11), 0.3), (5, None, 0.8)],
    )
    def test_counts_are_those_of_a_plain_loop(self, neighbours, min_size, iou):
        found = measured(judged_pictures(), min_neighbors=neighbours, min_size=min_size, iou=iou)
        rows = []
        for picture in judged_pictures():
            boxes = detect(splitting_cascade(), picture.grey, FACTOR, neighbours, min_size)
            noise = np.random.default_rng(0).integers(0, 256, picture.grey.shape).astype(np.uint8)
            windows = candidates(accepting(), noise, FACTOR, min_size)
            counts = plain_counts(boxes, picture.boxes.tolist(), picture.ignored.tolist(), iou)
            rows.append((len(picture.boxes), *counts, len(windows)))
        own = zip(found.faces, found.misses, found.false_alarms, found.windows, strict=True)
        assert list(own) == rows
        assert found.pictures == tuple(picture.name for picture in judged_pictures())
        assert found.settings == PictureSettings(FACTOR, neighbours, min_size, iou)
        assert (found.n_stages, found.n_trees) == (3, 12)
        assert found.false_alarms.sum() > 0
        if neighbours:
            assert 0 < found.misses.sum() < found.n_faces

    def test_it_is_a_point_of_its_curve(self):
        for neighbours in (1, 3, 7):
            found = measured(judged_pictures(), min_neighbors=neighbours)
            own = splitting_cascade().stage_threshold[-1]
            t = found.curve.thresholds.tolist().index(own)
            k = found.curve.neighbours.tolist().index(neighbours)
            assert found.curve.misses[t, k] == found.misses.sum()
            assert found.curve.false_alarms[t, k] == found.false_alarms.sum()

    def test_boxes_are_cut_at_the_edges(self):
        """What is detected is itself found, where nothing but the very same box will do."""
        grey = blotches(1, (31, 37))
        boxes = np.array(detect(accepting(), grey, FACTOR, 0))
        whole = candidates(accepting(), grey, FACTOR)
        assert (whole[:, :2] + whole[:, 2:] > [37, 31]).any()  # there is something to cut
        found = measured([Picture("a", grey, boxes)], accepting(), min_neighbors=0, iou=1.0)
        assert (found.n_faces, found.misses.sum(), found.false_alarms.sum()) == (len(boxes), 0, 0)

    def test_a_score_of_exactly_0_is_accepted(self):
        cascade = random_cascade(2, stages=(3, 1))
        leaf = cascade.leaf[-2:].max()
        at_leaf = cascade.with_thresholds([-99, leaf + OPENCV_TOLERANCE])
        scores = scored_candidates(at_leaf, blotches(1), FACTOR)[1]
        assert (scores == 0).sum() > 100
        found = measured([Picture("a", blotches(1))], at_leaf)
        assert found.false_alarms.tolist() == [len(detect(at_leaf, blotches(1), FACTOR))]
        assert found.false_alarms.sum() > 0

    def test_pictures_are_gone_through_once(self):
        told = []
        found = measured(iter(judged_pictures(2)), progress=lambda name, done: told.append((name, done)))
        assert told == [("0.png", 1), ("1.png", 2), ("none.png", 3), ("tiny.png", 4)]
        assert found.n_pictures == 4
        again = measured(list(judged_pictures(2)))
        assert json.dumps(again.as_dict()) == json.dumps(found.as_dict())

    @pytest.mark.parametrize(
        ("wrong", "text"),
        [
            ({"iou": 0}, r"iou must be a finite number of more than 0 and at most 1; got 0\.0\. Take 0\.5"),
            ({"iou": 1.1}, r"iou must be .* got 1\.1"),
            ({"most": 0}, r"most must be a whole number of at least 1; got 0. Take 3000"),
            (
                {"min_neighbors": -1},
                r"min_neighbors must be a whole number of at least 0; got -1. OpenCV takes 3",
            ),
            ({"min_size": 24}, "min_size must be a width and a height"),
        ],
    )
    def test_refusals(self, wrong, text):
        with pytest.raises(InputError, match=text):
            measured(judged_pictures(1), **wrong)

    def test_no_picture(self):
        with pytest.raises(InputError, match=r"pictures must hold at least one picture; got none. Check"):
            measured([])

    @pytest.mark.parametrize("neighbours", [0, 3])
    def test_a_detector_that_accepts_almost_everything(self, monkeypatch, neighbours):
        monkeypatch.setattr(MEASURE, "MAX_GROUPED", 50)
        with pytest.raises(
            InputError,
            match=r"cascade must accept at most 50 windows of a picture; 'x' accepts .* of 'a'. Take",
        ):
            measured([Picture("a", blotches(1))], accepting(), min_neighbors=neighbours)


def made(faces, misses, alarms, windows=1000, name="made"):
    """A measurement with these counts of each picture."""
    faces, misses, alarms = (np.array(counts, np.int64) for counts in (faces, misses, alarms))
    sums = [counts.sum().reshape(1, 1) for counts in (misses, alarms)]
    curve = PictureCurve(np.zeros(1, np.float32), np.array([3]), *sums, int(faces.sum()), len(faces))
    return PictureMeasurement(
        name=name,
        n_stages=3,
        n_trees=12,
        settings=PictureSettings(1.1, 3, None, 0.5),
        pictures=tuple(str(k) for k in range(len(faces))),
        faces=faces,
        misses=misses,
        false_alarms=alarms,
        windows=np.broadcast_to(np.array(windows, np.int64), faces.shape).copy(),
        curve=curve,
    )


class TestFigures:
    def test_rates(self):
        found = made([4, 0, 6], [1, 0, 2], [0, 2, 3], [1000, 3000, 6000])
        assert (found.n_pictures, found.n_faces, found.recall) == (3, 10, 0.7)
        assert found.recall_bounds == hit_bounds(found.misses, found.faces) == share_bounds(7, 10)
        assert found.alarms_per_picture == pytest.approx(5 / 3)
        assert found.alarms_per_picture_bounds == rate_bounds(found.false_alarms, np.ones(3, np.int64))
        assert found.alarms_per_million == pytest.approx(500)
        low, high = count_bounds(5)
        assert found.alarms_per_million_bounds == pytest.approx((100 * low, 100 * high))

    def test_without_faces(self):
        found = made([0, 0], [0, 0], [0, 1])
        assert found.recall is found.recall_bounds is None
        assert found.alarms_per_picture == 0.5

    def test_without_windows(self):
        found = made([1], [1], [0], 0)
        assert found.alarms_per_million is found.alarms_per_million_bounds is None
        assert found.recall == 0
        assert found.alarms_per_picture_bounds == pytest.approx((0, 2.9957), rel=1e-4)

    def test_json(self):
        for found in (made([4, 6], [1, 2], [0, 3], [1000, 3000]), made([0], [0], [0], 0)):
            read = json.loads(json.dumps(found.as_dict(), allow_nan=False))
            assert read == {
                "name": "made",
                "stages": 3,
                "trees": 12,
                "recall": found.recall,
                "recall_bounds": found.recall_bounds and list(found.recall_bounds),
                "false_alarms_per_picture": found.alarms_per_picture,
                "false_alarms_per_picture_bounds": list(found.alarms_per_picture_bounds),
                "false_alarms_per_million_windows": found.alarms_per_million,
                "false_alarms_per_million_windows_bounds": found.alarms_per_million_bounds
                and list(found.alarms_per_million_bounds),
                "windows": int(found.windows.sum()),
                "misses": found.misses.tolist(),
                "false_alarms": found.false_alarms.tolist(),
                "curve": found.curve.as_dict(),
            }


def plain_difference(a, b):
    """Quantiles of what b does more, over pictures that are drawn for both at once."""
    rng = np.random.default_rng(SEED)
    misses, alarms = [], []
    for _ in range(RESAMPLES):
        draw = [int(i) for i in rng.integers(0, a.n_pictures, a.n_pictures)]
        faces = sum(a.faces[i] for i in draw)
        if faces:
            misses.append(sum(b.misses[i] - a.misses[i] for i in draw) / faces)
        alarms.append(sum(b.false_alarms[i] - a.false_alarms[i] for i in draw) / a.n_pictures)
    return tuple(tuple(np.quantile(values, [0.025, 0.975])) for values in (misses, alarms))


class TestDifferences:
    RNG = np.random.default_rng(4)
    FACES = RNG.integers(0, 5, 12)
    A = made(FACES, RNG.binomial(FACES, 0.4), RNG.poisson(2, 12), name="a")
    B = made(FACES, RNG.binomial(FACES, 0.3), RNG.poisson(1, 12), name="b")

    def test_it_is_that_of_a_plain_loop(self):
        found = bootstrap_difference(self.A, self.B)
        assert found.misses == pytest.approx(self.A.recall - self.B.recall)
        assert found.alarms_per_picture == pytest.approx(
            self.B.alarms_per_picture - self.A.alarms_per_picture
        )
        misses, alarms = plain_difference(self.A, self.B)
        assert found.misses_bounds == pytest.approx(misses)
        assert found.alarms_per_picture_bounds == pytest.approx(alarms)
        assert misses[0] < found.misses < misses[1]
        assert alarms[0] < found.alarms_per_picture < alarms[1]

    def test_the_other_way_round_it_is_the_opposite(self):
        one, other = bootstrap_difference(self.A, self.B), bootstrap_difference(self.B, self.A)
        assert one.misses == -other.misses
        assert one.alarms_per_picture == -other.alarms_per_picture
        for bounds, turned in (
            (one.misses_bounds, other.misses_bounds),
            (one.alarms_per_picture_bounds, other.alarms_per_picture_bounds),
        ):
            assert bounds == pytest.approx((-turned[1], -turned[0]))

    def test_with_itself_it_is_none(self):
        found = bootstrap_difference(self.A, self.A)
        assert (found.misses, found.misses_bounds) == (0, (0, 0))
        assert (found.alarms_per_picture, found.alarms_per_picture_bounds) == (0, (0, 0))

    def test_pictures_are_drawn_for_both_at_once(self):
        """Pictures differ much, and the detectors by one alarm in each: nothing is left to chance."""
        alarms = np.arange(12) * 10
        found = bootstrap_difference(
            made(self.FACES, 0 * alarms, alarms), made(self.FACES, 0 * alarms, alarms + 1)
        )
        assert found.alarms_per_picture_bounds == (1, 1)

    def test_what_a_single_picture_says(self):
        found = bootstrap_difference(made([4], [1], [2]), made([4], [3], [0]))
        assert (found.misses, found.alarms_per_picture) == (0.5, -2)
        assert found.misses_bounds is found.alarms_per_picture_bounds is None
        found = bootstrap_difference(made([4, 0], [1, 0], [2, 2]), made([4, 0], [3, 0], [0, 1]))
        assert (found.misses, found.misses_bounds) == (0.5, None)
        assert found.alarms_per_picture_bounds == (-2, -1)

    def test_without_faces(self):
        found = bootstrap_difference(made([0, 0], [0, 0], [2, 0]), made([0, 0], [0, 0], [0, 0]))
        assert found.misses is found.misses_bounds is None
        assert json.loads(json.dumps(found.as_dict())) == {
            "misses": None,
            "misses_bounds": None,
            "false_alarms_per_picture": -1,
            "false_alarms_per_picture_bounds": [-2, 0],
        }

    @pytest.mark.parametrize(
        "other",
        [
            made([4, 2], [0, 0], [0, 0], name="b"),
            made([4], [0], [0], name="b"),
            made([2, 4], [0, 0], [0, 0], name="b"),
        ],
    )
    def test_other_pictures(self, other):
        if other.faces.tolist() == [4, 2]:
            object.__setattr__(other, "pictures", ("1", "0"))
        with pytest.raises(
            InputError, match=r"a and b must be measured on the same pictures.*'a'.* 2 and 'b' on \d"
        ):
            bootstrap_difference(made([4, 2], [0, 0], [0, 0], name="a"), other)
