"""One HTTP request: a POST that ends in time, follows no redirect and uses no proxy."""

from __future__ import annotations

import base64
import http.client
import io
import ipaddress
import socket
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import unquote_to_bytes, urlsplit

from ocboost.errors import InputError

MAX_URL_LENGTH = 2_000
MAX_REPLY_BYTES = 1 << 14  # of the body, which is read and ignored
PORTS = {"http": 80, "https": 443}


class DeliveryError(Exception):
    """A request that got no answer; its text says why, and holds nothing of the URL."""


@dataclass(frozen=True)
class PostUrl:
    """A URL to send to, taken apart. Only ``shown`` may be logged: the rest may hold passwords."""

    text: str = field(repr=False)
    scheme: str
    host: str
    port: int
    target: str = field(repr=False)  # the path with its query
    authorization: str | None = field(repr=False)

    @property
    def shown(self) -> str:
        """The scheme, host and port. A path is left out, as many services have their secret in it."""
        return f"{self.scheme}://{self.host_header}"

    @property
    def host_header(self) -> str:
        """The host as the header has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def is_exposed(self) -> bool:
        """Whether what is sent can be read on its way: no TLS, and not to this machine."""
        if self.scheme == "https" or self.host == "localhost":
            return False
        try:
            return not ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return True


def parse_url(url: str, option: str) -> PostUrl:
    """A URL of ``option``, checked; an error does not show it, as it may hold a password.

    >>> parse_url("https://me:word@alarms.example/in?key=1", "--webhook").shown
    'https://alarms.example'
    """
    if not url or len(url) > MAX_URL_LENGTH or not all("!" <= c <= "~" for c in url):
        raise InputError(
            f"{option} must be a URL of at most {MAX_URL_LENGTH} letters, digits and signs of ASCII, without "
            "spaces. Write other characters as %XX, and names of hosts in their xn-- form."
        )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        (host or "").encode("idna")  # as it is looked up: refuses names with empty or long parts
    except ValueError:
        raise InputError(_bad_host(option)) from None
    if parts.scheme not in PORTS:
        raise InputError(f"{option} must begin with https:// or http://; got a URL that does not.")
    if not host or port == 0 or any(c in host for c in '%"<>\\^`{|}'):
        raise InputError(_bad_host(option))
    authorization = None
    if "@" in parts.netloc:
        user = unquote_to_bytes(parts.netloc.rpartition("@")[0])
        authorization = "Basic " + base64.b64encode(user).decode()
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return PostUrl(url, parts.scheme, host, port or PORTS[parts.scheme], target, authorization)


def _bad_host(option: str) -> str:
    return f"{option} must be a URL like https://alarms.example/in; its host or port is not valid."


def post(
    url: PostUrl, body: bytes, headers: dict[str, str], seconds: float, tls: ssl.SSLContext | None = None
) -> tuple[int, str | None]:
    """Send one request; returns the status and the Retry-After header.

    It takes ``seconds`` at most, apart from looking the host up: also with a receiver that answers byte by
    byte. ``tls`` is what certificates are checked with, by default those that the system trusts.
    """
    deadline = time.monotonic() + seconds
    try:
        with _connected(url, deadline, tls) as connection:
            connection.settimeout(_left(deadline))
            connection.sendall(_head(url, len(body), headers) + body)
            reply = http.client.HTTPResponse(cast(socket.socket, _Timed(connection, deadline)), method="POST")
            try:
                reply.begin()
                status, retry_after = reply.status, reply.getheader("Retry-After")
                with suppress(OSError, ValueError, http.client.HTTPException):  # the status has come
                    reply.read(MAX_REPLY_BYTES)
                return status, retry_after
            finally:
                reply.close()
    except TimeoutError:
        raise DeliveryError(f"no answer within {seconds:.3g} seconds") from None
    except ssl.SSLError as error:
        raise DeliveryError(f"TLS failed: {error.reason or type(error).__name__}") from None
    except OSError as error:
        raise DeliveryError(error.strerror or type(error).__name__) from None
    except (http.client.HTTPException, ValueError, UnicodeError) as error:
        raise DeliveryError(f"the answer is not HTTP ({type(error).__name__})") from None


def _head(url: PostUrl, length: int, headers: dict[str, str]) -> bytes:
    """The request line and the headers, which hold nothing that came from outside."""
    every = {"Host": url.host_header, "Connection": "close", "Content-Length": str(length), **headers}
    if url.authorization is not None:
        every["Authorization"] = url.authorization
    lines = [f"POST {url.target} HTTP/1.1", *(f"{name}: {value}" for name, value in every.items()), "", ""]
    return "\r\n".join(lines).encode("ascii")


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _connected(url: PostUrl, deadline: float, tls: ssl.SSLContext | None) -> socket.socket:
    """A connection to the first address that takes one, encrypted for https."""
    found = socket.getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
    failure: OSError = OSError("the host has no address")
    for i, (family, kind, protocol, _, address) in enumerate(found):
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(_left(deadline) / (len(found) - i))  # one that is silent leaves time
            connection.connect(address)
            if url.scheme == "http":
                return connection
            context = ssl.create_default_context() if tls is None else tls
            connection.settimeout(_left(deadline))
            return context.wrap_socket(connection, server_hostname=url.host)
        except OSError as error:
            connection.close()
            failure = error
    raise failure


class _Timed(io.RawIOBase):
    """What `http.client` reads an answer from: each read may take only what is left of the time."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection, self._deadline = connection, deadline

    def makefile(self, mode: str) -> io.BufferedReader:
        """The reader that `http.client` asks for."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what has come."""
        self._connection.settimeout(_left(self._deadline))
        return self._connection.recv_into(buffer)
