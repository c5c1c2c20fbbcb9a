"""HTTP/1.1 over raw sockets: connections that stay open, and many clients at once. For tests and benchmarks.

It is written for speed and for saying anything at all, also what no HTTP library would send.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_HEAD = 1 << 16


class BrokenAnswerError(Exception):
    """The connection ended before an answer was complete, or what came is no HTTP."""


@dataclass
class Reply:
    """An answer; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def request_bytes(
    method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
) -> bytes:
    """A well-formed request."""
    lines = {"Host": "localhost"}
    if body is not None:
        lines["Content-Type"] = "application/json"
        lines["Content-Length"] = str(len(body))
    lines.update(headers or {})
    head = "".join([f"{method} {path} HTTP/1.1\r\n", *(f"{k}: {v}\r\n" for k, v in lines.items()), "\r\n"])
    return head.encode("latin-1") + (body or b"")


class Connection:
    """One connection that stays open. Errors of the socket are `OSError` or `BrokenAnswerError`."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the socket; the next request opens another."""
        writer, self._reader, self._writer = self._writer, None, None
        if writer is not None:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def send(self, raw: bytes) -> None:
        """Send bytes as they are, on a new connection if there is none."""
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(self.host, self.port, limit=MAX_HEAD)
        self._writer.write(raw)
        await self._writer.drain()

    async def end_sending(self) -> None:
        """Say that nothing more comes."""
        assert self._writer is not None
        self._writer.write_eof()

    async def answer(self, head_only: bool = False) -> Reply:
        """Read one answer."""
        assert self._reader is not None
        try:
            head = b"HTTP/1.1 100 "
            while head.startswith(b"HTTP/1.1 100 "):  # go on
                head = await self._reader.readuntil(b"\r\n\r\n")
            first, *lines = head[:-4].decode("latin-1").split("\r\n")
            version, status, *_ = first.split(" ", 2)
            if not version.startswith("HTTP/1."):
                raise BrokenAnswerError(f"no HTTP: {first!r}")
            headers = {}
            for line in lines:
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            if head_only or status in ("204", "304"):
                body = b""
            elif "content-length" in headers:
                body = await self._reader.readexactly(int(headers["content-length"]))
            elif headers.get("transfer-encoding") == "chunked":
                body = await self._chunks()
            else:
                body = await self._reader.read()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
            await self.close()
            raise BrokenAnswerError(str(error)) from error
        if headers.get("connection") == "close":
            await self.close()
        return Reply(int(status), headers, body)

    async def _chunks(self) -> bytes:
        assert self._reader is not None
        parts = []
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            parts.append(await self._reader.readexactly(size))
            await self._reader.readexactly(2)
        await self._reader.readuntil(b"\r\n")
        return b"".join(parts)

    async def ask(self, raw: bytes) -> Reply:
        """Send a request and read its answer; the socket is closed if that fails."""
        try:
            await self.send(raw)
            return await self.answer()
        except BaseException:
            await self.close()
            raise

    async def request(
        self, method: str, path: str, value: Any = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Ask with a value as JSON."""
        body = None if value is None else json.dumps(value).encode()
        return await self.ask(request_bytes(method, path, body, headers))


@dataclass
class Load:
    """What many clients saw."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)  # seconds, one for each round
    statuses: Counter[int] = field(default_factory=Counter)

    @property
    def rate(self) -> float:
        """Rounds a second."""
        return len(self.latencies) / self.seconds

    def percentile(self, percent: float) -> float:
        """A latency, in seconds."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


Round = Callable[[Connection, int], Awaitable[list[int]]]  # (connection, number) -> the statuses it saw


async def run_load(host: str, port: int, clients: int, seconds: float, one: Round) -> Load:
    """Have `clients` connections repeat a round for so many seconds; each round's number is its own."""
    found = Load()
    numbers = iter(range(1 << 62))
    start = time.perf_counter()
    end = start + seconds

    async def client() -> None:
        async with Connection(host, port) as connection:
            while (began := time.perf_counter()) < end:
                statuses = await one(connection, next(numbers))
                found.latencies.append(time.perf_counter() - began)
                found.statuses.update(statuses)

    await asyncio.gather(*(client() for _ in range(clients)))
    found.seconds = time.perf_counter() - start
    return found
