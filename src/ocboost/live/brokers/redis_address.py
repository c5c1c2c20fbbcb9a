"""Addresses of logs in Redis."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ocboost._core.escaping import one_line
from ocboost.errors import InputError
from ocboost.live.brokers.url import LogAddress, parameters, split, unquoted

PASSWORD_VARIABLE = "OCBOOST_REDIS_PASSWORD"
DEFAULT_STREAM = "ocboost:requests"
_PARAMETERS = ("stream", "predictions", "ca", "cert", "key")


@dataclass(frozen=True)
class RedisAddress:
    """The parts of ``redis://[user:password@]host[:port][/db]?stream=NAME``."""

    host: str
    port: int
    db: int
    user: str | None
    password: str | None = field(repr=False)
    stream: str
    predictions: str
    tls: dict[str, Any] | None  # None without TLS

    @classmethod
    def of(cls, address: LogAddress) -> RedisAddress:
        """Read an address; what makes no sense is an `InputError`."""
        parts = split(address)
        given = parameters(parts, _PARAMETERS, "Redis")
        number = parts.path.strip("/") or "0"
        if not (number.isascii() and number.isdigit() and len(number) <= 6):
            raise InputError(
                "behind the host an address of Redis has the number of the database, such as /0; got "
                f"{one_line(parts.path)!r:.60}. The name of the stream is given as ?stream=NAME."
            )
        if not parts.hostname:
            raise InputError("an address of Redis must have a host, such as redis://localhost:6379/0.")
        secure = parts.scheme == "rediss"
        files = {name: given[name] for name in ("ca", "cert", "key") if name in given}
        if files and not secure:
            raise InputError("ca, cert and key are for TLS: write rediss:// instead of redis://.")
        for name, path in files.items():
            if not os.path.isfile(path):
                raise InputError(f"{name} must be a file; there is no {one_line(path)!r:.200}.")
        _require_pem(files)
        stream = given.get("stream", DEFAULT_STREAM)
        predictions = given.get("predictions", f"{stream}:predictions")
        names = [stream, predictions, *own_keys(stream)]
        if len(set(names)) < len(names):
            raise InputError(
                f"predictions must not be the stream itself, nor {' or '.join(own_keys(one_line(stream)))}; "
                "give another name."
            )
        return cls(
            parts.hostname,
            parts.port or 6379,
            int(number),
            unquoted(parts.username),
            unquoted(parts.password) or os.environ.get(PASSWORD_VARIABLE) or None,
            stream,
            predictions,
            {f"ssl_{_TLS_NAMES[name]}": path for name, path in files.items()} if secure else None,
        )

    @property
    def name(self) -> str:
        """The log, for people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        scheme = "redis" if self.tls is None else "rediss"
        return one_line(f"{scheme}://{host}:{self.port}/{self.db}?stream={self.stream}")


_TLS_NAMES = {"ca": "ca_certs", "cert": "certfile", "key": "keyfile"}


def _require_pem(files: Mapping[Any, str]) -> None:
    """Refuse files for TLS that cannot be read as such."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if "ca" in files:
            context.load_verify_locations(files["ca"])
        if "cert" in files:
            context.load_cert_chain(files["cert"], files.get("key"), password=_no_password)
    except (ssl.SSLError, ValueError, OSError):
        raise InputError(
            "ca, cert and key must be certificates and a key without a password, in PEM; these cannot be "
            "used. A key goes with its certificate."
        ) from None


def _no_password() -> str:
    raise ValueError("a key with a password")


def own_keys(stream: str) -> tuple[str, str]:
    """The keys of the place and of the state."""
    return f"{stream}:ocboost", f"{stream}:ocboost:state"
