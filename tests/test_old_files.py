"""Files that earlier versions have written: whatever they hold goes on as it would have.

To the last bit on the machine that wrote them; others have other exponentials. ``version_1/`` has one file of
everything; the others are from before sketches could keep heavy examples, and keep the newest.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ocboost import BoostingSketch, OCBClassifier
from ocboost.reproduce.cache import Cache
from old_files import make

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


def flat(answers):
    return [number for each in answers for number in (each if isinstance(each, list) else [each])]


@pytest.mark.parametrize("name", make.MODELS)
def test_version_1_goes_on(name, tmp_path):
    fresh = make.MODELS[name]()
    old = make.load(name, type(fresh), make.place(name))
    make.save(name, old, tmp_path / "again.ocb")
    again = make.load(name, type(fresh), tmp_path / "again.ocb")
    make.save(name, again, tmp_path / "once more.ocb")
    assert (tmp_path / "again.ocb").read_bytes() == (tmp_path / "once more.ocb").read_bytes()
    known = json.loads((make.FOLDER / "after.json").read_text())[name]
    answers = flat(make.after(old))
    assert flat(make.after(again)) == answers
    for others in (known, make.after(fresh)):
        np.testing.assert_allclose(answers, flat(others), rtol=1e-9, atol=1e-12)


def test_what_a_version_1_model_says_of_itself():
    model = make.load("model", make.Model, make.place("model"))
    assert model.schema == make.SCHEMA
    assert model.history == make.HISTORY
    assert make.load("deployed", OCBClassifier, make.place("deployed")).committee_.handover.share < 1.0
    assert make.load("grown before", OCBClassifier, make.place("grown before")).grower_ is None


def test_a_cache_of_version_1(tmp_path):
    entry = f"{make.ENTRY}.ocb"
    (tmp_path / entry).write_bytes((make.FOLDER / entry).read_bytes())
    found = Cache(tmp_path).get(make.ENTRY)
    assert found is not None
    assert found[0] == make.ENTRY_OF[0]
    for name, array in make.ENTRY_OF[1].items():
        np.testing.assert_array_equal(found[1][name], array)
