"""The command ``ocboost``, also ``python -m ocboost``."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence

from ocboost._core.escaping import forget_output, one_line, shown
from ocboost.errors import MissingExtraError, OcboostError

TRACEBACK = "OCBOOST_TRACEBACK"  # an environment variable: show where in the code an error came from


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    words : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        0 done, 1 an error told in one line, 2 wrong usage, 70 an error nobody has foreseen, 130 interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        # A folder's name may hold letters that the terminal's encoding lacks: show them escaped.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _app()(sys.argv[1:] if words is None else words)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away (as with `| head`); writing the rest would only fail again at exit.
        forget_output()
        return 1
    except (OcboostError, OSError) as error:
        return _told(_in_words(error), error, 1)
    except MemoryError as error:
        return _told("there is not enough memory for this. Take fewer rows, or a smaller model.", error, 1)
    except KeyboardInterrupt:
        return _told("interrupted.", None, 130)
    except Exception as error:
        return _told(
            f"this should not have happened ({type(error).__name__}: {error!s:.300}). Please report it to "
            f"the project's issue tracker, with the command; {TRACEBACK}=1 in the environment shows where it "
            "came from.",
            error,
            70,
        )
    return code


def _app() -> Callable[[Sequence[str]], int]:
    """The command line proper, imported late since it needs an extra."""
    try:
        from ocboost.cli.app import run
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("cyclopts", "rich"):
            raise
        raise MissingExtraError(package, "all", "The command line") from error
    return run


def _told(text: str, error: BaseException | None, code: int) -> int:
    """The exit code, after saying why on one line of stderr."""
    with contextlib.suppress(OSError):  # a stderr that takes nothing
        if error is not None and os.environ.get(TRACEBACK, "") not in ("", "0"):
            for line in "".join(traceback.format_exception(error)).splitlines():
                print(shown(line), file=sys.stderr)
        print(f"ocboost: {one_line(text)}", file=sys.stderr, flush=True)
    try:
        sys.stdout.flush()
    except (OSError, ValueError):  # standard output is what failed, and would do so again at exit
        forget_output()
    return code


def _in_words(error: Exception) -> str:
    if isinstance(error, OSError) and isinstance(error.filename, str | bytes) and error.strerror:
        return f"'{os.fsdecode(error.filename)}': {error.strerror}"
    return str(error)


if __name__ == "__main__":
    sys.exit(main())
