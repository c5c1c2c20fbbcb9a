"""`ocboost serve` as a real process: started, asked, killed and started again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ocboost import AdaptiveClassifier, OCBClassifier
from tests.support.processes import Ocboost

SERVING = re.compile(r"serving on https?://([^:/\s]+|\[[^\]]+\]):(\d+)")
START_SECONDS = 120.0


class ServiceProcess:
    """A service on a port of its own choice, over one state folder."""

    def __init__(
        self,
        model: Path,
        state: Path,
        *options: object,
        cores: Sequence[int] | None = None,
        again: bool = False,
        forked: bool = False,
        **environment: str,
    ) -> None:
        self.model, self.state, self.options = model, state, options
        self.cores, self.environment = cores, environment
        self.forked = forked  # soon there: for tests, not for measurements
        self.again = again  # whether it takes the same port when it is started again
        self.host, self.port = "127.0.0.1", 0
        self.said: list[str] = []
        self._ready = threading.Event()
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self._process is not None
        return self._process.pid

    def start(self, wait: bool = True) -> ServiceProcess:
        """Start it, and wait until it answers."""
        self._ready = threading.Event()
        self.said = []
        port = self.port if self.again else 0
        self._process = Ocboost(
            ["serve", self.model, "--state", self.state, "--port", port, *self.options],
            fresh=not self.forked,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, **self.environment},
        )
        if self.cores is not None:
            os.sched_setaffinity(self._process.pid, self.cores)
        threading.Thread(target=self._listen, args=(self._process, self._ready), daemon=True).start()
        if wait:
            self.wait_until_ready()
        return self

    def _listen(self, process: subprocess.Popen[str], ready: threading.Event) -> None:
        assert process.stderr is not None
        with process.stderr as lines:
            for line in lines:
                self.said = [*self.said[-200:], line.rstrip("\n")]
                found = SERVING.search(line)
                if found and not ready.is_set():
                    self.host, self.port = found[1].strip("[]"), int(found[2])
                    ready.set()
        ready.set()  # it has ended

    def wait_until_ready(self) -> None:
        """Wait until it says where it serves; an error with what it said if it ends instead."""
        assert self._process is not None
        if not self._ready.wait(START_SECONDS) or self._process.poll() is not None or not self.port:
            raise RuntimeError("the service did not start: " + "\n".join(self.said[-20:]))

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """End it as a power cut would: no handler runs."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Ask it to end, and its exit status."""
        return self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> int:
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(how)
        status = self._process.wait(60)
        return status

    def memory(self) -> int:
        """Resident bytes."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def __enter__(self) -> ServiceProcess:
        return self if self.alive else self.start()

    def __exit__(self, *error: object) -> None:
        if self.alive:
            self.kill()


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far, of all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rows_and_labels(n: int, features: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, and two classes that the first of them tell."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features)).round(4)
    y = (X[:, 0] + 0.7 * X[:, 1] - 0.5 * X[:, 2] + 0.5 * rng.normal(size=n) > 0).astype(int)
    return X, y


def write_model(path: Path, kind: str = "ocb", *, features: int = 20, J: int = 100, rows: int = 1000) -> Path:
    """A fitted model of either kind, whose columns are called x0, x1, …"""
    import pandas as pd

    X, y = rows_and_labels(rows, features)
    table = pd.DataFrame(X, columns=[f"x{i}" for i in range(features)])
    made: Any = {"ocb": OCBClassifier, "adaptive": AdaptiveClassifier}[kind](n_hypotheses=J, random_state=0)
    made.fit(table, pd.Series(y, name="y"))
    made.save(path)
    return path


def as_row(x: np.ndarray) -> dict[str, float]:
    """A row as the service takes it."""
    return {f"x{i}": float(value) for i, value in enumerate(x)}


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for models and states."""
    return tempfile.TemporaryDirectory(prefix="ocboost-serve-", ignore_cleanup_errors=True)
