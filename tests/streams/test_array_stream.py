"""Arrays as streams."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from ocboost.errors import InputError
from ocboost.streams import ArrayStream, Batch, Stream, open_stream
from tests.support.stream_files import write_csv


def test_arrays_give_the_batches_that_a_file_gives(tmp_path):
    rng = np.random.default_rng(6)
    X = rng.standard_normal((25, 3))
    X[3, 1] = np.nan
    for y in (
        rng.integers(0, 3, 25),
        rng.random(25) < 0.5,
        rng.random(25),
        np.array(["a", "b", None, "c", "a"] * 5, object),
    ):
        rows = [
            (*[None if v != v else v for v in row], label)
            for row, label in zip(X.tolist(), y.tolist(), strict=True)
        ]
        path = write_csv(tmp_path / "t.csv", ["p", "q", "r", "label"], rows)
        ours = ArrayStream(X, y, batch_size=10, feature_names=["p", "q", "r"])
        assert isinstance(ours, Stream)
        with open_stream(path, label="label", batch_size=10) as stream:
            assert ours.schema == stream.schema
            for one, other in zip(ours, stream, strict=True):
                assert isinstance(one, Batch)
                assert one.first == other.first
                assert np.array_equal(one.X, other.X, equal_nan=True)
                assert one.y.dtype == other.y.dtype
                assert one.y.tolist() == other.y.tolist()
                assert one.known.tolist() == other.known.tolist()


def test_array_stream_details():
    X = np.arange(12, dtype=np.float32).reshape(6, 2)
    stream = ArrayStream(X, [0.0, 1.0, np.nan, 1.0, 0.0, 1.0], batch_size=4, skip=1)
    assert (stream.bytes_read, stream.bytes_total) == (8, 48)
    first, second = stream
    assert (first.first, len(first), second.first, len(second)) == (1, 4, 5, 1)
    assert first.X.dtype == np.float64
    assert first.y.tolist() == [1, 0, 1, 0]
    assert first.known.tolist() == [True, False, True, True]
    assert stream.bytes_read == 48
    assert stream.schema.feature_names == ("x0", "x1")
    assert stream.matches(stream.fingerprint())
    assert stream.matches(ArrayStream(X[:3], batch_size=1).fingerprint())
    assert not stream.matches(ArrayStream(X + 1, batch_size=1).fingerprint())
    (batch,) = ArrayStream(X, batch_size=10)
    assert batch.y is None
    assert not batch.known.any()
    assert ArrayStream(X, np.zeros(6), batch_size=1, feature_names=["label", "b"]).schema.label == "label_"


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (([1.0, 2.0],), "X must be a matrix"),
        (([["a"]],), "X must be a matrix"),
        ((np.empty((0, 2)),), "at least one row"),
        ((np.eye(2), [1]), "y must have one label for each of the 2 rows"),
        ((np.eye(2), np.array([1, "a"], object)), "not a mixture"),
        ((np.eye(2), np.array([None, None])), "not all missing"),
        ((np.eye(2), [np.inf, 1.0]), "y must be finite"),
        ((np.eye(2), np.array([1j, 2])), "y must be numbers"),
    ],
)
def test_wrong_arrays_are_refused(arguments, what):
    with pytest.raises(InputError, match=what):
        ArrayStream(*arguments, batch_size=1)


def test_arrays_with_infinity_give_an_error_where_it_is():
    X = np.zeros((5, 2))
    X[3, 1] = -np.inf
    stream = ArrayStream(X, batch_size=2)
    assert len(next(stream)) == 2
    with pytest.raises(InputError, match=r"X must be finite.*got -inf in row 3 .*column 'x1'"):
        next(stream)
    with pytest.raises(InputError, match="feature_names must name the 2 columns of X; got 1"):
        ArrayStream(X, batch_size=2, feature_names=["a"])


def test_arrays_need_no_pyarrow():
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import numpy as np, ocboost\n"
        "from ocboost.streams import ArrayStream, Schema\n"
        "list(ArrayStream(np.eye(3), np.arange(3), batch_size=2))\n"
        "Schema.from_dict(Schema.of_numbers('ab').as_dict(), '')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
