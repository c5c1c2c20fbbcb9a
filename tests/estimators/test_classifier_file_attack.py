"""Files of classifiers from strangers: nothing is executed, and what makes no sense is refused."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import os
import pickle
import struct
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocboost import InputError, Model, ModelFileError, OCBClassifier
from ocboost._core import file_format
from ocboost._core.codec import read
from ocboost.estimators.classifier_file import classifier_tree
from tests.support.classifiers import MODELS, adopted, examples, saved
from tests.support.saved_trees import GONE, places
from tests.support.saved_trees import changed as changed_at

# A stranger's file ----------------------------------------------------------------------------------------


class Bomb:
    """Unpickled, it makes a file."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


def sealed(header, body):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    data = struct.pack("<8sII", file_format.MAGIC, file_format.VERSION, len(text)) + text + body
    return data + hashlib.sha256(data).digest()


def taken_apart(data):
    length = struct.unpack_from("<8sII", data)[2]
    return json.loads(data[16 : 16 + length]), data[16 + length : -32]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Small saved models, as header and body."""
    folder = tmp_path_factory.mktemp("models")
    return {
        (name, K): taken_apart(saved(folder, MODELS[name](K)).read_bytes())
        for name, K in (
            ("stumps", 2),
            ("window", 3),
            ("trees", 2),
            ("joined", 3),
            ("adopted", 2),
            ("adopted", 3),
        )
    }


def refused(path, data, match=None, loads=(OCBClassifier.load, Model.load)):
    path.write_bytes(data)
    for load in loads:
        with pytest.raises(ModelFileError, match=match) as caught:
            load(path)
        assert str(path) in str(caught.value)


def test_a_pickle_is_not_opened(tmp_path):
    marker = tmp_path / "marker"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        bomb = pickle.dumps(Bomb(marker), protocol)
        refused(tmp_path / "model.ocb", bomb, "does not begin as one")
        refused(tmp_path / "model.ocb", file_format.MAGIC + bomb)
        refused(tmp_path / "model.ocb", sealed(bomb, b""), "its header makes no sense")
    assert not marker.exists()
    pickle.loads(bomb)  # the test would see it
    assert marker.is_dir()


def test_a_pickle_within_a_file_is_only_bytes(files, tmp_path):
    marker = tmp_path / "marker"
    bomb = pickle.dumps(Bomb(marker))
    path = tmp_path / "model.ocb"
    for header, body in files.values():
        refused(path, sealed(header, bomb.ljust(len(body), b".")[: len(body)]))
        text = bomb.decode("latin-1")
        for code in ("O", "|O", "object", "V8", "u1", "i1"):
            changed = copy.deepcopy(header)
            changed["arrays"].append([["more"], code, [len(bomb)]])
            refused(path, sealed(changed, body + bomb))
        for key in header["tree"].keys() - {"schema", "history"}:  # a classifier is loaded without them
            changed = copy.deepcopy(header)
            changed["tree"][key] = text
            refused(path, sealed(changed, body))
            changed["tree"][key] = {"__reduce__": text, "py/object": "os.mkdir", "py/reduce": [text]}
            refused(path, sealed(changed, body))
        for key in ("schema", "history"):
            changed = copy.deepcopy(header)
            changed["tree"][key] = text
            refused(path, sealed(changed, body), loads=[Model.load])
        changed = copy.deepcopy(header)
        changed["tree"]["settings"]["estimator"] = text
        refused(path, sealed(changed, body), "its estimator is not known")
        changed["kind"] = "__reduce__"
        refused(path, sealed(changed, body), "not OCBClassifier")
    assert not marker.exists()


IMPORTS = """
import pickle, sys
import numpy as np, sklearn.base, joblib
import ocboost, ocboost.estimators.classifier, ocboost.deployment.model, ocboost.hypotheses, ocboost.streams
def no(*args, **kwargs):
    raise SystemExit("something was unpickled")
def load_all():
    for path in sys.argv[1:]:
        try:
            ocboost.OCBClassifier.load(path)
        except ocboost.ModelFileError:
            pass
load_all()  # numba reads its own cache of compiled kernels, and that is a pickle
pickle.load = pickle.loads = pickle.Unpickler = pickle._Unpickler = np.load = joblib.load = no
sys.addaudithook(lambda event, args: no() if event in
    ("exec", "compile", "pickle.find_class", "subprocess.Popen", "os.system", "marshal.loads") else None)
