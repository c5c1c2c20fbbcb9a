"""Windows cut from pictures: where they lie, what they show, which are chosen."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost.cascade import Picture, stage_sums
from ocboost.cascade.detect import levels, scored_candidates
from ocboost.cascade.face_windows import FaceWindows, vary
from ocboost.cascade.mining import PyramidOf
from ocboost.cascade.windows import has_contrast
from tests.naive.matching import plain_area, plain_overlap
from tests.support.judged_pictures import blotches, splitting_cascade

CASCADE = splitting_cascade  # windows of 8 × 7 pixels
GREY = blotches(4, (60, 80))


def picture(*boxes, ignored=(), grey=GREY):
    return Picture("it", grey, np.array(boxes, int).reshape(-1, 4), np.array(ignored, int).reshape(-1, 4))


def every_window(cascade, shown):
    """All windows at which a detector looks, with the rectangles they show, in plain loops."""
    found = []
    for level in levels(cascade, shown.grey, 1.1):
        for y in range(0, level.down, level.stride):
            for x in range(0, level.across, level.stride):
                window = level.image[y : y + cascade.height, x : x + cascade.width]
                corner = [round(float(np.float32(at) * level.scale)) for at in (x, y)]
                size = [round(float(np.float32(s) * level.scale)) for s in (cascade.width, cascade.height)]
                found.append((window.tobytes(), (*corner, *size)))
    return found


def shows_no_face(rect, shown):
    far = all(plain_overlap(rect, box) < 0.25 for box in [*shown.boxes.tolist(), *shown.ignored.tolist()])
    inside = any(2 * plain_area(rect, box) > rect[2] * rect[3] for box in shown.ignored.tolist())
    return far and not inside


SHOWN = picture((10, 10, 16, 14), (50, 30, 20, 18), ignored=[(0, 30, 30, 30)])


class TestFaces:
    def test_a_face_as_it_is_and_mirrored(self):
        cascade = CASCADE()
        windows, face = PyramidOf(cascade, picture((20, 16, 8, 8))).faces(0, np.random.default_rng(0))
        np.testing.assert_array_equal(windows[0], GREY[16:23, 20:28])
        np.testing.assert_array_equal(windows[1], GREY[16:23, 27:19:-1])
        assert face.tolist() == [0, 0]

    def test_a_large_face_is_shrunk(self):
        cascade = CASCADE()
        shown = picture((20, 10, 24, 21))
        windows, _ = PyramidOf(cascade, shown).faces(0, np.random.default_rng(0))
        sizes = list(levels(cascade, GREY, 1.1))
        side = np.sqrt(24 * 21)
        level = min(sizes, key=lambda level: abs(np.log(float(level.scale) * 8 / side)))
        x, y = round(32 / float(level.scale) - 4), round(20.5 / float(level.scale) - 3.5)
        np.testing.assert_array_equal(windows[0], level.image[y : y + 7, x : x + 8])

    def test_shifts_are_small_and_of_each_face(self):
        cascade, shown = CASCADE(), picture((10, 10, 32, 28), (45, 25, 24, 21))
        windows, face = PyramidOf(cascade, shown).faces(6, np.random.default_rng(1))
        assert face.tolist() == [0] * 14 + [1] * 14
        np.testing.assert_array_equal(windows[1::2], windows[::2, :, ::-1])
        places = {}
        for level in levels(cascade, GREY, 1.1):
            for y in range(level.image.shape[0] - 6):
                for x in range(level.image.shape[1] - 7):
                    rect = [float(v * level.scale) for v in (x, y, 8, 7)]
                    places.setdefault(level.image[y : y + 7, x : x + 8].tobytes(), []).append(rect)
        for window, k in zip(windows[::2], face[::2], strict=True):
            near = [plain_overlap(rect, shown.boxes[k].tolist()) for rect in places[window.tobytes()]]
            assert max(near) > 0.65
        assert len({window.tobytes() for window in windows[:14:2]}) > 1

    def test_small_ones_and_those_cut_off_are_left_out(self):
        rng = np.random.default_rng(0)
        for box in ((30, 30, 6, 6), (0, 20, 4, 30), (76, 20, 4, 30)):
            windows, face = PyramidOf(CASCADE(), picture(box)).faces(3, rng)
            assert (len(windows), len(face)) == (0, 0)
        tiny = picture((0, 0, 6, 6), grey=blotches(1, (6, 6)))
        assert len(PyramidOf(CASCADE(), tiny).faces(3, rng)[0]) == 0

    def test_flat_ones_are_left_out(self):
        grey = GREY.copy()
        grey[10:40, 10:45] = 90
        windows, face = PyramidOf(CASCADE(), picture((20, 16, 8, 8), (60, 30, 8, 8), grey=grey)).faces(
            0, np.random.default_rng(0)
        )
        assert face.tolist() == [1, 1]
        assert len(windows) == 2


class TestOthers:
    def test_random_windows_are_those_looked_at_that_show_no_face(self):
        found = PyramidOf(CASCADE(), SHOWN).random(400, np.random.default_rng(2))
        every = every_window(CASCADE(), SHOWN)
        allowed = {pixels for pixels, rect in every if shows_no_face(rect, SHOWN)}
        assert {window.tobytes() for window in found} <= allowed
        assert 100 < len(found) < 400
        assert has_contrast(found).all()

    def test_a_sample_may_show_anything(self):
        found = PyramidOf(CASCADE(), SHOWN).sample(1500, np.random.default_rng(2))
        every = every_window(CASCADE(), SHOWN)
        assert {window.tobytes() for window in found} <= {pixels for pixels, _ in every}
        no_face = {pixels for pixels, rect in every if shows_no_face(rect, SHOWN)}
        share = np.mean([window.tobytes() in no_face for window in found])
        clear = [p for p, _ in every if has_contrast(np.frombuffer(p, np.uint8).reshape(1, 7, 8))[0]]
        assert share == pytest.approx(np.mean([p in no_face for p in clear]), abs=0.05)

    def test_nothing_is_learnt_from_inside_a_crowd(self):
        crowd = picture(ignored=[(0, 0, 80, 60)])
        assert len(PyramidOf(CASCADE(), crowd).random(200, np.random.default_rng(0))) == 0
        assert len(PyramidOf(CASCADE(), crowd).passing(CASCADE(), 50)[0]) == 0
        assert len(PyramidOf(CASCADE(), picture()).passing(CASCADE(), 50)[0]) == 50

    def test_a_picture_smaller_than_the_window_has_none(self):
        tiny = PyramidOf(CASCADE(), picture(grey=blotches(1, (6, 6))))
        rng = np.random.default_rng(0)
        assert tiny.random(9, rng).shape == tiny.sample(9, rng).shape == (0, 7, 8)
        assert tiny.passing(CASCADE(), 9)[0].shape == (0, 7, 8)


class TestPassing:
    def wanted(self, lowest):
        """Scores of all windows that pass, face or not, and which show none."""
        rects, scores = scored_candidates(CASCADE(), SHOWN.grey, 1.1, lowest=lowest)
        return scores, np.array([shows_no_face(rect, SHOWN) for rect in rects.tolist()])

    @pytest.mark.parametrize("lowest", [0.0, -np.inf])
    def test_those_that_score_highest(self, lowest):
        scores, free = self.wanted(lowest)
        assert 0 < free.sum() < len(free)
        for most in (1, 20, 10_000):
            windows, found = PyramidOf(CASCADE(), SHOWN).passing(CASCADE(), most, lowest=lowest)
            np.testing.assert_array_equal(sorted(found), sorted(scores[free])[-most:])
            sums = stage_sums(CASCADE(), windows)[:, -1] - float(CASCADE().stage_threshold[-1])
            np.testing.assert_allclose(sums, found, atol=2e-5)

    def test_some_at_random(self):
        scores, free = self.wanted(0.0)
        drawn = []
        for seed in range(2):
            windows, found = PyramidOf(CASCADE(), SHOWN).passing(CASCADE(), 20, np.random.default_rng(seed))
            assert len(windows) == len(found) == 20
            assert set(found) <= set(scores[free])
            assert min(found) < sorted(scores[free])[-20]
            drawn.append(found.tolist())
        assert drawn[0] != drawn[1]

    def test_more_pass_where_the_last_stage_rejects_none(self):
        counts = [
            len(PyramidOf(CASCADE(), SHOWN).passing(CASCADE(), 10_000, lowest=lowest)[0])
            for lowest in (0.0, -np.inf)
        ]
        assert counts[0] < counts[1]


class TestFaceWindows:
    def test_faces_of_several_pictures_are_counted_on(self):
        first, second = picture((10, 10, 16, 14), (0, 20, 4, 30)), picture((50, 30, 20, 18))
        made = FaceWindows(
            CASCADE(), [first, second], 2, np.random.default_rng(0), mirrored=True, varied=False
        )
        assert made.n_faces == 3
        assert made._face.tolist() == [0] * 6 + [2] * 6
        assert made.windows is made.plain
        assert made.alive.all()
        rng = np.random.default_rng(0)
        want = [PyramidOf(CASCADE(), shown).faces(2, rng)[0] for shown in (first, second)]
        np.testing.assert_array_equal(made.plain, np.concatenate(want))

    def test_half_of_a_faces_windows_reach_what_it_is_said_to(self):
        made = FaceWindows(CASCADE(), [SHOWN], 6, np.random.default_rng(0), mirrored=True, varied=False)
        sums = np.random.default_rng(1).normal(size=len(made.windows))
        some = np.random.default_rng(2).random(len(sums)) < 0.7
        want = []
        for face in (0, 1):
            own = sorted(sums[some & (made._face == face)], reverse=True)
            want.append(own[len(own) // 2])
        np.testing.assert_array_equal(made.per_face(sums, some), want)
        np.testing.assert_array_equal(made.per_face(sums, some & (made._face == 1)), want[1:])
        assert made.per_face(sums, np.zeros(len(sums), bool)).size == 0

    def test_light_falls_off_to_a_side_and_noise_is_added(self):
        windows = np.full((300, 24, 24), 100, np.uint8)
        seen = vary(windows, np.random.default_rng(0)).astype(float)
        assert seen.mean() == pytest.approx(100, abs=1)
        slopes = seen[:, :, 16:].mean(axis=(1, 2)) - seen[:, :, :8].mean(axis=(1, 2))
        assert 30 < np.abs(slopes).max() < 45  # up to 0.3 either way, from a third's middle to the other's
        rough = (seen[:, :, 1:] - seen[:, :, :-1]).std(axis=(1, 2))
        assert rough.min() < 1.5
        assert 7 < rough.max() < 9.5  # 6 · √2
        assert len(vary(windows[:0], np.random.default_rng(0))) == 0
