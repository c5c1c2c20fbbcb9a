"""What clients send: JSON decoded and checked, with errors that say where they are.

NaN and infinite numbers, whole numbers beyond 64 bits, invalid UTF-8, unknown fields and names that stand
twice in an object are refused.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from ocboost.serve.failures import HttpError

Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Value = str | Whole | float | bool | None
Row = dict[str, Value] | list[Whole | float | None]
Id = Annotated[str, Meta(min_length=1, max_length=200)]
Weight = Annotated[float, Meta(ge=0, le=1e6)]
VersionNumber = Annotated[int, Meta(ge=0, le=2**53)]


class PredictRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Rows to predict: objects of columns and values, or lists of numbers where columns have no names."""

    rows: Annotated[list[Row], Meta(min_length=1)]
    ids: list[Id] | UnsetType | None = UNSET
    issue: bool | UnsetType = UNSET


class LabelItem(msgspec.Struct, forbid_unknown_fields=True):
    """The label of a prediction by its id, or of a row that comes with it.

    With both, the row counts where no prediction of the id waits.
    """

    label: str | Whole | float | bool
    id: Id | UnsetType = UNSET
    row: Row | UnsetType = UNSET
    weight: Weight | UnsetType = UNSET


class LabelRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Labels to learn."""

    labels: Annotated[list[LabelItem], Meta(min_length=1)]


class RollbackRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The version that is to answer."""

    version: VersionNumber


class FreezeRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Whether learning is to pause."""

    frozen: bool


S = TypeVar("S", bound=msgspec.Struct)

_PREDICT = msgspec.json.Decoder(PredictRequest)
_LABEL = msgspec.json.Decoder(LabelRequest)


def decode_predict(body: bytes, max_rows: int) -> PredictRequest:
    """The request of ``POST /predict``."""
    request = _decoded(_PREDICT, body)
    _check_size(len(request.rows), max_rows, "rows")
    if isinstance(request.ids, list) and len(request.ids) != len(request.rows):
        raise HttpError(
            422,
            "bad_request",
            f"ids must have one for each row; got {len(request.ids)} for {len(request.rows)}.",
        )
    n_texts = 1 + sum(map(_texts, request.rows))
    if request.ids is not UNSET:
        n_texts += 1 + len(request.ids or ())
    n_texts += request.issue is not UNSET
    _refuse_repeated_names(body, n_texts)
    return request


def decode_labels(body: bytes, max_rows: int) -> list[dict[str, Any]]:
    """The labels of ``POST /label``, as the adapter takes them."""
    request = _decoded(_LABEL, body)
    _check_size(len(request.labels), max_rows, "labels")
    labels: list[dict[str, Any]] = []
    n_texts = 1
    for index, item in enumerate(request.labels):
        label: dict[str, Any] = {"label": item.label}
        n_texts += 1 + isinstance(item.label, str)
        if item.id is UNSET and item.row is UNSET:
            raise HttpError(
                422, "bad_request", f"labels[{index}] must have the id of its prediction, or its row."
            )
        if item.id is not UNSET:
            label["id"] = item.id
            n_texts += 2
        if item.row is not UNSET:
            label["row"] = item.row
            n_texts += 1 + _texts(item.row)
        if item.weight is not UNSET:
            label["weight"] = item.weight
            n_texts += 1
        labels.append(label)
    _refuse_repeated_names(body, n_texts)
    return labels


def decode(kind: type[S], body: bytes) -> S:
    """A small request of another kind."""
    request = _decoded(msgspec.json.Decoder(kind), body)
    _find_repeated_names(body)
    return request


def _decoded(decoder: msgspec.json.Decoder[S], body: bytes) -> S:
    if not body:
        raise HttpError(400, "bad_json", "The body must be JSON in UTF-8; it is empty.")
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise HttpError(422, "bad_request", f"{error}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HttpError(400, "bad_json", f"The body must be JSON in UTF-8: {error}.") from None
    except RecursionError:
        raise HttpError(400, "bad_json", "The body must be JSON; it is nested too deeply.") from None


def _check_size(n: int, max_rows: int, what: str) -> None:
    if n > max_rows:
        raise HttpError(
            413, "too_many_rows", f"A request must have at most {max_rows:,} {what}; got {n:,}. Send several."
        )


def _texts(row: Any) -> int:
    """How many strings a row had in the JSON, names and values."""
    if isinstance(row, list):
        return 0
    return len(row) + [*map(type, row.values())].count(str)


def _refuse_repeated_names(body: bytes, n_texts: int) -> None:
    """Refuse an object that has a name twice, of which the decoder keeps the last.

    Then there are more strings in the body than were decoded, and more quotes than two for each. Escaped
    quotes bring more as well: only then the slower way is needed.
    """
    if body.count(b'"') != 2 * n_texts:
        _find_repeated_names(body)


def _find_repeated_names(body: bytes) -> None:
    def checked(pairs: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            repeated = next(name for i, name in enumerate(names) if name in names[:i])
            raise HttpError(
                400, "bad_json", f"The name {repeated!r:.100} stands twice in an object of the body."
            )

    json.loads(body, object_pairs_hook=checked)
