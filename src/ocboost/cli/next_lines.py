"""The lines to type next: how to fit and adapt what a comparison found best, quoted for a shell."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ocboost.cli.method import ADAPTIVE, booster_of
from ocboost.cli.options import UsageError
from ocboost.errors import InputError

if TYPE_CHECKING:
    from ocboost.cli.options import MethodOptions
    from ocboost.deployment.model import Model
    from ocboost.evaluation.board import Board
    from ocboost.evaluation.summary import Summary

USUAL_HYPOTHESES = 100  # the default of fit
STREAM, TRAINING_FILE, LABEL, MODEL = "stream.csv", "first.csv", "LABEL", "model.ocb"  # where none was given


def quoted(text: str) -> str:
    r"""A word for a shell; one with control characters is written as bash and zsh understand it.

    >>> print(quoted("two words"), quoted("a\nb"), quoted("y"))
    'two words' $'a\x0ab' y
    """
    if text.isprintable():
        return shlex.quote(text)
    return f"$'{''.join(map(_spelt, text))}'"


def _spelt(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    try:
        found = character.encode("utf-8", "surrogateescape")  # of a file's name: the byte that it is
    except UnicodeEncodeError:
        found = character.encode("utf-8", "surrogatepass")
    return "".join(f"\\x{byte:02x}" for byte in found)


def option(name: str, *values: str) -> list[str]:
    """An option with its values, which may begin with a hyphen.

    >>> option("--drop", "a b", "c"), option("--label", "-1")
    (['--drop', "'a b'", 'c'], ['--label=-1'])
    """
    if any(value.startswith("-") for value in values):
        return [f"{name}={quoted(value)}" for value in values]
    return [name, *map(quoted, values)] if values else []


def fit_line(path: str, words: Sequence[str], out: str = MODEL) -> str:
    """The line that fits a model; the words are quoted already."""
    return " ".join(["ocboost fit", quoted(path), *words, *option("--out", out)])


def adapt_line(model: str, path: str, words: Sequence[str]) -> str:
    """The line that lets a model keep learning, in its place; the words are quoted already."""
    return " ".join(["ocboost adapt", quoted(model), quoted(path), *words, *option("--out", model)])


# Settings that an adaptive model has not ------------------------------------------------------------------


def require_no_settings(model: Model, options: MethodOptions, at: Path) -> None:
    """Refuse settings, or another method, for an adaptive model; the message has the line that fits one."""
    from ocboost.estimators.classifier import OCBClassifier

    if isinstance(model.classifier, OCBClassifier):
        return
    method = options.method if options.method not in (None, ADAPTIVE) else None
    given = [*([] if method is None else [f"--method {quoted(method)}"]), *options.words()]
    if given:
        words = [f"--method {quoted(method or 'ocb')}", *options.words()]
        line = fit_line(fitted_on(model), [*_reading_of(model), *words])
        raise InputError(
            f"'{at}' is an adaptive model, which chooses for itself and has no {', '.join(given)}. Leave "
            f"that out, or fit another model: {line}"
        )


def fitted_on(model: Model) -> str:
    """The name of the file that a model was fitted on, as far as it knows."""
    events = [event for event in model.history if event.get("event") == "fit"]
    name = events[0].get("stream") if events else None
    return name if isinstance(name, str) and name not in ("", "-") else "data.csv"


def _reading_of(model: Model) -> list[str]:
    """The options by which a model's rows were read, as far as it knows."""
    label = None if model.schema is None else model.schema.label
    events = [event for event in model.history if event.get("event") == "fit"]
    fit = events[0] if events else {}
    words = option("--label", LABEL if label is None else label)
    for name in ("drop", "classes"):
        given = fit.get(name)
        if isinstance(given, list):
            words += option(f"--{name}", *(each for each in given if isinstance(each, str)))
    if isinstance(fit.get("seed"), int):
        words += option("--seed", str(fit["seed"]))
    rows = fit.get("rows")
    words += option("--rows", str(rows)) if isinstance(rows, int) else []
    n = model.classifier.n_hypotheses
    return [*words, *(option("--hypotheses", str(n)) if n != USUAL_HYPOTHESES else [])]


# What came out best ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ComparedOn:
    """What a comparison was made on, for the lines that deploy what was best.

    ``path`` is the file, None for a named stream; ``start`` the rows it began with. ``model`` is the deployed
    model that it began with instead, which lies ``at`` a path. ``decisions`` are the options that say what
    is predicted, with their values.
    """

    path: str | None = None
    label: str | None = None
    drop: tuple[str, ...] = ()
    format: str | None = None
    hypotheses: int = USUAL_HYPOTHESES
    step: int = 1
    seed: int = 0
    model: Model | None = None
    at: str = MODEL
    decisions: tuple[str, ...] = ()

    @property
    def stream(self) -> str:
        """The stream, or a name that stands for it; standard input cannot be read again."""
        return STREAM if self.path in (None, "-") else str(self.path)


