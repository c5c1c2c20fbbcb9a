"""Server-sent events: who gets what and when, and that nobody has to wait for a listener."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

from ocboost.serve import events, run
from tests.serve.test_run import GET, all_of, one_of, serving
from tests.support.asgi_client import Client

TOKEN = "correct-horse-battery-staple"
LISTEN = b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"
SECONDS = 30.0  # until a condition that never comes true fails the test


class Document:
    """What `Adapter.watch` gives; a test changes it."""

    def __init__(self):
        self.sections = {"format": 1, "status": {"labels": 0}, "series": {"all": {}}, "mistakes": []}
        self.asked = 0
        self.explained = []
        self.error = None

    def watch(self, title):
        self.asked += 1
        if self.error is not None:
            raise self.error
        return {**self.sections, "title": title}

    def explain_mistakes(self, most):
        self.explained.append(most)


@pytest.fixture
def document(adapter, monkeypatch):
    known = Document()
    monkeypatch.setattr(adapter, "watch", known.watch, raising=False)
    monkeypatch.setattr(adapter, "explain_mistakes", known.explain_mistakes, raising=False)
    monkeypatch.setattr(events, "STATE_SECONDS", 0.002)
    return known


class Stream:
    """An open stream of an application without a network; ``reads`` is set while the client reads."""

    def __init__(self, app, token=None, method="GET"):
        self.status, self.headers, self.parts = 0, {}, []
        self.reads, self._came, self._gone = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.reads.set()
        headers = [(b"host", b"localhost:8080")]
        if token is not None:
            headers.append((b"authorization", b"Bearer " + token.encode()))
        scope = {
            "type": "http",
            "method": method,
            "path": "/events",
            "root_path": "",
            "query_string": b"",
            "headers": headers,
            "client": ("10.0.0.1", 5000),
        }
        self.task = asyncio.create_task(app(scope, self._receive, self._send))

    async def _receive(self):
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message):
        await self.reads.wait()
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {k.decode(): v.decode() for k, v in message["headers"]}
        else:
            self.parts.append(message["body"])
        self._came.set()

    @property
    def text(self):
        return b"".join(self.parts).decode()

    @property
    def states(self):
        """The states that came, whole or in part."""
        return [
            json.loads(block.partition("data: ")[2])
            for block in self.text.split("\n\n")
            if block.startswith("event: state\n")
        ]

    async def until(self, holds):
        """Wait until something holds of what came."""
        async with asyncio.timeout(SECONDS):
            while not holds(self):
                self._came.clear()
                await self._came.wait()
        return self

    async def leave(self):
        self._gone.set()
        await asyncio.wait_for(self.task, SECONDS)


async def until(holds):
    async with asyncio.timeout(SECONDS):
        while not holds():
            await asyncio.sleep(0.001)


def has(n):
    return lambda stream: len(stream.states) >= n


def test_the_whole_state_and_then_what_changed(client, document):
    async def listening():
        stream = await Stream(client.app).until(has(1))
        assert stream.states == [{**document.sections, "title": "model"}]
        document.sections["status"] = {"labels": 1}
        await stream.until(has(2))
        del document.sections["mistakes"]
        await stream.until(has(3))
        before = document.asked
        await until(lambda: document.asked > before + 2)  # and nothing has changed
        assert stream.states[1:] == [{"status": {"labels": 1}}, {"mistakes": None}]
        late = await Stream(client.app).until(has(1))
        assert late.states[0]["status"] == {"labels": 1}
        for each in (stream, late):
            await each.leave()
        assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert stream.headers["x-accel-buffering"] == "no"
        assert stream.headers["cache-control"] == "no-store"
        assert stream.headers["cross-origin-resource-policy"] == "same-origin"

    asyncio.run(listening())


def test_a_line_break_does_not_end_a_message(client, document):
    document.sections["classes"] = ["a\n\nevent: state\ndata: {}", "\r\n", "\u2028", "</script>"]

    async def listening():
        stream = await Stream(client.app).until(has(1))
        await stream.leave()
        assert [each["classes"] for each in stream.states] == [document.sections["classes"]]

    asyncio.run(listening())


def test_nobody_is_asked_while_nobody_listens(client, document):
    async def listening():
        service = client.app.state.service
        first = await Stream(client.app).until(has(1))
        await first.leave()
        assert len(service.listeners) == 0
        await until(lambda: service.listeners._producer is None)
        asked = document.asked
        document.sections["status"] = {"labels": 7}
        again = await Stream(client.app).until(has(1))
        assert again.states[0]["status"] == {"labels": 7}
        assert document.asked > asked
        await again.leave()
        await until(lambda: service.listeners._producer is None)

    asyncio.run(listening())
    asyncio.run(listening())  # in another loop


def test_one_asks_for_all(client, document, monkeypatch):
    monkeypatch.setattr(events, "STATE_SECONDS", 3600.0)

    async def listening():
        streams = [Stream(client.app) for _ in range(20)]
        for each in streams:
            await each.until(has(1))
        assert document.asked == 1
        assert document.explained == [1]
        for each in streams:
            await each.leave()
        client.app.state.service.listeners.close()

    asyncio.run(listening())


def test_a_slow_reader_gets_the_newest_state(client, document):
    async def listening():
        slow, quick = Stream(client.app), Stream(client.app)
        await slow.until(has(1))
        await quick.until(has(1))
        slow.reads.clear()
        for labels in range(1, 30):
            document.sections["status"] = {"labels": labels}
            if labels == 3:
                document.sections["events"] = ["drift"]
            await quick.until(lambda each, n=labels: each.states[-1].get("status") == {"labels": n})
        assert len(slow.states) == 1
        slow.reads.set()
        await slow.until(has(2))
        assert slow.states[1:] == [{"status": {"labels": 29}, "events": ["drift"]}]
        for each in (slow, quick):
            await each.leave()

    asyncio.run(listening())


def test_silence_is_broken_by_comments(client, document, monkeypatch):
    monkeypatch.setattr(events, "KEEP_ALIVE_SECONDS", 0.002)

    async def listening():
        stream = await Stream(client.app).until(has(1))
        await stream.until(lambda each: each.text.endswith("\n\n: \n\n: \n\n"))
        await stream.leave()

    asyncio.run(listening())


def test_too_many_listeners(client_with, document):
    client = client_with(max_listeners=2)

    async def listening():
        streams = [await Stream(client.app).until(has(1)) for _ in range(2)]
        refused = await client.call("GET", "/events", [b""], {})
        assert (refused.status, refused.code, refused.headers["retry-after"]) == (503, "busy", "10")
        await streams[0].leave()
        another = await Stream(client.app).until(has(1))
        for each in (streams[1], another):
            await each.leave()

    asyncio.run(listening())


def test_listeners_are_no_requests_that_wait(client_with, document):
    client = client_with(max_waiting=1)

    async def listening():
        streams = [await Stream(client.app).until(has(1)) for _ in range(3)]
        assert client.app.state.service.waiting == 0
        assert (await client.call("GET", "/model", [b""], {})).status == 200
        page = (await client.call("GET", "/metrics", [b""], {})).body.decode()
        assert 'ocboost_requests_total{method="GET",path="/events",status="200"} 3.0' in page
        assert 'ocboost_request_seconds_bucket{le="1.0",path="/events"} 3.0' in page
        for each in streams:
            await each.leave()
        assert client.app.state.service.waiting == 0

    asyncio.run(listening())


def test_the_token_is_needed(client_with, document):
    client = client_with(TOKEN)
    for path in ("/events", "/watch"):
        assert Client(client.app).get(path).status == 401
    assert client.get("/watch").json["status"] == {"labels": 0}

    async def listening():
        stream = await Stream(client.app, TOKEN).until(has(1))
        await stream.leave()
        head = Stream(client.app, TOKEN, "HEAD")
        await asyncio.wait_for(head.task, SECONDS)
        assert (head.status, head.text) == (200, "")

    asyncio.run(listening())


def test_the_document_at_once(client, document):
    reply = client.get("/watch")
    assert reply.json == {**document.sections, "title": "model"}
    assert reply.headers["cache-control"] == "no-store"
    assert document.explained == [1]
    document.sections["status"] = {"labels": 5}
    assert client.get("/watch").json["status"] == {"labels": 5}


def test_mistakes_are_explained_once_a_second(client, document, monkeypatch):
    monkeypatch.setattr(events, "STATE_SECONDS", 3600.0)
    for _ in range(3):
        assert client.get("/watch").status == 200
    assert document.explained == [1]


def test_an_error_is_logged_once_and_listeners_stay(client, adapter, document, monkeypatch, capsys):
    def fails(most):
        raise RuntimeError("a secret of a row")

    async def listening():
        stream = await Stream(client.app).until(has(1))
        document.error = RuntimeError("a secret of a row")
        before = document.asked
        await until(lambda: document.asked > before + 3)
        document.error = None
        monkeypatch.setattr(adapter, "explain_mistakes", fails)
        document.sections["status"] = {"labels": 2}
        await stream.until(has(2))
        await stream.leave()

    asyncio.run(listening())
    logged = capsys.readouterr().err
    names = [json.loads(line)["event"] for line in logged.splitlines()]
    assert names == ["watch_failed", "explain_failed"]
    assert "secret" not in logged


# With a real socket ---------------------------------------------------------------------------------------


def until_message(connection, data=b""):
    while b"event: state" not in data:
        part = connection.recv(65536)
        assert part
        data += part
    return data


@pytest.fixture
def patient(monkeypatch):
    monkeypatch.setattr(run, "SHUTDOWN_SECONDS", 3600)  # what is under way would be waited for


def wait_until(holds):
    for _ in range(3000):
        if holds():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not come true")


def is_quiet(server):
    return not (server.server_state.connections or server.server_state.tasks)


@pytest.mark.usefixtures("patient")
def test_the_end_of_the_service_ends_streams(adapter, document):
    with serving(adapter) as (server, connect):
        connection = connect()
        connection.sendall(LISTEN)
        assert until_message(connection).startswith(b"HTTP/1.1 200 ")
        server.should_exit = True
        assert all_of(connection).endswith(b"0\r\n\r\n")
        wait_until(lambda: is_quiet(server))


@pytest.mark.usefixtures("patient")
def test_the_end_does_not_wait_for_a_client_that_reads_nothing(adapter, document):
    document.sections["series"] = "x" * 20_000_000
    with serving(adapter) as (server, connect):
        connection = connect()
        connection.sendall(LISTEN)
        until_message(connection)
        server.should_exit = True
        wait_until(lambda: is_quiet(server))
        assert not all_of(connection).endswith(b"0\r\n\r\n")


def test_a_client_that_leaves_is_forgotten(adapter, document):
    with serving(adapter) as (server, connect):
        connection, other = connect(), connect()
        connection.sendall(LISTEN)
        until_message(connection)
        assert len(server._service.listeners) == 1
        connection.close()
        wait_until(lambda: len(server._service.listeners) == 0)
        other.sendall(GET)
        assert one_of(other)[0] == 200
