"""The page's files: those in ``static``, and what it shares with the page of a model in service."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import PurePosixPath

from ocboost._watch.page import FOLDER, INDEX, MEDIA_TYPES
from ocboost._watch.page import static_files as shared_files
from ocboost.serve.page import PAGE_HEADERS, PageFile

SHARED = ("dom.js", "page.css")
POLICY_NAME = b"content-security-policy"
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    b"img-src 'self' data: blob:; media-src 'self' blob:; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = [
    *(each for each in PAGE_HEADERS if each[0] != POLICY_NAME),
    (POLICY_NAME, POLICY),
    (b"permissions-policy", b"camera=(self), microphone=(), geolocation=()"),
]


@cache
def page_files() -> dict[str, PageFile]:
    """The files by their paths; the page itself is ``/``. None of them holds any data."""
    folder = resources.files(__package__) / "static"
    contents = {
        "/" if entry.name == INDEX else f"/{FOLDER}{entry.name}": (
            entry.read_bytes(),
            MEDIA_TYPES[PurePosixPath(entry.name).suffix],
        )
        for entry in folder.iterdir()
        if PurePosixPath(entry.name).suffix in MEDIA_TYPES
    }
    shared = shared_files()
    contents |= {f"/{FOLDER}{name}": shared[f"/{FOLDER}{name}"] for name in SHARED}
    found = {}
    for path, (content, media) in contents.items():
        etag = b'"' + sha256(content).hexdigest()[:32].encode() + b'"'
        found[path] = PageFile(content, etag, [(b"content-type", media.encode()), (b"etag", etag), *HEADERS])
    return found
