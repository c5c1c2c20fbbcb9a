"""Running the page's server until Ctrl-C, and the end in order."""

from __future__ import annotations

import secrets
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from ocboost._teaching.endpoints import teaching_routes
from ocboost._teaching.gate import TeachingGate
from ocboost._teaching.service import PageFacts, TeachingService
from ocboost.serve.failures import error_body
from ocboost.serve.run import in_order, server_for

if TYPE_CHECKING:
    from ocboost._teaching.session import TeachingSession
    from ocboost._teaching.source import FrameSource


def teaching_app(service: TeachingService) -> Starlette:
    """The application of a service."""
    routes = teaching_routes(service)
    service.route_paths = {route.endpoint: route.path for route in routes}
    app = Starlette(
        routes=routes,
        middleware=[Middleware(TeachingGate, service=service)],
        exception_handlers={HTTPException: _routing_error},
    )
    app.router.redirect_slashes = False
    return app


async def _routing_error(request: Request, error: Exception) -> Response:
    """No such path, or not with this method."""
    assert isinstance(error, HTTPException)
    content = error_body("", "unknown_path", "There is no such path, or not with this method.")
    return Response(content, error.status_code, media_type="application/json")


# Between its kernels a frame needs the interpreter's lock again, and the thread that learns gives it up after
# this time only: with Python's 5 ms, boxes would wait for it again and again.
SWITCH_SECONDS = 0.0001


@contextmanager
def _switching_soon() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def run_teaching(
    session: TeachingSession,
    facts: PageFacts,
    source: FrameSource | None,
    token: str,
    bound: socket.socket,
    ready: Callable[[str], None],
) -> None:
    """Answer until SIGTERM or Ctrl-C. ``ready`` gets a word that opens the page once, in place of the token.

    Session and source stay open.
    """
    with in_order("ocboost._teaching"), _switching_soon():
        service = TeachingService(session, facts, source, token.encode())
        once = secrets.token_urlsafe(32)
        service.once = once.encode()
        try:
            server_for(service, teaching_app(service), lambda: ready(once)).run([bound])
        finally:
            service.close()
