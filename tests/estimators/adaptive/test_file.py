"""Files of adaptive classifiers: what is loaded goes on bit for bit; what makes no sense is refused."""

from __future__ import annotations

import copy
import tracemalloc

import numpy as np
import pytest

from ocboost import AdaptiveClassifier, InputError, ModelFileError, OCBClassifier
from ocboost._core.codec import read
from ocboost.estimators.adaptive.file import adaptive_from_tree, adaptive_tree
from tests.support.adaptive import classifier, fitted, same, sparse_stream, state, stream
from tests.support.saved_trees import GONE, changed, found, places

# Going on --------------------------------------------------------------------------------------------------


def late(K=2, **settings):
    """One with two tracks, predictions that wait, and a block of the pool half full."""
    X, y = stream(K=K)
    clf = fitted(K, **settings)
    for i in range(100, 155):
        clf.predict(X[i : i + 1], ids=[i])
        if i >= 103:
            clf.partial_fit(X[i - 3 : i - 2], y[i - 3 : i - 2], ids=[i - 3])
    return clf, X, y


def words():
    X, y = sparse_stream()
    clf = fitted(sparse=True)
    clf.predict(X[110:135])
    return clf.partial_fit(X[100:125], y[100:125]), X, y


def from_nothing(sparse=False):
    X, y = sparse_stream() if sparse else stream()
    clf = classifier().partial_fit(X[:1], y[:1], classes=[0, 1])
    clf.predict(X[30:33])
    return clf.partial_fit(X[1:30], y[1:30]), X, y


