from __future__ import annotations

import json

import pytest

from ocboost.live.brokers.base import Message
from ocboost.live.brokers.messages import BadMessageError, answer_of, read_message, refusal_of


def read(data: bytes | str):
    return read_message(Message("1-0", 1.0, data.encode() if isinstance(data, str) else data))


def test_requests_and_labels_are_told_apart():
    assert read('{"id": "a", "row": {"x": 1}}').row == {"x": 1}
    assert read('{"row": [1, 2]}').id is None
    found = read('{"id": "a", "label": 0, "weight": 2}')
    assert (found.id, found.row, found.label, found.weight) == ("a", None, 0, 2.0)
    assert read('{"id": null, "row": [1], "label": false}').label is False


@pytest.mark.parametrize(
    ("data", "code", "says"),
    [
        (b"{", "bad_json", "must be JSON in UTF-8"),
        (b"\xff", "bad_json", "no UTF-8"),
        (b'{"row": [NaN]}', "bad_json", "NaN is no number"),
        (b'{"row": {"a": 1, "a": 2}}', "bad_json", "stands twice"),
        (b"[" * 100_000, "bad_json", "more than 20 deep"),
        *(
            (b'{"row": ' + b"[" * n + b"]" * n + b"}", "bad_json", "more than 20 deep")
            for n in (20, 970, 990)
        ),
        (b'{"row": ' + b'{"a":' * 20 + b"1" + b"}" * 21, "bad_json", "more than 20 deep"),
        (b'{"row": [' + b"9" * 10_000 + b"]}", "bad_json", "must be JSON"),
        (b"[1]", "bad_message", "must be an object"),
        (b'{"id": "a"}', "bad_message", "must have a row, or an id with its label"),
        (b'{"label": 1}', "bad_message", "must have a row, or an id with its label"),
        (b'{"id": "a", "row": [1], "lable": 1}', "bad_message", "nothing else; got 'lable'"),
        (b'{"id": 7, "row": [1]}', "bad_id", "an id must be a text"),
        (b'{"id": "a\\u0000", "row": [1]}', "bad_id", "printable"),
        (b'{"id": "\\ud800", "row": [1]}', "bad_id", "printable"),
        (b'{"id": "a", "label": 1, "weight": -1}', "bad_message", "weight must be a number from 0"),
        (b'{"id": "a", "label": 1, "weight": true}', "bad_message", "weight must be a number from 0"),
        (b'{"id": "a", "row": [1], "weight": 1}', "bad_message", "a weight belongs to a label"),
        (b'{"row": "' + b"x" * (1 << 20) + b'"}', "too_large", "at most 1,048,576 bytes"),
    ],
)
def test_what_is_wrong_with_a_message_is_said(data, code, says):
    with pytest.raises(BadMessageError, match=says) as found:
        read(data)
    assert found.value.code == code


def test_a_text_that_is_not_closed_is_read_once():
    with pytest.raises(BadMessageError) as found:
        read(b'{"row": [' + b"[]," * 30 + b'"' + b'\\"' * 500_000)
    assert found.value.code == "bad_json"


def test_brackets_in_texts_and_beside_each_other_are_not_deep():
    assert read('{"row": ["' + "[" * 100 + '", "\\"{' + "{" * 100 + '"]}').row[0] == "[" * 100
    assert len(read('{"row": [' + ",".join(["[]"] * 100) + "]}").row) == 100
    assert read('{"row": ' + "[" * 19 + "]" * 19 + "}").row


def test_a_message_of_another_form_says_which_is_expected():
    with pytest.raises(BadMessageError, match="one field"):
        read_message(Message("1-0", 1.0, None, "an entry must have one field"))


def test_answers_are_json():
    data = answer_of("a", 1, ["0", "1"], [0.25, 0.75], "adapted", "5-0")
    assert json.loads(data) == {
        "id": "a",
        "label": 1,
        "probabilities": {"0": 0.25, "1": 0.75},
        "answered_by": "adapted",
        "at": "5-0",
    }
    assert json.loads(refusal_of(BadMessageError("conflict", "No.", "a"), "5-0")) == {
        "id": "a",
        "error": {"code": "conflict", "message": "No."},
        "at": "5-0",
    }
