"""Words in, exit code out.

====  =========================================================
code  meaning
====  =========================================================
0     done
1     an error of ocboost's or of the system, in one line on stderr
2     wrong usage
70    an error that nobody has foreseen, in one line on stderr
130   interrupted (Ctrl-C)
====  =========================================================
"""

from __future__ import annotations

from collections.abc import Sequence

from cyclopts import App, CycloptsError, MissingArgumentError

import ocboost
from ocboost.cli import adapt, cascade, compare, evaluate, fit, info, predict, reproduce
from ocboost.cli.options import UsageError
from ocboost.cli.terminal import open_closed, say

HELP = """Online Coordinate Boosting: keeps the weights of a boosted classifier learning after it is deployed.

Start with: ocboost reproduce synthetic --quick
"""


def build_app() -> App:
    """The application with all its commands."""
    app = App(name="ocboost", help=HELP, version=f"ocboost {ocboost.__version__}", help_format="plaintext")
    app.command(fit.fit)
    app.command(adapt.adapt)
    app.command(predict.predict)
    app.command(evaluate.evaluate)
    app.command(compare.compare)
    app.command(info.info)
    app.command(cascade.app)
    app.command(reproduce.app)
    return app


def run(words: Sequence[str]) -> int:
    """Run one command line, and return its exit code; errors of ocboost's and the system pass through."""
    open_closed()
    if any("\0" in word for word in words):
        say("an argument must not hold the character NUL; no file has such a name.")
        return 2
    try:
        command, bound, _ = build_app().parse_args(list(words), exit_on_error=False, print_error=False)
    except MissingArgumentError as error:
        name = error.argument.name if error.argument is not None else "an argument"
        say(f"{name} is missing. See: ocboost {_command_of(words)}--help")
        return 2
    except CycloptsError as error:
        say(f"{error} See: ocboost {_command_of(words)}--help")
        return 2
    try:
        code = command(*bound.args, **bound.kwargs)
    except UsageError as error:
        say(f"{error} See: ocboost {_command_of(words)}--help")
        return 2
    return code if isinstance(code, int) else 0


def _command_of(words: Sequence[str]) -> str:
    """The command whose help tells more, and a space; nothing if there is no such command."""
    return f"{words[0]} " if words and words[0] in build_app() and words[0].isalpha() else ""
