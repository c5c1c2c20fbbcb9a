"""``ocboost fit`` on a folder of files, which may be larger than memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocboost._core.escaping import shown
from ocboost.cli.decisions import DecisionOptions, decision_parameters
from ocboost.cli.files import check_out, place_of
from ocboost.cli.method import makes_adaptive, parameters_to_fit
from ocboost.cli.options import MethodOptions, UsageError
from ocboost.cli.terminal import after_writing, results, say, steps_progress

if TYPE_CHECKING:
    from ocboost.estimators.adaptive.classifier import AdaptiveClassifier
    from ocboost.estimators.classifier import OCBClassifier
    from ocboost.out_of_core import FolderFit

MAX_COUNTED = 100_000  # steps; of more, such as bytes, the share is shown
START_ROWS = 10_000  # the last ones, from which an adaptive model begins


@dataclass(frozen=True)
class FolderOptions:
    """What was asked for."""

    data: Path
    label: str
    out: Path
    drop: tuple[str, ...]
    hypotheses: int
    rows: int | None
    work: Path | None
    seed: int
    format: str | None


def work_folder_of(out: Path) -> Path:
    """Where a fit to ``out`` works, unless told otherwise; hidden, so that no other fit reads it as data."""
    place = place_of(out)
    return place.with_name(f".{place.name}.work")


def fit_from_folder(
    asked: FolderOptions, options: MethodOptions, decisions: DecisionOptions, others: Mapping[str, Any]
) -> int:
    """Fit a model on a folder of files; ``others`` are options that were given and are not for folders."""
    from ocboost._core.file_lock import locked
    from ocboost.deployment.model import Model

    settings = options.settings()
    adaptive = makes_adaptive(options)
    for name in others:
        raise UsageError(f"{name} is not for a folder of files, from which stumps are learnt. Leave it out.")
    parameters = {} if adaptive else parameters_to_fit(options.method or "ocb", settings, asked.hypotheses)
    if parameters.pop("booster", "ocb") != "ocb":
        raise UsageError(
            f"--method {options.method} learns example by example, and is not for a folder of files. Use "
            "--method ocb, or leave it out."
        )
    check_out(asked.out)
    decided = decisions.given()
    work = work_folder_of(asked.out) if asked.work is None else asked.work
    with after_writing("the model", asked.out) as written:
        # The work stays until the model is written.
        with (
            locked(asked.out),
            _fitted(asked, work, parameters, decided, adaptive=adaptive) as (found, first),
        ):
            rule = decision_parameters(decided, found.classifier.classes_.tolist())
            clf: OCBClassifier | AdaptiveClassifier = found.classifier
            if adaptive:
                clf = _adaptive(found, asked, rule)
            else:
                clf.set_params(**{name: value for name, value in parameters.items() if name not in first})
                found.classifier.follow_settings()
            event = {
                "event": "fit",
                "stream": shown(asked.data.name),
                "rows": found.n_read,
                "learnt": found.n_learnt,
            }
            if adaptive:
                given = {"drop": sorted(asked.drop), "seed": asked.seed}
                event |= {key: value for key, value in given.items() if value}
            Model(clf, found.classifier.schema_, [event]).save(asked.out)
            written()
        _report(found, clf, adaptive=adaptive)
        results().print(f"Wrote {asked.out}", soft_wrap=True)
    return 0


@contextmanager
def _fitted(
    asked: FolderOptions,
    work: Path,
    parameters: Mapping[str, Any],
    decided: Mapping[str, Any],
    *,
    adaptive: bool,
) -> Iterator[tuple[FolderFit, dict[str, Any]]]:
    """The fit itself, and those of the parameters that it took; others are for the stream that follows."""
    from ocboost.out_of_core.fit import folder_fit

    heavy = parameters.get("tail", True) and parameters.get("keep") != "newest" and not parameters.get("grow")
    names = ("smoothing", "head", "memory") if heavy and parameters.get("head") != 1 else ("smoothing",)
    first = {name: parameters[name] for name in names if name in parameters}
    balanced = not adaptive and decided.get("class_weight") == "balanced"
    resumes = [(work / "fit").exists()]
    with ExitStack() as until_written:
        try:
            with steps_progress("fitting") as show:

                def progress(what: str, done: float, total: int) -> None:
                    if resumes and resumes.pop():
                        say(f"going on from where an earlier fit was stopped, in '{work}'.")
                    show(what, float(done) if total > MAX_COUNTED else done, total)

                fit = folder_fit(
                    asked.data,
                    asked.label,
                    n_hypotheses=asked.hypotheses,
                    drop=asked.drop,
                    format=asked.format,
                    rows=asked.rows,
                    class_weight="balanced" if balanced else None,
                    decide=lambda classes: {} if adaptive else decision_parameters(decided, classes.tolist()),
                    work=work,
                    progress=progress,
                    on_notes=_say_all,
                    **first,
                )
                found = until_written.enter_context(fit)
            yield found, first
        except KeyboardInterrupt:
            if work.exists():
                say(f"stopped; what was done is kept in '{work}', and the same line goes on from there.")
            raise


def _say_all(notes: Iterable[str]) -> None:
    for note in notes:
        say(note)


def _adaptive(found: FolderFit, asked: FolderOptions, rule: dict[str, Any]) -> AdaptiveClassifier:
    """An adaptive model whose deployed member is what was found, begun on the last rows."""
    from ocboost.estimators.adaptive.classifier import AdaptiveClassifier

    X, y = found.last_rows(START_ROWS)
    return AdaptiveClassifier.from_fitted(
        found.classifier, X, y, n_hypotheses=asked.hypotheses, random_state=asked.seed, **rule
    )


def _report(found: FolderFit, clf: OCBClassifier | AdaptiveClassifier, *, adaptive: bool) -> None:
    """Print what was learnt."""
    console, n = results(), len(found.classifier.hypotheses_)
    stumps = f"{n:,} {'stump' if n == 1 else 'stumps'} for {len(clf.classes_):,} classes"
    rows = f"{found.n_learnt:,} rows of {found.classifier._n_encoded:,} features"
    console.print(f"Learnt {stumps} from {rows}; right on {found.accuracy:.1%} of them.", soft_wrap=True)
    if adaptive:
        console.print("They are the deployed member of an adaptive model.", soft_wrap=True)
    if found.n_read > found.n_learnt:
        left = found.n_read - found.n_learnt
        many = "1 row had no label and was" if left == 1 else f"{left:,} rows had no label and were"
        console.print(f"{many} left out.", soft_wrap=True)
