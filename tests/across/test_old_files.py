"""Files that earlier versions have written: whatever they hold goes on as it would have.

To the last bit on the machine that wrote them; others have other exponentials. ``version_1/`` has one file of
everything; the others are from before sketches could keep heavy examples, and keep the newest.
"""

import hashlib
import json
import struct
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ocboost import BoostingSketch, ModelFileError, OCBClassifier
from ocboost._core.file_format import MAGIC
from ocboost.cli.info import load_saved
from ocboost.hypotheses import hypotheses_from_parts, hypotheses_parts
from ocboost.offsets import ScaledOffset, offset_in, offset_parts
from ocboost.paper.cache import OldEntry
from tests.old_files import make

FOLDER = Path(__file__).parents[1] / "old_files"
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
    deployed = make.load("deployed", OCBClassifier, make.place("deployed"))
    assert deployed.committee_.deployed_weights.share < 1.0
    assert make.load("grown before", OCBClassifier, make.place("grown before")).grower_ is None


def test_a_cache_entry_of_version_1():
    kind, entry = load_saved(make.place(make.ENTRY))
    assert (kind.axis, entry) == ("cache entry", OldEntry(make.ENTRY))


@pytest.mark.parametrize("name", make.HYPOTHESES)
def test_hypotheses_in_parts(name):
    made = make.HYPOTHESES[name]()
    (kind, parameters), arrays = hypotheses_parts(made)
    if name == "joined":
        assert [described[0] for described in parameters["sets"]] == ["Stumps", "Trees", "Balls"]
        assert "1/root" in arrays
    again = hypotheses_from_parts(kind, parameters, arrays, "parts")
    assert make.after(again) == make.after(made)
    with pytest.raises(ModelFileError, match="parts is not a valid model"):
        hypotheses_from_parts(kind, {**parameters, "more": 1}, arrays, "parts")


def test_offsets_in_parts():
    scaled = ScaledOffset(make.VOTED, 2.0, 0.5)
    for offset in (make.LINEAR, make.VOTED, scaled):
        described, arrays = offset_parts(offset)
        again = offset_in(described, arrays, "parts", None)
        np.testing.assert_array_equal(again(make.X[:9]), offset(make.X[:9]))
    assert "scorer/hypotheses/1/centre" in arrays
    assert offset_parts(scaled, without=True) == (["GivenOffset", {}], {})
    assert offset_in(["GivenOffset", {}], {}, "parts", scaled) is scaled
    assert offset_in(None, {}, "parts", None) is None


def header_changed(path, change):
    """A file of version 1 with a change of its header."""
    data = path.read_bytes()
    _, version, length = struct.unpack_from("<8sII", data)
    assert version == 1
    header = json.loads(data[16 : 16 + length])
    change(header)
    text = json.dumps(header).encode()
    body = struct.pack("<8sII", MAGIC, 1, len(text)) + text + data[16 + length : -32]
    return body + hashlib.sha256(body).digest()


def test_the_first_files_of_version_1(tmp_path):
    """They had no entries for what came later: other boosters, offsets, growth, what is kept."""

    def older(header):
        parameters = header["parameters"]
        assert parameters.pop("grower") is None
        for settings in (parameters["settings"], parameters["committee"]["settings"]):
            del settings["keep"], settings["memory"]
        assert parameters["settings"].pop("grow") is None
        assert parameters["committee"].pop("booster") == "BoostingSketch"
        assert "offset" not in parameters["committee"]

    path = tmp_path / "older.ocb"
    path.write_bytes(header_changed(make.place("classifier newest"), older))
    first = OCBClassifier.load(path)
    assert (first.keep, first.memory, first.booster, first.grow) == ("newest", None, "ocb", None)
    later = OCBClassifier.load(make.place("classifier newest"))
    assert make.after(first) == make.after(later)


NAMES = {
    "classifier": [
        "more",
        "hypotheses/0/feature",
        "booster/W",
        "booster/1/W",
        "booster/0/W/x",
        "booster//W",
        "handover/deployed/0",
        "offset/coef",
        "growth/recent/codes",
        "",
        "/",
    ],
    "joined": ["feature", "3/feature", "0/sets/feature", "0", "00/feature"],
    "deployed three": ["handover/deployed", "handover/deployed/3", "handover/ended/0", "handover/started/x"],
    "offset scaled voted": ["offset/coef", "offset/scorer", "offset/scorer/hypotheses", "offset/scorer/x/y"],
    "grown": [
        "growth/scout/1/worth",
        "growth/scout",
        "growth/recent",
        "growth/candidates/0/feature",
        "growth/x",
    ],
    "filterboost testing": ["0/edges/0", "0/sample/X", "1/edges", "0/hypotheses", "edges", "0/labels/x"],
    "checkpoint": ["confusion", "model/hypotheses/feature"],
    "winnow": ["more", "n_seen", "log/x"],
}


@pytest.mark.parametrize(("name", "array"), [(name, array) for name in NAMES for array in NAMES[name]])
def test_an_array_of_version_1_that_belongs_nowhere(name, array, tmp_path):
    path = tmp_path / "strange.ocb"
    path.write_bytes(
        header_changed(make.place(name), lambda header: header["arrays"].append([array, "f8", [0]]))
    )
    with pytest.raises(ModelFileError, match="is not a valid model"):
        load_saved(path)


@pytest.mark.parametrize("name", make.MODELS)
def test_no_array_of_version_1_may_be_missing_or_twice(name, tmp_path):
    path = tmp_path / "strange.ocb"
    data = make.place(name).read_bytes()
    n = len(json.loads(data[16 : 16 + struct.unpack_from("<8sII", data)[2]])["arrays"])
    assert n

    for k in range(n):
        for change in (renamed, doubled):
            path.write_bytes(header_changed(make.place(name), partial(change, k)))
            with pytest.raises(ModelFileError):
                load_saved(path)


def renamed(k, header):
    header["arrays"][k][0] += "_"


def doubled(k, header):
    header["arrays"].append([header["arrays"][k][0], "f8", [0]])
