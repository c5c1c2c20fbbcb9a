"""The page and its files, without a browser: who gets what, with which headers."""

from __future__ import annotations

import re

import pytest

from ocboost.serve import security
from ocboost.serve.page import page_files
from tests.support.asgi_client import Client

TOKEN = "correct-horse-battery-staple"


def test_the_page_for_browsers_and_paths_for_programs(client):
    for accept in ({}, {"accept": "*/*"}, {"accept": "text/html, application/json;q=0.9"}, {"accept": ""}):
        reply = client.get("/", **accept)
        assert reply.status == 200
        assert reply.headers["content-type"] == "text/html; charset=utf-8"
        assert reply.headers["vary"] == "accept, authorization"
        assert reply.body.lower().startswith(b"<!doctype html>")
    for accept in ("application/json", "Application/JSON;q=0.5, */*", "text/plain,application/json"):
        reply = client.get("/", accept=accept)
        assert reply.headers["content-type"] == "application/json"
        assert reply.headers["vary"] == "accept, authorization"
        assert "GET /events" in reply.json["paths"]


def test_every_file_that_the_page_names_is_there(client):
    found = re.findall(r'(?:src|href)="(page/[^"]+)"', client.get("/").body.decode())
    named = {"/" + path for path in found}
    assert named == {path for path in page_files() if path.endswith((".js", ".css"))}
    for path in named:
        reply = client.get(path)
        assert (reply.status, len(reply.body) > 0) == (200, True)
        kind = "text/javascript" if path.endswith(".js") else "text/css"
        assert reply.headers["content-type"] == f"{kind}; charset=utf-8"


def test_headers(client):
    for path in page_files():
        headers = client.get(path).headers
        policy = dict(part.split(maxsplit=1) for part in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "cross-origin-opener-policy" not in headers  # browsers complain about it over plain HTTP
        assert headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", sorted(page_files()))
def test_files_that_did_not_change_are_not_sent_again(client, path):
    first = client.get(path)
    for known in (first.headers["etag"], "W/" + first.headers["etag"], f'"x", {first.headers["etag"]}'):
        again = client.get(path, if_none_match=known)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", first.headers["etag"])
        assert "content-security-policy" in again.headers
    assert client.get(path, if_none_match='"other"').status == 200


def test_other_files_are_not_there(client):
    for path in ("/page/", "/page/nothing.js", "/page/../page.py", "/page/%2e%2e/page.py", "/page/a/b"):
        assert (client.get(path).status, client.get(path).code) == (404, "unknown_path")
    assert client.request("POST", "/page/page.js").status == 405


def test_the_page_needs_no_token_but_its_own_host(client_with):
    stranger = Client(client_with(TOKEN).app)
    assert {stranger.get(path).status for path in page_files()} == {200}
    local = client_with(hosts=security.LOOPBACK_NAMES)
    assert {local.get(path, host="evil.example").status for path in page_files()} == {403}


def test_the_page_says_whether_a_token_is_wanted(client, client_with):
    wanted = b'<body data-token="wanted">'
    with_token, without = Client(client_with(TOKEN).app).get("/"), client.get("/")
    assert wanted in with_token.body
    assert wanted not in without.body
    assert wanted not in client_with(TOKEN).get("/").body  # as behind a proxy that adds it
    assert without.headers["etag"] != with_token.headers["etag"]
