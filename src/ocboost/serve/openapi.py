"""The OpenAPI 3.1 document, from the structures that decode requests."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

import ocboost
from ocboost.serve.requests import FreezeRequest, LabelRequest, PredictRequest, RollbackRequest


class PredictionItem(msgspec.Struct):
    """The answer to one row; without an id if it was not issued."""

    label: str | int | float | bool
    probabilities: dict[str, float]
    id: str | msgspec.UnsetType = msgspec.UNSET


class PredictReply(msgspec.Struct):
    """The answers in the order of the rows, and what gave them: "adapted", or a version."""

    predictions: list[PredictionItem]
    answered_by: str


class RejectedItem(msgspec.Struct):
    """A label that was not taken: its place in the request, and why."""

    index: int
    id: str | None
    reason: str
    message: str


class LabelReply(msgspec.Struct):
    """What became of the labels: learnt, known before, or rejected."""

    accepted: int
    duplicates: int
    rejected: list[RejectedItem]


class HealthReply(msgspec.Struct):
    """Whether the service can answer, and whether its state can be written."""

    live: bool
    ready: bool
    status: str
    storage: str


class ErrorItem(msgspec.Struct):
    """An error: a code for programs, a message for people."""

    code: str
    message: str


class ErrorReply(msgspec.Struct):
    """Why a request was refused."""

    error: ErrorItem


class FactsReply(msgspec.Struct):
    """Facts about the model, as ocboost.live.Adapter.facts gives them; there are more than these."""

    classes: list[str | int | float | bool]


class VersionsReply(msgspec.Struct):
    """The versions that are kept, the oldest first."""

    versions: list[dict[str, Any]]


class WatchReply(msgspec.Struct):
    """What the page shows; there is more than this, and any section may be missing."""

    format: int
    kind: str
    classes: list[str]
    status: dict[str, Any]
    series: dict[str, Any]
    events: list[dict[str, Any]]


# path, method, what it does, request, reply, statuses beside those of every path
_Kind = type[msgspec.Struct] | None
_PATHS: list[tuple[str, str, str, _Kind, _Kind, tuple[int, ...]]] = [
    ("/predict", "post", "Predict rows", PredictRequest, PredictReply, (400, 408, 413, 415, 422, 507)),
    (
        "/label",
        "post",
        "Learn labels of predictions, or of rows",
        LabelRequest,
        LabelReply,
        (400, 404, 408, 409, 410, 413, 415, 422, 507),
    ),
    ("/health", "get", "Whether the service can answer", None, HealthReply, ()),
    ("/metrics", "get", "Metrics for Prometheus", None, None, ()),
    ("/model", "get", "Facts about the model", None, FactsReply, ()),
    ("/model/file", "get", "The model as a file, or a version of it", None, None, (304, 404, 422)),
    ("/versions", "get", "The versions that are kept", None, VersionsReply, ()),
    ("/promote", "post", "Make the adapted model the deployed one", None, FactsReply, (507,)),
    (
        "/rollback",
        "post",
        "Go back to a version",
        RollbackRequest,
        FactsReply,
        (400, 404, 413, 415, 422, 507),
    ),
    ("/freeze", "post", "Pause learning, or go on", FreezeRequest, FactsReply, (400, 413, 415, 422, 507)),
    ("/watch", "get", "What the page shows", None, WatchReply, ()),
    ("/events", "get", "The same as server-sent events: all of it, then what has changed", None, None, ()),
    ("/", "get", "The page; with Accept: application/json a list of paths", None, None, (304,)),
    ("/page/{name}", "get", "A file of the page", None, None, (304, 404)),
]
_WITHOUT_TOKEN = {"/health", "/", "/page/{name}"}
_MEDIA = {
    "/metrics": "text/plain",
    "/model/file": "application/octet-stream",
    "/events": "text/event-stream",
    "/": "text/html",
    "/page/{name}": "text/javascript",
}
_PARAMETERS = {
    "/model/file": {"name": "version", "in": "query", "required": False, "schema": {"type": "integer"}},
    "/page/{name}": {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}},
}
_MEANINGS = {
    304: "Not modified",
    400: "Not JSON",
    401: "The token is missing or wrong",
    403: "Another host or origin",
    404: "Not known",
    408: "The body came too slowly",
    409: "Another label came before",
    410: "Too late: the prediction is no longer kept",
    413: "Too large",
    415: "Not application/json",
    422: "Not what the model takes",
    429: "Too many requests",
    503: "Not ready; try again",
    507: "The disk is full; nothing was taken",
}


@cache
def openapi_document(with_token: bool) -> dict[str, Any]:
    """The document, which says whether a token is needed."""
    used = [kind for _, _, _, request, reply, _ in _PATHS for kind in (request, reply) if kind is not None]
    kinds = [*dict.fromkeys([*used, ErrorReply])]
    references, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    schema_of = dict(zip(kinds, references, strict=True))
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "ocboost",
            "version": ocboost.__version__,
            "description": "A classifier that keeps learning from labels. Under /v2 it speaks the Open "
            "Inference Protocol, version 2, which has a document of its own.",
        },
        "paths": {},
        "components": {"schemas": components},
    }
    if with_token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    for path, method, summary, request, reply, statuses in _PATHS:
        content = {} if reply is None else {"schema": schema_of[reply]}
        responses: dict[str, Any] = {
            "200": {"description": "OK", "content": {_MEDIA.get(path, "application/json"): content}}
        }
        failures = {*statuses, 403, 429, 503, *({401} if with_token and path not in _WITHOUT_TOKEN else ())}
        for status in sorted(failures):
            responses[str(status)] = {"description": _MEANINGS[status]}
            if status >= 400:
                error = {"application/json": {"schema": schema_of[ErrorReply]}}
                responses[str(status)]["content"] = error
        operation: dict[str, Any] = {"summary": summary, "responses": responses}
        if path in _WITHOUT_TOKEN:
            operation["security"] = []
        if request is not None:
            operation["requestBody"] = {
                "required": True,
                "content": {"application/json": {"schema": schema_of[request]}},
            }
        if path in _PARAMETERS:
            operation["parameters"] = [_PARAMETERS[path]]
        document["paths"][path] = {method: operation}
    return document
