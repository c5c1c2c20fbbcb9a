"""The command ``ocboost``, also ``python -m ocboost``."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence

from ocboost._core.escaping import forget_output, one_line, shown
from ocboost._core.interrupts import Terminated
from ocboost._core.log_address import without_passwords
from ocboost.errors import MissingExtraError, OcboostError

TRACEBACK = "OCBOOST_TRACEBACK"  # the environment variable that shows tracebacks


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line, by default with the arguments of the process, and return its exit code.

    0 is done, 1 an error in one line, 2 wrong usage, 70 an unexpected error, 130 interrupted,
    143 terminated.
    """
    for stream in (sys.stdout, sys.stderr):
        # Characters that the terminal's encoding lacks, as in a folder's name, are escaped.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _command_line()(sys.argv[1:] if words is None else words)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (as with `| head`); writing the rest would fail again at exit.
        forget_output()
        return 1
    except (OcboostError, OSError) as error:
        return _fail(_message(error), error, 1)
    except MemoryError as error:
        return _fail("there is not enough memory for this. Take fewer rows, or a smaller model.", error, 1)
    except KeyboardInterrupt as error:
        return _fail("interrupted.", None, 143 if isinstance(error, Terminated) else 130)
    except Exception as error:
        return _fail(
            f"this should not have happened ({type(error).__name__}: {error!s:.300}). Please report it to "
            f"the project's issue tracker, with the command; {TRACEBACK}=1 in the environment shows where it "
            "came from.",
            error,
            70,
        )
    return code


def _command_line() -> Callable[[Sequence[str]], int]:
    """The command line itself, imported late since it needs an extra."""
    try:
        from ocboost.cli.app import run
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("cyclopts", "rich"):
            raise
        raise MissingExtraError(package, "all", "The command line") from error
    return run


def _fail(text: str, error: BaseException | None, code: int) -> int:
    """Say why on one line of stderr, and return the exit code."""
    with contextlib.suppress(OSError):  # as on a full disk
        if error is not None and os.environ.get(TRACEBACK, "") not in ("", "0"):
            for line in "".join(traceback.format_exception(error)).splitlines():
                print(shown(without_passwords(line)), file=sys.stderr)
        print(f"ocboost: {one_line(without_passwords(text))}", file=sys.stderr, flush=True)
    try:
        sys.stdout.flush()
    except (OSError, ValueError):  # standard output has failed, and would fail again at exit
        forget_output()
    return code


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and isinstance(error.filename, str | bytes) and error.strerror:
        return f"'{os.fsdecode(error.filename)}': {error.strerror}"
    return str(error)


if __name__ == "__main__":
    sys.exit(main())
