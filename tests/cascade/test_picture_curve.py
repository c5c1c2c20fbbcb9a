"""Curves over thresholds and neighbours: each point is what a cascade with that threshold detects."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ocboost.cascade import detect
from ocboost.cascade.detect import group_rectangles, groups_of, scored_candidates
from ocboost.cascade.matching import Truth
from ocboost.cascade.picture_curve import THRESHOLDS, PictureCurve, ScoredPicture, curve_of
from ocboost.cascade.picture_measure import _highest, measure_on_pictures
from ocboost.cascade.pictures import Picture, as_boxes
from ocboost.cascade.xml import CascadeReader
from ocboost.errors import InputError
from tests.naive.cascade import plain_groups
from tests.naive.matching import plain_counts
from tests.support.cascades import as_xml
from tests.support.judged_pictures import FACTOR, blotches, judged_pictures, splitting_cascade

NO_BOXES = np.empty((0, 4), np.int64)


def written_with(cascade, threshold):
    """The cascade that a file with this last threshold holds."""
    changed = cascade.with_thresholds([*cascade.stage_threshold[:-1], threshold])
    return CascadeReader(as_xml(changed), "x.xml").read()[0]


def detected(cascade, pictures, neighbours, iou=0.5, min_size=None):
    """Misses and false alarms in all pictures together, of what is detected."""
    misses = alarms = 0
    for picture in pictures:
        found = detect(cascade, picture.grey, FACTOR, neighbours, min_size)
        own = plain_counts(found, picture.boxes.tolist(), picture.ignored.tolist(), iou)
        misses, alarms = misses + own[0], alarms + own[1]
    return misses, alarms


def check(curve, cascade, pictures, **settings):
    """Every point of a curve, one by one."""
    for t, threshold in enumerate(curve.thresholds):
        other = written_with(cascade, threshold)
        for k, neighbours in enumerate(curve.neighbours.tolist()):
            point = curve.misses[t, k], curve.false_alarms[t, k]
            assert point == detected(other, pictures, neighbours, **settings), (threshold, neighbours)


def measured(cascade, pictures, **more):
    return measure_on_pictures("x", cascade, pictures, scale_factor=FACTOR, **more).curve


class TestAgainstDetecting:
    @pytest.mark.parametrize(
        ("seed", "stages", "settings"),
        [
            (2, (3, 4, 5), {}),
            (4, (3, 9), {"iou": 0.3}),
            (5, (4, 4, 4), {"min_size": (10, 9), "iou": 0.6}),
        ],
    )
    def test_every_point(self, seed, stages, settings):
        cascade, pictures = splitting_cascade(seed, stages), judged_pictures()
        curve = measured(cascade, pictures, **settings)
        check(curve, cascade, pictures, **settings)
        assert curve.n_faces == sum(len(picture.boxes) for picture in pictures)
        assert curve.n_pictures == len(pictures)
        assert curve.neighbours.tolist() == [1, 2, 3, 4, 5, 6, 8]
        assert (np.diff(curve.thresholds) < 0).all()
        assert 8 < len(curve.thresholds) <= THRESHOLDS + 1
        assert curve.thresholds.dtype == np.float32
        assert cascade.stage_threshold[-1] in curve.thresholds
        for counts in (curve.misses, curve.false_alarms):  # neither neighbours nor thresholds do nothing
            assert np.ptp(counts, axis=0).min() > 0
            assert np.ptp(counts, axis=1).max() > 0

    def test_regions_to_ignore_count(self):
        plain = [Picture(p.name, p.grey, p.boxes) for p in judged_pictures()]
        cascade = splitting_cascade()
        with_regions, without = measured(cascade, judged_pictures()), measured(cascade, plain)
        np.testing.assert_array_equal(with_regions.misses, without.misses)
        assert (with_regions.false_alarms <= without.false_alarms).all()
        assert (with_regions.false_alarms < without.false_alarms).any()

    @pytest.mark.parametrize("most", [1, 60, 150])
    def test_few_windows_give_fewer_thresholds(self, most):
        """With equal scores at the end of what is kept, too."""
        cascade, pictures = splitting_cascade(), judged_pictures(2)
        curve, whole = measured(cascade, pictures, most=most), measured(cascade, pictures)
        check(curve, cascade, pictures)
        assert cascade.stage_threshold[-1] in curve.thresholds
        assert curve.thresholds[-1] > whole.thresholds[-1]
        assert curve.thresholds[0] == whole.thresholds[0]

    def test_one_stage_as_it_is(self):
        cascade, pictures = splitting_cascade(3, (6,), 0.8), judged_pictures(2)
        curve = measured(cascade, pictures)
        own = curve.thresholds.tolist().index(cascade.stage_threshold[-1])
        for k, neighbours in enumerate(curve.neighbours.tolist()):
            point = curve.misses[own, k], curve.false_alarms[own, k]
            assert point == detected(cascade, pictures, neighbours)

    def test_the_number_of_neighbours_that_is_used_is_on_the_curve(self):
        cascade, pictures = splitting_cascade(), judged_pictures(1)
        curve = measured(cascade, pictures, min_neighbors=7)
        assert curve.neighbours.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
        check(curve, cascade, pictures)
        assert measured(cascade, pictures, min_neighbors=0).neighbours.tolist() == [1, 2, 3, 4, 5, 6, 8]

    def test_what_is_found_nowhere(self):
        thresholds = splitting_cascade().stage_threshold
        deaf = splitting_cascade().with_thresholds([1e3, *thresholds[1:]])
        curve = measured(deaf, judged_pictures(), most=5)
        assert curve.thresholds.tolist() == [thresholds[-1]]
        assert (curve.misses == curve.n_faces).all()
        assert not curve.false_alarms.any()
        assert curve.misses_at(0.0) == 1
        np.testing.assert_array_equal(curve.best(), [[0], [1]])

    def test_pictures_smaller_than_the_window(self):
        curve = measured(splitting_cascade(), [Picture("a", blotches(1, (6, 9)), [[0, 0, 5, 5]])])
        assert (curve.misses == 1).all()
        assert not curve.false_alarms.any()


def scored(rects, scores, faces=NO_BOXES, shape=(40, 52)):
    return ScoredPicture(as_boxes(rects), np.array(scores), shape, Truth(as_boxes(faces), NO_BOXES), -np.inf)


class TestByHand:
    def test_what_reaches_beyond_the_picture_is_cut(self):
        """At the edge a mean rectangle is cut to the face; one with nothing left is no false alarm."""
        at_edge, beyond = [[44, 0, 20, 20]] * 3, [[53, 0, 20, 20]] * 3
        curve = curve_of(
            splitting_cascade(), [scored(at_edge + beyond, np.full(6, 0.5), [[44, 0, 8, 20]])], [1, 2, 3], 0.9
        )
        assert curve.misses[-1].tolist() == [0, 0, 1]
        assert curve.false_alarms[-1].tolist() == [0, 0, 0]

    def test_equal_scores_come_together(self):
        rects = [[k, 0, 20, 20] for k in (0, 1, 0, 1)]
        cascade = splitting_cascade()
        curve = curve_of(cascade, [scored(rects, [0.75, 0.5, 0.5, -0.5])], [1, 2, 3], 0.5)
        own = float(cascade.stage_threshold[-1])
        moved = np.array([0.75, 0.5, 0.0, -0.5])
        np.testing.assert_allclose(curve.thresholds, own + moved, atol=1e-6)
        # A threshold is a number that a file can hold, so it may lie just above the score that it is for.
        for threshold, alarms in zip(curve.thresholds, curve.false_alarms.tolist(), strict=True):
            bar = float(np.float32(threshold) - np.float32(1e-5)) - float(np.float32(own) - np.float32(1e-5))
            n = sum(score >= bar for score in (0.75, 0.5, 0.5, -0.5))
            assert alarms == [int(n > k) for k in (1, 2, 3)]
        assert curve.false_alarms[2].tolist() == [1, 1, 0]

    def test_equal_scores_some_of_which_were_left_out(self):
        """There is no threshold at which some that are gone would be needed."""
        thresholds = splitting_cascade().stage_threshold
        cascade = splitting_cascade().with_thresholds([*thresholds[:-1], 1.5])
        rects, scores = as_boxes([[0, 0, 20, 20]] * 6), np.array([0.25, -0.125, 0.25, -0.125, -0.25, -0.125])
        for most, lowest in ((6, 1.25), (5, 1.375), (4, 1.5), (3, 1.5), (2, 1.5), (1, 1.5)):
            kept = _highest(rects, scores, (40, 52), Truth(NO_BOXES, NO_BOXES), most)
            curve = curve_of(cascade, [kept], [1, 2, 3, 4, 5], 0.5)
            assert curve.thresholds.tolist() == [t for t in (1.75, 1.5, 1.375, 1.25) if t >= lowest]
            assert len(kept.scores) == max(most, 2)
            for t, alarms in zip(curve.thresholds.tolist(), curve.false_alarms.tolist(), strict=True):
                assert alarms == [int((scores >= t - 1.5).sum() > n) for n in (1, 2, 3, 4, 5)]

    def test_groups_of_the_first_so_many(self):
        rects, scores = scored_candidates(splitting_cascade(4), blotches(3), FACTOR)
        rects = rects[np.argsort(-scores, kind="stable")]
        ends = np.array([0, 1, 9, 9, 60, 201, len(rects)])
        for end, groups in zip(ends, groups_of(rects, ends, 2), strict=True):
            for neighbours in (1, 2, 3, 5):
                kept = groups.kept(neighbours)
                listed = list(
                    zip(map(tuple, groups.means[kept].tolist()), groups.sizes[kept].tolist(), strict=True)
                )
                assert listed == plain_groups(rects[:end].tolist(), neighbours)
        assert len(listed) > 2
        assert len(group_rectangles(rects, 1)[0]) > len(listed)


def curve(misses, alarms, n_faces=10, n_pictures=20):
    misses, alarms = np.array(misses), np.array(alarms)
    thresholds = -np.arange(len(misses), dtype=np.float32)
    return PictureCurve(thresholds, np.array([1, 3]), misses, alarms, n_faces, n_pictures)


class TestSummaries:
    MADE = curve([[9, 10], [4, 6], [5, 3], [1, 2]], [[1, 0], [6, 2], [20, 7], [90, 41]])

    def points(self, made, neighbours):
        for k, own in enumerate(made.neighbours.tolist()):
            if neighbours in (None, own):
                yield from zip(made.misses[:, k].tolist(), made.false_alarms[:, k].tolist(), strict=True)

    @pytest.mark.parametrize("neighbours", [None, 1, 3])
    @pytest.mark.parametrize("allowed", [0, 0.05, 0.1, 0.2999, 0.3, 0.35, 1, 2.05, 4.5, 99])
    def test_misses_at(self, neighbours, allowed):
        good = [
            misses for misses, alarms in self.points(self.MADE, neighbours) if alarms <= 20 * allowed + 1e-9
        ]
        assert self.MADE.misses_at(allowed, neighbours) == (min(good) / 10 if good else 1)

    @pytest.mark.parametrize("neighbours", [None, 1, 3])
    def test_best(self, neighbours):
        points = list(self.points(self.MADE, neighbours))
        expected = []
        for alarms in sorted({alarms for _, alarms in points}):
            lowest = min(m for m, a in points if a <= alarms)
            if not expected or lowest < expected[-1][1]:
                expected.append((alarms, lowest))
        found = self.MADE.best(neighbours)
        np.testing.assert_allclose(np.transpose(found), [[a / 20, m / 10] for a, m in expected])

    def test_a_rate_that_is_no_exact_number(self):
        """k alarms in n pictures are allowed at k / n, also where k / n · n is rounded to less than k."""
        assert any(k / n * n < k for n in range(1, 60) for k in range(n))
        for n in range(1, 60):
            for k in range(n):
                assert curve([[1, 2]], [[k, k + 1]], 2, n).misses_at(k / n) == 0.5

    def test_without_faces(self):
        made = curve([[0, 0], [0, 0]], [[1, 0], [5, 3]], n_faces=0)
        assert made.misses_at(1.0) is None
        alarms, misses = made.best()
        assert (alarms.tolist(), misses.tolist()) == ([0], [0])

    def test_json(self):
        found = json.loads(json.dumps(self.MADE.as_dict()))
        assert found == {
            "last_thresholds": [0, -1, -2, -3],
            "neighbours": [1, 3],
            "misses": self.MADE.misses.tolist(),
            "false_alarms": self.MADE.false_alarms.tolist(),
            "misses_at": {"0.1": 0.6, "0.3": 0.4, "1": 0.3},
        }

    def test_refusals(self):
        with pytest.raises(InputError, match=r"neighbours must be one of 1, 3; got 2"):
            self.MADE.misses_at(0.1, 2)
        with pytest.raises(InputError, match=r"neighbours must be one of 1, 3; got 'x'"):
            self.MADE.best("x")
        for wrong in (-0.1, np.nan, "1"):
            with pytest.raises(
                InputError, match=r"false_alarms_per_picture must be .* at least 0; got .* Take 0\.1"
            ):
                self.MADE.misses_at(wrong)
