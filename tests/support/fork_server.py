"""A process that imports everything once and then forks: each child is a fresh run of ``ocboost``.

A run spends two seconds on its imports, and the tests start more than a hundred. The server does nothing but
import, so that a child has what a new interpreter would have: no thread of ours, no kernel, no open file. It
gets its own words, environment, working directory and standard streams, and ends as an interpreter does.
`tests/support/processes.py` is the other side.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import warnings
from typing import Any, TextIO

STATUS_BYTES = 4
LARGEST_JOB = 1 << 18
# What the commands import late, beside the package itself.
MORE = (
    *("pandas", "pyarrow.csv", "pyarrow.parquet", "rich.progress", "rich.table", "rich.text", "cyclopts"),
    *("sklearn.ensemble", "sklearn.linear_model", "sklearn.pipeline", "uvicorn", "uvloop", "httptools"),
)
NOT_NEEDED = ("ocboost.__main__", "ocboost.river", "ocboost.paper", "ocboost.estimators.onnx")


def import_everything() -> None:
    """Import the package and what its commands import; what is not installed is left out."""
    import ocboost

    names = [one.name for one in pkgutil.walk_packages(ocboost.__path__, "ocboost.", onerror=lambda _: None)]
    for name in [*names, *MORE]:
        if not name.startswith(NOT_NEEDED):
            with contextlib.suppress(ImportError, ocboost.OcboostError):
                importlib.import_module(name)


def _fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # newer Pythons warn of threads, which numpy's BLAS has and looks after
        return os.fork()


def next_job(channel: socket.socket) -> dict[str, Any] | None:
    """Fork for each job that comes. In a child: its job; in the server, when nobody asks any more: None."""
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(tell)
    waiting: dict[int, int] = {}  # who is told of a child's end
    while True:
        ready, _, _ = select.select([channel, told], [], [])
        if told in ready:
            os.read(told, 4096)
            for pid in list(waiting):
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    with contextlib.suppress(BrokenPipeError):
                        os.write(waiting[pid], status.to_bytes(STATUS_BYTES, "little"))
                    os.close(waiting.pop(pid))
        if channel in ready:
            data, ends, _, _ = socket.recv_fds(channel, LARGEST_JOB, 4)
            if not data:
                return None
            pid = _fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for place, end in enumerate(ends[:3]):
                    os.dup2(end, place)
                channel.close()
                for end in {*ends, *waiting.values(), told, tell} - {0, 1, 2}:
                    os.close(end)
                job: dict[str, Any] = json.loads(data)
                return job
            channel.send(pid.to_bytes(8, "little"))
            waiting[pid] = ends[3]
            for end in ends[:3]:
                os.close(end)


def _standard_stream(place: int, before: TextIO) -> TextIO:
    """A standard stream as an interpreter opens it when it starts."""
    mode, unbuffered = "rb" if place == 0 else "wb", bool(os.environ.get("PYTHONUNBUFFERED")) and place > 0
    return io.TextIOWrapper(
        open(place, mode, buffering=0 if unbuffered else -1, closefd=False),  # type: ignore[arg-type]
        encoding=before.encoding,
        errors=before.errors,
        newline=None if place == 0 else "\n",
        line_buffering=place == 2 or os.isatty(place),
        write_through=unbuffered,
    )


def become(job: dict[str, Any]) -> None:
    """Take the place that a new interpreter would have."""
    os.chdir(job["folder"])
    os.environ.clear()
    os.environ.update(job["environment"])
    sys.argv = ["ocboost", *job["words"]]
    sys.stdin = sys.__stdin__ = _standard_stream(0, sys.stdin)  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _standard_stream(1, sys.stdout)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _standard_stream(2, sys.stderr)  # type: ignore[misc]
    signal.signal(signal.SIGINT, signal.default_int_handler)


def run(channel: int) -> None:
    """Serve, and in a child run the command line."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # pressed at the terminal, it is for the tests
    import_everything()
    gc.freeze()  # nothing of it is looked at again by a child's collector
    job = next_job(socket.socket(fileno=channel))
    if job is not None:
        become(job)
        from ocboost.__main__ import main

        sys.exit(main())