before = set(sys.modules)
load_all()
print(sorted(set(sys.modules) - before))
"""


def test_loading_runs_and_imports_nothing(files, tmp_path):
    bomb = pickle.dumps(Bomb(tmp_path / "marker"))
    paths = []
    for k, data in enumerate([bomb, sealed(bomb, b""), *[sealed(*each) for each in files.values()]]):
        paths.append(tmp_path / f"{k}.ocb")
        paths[-1].write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, *map(str, paths)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
    assert not (tmp_path / "marker").exists()


def settings_of(header):
    return header["tree"]["settings"]


def set_classes(header, code, values):
    header["tree"]["classes"] = {"type": code, "values": values}


def committee_of(header):
    return header["tree"]["committee"]


HOSTILE = {
    "another kind": (lambda h: h.update(kind="BoostingSketch"), "holds 'BoostingSketch', not OCBClassifier"),
    "kind is no word": (lambda h: h.update(kind=["OCBClassifier"]), "makes no sense"),
    "callables": (
        lambda h: committee_of(h)["hypotheses"].update(kind="Callables"),
        "Stumps, Trees, Balls",
    ),
    "kind of hypotheses no word": (lambda h: committee_of(h)["hypotheses"].update(kind={}), "must be a text"),
    "more keys": (lambda h: h["tree"].update(more=1), "entries that are not known: 'more'"),
    "a key less": (lambda h: h["tree"].pop("committee"), "leads nowhere"),
    "a column less": (lambda h: committee_of(h).pop("columns"), "columns is missing"),
    "history is no list": (lambda h: h["tree"].update(history={}), "history must be a list"),
    "mixed classes": (lambda h: set_classes(h, "i8", [0, "a"]), "of one type"),
    "true is no int": (lambda h: set_classes(h, "i8", [0, True]), "of one type"),
    "unsorted classes": (lambda h: set_classes(h, "i8", [1, 0]), "sorted"),
    "the same class twice": (lambda h: set_classes(h, "U", ["a", "a\0"]), "sorted"),
    "huge classes": (lambda h: set_classes(h, "i8", [0, 10**30]), "too large"),
    "negative": (lambda h: set_classes(h, "u8", [-1, 1]), "too small for their type"),
    "negative and last": (lambda h: set_classes(h, "u8", [0, -1]), "too small for their"),
    "negative of a byte": (
        lambda h: set_classes(h, "u1", [-255, 2]),
        "too small for their",
    ),
    "too large for a byte": (lambda h: set_classes(h, "i1", [0, 128]), "too large or too"),
    "not finite": (lambda h: set_classes(h, "f8", [0.0, float("inf")]), "finite"),
    "beyond float16": (lambda h: set_classes(h, "f2", [0.0, 1e300]), "finite"),
    "no class": (lambda h: set_classes(h, "i8", []), "at least two"),
    "an object class": (lambda h: set_classes(h, "O", [None, {}]), "of one type"),
    "a strange type": (lambda h: set_classes(h, "M8[ns]", [1, 2]), "is not known"),
    "a void type": (lambda h: set_classes(h, "V1000000000", [1, 2]), "not known"),
    "names that take memory": (
        lambda h: set_classes(h, "U", [*map(str, range(1000, 9999)), "x" * 1_000_000]),
        "too large",
    ),
    "three classes": (lambda h: set_classes(h, "i8", [0, 1, 2]), "columns must be a list of 3"),
    "columns beyond": (lambda h: committee_of(h).update(columns=[[0, 7]]), "do not fit"),
    "columns before": (lambda h: committee_of(h).update(columns=[[-1, 5]]), "do not fit"),
    "columns turned": (lambda h: committee_of(h).update(columns=[[6, 0]]), "do not fit"),
    "fewer columns": (lambda h: committee_of(h).update(columns=[[0, 5]]), "does not fit its hypotheses"),
    "columns of true": (lambda h: committee_of(h).update(columns=[[False, 6]]), "do not fit"),
    "no features": (lambda h: h["tree"].update(n_features=True), "n_features must be a whole number"),
    "other features": (lambda h: h["tree"].update(n_features=5), "features do not fit"),
    "features by float": (lambda h: h["tree"].update(n_features=4.0), "n_features must be a whole number"),
    "too many names": (
        lambda h: h["tree"].update(feature_names=list("abcde")),
        "must be a list of 4",
    ),
    "names no words": (lambda h: h["tree"].update(feature_names=[1, 2, 3, 4]), "feature_names must be texts"),
    "batch size": (lambda h: settings_of(h).update(batch_size=0), "batch_size must be a count"),
    "number": (lambda h: settings_of(h).update(n_hypotheses=-3), "n_hypotheses must be a count"),
    "a list": (lambda h: settings_of(h).update(head=[1]), "head must be a single value"),
    "another setting": (
        lambda h: settings_of(h).update(more=1),
        "settings: it holds entries that are not",
    ),
    "other settings": (
        lambda h: committee_of(h)["settings"].update(forgetting=0.5),
        "does not fit its settings",
    ),
    "no settings": (lambda h: committee_of(h).update(settings=None), "settings must be entries"),
    "wrong settings": (lambda h: committee_of(h)["settings"].update(head=-1), "does not fit its settings"),
    "head of other memory": (
        lambda h: committee_of(h)["settings"].update(head=1 << 39),
        "does not fit its settings",
    ),
    "no boosters": (lambda h: committee_of(h).update(boosters=[]), "leads nowhere"),
    "boosters no dict": (lambda h: committee_of(h).update(boosters=[[]]), "leads nowhere"),
    "a handover": (lambda h: committee_of(h).update(handover={"old": 1.0}), "handover.new is missing"),
    "handover no dict": (lambda h: committee_of(h).update(handover=[1]), "handover must be entries"),
    "huge shape": (lambda h: h["arrays"][0].__setitem__(2, [1 << 60]), "makes no sense"),
    "many huge": (lambda h: h["arrays"][0].__setitem__(2, [0, 10**30]), "makes no sense"),
    "many dimensions": (lambda h: h["arrays"][0].__setitem__(2, [1] * 100), "makes no sense"),
    "negative shape": (lambda h: h["arrays"][0].__setitem__(2, [-6]), "makes no sense"),
    "array of no name": (lambda h: h["arrays"][0].__setitem__(0, 7), "no path"),
    "array of null": (lambda h: h["arrays"][0].__setitem__(0, None), "no path"),
    "array of another": (
        lambda h: h["arrays"][0].__setitem__(0, ["committee", "boosters", 7, "x"]),
        "leads nowhere",
    ),
    "deep array": (
        lambda h: h["arrays"][0].__setitem__(0, ["committee", "hypotheses", "n_features"]),
        "is taken",
    ),
    "tree no dict": (lambda h: h.update(tree=[]), "makes no sense"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name, files, tmp_path):
    change, match = HOSTILE[name]
    header, body = copy.deepcopy(files["stumps", 2])
    change(header)
    path = tmp_path / "model"
    path.write_bytes(sealed(header, body))
    for load in (Model.load,) if name.startswith("history") else (OCBClassifier.load, Model.load):
        with pytest.raises(ModelFileError, match=match):
            load(path)


def test_deep_nesting(files, tmp_path):
    header, body = files["stumps", 2]
    text = json.dumps(header)
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        deep = (opening * 200_000 + "1" + closing * 200_000).encode()
        refused(tmp_path / "model", sealed(deep, body))
        inside = text.replace('"handover": null', f'"handover": {deep.decode()}', 1)
        assert inside != text
        refused(tmp_path / "model", sealed(inside.encode(), body))
    refused(tmp_path / "model", sealed(b"1" * 10_000, body))


def test_joined_within_joined(files, tmp_path):
    header, body = copy.deepcopy(files["joined", 3])
    inner = committee_of(header)["hypotheses"]
    committee_of(header)["hypotheses"] = {"kind": "Joined", "sets": [inner]}
    for entry in header["arrays"]:
        if entry[0][:2] == ["committee", "hypotheses"]:
            entry[0][2:2] = ["sets", 0]
    refused(tmp_path / "model", sealed(header, body), "a set is not known")


def test_another_thing_in_the_place_of_hypotheses(files, tmp_path):
    for kind in ("OCBClassifier", "Adaptation", "Winnow", "LinearOffset", "FilterBoost", "CacheEntry"):
        header, body = copy.deepcopy(files["stumps", 2])
        committee_of(header)["hypotheses"]["kind"] = kind
        refused(tmp_path / "model", sealed(header, body), f"hypotheses of the kind '{kind}'")
    header, body = copy.deepcopy(files["stumps", 2])
    committee_of(header)["booster"] = "Stumps"
    refused(tmp_path / "model", sealed(header, body), "booster of the kind 'Stumps'")


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        ("committee", GONE, "committee is missing"),
        ("committee", None, "committee must be entries with names"),
        ("committee.boosters", [], "committee.boosters must be a list of 1"),
        ("committee.boosters", [[]], "boosters.0. must be entries with names"),
        ("committee.boosters.0", lambda one: {**one, "more": 1}, "entries that are not known: 'more'"),
        ("committee.boosters.0.keep", "some", "keep must be 'heavy' or 'newest'"),
        ("committee.boosters.0.keep", GONE, "keep is missing"),
        ("committee.hypotheses", GONE, "hypotheses is missing"),
        ("weight_scale", 0.0, "weight_scale must be a number"),
        ("weight_scale", 1, "weight_scale must be a number"),
        ("settings.booster", "best", "its booster is not known"),
        ("settings.booster", "oza", "must be left out with the booster .oza"),
        ("grower", {}, "its growth has no settings"),
        ("schema", {}, "its schema must have columns"),
        ("schema", {"columns": ["a"], "label": None, "label_kind": None}, "schema must have the 4 features"),
        ("history", [1], "its history is not known"),
    ],
)
def test_trees_that_make_no_sense(path, value, match):
    tree = classifier_tree(MODELS["stumps"](2))
    read(tree, "a file", Model.from_tree)
    with pytest.raises(ModelFileError, match=match):
        read(changed_at(tree, path, value), "a file", Model.from_tree)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e300])
def test_weights_that_are_not_finite(value):
    for path in ("committee.handover.deployed.0", "committee.handover.started.1"):
        tree = changed_at(classifier_tree(adopted(3)), path, lambda weights: np.full_like(weights, value))
        with pytest.raises(ModelFileError, match="finite weights"):
            read(tree, "a file", Model.from_tree)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 40),
    st.sampled_from([10**30, -(10**30), 1 << 31, 1 << 62]),
    st.floats(allow_nan=True),
    st.sampled_from(["", "auto", "Stumps", "Joined", "O", "os.system", "a\0b", "\ud800"]),
    st.lists(st.integers(-1, 9), max_size=3),
    st.dictionaries(st.sampled_from(["a", "sets", "n"]), st.integers(0, 3), max_size=2),
)


def asked(clf):
    """A model that was loaded must give finite numbers, and may learn."""
    X, y = examples(len(clf.classes_), 20, seed=3)
    X = np.resize(X, (20, clf.n_features_in_))
    names = getattr(clf, "feature_names_in_", None)
    rows = X if names is None else pd.DataFrame(X, columns=names)
    assert np.isfinite(clf.decision_function(rows)).all()
    assert np.isfinite(clf.predict_proba(rows)).all()
    assert len(clf.predict(rows)) == 20
    try:
        clf.partial_fit(rows, clf.classes_[y])
    except InputError:
        return  # a setting that waited, and makes no sense
    assert np.isfinite(clf.decision_function(rows)).all()


@pytest.mark.parametrize("which", [0, 1, 2, 3, 4, 5])
@given(data=st.data())
@settings(max_examples=60)
def test_changed_anywhere_it_is_refused_or_works(which, files, tmp_path_factory, data):
    header, body = copy.deepcopy([*files.values()][which])
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(list(places(header))))
        inside = header
        for key in path[:-1]:
            inside = inside[key]
        what = data.draw(st.sampled_from(["set", "delete", "add"]))
        if what == "set":
            inside[path[-1]] = data.draw(VALUES)
        elif what == "delete":
            del inside[path[-1]]
        elif isinstance(inside, dict):
            inside[data.draw(st.sampled_from(["more", "head", "sets", ""]))] = data.draw(VALUES)
        else:
            inside.insert(path[-1], data.draw(VALUES))
    _try(sealed(header, body), tmp_path_factory)


NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 5e-324, 1e-300, 1e300, -1e300, np.inf, -np.inf, np.nan]
EIGHT_BYTES = st.one_of(
    st.sampled_from([struct.pack("<d", number) for number in NUMBERS]),
    st.integers(-70, 70).map(lambda number: struct.pack("<q", number)),
    st.binary(min_size=8, max_size=8),
)


@pytest.mark.parametrize("which", [0, 1, 2, 3, 4, 5])
@given(changes=st.lists(st.tuples(st.integers(0, 1 << 20), EIGHT_BYTES), min_size=1, max_size=3))
@settings(max_examples=60)
def test_changed_arrays_are_refused_or_work(which, files, tmp_path_factory, changes):
    header, body = [*files.values()][which]
    changed = bytearray(body)
    for place, value in changes:
        at = 8 * (place % (len(body) // 8))
        changed[at : at + 8] = value
    _try(sealed(header, bytes(changed)), tmp_path_factory)


def _try(data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "changed.ocb"
    path.write_bytes(data)
    with contextlib.suppress(ModelFileError):
        clf = OCBClassifier.load(path)
        Model.load(path)
        asked(clf)


def test_a_file_is_read_where_numpy_raises(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    OCBClassifier(n_hypotheses=3).fit(X, X[:, 0] > 0).save(tmp_path / "model")
    with np.errstate(all="raise"):
        OCBClassifier.load(tmp_path / "model")
