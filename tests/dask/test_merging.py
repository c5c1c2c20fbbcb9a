"""Sketches of partitions merged by Dask: exact where everything fits, errors that name the partition."""

from __future__ import annotations

import subprocess
import sys
from functools import reduce
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocboost import BoostingSketch, InputError, MissingExtraError
from ocboost.dask import sketch_margins
from tests.naive.sketch import adaboost_weights, approximation_error
from tests.support.makers import independent_columns, random_margins

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")


@pytest.fixture(autouse=True, scope="module")
def in_this_thread():
    """Without threads, which small arrays are not worth, except where a test asks for them."""
    with dask.config.set(scheduler="synchronous"):
        yield


def cut(array, sizes):
    """A Dask array with partitions of these sizes, some of them 0."""
    chunks = (tuple(sizes), *((n,) for n in array.shape[1:]))
    return da.from_array(array, chunks=chunks, name=False)


def of_unknown_sizes(array, keep=None):
    """The same without the sizes, and without some of the rows."""
    keep = np.ones(len(array), bool) if keep is None else keep
    return array[da.from_array(keep, chunks=(array.chunks[0],), name=False)]


@st.composite
def partitioned(draw):
    """Margins, weights, and sizes of partitions."""
    sizes = draw(st.lists(st.integers(0, 15), min_size=1, max_size=9).filter(any))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    J = draw(st.sampled_from([1, 3, 12]))
    margins = random_margins(rng, sum(sizes), J)
    weights = draw(st.sampled_from([None, rng.choice([0.0, 0.5, 1.0, 3.0], sum(sizes))]))
    return margins, weights, sizes


# What fits in the head ------------------------------------------------------------------------------------


@given(
    partitioned(),
    st.booleans(),
    st.sampled_from([2, 3, 4, 100]),
    st.sampled_from(["heavy", "newest"]),
    st.sampled_from([1.0, 0.2]),
)
def test_what_fits_is_adaboost_however_it_is_cut(case, unknown, split_every, keep, smoothing):
    margins, weights, sizes = case
    array = cut(margins, sizes)
    given = None if weights is None else cut(weights, sizes)
    if unknown:
        array = of_unknown_sizes(array)
    sketch = sketch_margins(
        array, sample_weight=given, split_every=split_every, head=200, keep=keep, smoothing=smoothing
    )
    expected = adaboost_weights(margins, sample_weight=weights, smoothing=smoothing)
    np.testing.assert_allclose(sketch.alpha, expected, rtol=0, atol=1e-9)
    assert sketch.n_seen == sketch.n_head == len(margins)
    assert (sketch.head, sketch.keep, sketch.smoothing) == (200, keep, smoothing)


def test_by_default_the_head_is_automatic_and_memory_replaces_it():
    margins = random_margins(np.random.default_rng(1), 50, 8)
    assert sketch_margins(cut(margins, [20, 30])).memory == BoostingSketch(8, head="auto").memory
    assert sketch_margins(cut(margins, [20, 30]), memory=5_000).memory == 5_000
    assert sketch_margins(cut(margins, [20, 30]), head=7, memory=None).head == 7


def test_rows_without_weight_change_nothing():
    rng = np.random.default_rng(2)
    margins, weights = random_margins(rng, 60, 5), rng.uniform(0.5, 2.0, 60)
    weights[20:45] = 0.0  # a whole partition, and more
    sketch = sketch_margins(cut(margins, [20, 20, 20]), sample_weight=weights, head=100)
    counts = weights > 0
    expected = adaboost_weights(margins[counts], sample_weight=weights[counts])
    np.testing.assert_allclose(sketch.alpha, expected, rtol=0, atol=1e-9)
    assert sketch.n_seen == 60
    nothing = sketch_margins(cut(margins, [30, 30]), sample_weight=np.zeros(60), head=100)
    np.testing.assert_array_equal(nothing.alpha, np.zeros(5))


# What does not fit ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{"head": 60}, {"head": 60, "keep": "newest"}, {"head": 1}, {"memory": 2_000}]
)
@pytest.mark.parametrize("split_every", [2, 3])
def test_the_tree_is_that_of_neighbours(options, split_every, saved_bytes):
    rng = np.random.default_rng(3)
    sizes = [150, 0, 90, 200, 40, 110, 160]
    margins, weights = random_margins(rng, sum(sizes), 6), rng.uniform(0.5, 2.0, sum(sizes))
    sketch = sketch_margins(cut(margins, sizes), sample_weight=weights, split_every=split_every, **options)
    ends = np.cumsum(sizes)
    level = [
        BoostingSketch.from_margins(margins[end - n : end], sample_weight=weights[end - n : end], **options)
        if n
        else BoostingSketch(6, **options)
        for n, end in zip(sizes, ends, strict=True)
    ]
    while len(level) > 1:
        level = [
            reduce(BoostingSketch.merge, level[k : k + split_every])
            for k in range(0, len(level), split_every)
        ]
    assert saved_bytes(sketch) == saved_bytes(level[0])
    assert sketch.n_seen == sum(sizes)


