"""The threshold where nothing is wanted, against plain search over `detect`."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost.cascade import own_threshold as module
from ocboost.cascade.own_threshold import own_threshold
from ocboost.cascade.picture_guard import judge
from ocboost.cascade.picture_threshold import cautious_threshold
from tests.support.judged_pictures import judged_pictures, splitting_cascade


def moved(cascade, threshold):
    return cascade.with_thresholds([*cascade.stage_threshold[:-1], threshold])


def loosened(by=-3.0):
    """A cascade whose last stage rejects little."""
    cascade = splitting_cascade()
    return moved(cascade, by)


def plain(shipped, cascade, pictures):
    """The same by judging a cascade for every threshold."""
    kinds = [[p for p in pictures if len(p.boxes)], [p for p in pictures if not len(p.boxes)]]
    third = [
        cautious_threshold(cascade, own, min(judge(shipped, own).a_picture, 0.3) / 3.0)
        for own in kinds
        if own
    ]
    careful, loose = max(third), cautious_threshold(cascade, pictures, 0.3)
    if not kinds[0] or loose >= careful:
        return careful
    before, most = (judge(each, kinds[0]).hits for each in (shipped, moved(cascade, loose)))
    for k in range(20):
        threshold = careful + (loose - careful) * k / 20
        if judge(moved(cascade, threshold), kinds[0]).hits >= before + 0.5 * (most - before):
            return threshold
    return loose


@pytest.mark.parametrize("shipped_at", [-99.0, 0.0, 3.0, 99.0])
@pytest.mark.parametrize("which", ["all", "with faces", "without"])
def test_agrees_with_plain_search(shipped_at, which):
    pictures = [
        p for p in judged_pictures() if which == "all" or bool(len(p.boxes)) == (which == "with faces")
    ]
    if not pictures:
        pytest.skip("no such pictures")
    shipped, cascade = loosened(shipped_at), loosened()
    found = own_threshold(shipped, cascade, pictures)
    assert found == pytest.approx(plain(shipped, cascade, pictures), abs=3e-5)


def test_what_is_gained_is_kept_by_half(monkeypatch):
    """Between the careful threshold, which finds hardly a face, and the loose one."""
    pictures, cascade = judged_pictures(), loosened()
    with_faces = [p for p in pictures if len(p.boxes)]
    shipped = loosened(99.0)  # finds nothing, without a false alarm
    monkeypatch.setattr(module, "MOST_FALSE_ALARMS", 3.0)
    hits = [judge(moved(cascade, own_threshold(shipped, cascade, pictures)), with_faces).hits]
    for share in (0.0, 0.9):
        monkeypatch.setattr(module, "KEPT_GAIN", share)
        hits.append(judge(moved(cascade, own_threshold(shipped, cascade, pictures)), with_faces).hits)
    loose = cautious_threshold(cascade, pictures, 3.0)
    most = judge(moved(cascade, loose), with_faces).hits
    half, none, nearly_all = hits
    assert none <= half <= nearly_all <= most
    assert none < nearly_all
    assert half >= most / 2
    assert np.isfinite(loose)
