"""What the service answers under each path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from urllib.parse import parse_qs

import msgspec
from starlette.routing import Route

import ocboost
from ocboost.serve.bodies import Receive, Scope, header
from ocboost.serve.events import EVENTS_PATH, EventStream
from ocboost.serve.failures import JSON_TYPE, REJECTED_STATUS, Headers, HttpError
from ocboost.serve.gate import Send
from ocboost.serve.logs import write_event
from ocboost.serve.metrics import METRICS_TYPE
from ocboost.serve.openapi import openapi_document
from ocboost.serve.page import PAGE_FOLDER, PAGE_HEADERS, PRIVATE_HEADERS, is_known, page_files, wants_json
from ocboost.serve.requests import FreezeRequest, RollbackRequest, decode, decode_labels, decode_predict
from ocboost.serve.security import is_authorized

if TYPE_CHECKING:
    from ocboost.live import Answers
    from ocboost.serve.service import Service

FILE_TYPE = (b"content-type", b"application/octet-stream")
MAX_VERSION_DIGITS = 15
NOT_MODIFIED = 304
VARIES = (b"vary", b"accept, authorization")
LARGE_BODY = 2**18  # bytes; JSON beyond it is decoded and encoded in a thread
MAX_PROBABILITIES = 2_000_000  # in one answer

_encode = msgspec.json.Encoder().encode


class Reply(NamedTuple):
    """What an endpoint answers."""

    body: bytes
    status: int = 200
    headers: Headers = [JSON_TYPE]  # noqa: RUF012


S = TypeVar("S")
Handler = Callable[[S, Scope, Receive], Awaitable[Reply]]


class Endpoint(Generic[S]):
    """A function that answers requests, as plain ASGI: Starlette's requests and responses cost more."""

    def __init__(self, handler: Handler[S], service: S) -> None:
        self._handler = handler
        self._service = service
        self.__name__ = handler.__name__

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        body, status, headers = await self._handler(self._service, scope, receive)
        if status != NOT_MODIFIED:
            headers = [*headers, (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


async def predict(service: Service, scope: Scope, receive: Receive) -> Reply:
    """``POST /predict``."""
    body = await service.body(scope, receive)
    large = len(body) > LARGE_BODY
    max_rows = min(service.settings.max_rows, max(1, MAX_PROBABILITIES // len(service.class_names)))
    if large:
        request = await service.in_thread(decode_predict, body, max_rows)
    else:
        request = decode_predict(body, max_rows)
    ids = request.ids if isinstance(request.ids, list) else None
    issue = request.issue is not False
    if ids is not None and not issue:
        raise HttpError(
            422, "bad_request", "ids are for predictions that are issued; leave them out, or issue."
        )
    answers = await service.predict(request.rows, ids, issue)
    if large:
        return Reply(await service.in_thread(_encode_answers, answers, service.class_names))
    return Reply(_encode_answers(answers, service.class_names))


def _encode_answers(answers: Answers, names: list[str]) -> bytes:
    shares = [dict(zip(names, row, strict=True)) for row in answers.probabilities.tolist()]
    predictions: list[dict[str, Any]]
    if answers.ids is None:
        predictions = [
            {"label": label, "probabilities": each}
            for label, each in zip(answers.labels, shares, strict=True)
        ]
    else:
        predictions = [
            {"id": id_, "label": label, "probabilities": each}
            for id_, label, each in zip(answers.ids, answers.labels, shares, strict=True)
        ]
    return _encode({"predictions": predictions, "answered_by": answers.answered_by})


async def label(service: Service, scope: Scope, receive: Receive) -> Reply:
    """``POST /label``."""
    body = await service.body(scope, receive)
    if len(body) > LARGE_BODY:
        labels = await service.in_thread(decode_labels, body, service.settings.max_rows)
    else:
        labels = decode_labels(body, service.settings.max_rows)
    report = await service.label(labels)
    content: dict[str, Any] = {
        "accepted": report.accepted,
        "duplicates": report.duplicates,
        "rejected": [
            {"index": each.index, "id": each.id, "reason": each.reason, "message": each.message}
            for each in report.rejected
        ],
    }
    if report.accepted or report.duplicates or not report.rejected:
        return Reply(_encode(content))
    first = report.rejected[0]
    content["error"] = {"code": first.reason, "message": first.message}
    return Reply(_encode(content), REJECTED_STATUS.get(first.reason, 422))


async def health(service: Service, scope: Scope, receive: Receive) -> Reply:
    """``GET /health``."""
    storage = service.adapter.storage
    ready = not service.stopping and storage != "failed"
    status = "stopping" if service.stopping else "ready" if ready else "failed"
    content = {"live": True, "ready": ready, "status": status, "storage": storage}
    return Reply(_encode(content), 200 if ready else 503)


async def metrics(service: Service, scope: Scope, receive: Receive) -> Reply:
    """``GET /metrics``."""
    service.metrics.waiting.set(service.waiting)
    page = await service.in_thread(service.metrics.page)
    return Reply(page, headers=[(b"content-type", METRICS_TYPE)])


async def model(service: Service, scope: Scope, receive: Receive) -> Reply:
    """``GET /model``."""
    facts = await service.in_thread(service.adapter.facts)
    return Reply(_encode({"name": service.name, "ocboost": ocboost.__version__, **facts}))


async def model_file(service: Service, scope: Scope, receive: Receive) -> Reply:
    """``GET /model/file``."""
    version = _version_in(scope["query_string"])
    content, tag = await service.in_thread(_file_and_tag, service, version)
    etag = (b"etag", b'"' + tag + b'"')
    if is_known(scope, etag[1]):
        return Reply(b"", NOT_MODIFIED, [etag])
    name = service.name if version is None else f"{service.name}-{version}"
    disposition = f'attachment; filename="{safe_file_name(name)}.ocb"'.encode()
    return Reply(content, headers=[FILE_TYPE, etag, (b"content-disposition", disposition)])


async def versions(service: Service, scope: Scope, receive: Receive) -> Reply:
    """``GET /versions``."""
    return Reply(_encode({"versions": await service.in_thread(service.adapter.versions)}))


async def promote(service: Service, scope: Scope, receive: Receive) -> Reply:
    """``POST /promote``."""
    facts = await service.in_thread(service.adapter.promote)
    write_event("info", "promote", by=_client(scope))
    return Reply(_encode(facts))


async def rollback(service: Service, scope: Scope, receive: Receive) -> Reply:
    """``POST /rollback``."""
    request = decode(RollbackRequest, await service.body(scope, receive))
    facts = await service.in_thread(service.adapter.rollback, request.version)
    write_event("info", "rollback", version=request.version, by=_client(scope))
    return Reply(_encode(facts))


async def freeze(service: Service, scope: Scope, receive: Receive) -> Reply:
    """``POST /freeze``."""
    request = decode(FreezeRequest, await service.body(scope, receive))
    facts = await service.in_thread(service.adapter.freeze, request.frozen)
    write_event("info", "freeze", frozen=request.frozen, by=_client(scope))
    return Reply(_encode(facts))


async def openapi(service: Service, scope: Scope, receive: Receive) -> Reply:
    """``GET /openapi.json``."""
    return Reply(_encode(openapi_document(service.settings.token is not None)))


async def watch(service: Service, scope: Scope, receive: Receive) -> Reply:
    """``GET /watch``: what the page shows."""
    content = await service.in_thread(lambda: _encode(service.listeners.document()))
    return Reply(content, headers=[JSON_TYPE, *PRIVATE_HEADERS])


async def index(service: Service, scope: Scope, receive: Receive) -> Reply:
    """``GET /``: the page; where to find the rest, for programs that ask for JSON."""
    if not wants_json(scope):
        token = service.settings.token
        allowed = token is None or is_authorized(header(scope, b"authorization"), token)
        return _page_file(scope, "/", wants_token=not allowed)
    listed = [f"{verb} {path}" for path, verb, _ in PATHS]
    content = {"service": "ocboost", "paths": [*listed, f"GET {EVENTS_PATH}"]}
    return Reply(_encode(content), headers=[JSON_TYPE, VARIES, *PAGE_HEADERS])


async def page_file(service: Service, scope: Scope, receive: Receive) -> Reply:
    """``GET /page/NAME``: a file of the page."""
    return _page_file(scope, scope["path"])


def _page_file(scope: Scope, path: str, *, wants_token: bool = False) -> Reply:
    found = page_files(wants_token).get(path)
    if found is None:
        raise HttpError(404, "unknown_path", "The page has no such file.")
    headers = [*found.headers, VARIES] if path == "/" else found.headers
    if is_known(scope, found.etag):
        return Reply(b"", NOT_MODIFIED, headers)
    return Reply(found.content, headers=headers)


PATHS: list[tuple[str, str, Handler[Service]]] = [
    ("/predict", "POST", predict),
    ("/label", "POST", label),
    ("/health", "GET", health),
    ("/metrics", "GET", metrics),
    ("/model", "GET", model),
    ("/model/file", "GET", model_file),
    ("/versions", "GET", versions),
    ("/promote", "POST", promote),
    ("/rollback", "POST", rollback),
    ("/freeze", "POST", freeze),
    ("/watch", "GET", watch),
    ("/openapi.json", "GET", openapi),
    ("/", "GET", index),
    (PAGE_FOLDER + "{name}", "GET", page_file),
]


def service_routes(service: Service) -> list[Route]:
    """The routes of a service, those that are asked most often first."""
    routes = [Route(path, Endpoint(handler, service), methods=[verb]) for path, verb, handler in PATHS]
    return [*routes, Route(EVENTS_PATH, EventStream(service), methods=["GET"])]


def safe_file_name(name: str) -> str:
    """A name without what would end a header or lead to another folder.

    >>> safe_file_name('a/b"c.d')
    'a_b_c.d'
    """
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)
    return kept[:100].lstrip(".") or "model"


def _version_in(query: bytes) -> int | None:
    given = parse_qs(query.decode("latin-1"), keep_blank_values=True).get("version")
    if given is None:
        return None
    text = given[-1]
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_VERSION_DIGITS):
        raise HttpError(422, "bad_request", f"version must be a number of GET /versions; got {text!r:.40}.")
    return int(text)


def _file_and_tag(service: Service, version: int | None) -> tuple[bytes, bytes]:
    from hashlib import sha256

    content = service.adapter.model_file(version)
    return content, sha256(content).hexdigest().encode()


def _client(scope: Scope) -> str | None:
    client = scope.get("client")
    return client[0] if client else None
