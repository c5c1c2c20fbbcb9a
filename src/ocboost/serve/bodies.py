"""Reading the body of a request: of a size and a type that are allowed, and in time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from ocboost.serve.failures import ClientGoneError, HttpError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

JSON_TYPES = (b"application/json",)
DRAINED_BODIES = 4  # a body may be so many times too large and is still read, so that its sender sees the 413


def header(scope: Scope, name: bytes) -> bytes | None:
    """A header of a request by its name in small letters; the first of several."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return None


async def read_body(
    scope: Scope,
    receive: Receive,
    *,
    max_bytes: int,
    seconds: float,
    types: tuple[bytes, ...] | None = JSON_TYPES,
) -> bytes:
    """The whole body of a request.

    A wrong content type, a body that is too large (counted while it comes, whatever its length is said to
    be) and one that does not come in time are an `HttpError`. ``types`` None takes any type.
    """
    length, content_type, encoding, expects = None, b"", b"identity", False
    for name, value in scope["headers"]:
        if name == b"content-length":
            length = value
        elif name == b"content-type":
            content_type = value
        elif name == b"content-encoding":
            encoding = value
        elif name == b"expect":
            expects = True
    if types is not None and content_type.partition(b";")[0].strip().lower() not in types:
        raise HttpError(
            415,
            "wrong_type",
            f"Content-Type must be {types[0].decode()}; got {content_type[:100].decode('latin-1')!r}.",
        )
    if encoding.lower() not in (b"identity", b""):
        raise HttpError(
            415, "wrong_encoding", "Compressed bodies are not read. Send it without Content-Encoding."
        )
    too_long = length is not None and (not length.isdigit() or len(length) > 18 or int(length) > max_bytes)
    if too_long and expects:
        raise _too_large(max_bytes)  # before the client sends it
    parts: list[bytes] = []
    taken = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGoneError
                piece = message.get("body", b"")
                taken += len(piece)
                if taken <= max_bytes:
                    parts.append(piece)
                else:
                    parts.clear()
                    if taken > DRAINED_BODIES * max_bytes:
                        raise _too_large(max_bytes)
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        raise HttpError(
            408, "too_slow", f"The body did not come within {seconds:g} seconds.", {"Connection": "close"}
        ) from None
    if taken > max_bytes:
        raise _too_large(max_bytes)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(max_bytes: int) -> HttpError:
    return HttpError(
        413,
        "too_large",
        f"The body must have at most {max_bytes:,} bytes. Send fewer rows in a request, or start the service "
        "with a larger --max-body.",
        {"Connection": "close"},
    )
