"""JSON lines: what is no object, and a file that ends within a row."""

from __future__ import annotations

import pytest

from ocboost.streams import Schema
from tests.support.stream_files import refused, write_bytes


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"null", "must hold a JSON object.*got None"),
        (b"[1, 2]", r"must hold a JSON object.*got \[1, 2\]\. Split the list"),
        (b"3", "must hold a JSON object"),
        (b'{"a":1', "must hold one JSON object"),
        (b'{"a":1} {"a":2}', "must hold one JSON object.*Extra data"),
        (b'{"a":1} null {"a":2}', "must hold one JSON object"),
        (b'{"a":1,"a":2}', "a name appears twice"),
        (b"{'a':1}", "must hold one JSON object"),
        (b'{"a":1, "z":' + b"[" * 200000 + b"]" * 200000 + b"}", "nested too deep"),
    ],
)
def test_json_line_that_is_no_object(line, what, tmp_path):
    path = write_bytes(tmp_path / "t.jsonl", b'{"a":1}\n' * 30 + line + b'\n{"a":2}\n')
    assert refused(path, r"line 31: .*" + what) == 30
    assert refused(path, r"line 31: .*" + what, schema=Schema.of_numbers(["a"])) == 30
    path = write_bytes(tmp_path / "first.jsonl", line + b'\n{"a":2}\n')
    assert refused(path, r"line 1: .*" + what) == 0


def test_json_that_ends_in_a_row(tmp_path):
    path = write_bytes(tmp_path / "t.jsonl", b'{"a":1}\n' * 30 + b'{"a":')
    assert refused(path, r"line 31: the file ends in the middle of a row") == 30
    path = write_bytes(tmp_path / "t.json", b'[\n{"a":1},\n{"a":2}\n]\n')
    refused(path, "line 1: a line must hold one JSON object")
