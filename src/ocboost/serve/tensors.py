"""Tensors of the Open Inference Protocol: as JSON, or as bytes behind it. Nothing here knows a model."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ocboost.errors import InputError

NUMBERS = {
    "BOOL": np.dtype("?"),
    "UINT8": np.dtype("<u1"),
    "UINT16": np.dtype("<u2"),
    "UINT32": np.dtype("<u4"),
    "UINT64": np.dtype("<u8"),
    "INT8": np.dtype("<i1"),
    "INT16": np.dtype("<i2"),
    "INT32": np.dtype("<i4"),
    "INT64": np.dtype("<i8"),
    "FP16": np.dtype("<f2"),
    "FP32": np.dtype("<f4"),
    "FP64": np.dtype("<f8"),
}
TEXTS = "BYTES"
Parameters = dict[str, Any]
Values = NDArray[Any] | list[str | None]  # flat, row by row; texts are a list


class InputTensor(msgspec.Struct):
    """An input as it came; `data` is None where the values follow the JSON as bytes."""

    name: str
    shape: list[int]
    datatype: str
    parameters: Parameters | None = None
    data: Any = None


class WantedOutput(msgspec.Struct):
    """An output that is asked for by name."""

    name: str
    parameters: Parameters | None = None


class InferenceRequest(msgspec.Struct):
    """The body of a request for inference, without the bytes behind it."""

    inputs: list[InputTensor]
    outputs: list[WantedOutput] | None = None
    id: str | None = None
    parameters: Parameters | None = None


class OutputTensor(msgspec.Struct, omit_defaults=True):
    """An output as it goes."""

    name: str
    datatype: str
    shape: list[int]
    parameters: Parameters = {}
    data: list[Any] | None = None


class InferenceResponse(msgspec.Struct, omit_defaults=True):
    """The JSON of an answer."""

    model_name: str
    model_version: str
    outputs: list[OutputTensor]
    id: str | None = None
    parameters: Parameters = {}


_request_of = msgspec.json.Decoder(InferenceRequest)


def parse_request(body: bytes, header_length: str | None) -> tuple[InferenceRequest, memoryview]:
    """The request, and the bytes behind its JSON: `header_length` says how long the JSON is.

    Raises
    ------
    InputError
        If the body is not what the protocol says.
    """
    end = len(body)
    if header_length is not None:
        if not (header_length.isascii() and header_length.isdigit() and len(header_length) < 16):
            raise InputError(
                "Inference-Header-Content-Length must be the number of bytes of the JSON at the beginning of "
                f"the body; got {header_length!r:.80}."
            )
        end = int(header_length)
        if end > len(body):
            raise InputError(
                f"Inference-Header-Content-Length is {end:,}, and the body has {len(body):,} bytes: send the "
                "length of the JSON alone."
            )
    try:
        request = _request_of.decode(memoryview(body)[:end])
    except RecursionError:
        raise InputError("the JSON of the body must not be nested so deeply.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"the body must be a request for inference as JSON: {error}") from None
    return request, memoryview(body)[end:]


def decode(inputs: Sequence[InputTensor], rest: memoryview) -> list[Values]:
    """The values of each input; `rest` has those that came as bytes, one after the other.

    Sizes are compared with what came before anything is allocated, so no shape can ask for more memory than
    the body took.
    """
    found: list[Values] = []
    for tensor in inputs:
        where = f"the input {tensor.name!r:.80}"
        count = _count(tensor, where)
        size = (tensor.parameters or {}).get("binary_data_size")
        if size is None:
            found.append(_from_json(tensor, count, where))
            continue
        if type(size) is not int or not 0 <= size <= len(rest):
            raise InputError(
                f"binary_data_size of {where} must be a number of bytes, at most the {len(rest):,} that are "
                f"left of the body; got {size!r:.80}."
            )
        if tensor.data is not None:
            raise InputError(f"{where} must have data or binary_data_size, not both.")
        found.append(_from_bytes(tensor.datatype, rest[:size], count, where))
        rest = rest[size:]
    if len(rest):
        raise InputError(
            f"{len(rest):,} bytes of the body belong to no input: give their number as binary_data_size, and "
            "the length of the JSON as Inference-Header-Content-Length."
        )
    return found


def _count(tensor: InputTensor, where: str) -> int:
    if tensor.datatype not in NUMBERS and tensor.datatype != TEXTS:
        known = ", ".join([*NUMBERS, TEXTS])
        raise InputError(f"the datatype of {where} must be one of {known}; got {tensor.datatype!r:.80}.")
    shape = tensor.shape
    if not 1 <= len(shape) <= 2 or min(shape) < 1:
        raise InputError(
            f"the shape of {where} must be [rows] or [rows, columns], each at least 1; got {shape!r:.80}."
        )
    return math.prod(shape)


def _from_json(tensor: InputTensor, count: int, where: str) -> Values:
    data = tensor.data
    if not isinstance(data, list):
        raise InputError(f"the data of {where} must be a list; got {_named(data)}.")
    if data and isinstance(data[0], list) and len(tensor.shape) == 2:
        rows, width = tensor.shape
        if len(data) != rows or not all(isinstance(row, list) and len(row) == width for row in data):
            raise InputError(
                f"the data of {where} must be {rows} lists of {width} values, as its shape says."
            )
        data = [value for row in data for value in row]
    if len(data) != count:
        raise InputError(
            f"the data of {where} must have {count:,} values, as its shape {tensor.shape} says; got "
            f"{len(data):,}."
        )
    if tensor.datatype == TEXTS:
        return _texts(data, where)
    return _numbers(data, tensor.datatype, where)


def _texts(data: list[Any], where: str) -> list[str | None]:
    for value in data:
        if value is not None and not isinstance(value, str):
            raise InputError(f"{where} is {TEXTS}: its data must be texts (or null); got {_named(value)}.")
    return data


def _numbers(data: list[Any], datatype: str, where: str) -> NDArray[Any]:
    """Numbers as the datatype says; null is a missing number, which only those with a fraction can hold."""
    dtype = NUMBERS[datatype]
    allowed: tuple[type, ...] = (int, float) if dtype.kind == "f" else (int,)
    if dtype.kind == "b":
        wrong = [value for value in data if value not in (0, 1) or type(value) not in (bool, int)]
    else:
        if dtype.kind == "f" and None in data:
            data = [math.nan if value is None else value for value in data]
        wrong = [] if set(map(type, data)) <= set(allowed) else [v for v in data if type(v) not in allowed]
    if wrong:
        raise InputError(f"{where} is {datatype}: its data must be such values; got {_named(wrong[0])}.")
    try:
        with np.errstate(over="ignore"):
            values = np.array(data, dtype=dtype)
    except OverflowError:
        raise InputError(f"{where} is {datatype}, and has a value beyond what that can hold.") from None
    if dtype.kind == "f" and np.isinf(values).any():
        raise InputError(f"{where} is {datatype}, and has a value beyond what that can hold.")
    return values


def _from_bytes(datatype: str, raw: memoryview, count: int, where: str) -> Values:
    if datatype == TEXTS:
        return _texts_from_bytes(raw, count, where)
    dtype = NUMBERS[datatype]
    if len(raw) != count * dtype.itemsize:
        raise InputError(
            f"{where} must have {count * dtype.itemsize:,} bytes, as its shape and datatype say; got "
            f"{len(raw):,}."
        )
    if dtype.kind == "b" and np.frombuffer(raw, dtype=np.uint8).max(initial=0) > 1:
        raise InputError(f"{where} is BOOL: each byte must be 0 or 1.")
    values = np.frombuffer(raw, dtype=dtype)
    if dtype.kind == "f" and np.isinf(values).any():
        raise InputError(f"{where} must have finite numbers (NaN is a missing one); it has an infinite one.")
    return values


def _texts_from_bytes(raw: memoryview, count: int, where: str) -> list[str | None]:
    """Each text is its length in four bytes, the lowest first, and then UTF-8."""
    if len(raw) < 4 * count:
        raise InputError(f"{where} must have {count:,} texts, each with its length; {len(raw):,} bytes came.")
    texts: list[str | None] = []
    place = 0
    while place < len(raw):
        if len(texts) == count or place + 4 > len(raw):
            raise InputError(f"{where} must have {count:,} texts; there are bytes behind the last.")
        (length,) = struct.unpack_from("<I", raw, place)
        place += 4
        if length > len(raw) - place:
            raise InputError(f"text {len(texts)} of {where} says it has {length:,} bytes, more than came.")
        try:
            texts.append(str(raw[place : place + length], "utf-8"))
        except UnicodeDecodeError:
            raise InputError(f"text {len(texts)} of {where} must be UTF-8.") from None
        place += length
    if len(texts) != count:
        raise InputError(f"{where} must have {count:,} texts; got {len(texts):,}.")
    return texts


def encode(
    name: str, datatype: str, values: NDArray[Any] | Sequence[Any], shape: Sequence[int], *, binary: bool
) -> tuple[OutputTensor, bytes]:
    """An output, and the bytes that go behind the JSON if it is wanted as bytes."""
    tensor = OutputTensor(name, datatype, list(shape))
    if not binary:
        flat = values.ravel().tolist() if isinstance(values, np.ndarray) else list(values)
        tensor.data = flat
        return tensor, b""
    if datatype == TEXTS:
        texts = [str(value).encode() for value in values]
        raw = b"".join(part for text in texts for part in (struct.pack("<I", len(text)), text))
    else:
        raw = np.ascontiguousarray(values, dtype=NUMBERS[datatype]).tobytes()
    tensor.parameters = {"binary_data_size": len(raw)}
    return tensor, raw


def datatype_of(classes: Sequence[Any]) -> str:
    """The datatype that holds any of these classes.

    >>> datatype_of(["no", "yes"]), datatype_of([0, 1]), datatype_of([False, True]), datatype_of([0.5, 1])
    ('BYTES', 'INT64', 'BOOL', 'FP64')
    """
    kinds = {type(label) for label in classes}
    if kinds == {bool}:
        return "BOOL"
    if kinds == {int} and all(-(2**63) <= label < 2**63 for label in classes):
        return "INT64"
    return "FP64" if kinds <= {int, float} else TEXTS


def _named(value: Any) -> str:
    """A value of the wrong kind, in short."""
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    if value is None:
        return "null"
    return f"{value!r:.40}"
