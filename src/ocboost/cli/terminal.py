"""What the commands write to: results to stdout, everything else to stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


def say(message: str) -> None:
    """One line on stderr, marked as ours."""
    print(f"ocboost: {message}", file=sys.stderr)


def results() -> Console:
    """The console for results; no colours and 100 columns when piped."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else 100)


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr when that is a terminal, and nothing at all otherwise.

    Yields a function to call as ``advance(done, total)``.
    """
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def advance(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield advance