KINDS = {
    "two classes": late,
    "four classes": lambda: late(4),
    "sparse": words,
    "from nothing": from_nothing,
    "from nothing, sparse": lambda: from_nothing(True),
    "other members": lambda: late(
        extra=("winnow", "perceptron", "ocb", "ocb-window-200"), without=("labels", "eg")
    ),
    "few members": lambda: late(3, without=("neighbours", "labels", "features", "forests", "pa", "logistic")),
    "one hypothesis": lambda: late(n_hypotheses=1),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_it_goes_on(make, tmp_path):
    clf, X, y = make()
    path = tmp_path / "model"
    clf.save(path)
    loaded = AdaptiveClassifier.load(path)
    assert same(clf, loaded)
    assert clf.get_params() == loaded.get_params()
    assert repr(clf) == repr(loaded)
    assert repr(clf.members_) == repr(loaded.members_)
    assert (clf.n_learnt_, clf.n_waiting_) == (loaded.n_learnt_, loaded.n_waiting_)
    for i in range(155, 290):
        for each in (clf, loaded):
            each.predict(X[i : i + 1], ids=[i])
            each.partial_fit(X[i - 3 : i - 2], y[i - 3 : i - 2], ids=[i - 3])
        if i % 50 == 0:
            loaded.save(path)
            loaded = AdaptiveClassifier.load(path)
    assert same(clf, loaded)
    np.testing.assert_array_equal(clf.predict_proba(X), loaded.predict_proba(X))


def test_settings_that_were_changed_since(tmp_path):
    """set_params takes effect when it is fitted again; what it has learnt is saved as it is."""
    clf, X, y = late()
    twin = copy.copy(clf)
    clf.set_params(without=["forests", "eg"], extra={"winnow"}, n_hypotheses=7)
    clf.save(tmp_path / "model")
    loaded = AdaptiveClassifier.load(tmp_path / "model")
    assert (loaded.without, loaded.extra, loaded.n_hypotheses) == (("forests", "eg"), ("winnow",), 7)
    for each in (clf, loaded, twin):
        each.partial_fit(X[200:230], y[200:230])
    np.testing.assert_array_equal(loaded.predict_proba(X), twin.predict_proba(X))
    names = {member.name for member in loaded.fit(X[:50], y[:50]).members_}
    assert "winnow" in names
    assert not {"eg", "forest-300"} & names


def test_settings_that_could_not_be_loaded_are_not_saved(tmp_path):
    clf, _, _ = late()
    for wrong in ({"without": ["nobody"]}, {"extra": "winnow"}, {"n_hypotheses": 0}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            copy.copy(clf).set_params(**wrong).save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_random_state_that_is_an_object_is_not_kept(tmp_path):
    X, y = stream()
    clf = classifier(random_state=np.random.RandomState(0)).fit(X[:60], y[:60])
    clf.save(tmp_path / "model")
    loaded = AdaptiveClassifier.load(tmp_path / "model")
    assert loaded.random_state is None
    for each in (clf, loaded):
        each.partial_fit(X[60:], y[60:])
    np.testing.assert_array_equal(clf.predict_proba(X), loaded.predict_proba(X))


# Other files -----------------------------------------------------------------------------------------------


def test_files_of_the_other_class(tmp_path):
    X, y = stream()
    ours, theirs = tmp_path / "adaptive", tmp_path / "ocb"
    fitted().save(ours)
    OCBClassifier(n_hypotheses=3).fit(X[:60], y[:60]).save(theirs)
    with pytest.raises(
        ModelFileError, match=r"holds AdaptiveClassifier, not OCBClassifier|AdaptiveClassifier"
    ):
        OCBClassifier.load(ours)
    with pytest.raises(ModelFileError, match="OCBClassifier"):
        AdaptiveClassifier.load(theirs)


def test_damaged_files(tmp_path):
    path = tmp_path / "model"
    fitted().save(path)
    data = path.read_bytes()
    for at in (0, 9, 20, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:at])
        with pytest.raises(ModelFileError, match=str(path)):
            AdaptiveClassifier.load(path)
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(ModelFileError):
            AdaptiveClassifier.load(path)


# A stranger's file -----------------------------------------------------------------------------------------

VALUES = [GONE, None, -1, 0, 1 << 62, float("nan"), 1e300, "x", [], {}, True, [1, 2], np.zeros(3)]


def loaded_from(tree):
    return read(tree, "a file", lambda fields: adaptive_from_tree(fields, AdaptiveClassifier))


def plain_tree(clf):
    return {key: value for key, value in adaptive_tree(clf).items() if key not in ("schema", "history")}


def spoilt(array):
    """The same array with another shape, another type, or other numbers."""
    yield array[:-1] if array.ndim and len(array) else np.zeros(1)
    yield np.concatenate([array, array]) if array.ndim else np.zeros(1)
    yield array.astype(np.float32 if array.dtype.kind == "f" else np.float64)
    yield array.ravel()[None]
    numbers = (np.nan, np.inf, -1.0, 1e300, -1e300) if array.dtype.kind == "f" else (-1, 1 << 30)
    for number in numbers if array.size else ():
        one, several = array.copy().ravel(), array.copy()
        if array.dtype.kind == "f" or np.iinfo(array.dtype).min <= number <= np.iinfo(array.dtype).max:
            one[one.size // 2] = number
            several[...] = number
            yield one.reshape(array.shape)
            yield several


@pytest.mark.parametrize("kind", ["two classes", "four classes", "sparse", "from nothing"])
def test_any_entry_changed(kind):
    """Refused, or a classifier that predicts and learns, with finite probabilities."""
    clf, X, y = KINDS[kind]()
    tree = plain_tree(clf)
    assert same(loaded_from(tree), clf)
    rng, refused, used = np.random.default_rng(0), 0, 0
    for path in places(tree):
        values = [*VALUES, *(spoilt(leaf) if isinstance(leaf := found(tree, path), np.ndarray) else ())]
        chosen = rng.choice(len(values), 3 if kind == "two classes" else 2, replace=False)
        for number in chosen:
            try:
                other = loaded_from(changed(tree, path, values[number]))
            except ModelFileError:
                refused += 1
                continue
            used += 1
            if path[0] in ("classes", "weight_scale"):
                continue  # other labels or weights would be needed
            other.predict(X[:3])
            other.partial_fit(X[:21], y[:21])
            assert np.isfinite(other.predict_proba(X[:5])).all(), (path, values[number])
    assert refused > 100
    assert used > 5


@pytest.mark.parametrize("kind", ["two classes", "sparse"])
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("n_features", (1 << 31) - 1),
        ("n_features", 100_000),
        ("classes.values", list(range(10_000))),
        ("bank.n_hypotheses", 1 << 40),
        ("settings.n_hypotheses", 1 << 40),
        ("bank.issued.rows", lambda a: a + (1 << 50)),
        ("bank.history.every", 0),
        ("bank.boosters", ["ocb-window-20"] * 4),
        ("bank.boosters", [["eg"]] * 4),
        ("bank.without", ["labels"]),
        ("bank.without", [{}]),
        ("bank.sparse", lambda flag: not flag),
        ("settings.extra", [{}]),
        ("settings.without", ["nobody"]),
    ],
)
def test_a_file_that_asks_for_too_much_or_does_not_fit_together(path, value, kind):
    clf, _, _ = KINDS[kind]()
    tree = changed(plain_tree(clf), path, value)
    if path == "classes.values":
        tree = changed(tree, "classes.type", "i8")
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="a file"):
            loaded_from(tree)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["sparse", "from nothing, sparse", "two classes", "from nothing"])
def test_rows_of_the_other_kind(kind):
    clf, X, _ = KINDS[kind]()
    tree = plain_tree(clf)
    for path in ("bank.pool.waiting", "bank.pool.recent.rows", "bank.kept"):
        try:
            rows = found(tree, path)
        except (KeyError, TypeError):
            continue
        if rows is None:
            continue
        if isinstance(rows, dict):
            other = np.zeros((len(rows["indptr"]) - 1, X.shape[1]))
        else:
            other = {"data": np.zeros(0), "indices": np.zeros(0, int), "indptr": np.zeros(len(rows) + 1, int)}
        with pytest.raises(ModelFileError, match="like the others"):
            loaded_from(changed(tree, path, other))
        if not isinstance(rows, dict):
            with pytest.raises(ModelFileError, match="like the others"):
                loaded_from(changed(tree, path, rows.astype(np.float32)))


def test_saving_changes_nothing(tmp_path):
    clf, X, y = late()
    before = state(clf)
    clf.save(tmp_path / "model")
    clf.save(tmp_path / "model")
    assert state(clf) == before
    assert clf.partial_fit(X[200:220], y[200:220]).n_learnt_ == 172
