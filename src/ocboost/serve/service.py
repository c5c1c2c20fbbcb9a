"""The service: an adapter behind HTTP, with its settings, limits and metrics."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from ocboost.serve.bodies import JSON_TYPES, Receive, Scope, read_body
from ocboost.serve.endpoints import service_routes
from ocboost.serve.events import Listeners
from ocboost.serve.failures import error_body
from ocboost.serve.gate import Gate
from ocboost.serve.metrics import ServiceMetrics
from ocboost.serve.v2 import v2_routes

if TYPE_CHECKING:
    from ocboost.live import Adapter, Answers, LabelReport

P = ParamSpec("P")
R = TypeVar("R")

N_THREADS = 4
INLINE_SECONDS = 0.003  # what may keep other requests waiting; longer work goes to a thread
FIRST_SECONDS = 0.0004  # a row, until it has been measured
MEASURED_SHARE = 0.1  # of the newest measurement


@dataclass(frozen=True)
class ServeSettings:
    """What the service allows.

    Parameters
    ----------
    name
        The model's name, which the Open Inference Protocol has in its paths.
    token
        What clients must send as a bearer token; None asks for none.
    hosts
        Names that the Host header may have, in small letters and without a port; None takes any.
    max_rows, max_body
        The rows or labels and the bytes of a request.
    max_waiting
        The requests that may be under way at a time.
    rate
        Requests a second for each client's address, after a burst of twice as many; None sets no limit.
    body_seconds
        How long the body of a request may take to come.
    log_requests
        Whether each request is logged, not only those that failed.
    max_listeners
        The clients that may listen to ``/events`` at a time, beside ``max_waiting``.
    """

    name: str = "model"
    token: bytes | None = None
    hosts: frozenset[bytes] | None = None
    max_rows: int = 10_000
    max_body: int = 16 * 2**20
    max_waiting: int = 500
    rate: float | None = None
    body_seconds: float = 30.0
    log_requests: bool = False
    max_listeners: int = 50


class MeasuredWork:
    """Work on rows, done at once if it is expected to be short and in a thread if not.

    What it takes is measured for 1 row, up to 3, up to 7 and so on.
    """

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}

    async def done(self, service: Service, n: int, work: Callable[[], Future[R]]) -> R:
        """The result of a future that ``work`` on ``n`` rows gives."""
        expected = self._seconds.get(n.bit_length())
        if (n * FIRST_SECONDS if expected is None else expected) <= INLINE_SECONDS:
            future = self._timed(n, work)
        else:
            future = await service.in_thread(self._timed, n, work)
        return future.result() if future.done() else await asyncio.wrap_future(future)

    def _timed(self, n: int, work: Callable[[], Future[R]]) -> Future[R]:
        begin = time.perf_counter()
        future = work()
        took = time.perf_counter() - begin
        before = self._seconds.get(n.bit_length(), took)
        self._seconds[n.bit_length()] = before + MEASURED_SHARE * (took - before)
        return future


class Service:
    """An adapter behind HTTP. Its methods are for the event loop's thread."""

    def __init__(self, adapter: Adapter, settings: ServeSettings) -> None:
        self.adapter = adapter
        self.settings = settings
        self.name = settings.name
        self.metrics = ServiceMetrics(adapter)
        self.stopping = False
        self.waiting = 0
        self.route_paths: dict[Any, str] = {}  # of each endpoint, for the metrics
        self.class_names = [class_name(label) for label in adapter.classes]
        self.listeners = Listeners(self)
        self._threads = ThreadPoolExecutor(N_THREADS, thread_name_prefix="ocboost-serve")
        self._row_work = MeasuredWork()
        self._label_work = MeasuredWork()

    async def body(
        self, scope: Scope, receive: Receive, types: tuple[bytes, ...] | None = JSON_TYPES
    ) -> bytes:
        """The body of a request within the limits; a breach is an `HttpError`."""
        return await read_body(
            scope,
            receive,
            max_bytes=self.settings.max_body,
            seconds=self.settings.body_seconds,
            types=types,
        )

    async def predict(self, rows: Any, ids: list[str] | None = None, issue: bool = True) -> Answers:
        """The answers, durable where they were issued; many rows are predicted in a thread."""
        answers = await self._row_work.done(
            self, len(rows), lambda: self.adapter.predict_soon(rows, ids, issue=issue)
        )
        self.metrics.rows.inc(len(rows))
        return answers

    async def label(self, labels: list[dict[str, Any]]) -> LabelReport:
        """What became of labels, once that is durable."""
        report = await self._label_work.done(self, len(labels), lambda: self.adapter.label_soon(labels))
        self.metrics.count_labels("accepted", report.accepted)
        self.metrics.count_labels("duplicate", report.duplicates)
        for each in report.rejected:
            self.metrics.count_labels(each.reason)
        return report

    async def in_thread(self, function: Callable[P, R], /, *args: P.args, **more: P.kwargs) -> R:
        """Call what may take long without keeping others waiting."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: function(*args, **more))

    def count_request(self, path: str, method: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self.metrics.count_request(path, method, status, seconds)

    def count_invalid(self) -> None:
        """Count what was not HTTP."""
        self.metrics.invalid.inc()

    def end_streams(self) -> None:
        """End the streams of those who listen."""
        self.listeners.close()

    def close(self) -> None:
        """End the threads; the adapter is closed by whoever made it."""
        self.stopping = True
        self._threads.shutdown(wait=True)


def class_name(label: Any) -> str:
    """A class as the name of a JSON object's entry.

    >>> [class_name(label) for label in ("spam", 3, 1.5, True)]
    ['spam', '3', '1.5', 'true']
    """
    return str(label).lower() if isinstance(label, bool) else str(label)


def build_app(adapter: Adapter, settings: ServeSettings | None = None) -> Starlette:
    """The application for an adapter, which stays the caller's to close."""
    return app_for(Service(adapter, settings or ServeSettings()))


def app_for(service: Service) -> Starlette:
    """The application of a service; its state has it as ``app.state.service``."""
    routes = [*service_routes(service), *v2_routes(service)]
    service.route_paths = {route.endpoint: route.path for route in routes}
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Gate, service=service)],
        exception_handlers={HTTPException: _routing_error},
    )
    app.router.redirect_slashes = False
    app.state.service = service
    return app


async def _routing_error(request: Request, error: Exception) -> Response:
    """No such path, or not with this method."""
    assert isinstance(error, HTTPException)
    path = request.scope["path"]
    if error.status_code == 405:
        allowed = ", ".join(sorted((error.headers or {}).get("Allow", "").split(", ")))
        code, message = "wrong_method", f"{request.method:.20} is not possible here, but {allowed}."
        headers = {"Allow": allowed}
    else:
        code, message, headers = "unknown_path", "There is no such path. GET /openapi.json lists them.", {}
    content = error_body(path, code, message)
    return Response(content, error.status_code, headers, media_type="application/json")
