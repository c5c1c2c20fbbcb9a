"""What ``ocboost adapt`` says on its way and at its end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ocboost._core.escaping import shown
from ocboost.cli.terminal import results

if TYPE_CHECKING:
    from ocboost.deployment.adaptation import Adaptation
    from ocboost.deployment.model import Model

NOTABLE_DROP = 0.03  # in accuracy, that is worth a hint
MAX_CLASSES_LISTED = 20
MAX_PROGRESS_CLASSES = 3  # whose recall stands beside the progress bar


def progress_of(run: Adaptation) -> str:
    """How often it was right so far, for a progress bar."""
    if run.accuracy is None or run.recent_accuracy is None:
        return ""
    text = f"right: {run.accuracy:.1%}, lately {run.recent_accuracy:.1%}"
    recalls = run.recalls[:MAX_PROGRESS_CLASSES]
    if len(recalls) < len(run.recalls):
        return text
    labels = run.model.classifier.classes_.tolist()
    each = (
        f"{label!s:.12} {recall:.0%}"
        for label, recall in zip(labels, recalls, strict=True)
        if recall is not None
    )
    return f"{text}; {', '.join(each)}"


def print_report(
    run: Adaptation, out: Path, bad_rows: Path, *, stderr: bool, page: Path | None = None
) -> None:
    """Print how often it was right, and what was left out; perhaps to standard error."""
    from rich.table import Table

    from ocboost._core.metrics import METRIC_TABLE
    from ocboost.deployment.adaptation import RECENT_PREDICTIONS

    console = results(stderr=stderr)
    classes = run.model.classifier.classes_.tolist()
    console.print("Each row was predicted, then learnt:")
    table = Table()
    table.add_column("class")
    for heading in ("rows", "right"):
        table.add_column(heading, justify="right")
    for code, label in enumerate(classes[:MAX_CLASSES_LISTED]):
        n, recall = run.confusion[code].sum(), run.recalls[code]
        table.add_row(shown(label), f"{n:,}", "–" if recall is None else f"{recall:.1%}")
    if len(classes) > MAX_CLASSES_LISTED:
        table.add_row(f"… {len(classes) - MAX_CLASSES_LISTED:,} more", "", "")
    accuracy, lately = run.accuracy, run.recent_accuracy
    table.add_row("all", f"{run.learnt:,}", f"{accuracy:.1%}" if accuracy is not None else "–", style="bold")
    console.print(table)
    values = run.tally.values()
    found = [
        f"{METRIC_TABLE[name].title} {value:.3f}"
        for name in ("balanced_accuracy", "f1", "pr_auc", "brier", "ece")
        if (value := values[name]) is not None
    ]
    if found:
        console.print(", ".join(found), soft_wrap=True)
    if accuracy is not None and lately is not None and run.learnt > RECENT_PREDICTIONS:
        console.print(f"Of the last {RECENT_PREDICTIONS:,} rows {lately:.1%} were right.", soft_wrap=True)
        if lately < accuracy - NOTABLE_DROP and _remembers_all(run.model):
            console.print(
                "That is less than before. If the stream changes, --window 200 or --forgetting 0.995 follows "
                "faster, and so does an adaptive model (fit without --method); `ocboost evaluate` compares "
                "them.",
                soft_wrap=True,
            )
    bad = sum(run.left_out.values())
    left_out = run.rows - run.first - run.learnt - bad
    if left_out:
        why = "no label, or one the model does not know," if run.leave_unseen else "no label"
        n, were = ("1 row", "was") if left_out == 1 else (f"{left_out:,} rows", "were")
        console.print(f"{n} had {why} and {were} not learnt.", soft_wrap=True)
    if bad:
        why = ", ".join(f"{n:,} {reason}" for reason, n in sorted(run.left_out.items()))
        n = "1 bad row was" if bad == 1 else f"{bad:,} bad rows were"
        where = "it is" if bad == 1 else "they are"
        console.print(f"{n} left out ({why}); {where} in {bad_rows}.", soft_wrap=True)
    console.print(f"Wrote {out}" + ("" if page is None else f" and {page}"), soft_wrap=True)


def _remembers_all(model: Model) -> bool:
    """Whether its weights are OCB's and forget nothing."""
    from ocboost.boosters.sketch.sketch import BoostingSketch
    from ocboost.estimators.classifier import OCBClassifier

    clf = model.classifier
    booster = clf.boosters_[0] if isinstance(clf, OCBClassifier) else None
    return isinstance(booster, BoostingSketch) and booster.tail and booster.forgetting == 1.0
