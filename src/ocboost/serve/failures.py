"""Errors as HTTP answers: a status, a code for programs and a message for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ocboost.errors import ClosedError, InputError, StorageError, StorageFullError, UnknownVersionError

Headers = list[tuple[bytes, bytes]]

JSON_TYPE = (b"content-type", b"application/json")
RETRY_SECONDS = 1  # what Retry-After says where nothing better is known

# What refuses a label, as a status where every label of a request was refused.
REJECTED_STATUS = {"unknown_id": 404, "expired": 410, "conflict": 409, "unknown_class": 422, "bad_row": 422}


class HttpError(Exception):
    """A request that is answered with an error."""

    def __init__(
        self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = dict(headers or {})


class ClientGoneError(Exception):
    """The client has closed the connection: there is nobody to answer."""


def http_error(error: BaseException) -> HttpError | None:
    """What an error of the adapter means to a client; None for one that should not have happened."""
    if isinstance(error, HttpError):
        return error
    retry = {"Retry-After": str(RETRY_SECONDS)}
    if isinstance(error, StorageFullError):
        return HttpError(507, "storage_full", str(error), retry)
    if isinstance(error, StorageError):
        return HttpError(
            503, "storage_failed", "The state cannot be written. Nothing was taken; send it again.", retry
        )
    if isinstance(error, ClosedError):
        return HttpError(503, "closed", "The service is shutting down. Nothing was taken.", retry)
    if isinstance(error, UnknownVersionError):
        return HttpError(404, "unknown_version", str(error))
    if isinstance(error, InputError):
        return HttpError(422, "bad_input", str(error))
    return None


def error_body(path: str, code: str, message: str) -> bytes:
    """The body of an error: with a code, but under /v2 a text alone, as its protocol wants."""
    message = message.encode(errors="backslashreplace").decode()  # names of files need not be UTF-8
    content: dict[str, Any] = (
        {"error": message}
        if path == "/v2" or path.startswith("/v2/")
        else {"error": {"code": code, "message": message}}
    )
    return msgspec.json.encode(content)
