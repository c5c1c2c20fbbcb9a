"""Logs: one JSON object on a line of standard error, with no features, labels or tokens in it."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from contextlib import suppress
from typing import Any

MAX_TEXT = 4_000  # characters of one entry

# What any client can bring about as often as it likes: it is counted in the metrics instead.
NOT_LOGGED = ("Invalid HTTP request received.", "Unsupported upgrade request.", "No supported WebSocket")


def write_event(level: str, event: str, /, **fields: Any) -> None:
    """Write one line; JSON in ASCII escapes whatever would move a terminal's cursor."""
    now = time.time()
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"
    entry: dict[str, Any] = {"time": stamp, "level": level, "event": event}
    for name, value in fields.items():
        entry[name] = value if isinstance(value, int | float | None) else str(value)[:MAX_TEXT]
    line = json.dumps(entry).replace("\x7f", "\\u007f")
    with suppress(OSError, ValueError):  # a full disk or a closed output is no reason to stop serving
        print(line, file=sys.stderr, flush=True)


def trace_of(error: BaseException) -> str:
    """Where an error came from, innermost first; without its message, which may hold a client's data."""
    frames = traceback.extract_tb(error.__traceback__)
    return " < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames))


class ServerLogHandler(logging.Handler):
    """What the HTTP server logs, as our lines."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        message = record.getMessage().strip()
        if message.startswith(NOT_LOGGED):
            return
        error = record.exc_info[1] if record.exc_info else None
        more = {} if error is None else {"error": type(error).__name__, "where": trace_of(error)}
        write_event(record.levelname.lower(), "server", message=message, **more)