def next_lines(board: Board, on: ComparedOn) -> list[str]:
    """What to deploy of a comparison on one stream, and the lines to type; none if nothing can be."""
    able = [entry for entry in board.entries if entry.deployable and _can_fit(entry.name)]
    able = [entry for entry in able if entry.mean("accuracy") is not None]
    if not able:
        return []
    if on.decisions:  # accuracy is not what was asked for
        best = max(able, key=lambda entry: entry.mean("balanced_accuracy") or 0.0)
        said = f"To deploy {best.title}, the best of these in balanced accuracy:"
        return [said, *lines_for(best.name, on, board.start)]
    best = max(able, key=lambda entry: entry.accuracy)  # of equals the one that is listed first
    higher = "" if best in board.best() else " that a model's file can hold"
    said = f"To deploy {best.title}, the best of these{higher}:"
    near = {entry.name: entry for entry in (*board.best(), *board.level())}
    if ADAPTIVE in near and best.name != ADAPTIVE:
        best = near[ADAPTIVE]
        said = f"To deploy {best.title}, level with the best:"
    return [said, *lines_for(best.name, on, board.start)]


def next_lines_of(summary: Summary, on: ComparedOn) -> list[str]:
    """The same for the best mean rank on many streams, with names that stand for a stream of one's own."""
    able = [name for name in summary.names if summary.deployable(name) and _can_fit(name)]
    if not able or summary.mean_rank(able[0]) is None:
        return []
    title = next(p.title for board in summary.boards for p in board.entries if p.name == able[0])
    said = f"To deploy {title}, the best mean rank of those that a model's file can hold, on your stream:"
    return [said, *lines_for(able[0], on, 0)]


def lines_for(method: str, on: ComparedOn, start: int) -> list[str]:
    """The lines that fit and adapt a model of a method, indented."""
    if on.model is not None:
        changes = _changes(method, on.model)
        if changes is not None:
            return [f"  {_goes_on(method, on, on.at, [*changes, *on.decisions], 0)}"]
        fit = [*_reading_of(on.model), *_method_words(method), *on.decisions]
        path, out = fitted_on(on.model), MODEL
        return [f"  {fit_line(path, fit, out)}", f"  {_goes_on(method, on, out, [], 0)}"]
    fit = [
        *option("--label", LABEL if on.label is None else on.label),
        *option("--drop", *on.drop),
        *(option("--format", on.format) if on.format is not None and on.path != "-" else []),
        *(option("--rows", str(start)) if start else []),
        *(option("--hypotheses", str(on.hypotheses)) if on.hypotheses != USUAL_HYPOTHESES else []),
        *_method_words(method),
        *on.decisions,
        *(option("--seed", str(on.seed)) if on.seed else []),
    ]
    first = on.stream if start else TRAINING_FILE
    return [f"  {fit_line(first, fit)}", f"  {_goes_on(method, on, MODEL, [], start)}"]


def _goes_on(method: str, on: ComparedOn, model: str, words: list[str], start: int) -> str:
    """The line that uses a model on the stream: adapt, or predict where it does not learn."""
    format_ = option("--format", on.format) if on.format is not None and on.path != "-" else []
    unknown = on.model is not None and on.model.schema is None
    drop = option("--drop", *on.drop) if unknown else []
    if method == "static":
        return " ".join(["ocboost predict", quoted(model), quoted(on.stream), *words, *drop, *format_])
    label = option("--label", on.label) if on.model is not None and on.label is not None else []
    skip = option("--skip", str(start)) if start else []
    batch = option("--batch", str(on.step)) if on.step > 1 else []
    return adapt_line(model, on.stream, [*label, *drop, *words, *skip, *batch, *format_])


def _can_fit(method: str) -> bool:
    """Whether the command line makes models of a method, or has one."""
    if method in (ADAPTIVE, "static", "deployed"):
        return True
    try:
        booster_of(method)
    except UsageError:
        return False
    return True


def _method_words(method: str) -> list[str]:
    if method == ADAPTIVE:
        return []
    return option("--method", "ocb" if method == "static" else method)


def _changes(method: str, model: Model) -> list[str] | None:
    """The options by which a deployed model continues with a method; None where it cannot."""
    from ocboost.boosters.sketch.sketch import BoostingSketch
    from ocboost.estimators.classifier import OCBClassifier
    from ocboost.evaluation.first_rows import FULL_HISTORY

    clf = model.classifier
    if method in ("static", "deployed"):
        return []
    if not isinstance(clf, OCBClassifier) or method == ADAPTIVE:
        return [] if method == ADAPTIVE and not isinstance(clf, OCBClassifier) else None
    booster, grows = booster_of(method)
    kind = clf.committee_.kind
    if booster.load() is not kind or grows:
        return None
    if kind is not BoostingSketch:
        same = kind(1, **booster.settings).has_settings(clf.boosters_[0].given_settings)
        return [] if same else None
    wanted = {**FULL_HISTORY, **booster.settings}
    if all(getattr(clf, name) == value for name, value in wanted.items()):
        return []
    return option("--method", method) if booster.settings else ["--forgetting", "1", "--head", "auto"]
