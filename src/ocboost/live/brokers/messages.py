"""Messages of a log, in JSON: requests and labels in, answers out.

``{"id", "row"}``                         a request, which is answered and waits for its label
``{"row"}``                               a request that waits for none
``{"id", "label"[, "weight"]}``           the label of a request
``{"row", "label"[, "id", "weight"]}``    both at once: predicted, then learnt

Answers are ``{"id", "label", "probabilities", "answered_by", "at"}``; "at" is the place of the request in the
log. A message that cannot be used is answered by ``{"id", "error": {"code", "message"}, "at"}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ocboost.errors import InputError
from ocboost.live.adapter import MAX_LABEL_WEIGHT
from ocboost.live.brokers.base import Message
from ocboost.live.writer import require_id

MAX_MESSAGE_BYTES = 1 << 20
MAX_DEPTH = 20  # of lists and objects in each other
NAMES = ("id", "row", "label", "weight")


class BadMessageError(InputError):
    """A message that cannot be used: why, in a word for programs and a sentence for people."""

    def __init__(self, code: str, message: str, id_: str | None = None) -> None:
        super().__init__(message)
        self.code, self.id = code, id_


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request, a label, or both; None is what it does not have."""

    id: str | None
    row: Any
    label: Any
    weight: float


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in an object")
    return found


def _not_a_number(word: str) -> None:
    raise ValueError(f"{word} is no number in JSON; use null")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_not_a_number)
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


# A text that is not closed ends with the message: to look for its end again and again would take for ever.
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL)


def _require_flat(text: str) -> None:
    """Refuse what is nested deeply, before it is decoded: how deep that can go depends on who calls it."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for found in _BRACKETS.finditer(text):
        depth += (found[0] in "[{") - (found[0] in "]}")
        if depth > MAX_DEPTH:
            raise ValueError(f"lists and objects lie in each other more than {MAX_DEPTH} deep")


def read_message(message: Message) -> Incoming:
    """What a message says; a `BadMessageError` if it is none of those above."""
    data = message.data
    if data is None:
        raise BadMessageError("bad_message", message.problem)
    if len(data) > MAX_MESSAGE_BYTES:
        raise BadMessageError(
            "too_large", f"a message must have at most {MAX_MESSAGE_BYTES:,} bytes; this has {len(data):,}."
        )
    try:
        text = data.decode()
        _require_flat(text)
        found = _DECODER.decode(text)
    except ValueError as error:  # a UnicodeDecodeError is a ValueError
        reason = "it is no UTF-8" if isinstance(error, UnicodeDecodeError) else f"{error!s:.100}"
        raise BadMessageError("bad_json", f"a message must be JSON in UTF-8: {reason}.") from None
    if not isinstance(found, dict):
        raise BadMessageError("bad_message", f"a message must be an object; got {found!r:.60}. {_EXPECTED}")
    return _checked(found)


_EXPECTED = 'Send {"id", "row"}, {"id", "label"} or {"row", "label"}.'


def _checked(found: dict[str, Any]) -> Incoming:
    id_ = found.get("id")
    if id_ is not None:
        try:
            require_id(id_)
        except InputError as error:
            raise BadMessageError("bad_id", str(error)) from None
    unknown = [name for name in found if name not in NAMES]
    if unknown:
        raise BadMessageError(
            "bad_message", f"a message has {', '.join(NAMES)} and nothing else; got {unknown[0]!r:.60}.", id_
        )
    row, label = found.get("row"), found.get("label")
    if row is None and (id_ is None or label is None):
        raise BadMessageError(
            "bad_message", f"a message must have a row, or an id with its label. {_EXPECTED}", id_
        )
    weight = found.get("weight", 1.0)
    if type(weight) not in (int, float) or not 0.0 <= weight <= MAX_LABEL_WEIGHT:
        raise BadMessageError(
            "bad_message",
            f"the weight must be a number from 0 to {MAX_LABEL_WEIGHT:g}; got {weight!r:.40}.",
            id_,
        )
    if "weight" in found and label is None:
        raise BadMessageError("bad_message", "a weight belongs to a label, and there is none.", id_)
    return Incoming(id_, row, label, float(weight))


def answer_of(
    id_: str | None, label: Any, classes: Sequence[str], shares: Sequence[float], by: str, at: str
) -> bytes:
    """The answer to a request; ``classes`` are texts."""
    return _ENCODER.encode(
        {
            "id": id_,
            "label": label,
            "probabilities": dict(zip(classes, shares, strict=True)),
            "answered_by": by,
            "at": at,
        }
    ).encode()


def refusal_of(error: BadMessageError, at: str) -> bytes:
    """What is answered to a message that cannot be used."""
    return _ENCODER.encode(
        {"id": error.id, "error": {"code": error.code, "message": f"{error!s:.500}"}, "at": at}
    ).encode()
