"""Tensors of the Open Inference Protocol: both forms, and every way they can be wrong."""

from __future__ import annotations

import json
import math
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("msgspec")

from ocboost.errors import InputError
from ocboost.serve.tensors import NUMBERS, InputTensor, datatype_of, decode, encode, parse_request


def tensor(datatype, shape, data=None, **parameters):
    return InputTensor("x", shape, datatype, parameters, data)


def values(datatype, shape, data):
    (found,) = decode([tensor(datatype, shape, data)], memoryview(b""))
    return found if isinstance(found, list) else found.tolist()


def from_bytes(datatype, shape, raw):
    (found,) = decode([tensor(datatype, shape, binary_data_size=len(raw))], memoryview(raw))
    return found if isinstance(found, list) else found.tolist()


@pytest.mark.parametrize(
    ("datatype", "data"),
    [
        ("FP64", [0.1, -2, 3]),
        ("FP32", [0.5, -2, 3]),
        ("FP16", [0.5, -2, 3]),
        ("INT64", [2**63 - 1, -(2**63), 0]),
        ("UINT64", [2**64 - 1, 0, 1]),
        ("INT8", [-128, 127, 0]),
        ("UINT8", [0, 255, 7]),
        ("BOOL", [True, False, True]),
        ("BYTES", ["", "é", "a\x00b"]),
    ],
)
def test_values_come_as_they_were_sent_in_both_forms(datatype, data):
    out, raw = encode("x", datatype, data, [3], binary=True)
    assert out.data is None
    assert out.parameters == {"binary_data_size": len(raw)}
    assert values(datatype, [3], data) == data
    assert values(datatype, [3, 1], [[value] for value in data]) == data
    assert values(datatype, [3, 1], data) == data
    assert from_bytes(datatype, [3, 1], raw) == data
    plain, nothing = encode("x", datatype, np.array(data, NUMBERS.get(datatype, object)), [3], binary=False)
    assert plain.data == data
    assert nothing == b""


def test_single_precision_is_rounded_as_its_datatype_says():
    assert values("FP32", [1], [0.1]) == [float(np.float32(0.1))]


def test_null_is_missing_for_numbers_with_a_fraction_and_for_texts():
    assert math.isnan(values("FP64", [2], [1.0, None])[1])
    assert values("BYTES", [2], ["a", None]) == ["a", None]
    assert math.isnan(from_bytes("FP64", [1], struct.pack("<d", math.nan))[0])
    with pytest.raises(InputError, match="is INT64: its data must be such values; got null"):
        values("INT64", [2], [1, None])


@pytest.mark.parametrize(
    ("datatype", "shape", "data", "says"),
    [
        ("FP64", [3], [1.0], r"must have 3 values, as its shape \[3\] says; got 1"),
        ("FP64", [1], [1.0, 2.0], "must have 1 values"),
        ("FP64", [2, 2], [[1.0, 2.0], [3.0]], "must be 2 lists of 2 values"),
        ("FP64", [2, 2], [[1.0, 2.0], 3.0], "must be 2 lists of 2 values"),
        ("FP64", [2, 1], [[1.0]], "must be 2 lists of 1 values"),
        ("FP64", [2], [[1.0], [2.0]], "must be such values; got a list"),
        ("FP64", [1], [True], "must be such values; got True"),
        ("FP64", [1], ["1"], "must be such values; got '1'"),
        ("FP64", [1], [{}], "must be such values; got an object"),
        ("FP64", [1], [10**400], "beyond what that can hold"),
        ("FP32", [1], [1e300], "beyond what that can hold"),
        ("INT8", [1], [128], "beyond what that can hold"),
        ("UINT8", [1], [-1], "beyond what that can hold"),
        ("INT64", [1], [1.0], "must be such values; got 1.0"),
        ("INT64", [1], [True], "must be such values; got True"),
        ("BOOL", [1], [2], "must be such values; got 2"),
        ("BOOL", [1], [1.0], "must be such values; got 1.0"),
        ("BOOL", [1], [[]], "must be such values; got a list"),
        ("BYTES", [1], [1], "must be texts"),
        ("BYTES", [1], [["a"]], "must be texts"),
        ("BF16", [1], [1.0], "must be one of BOOL, .*BYTES; got 'BF16'"),
        ("FP64", [], [1.0], r"must be \[rows\] or \[rows, columns\]"),
        ("FP64", [0], [], "each at least 1"),
        ("FP64", [-1], [1.0], "each at least 1"),
        ("FP64", [1, 1, 1], [1.0], r"must be \[rows\] or \[rows, columns\]"),
        ("FP64", [1], None, "must be a list; got null"),
        ("FP64", [1], "1", "must be a list; got '1'"),
        ("FP64", [10**30, 10**30], [1.0], "must have 1,000,000,"),
    ],
)
def test_what_is_wrong_is_said(datatype, shape, data, says):
    with pytest.raises(InputError, match=says):
        values(datatype, shape, data)


