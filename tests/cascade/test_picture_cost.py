"""What detectors cost: which calls are timed, what becomes of the times, and what is refused."""

from __future__ import annotations

import importlib
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from ocboost.cascade import detect
from ocboost.cascade.picture_cost import PictureCosts, cpu_per_picture
from ocboost.errors import InputError, ModelFileError
from tests.support.cascades import as_xml
from tests.support.judged_pictures import FACTOR, judged_pictures, splitting_cascade

COST = importlib.import_module("ocboost.cascade.picture_cost")


def detectors():
    return {"first": as_xml(splitting_cascade()), "second": as_xml(splitting_cascade(4))}


@pytest.fixture
def without_opencv(monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)


class FakeDetectors:
    """Detectors that move a clock on by what they are told to cost, and write down whom they look at."""

    def __init__(self, monkeypatch, *costs):
        self.now, self.calls = 0.0, []
        self._costs = [list(own) for own in costs]
        monkeypatch.setattr(COST, "time", SimpleNamespace(process_time=lambda: self.now))
        monkeypatch.setattr(COST, "_detectors", self._given)

    @contextmanager
    def _given(self, cascades_xml, *settings):
        self.settings = settings
        yield [lambda grey, k=k: self._look(k, grey) for k in range(len(cascades_xml))], True

    def _look(self, k, grey):
        self.calls.append((k, grey.shape))
        self.now += self._costs[k].pop(0)


class TestTimes:
    def test_the_median_of_repeats_and_the_mean_of_pictures(self, monkeypatch):
        pictures = judged_pictures(1)  # three, the last is tiny
        warm = [100.0]
        one = [*warm, 1, 2, 9, 4, 5, 50, 8, 7, 8]
        two = [*warm, 0, 0, 9, 1, 1, 1, 0.5, 0.5, 3]
        fake = FakeDetectors(monkeypatch, one, two)
        told = []
        found = cpu_per_picture(
            {"a": b"", "b": b""}, iter(pictures), progress=lambda *words: told.append(words)
        )
        assert found.ms == pytest.approx({"a": 1000 * (2 + 5 + 8) / 3, "b": 1000 * (0 + 1 + 0.5) / 3})
        assert list(found.ms) == ["a", "b"]
        assert found.ratios == pytest.approx({"a": 1, "b": 0.1})
        assert (found.n_pictures, found.with_opencv) == (3, True)
        shapes = [picture.grey.shape for picture in pictures]
        in_turn = [(k, shape) for shape in shapes for _ in range(3) for k in (0, 1)]
        assert fake.calls == [(0, shapes[0]), (1, shapes[0]), *in_turn]
        assert told == [("0.png", 1), ("none.png", 2), ("tiny.png", 3)]
        assert fake.settings == (1.1, None, 3)

    def test_a_clock_that_stands_still(self, monkeypatch):
        FakeDetectors(monkeypatch, [0.0] * 3, [0.0] * 3)
        found = cpu_per_picture({"a": b"", "b": b""}, judged_pictures(1)[:1], repeats=2)
        assert found.ratios == {"a": 1, "b": 1}
        assert min(found.ms.values()) > 0

    def test_json(self):
        for with_opencv, program in ((True, "OpenCV"), (False, "ocboost")):
            assert PictureCosts({"a": 4.0, "b": 6.0}, 7, with_opencv).as_dict() == {
                "ms": {"a": 4, "b": 6},
                "ratios": {"a": 1, "b": 1.5},
                "pictures": 7,
                "measured_with": program,
            }


class TestDetectors:
    def looked_at(self, with_opencv):
        """What is timed finds what `detect` finds with the same settings."""
        settings = {"scale_factor": FACTOR, "min_size": (12, 11), "min_neighbors": 2}
        with COST._detectors(detectors(), *settings.values()) as (found, by_opencv):
            assert by_opencv == with_opencv
            for find, cascade in zip(found, (splitting_cascade(), splitting_cascade(4)), strict=True):
                boxes = [sorted(map(tuple, find(picture.grey))) for picture in judged_pictures()]
                assert boxes == [sorted(detect(cascade, p.grey, **settings)) for p in judged_pictures()]
                assert sum(map(len, boxes)) > 5

    def test_opencvs(self):
        cv2 = pytest.importorskip("cv2")
        before = cv2.getNumThreads()
        cv2.setNumThreads(2)
        try:
            self.looked_at(True)
            assert cv2.getNumThreads() == 2
            with COST._detectors(detectors(), 1.1, None, 3):
                assert cv2.getNumThreads() == 1
            for bad in (b"no cascade", b"", b'<?xml version="1.0"?><opencv_storage></opencv_storage>'):
                with pytest.raises(
                    InputError, match=r"that OpenCV loads; it does not load 'bad'. Was the file unpacked"
                ):
                    cpu_per_picture({"bad": bad}, judged_pictures(1))
            assert cv2.getNumThreads() == 2
        finally:
            cv2.setNumThreads(before)

    def test_our_own(self, without_opencv):
        self.looked_at(False)

    def test_all_of_it(self):
        pytest.importorskip("cv2")
        self.check(cpu_per_picture(detectors(), judged_pictures(2), scale_factor=FACTOR, repeats=1), True)

    def test_all_of_it_without_opencv(self, without_opencv):
        self.check(cpu_per_picture(detectors(), judged_pictures(2), scale_factor=FACTOR, repeats=1), False)
        with pytest.raises(ModelFileError, match="bad"):
            cpu_per_picture({"bad": b"no cascade"}, judged_pictures(1))

    def check(self, found, with_opencv):
        assert list(found.ms) == list(found.ratios) == ["first", "second"]
        assert all(np.isfinite(ms) and ms > 0 for ms in found.ms.values())
        assert found.ratios["first"] == 1
        assert (found.n_pictures, found.with_opencv) == (4, with_opencv)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"cascades_xml": {}}, r"cascades_xml must hold at least one detector; got none. Give"),
        ({"pictures": []}, r"pictures must hold at least one picture; got none. Check"),
        ({"repeats": 0}, r"repeats must be a whole number of at least 1; got 0. Take 3"),
        (
            {"scale_factor": 1},
            r"scale_factor must be a finite number of at least 1\.001; got 1\.0. Take 1\.1",
        ),
        ({"min_neighbors": -1}, r"min_neighbors must be a whole number of at least 0; got -1"),
    ],
)
def test_refusals(wrong, text):
    with pytest.raises(InputError, match=text):
        cpu_per_picture(**{"cascades_xml": detectors(), "pictures": judged_pictures(1), **wrong})
