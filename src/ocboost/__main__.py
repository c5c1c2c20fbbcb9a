"""The command ``ocboost``, also ``python -m ocboost``."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence

from ocboost.errors import MissingExtraError, OcboostError


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    words : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        0 done, 1 an error told in one line, 2 wrong usage, 130 interrupted.
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
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (OcboostError, OSError) as error:
        print(f"ocboost: {_one_line(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("ocboost: interrupted.", file=sys.stderr)
        return 130
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


def _one_line(error: Exception) -> str:
    text = str(error)
    if isinstance(error, OSError) and isinstance(error.filename, str) and error.strerror:
        text = f"'{error.filename}': {error.strerror}"
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main())
