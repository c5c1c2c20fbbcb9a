"""What the commands write to: results to stdout, everything else to stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


def open_closed() -> None:
    """Let what is written to an output that a shell has closed (``>&-``) go nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  open until the end


def say(message: str) -> None:
    """One line on stderr, marked as ours."""
    print(f"ocboost: {message}", file=sys.stderr)


def results(piped: int = 100) -> Console:
    """The console for results; no colours and so many columns when piped. Names are shown as they are."""
    width = None if sys.stdout.isatty() else piped
    return Console(highlight=False, markup=False, emoji=False, width=width)


def shown(name: object) -> str:
    """A name out of a file, safe to show: what would move the cursor or change colours is spelt out."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(name))


@contextmanager
def steps_progress(title: str) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar that says what is being done, on stderr when that is a terminal; else nothing.

    Yields a function to call as ``told(what, done, total)``.
    """
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def told(what: str, done: int, total: int) -> None:
            bar.update(task, description=f"{title}: {what}", completed=done, total=total)

        yield told


@contextmanager
def stream_progress(title: str) -> Iterator[Callable[[Any, int, str], None]]:
    """A progress bar for a stream on stderr when that is a terminal, and nothing at all otherwise.

    Yields a function to call as ``show(stream, rows, text)``; without a stream, or where nobody knows how
    long it is, the bar only moves.
    """
    if not sys.stderr.isatty():
        yield lambda stream, rows, text: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rows]}"),
        TextColumn("{task.fields[text]}", markup=False),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None, rows="", text="")

        def show(stream: Any, rows: int, text: str) -> None:
            total = None if stream is None else stream.bytes_total
            done = 0 if stream is None else stream.bytes_read
            counted = f"{rows:,} rows" if rows else ""
            bar.update(task, completed=done, total=total, rows=counted, text=text)

        yield show
