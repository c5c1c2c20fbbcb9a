"""Runs a command line: arguments in, exit code out.

====  =========================================================
code  meaning
====  =========================================================
0     done
1     an error of ocboost or of the system, in one line on stderr
2     wrong usage
70    an unexpected error, in one line on stderr
130   interrupted (Ctrl-C)
143   interrupted (SIGTERM), where ``adapt`` leaves a checkpoint
====  =========================================================
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cyclopts import App, CycloptsError, MissingArgumentError

import ocboost
from ocboost._core.log_address import without_passwords
from ocboost._kernels.compilations import COMPILATIONS
from ocboost.cli import (
    adapt,
    cascade,
    compare,
    evaluate,
    explain,
    export,
    fit,
    fleet,
    info,
    predict,
    reproduce,
    sample,
    serve,
    warmup,
)
from ocboost.cli.options import UsageError
from ocboost.cli.terminal import replace_closed_outputs, say

INTRODUCTION = (
    "Online Coordinate Boosting: keeps the weights of a boosted classifier learning after it is deployed.\n\n"
    "Start with: ocboost sample loans\n"
)


def build_app() -> App:
    """The application with all its commands."""
    app = App(
        name="ocboost", help=INTRODUCTION, version=f"ocboost {ocboost.__version__}", help_format="plaintext"
    )
    for command in (
        sample.sample,
        fit.fit,
        adapt.adapt,
        predict.predict,
        evaluate.evaluate,
        compare.compare,
        info.info,
        explain.explain,
        export.export,
        serve.serve,
        fleet.app,
        cascade.app,
        reproduce.app,
        warmup.warmup,
    ):
        app.command(command)
    return app


def run(words: Sequence[str]) -> int:
    """Run one command line and return its exit code; errors of ocboost and the system pass through."""
    replace_closed_outputs()
    if sys.stderr.isatty():
        COMPILATIONS.tell = _say_compiling
    if any("\0" in word for word in words):
        say("an argument must not hold the character NUL; no file has such a name.")
        return 2
    app = build_app()
    try:
        command, bound, _ = app.parse_args(list(words), exit_on_error=False, print_error=False)
        with _few_collections():
            code = command(*bound.args, **bound.kwargs)
    except MissingArgumentError as error:
        name = error.argument.name if error.argument is not None else "an argument"
        return _wrong_usage(f"{name} is missing.", app, words)
    except (CycloptsError, UsageError) as error:
        return _wrong_usage(str(error), app, words)
    return code if isinstance(code, int) else 0


@contextmanager
def _few_collections() -> Iterator[None]:
    """Look for garbage less often: it takes a tenth of a short command, most of which is imports."""
    before = gc.get_threshold()
    gc.set_threshold(max(20_000, before[0]) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _say_compiling() -> None:
    say(
        "compiling for this machine, once; the first time this can take half a minute. `ocboost warmup` does "
        "it beforehand, for all commands."
    )


def _wrong_usage(message: str, app: App, words: Sequence[str]) -> int:
    command = f"{words[0]} " if words and words[0] in app and words[0].isalpha() else ""
    say(f"{without_passwords(message)} See: ocboost {command}--help")
    return 2