def test_shards_that_differ_are_closer_than_their_average():
    rng = np.random.default_rng(4)
    p = rng.uniform(0.5, 0.65, 40)
    shards = [independent_columns(rng, 1500, p + rng.choice([-0.1, 0.1], 40)) for _ in range(6)]
    margins = np.concatenate(shards)
    exact = adaboost_weights(margins)
    average = np.mean([adaboost_weights(shard) for shard in shards], axis=0)
    error = approximation_error(exact, sketch_margins(cut(margins, [1500] * 6)).alpha)
    assert 0 < error < 0.25 * approximation_error(exact, average)


def test_it_learns_on():
    margins = random_margins(np.random.default_rng(5), 90, 4)
    sketch = sketch_margins(cut(margins[:60], [25, 35]), head=100)
    sketch.update_many(margins[60:])
    np.testing.assert_allclose(sketch.alpha, adaboost_weights(margins), rtol=0, atol=1e-9)


# How arrays are cut ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("unknown", [False, True])
def test_chunks_of_columns_are_joined(unknown):
    margins = random_margins(np.random.default_rng(6), 40, 7)
    array = da.from_array(margins, chunks=(15, 3), name=False)
    array = of_unknown_sizes(array) if unknown else array
    sketch = sketch_margins(array, head=50)
    np.testing.assert_allclose(sketch.alpha, adaboost_weights(margins), rtol=0, atol=1e-9)


def test_weights_are_cut_like_the_margins():
    rng = np.random.default_rng(7)
    margins, weights = random_margins(rng, 40, 3), rng.uniform(0.1, 2.0, 40)
    expected = adaboost_weights(margins, sample_weight=weights)
    for cut_alike in (weights, weights.tolist(), cut(weights, [40]), cut(weights, [1, 0, 38, 1])):
        sketch = sketch_margins(cut(margins, [13, 20, 7]), sample_weight=cut_alike, head=50)
        np.testing.assert_allclose(sketch.alpha, expected, rtol=0, atol=1e-9)


def test_other_numbers_that_are_plus_and_minus_one():
    margins = random_margins(np.random.default_rng(8), 30, 3)
    expected = sketch_margins(cut(margins, [10, 20])).alpha
    for dtype in (np.float32, np.float64, np.int64):
        np.testing.assert_array_equal(sketch_margins(cut(margins.astype(dtype), [10, 20])).alpha, expected)


# Errors ---------------------------------------------------------------------------------------------------

GOOD = random_margins(np.random.default_rng(9), 30, 4)


@pytest.mark.parametrize(
    ("value", "dtype", "said"), [(0, np.int8, "0"), (np.nan, np.float64, "nan"), (2, np.int64, "2")]
)
def test_a_bad_margin_is_named_with_its_partition_and_row(value, dtype, said):
    bad = GOOD.astype(dtype)
    bad[17, 2] = value
    with pytest.raises(
        InputError, match=f"in partition 1: margins must be -1 and \\+1; got {said}(.0)? at row 7, col"
    ):
        sketch_margins(cut(bad, [10, 10, 10]))


@pytest.mark.parametrize(("array", "said"), [(GOOD > 0, "got booleans"), (GOOD.astype("U2"), "dtype <U2")])
def test_margins_that_are_no_numbers(array, said):
    with pytest.raises(InputError, match=rf"in partition \d: margins must be numbers, -1 and \+1; .*{said}"):
        sketch_margins(cut(array, [10, 20]))


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_a_bad_weight_is_named_with_its_partition_and_row(value):
    weights = np.ones(30)
    weights[25] = value
    with pytest.raises(InputError, match=r"in partition 2: sample_weight must be finite.* for example 5"):
        sketch_margins(cut(GOOD, [10, 10, 10]), sample_weight=weights)
    with pytest.raises(InputError, match="in partition 0: sample_weight must be numbers"):
        sketch_margins(cut(GOOD, [30]), sample_weight=["a"] * 30)


def test_weights_that_do_not_belong_to_the_rows():
    array = cut(GOOD, [10, 20])
    unknown = of_unknown_sizes(array)
    for wrong in (np.ones(29), cut(np.ones(31), [31])):
        with pytest.raises(InputError, match="sample_weight must be one for each of the 30 rows of margins"):
            sketch_margins(array, sample_weight=wrong)
    with pytest.raises(
        InputError, match="one-dimensional, one for each row of margins; got shape \\(30, 1\\)"
    ):
        sketch_margins(array, sample_weight=np.ones((30, 1)))
    with pytest.raises(InputError, match=r"sample_weight must be one-dimensional.*got 2 dimensions"):
        sketch_margins(array, sample_weight=cut(np.ones((30, 1)), [10, 20]))
    with pytest.raises(
        InputError, match=r"must be a Dask array where the sizes .* not known; got an array in mem"
    ):
        sketch_margins(unknown, sample_weight=np.ones(30))
    with pytest.raises(InputError, match="as many partitions as margins where sizes are not known, 2; got 3"):
        sketch_margins(unknown, sample_weight=cut(np.ones(30), [10, 10, 10]))
    with pytest.raises(
        InputError, match="in partition 1: sample_weight must have one weight for each of the 20"
    ):
        sketch_margins(unknown, sample_weight=cut(np.ones(29), [10, 19]))
    # Also where a partition has turned out to be empty.
    with pytest.raises(
        InputError, match="in partition 0: sample_weight must have one weight for each of the 0"
    ):
        sketch_margins(of_unknown_sizes(array, np.arange(30) >= 10), sample_weight=cut(np.ones(30), [10, 20]))


