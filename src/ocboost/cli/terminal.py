"""What the commands write to: results to stdout, everything else to stderr.

Exit status 0 means written: what fails after that is told, and is no failure.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment

from ocboost._core.escaping import forget_output, one_line, shown


def open_closed() -> None:
    """Let what is written to an output that a shell has closed (``>&-``) go nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  open until the end


def say(message: str) -> None:
    """One line on stderr, marked as ours; a stderr that takes nothing (a full disk) is no reason to stop."""
    with suppress(OSError):
        print(f"ocboost: {one_line(message)}", file=sys.stderr, flush=True)


class _Escaped:
    """Something to print, whose letters are safe to show when it has been laid out."""

    def __init__(self, what: RenderableType) -> None:
        self._what = what

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self._what, options):
            yield segment if segment.control else segment._replace(text=_escaped(segment.text))


def _escaped(text: str) -> str:
    return text if text.isprintable() else "\n".join(map(shown, text.split("\n")))


class _Escaping(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Escaped(each) for each in renderables]


def results(piped: int = 100) -> Console:
    """The console for results; no colours and so many columns when piped.

    Nothing printed on it is taken for markup, and what a terminal would obey is spelt out, see `shown`.
    """
    width = None if sys.stdout.isatty() else piped
    console = Console(highlight=False, markup=False, emoji=False, width=width)
    console.push_render_hook(_Escaping())
    return console


@contextmanager
def steps_progress(title: str) -> Iterator[Callable[[str, float, int], None]]:
    """A progress bar that says what is being done, on stderr when that is a terminal; else nothing.

    Yields a function to call as ``told(what, done, total)``; of what is done in part ``done`` is a float, and
    shown in percent. A spinner moves by itself.
    """
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    title_column = TextColumn("{task.description}", markup=False)
    count_column = TextColumn("{task.fields[count]}", markup=False)
    columns = (SpinnerColumn(), title_column, BarColumn(), count_column, TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None, count="")

        def told(what: str, done: float, total: int) -> None:
            said = f"{title}: {shown(what)}" if what else title
            count = f"{done / total:.0%}" if isinstance(done, float) and total else f"{done:.0f}/{total}"
            bar.update(task, description=said, completed=done, total=total, count=count)

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
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[rows]}", markup=False),
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
            bar.update(task, completed=done, total=total, rows=counted, text=shown(text))

        yield show


@contextmanager
def after_writing(what: str, path: Path) -> Iterator[Callable[[], None]]:
    """Let nothing that goes wrong after a file was written look as if it had not been.

    Yields a function to call as soon as the file is in its place. What fails before passes through; what
    fails later, such as printing a report to a full disk, is said in one line, and the run has succeeded.

    Parameters
    ----------
    what : str
        What is written, in words.
    path : path
    """
    done = False

    def written() -> None:
        nonlocal done
        done = True

    try:
        yield written
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt, SystemExit) as error:  # rich ends the process at a broken pipe
        if not done:
            raise
        forget_output()
        if isinstance(error, KeyboardInterrupt):
            say(f"interrupted, after {what} was written to '{path}'.")
        else:
            say(f"{what} was written to '{path}', but the report could not be printed: {_reason(error)}")


def _reason(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "Broken pipe"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}"
