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

from ocboost import Growth, InputError, ModelFileError, NotSavableError, OCBClassifier
from ocboost.classifier_file import classifier_from_parts, classifier_parts
from ocboost.hypotheses import Balls, Stumps
from ocboost.learners import StumpLearner

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
        samples += any(scout.labels for scout in other.grower_.scouts)
        tests += any(scout.n_tested for scout in other.grower_.scouts)
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
    assert clf.grower_.scouts[0].labels or clf.grower_.scouts[0].n_tested
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


def test_a_file_from_before_there_was_growth():
    X, y = stream(120)
    clf = OCBClassifier(n_hypotheses=5).fit(X, y)
    parameters, arrays = classifier_parts(clf)
    assert parameters.pop("grower") is None
    assert parameters["settings"].pop("grow") is None
    other = classifier_from_parts(parameters, arrays, "a file", OCBClassifier)
    np.testing.assert_array_equal(other.decision_function(X), clf.decision_function(X))
    other.set_params(grow=9).partial_fit(X, y)
    assert other.grower_ is not None


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
        scout, since = clf.grower_.scouts[0], clf.grower_._since
        if clf.n_grown_ and scout.n_tested > 1 and len(scout.labels) > 2 and since == 1:
            return clf
    raise AssertionError("never so busy")


@pytest.fixture(scope="module")
def files():
    return {name: classifier_parts(busy(name)) for name in ("dense", "sparse", "balls", "three")}


def refused(parameters, arrays, match=None):
    with pytest.raises(ModelFileError, match=match):
        classifier_from_parts(parameters, arrays, "a file", OCBClassifier)


def test_untouched_they_load(files):
    for parameters, arrays in files.values():
        clf = classifier_from_parts(parameters, arrays, "a file", OCBClassifier)
        assert clf.grower_.scouts[0].n_tested > 1


@pytest.mark.parametrize("name", ["dense", "sparse", "balls", "three"])
def test_every_array_must_be_there_and_fit(name, files):
    parameters, arrays = files[name]
    own = [key for key in arrays if key.startswith("growth/")]
    assert len(own) >= 11
    for key in own:
        refused(parameters, {other: array for other, array in arrays.items() if other != key})
        array = arrays[key]
        for wrong in (array[None], np.concatenate([array, array]), array[:-1], np.zeros((0, 3, 3))):
            if wrong.shape != array.shape:
                refused(parameters, {**arrays, key: wrong})
        if "/candidates/" not in key:
            others = {"f": np.int64, "i": np.float64}
            refused(parameters, {**arrays, key: array.astype(others[array.dtype.kind])})
    for more in ("recent/more", "scout/0/more", "scout/9/worth", "candidates/0/more", "", "more", "recent"):
        refused(parameters, {**arrays, f"growth/{more}": np.zeros(3)})


