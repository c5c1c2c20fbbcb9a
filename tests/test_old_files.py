"""Files written before sketches could keep heavy examples: they keep the newest, and go on as they would.

To the last bit on the machine that wrote them; others have other exponentials.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ocboost import BoostingSketch, OCBClassifier

FOLDER = Path(__file__).parent / "old_files"
HOW: dict[str, dict[str, Any]] = {
    "auto": {},
    "window": {"tail": False, "head": 60},
    "grow": {"grow": 10, "head": 50},
    "order": {"order": 3, "head": 30},
}


@pytest.fixture(scope="module")
def rows():
    return np.load(FOLDER / "rows.npz")


@pytest.fixture(scope="module")
def after():
    return json.loads((FOLDER / "after.json").read_text())


def test_a_sketch_goes_on_as_the_newest(rows, after):
    margins = rows["margins"]
    fresh = BoostingSketch(12, head=40, forgetting=0.999, keep="newest")
    fresh.update_many(margins[:250])
    old = BoostingSketch.load(FOLDER / "sketch.ocb")
    assert old.keep == "newest"
    for sketch in (old, fresh):
        sketch.update_many(margins[250:], sample_weight=np.linspace(0.5, 2, 150))
    np.testing.assert_allclose(old.alpha, fresh.alpha, rtol=1e-11)
    np.testing.assert_allclose(old.alpha, after["sketch"], rtol=1e-11)


@pytest.mark.parametrize("name", HOW)
def test_a_classifier_goes_on_as_the_newest(name, rows, after, tmp_path):
    X, y = rows["X"], rows["y"]
    old = OCBClassifier.load(FOLDER / f"{name}.ocb")
    assert (old.keep, old.memory) == ("newest", None)
    fresh = OCBClassifier(n_hypotheses=6, random_state=0, keep="newest", **HOW[name])
    fresh.fit(X[:300], y[:300]).partial_fit(X[300:600], y[300:600])
    old.save(tmp_path / "again.ocb")
    again = OCBClassifier.load(tmp_path / "again.ocb")
    for clf in (old, fresh, again):
        clf.partial_fit(X[600:], y[600:])
        assert all(booster.keep == "newest" for booster in clf.boosters_)
    for mine, theirs, saved, known in zip(old.alpha_, fresh.alpha_, again.alpha_, after[name], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)
        assert (mine == saved).all()
        np.testing.assert_allclose(mine, known, rtol=1e-9)
