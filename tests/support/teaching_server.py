"""`ocboost cascade live` as a process, and requests to it as the page sends them."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

from tests.support.processes import Ocboost
from tests.support.teaching_scene import DETECTOR

READY = re.compile(r"teach it at (http://127\.0\.0\.1:(\d+)/#token=(\S+))")
START_SECONDS = 120.0
TAB = "tab-of-the-test"


class TeachingProcess:
    """A server on a port of its own choice."""

    def __init__(self, *options: object, detector: Path = DETECTOR) -> None:
        self.options = [detector, *options]
        self.url, self.port, self.token = "", 0, ""
        self.said: list[str] = []

    def start(self) -> TeachingProcess:
        """Start it, and wait until it answers."""
        self._ready = threading.Event()
        self.said, self.url = [], ""
        self._process = Ocboost(
            ["cascade", "live", *self.options, "--no-browser"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=dict(os.environ),
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        if not self._ready.wait(START_SECONDS) or not self.url:
            self.end(signal.SIGKILL)
            raise RuntimeError("the server did not start: " + "\n".join(self.said))
        return self

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                self.said.append(line.rstrip("\n"))
                found = READY.search(line)
                if found:
                    self.url, self.port, self.token = found[1], int(found[2]), found[3]
                    self._ready.set()
        self._ready.set()

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def end(self, number: int = signal.SIGINT) -> int:
        """Send a signal, and give the exit code; what it said is complete then."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        code = self._process.wait(60)
        self._listener.join(10)
        return code

    def __enter__(self) -> TeachingProcess:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.end(signal.SIGKILL)

    def ask(
        self, method: str, path: str, body: Any = None, *, tab: str = TAB, **headers: str
    ) -> tuple[int, Any, dict[str, str]]:
        """Status, content and headers of an answer; bytes are sent as a frame, anything else as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = {"Authorization": f"Bearer {self.token}", "Ocboost-Tab": tab, **headers}
        if isinstance(body, bytes):
            sent.setdefault("Content-Type", "application/octet-stream")
        elif body is not None:
            body = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, body, {name: value for name, value in sent.items() if value})
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        given = dict(answer.getheaders())
        if given.get("content-type", "").startswith("application/json"):
            content = json.loads(content)
        return answer.status, content, given
