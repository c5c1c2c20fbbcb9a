"""Who judges, and when an adapted cascade is worse than the shipped one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import poisson

from ocboost.cascade import detect
from ocboost.cascade.picture_guard import Judged, judge, split, worse
from ocboost.cascade.picture_measure import measure_on_pictures
from tests.naive.matching import plain_counts
from tests.support.judged_pictures import judged_pictures, splitting_cascade


def test_every_fourth_of_either_kind_judges():
    kinds = np.random.default_rng(0).random(60) < 0.6
    learnt, judged = split(kinds.tolist())
    assert sorted(learnt + judged) == list(range(60))
    for kind in (True, False):
        own = [k for k in range(60) if kinds[k] == kind]
        assert [k for k in judged if kinds[k] == kind] == own[3::4]
    assert learnt == sorted(learnt)
    assert split([]) == ([], [])
    assert split([True] * 3 + [False] * 3)[1] == []


@pytest.mark.parametrize("min_size", [None, (10, 10)])
def test_counts_are_those_of_plain_loops(min_size):
    cascade, pictures = splitting_cascade(), judged_pictures()
    misses = alarms = 0
    for picture in pictures:
        found = detect(cascade, picture.grey, 1.1, 3, min_size)
        own = plain_counts(found, picture.boxes.tolist(), picture.ignored.tolist())
        misses, alarms = misses + own[0], alarms + own[1]
    n_faces = sum(len(picture.boxes) for picture in pictures)
    found = judge(cascade, pictures, min_size)
    assert found == (n_faces - misses, n_faces, alarms, len(pictures))
    assert 0 < found.hits < n_faces
    assert found.misses == misses
    assert found.recall == pytest.approx(1 - misses / n_faces)
    assert found.a_picture == alarms / len(pictures)


def test_a_measurement_is_judged_as_it_counts():
    cascade, pictures = splitting_cascade(), judged_pictures()
    assert Judged.of(measure_on_pictures("it", cascade, pictures)) == judge(cascade, pictures)


def test_no_face_has_no_recall():
    assert math.isnan(Judged(0, 0, 3, 4).recall)


SHIPPED = Judged(50, 100, 10, 40)


@pytest.mark.parametrize(
    ("adapted", "why"),
    [
        (Judged(50, 100, 10, 40), None),
        (Judged(50, 100, 0, 40), None),
        (Judged(49, 100, 0, 40), "it misses 51 of 100 faces, the shipped detector 50"),
        (Judged(90, 100, 15, 40), None),  # as chance gives where ten are expected
        (Judged(90, 100, 40, 40), "it makes 40 false alarms in 40 pictures, the shipped detector 10"),
        (
            Judged(50, 100, 11, 40),
            "it finds no more faces, and makes 11 false alarms where the shipped detector makes 10",
        ),
    ],
)
def test_why_it_is_worse(adapted, why):
    assert worse(SHIPPED, adapted) == why


@pytest.mark.parametrize("expected", [0, 1, 4, 10, 30])
def test_as_many_false_alarms_as_chance_gives(expected):
    """Up to the largest mean that so few false alarms, by chance, are not unlikely for."""
    shipped = Judged(50, 100, expected, 40)
    most = max(n for n in range(200) if worse(shipped, Judged(60, 100, n, 40)) is None)
    assert all(worse(shipped, Judged(60, 100, n, 40)) is None for n in range(most))
    assert poisson.cdf(expected, most) >= 0.05 or most == expected
    assert poisson.cdf(expected, most + 1) < 0.05


def test_more_false_alarms_may_be_wanted():
    assert worse(SHIPPED, Judged(90, 100, 40, 40), wanted=1.0) is None
    assert worse(SHIPPED, Judged(90, 100, 70, 40), wanted=1.0) is not None
    assert worse(SHIPPED, Judged(90, 100, 15, 40), wanted=0.0) is None  # the shipped ones count still


def test_pictures_without_faces_alone_are_judged_by_false_alarms():
    assert worse(Judged(0, 0, 2, 9), Judged(0, 0, 3, 9)) is None
    assert "false alarms" in worse(Judged(0, 0, 2, 9), Judged(0, 0, 30, 9))
