"""A log that somebody writes and rotates, in every manner, and somebody who follows it step by step."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections import deque
from pathlib import Path

NAMES = "a,b,c,d,y"


class DoneError(Exception):
    """The script of a test has ended."""


class Script:
    """Does the next thing whenever the follower waits, then ends it."""

    def __init__(self, *actions):
        self.actions = deque(actions)

    def check(self):
        pass

    def wait(self, file):
        if not self.actions:
            raise DoneError
        self.actions.popleft()()


class GrowingLog:
    """Writes rows to a log and rotates it; its files have times as if each step took a second."""

    def __init__(self, path: Path, rows, *, header=True, naming="{name}.{n}"):
        self.path = path
        self.rows = deque(rows)
        self.written: list[str] = []
        self.is_json = path.suffix == ".jsonl"
        self._header = header and not self.is_json
        self._naming = naming
        self._clock = 1_600_000_000
        self._file = None
        self._held = ""  # the rest of a line that was written in part
        self.n_rotations = 0
        self.begin(header=not self.is_json)

    def begin(self, header=None):
        """A new file under the log's name."""
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._stamp(self._file)
        if self._header if header is None else header:
            self._put(NAMES + "\n")

    def _put(self, text):
        os.write(self._file, text.encode())
        self._stamp(self._file)

    def _stamp(self, file):
        self._clock += 1
        os.utime(file, (self._clock, self._clock))

    def append(self, n=1, *, cut=False):
        """Write rows; with ``cut`` the last one without its end."""
        for i in range(n):
            if not self.rows:
                return
            row = self.rows.popleft()
            line = (
                json.dumps(dict(zip(NAMES.split(","), row, strict=True)))
                if self.is_json
                else ",".join(map(str, row))
            )
            self.complete()
            self.written.append(line)
            last = cut and i == n - 1
            self._put(line[: len(line) // 2] if last else line + "\n")
            self._held = line[len(line) // 2 :] + "\n" if last else ""

    def complete(self, *, ended=True):
        """Write the rest of a line that was written in part, perhaps without its end."""
        if self._held:
            self._put(self._held if ended else self._held[:-1])
        self._held = ""

    def _shift(self):
        """Names for the archives, as logrotate numbers them; returns the name for the newest."""
        self.n_rotations += 1
        folder, name = self.path.parent, self.path.name
        if "{n}" not in self._naming:
            return folder / self._naming.format(
                name=name, date=20260000 + self.n_rotations, stem=self.path.stem
            )
        names = {n: self._naming.format(name=name, n=n, stem=self.path.stem) for n in range(1, 60)}
        for n in reversed(range(1, 59)):
            for ending in ("", ".gz"):
                if (folder / (names[n] + ending)).exists():
                    os.rename(folder / (names[n] + ending), folder / (names[n + 1] + ending))
        return folder / names[1]

    def rename(self, *, ended=True, begin=True):
        """Rotate by renaming; without ``begin`` the name is free, and the old file is written on."""
        self.complete(ended=ended)
        os.rename(self.path, self._shift())
        if begin:
            self.reopen()

    def reopen(self):
        """Go on in a new file."""
        self.complete(ended=False)
        self.close()
        self.begin()

    def close(self):
        """Write no more."""
        os.close(self._file)

    def copy_and_truncate(self, *, ended=True):
        """Rotate by a copy."""
        self.complete(ended=ended)
        copy = self._shift()
        shutil.copy(self.path, copy)
        self._stamp(copy)
        os.truncate(self.path, 0)
        self._stamp(self.path)
        if self._header:
            self._put(NAMES + "\n")

    def compress(self):
        """Compress all archives, as gzip does: with the times they had."""
        for path in sorted(self.path.parent.iterdir()):
            if path.name.startswith(self.path.stem) and path != self.path and path.suffix != ".gz":
                status = path.stat()
                packed = path.with_name(path.name + ".gz")
                packed.write_bytes(gzip.compress(path.read_bytes()))
                os.utime(packed, ns=(status.st_mtime_ns, status.st_mtime_ns))
                path.unlink()


def lines_of(text: bytes) -> list[str]:
    """The rows in what a source has given out."""
    lines = [line for line in text.decode().split("\n") if line]
    return lines[1:] if lines and lines[0] == NAMES else lines
