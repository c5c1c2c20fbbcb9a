"""Requests that are too large, too slow or too many, and errors of the disk."""

from __future__ import annotations

import asyncio
import json
import threading
from types import SimpleNamespace

import pytest

from ocboost.errors import ClosedError, StorageError, StorageFullError
from ocboost.serve import security
from ocboost.serve.service import INLINE_SECONDS
from tests.support.asgi_client import JSON, ROW

HEADERS = {"content-type": JSON}
BODY = json.dumps({"rows": [ROW]}).encode()


def test_content_types(client):
    for good in ("application/json", "Application/JSON; charset=utf-8", "application/json "):
        assert client.request("POST", "/predict", BODY, {"content-type": good}).status == 200
    for wrong in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""):
        reply = client.request("POST", "/predict", BODY, {"content-type": wrong})
        assert (reply.status, reply.code) == (415, "wrong_type")
    assert client.request("POST", "/predict", BODY).status == 415
    zipped = client.request("POST", "/predict", BODY, {**HEADERS, "content-encoding": "gzip"})
    assert (zipped.status, zipped.code) == (415, "wrong_encoding")


def in_pieces(client, pieces, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return asyncio.run(client.call("POST", "/predict", pieces, {**HEADERS, **named}))


def test_a_body_in_pieces(client):
    assert in_pieces(client, [BODY[:5], b"", BODY[5:]]).status == 200


def test_a_body_that_is_too_large(client_with, adapter):
    client = client_with(max_body=len(BODY))
    assert in_pieces(client, [BODY]).status == 200
    for pieces, headers in (
        ([BODY + b" "], {}),
        ([BODY, b" "], {}),  # chunked: no length is given
        ([BODY] * 100, {}),
        ([BODY + b" "], {"content_length": str(len(BODY) + 1)}),
        ([b"never read"], {"content_length": "9" * 40, "expect": "100-continue"}),
    ):
        reply = in_pieces(client, pieces, **headers)
        assert (reply.status, reply.code, reply.headers["connection"]) == (413, "too_large", "close")
    assert adapter.facts()["pending"] == 1


def test_the_rest_of_a_large_body_is_not_read_for_ever(client_with):
    client = client_with(max_body=10)
    reply = in_pieces(client, [b"x" * 10] * 5 + [...])  # the fifth is too much; the rest is not waited for
    assert reply.status == 413


def test_a_client_that_stalls(client_with):
    reply = in_pieces(client_with(body_seconds=0.01), [BODY[:5], ...])
    assert (reply.status, reply.code, reply.headers["connection"]) == (408, "too_slow", "close")


def test_a_client_that_leaves(client, adapter):
    assert in_pieces(client, [BODY[:5], None]).status == 0
    assert adapter.facts()["pending"] == 0
    assert 'path="/predict",status="499"} 1.0' in client.get("/metrics").body.decode()


def test_too_many_rows(client_with):
    client = client_with(max_rows=2)
    assert client.post("/predict", {"rows": [ROW] * 2}).status == 200
    reply = client.post("/predict", {"rows": [ROW] * 3})
    assert (reply.status, reply.code) == (413, "too_many_rows")
    labels = [{"id": "x", "label": "no"}] * 3
    assert client.post("/label", {"labels": labels}).status == 413


def test_too_many_requests_at_a_time(client_with, adapter, monkeypatch):
    client = client_with(max_waiting=2)
    entered, release = threading.Semaphore(0), threading.Event()
    facts = adapter.facts

    def slow():
        entered.release()
        assert release.wait(30)
        return facts()

    monkeypatch.setattr(adapter, "facts", slow)

    async def crowd():
        waiting = [asyncio.create_task(client.call("GET", "/model", [b""], {})) for _ in range(2)]
        for _ in range(2):
            await asyncio.to_thread(entered.acquire, timeout=30)
        refused = await client.call("GET", "/model", [b""], {})
        health = await client.call("GET", "/health", [b""], {})
        release.set()
        return refused, health, await asyncio.gather(*waiting)

    refused, health, answered = asyncio.run(crowd())
    assert (refused.status, refused.code, refused.headers["retry-after"]) == (503, "busy", "1")
    assert health.status == 200
    assert [reply.status for reply in answered] == [200, 200]
    assert client.get("/model").status == 200


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (StorageFullError("the disk is full"), 507, "storage_full"),
        (StorageError("/secret/place cannot be written"), 503, "storage_failed"),
        (ClosedError("closed"), 503, "closed"),
    ],
)
def test_errors_of_the_disk(client, adapter, monkeypatch, capsys, error, status, code):
    def fails(*args, **more):
        raise error

    for name in ("predict_soon", "label_soon", "promote"):
        monkeypatch.setattr(adapter, name, fails)
    for reply in (
        client.post("/predict", {"rows": [ROW]}),
        client.post("/label", {"labels": [{"id": "x", "label": "no"}]}),
        client.request("POST", "/promote"),
    ):
        assert (reply.status, reply.code, reply.headers["retry-after"]) == (status, code, "1")
        assert "secret" not in reply.body.decode()
    assert [json.loads(line)["status"] for line in capsys.readouterr().err.splitlines()] == [status] * 3


def test_the_log_is_not_flooded(client, capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(security, "time", SimpleNamespace(monotonic=lambda: now[0]))
    client.app.state.service.stopping = True
    for _ in range(50):
        assert client.get("/health").status == 503
    assert len(capsys.readouterr().err.splitlines()) == 20  # a burst
    now[0] = 1.0
    client.get("/health")
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["unlogged"] == 30


def test_an_error_in_the_future_is_one_too(client, adapter, monkeypatch):
    from concurrent.futures import Future

    def fails(*args, **more):
        future = Future()
        threading.Timer(0.01, future.set_exception, [StorageFullError("full")]).start()
        return future

    monkeypatch.setattr(adapter, "predict_soon", fails)
    assert client.post("/predict", {"rows": [ROW]}).status == 507


def test_an_unexpected_error_has_a_reference(client, adapter, monkeypatch, capsys):
    def fails(*args, **more):
        raise RuntimeError("row 12.3456 of a client")

    monkeypatch.setattr(adapter, "predict_soon", fails)
    reply = client.post("/predict", {"rows": [ROW]})
    assert (reply.status, reply.code) == (500, "unexpected")
    logged = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [entry["event"] for entry in logged] == ["unexpected_error", "request"]
    assert logged[0]["reference"] in reply.json["error"]["message"]
    assert logged[0]["error"] == "RuntimeError"
    assert "test_limits.py" in logged[0]["where"]
    assert "12.3456" not in json.dumps(logged)
    assert "RuntimeError" not in reply.body.decode()
    assert client.get("/health").status == 200


def test_long_work_is_done_in_a_thread(client, adapter, monkeypatch):
    where = []
    predict = adapter.predict_soon

    def noted(*args, **more):
        where.append(threading.current_thread() is threading.main_thread())
        return predict(*args, **more)

    monkeypatch.setattr(adapter, "predict_soon", noted)
    work = client.app.state.service._row_work
    client.post("/predict", {"rows": [ROW]})
    client.post("/predict", {"rows": [ROW] * 500})
    assert where == [True, False]
    work._seconds[1] = 2 * INLINE_SECONDS
    client.post("/predict", {"rows": [ROW]})
    assert where == [True, False, False]
