"""Who may ask: a bearer token, names of the host, and how often."""

from __future__ import annotations

import hmac
import ipaddress
import os
import socket
import stat
import time
from collections.abc import Mapping
from pathlib import Path

from ocboost.errors import InputError

TOKEN_VARIABLE = "OCBOOST_TOKEN"
SECRET_VARIABLE = "OCBOOST_WEBHOOK_SECRET"
SHORT_TOKEN = 16  # characters; a shorter one can be guessed
MAX_TOKEN_BYTES = 4096
LOOPBACK_NAMES = frozenset({b"localhost", b"127.0.0.1", b"[::1]"})
MAX_CLIENTS = 10_000  # addresses whose rate is remembered


def read_token(file: Path | None, environment: Mapping[str, str]) -> tuple[bytes | None, list[str]]:
    """The token from a file or from the environment, and what is worth a warning."""
    return _read_secret(file, environment, "token", "--token-file", TOKEN_VARIABLE)


def read_webhook_secret(file: Path | None, environment: Mapping[str, str]) -> tuple[bytes | None, list[str]]:
    """What webhooks are signed with, in the same way."""
    return _read_secret(file, environment, "secret", "--webhook-secret-file", SECRET_VARIABLE)


def _read_secret(
    file: Path | None, environment: Mapping[str, str], what: str, option: str, variable: str
) -> tuple[bytes | None, list[str]]:
    notes = []
    given = environment.get(variable)
    secret = None if given is None else _checked_secret(os.fsencode(given), variable, what)
    if file is not None:
        with open(file, "rb") as opened:
            content = opened.read(MAX_TOKEN_BYTES + 1)
            mode = os.fstat(opened.fileno()).st_mode
        from_file = _checked_secret(content, f"{option} '{file}'", what)
        if secret is not None and secret != from_file:
            raise InputError(f"{option} '{file}' and {variable} hold different {what}s. Give one of them.")
        secret = from_file
        if os.name == "posix" and stat.S_ISREG(mode) and mode & 0o044:
            notes.append(f"other users can read the {what} in '{file}'; chmod 600 '{file}' mends that.")
    if secret is not None and len(secret) < SHORT_TOKEN:
        notes.append(f"the {what} has fewer than {SHORT_TOKEN} characters and can be guessed.")
    return secret, notes


def _checked_secret(content: bytes, where: str, what: str) -> bytes:
    secret = content.strip()
    if not secret:
        raise InputError(f"{where} must hold a {what}; it is empty. Write one, or leave it out.")
    if len(content) > MAX_TOKEN_BYTES or not all(0x21 <= byte <= 0x7E for byte in secret):
        raise InputError(
            f"{where} must hold one {what} of at most {MAX_TOKEN_BYTES} letters, digits and signs, without "
            "spaces. Make one with: openssl rand -hex 32"
        )
    return secret


def is_authorized(authorization: bytes | None, token: bytes) -> bool:
    """Whether a request's Authorization header has the token; compared in constant time."""
    scheme, _, given = (authorization or b"").partition(b" ")
    return hmac.compare_digest(given.strip(), token) and scheme.lower() == b"bearer"


def is_loopback(host: str) -> bool:
    """Whether an address, or all addresses of a name, can be reached from this machine only."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise InputError(
            f"--host must be an address or a name of this machine; got {host!r:.100}, which cannot be found."
        ) from None
    return all(ipaddress.ip_address(str(each[4][0]).partition("%")[0]).is_loopback for each in found)


def host_name(host: bytes | None) -> bytes:
    """The name in a Host header or at the end of an origin, without its port.

    >>> host_name(b"LocalHost:8080"), host_name(b"[::1]:80")
    (b'localhost', b'[::1]')
    """
    host = (host or b"").strip().lower()
    end = host.find(b"]") + 1 if host.startswith(b"[") else host.find(b":")
    return host[:end] if end > 0 else host


def is_own_origin(origin: bytes, host: bytes | None) -> bool:
    """Whether a page that sends a request came from this service."""
    return origin.lower().partition(b"://")[2] == (host or b"").strip().lower()


class TokenBuckets:
    """A limit on the rate of each client: ``rate`` requests a second, after a burst of twice as many.

    Of more than `MAX_CLIENTS` clients those that have not asked for longest are forgotten.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.burst = max(1.0, 2 * rate)
        self._clients: dict[str, tuple[float, float]] = {}  # requests that are left, as of a time

    def seconds_to_wait(self, client: str, now: float | None = None) -> float:
        """Count a request: 0 if it may go ahead, else in how many seconds one may."""
        now = time.monotonic() if now is None else now
        left, before = self._clients.pop(client, (self.burst, now))
        left = min(self.burst, left + (now - before) * self.rate)
        allowed = left >= 1
        self._clients[client] = (left - allowed, now)
        if len(self._clients) > MAX_CLIENTS:
            del self._clients[next(iter(self._clients))]
        return 0.0 if allowed else (1 - left) / self.rate
