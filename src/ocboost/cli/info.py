"""``ocboost info``: what is inside a model, the weights drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocboost.cli.terminal import results

if TYPE_CHECKING:
    from ocboost.model import Model

MOST_ROWS = 20
WIDTH = 28


def info(model: Path, /, *, top: int = MOST_ROWS) -> int:
    """Show what is inside a model: its classes, its hypotheses and their weights, what it has been through.

    For example:  ocboost info model.ocb

    All the weights:  ocboost info model.ocb --top 1000

    Parameters
    ----------
    model
        A file that ocboost has saved: a model, a checkpoint, a classifier, a sketch or hypotheses.
    top
        Show so many of the heaviest weights for each class.
    """
    from ocboost.model import Model
    from ocboost.storage import kind_of

    console = results()
    kind = kind_of(model)
    if kind == "OCBClassifier":
        _show_model(console, Model.load(model), model, top)
    elif kind == "Adaptation":
        from ocboost.adaptation import Adaptation

        adaptation = Adaptation.load(model)
        right = adaptation.accuracy
        shown = f"right on {right:.1%}" if right is not None else "no labels yet"
        console.print(f"A checkpoint after {adaptation.rows:,} rows, {shown}.", soft_wrap=True)
        _show_model(console, adaptation.model, model, top)
    elif kind in ("BoostingSketch", "OzaRussell"):
        import ocboost

        booster = getattr(ocboost, kind).load(model)
        console.print(f"{booster!r}, {booster.n_seen:,} examples seen", soft_wrap=True, markup=False)
        console.print(_weights(booster.alpha, None, 0, top))
    else:
        from ocboost.hypotheses import hypotheses_from_parts
        from ocboost.storage import load

        console.print(repr(hypotheses_from_parts(kind, *load(model, kind), str(model))), markup=False)
    return 0


def _show_model(console: Any, model: Model, path: Path, top: int) -> None:
    from rich.table import Table

    clf = model.classifier
    facts = Table(show_header=False, box=None, pad_edge=False)
    facts.add_column(style="bold")
    facts.add_column(overflow="fold")
    booster = clf.boosters_[0]
    memory = (
        f"a window of {booster.head:,} examples"
        if not booster.tail
        else f"a head of {booster.head:,} examples"
    )
    forgetting = "nothing forgotten" if booster.forgetting == 1 else f"forgetting {booster.forgetting}"
    facts.add_row("file", f"{path}, {path.stat().st_size:,} bytes")
    facts.add_row(
        "classes", ", ".join(str(c) for c in clf.classes_[:20]) + (" …" if len(clf.classes_) > 20 else "")
    )
    facts.add_row("hypotheses", repr(clf.hypotheses_).strip("<>"))
    facts.add_row("remembers", f"{memory}, {forgetting}, smoothing {booster.smoothing:g}")
    facts.add_row("seen", f"{booster.n_seen:,} examples, {booster.n_head:,} of them kept exactly")
    if model.schema is not None:
        columns = model.schema.columns
        text = sum(column.kind == "category" for column in columns)
        facts.add_row("columns", f"{len(columns)}, {text} of them categories; label '{model.schema.label}'")
    for event in model.history[-5:]:
        accuracy = event.get("accuracy")
        right = f", right on {accuracy:.1%}" if isinstance(accuracy, float) else ""
        rows = event.get("rows")
        facts.add_row(
            str(event.get("event", ""))[:20], f"{str(event.get('stream'))[:60]}: {rows} rows{right}"
        )
    console.print(facts)
    names = _names(model)
    for k, (alpha, columns_) in enumerate(zip(clf.alpha_, clf._columns, strict=True)):
        which = "" if len(clf.boosters_) == 1 else f" for class {clf.classes_[k]}"
        console.print()
        console.print(f"Weights{which}, the heaviest {min(top, alpha.size)} of {alpha.size}:", style="bold")
        console.print(_weights(alpha, (clf.hypotheses_, names), columns_.start, top))
        if k == 4 and len(clf.boosters_) > 5:
            console.print(f"… and {len(clf.boosters_) - 5} more classes")
            break


def _names(model: Model) -> list[str]:
    if model.schema is not None:
        return list(model.schema.feature_names)
    names = getattr(model.classifier, "feature_names_in_", None)
    return (
        [str(n) for n in names]
        if names is not None
        else [f"x{i}" for i in range(model.classifier.n_features_in_)]
    )


def _weights(alpha: Any, described: tuple[Any, list[str]] | None, first: int, top: int) -> Any:
    """A table of the heaviest weights with a bar for each."""
    import numpy as np
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in ("j", "α"):
        table.add_column(heading, justify="right")
    table.add_column("")
    if described is not None:
        table.add_column("says yes if", overflow="fold")
    order = np.argsort(-np.abs(alpha), kind="stable")[: max(top, 0)]
    largest = float(np.abs(alpha).max()) or 1.0
    for j in order:
        length = round(WIDTH * abs(alpha[j]) / largest)
        bar = Text("█" * length, style="blue" if alpha[j] >= 0 else "red")
        words = [] if described is None else [Text(describe(described[0], described[1], first + int(j)))]
        table.add_row(str(j + 1), f"{alpha[j]:.3f}", bar, *words)
    return table


def describe(hypotheses: Any, names: list[str], j: int) -> str:
    """One hypothesis in words, where words are short enough."""
    from ocboost.hypotheses import Stumps

    if not isinstance(hypotheses, Stumps):
        return f"{type(hypotheses).__name__.lower()} {j + 1}"
    sign = "≤" if hypotheses.left[j] > 0 else ">"
    text = f"{names[hypotheses.feature[j]]} {sign} {hypotheses.threshold[j]:.6g}"
    # Missing counts as large unless the data said otherwise.
    return text + (" or missing" if hypotheses.missing[j] > 0 and sign == "≤" else "")
