"""Who may ask, and how often."""

from __future__ import annotations

import json

import pytest

from ocboost.errors import InputError
from ocboost.serve import security
from ocboost.serve.gate import OPEN_PATHS, is_open
from ocboost.serve.security import TokenBuckets, host_name, is_authorized, is_loopback, read_token
from tests.support.asgi_client import JSON, ROW, Client

TOKEN = "correct-horse-battery-staple"


@pytest.fixture
def token_file(tmp_path):
    def write(content, mode=0o600):
        path = tmp_path / "token.txt"
        path.write_bytes(content)
        path.chmod(mode)
        return path

    return write


def test_token_from_a_file_or_the_environment(token_file):
    path = token_file(TOKEN.encode() + b"\n")
    assert read_token(path, {}) == (TOKEN.encode(), [])
    assert read_token(None, {"OCBOOST_TOKEN": TOKEN}) == (TOKEN.encode(), [])
    assert read_token(path, {"OCBOOST_TOKEN": f" {TOKEN} "}) == (TOKEN.encode(), [])
    assert read_token(None, {}) == (None, [])
    with pytest.raises(InputError, match="hold different tokens") as caught:
        read_token(path, {"OCBOOST_TOKEN": "something-else-entirely"})
    assert TOKEN not in str(caught.value)


def test_what_is_no_token(token_file):
    for content in (b"", b" \n", b"two words", b"\xff\xfe", b"x" * 5000, "schlüssel".encode()):
        with pytest.raises(InputError, match="token"):
            read_token(token_file(content), {})
    for value in ("", "  ", "a b", "\udcff"):
        with pytest.raises(InputError, match="OCBOOST_TOKEN"):
            read_token(None, {"OCBOOST_TOKEN": value})
    with pytest.raises(FileNotFoundError):
        read_token(token_file(b"x").with_name("nowhere"), {})


def test_tokens_worth_a_warning(token_file):
    (note,) = read_token(token_file(TOKEN.encode(), 0o644), {})[1]
    assert "other users can read" in note
    assert TOKEN not in note
    (note,) = read_token(None, {"OCBOOST_TOKEN": "short"})[1]
    assert "can be guessed" in note


def test_authorization():
    token = TOKEN.encode()
    for header in (b"Bearer " + token, b"bearer " + token, b"BEARER  " + token):
        assert is_authorized(header, token)
    for header in (None, b"", token, b"Basic " + token, b"Bearer", b"Bearer " + token[:-1], b"Bearer \xff"):
        assert not is_authorized(header, token)


def test_every_path_but_health_needs_the_token(client_with):
    good = client_with(TOKEN)
    stranger = Client(good.app)
    paths = [each.split() for each in good.get("/", accept=JSON).json["paths"]]
    for verb, path in paths:
        if path == "/events":  # which does not end
            verb = "HEAD"
        reply = stranger.request(verb, path)
        if is_open(path):
            assert reply.status == (404 if path == "/page/{name}" else 200)
            continue
        assert (reply.status, reply.code, reply.headers["www-authenticate"]) == (
            401,
            "unauthorized",
            "Bearer",
        )
        assert stranger.request(verb, path, headers={"authorization": f"Bearer {TOKEN}x"}).status == 401
        assert good.request(verb, path, b"{}", {"content-type": "application/json"}).status in (200, 422)
    assert stranger.get("/nothing").status == 401
    assert stranger.get("/v2/models/x").json["error"].startswith("The token is missing")
    assert {path for _, path in paths} & OPEN_PATHS == {"/", "/health"}


def test_a_stranger_reaches_neither_the_body_nor_the_model(client_with, adapter):
    stranger = Client(client_with(TOKEN, max_body=10).app)
    assert stranger.post("/predict", {"rows": [ROW]}).status == 401
    assert adapter.facts()["pending"] == 0


def test_only_names_of_this_machine(client_with):
    client = client_with(hosts=security.LOOPBACK_NAMES | {b"proxy.example"})
    for host in ("localhost", "LOCALHOST:80", "127.0.0.1:8080", "[::1]:8080", "proxy.example"):
        assert client.get("/health", host=host).status == 200
    for host in (
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:8080",
        "",
        "[::1",
        "[::2]",
    ):
        reply = client.get("/model", host=host)
        assert (reply.status, reply.code) == (403, "wrong_host")


def test_pages_of_other_sites_cannot_post(client):
    for origin in ("https://evil.example", "null", "http://localhost:9999", "http://localhost:8080.evil"):
        reply = client.request("POST", "/promote", headers={"origin": origin})
        assert (reply.status, reply.code) == (403, "wrong_origin")
        assert client.get("/health", origin=origin).status == 200
    assert client.request("POST", "/promote", headers={"origin": "http://localhost:8080"}).status == 200
    assert not any("access-control" in name for name in client.get("/model").headers)


def test_host_names():
    assert host_name(None) == b""
    assert host_name(b"[::1]") == b"[::1]"
    assert host_name(b" Example.COM:1 ") == b"example.com"


def test_loopback():
    assert is_loopback("127.0.0.1")
    assert is_loopback("127.8.8.8")
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("::")
    with pytest.raises(InputError, match="cannot be found"):
        is_loopback("no such host")


def test_buckets_refill():
    buckets = TokenBuckets(rate=2.0)  # a burst of 4
    assert [buckets.seconds_to_wait("a", 0.0) for _ in range(5)] == [0, 0, 0, 0, 0.5]
    assert buckets.seconds_to_wait("b", 0.0) == 0
    assert buckets.seconds_to_wait("a", 0.25) == 0.25
    assert buckets.seconds_to_wait("a", 0.5) == 0
    assert buckets.seconds_to_wait("a", 0.5) == 0.5
    assert [buckets.seconds_to_wait("a", 1000.0) for _ in range(5)] == [0, 0, 0, 0, 0.5]


def test_a_slow_rate_lets_one_request_through():
    buckets = TokenBuckets(rate=0.1)
    assert buckets.seconds_to_wait("a", 0.0) == 0
    assert buckets.seconds_to_wait("a", 0.0) == 10


def test_buckets_forget_clients(monkeypatch):
    monkeypatch.setattr(security, "MAX_CLIENTS", 3)
    buckets = TokenBuckets(rate=0.5)
    for client in "abcd":
        assert buckets.seconds_to_wait(client, 0.0) == 0
    assert len(buckets._clients) == 3
    assert buckets.seconds_to_wait("d", 0.0) > 0
    assert buckets.seconds_to_wait("a", 0.0) == 0


def test_too_many_requests(client_with):
    client = client_with(rate=1e-6)
    assert client.get("/model").status == 200
    reply = client.get("/model")
    assert (reply.status, reply.code) == (429, "too_many_requests")
    assert int(reply.headers["retry-after"]) > 1
    assert client.get("/health").status == 200


def test_nothing_of_a_client_in_the_log(client_with, capsys):
    client = client_with(TOKEN, log_requests=True)
    client.post("/predict", {"rows": [{**ROW, "a": 12.3456}]})
    Client(client.app).get("/\x1b[31m\x7f", authorization="Bearer guessed-wrong")
    lines = capsys.readouterr().err.splitlines()
    assert [json.loads(line)["status"] for line in lines] == [200, 401]
    assert json.loads(lines[1])["path"] == "/\x1b[31m\x7f"
    text = "".join(lines)
    assert text.isprintable()
    for secret in (TOKEN, "guessed-wrong", "12.3456"):
        assert secret not in text
