"""Trees against a plain walk, and what a file of them may not say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from ocboost import InputError, ModelFileError, set_num_threads
from ocboost._core import threads
from ocboost._core.codec import read
from ocboost._core.kinds import HYPOTHESES, nested_reader, nested_tree
from ocboost.hypotheses import Ballot, Trees
from ocboost.hypotheses import trees as module
from tests.support.saved_trees import GONE, changed


def grown(rng, n_trees, inner, n_features=5, n_answers=1, values=None):
    """Random trees of about ``inner`` inner nodes: any leaf may be split next, so they are not balanced."""
    columns = {name: [] for name in ("feature", "threshold", "left", "right", "missing_left")}
    roots = []

    def node():
        for name in columns:
            columns[name].append(-1 if name != "missing_left" else 0)
        return len(columns["left"]) - 1

    for _ in range(n_trees):
        leaves = [node()]
        roots.append(leaves[0])
        for _ in range(int(rng.integers(0, inner + 1))):
            v = leaves.pop(int(rng.integers(len(leaves))))
            columns["feature"][v] = int(rng.integers(n_features))
            columns["threshold"][v] = rng.normal() if values is None else rng.choice(values)
            columns["missing_left"][v] = int(rng.integers(2))
            columns["left"][v], columns["right"][v] = node(), node()
            leaves += [columns["left"][v], columns["right"][v]]
    answer = rng.choice([-1, 1], (len(columns["left"]), n_answers))
    return dict(root=rng.permutation(roots), answer=answer, n_features=n_features, **columns)


def walked(arrays, X, precision="double"):
    """The plain loop: one row, one tree, one node after the other."""
    roots, answer = arrays["root"], np.asarray(arrays["answer"])
    T, G = len(roots), answer.shape[1]
    out = np.empty((X.shape[0], T * G), np.int8)
    for i, row in enumerate(X):
        for t, v in enumerate(roots):
            while arrays["feature"][v] >= 0:
                x = row[arrays["feature"][v]]
                x = float(np.float32(x)) if precision == "single" else float(x)
                goes_left = arrays["missing_left"][v] if np.isnan(x) else x <= float(arrays["threshold"][v])
                v = arrays["left" if goes_left else "right"][v]
            for g in range(G):
                out[i, g * T + t] = answer[v, g]
    return out


def rows(rng, n, values=None, dtype=np.float64):
    X = rng.normal(size=(n, 5)) if values is None else rng.choice(values, (n, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize(
    ("inner", "n_answers"), [(0, 1), (1, 1), (7, 1), (7, 3), (127, 1), (400, 1), (400, 4)]
)
def test_a_plain_walk_answers_the_same(inner, n_answers, precision, dtype):
    rng = np.random.default_rng(inner + n_answers)
    arrays = grown(rng, 9, inner, n_answers=n_answers)
    X = rows(rng, 300, dtype=dtype)
    assert np.array_equal(Trees(**arrays, precision=precision).answers(X), walked(arrays, X, precision))


@pytest.mark.parametrize("limit", [0, 127])
@pytest.mark.parametrize("n_answers", [1, 3])
def test_walking_and_operations_answer_the_same(monkeypatch, limit, n_answers):
    monkeypatch.setattr(module, "_MAX_INNER_NODES", limit)
    monkeypatch.setattr(module, "_MAX_INNER_PER_LEVEL", limit)
    rng = np.random.default_rng(5)
    arrays = grown(rng, 12, 60, n_answers=n_answers)
    trees = Trees(**arrays)
    assert (trees._plan.node.size > 0) == (limit == 0)
    X = rows(rng, 70)
    assert np.array_equal(trees.answers(X), walked(arrays, X))


def test_the_largest_tree_of_operations_has_as_many_leaves_as_an_int8_counts():
    rng = np.random.default_rng(0)
    inner, nodes = 127, 255
    v = np.arange(nodes)
    arrays = {
        "root": [0],
        "feature": np.where(v < inner, rng.integers(0, 5, nodes), -1),
        "threshold": rng.normal(size=nodes),
        "left": np.where(v < inner, 2 * v + 1, -1),
        "right": np.where(v < inner, 2 * v + 2, -1),
        "missing_left": v % 2,
        "answer": rng.choice([-1, 1], (nodes, 2)),
    }
    trees = Trees(**arrays)
    assert trees._plan.node.size == 0  # not walked
    X = rows(rng, 2000)
    assert np.array_equal(trees.answers(X), walked(arrays, X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("limit", [0, 127])  # walked, and by operations
def test_values_on_thresholds_and_beside_them(monkeypatch, limit, precision, dtype):
    monkeypatch.setattr(module, "_MAX_INNER_NODES", limit)
    rng = np.random.default_rng(3)
    near = np.array([0.1, -0.1, 1.0, 1e-30, 3e38, -3e38, 1e300, -1e300, 16777217.0, 0.0])
    single = np.clip(near, -3.4e38, 3.4e38).astype(np.float32)
    values = np.concatenate(
        [
            near,
            np.nextafter(near, np.inf),
            np.nextafter(near, -np.inf),
            np.nextafter(single, np.float32(np.inf)).astype(np.float64),
            np.nextafter(single, np.float32(-np.inf)).astype(np.float64),
            [np.inf, -np.inf],
        ]
    )
    arrays = grown(rng, 30, 20, values=values)
    with np.errstate(over="ignore"):
        X = rows(rng, 300, values=values, dtype=dtype)
        expected = walked(arrays, X, precision)
    assert np.array_equal(Trees(**arrays, precision=precision).answers(X), expected)


def test_sparse_rows_answer_like_dense_ones():
    rng = np.random.default_rng(1)
    arrays = grown(rng, 10, 30, values=np.array([-0.5, 0.0, 0.5]))
    X = rng.normal(size=(600, 5)) * (rng.random((600, 5)) < 0.4)
    trees = Trees(**arrays)
    for dtype in (np.float32, np.float64):
        expected = trees.answers(X.astype(dtype))
        assert np.array_equal(trees.answers(sparse.csr_matrix(X.astype(dtype))), expected)
    assert np.array_equal(expected, walked(arrays, X))


@pytest.fixture
def two_threads():
    before = threads.get_num_threads()
    set_num_threads(2)
    yield
    set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_votes_are_the_sum_of_answers_with_several_threads(monkeypatch):
    monkeypatch.setattr("ocboost.hypotheses.base.MIN_ANSWERS_FOR_THREADS", 1)
    rng = np.random.default_rng(2)
    arrays = grown(rng, 20, 40, n_answers=2)
    trees, X = Trees(**arrays), rows(rng, 1000)
    alpha = rng.normal(size=20)
    votes = trees.votes(X, [Ballot.of(alpha, 0), Ballot.of(alpha, 20)])
    answers = walked(arrays, X)
    assert np.allclose(votes, np.stack([answers[:, :20] @ alpha, answers[:, 20:] @ alpha], 1))


@pytest.mark.parametrize("n_answers", [1, 3])
def test_any_choice_of_members_keeps_their_answers(n_answers):
    rng = np.random.default_rng(7)
    T = 6
    arrays = grown(rng, T, 10, n_answers=n_answers)
    trees, X = Trees(**arrays), rows(rng, 100)
    whole = trees.answers(X)
    J = T * n_answers
    choices = [
        0,
        J - 1,
        slice(None),
        slice(0, T),
        slice(J - T, J),
        slice(None, None, -1),
        [2, 2, 0],
        list(range(1, T)),
        np.arange(J) % 4 == 0,
        rng.permutation(J),
        rng.integers(0, J, 40),
    ]
    for choice in choices:
        wanted = np.atleast_1d(np.arange(J)[choice])
        chosen = trees[choice]
        assert np.array_equal(chosen.answers(X), whole[:, wanted])
        assert len(chosen) == wanted.size
        assert np.array_equal(chosen[::-1].answers(X), whole[:, wanted[::-1]])
    with pytest.raises(InputError, match="members must name at least one hypothesis"):
        trees[[]]


def test_a_class_is_chosen_without_copies_and_what_is_not_needed_is_left_out():
    rng = np.random.default_rng(8)
    trees = Trees(**grown(rng, 6, 10, n_answers=3))
    assert trees[6:12].feature.size == trees.feature.size
    assert trees[[0, 3, 12, 15]].n_answers == 2  # two trees, two answers
    assert trees[0].feature.size < trees.feature.size
    assert trees[[0, 7]].n_answers == 1


@pytest.mark.parametrize("n_answers", [1, 3])
def test_saved_and_loaded(tmp_path, n_answers):
    rng = np.random.default_rng(4)
    trees = Trees(**grown(rng, 5, 30, n_answers=n_answers), precision="single")
    trees.save(tmp_path / "trees")
    again, X = Trees.load(tmp_path / "trees"), rows(rng, 200)
    assert np.array_equal(again.answers(X), trees.answers(X))
    assert (again.precision, again.n_features, repr(again)) == ("single", 5, repr(trees))
    known = read(nested_tree(trees, HYPOTHESES), "file", nested_reader(HYPOTHESES))
    assert np.array_equal(known.answers(X), trees.answers(X))


def test_an_unknown_kind_is_refused():
    with pytest.raises(ModelFileError, match="file holds hypotheses of the kind 'Callables'"):
        read({"kind": "Callables"}, "file", nested_reader(HYPOTHESES))


def _one_tree():
    return Trees([0], [0, -1, -1], [1.0, 0, 0], [1, -1, -1], [2, -1, -1], [1, 1, -1], n_features=2)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("left", [0, -1, -1], "left of node 0 must be a node from 1 to 2; got 0"),
        ("left", [3, -1, -1], "left of node 0 must be a node from 1 to 2; got 3"),
        ("left", [2**31 - 1, -1, -1], "left must be at least -1"),
        ("right", [-1, -1, -1], "right of node 0 must be a node"),
        ("right", [1, -1, -1], "name each node once; got 2 times 1"),
        ("left", [1, 2, -1], "left of node 1 must be -1, for it is a leaf; got 2"),
        ("feature", [2, -1, -1], "feature must lie between 0 and n_features - 1 = 1"),
        ("feature", [-2, -1, -1], "feature must be at least -1"),
        ("threshold", [np.nan, 0, 0], "threshold must be 3 numbers"),
        ("threshold", [1.0, 0], "threshold must be 3 numbers"),
        ("root", [3], "root must lie between 0 and 2"),
        ("root", [-1], "root must lie between 0 and 2"),
        ("root", [1], "no node's child; got 1"),
        ("root", [], "root must be a list of at least one"),
        ("answer", [[1], [0], [1]], "answer must be -1 and \\+1"),
        ("answer", [[1], [1]], "answer must be -1 and \\+1"),
        ("answer", np.ones((3, 0)), "answer must be -1 and \\+1"),
        ("missing_left", [0, 0, 2], "missing_left must be 3 times 0 or 1"),
        ("left", [1, -1], "left must be a list of 3 whole numbers"),
        ("root", np.zeros(module.MAX_ANSWERS + 1), "at most 16777216 answers"),
    ],
)
def test_what_is_no_tree_is_refused_by_the_class_and_from_a_file(key, value, text):
    tree = _one_tree().tree()
    tree[key] = np.array(value).astype(tree[key].dtype)
    with pytest.raises(ModelFileError, match=f"file is not a valid model: .*{text}"):
        read(tree, "file", Trees.from_tree)
    with pytest.raises(InputError, match=text):
        Trees(**tree)


@pytest.mark.parametrize("key", ["root", "feature", "threshold", "left", "right", "answer", "missing_left"])
def test_a_file_has_all_arrays_and_their_types(key):
    tree = _one_tree().tree()
    wrong = np.uint64 if key != "threshold" else np.float32
    with pytest.raises(ModelFileError, match=f"the array {key} has the wrong shape or type"):
        read(tree | {key: tree[key].astype(wrong)}, "file", Trees.from_tree)
    with pytest.raises(ModelFileError, match=f"the array {key} has the wrong shape or type"):
        read(tree | {key: tree[key][None, None]}, "file", Trees.from_tree)
    with pytest.raises(ModelFileError, match=f"{key} is missing"):
        read(changed(tree, key, GONE), "file", Trees.from_tree)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_features": 2},
        {"n_features": 2, "precision": "single", "more": 1},
        {"n_features": True, "precision": "single"},
        {"n_features": 1 << 40, "precision": "single"},
        {"n_features": 2, "precision": "half"},
        {"n_features": 2, "precision": ["single"]},
    ],
)
def test_a_file_has_known_parameters(parameters):
    with pytest.raises(ModelFileError, match="file is not a valid model"):
        read({**_one_tree().tree(), "precision": None, **parameters}, "file", Trees.from_tree)


def test_a_chain_of_many_nodes_is_laid_out_and_answered():
    n = 20_001
    v = np.arange(n)
    inner = (v % 2 == 0) & (v < n - 1)
    trees = Trees(
        [0],
        np.where(inner, 0, -1),
        v.astype(float),
        np.where(inner, v + 1, -1),
        np.where(inner, v + 2, -1),
        np.where(v == n - 2, 1, -1),
    )
    assert trees.answers(np.array([[n - 3.0], [n - 3.5], [n - 5.0], [n * 2.0]])).ravel().tolist() == [
        1,
        1,
        -1,
        -1,
    ]
