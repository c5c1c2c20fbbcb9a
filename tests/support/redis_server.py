"""A real Redis server on a free port, which can be killed and started again on the same data."""

from __future__ import annotations

import importlib.util
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

PROGRAM = "redis-server"
START_SECONDS = 60.0


def missing() -> str | None:
    """Why no server can be started here; None if one can."""
    if shutil.which(PROGRAM) is None:
        return f"needs {PROGRAM}, which is not installed"
    if importlib.util.find_spec("redis") is None:
        return "needs the package redis"
    return None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class RedisServer:
    """A server over one folder; each write is on the disk before it is answered."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self.options = folder, options
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self, **options: Any) -> Any:
        import redis

        return redis.Redis(port=self.port, socket_timeout=20.0, **options)

    def start(self) -> RedisServer:
        """Start it, and wait until it answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        words = [
            PROGRAM, "--port", self.port, "--bind", "127.0.0.1", "--dir", self.folder, "--appendonly", "yes",
            "--appendfsync", "always", "--save", "", "--logfile", self.folder / "log", *self.options,
        ]  # fmt: skip
        self._process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL)
        self.wait_until_ready()
        return self

    def wait_until_ready(self) -> None:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        deadline = time.monotonic() + START_SECONDS
        with self.client(retry=Retry(NoBackoff(), 0)) as client:
            while True:
                try:
                    client.ping()
                    return
                except redis.AuthenticationError:  # it answers
                    return
                except redis.RedisError:
                    assert self._process is not None
                    if self._process.poll() is not None or time.monotonic() > deadline:
                        raise RuntimeError((self.folder / "log").read_text()[-2000:]) from None
                    time.sleep(0.02)

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def __enter__(self) -> RedisServer:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.kill()
