"""Output of the commands: results to stdout, everything else to stderr.

Exit status 0 means that the file was written: an error after that is reported, but does not fail the command.
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


def replace_closed_outputs() -> None:
    """Discard what is written to an output that a shell has closed (``>&-``)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  open until the end


def say(message: str) -> None:
    """Print one line on stderr, beginning with "ocboost:"; a full disk there is no reason to stop."""
    with suppress(OSError):
        print(f"ocboost: {one_line(message)}", file=sys.stderr, flush=True)


class _Escaped:
    """Something to print whose text is escaped after it has been laid out."""

    def __init__(self, renderable: RenderableType) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self._renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield segment._replace(text="\n".join(map(shown, segment.text.split("\n"))))


class _EscapeAll(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Escaped(each) for each in renderables]


def results(piped: int = 100, *, stderr: bool = False) -> Console:
    """The console for results, perhaps on stderr; without colours and ``piped`` columns wide when piped.

    Text is never taken for markup, and what would control a terminal is escaped, see `shown`.
    """
    width = None if (sys.stderr if stderr else sys.stdout).isatty() else piped
    console = Console(highlight=False, markup=False, emoji=False, width=width, stderr=stderr)
    console.push_render_hook(_EscapeAll())
    return console


def _text_column(field: str) -> TextColumn:
    return TextColumn(f"{{task.{field}}}", markup=False)


def _progress_bar(*columns: TextColumn | TimeElapsedColumn | TimeRemainingColumn) -> Progress:
    title = _text_column("description")
    console = Console(stderr=True)
    return Progress(SpinnerColumn(), title, BarColumn(), *columns, console=console, transient=True)


@contextmanager
def steps_progress(title: str) -> Iterator[Callable[[str, float, int], None]]:
    """A progress bar of steps, on stderr if that is a terminal.

    Yields a function to call as ``show(what, done, total)``; where ``done`` is a float, it is shown in
    percent.
    """
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    with _progress_bar(_text_column("fields[count]"), TimeElapsedColumn()) as bar:
        task = bar.add_task(title, total=None, count="")

        def show(what: str, done: float, total: int) -> None:
            description = f"{title}: {shown(what)}" if what else title
            count = f"{done / total:.0%}" if isinstance(done, float) and total else f"{done:.0f}/{total}"
            bar.update(task, description=description, completed=done, total=total, count=count)

        yield show


@contextmanager
def stream_progress(title: str) -> Iterator[Callable[[Any, int, str], None]]:
    """A progress bar of a stream, on stderr if that is a terminal.

    Yields a function to call as ``show(stream, rows, text)``; without a stream, or where its length is not
    known, the bar only moves.
    """
    if not sys.stderr.isatty():
        yield lambda stream, rows, text: None
        return
    columns = (_text_column("fields[rows]"), _text_column("fields[text]"))
    with _progress_bar(*columns, TimeElapsedColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task(title, total=None, rows="", text="")

        def show(stream: Any, rows: int, text: str) -> None:
            total, done = (None, 0) if stream is None else (stream.bytes_total, stream.bytes_read)
            counted = f"{rows:,} rows" if rows else ""
            bar.update(task, completed=done, total=total, rows=counted, text=shown(text))

        yield show


@contextmanager
def after_writing(what: str, path: Path) -> Iterator[Callable[[], None]]:
    """Do not fail after a file was written, such as when a report cannot be printed to a full disk.

    Yields a function to call as soon as the file ``path``, which is ``what`` in messages, is written. Errors
    before that pass through; later ones are reported in one line, and the command has succeeded.
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
