"""A classifier that grows, in a file: it goes on as it would have, and a stranger's file is refused."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from ocboost import Growth, InputError, Model, ModelFileError, NotSavableError, OCBClassifier
from ocboost._core.codec import read
from ocboost._core.kinds import HYPOTHESES, nested_tree
from ocboost.estimators.classifier_file import classifier_tree
from ocboost.hypotheses import Balls, Stumps
from ocboost.learners import StumpLearner
from tests.support.saved_trees import GONE, arrays_of, changed, places

QUICK = {"budget": 8, "sample": 9, "candidates": 3, "test": 6, "delta": 0.6, "every": 4}


def stream(n, n_classes=2, n_features=4, period=90):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(900, n_features)), 2)
    score = X[np.arange(900), np.arange(900) // period % n_features]
    y = np.digitize(score, [0.0] if n_classes == 2 else [-0.5, 0.5])
    wrong = rng.random(900) < 0.1
    y[wrong] = rng.integers(0, n_classes, wrong.sum())
    return X[:n], y[:n]


def fitted(K, estimator=None, *, learner=None, **options):
    clf = OCBClassifier(estimator, 5, grow=Growth(**QUICK, learner=learner), random_state=0, **options)
    X, y = stream(80, K)
    return clf.fit(X, y)


def deployed(K):
    X, y = stream(80, K)
    model = AdaBoostClassifier(n_estimators=5, random_state=0).fit(X, y)
    return OCBClassifier.from_fitted(model, X, y, grow=Growth(**QUICK), head=30, random_state=0)


def on_top(K):
    pool = Stumps([0, 1], [0.0, 0.3], [1, -1], n_features=4)
    return OCBClassifier.from_offset(
        lambda X: 0.2 * X[:, 0] if K == 2 else 0.2 * X[:, :3],
        pool,
        classes=list(range(K)),
        grow=Growth(**QUICK),
        smoothing=1.0,
        random_state=0,
    )


MODELS = {
    "window": lambda K: fitted(K, tail=False, head=30),
    "forgetting": lambda K: fitted(K, "stump", forgetting=0.97, head=20),
    "all": lambda K: fitted(K),
    "balls": lambda K: fitted(K, "ball", forgetting=0.97, head=20),
    "balls beside stumps": lambda K: fitted(K, learner="ball", head=20, forgetting=0.97),
    "shared": lambda K: fitted(K, Stumps([0, 1], [0.0, 0.3], [1, -1], n_features=4), head=20),
    "deployed": deployed,
    "offset": on_top,
}


def loaded(clf, folder, offset=None):
    clf.save(folder / "model", without_offset=offset is not None)
    return OCBClassifier.load(folder / "model", offset=offset)


def bytes_of(clf, folder):
    clf.save(folder / "bytes", without_offset=True)
    return (folder / "bytes").read_bytes()


# It goes on ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_it_goes_on_as_if_it_had_never_been_saved(name, n_classes, tmp_path):
    X, y = stream(560, n_classes)
    clf = MODELS[name](n_classes)
    offset = clf.offset
    samples = tests = 0
    for start in range(80, 560, 30):
        other = loaded(clf, tmp_path, offset)
        assert bytes_of(other, tmp_path) == bytes_of(clf, tmp_path)
        samples += any(scout.labels for scout in other.grower_.searches)
        tests += any(scout.n_tested for scout in other.grower_.searches)
        part = slice(start, start + 30)
        for each in (clf, other):
            each.partial_fit(X[part], y[part], sample_weight=np.linspace(0.0, 2.0, 30))
        assert bytes_of(other, tmp_path) == bytes_of(clf, tmp_path)
        np.testing.assert_array_equal(other.decision_function(X), clf.decision_function(X))
        assert (other.n_grown_, other.n_retired_) == (clf.n_grown_, clf.n_retired_)
        clf = other
    assert min(samples, tests) > 2
    assert clf.n_grown_ > 3


@pytest.mark.parametrize("kind", ["sparse", "single", "missing"])
def test_rows_keep_their_kind(kind, tmp_path):
    X, y = stream(560)
    X[np.abs(X) < 0.4] = np.nan if kind == "missing" else 0.0
    X = sparse.csr_matrix(X) if kind == "sparse" else X.astype(np.float32 if kind == "single" else float)
    clf = OCBClassifier(n_hypotheses=5, grow=Growth(**QUICK), head=25, forgetting=0.97, random_state=0)
    clf.fit(X[:80], y[:80]).partial_fit(X[80:300], y[80:300])
    other = loaded(clf, tmp_path)
    assert bytes_of(other, tmp_path) == bytes_of(clf, tmp_path)
    for each in (clf, other):
        each.partial_fit(X[300:], y[300:])
    assert bytes_of(other, tmp_path) == bytes_of(clf, tmp_path)
    assert clf.n_grown_ > 3


@pytest.mark.parametrize(
    "change",
    [
        {"grow": None},
        {"grow": 20},
        {"grow": Growth(**{**QUICK, "test": 1, "every": 1})},
        {"grow": Growth(**{**QUICK, "sample": 40, "test": 30, "every": 60})},
        {"grow": Growth(**QUICK, learner="ball")},
        {"head": 10},
        {"tail": False, "head": 35},
    ],
    ids=repr,
)
def test_a_setting_that_waits_for_the_next_example_is_kept(change, tmp_path):
    X, y = stream(700)
    clf = fitted(2, head=20, forgetting=0.97).partial_fit(X[80:301], y[80:301])
    assert clf.grower_.searches[0].labels or clf.grower_.searches[0].n_tested
    clf.set_params(**change)
    other = loaded(clf, tmp_path)
    for each in (clf, other):
        each.partial_fit(X[301:], y[301:])
    np.testing.assert_array_equal(other.decision_function(X), clf.decision_function(X))
    assert (other.n_grown_, other.n_retired_) == (clf.n_grown_, clf.n_retired_)
    assert bytes_of(other, tmp_path) == bytes_of(clf, tmp_path)


def test_growth_that_waits_for_its_first_example_is_kept(tmp_path):
    X, y = stream(400)
    clf = OCBClassifier(n_hypotheses=5, random_state=4, head=20).fit(X[:80], y[:80])
    clf.set_params(grow=Growth(np.int64(8), sample=np.int16(9), test=6, delta=np.float32(0.5)))
    other = loaded(clf, tmp_path)
    assert other.get_params()["grow"] == clf.grow
    for each in (clf, other):
        each.partial_fit(X[80:], y[80:])
    assert bytes_of(other, tmp_path) == bytes_of(clf, tmp_path)
    assert other.n_grown_ > 0


def test_what_learns_must_have_a_name(tmp_path):
    X, y = stream(200)
    tree = DecisionTreeClassifier(max_depth=1)
    for clf in (fitted(2, learner=tree), fitted(2, tree), fitted(2, StumpLearner())):
        clf.partial_fit(X[80:], y[80:])
        with pytest.raises(NotSavableError, match=r"learner='stump'\), or set_params\(grow=None\) first"):
            clf.save(tmp_path / "model")
        assert not (tmp_path / "model").exists()
        before = clf.decision_function(X)
        named = copy.copy(clf).set_params(grow=Growth(**QUICK, learner="stump"))
        for each in (named, clf.set_params(grow=None)):
            other = loaded(each, tmp_path)
            np.testing.assert_array_equal(other.decision_function(X), before)
            other.partial_fit(X[:50], y[:50])
            (tmp_path / "model").unlink()


# A stranger's file ----------------------------------------------------------------------------------------


def busy(name):
    """A classifier in the midst of a sample and a test."""
    if name == "sparse":
        X, y = stream(560)
        X[np.abs(X) < 0.4] = 0.0
        X = sparse.csr_matrix(X)
        clf = OCBClassifier(n_hypotheses=5, grow=Growth(**QUICK), head=20, random_state=0)
        clf.fit(X[:80], y[:80])
    else:
        X, y = stream(560, 3 if name == "three" else 2)
        clf = {"dense": lambda: fitted(2, head=20), "balls": lambda: fitted(2, "ball", head=20)}.get(
            name, lambda: fitted(3, head=20)
        )()
    for i in range(80, 560):
        clf.partial_fit(X[i : i + 1], y[i : i + 1])
        scout, since = clf.grower_.searches[0], clf.grower_._since
        if clf.n_grown_ and scout.n_tested > 1 and len(scout.labels) > 2 and since == 1:
            return clf
    raise AssertionError("never so busy")


@pytest.fixture(scope="module")
def files():
    return {name: classifier_tree(busy(name)) for name in ("dense", "sparse", "balls", "three")}


def back(tree):
    return read(tree, "a file", Model.from_tree).classifier


def refused(tree, match=None):
    with pytest.raises(ModelFileError, match=match):
        back(tree)


def own_arrays(tree):
    """Those of the grower, by their paths."""
    return {path: array for path, array in arrays_of(tree).items() if path[0] == "grower"}


def test_untouched_they_load(files):
    for tree in files.values():
        assert back(tree).grower_.searches[0].n_tested > 1


@pytest.mark.parametrize("name", ["dense", "sparse", "balls", "three"])
def test_every_array_must_be_there_and_fit(name, files):
    tree = files[name]
    own = own_arrays(tree)
    assert len(own) >= 11
    for path, array in own.items():
        for value in (GONE, None, 1, array.tolist()):
            refused(changed(tree, path, value))
        for wrong in (array[None], np.concatenate([array, array]), array[:-1], np.zeros((0, 3, 3))):
            if wrong.shape != array.shape:
                refused(changed(tree, path, wrong))
        if "candidates" not in path:
            others = {"f": np.int64, "i": np.float64}
            refused(changed(tree, path, array.astype(others[array.dtype.kind])))
        refused(changed(tree, (*path[:-1], "more"), np.zeros(3)))
    refused(changed(tree, "grower.more", np.zeros(3)), "entries that are not known: 'more'")
    refused(changed(tree, "grower.scouts", lambda scouts: [*scouts, scouts[0]]), "scouts must be a list of")


@pytest.mark.parametrize(
    ("name", "path", "value", "match"),
    [
        ("dense", "recent.rows", np.inf, "rows must be finite"),
        ("balls", "recent.rows", np.nan, "X must be finite for Balls"),
        ("balls", "scouts.0.sample", np.nan, "X must be finite for Balls"),
        ("dense", "scouts.0.sample", -np.inf, "sample must be finite"),
        ("dense", "recent.codes", 2, "codes"),
        ("three", "recent.codes", 3, "codes"),
        ("dense", "recent.codes", -1, "codes"),
        ("dense", "recent.weights", -1.0, "weights"),
        ("dense", "recent.weights", np.nan, "weights"),
        ("dense", "recent.weights", np.inf, "weights"),
        ("dense", "scouts.0.worth", np.inf, "worth"),
        ("dense", "scouts.0.worth", np.nan, "worth"),
        ("dense", "scouts.0.worth", -1.0, "worth"),
        ("dense", "scouts.0.alpha", np.nan, "alpha"),
        ("dense", "scouts.0.alpha", -np.inf, "alpha"),
        ("dense", "scouts.0.alpha", 1e300, "alpha"),
        ("dense", "scouts.0.right", -1, "right"),
        ("dense", "scouts.0.right", 6, "right"),
        ("dense", "scouts.0.labels", 0, "labels"),
        ("three", "scouts.0.labels", 2, "labels"),
        ("dense", "scouts.0.candidates.feature", 4, "feature"),
        ("dense", "scouts.0.candidates.feature", -1, "feature"),
        ("dense", "scouts.0.candidates.threshold", np.nan, "threshold"),
        ("dense", "scouts.0.candidates.left", 0, "left"),
        ("sparse", "recent.rows.indices", 4, "rows of rows do not fit"),
        ("sparse", "recent.rows.indices", -1, "rows of rows do not fit"),
        ("sparse", "recent.rows.data", np.inf, "rows must be finite"),
        ("sparse", "recent.rows.indptr", 1 << 40, "rows of rows do not fit"),
        ("sparse", "scouts.0.sample.indices", 1 << 40, "rows of sample do not fit"),
    ],
)
def test_values_that_make_no_sense(name, path, value, match, files):
    def spoilt(array):
        array.flat[array.size // 2] = value
        return array

    refused(changed(files[name], f"grower.{path}", spoilt), match)


GROWER = {
    "recent": [None, [], {}, {"capacity": 5}, 7],
    "since": [None, -1, 4, 1.0, True, "1", 1 << 70],
    "n_grown": [None, -1, 1 << 60, 1.0, True],
    "n_retired": [None, -1, 1 << 60, 1.0, True],
    "luck": [None, [], ["a"], {}, [{}, {}]],
    "scouts": [None, [], [None], [0], [{}], {}],
    "more": [None, 1],
}
WORDS = {
    "state": ["", "xyz", "-1", "1" * 33, "AB", 1, None, ["1"]],
    "inc": ["", "0", "2", "xyz", "1" * 33, 1, None],
    "has_uint32": [2, True, 0.0, -1, None],
    "uinteger": [1 << 32, -1, 0.0, None],
    "more": [1],
}
SCOUT = {
    "n_tested": [-1, 6, 1 << 70, True, 2.0, None, "1"],
    "candidates": [None, [], ["Stumps"], "Stumps", {}, {"kind": "Stumps"}, {"kind": "Callables"}],
    "candidates.kind": ["Balls", "Joined", "Trees", "os.system", None, "", "Adaptation", "Winnow"],
    "candidates.n_features": [5, True, None, 0],
    "candidates.precision": ["half", None, 1],
    "sample": [None, [], {}, 1],
    "more": [None, 1],
}
GROWTH = {
    "budget": [0, -1, 8.0, None, True, "8", [8]],
    "sample": [1, -1, 2.5, None],
    "candidates": [0, 1.5, None],
    "test": [0, None, 10**30],
    "delta": [0.0, 1.5, float("nan"), None, "0.5"],
    "every": [0, 1 << 63, None, False],
    "learner": ["tree", 5, ["stump"], {}],
    "more": [1],
}


def bad_places():
    for start, entries in (
        ("grower", GROWER),
        ("grower.luck.0", WORDS),
        ("grower.luck.1", WORDS),
        ("grower.scouts.0", SCOUT),
        ("settings.grow", GROWTH),
    ):
        for key, values in entries.items():
            for value in values if key == "more" else (GONE, *values):
                yield pytest.param(f"{start}.{key}", value, id=f"{start}.{key}: {value!r:.40}")
    for value in ([], "on", {}, {"recent": {}}, 1, GONE):
        yield pytest.param("grower", value, id=f"grower: {value!r:.20}")
    for value in (None, [], [8, 9, 3, 6, 0.6, 4, None], 8, "8", {"budget": 8}):
        yield pytest.param("settings.grow", value, id=f"grow: {value!r:.40}")


@pytest.mark.parametrize(("path", "value"), list(bad_places()))
def test_entries_that_make_no_sense(path, value, files):
    refused(changed(files["dense"], path, value))


def test_candidates_over_other_features(files):
    size = len(files["dense"]["grower"]["scouts"][0]["right"])
    for n_features, fits in ((4, True), (3, False)):
        balls = nested_tree(Balls(np.ones((size, n_features)), np.ones(size)), HYPOTHESES)
        tree = changed(files["dense"], "grower.scouts.0.candidates", balls)
        if fits:
            back(tree)
        else:
            refused(tree, "its candidates do not fit its features")


def test_a_grower_without_settings(files):
    for tree in files.values():
        refused(changed(tree, "settings.grow", None), "its growth has no settings")


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 40),
    st.sampled_from([10**30, -(10**30), 1 << 31, 1 << 62]),
    st.floats(allow_nan=True),
    st.sampled_from(["", "stump", "Stumps", "Joined", "O", "ff"]),
    st.lists(st.integers(-1, 9), max_size=3),
)


def try_it(tree):
    """Refused, or it works: what it answers is finite, and it learns or says why not."""
    try:
        clf = back(tree)
    except ModelFileError:
        return
    X, y = stream(90, len(clf.classes_))
    assert np.isfinite(clf.decision_function(X)).all()
    try:
        clf.partial_fit(X, y)
    except InputError:
        return  # a setting that waited, and makes no sense
    assert np.isfinite(clf.decision_function(X)).all()


@pytest.mark.parametrize("name", ["dense", "sparse", "balls", "three"])
@given(data=st.data())
@settings(max_examples=60)
def test_changed_anywhere_it_is_refused_or_works(name, files, data):
    inside = [p for p in places(files[name]) if p[0] == "grower" or p[:2] == ("settings", "grow")]
    try_it(changed(files[name], data.draw(st.sampled_from(inside)), data.draw(VALUES)))


NUMBERS = [0.0, -0.0, 1.0, -1.0, 5e-324, 1e-300, 1e90, 1e300, -1e300, np.inf, np.nan]


@pytest.mark.parametrize("name", ["dense", "sparse", "balls", "three"])
@given(data=st.data())
@settings(max_examples=60)
def test_changed_arrays_are_refused_or_work(name, files, data):
    tree = copy.deepcopy(files[name])
    own = own_arrays(tree)
    for _ in range(data.draw(st.integers(1, 3))):
        array = own[data.draw(st.sampled_from(list(own)))]
        place = data.draw(st.integers(0, max(0, array.size - 1)))
        values = st.sampled_from(NUMBERS) if array.dtype.kind == "f" else st.integers(-70, 70)
        if array.size:
            array.flat[place] = data.draw(values)
    try_it(tree)
