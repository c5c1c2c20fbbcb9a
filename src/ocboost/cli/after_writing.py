"""Exit status 0 means written: what fails after that is told, and is no failure."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ocboost.cli.terminal import say
from ocboost.std_output import forget_output


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
