"""HTTP/1.1 as uvicorn speaks it, with limits that it does not have: on headers, trailers and slow clients."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ocboost.serve.bodies import DRAINED_BODIES
from ocboost.serve.failures import error_body
from ocboost.serve.gate import STREAMS

if TYPE_CHECKING:
    from ocboost.serve.served import Served

MAX_HEADER_BYTES = 64 * 2**10
HEADER_SECONDS = 10.0
MAX_CONNECTIONS = 1_000


class LimitedProtocol(HttpToolsProtocol):
    """One connection; subclasses have the service in ``service``."""

    service: Served

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._taken = 0  # bytes of the request that is coming in
        self._in_headers = True
        self._refused = False  # what comes is no longer read
        self._began: float | None = None  # when it began to come in
        self._unread_since: float | None = None  # when the client stopped reading its answer

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, unless there are too many."""
        super().connection_made(transport)
        self._began = self.loop.time()
        if len(self.connections) > MAX_CONNECTIONS:
            self._refuse(503, "busy", "There are too many connections.")

    def data_received(self, data: bytes) -> None:
        """Read what has come, up to the limits of one request."""
        if self._refused or self.transport.is_closing():
            return
        self._taken += len(data)
        super().data_received(data)
        if self._in_headers:
            if self._taken > MAX_HEADER_BYTES:
                self._refuse(
                    431, "headers_too_large", f"Headers must have at most {MAX_HEADER_BYTES:,} bytes."
                )
        elif self._taken > DRAINED_BODIES * self.service.settings.max_body + MAX_HEADER_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._in_headers, self._began = True, self.loop.time()

    def on_headers_complete(self) -> None:
        """Its headers are there."""
        self._in_headers, self._taken = False, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """All of it is there."""
        self._in_headers, self._taken, self._began = True, 0, None
        super().on_message_complete()

    def pause_writing(self) -> None:
        """The client does not read as fast as it is answered."""
        self._unread_since = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """It has read."""
        self._unread_since = None
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP."""
        self.service.count_invalid()
        self._refuse(400, "bad_http", msg)

    def close_if_slow(self, now: float) -> None:
        """End the connection of a client that sends or reads too slowly; called every second."""
        patience = HEADER_SECONDS + self.service.settings.body_seconds
        if self._unread_since is not None and now - self._unread_since > patience:
            self.transport.abort()
        elif self._began is None or self.transport.is_closing():
            return
        elif self._in_headers and now - self._began > HEADER_SECONDS:
            self._refuse(408, "too_slow", f"A request did not come within {HEADER_SECONDS:g} seconds.")
        elif now - self._began > patience:
            self.transport.close()

    def end_unread_stream(self) -> None:
        """End a stream whose client does not read: its end would wait to be read, too."""
        under_way = self.cycle is not None and not self.cycle.response_complete
        if under_way and self.cycle.scope["path"] in STREAMS and self.transport.get_write_buffer_size():
            self.transport.abort()

    def _refuse(self, status: int, code: str, message: str) -> None:
        """Answer without asking the application, and end the connection.

        Where another request of the connection is being answered, the connection ends after that.
        """
        self._refused = True
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive = False
        elif not self.transport.is_closing():
            body = error_body("", code, message)
            head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
            self.transport.write(STATUS_LINE[status] + head % len(body) + body)
            self.transport.close()


def protocol_for(service: Served) -> type[LimitedProtocol]:
    """The protocol of a service's connections."""
    return type("ServiceProtocol", (LimitedProtocol,), {"service": service})
