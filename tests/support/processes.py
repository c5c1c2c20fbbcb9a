"""``ocboost`` as a process, from `subprocess.Popen`, without the two seconds that its imports take."""

from __future__ import annotations

import atexit
import inspect
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.fork_server import LARGEST_JOB, STATUS_BYTES

# Variables that may be read when something is imported: where these differ, the server is of no use.
READ_AT_IMPORTS = (
    *("PYTHON", "LC_", "LANG", "NUMBA_", "OMP_", "OPENBLAS_", "MKL_", "MPL", "XDG_", "HOME", "PATH"),
    "OCBOOST_",
)
READ_LATE = {"OCBOOST_TOKEN", "OCBOOST_WEBHOOK_SECRET", "OCBOOST_TRACEBACK", "OCBOOST_CACHE"}
OPTIONS = {"stdin", "stdout", "stderr", "text", "errors", "env", "cwd"}  # of `Popen`, that the server knows
# It listens to Ctrl-C even if a shell started the tests in the background.
LISTENING = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from ocboost.__main__ import main; sys.exit(main())"
)
PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
CAN_FORK = hasattr(os, "fork") and hasattr(socket, "send_fds")


class Server:
    """The server of one process of tests, and what its environment was."""

    def __init__(self) -> None:
        self.environment = dict(os.environ)
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LARGEST_JOB)
        code = (
            f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r}); "
            f"from tests.support.fork_server import run; del sys.path[0]; run({theirs.fileno()})"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        atexit.register(self.end)

    def fork(self, job: dict[str, Any], ends: list[int]) -> int:
        """Have a child started with these standard streams, and its number."""
        socket.send_fds(self.channel, [json.dumps(job).encode()], ends)
        answer = self.channel.recv(8)
        assert answer, "the process that forks has ended"
        return int.from_bytes(answer, "little")

    def fits(self, environment: Mapping[str, str]) -> bool:
        """Whether everything that is read at imports is as it was for the server."""
        names = {
            name for name in {*environment, *self.environment} - READ_LATE if name.startswith(READ_AT_IMPORTS)
        }
        return all(environment.get(name) == self.environment.get(name) for name in names)

    def end(self) -> None:
        self.channel.close()
        self._process.wait()


@cache
def _server_of(pid: int) -> Server:
    return Server()


class Ocboost(subprocess.Popen):
    """A run of the command line as a process; options are those of `subprocess.Popen`.

    It is forked from a process that has imported everything. With ``fresh``, or another environment or
    option that might matter, it is an interpreter of its own, as a user starts it.
    """

    def __init__(self, words: Iterable[object], *, fresh: bool = False, **more: Any) -> None:
        self._words, self._ended = [str(word) for word in words], -1
        environment = os.environ if more.get("env") is None else more["env"]
        possible = CAN_FORK and not fresh and OPTIONS.issuperset(more)
        self._forked = possible and _server_of(os.getpid()).fits(environment)
        how = ["-m", "ocboost"] if fresh else ["-c", LISTENING]
        super().__init__([sys.executable, *how, *self._words], **more)

    def _execute_child(self, *given: Any) -> None:
        names = list(inspect.signature(subprocess.Popen._execute_child).parameters)[1:]
        options = dict(zip(names, given, strict=True))
        if not self._forked:
            super()._execute_child(*given)
            return
        ends = [options["p2cread"], options["c2pwrite"], options["errwrite"]]
        ends = [place if end == -1 else end for place, end in enumerate(ends)]
        self._ended, told = os.pipe()
        job = {
            "words": self._words,
            "folder": str(options["cwd"] or os.getcwd()),
            "environment": dict(os.environ if options["env"] is None else options["env"]),
        }
        try:
            self.pid = _server_of(os.getpid()).fork(job, [*ends, told])
            self._child_created = True
        finally:
            os.close(told)
            self._close_pipe_fds(*(options[name] for name in PIPES))

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._ended == -1:
            return super()._try_wait(wait_flags)
        if wait_flags & os.WNOHANG and not select.select([self._ended], [], [], 0)[0]:
            return 0, 0
        status = os.read(self._ended, STATUS_BYTES)
        assert status, "the process that forks has ended"
        os.close(self._ended)
        return self.pid, int.from_bytes(status, "little")

    def _internal_poll(self, *given: Any, **options: Any) -> int | None:
        if self._ended == -1:
            return super()._internal_poll(*given, **options)
        if self.returncode is None and self._waitpid_lock.acquire(False):
            try:
                if self.returncode is None:
                    pid, status = self._try_wait(os.WNOHANG)
                    if pid:
                        self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode


def ran(*words: object, timeout: float = 300, **more: Any) -> subprocess.CompletedProcess[str]:
    """A run to its end, with what it wrote."""
    given = more.pop("input", None)
    with Ocboost(
        words,
        stdin=None if given is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    ) as running:
        try:
            out, err = running.communicate(given, timeout=timeout)
        except BaseException:
            running.kill()
            raise
    return subprocess.CompletedProcess(running.args, running.returncode, out, err)
