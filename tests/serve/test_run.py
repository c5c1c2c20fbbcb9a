"""The service with a real socket: what HTTP itself must not be able to do, and the end in order."""

from __future__ import annotations

import json
import select
import socket
import threading
from contextlib import contextmanager

import pytest

from ocboost.errors import InputError
from ocboost.serve import protocol, run
from ocboost.serve.service import ServeSettings, Service, app_for
from tests.support.asgi_client import ROW

BODY = json.dumps({"rows": [ROW]}).encode()
GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
HEAD = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@contextmanager
def serving(adapter, **settings):
    """A running server, and a function that connects to it."""
    service = Service(adapter, ServeSettings(**settings))
    ready = threading.Event()
    server = run.server_for(service, app_for(service), ready.set)
    with run.bind("127.0.0.1", 0) as bound:
        address = bound.getsockname()
        thread = threading.Thread(target=server.run, args=([bound],))
        thread.start()
        opened = []

        def connect():
            opened.append(socket.create_connection(address, timeout=30))
            return opened[-1]

        try:
            assert ready.wait(30)
            yield server, connect
        finally:
            for each in opened:
                each.close()
            server.should_exit = True
            thread.join(30)
            service.close()
    assert not thread.is_alive()


def all_of(connection):
    """Everything until the server closes the connection."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def some_of(connection):
    part = connection.recv(65536)
    assert part
    return part


def one_of(connection):
    """One answer: its status and body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += some_of(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += some_of(connection)
    return int(head.split()[1]), body


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(protocol, "HEADER_SECONDS", 0.05)
    monkeypatch.setattr(run, "TICKS_PER_SECOND", 1)  # looks at its connections at every tick


def test_requests_one_after_the_other(adapter):
    with serving(adapter) as (_, connect):
        connection = connect()
        for _ in range(3):
            connection.sendall(GET)
            assert one_of(connection)[0] == 200
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        for piece in (BODY[:7], BODY[7:]):
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        connection.sendall(b"0\r\n\r\n")
        status, body = one_of(connection)
        assert (status, len(json.loads(body)["predictions"])) == (200, 1)
        connection.sendall(GET.replace(b"Host", b"Connection: close\r\nHost"))
        assert all_of(connection).startswith(b"HTTP/1.1 200 ")


def test_what_is_not_http(adapter):
    with serving(adapter) as (server, connect):
        for data in (b"\x16\x03\x01\x02\x00\r\n\r\n", b"GET \xff HTTP/1.1\r\n\r\n", b"hello\r\n\r\n"):
            connection = connect()
            connection.sendall(data)
            answer = all_of(connection)
            assert answer.startswith(b"HTTP/1.1 400 ")
            assert b'"bad_http"' in answer
        assert server._service.metrics.invalid._value.get() == 3


def test_a_body_larger_than_it_may_be(adapter):
    with serving(adapter, max_body=1000) as (_, connect):
        for head in (b"Content-Length: 3000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\nbb8\r\n"):
            connection = connect()
            connection.sendall(HEAD + head + b"x" * 3000 + b"\r\n0\r\n\r\n")
            assert one_of(connection)[0] == 413


def test_headers_that_never_end(adapter, monkeypatch):
    monkeypatch.setattr(protocol, "MAX_HEADER_BYTES", 1000)
    with serving(adapter) as (_, connect):
        for data in (b"GET / HTTP/1.1\r\nX: " + b"x" * 2000, b"GET /" + b"x" * 2000):
            connection = connect()
            connection.sendall(data)
            assert b"HTTP/1.1 431 " in all_of(connection)


def test_trailers_that_never_end(adapter, monkeypatch):
    """They come after the answer: the connection ends."""
    monkeypatch.setattr(protocol, "MAX_HEADER_BYTES", 1000)
    with serving(adapter, token=b"some-token-that-is-long", max_body=1000) as (_, connect):
        connection = connect()
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: ")
        assert one_of(connection)[0] == 401
        connection.sendall(b"x" * 10_000)
        assert all_of(connection) == b""


def test_a_client_that_sends_nothing(adapter, impatient):
    with serving(adapter) as (_, connect):
        for data in (b"", b"GET / HT", GET + b"GET"):
            connection = connect()
            connection.sendall(data)
            assert all_of(connection).rpartition(b"HTTP/1.1 ")[2].startswith(b"408 ")


def test_a_client_that_stops_amid_a_body(adapter, impatient):
    with serving(adapter, body_seconds=0.05) as (_, connect):
        connection = connect()
        connection.sendall(HEAD + b"Content-Length: 10\r\n\r\n{")
        assert all_of(connection).startswith(b"HTTP/1.1 408 ")


def test_a_client_that_does_not_read(adapter, impatient, monkeypatch):
    n = 50_000_000
    monkeypatch.setattr(adapter, "model_file", lambda version: bytes(n))
    with serving(adapter, body_seconds=0.05) as (server, connect):
        connection = connect()
        connection.sendall(b"GET /model/file HTTP/1.1\r\nHost: localhost\r\n\r\n")
        connection.recv(100)
        while server.server_state.connections:
            threading.Event().wait(0.01)
        assert len(all_of(connection)) < n


def test_too_many_connections(adapter, monkeypatch):
    monkeypatch.setattr(protocol, "MAX_CONNECTIONS", 2)
    with serving(adapter) as (_, connect):
        first, second = connect(), connect()
        for each in (first, second):
            each.sendall(GET)
            assert one_of(each)[0] == 200
        assert all_of(connect()).startswith(b"HTTP/1.1 503 ")
        first.sendall(GET)
        assert one_of(first)[0] == 200


def test_what_is_under_way_is_finished(adapter, monkeypatch):
    entered, release, facts = threading.Event(), threading.Event(), adapter.facts

    def slow():
        entered.set()
        assert release.wait(30)
        return facts()

    with serving(adapter) as (server, connect):
        idle, busy = connect(), connect()
        idle.sendall(GET)
        assert one_of(idle)[0] == 200
        monkeypatch.setattr(adapter, "facts", slow)
        busy.sendall(GET.replace(b"health", b"model"))
        assert entered.wait(30)
        server.handle_exit(15, None)
        assert server._service.stopping
        server._captured_signals.clear()  # which it would raise again
        assert all_of(idle) == b""
        release.set()
        assert one_of(busy)[0] == 200
        assert all_of(busy) == b""


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the system has no such limit")
def test_a_client_that_is_gone_or_reads_nothing_is_given_up(monkeypatch):
    """Also while what is sent fits into the buffers of the system, as the events of a quiet service do."""
    monkeypatch.setattr(run, "UNREAD_MILLISECONDS", 300)
    with run.bind("127.0.0.1", 0) as bound, socket.socket() as client:
        bound.listen()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(bound.getsockname())
        connection, _ = bound.accept()
        with connection:
            connection.send(bytes(100_000))
            assert select.select([connection], [], [], 20.0)[0]  # it has failed
            with pytest.raises(OSError, match="timed out"):
                connection.recv(1)


def test_addresses():
    with run.bind("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        assert run.url_of(bound) == f"http://127.0.0.1:{port}"
        bound.listen()
        with pytest.raises(InputError, match=f"port {port} of '127.0.0.1' is in use. Give another --port"):
            run.bind("127.0.0.1", port)
    with pytest.raises(InputError, match="must be an address of this machine"):
        run.bind("192.0.2.1", 0)
    with pytest.raises(InputError, match="cannot be found"):
        run.bind("no such host", 0)
