"""The parts of a log's address, checked, and the log at it."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from ocboost._core.escaping import one_line
from ocboost._core.log_address import SCHEMES, LogAddress
from ocboost.errors import InputError
from ocboost.live.brokers.base import Broker

__all__ = ["LogAddress", "open_log", "parameters", "split", "unquoted"]


def open_log(address: str) -> Broker:
    """The log at an address; nothing is connected yet."""
    module = import_module(f"ocboost.live.brokers.{SCHEMES[address.partition('://')[0].lower()]}")
    log: Broker = module.open_log(LogAddress(address))
    return log


def split(address: LogAddress) -> SplitResult:
    """The parts of an address; one that makes no sense is an `InputError` that does not show it."""
    try:
        parts = urlsplit(str(address))
        _ = parts.port  # which is checked as it is read
        wrong = "@" in parts.path
    except ValueError:  # whose text may hold a part of a password
        wrong = True
    if wrong:
        raise InputError(
            f"the address {address.public!r} makes no sense. Write it like "
            "redis://user:password@host:6379/0?stream=NAME; special characters in a password as %XX."
        )
    if parts.fragment:
        raise InputError(
            "the address of a log must have no '#'. Write it as %23 where it belongs to a name or a password."
        )
    return parts


def parameters(parts: SplitResult, known: Collection[str], purpose: str) -> dict[str, str]:
    """What stands behind the question mark, each once and known; the others are an `InputError`."""
    try:
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise InputError(
            f"behind the question mark an address of {purpose} must be like name=value&name=value."
        ) from None
    found: dict[str, str] = {}
    for name, value in pairs:
        if name not in known and "@" in parts.query and "@" not in parts.netloc:
            raise InputError(
                "a question mark in a user or a password must be written as %3F, and an @ behind it as %40."
            )
        if name not in known or name in found or not value:
            problem = (
                "twice" if name in found else "without a value" if name in known else "which is not known"
            )
            raise InputError(
                f"an address of {purpose} may have the parameters {', '.join(known)}; got "
                f"{one_line(name)!r:.60} {problem}."
            )
        found[name] = value
    return found


def unquoted(text: str | None) -> str | None:
    """A user or a password as it is meant; None for an empty one."""
    return unquote(text) if text else None
