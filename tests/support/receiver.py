"""A receiver of webhooks: an HTTP server in a thread that answers as it is told and keeps what came."""

from __future__ import annotations

import queue
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WAIT = 30


@dataclass
class Came:
    """A request that came."""

    path: str
    headers: Any
    body: bytes


class Receiver:
    """``answers`` are statuses, or pairs of a status and headers, in order; 200 when there are no more."""

    def __init__(self, port: int = 0) -> None:
        self.answers: list[Any] = []
        self.came: queue.Queue[Came] = queue.Queue()
        self.held = threading.Event()  # while clear, nothing is answered
        self.held.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = receiver.answers.pop(0) if receiver.answers else 200
                receiver.came.put(Came(self.path, self.headers, body))
                receiver.held.wait(WAIT)
                status, headers = answer if isinstance(answer, tuple) else (answer, {})
                try:
                    self.send_response(status)
                    for name, value in {"Content-Length": "0", **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                except OSError:
                    pass  # whoever asked has left

            def do_GET(self) -> None:
                receiver.came.put(Came(self.path, self.headers, b""))

            def log_message(self, *words: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, request: Any, client_address: Any) -> None:
                pass

        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}/in"

    def next(self) -> Came:
        return self.came.get(timeout=WAIT)


@contextmanager
def receiving(port: int = 0):
    """A receiver that runs."""
    receiver = Receiver(port)
    thread = threading.Thread(target=receiver.server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield receiver
    finally:
        receiver.held.set()
        receiver.server.shutdown()
        thread.join()
        receiver.server.server_close()


def until(condition) -> None:
    """Wait for a condition."""
    waiting = threading.Event()
    for _ in range(WAIT * 200):
        if condition():
            return
        waiting.wait(0.005)
    raise AssertionError("it did not happen in time")