def test_no_rows_at_all():
    with pytest.raises(InputError, match="at least one example; all 2 partitions are empty"):
        sketch_margins(of_unknown_sizes(cut(GOOD, [10, 20]), np.zeros(30, bool)))
    with pytest.raises(InputError, match="margins must have at least one column"):
        sketch_margins(cut(GOOD[:, :0], [10, 20]))


def test_what_is_no_dask_array():
    for other in (GOOD, dask.delayed(GOOD), None):
        with pytest.raises(InputError, match=r"margins must be a Dask array .*BoostingSketch.from_margins"):
            sketch_margins(other)
    with pytest.raises(InputError, match=r"margins must be a matrix .* got 1 dimensions"):
        sketch_margins(cut(GOOD[:, 0], [10, 20]))


def test_settings_are_refused_before_any_row_is_read():
    def never(block):
        raise AssertionError("a row was read")

    array = cut(GOOD, [10, 20]).map_blocks(never, dtype=np.int8, meta=np.empty((0, 0), np.int8))
    for wrong in ({"order": 9}, {"head": 0}, {"head": 5, "memory": 900}, {"forgetting": 0.0}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            sketch_margins(array, **wrong)
    with pytest.raises(InputError, match="split_every must be a whole number of at least 2; got 1"):
        sketch_margins(array, split_every=1)
    with pytest.raises(InputError, match=r"client must be a distributed.Client.*got str"):
        sketch_margins(array, client="tcp://here")
    waiting = SimpleNamespace(compute=never, asynchronous=True)
    with pytest.raises(InputError, match="client must not be asynchronous"):
        sketch_margins(array, client=waiting)


def test_tasks_are_cancelled_when_nobody_waits_any_more():
    cancelled = []

    def interrupted():
        raise KeyboardInterrupt

    future = SimpleNamespace(result=interrupted, cancel=lambda: cancelled.append(True))
    client = SimpleNamespace(compute=lambda task: future)
    with pytest.raises(KeyboardInterrupt):
        sketch_margins(cut(GOOD, [10, 20]), client=client)
    assert cancelled


def test_dask_is_named_where_it_is_missing(monkeypatch):
    array = cut(GOOD, [10, 20])
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[dask\]"):
        sketch_margins(array)


# Where it runs --------------------------------------------------------------------------------------------


def test_threads_change_nothing(saved_bytes):
    margins = random_margins(np.random.default_rng(10), 900, 6)
    expected = saved_bytes(sketch_margins(cut(margins, [90] * 10), head=50))
    with dask.config.set(scheduler="threads"):
        assert saved_bytes(sketch_margins(cut(margins, [90] * 10), head=50)) == expected


CLUSTER = """
import dask, dask.array as da, numpy as np
from distributed import Client, LocalCluster
from ocboost import InputError, OCBClassifier
from ocboost.dask import learn_partitions, sketch_margins

def refused(*given, **options):
    try:
        sketch_margins(*given, **options)
    except InputError as error:
        return str(error)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    margins = np.where(rng.random((900, 6)) < 0.6, 1, -1).astype(np.int8)
    array = da.from_array(margins, chunks=(90, 6))
    bad = np.array(margins); bad[200, 1] = 0
    X = rng.normal(size=(400, 3)); y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    clf = OCBClassifier(n_hypotheses=8, head=40).fit(X[:100], y[:100])
    rows = da.from_array(X[100:], chunks=(75, 3))
    def both(**where):
        learnt = learn_partitions(clf, rows, y[100:], **where)
        return sketch_margins(array, head=50, **where).alpha, learnt.alpha_
    here = both()
    with LocalCluster(
        processes=True, n_workers=1, threads_per_worker=2, dashboard_address=":0"
    ) as cluster:
        with Client(cluster, set_as_default=False) as client:
            there = both(client=client)
            wrong = da.from_array(bad, chunks=(90, 6))
            assert "in partition 2: margins must be" in refused(wrong, client=client)
        with Client(cluster):
            present = both()
    for got in (there, present):
        assert (got[0] == here[0]).all()
        assert all((a == b).all() for a, b in zip(got[1], here[1], strict=True))
    print("the same")
"""


def test_a_cluster_gives_the_same_bits(tmp_path):
    pytest.importorskip("distributed")
    script = tmp_path / "run.py"
    script.write_text(CLUSTER, encoding="utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert "the same" in done.stdout, done.stderr
