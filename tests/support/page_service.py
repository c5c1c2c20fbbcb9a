"""A service that says what a test tells it to: the page's files, a stream of states, and commands."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ocboost._watch.page import static_files

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class ScriptedService:
    """What each stream begins with is ``first``; what it sends then lies in ``pieces``, where None ends it.

    A new stream ends the one before. Commands that came lie in ``commands``.
    """

    def __init__(self) -> None:
        self.pieces: queue.Queue[bytes | None] = queue.Queue()
        self.first: dict[str, Any] = {}
        self.token: str | None = None
        self.tokens: list[str | None] = []  # of the streams that were asked for
        self.commands: list[tuple[str, Any, str | None]] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.answer: tuple[int, Any] = (200, {})
        self.address = ""

    def send(self, sections: dict[str, Any]) -> None:
        """Send a state to the stream that is open, in two pieces that end anywhere."""
        data = _event(sections)
        self.pieces.put(data[:-20])
        self.pieces.put(data[-20:])

    def begin_stream(self) -> queue.Queue[bytes | None]:
        """What a new stream sends."""
        before, self.pieces = self.pieces, queue.Queue()
        before.put(None)
        self.pieces.put(_event(self.first))
        return self.pieces

    def end_stream(self) -> None:
        """Close the connection of a stream."""
        self.pieces.put(None)


def _event(sections: dict[str, Any]) -> bytes:
    return f"event: state\ndata: {json.dumps(sections, ensure_ascii=False)}\n\n".encode()


def _handler(service: ScriptedService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            pass

        def reply(self, status: int, content: bytes, media: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", media)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            if self.path == "/events":
                self.stream()
            else:
                content, media = static_files().get(self.path, (b"", ""))
                self.reply(200 if content else 404, content, media)

        def stream(self) -> None:
            given = self.headers["Authorization"]
            service.tokens.append(given)
            if service.token is not None and given != f"Bearer {service.token}":
                self.reply(401, b"{}", "application/json")
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(b": ocboost\n\n")
            pieces = service.begin_stream()
            while (piece := pieces.get()) is not None:
                self.wfile.write(piece)
                self.wfile.flush()

        def do_POST(self) -> None:
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            service.commands.append((self.path, content, self.headers["Authorization"]))
            service.may_answer.wait()
            status, answer = service.answer
            self.reply(status, json.dumps(answer).encode(), "application/json")

    return Handler


@contextmanager
def scripted_service() -> Iterator[ScriptedService]:
    """Such a service on a free port, in threads of its own."""
    service = ScriptedService()
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(service)) as server:
        server.daemon_threads = True
        server.block_on_close = False
        service.address = f"http://127.0.0.1:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield service
        finally:
            service.may_answer.set()
            service.end_stream()
            server.shutdown()
            thread.join()