@pytest.mark.parametrize(
    ("name", "key", "value", "match"),
    [
        ("dense", "recent/rows", np.inf, "recent rows"),
        ("balls", "recent/rows", np.nan, "rows are not for its hypotheses"),
        ("balls", "scout/0/rows", np.nan, "rows are not for its hypotheses"),
        ("dense", "scout/0/rows", -np.inf, "rows do not fit"),
        ("dense", "recent/codes", 2, "codes"),
        ("three", "recent/codes", 3, "codes"),
        ("dense", "recent/codes", -1, "codes"),
        ("dense", "recent/weights", -1.0, "weights"),
        ("dense", "recent/weights", np.nan, "weights"),
        ("dense", "recent/weights", np.inf, "weights"),
        ("dense", "scout/0/worth", np.inf, "worth"),
        ("dense", "scout/0/worth", np.nan, "worth"),
        ("dense", "scout/0/worth", -1.0, "worth"),
        ("dense", "scout/0/alpha", np.nan, "alpha"),
        ("dense", "scout/0/alpha", -np.inf, "alpha"),
        ("dense", "scout/0/alpha", 1e300, "alpha"),
        ("dense", "scout/0/right", -1, "test"),
        ("dense", "scout/0/right", 6, "test"),
        ("dense", "scout/0/labels", 0, "labels"),
        ("three", "scout/0/labels", 2, "labels"),
        ("dense", "candidates/0/feature", 4, "feature"),
        ("dense", "candidates/0/feature", -1, "feature"),
        ("dense", "candidates/0/threshold", np.nan, "threshold"),
        ("dense", "candidates/0/left", 0, "left"),
        ("sparse", "recent/indices", 4, "recent rows"),
        ("sparse", "recent/indices", -1, "recent rows"),
        ("sparse", "recent/data", np.inf, "recent rows"),
        ("sparse", "recent/indptr", 1 << 40, "recent rows"),
        ("sparse", "scout/0/indices", 1 << 40, "rows"),
    ],
)
def test_values_that_make_no_sense(name, key, value, match, files):
    parameters, arrays = files[name]
    changed = arrays[f"growth/{key}"].copy()
    changed.flat[changed.size // 2] = value
    refused(parameters, {**arrays, f"growth/{key}": changed}, match)


def put(path, value):
    def change(parameters):
        inside = parameters
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = value

    return change


GROWER = {
    "recent": [None, [], {"capacity": 5}, {"capacity": -1, "n": -1}, {"capacity": 9, "n": True}],
    "counts": [
        None,
        [],
        [0, 0],
        [-1, 0, 0],
        [1, -1, 0],
        [1, 0, 1 << 60],
        [1.0, 0, 0],
        [4, 0, 0],
        [True, 0, 0],
    ],
    "luck": [None, [], ["a"], [["1", "1", 0, 0]] * 3],
    "scouts": [None, [], [[0, None]] * 2, [0], [[0]], [{}]],
}
WORDS = [
    None,
    ["1", "1", 0],
    ["", "1", 0, 0],
    ["xyz", "1", 0, 0],
    ["-1", "1", 0, 0],
    ["1" * 33, "1", 0, 0],
    ["AB", "1", 0, 0],
    [1, "1", 0, 0],
    ["1", None, 0, 0],
    ["1", "1", 2, 0],
    ["1", "1", True, 0],
    ["1", "1", 0, 1 << 32],
    ["1", "1", 0, -1],
    ["1", "1", 0.0, 0],
    "1100",
]
SCOUT = [
    ("n_tested", (0,), [-1, 6, 1 << 70, True, 2.0, None, "1"]),
    ("candidates", (1,), [None, [], ["Stumps"], "Stumps", {}, [7, {}], ["Stumps", []], ["Callables", {}]]),
    ("kind", (1, 0), ["Balls", "Joined", "Trees", "os.system", None, ""]),
    ("features", (1, 1), [{}, {"n_features": 5, "precision": "double"}, {"n_features": 4}, None]),
    ("precision", (1, 1, "precision"), ["half", None, 1]),
]


def bad_places():
    for key, values in GROWER.items():
        for value in values:
            yield pytest.param(("grower", key), value, id=f"{key}: {value!r:.40}")
    for k in range(2):
        for value in WORDS:
            yield pytest.param(("grower", "luck", k), value, id=f"luck {k}: {value!r:.40}")
    for name, path, values in SCOUT:
        for value in values:
            yield pytest.param(("grower", "scouts", 0, *path), value, id=f"{name}: {value!r:.40}")
    for value in ([], "on", {}, {"recent": {}}, 1):
        yield pytest.param(("grower",), value, id=f"grower: {value!r:.40}")
    fields = [8, 9, 3, 6, 0.6, 4, None]
    for place, values in enumerate(
        (
            [0, -1, 8.0, None, True, "8", [8]],
            [1, -1, 2.5, None],
            [0, 1.5, None],
            [0, None, 10**30],
            [0.0, 1.5, float("nan"), None, "0.5"],
            [0, 1 << 63, None, False],
            ["tree", 5, ["stump"], {}],
        )
    ):
        for value in values:
            changed = [*fields[:place], value, *fields[place + 1 :]]
            yield pytest.param(("settings", "grow"), changed, id=f"grow: {changed!r}")
    for value in (None, [], fields[:-1], [*fields, None], 8, "8", {"budget": 8}):
        yield pytest.param(("settings", "grow"), value, id=f"grow: {value!r:.40}")


@pytest.mark.parametrize(("path", "value"), list(bad_places()))
def test_parameters_that_make_no_sense(path, value, files):
    parameters, arrays = copy.deepcopy(files["dense"])
    put(path, value)(parameters)
    refused(parameters, arrays)


def test_candidates_over_other_features(files):
    parameters, arrays = copy.deepcopy(files["dense"])
    size = len(arrays["growth/scout/0/right"])
    parameters["grower"]["scouts"][0][1] = ["Balls", {}]
    arrays = {key: array for key, array in arrays.items() if not key.startswith("growth/candidates/")}
    for n_features, fits in ((4, True), (3, False)):
        _, members = Balls(np.ones((size, n_features)), np.ones(size)).parts()
        given_ = {**arrays, **{f"growth/candidates/0/{key}": array for key, array in members.items()}}
        if fits:
            classifier_from_parts(parameters, given_, "a file", OCBClassifier)
        else:
            refused(parameters, given_, "candidates do not fit")


def test_arrays_without_a_grower(files):
    for parameters, arrays in files.values():
        refused({**parameters, "grower": None}, arrays, "its growth is not known")


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 40),
    st.sampled_from([10**30, -(10**30), 1 << 31, 1 << 62]),
    st.floats(allow_nan=True),
    st.sampled_from(["", "stump", "Stumps", "Joined", "O", "ff"]),
    st.lists(st.integers(-1, 9), max_size=3),
)


def places(value, path=()):
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*path, key))


def try_it(parameters, arrays):
    """Refused, or it works: what it answers is finite, and it learns or says why not."""
    try:
        clf = classifier_from_parts(parameters, arrays, "a file", OCBClassifier)
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
    parameters, arrays = copy.deepcopy(files[name])
    inside = [("grower", *p) for p in places(parameters["grower"]) if p]
    inside += [("settings", "grow", *p) for p in places(parameters["settings"]["grow"])]
    put(data.draw(st.sampled_from(inside)), data.draw(VALUES))(parameters)
    try_it(parameters, arrays)


NUMBERS = [0.0, -0.0, 1.0, -1.0, 5e-324, 1e-300, 1e90, 1e300, -1e300, np.inf, np.nan]


@pytest.mark.parametrize("name", ["dense", "sparse", "balls", "three"])
@given(data=st.data())
@settings(max_examples=60)
def test_changed_arrays_are_refused_or_work(name, files, data):
    parameters, arrays = files[name]
    arrays = dict(arrays)
    for _ in range(data.draw(st.integers(1, 3))):
        key = data.draw(st.sampled_from([key for key in arrays if key.startswith("growth/")]))
        changed = arrays[key].copy()
        place = data.draw(st.integers(0, max(0, changed.size - 1)))
        values = st.sampled_from(NUMBERS) if changed.dtype.kind == "f" else st.integers(-70, 70)
        if changed.size:
            changed.flat[place] = data.draw(values)
        arrays[key] = changed
    try_it(parameters, arrays)
