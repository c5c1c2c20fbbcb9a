"""Server-sent events: one task asks the adapter what it knows, and each listener gets what has changed."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import msgspec

from ocboost.serve.bodies import Receive, Scope
from ocboost.serve.failures import Headers, HttpError
from ocboost.serve.gate import Send
from ocboost.serve.logs import trace_of, write_event
from ocboost.serve.page import PRIVATE_HEADERS

if TYPE_CHECKING:
    from ocboost.serve.service import Service

EVENTS_PATH = "/events"
STATE_SECONDS = 1.0  # between two states
KEEP_ALIVE_SECONDS = 15.0  # of silence, after which a comment is sent
BUSY_SECONDS = 10  # what Retry-After says when there are too many listeners
EXPLAIN_PAUSE = 100  # so that explaining mistakes takes a hundredth of a core at most
MAX_EXPLAIN_PAUSE = 30.0  # seconds

STREAM_HEADERS: Headers = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"x-accel-buffering", b"no"),  # a proxy must pass each message on
    *PRIVATE_HEADERS,
]

_encode = msgspec.json.Encoder().encode


class Listener:
    """One open stream: which state it was sent last, and what wakes it."""

    def __init__(self) -> None:
        self.seen = 0
        self.gone = False
        self.wake = asyncio.Event()

    async def wait_until_gone(self, receive: Receive) -> None:
        """Read what the client sends, which is nothing, until it leaves."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self.gone = True
        self.wake.set()


class Listeners:
    """Everyone who listens, and the newest state, each section encoded once.

    States are numbered, and each section has the number of the state in which it changed last. A listener
    that is slow misses states, not changes: it gets every section that changed since the state it has.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._listeners: set[Listener] = set()
        self._number = 0  # of the newest state
        self._sections: dict[str, tuple[bytes, int]] = {}  # encoded; the state in which it changed
        self._messages: dict[int, bytes] = {}  # from a state to the newest one
        self._producer: asyncio.Task[None] | None = None
        self._explain_at = float("-inf")  # when a mistake may be explained
        self._failing: set[str] = set()  # what failed the last time, and is in the log
        self._ended = False

    def __len__(self) -> int:
        return len(self._listeners)

    def close(self) -> None:
        """End all streams."""
        self._ended = True
        if self._producer is not None:
            self._producer.cancel()
        for listener in self._listeners:
            listener.wake.set()

    # Listening --------------------------------------------------------------------------------------------

    async def listen(self, receive: Receive, send: Send) -> None:
        """Send states to a client until it leaves or the service ends."""
        most = self._service.settings.max_listeners
        if self._ended:
            raise HttpError(503, "closed", "The service is shutting down.", {"Retry-After": "1"})
        if len(self._listeners) >= most:
            raise HttpError(
                503, "busy", f"More than {most:,} clients listen already.", {"Retry-After": str(BUSY_SECONDS)}
            )
        listener = Listener()
        self._listeners.add(listener)
        leaving = asyncio.create_task(listener.wait_until_gone(receive))
        try:
            if self._producer is None:
                self._producer = asyncio.create_task(self._produce())
            await send({"type": "http.response.start", "status": 200, "headers": STREAM_HEADERS})
            await self._send_states(listener, send)
            await _send_part(send, b"", more=False)
        finally:
            self._listeners.discard(listener)
            leaving.cancel()

    async def _send_states(self, listener: Listener, send: Send) -> None:
        await _send_part(send, b": ocboost\n\n")  # so that proxies pass the headers on
        while not (listener.gone or self._ended):
            listener.wake.clear()
            if self._sections and listener.seen != self._number:
                await _send_part(send, b"")  # waits until the client has read what was sent before
                message, listener.seen = self._message(listener.seen), self._number
                await _send_part(send, message)
            if listener.wake.is_set():
                continue
            try:
                async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                    await listener.wake.wait()
            except TimeoutError:
                await _send_part(send, b": \n\n")

    def _message(self, seen: int) -> bytes:
        """What has changed since a state, as an event."""
        found = self._messages.get(seen)
        if found is None:
            changed = [
                _encode(name) + b":" + data
                for name, (data, number) in self._sections.items()
                if number > seen
            ]
            found = b"event: state\ndata: {" + b",".join(changed) + b"}\n\n"
            self._messages[seen] = found
        return found

    # States -----------------------------------------------------------------------------------------------

    async def _produce(self) -> None:
        """Ask for a state once a second while somebody listens."""
        try:
            while self._listeners:
                await self._next_state()
                await asyncio.sleep(STATE_SECONDS)
        finally:
            self._sections, self._messages, self._producer = {}, {}, None

    async def _next_state(self) -> None:
        try:
            sections = await self._service.in_thread(self._look)
        except Exception as error:  # it is tried again in a second; listeners keep what they have
            self._failed("watch", error)
            return
        self._failing.discard("watch")
        sections |= {name: b"null" for name in self._sections if name not in sections}
        number = self._number + 1
        before = self._sections
        self._sections = {
            name: before[name] if name in before and before[name][0] == data else (data, number)
            for name, data in sections.items()
        }
        if any(changed == number for _, changed in self._sections.values()):
            self._number = number
            self._messages = {}
            for listener in self._listeners:
                listener.wake.set()

    def _look(self) -> dict[str, bytes]:
        """Each section of the state, encoded; in a thread."""
        return {name: _encode(value) for name, value in self.document().items()}

    def document(self) -> dict[str, Any]:
        """What the page shows, now; a mistake is explained if it is time for one. For any thread."""
        adapter, begin = self._service.adapter, time.monotonic()
        if begin >= self._explain_at:
            self._explain_at = begin + MAX_EXPLAIN_PAUSE  # for other threads
            try:
                adapter.explain_mistakes(1)
                self._failing.discard("explain")
            except Exception as error:  # the rest can still be shown
                self._failed("explain", error)
            end = time.monotonic()
            pause = min(EXPLAIN_PAUSE * (end - begin), MAX_EXPLAIN_PAUSE)
            self._explain_at = end + max(pause, STATE_SECONDS - (end - begin))
        return adapter.watch(self._service.name)

    def _failed(self, what: str, error: Exception) -> None:
        """Log an error, once until it has worked again."""
        if what not in self._failing:
            self._failing.add(what)
            write_event("error", f"{what}_failed", error=type(error).__name__, where=trace_of(error))


class EventStream:
    """``GET /events``, as plain ASGI."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.__name__ = "events"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with a stream that stays open."""
        if scope["method"] == "HEAD":
            await send({"type": "http.response.start", "status": 200, "headers": STREAM_HEADERS})
            await _send_part(send, b"", more=False)
        else:
            await self._service.listeners.listen(receive, send)


async def _send_part(send: Send, body: bytes, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": more})
