"""What every request passes: who may ask, limits, metrics, and errors as answers."""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from ocboost.serve.bodies import Receive, Scope
from ocboost.serve.failures import JSON_TYPE, ClientGoneError, Headers, HttpError, error_body, http_error
from ocboost.serve.logs import trace_of, write_event
from ocboost.serve.security import TokenBuckets, host_name, is_authorized, is_own_origin

if TYPE_CHECKING:
    from ocboost.serve.served import Served

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN_PATHS = frozenset({"/", "/health", "/v2/health/live", "/v2/health/ready"})  # without a token
OPEN_FOLDER = "/page/"  # its files hold no data
STREAMS = frozenset({"/events"})  # answers that stay open; they count until they begin
SAFE_METHODS = frozenset({"GET", "HEAD"})
COUNTED_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
LOGGED_PER_SECOND = 10.0  # requests that failed with the same status; others are counted
CLIENT_GONE = 499  # a status for the metrics: nobody was there to be answered


class Gate:
    """The application behind its checks, as plain ASGI."""

    def __init__(self, app: App, service: Served) -> None:
        self._app = app
        self._service = service
        self._settings = service.settings
        self._buckets = None if service.settings.rate is None else TokenBuckets(service.settings.rate)
        self._logged = TokenBuckets(LOGGED_PER_SECOND)
        self._unlogged = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        begin = time.perf_counter()
        service, status, waits = self._service, 0, True

        def done() -> None:
            nonlocal waits
            if waits:
                waits = False
                service.waiting -= 1
                self._count(scope, status or CLIENT_GONE, time.perf_counter() - begin)

        async def counted(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if scope["path"] in STREAMS:
                    done()
            await send(message)

        service.waiting += 1
        try:
            self.check(scope)
            await self._app(scope, receive, counted)
        except ClientGoneError:
            status = CLIENT_GONE
        except Exception as error:
            answer = http_error(error)
            if answer is None:
                answer = self._unexpected(scope, error)
            if status == 0:
                await send_error(scope, counted, answer)
        finally:
            done()

    def check(self, scope: Scope) -> None:
        """Refuse a request before its body is read."""
        settings = self._settings
        host = origin = authorization = None
        for name, value in scope["headers"]:
            if name == b"host":
                host = value
            elif name == b"authorization":
                authorization = value
            elif name == b"origin":
                origin = value
        if settings.hosts is not None and host_name(host) not in settings.hosts:
            raise HttpError(
                403,
                "wrong_host",
                "The Host header must name this machine (localhost, 127.0.0.1 or [::1]) where no token is "
                "asked for. Start the service with a token, or with --allow-host NAME.",
            )
        if settings.token is None:
            if origin is not None and scope["method"] not in SAFE_METHODS and not is_own_origin(origin, host):
                raise HttpError(
                    403, "wrong_origin", "Pages of other sites may not send requests to this service."
                )
        elif not (is_open(scope["path"]) or is_authorized(authorization, settings.token)):
            given = "wrong" if authorization is not None else "missing"
            raise HttpError(
                401,
                "unauthorized",
                f"The token is {given}. Send it in a header: Authorization: Bearer TOKEN.",
                {"WWW-Authenticate": "Bearer"},
            )
        if scope["path"] == "/health":
            return
        if self._service.waiting > settings.max_waiting:
            raise HttpError(
                503, "busy", f"More than {settings.max_waiting:,} requests are waiting.", {"Retry-After": "1"}
            )
        if self._buckets is not None:
            client = scope.get("client")
            wait = self._buckets.seconds_to_wait(client[0] if client else "")
            if wait > 0:
                raise HttpError(
                    429,
                    "too_many_requests",
                    f"At most {settings.rate:g} requests a second are taken from one address.",
                    {"Retry-After": str(int(wait) + 1)},
                )

    def _unexpected(self, scope: Scope, error: Exception) -> HttpError:
        reference = secrets.token_hex(6)
        write_event(
            "error",
            "unexpected_error",
            reference=reference,
            path=scope["path"],
            error=type(error).__name__,
            where=trace_of(error),
        )
        return HttpError(
            500,
            "unexpected",
            f"This should not have happened. The service's log says more under the reference {reference}.",
        )

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in COUNTED_METHODS else "other"
        path = self._service.route_paths.get(scope.get("endpoint"), "other")
        self._service.count_request(path, method, status, seconds)
        if not self._settings.log_requests:
            if status < 500:
                return
            if self._logged.seconds_to_wait(str(status)) > 0:  # as while the disk is full
                self._unlogged += 1
                return
        client = scope.get("client")
        more = {"unlogged": self._unlogged} if self._unlogged else {}
        self._unlogged = 0
        write_event(
            "error" if status >= 500 else "info",
            "request",
            method=method,
            path=scope["path"],
            status=status,
            milliseconds=round(1000 * seconds, 3),
            client=client[0] if client else None,
            **more,
        )


def is_open(path: str) -> bool:
    """Whether a path needs no token."""
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDER)


async def send_error(scope: Scope, send: Send, error: HttpError) -> None:
    """Answer with an error."""
    body = error_body(scope["path"], error.code, error.message)
    headers: Headers = [JSON_TYPE, (b"content-length", str(len(body)).encode())]
    headers += [(name.lower().encode(), value.encode("latin-1")) for name, value in error.headers.items()]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
