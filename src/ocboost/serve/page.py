"""The page and its files, as the service gives them: without any data, so without a token."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import NamedTuple

from ocboost._watch.page import static_files
from ocboost.serve.bodies import Scope, header
from ocboost.serve.failures import Headers

PAGE_FOLDER = "/page/"
BODY, TOKEN_WANTED = b"<body>", b'<body data-token="wanted">'
CONTENT_SECURITY_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PRIVATE_HEADERS: Headers = [  # of what only the page reads
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
]
PAGE_HEADERS: Headers = [  # no Cross-Origin-Opener-Policy: over plain HTTP it is an error on the console
    (b"cache-control", b"no-cache"),
    (b"content-security-policy", CONTENT_SECURITY_POLICY),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]


class PageFile(NamedTuple):
    """A file of the page, and the headers it is sent with."""

    content: bytes
    etag: bytes
    headers: Headers


@cache
def page_files(wants_token: bool = False) -> dict[str, PageFile]:
    """The files by their paths; the page itself is ``/``.

    A service with a token says so in the page that it gives to a client without one, which then asks for it
    before it sends anything: a browser writes each request that was refused on its console.
    """
    found = {}
    for path, (content, media) in static_files().items():
        if wants_token and path == "/":
            content = content.replace(BODY, TOKEN_WANTED, 1)
        etag = b'"' + sha256(content).hexdigest()[:32].encode() + b'"'
        headers = [(b"content-type", media.encode()), (b"etag", etag), *PAGE_HEADERS]
        found[path] = PageFile(content, etag, headers)
    return found


def is_known(scope: Scope, etag: bytes) -> bool:
    """Whether the client has what it asks for already, by its If-None-Match."""
    given = header(scope, b"if-none-match") or b""
    return bool({each.strip().removeprefix(b"W/") for each in given.split(b",")} & {etag, b"*"})


def wants_json(scope: Scope) -> bool:
    """Whether a client asks for JSON and could not show a page."""
    accept = b",".join(value for name, value in scope["headers"] if name == b"accept").lower()
    kinds = {each.partition(b";")[0].strip() for each in accept.split(b",")}
    return b"application/json" in kinds and b"text/html" not in kinds