@pytest.mark.parametrize(
    ("datatype", "shape", "raw", "says"),
    [
        ("FP64", [2], bytes(8), "must have 16 bytes, .* got 8"),
        ("FP64", [10**15], bytes(8), "must have 8,000,000,000,000,000 bytes"),
        ("FP64", [1], struct.pack("<d", math.inf), "must have finite numbers"),
        ("BOOL", [1], b"\x02", "each byte must be 0 or 1"),
        ("BYTES", [1], b"\x01\x00", "must have 1 texts, each with its length"),
        ("BYTES", [1], b"\xff\xff\xff\xffa", "says it has 4,294,967,295 bytes"),
        ("BYTES", [1], b"\x01\x00\x00\x00\xff", "must be UTF-8"),
        ("BYTES", [1], b"\x00\x00\x00\x00" * 2, "there are bytes behind the last"),
        ("BYTES", [2], b"\x04\x00\x00\x00abcd", "must have 2 texts; got 1"),
        ("BYTES", [2], b"\x00\x00\x00\x00\x01\x00", "must have 2 texts, each"),
    ],
)
def test_what_is_wrong_in_bytes_is_said(datatype, shape, raw, says):
    with pytest.raises(InputError, match=says):
        from_bytes(datatype, shape, raw)


@pytest.mark.parametrize("size", [-1, 9, 1.0, True, "8", None])
def test_the_size_of_bytes_is_checked(size):
    with pytest.raises(InputError, match=r"binary_data_size of the input 'x' must be|must be a list|bytes"):
        decode([tensor("FP64", [1], binary_data_size=size)], memoryview(bytes(8)))


def test_data_and_bytes_exclude_each_other_and_no_byte_may_be_left():
    with pytest.raises(InputError, match="must have data or binary_data_size, not both"):
        decode([tensor("FP64", [1], [1.0], binary_data_size=8)], memoryview(bytes(8)))
    with pytest.raises(InputError, match="3 bytes of the body belong to no input"):
        decode([tensor("FP64", [1], [1.0])], memoryview(bytes(3)))


def test_no_shape_makes_it_allocate():
    huge = [tensor("FP64", [10**9, 1000], [0.0]), tensor("BYTES", [10**12], binary_data_size=4)]
    tracemalloc.start()
    for each in huge:
        with pytest.raises(InputError):
            decode([each], memoryview(bytes(4)))
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_the_length_of_the_header_divides_the_body():
    text = json.dumps({"inputs": [{"name": "x", "shape": [1], "datatype": "UINT8"}], "id": "é"}).encode()
    request, rest = parse_request(text + b"\x07", str(len(text)))
    assert request.id == "é"
    assert bytes(rest) == b"\x07"
    request, rest = parse_request(text, None)
    assert request.inputs[0].shape == [1]
    assert not rest


@pytest.mark.parametrize(
    ("body", "length", "says"),
    [
        (b"{}", None, "must be a request for inference as JSON: .*inputs"),
        (b"[]", None, "must be a request"),
        (b"", None, "must be a request"),
        (b'{"inputs": 1}', None, "must be a request"),
        (b'{"inputs": [], "x": NaN}', None, "malformed"),
        (b'{"inputs": [], "parameters": {"x": 1e999}}', None, "out of range"),
        (b'{"inputs": [], "id": "\xff"}', None, "must be a request"),
        (b'{"inputs": [], "id": 7}', None, "must be a request"),
        (b'{"inputs": [{"name": "x", "shape": [1.5], "datatype": "FP64"}]}', None, "must be a request"),
        (b'{"inputs": ' + b"[" * 100_000, None, "must be a request|nested"),
        (b'{"inputs": [], "parameters": {"a": ' + b"[" * 100_000, None, "must not be nested so deeply"),
        (b'{"inputs": []}', "15", "is 15, and the body has 14 bytes"),
        (b'{"inputs": []}', "-1", "must be the number of bytes"),
        (b'{"inputs": []}', "9" * 400, "must be the number of bytes"),
        (b'{"inputs": []}', "\u0663", "must be the number of bytes"),
        (b'{"inputs": []}', "0", "must be a request"),
    ],
)
def test_bodies_that_are_no_requests(body, length, says):
    with pytest.raises(InputError, match=says):
        parse_request(body, length)


@given(st.binary(max_size=60), st.integers(1, 6), st.sampled_from([*NUMBERS, "BYTES"]))
def test_any_bytes_are_values_or_an_input_error(raw, n, datatype):
    try:
        found = from_bytes(datatype, [n], raw)
    except InputError:
        return
    assert len(found) == n
    if not any(value != value for value in found):
        assert encode("x", datatype, found, [n], binary=True)[1] == raw


def test_the_datatype_of_classes():
    assert datatype_of(["a", 1]) == "BYTES"
    assert datatype_of([2**63, 0]) == "FP64"
    assert datatype_of([np.int64(1).item(), 2]) == "INT64"
