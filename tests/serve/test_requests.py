"""Bodies that are not what they must be."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocboost.serve.failures import HttpError
from ocboost.serve.requests import decode_labels, decode_predict
from tests.support.asgi_client import ROW

GOOD = json.dumps(ROW)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"rows", 400),
        (b'{"rows": [', 400),
        (b'{"rows": [{"a": NaN}]}', 400),
        (b'{"rows": [{"a": -Infinity}]}', 400),
        (b'{"rows": [{"a": "\xff"}]}', 400),
        (b'{"rows": [{"\xff": 1}]}', 400),
        (b'{"rows": [{"a": "\\ud800"}]}', 400),
        (b'{"rows": [{"a": "\\udc00"}]}', 400),
        (b'\xef\xbb\xbf{"rows": [[1]]}', 400),
        (b'{"rows": [[1]]} trailing', 400),
        (b'{"rows": [[1]], "rows": [[2]]}', 400),
        (b'{"rows": [{"a": 1, "a": 2}]}', 400),
        (b'{"rows": [{"a": 1, "\\u0061": 2}]}', 400),
        (b'{"rows": [[1]], "issue": true, "issue": true}', 400),
        (b'{"rows": [{"a": 1e400}]}', 422),
        (b'{"rows": [{"a": ' + b"9" * 30 + b"}]}", 422),
        (b'{"rows": [{"a": ' + b"9" * 10_000 + b"}]}", 422),
        (b"[" * 100_000, 422),
        (b'{"rows": ' + b"[" * 100_000, 422),
        (b'{"rows": [{"a": ' + b'{"a":' * 100_000, 422),
        (b"null", 422),
        (b"[]", 422),
        (b"{}", 422),
        (b'{"rows": null}', 422),
        (b'{"rows": {}}', 422),
        (b'{"rows": []}', 422),
        (b'{"rows": [1]}', 422),
        (b'{"rows": [null]}', 422),
        (b'{"rows": [["1"]]}', 422),
        (b'{"rows": [[true]]}', 422),
        (b'{"rows": [{"a": [1]}]}', 422),
        (b'{"rows": [{"a": {}}]}', 422),
        (b'{"rows": [[1]], "ids": ["a", "b"]}', 422),
        (b'{"rows": [[1]], "ids": "a"}', 422),
        (b'{"rows": [[1]], "ids": [1]}', 422),
        (b'{"rows": [[1]], "ids": [""]}', 422),
        (b'{"rows": [[1]], "ids": ["' + b"x" * 201 + b'"]}', 422),
        (b'{"rows": [[1]], "issue": 1}', 422),
        (b'{"rows": [[1]], "more": 1}', 422),
        (b'{"rows": [[1], [2], [3], [4]]}', 413),
    ],
)
def test_wrong_predict_requests(body, status):
    with pytest.raises(HttpError) as caught:
        decode_predict(body, max_rows=3)
    assert caught.value.status == status
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("item", "status"),
    [
        ({"label": "no"}, 422),
        ({"id": "x"}, 422),
        ({"id": "x", "label": None}, 422),
        ({"id": "x", "label": ["no"]}, 422),
        ({"id": 5, "label": "no"}, 422),
        ({"id": None, "label": "no"}, 422),
        ({"id": "", "label": "no"}, 422),
        ({"row": None, "label": "no"}, 422),
        ({"row": "a", "label": "no"}, 422),
        ({"id": "x", "label": "no", "weight": -1}, 422),
        ({"id": "x", "label": "no", "weight": "1"}, 422),
        ({"id": "x", "label": "no", "weight": 1e9}, 422),
        ({"id": "x", "label": "no", "extra": 1}, 422),
        ({"id": "x", "label": 10**40}, 422),
        (5, 422),
    ],
)
def test_wrong_labels(item, status):
    with pytest.raises(HttpError) as caught:
        decode_labels(json.dumps({"labels": [item]}).encode(), max_rows=3)
    assert caught.value.status == status


def test_too_many_labels_and_repeated_names():
    label = {"id": "x", "label": "no"}
    with pytest.raises(HttpError, match="at most 3 labels; got 4"):
        decode_labels(json.dumps({"labels": [label] * 4}).encode(), max_rows=3)
    for body in (
        b'{"labels": [{"id": "x", "id": "y", "label": 1}]}',
        b'{"labels": [{"row": {"a": 1, "a": 1}, "label": 1}]}',
        b'{"labels": [{"id": "x", "label": 1, "weight": 1, "weight": 1}]}',
        b'{"labels": [{"id": "\\"", "label": 1, "label": 1}]}',
    ):
        with pytest.raises(HttpError, match="stands twice"):
            decode_labels(body, max_rows=3)


def test_a_repeated_name_is_shown_escaped():
    name = "\x1b[31m" + "x" * 1000
    body = b'{"rows": [{%s: 1, %s: 2}]}' % ((json.dumps(name).encode(),) * 2)
    with pytest.raises(HttpError, match="stands twice") as caught:
        decode_predict(body, 3)
    assert "\x1b" not in caught.value.message
    assert len(caught.value.message) < 200


TEXT = st.text(st.characters(codec="utf-8"), max_size=5)
VALUE = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXT | st.floats(-1e300, 1e300)
ROWS = st.lists(st.dictionaries(TEXT, VALUE, max_size=4), min_size=1, max_size=4)


@given(
    ROWS, st.booleans(), st.none() | st.booleans(), st.sampled_from([None, 2]), st.sampled_from(["ids", ""])
)
def test_good_requests_pass(rows, ascii_only, issue, indent, ids):
    """Also those with quotes and backslashes in their texts, however they are written."""
    request = {"rows": rows}
    if issue is not None:
        request["issue"] = issue
    if ids:
        request["ids"] = [f'"{i}\\' for i in range(len(rows))]
    body = json.dumps(request, ensure_ascii=ascii_only, indent=indent).encode()
    found = decode_predict(body, max_rows=10)
    assert found.rows == rows
    labels = [{"label": "a", "row": row, "id": "i"} for row in rows]
    body = json.dumps({"labels": labels}, ensure_ascii=ascii_only, indent=indent).encode()
    assert decode_labels(body, max_rows=10) == labels


@given(ROWS, st.data())
def test_repeated_names_never_pass(rows, data):
    row = data.draw(st.sampled_from(rows))
    pairs = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in row.items()] + ['"q": 1']
    pairs.insert(data.draw(st.integers(0, len(pairs))), pairs[data.draw(st.integers(0, len(pairs) - 1))])
    text = "{" + ", ".join(pairs) + "}"
    with pytest.raises(HttpError, match="stands twice"):
        decode_predict(f'{{"rows": [{GOOD}, {text}]}}'.encode(), max_rows=10)


def test_an_empty_body_is_called_empty() -> None:
    with pytest.raises(HttpError, match="it is empty"):
        decode_predict(b"", 10)
