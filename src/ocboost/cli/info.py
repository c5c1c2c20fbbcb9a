"""``ocboost info``: what is inside a model, the weights drawn."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from cyclopts import Parameter, validators

from ocboost.cli.terminal import results
from ocboost.shown import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ocboost.booster import Booster
    from ocboost.hypotheses import Stumps
    from ocboost.model import Model

WIDTH = 28
MOST_CLASSES = 5  # whose weights are drawn
MOST_EVENTS = 5


class Feature(NamedTuple):
    """What a feature is called: a column, and the category of it that the feature stands for."""

    column: str
    category: str | None = None


def info(model: Path, /, *, top: Annotated[int, Parameter(validator=validators.Number(gte=0))] = 20) -> int:
    """Show what is inside a model: its classes, its hypotheses and their weights, what it has been through.

    For example:
        ocboost info model.ocb

    All the weights:
        ocboost info model.ocb --top 1000

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
        so_far = f"right on {right:.1%} of {adaptation.learnt:,}" if right is not None else "no labels yet"
        where = f"A checkpoint of ocboost adapt after {adaptation.rows:,} rows, {so_far}"
        console.print(f"{where}; --resume goes on from it.", soft_wrap=True)
        console.print()
        _show_model(console, adaptation.model, model, top)
    elif kind in ("BoostingSketch", "OzaRussell"):
        import ocboost

        booster = getattr(ocboost, kind).load(model)
        console.print(f"{booster!r}, {booster.n_seen:,} examples seen", soft_wrap=True)
        console.print(_weights(booster.alpha, top))
    else:
        _show_hypotheses(console, kind, model, top)
    return 0


def _show_hypotheses(console: Any, kind: str, path: Path, top: int) -> None:
    from ocboost.hypotheses import Stumps, hypotheses_from_parts
    from ocboost.storage import load

    hypotheses = hypotheses_from_parts(kind, *load(path, kind), str(path))
    console.print(repr(hypotheses).strip("<>"), soft_wrap=True)
    if isinstance(hypotheses, Stumps):
        features = [Feature(f"x{i}") for i in range(hypotheses.n_features)]
        for j in range(min(top, len(hypotheses))):
            console.print(f"{j + 1:>6}  says yes if {describe(hypotheses, features, j)}", soft_wrap=True)


def _show_model(console: Any, model: Model, path: Path, top: int) -> None:
    from rich.table import Table

    from ocboost.hypotheses import Stumps

    clf = model.classifier
    facts = Table(show_header=False, box=None, pad_edge=False)
    facts.add_column(style="bold")
    facts.add_column(overflow="fold")
    for name, fact in _facts(model, path):
        facts.add_row(name, fact)
    console.print(facts)
    features = _features(model)
    n = len(clf.boosters_)
    for k, (alpha, columns) in list(enumerate(zip(clf.alpha_, clf.committee_.columns, strict=True)))[
        :MOST_CLASSES
    ]:
        label = shown(clf.classes_[1 if n == 1 else k])[:40]
        console.print()
        console.print(
            f"Weights for class {label}, the heaviest {min(top, alpha.size)} of {alpha.size}:",
            style="bold",
            soft_wrap=True,
        )
        words = None
        if isinstance(clf.hypotheses_, Stumps):
            words = [describe(clf.hypotheses_, features, j) for j in range(columns.start, columns.stop)]
        console.print(_weights(alpha, top, words))
    if n > MOST_CLASSES:
        console.print(f"\n… and {n - MOST_CLASSES:,} classes more")


def _facts(model: Model, path: Path) -> list[tuple[str, str]]:
    """What there is to say besides the weights."""
    clf = model.classifier
    classes = [shown(label)[:40] for label in clf.classes_[:20]]
    facts = [
        ("file", f"{path}, {path.stat().st_size:,} bytes"),
        ("classes", ", ".join(classes) + (f", … ({len(clf.classes_):,})" if len(clf.classes_) > 20 else "")),
        ("hypotheses", repr(clf.hypotheses_).strip("<>")),
        *_of_booster(clf.boosters_[0]),
    ]
    if clf.grower_ is not None:
        budget = clf.grower_.growth.budget
        facts.append(
            (
                "grows",
                f"up to {budget:,} hypotheses; {clf.n_grown_:,} have come, {clf.n_retired_:,} have gone",
            )
        )
    if model.schema is not None:
        columns = model.schema.columns
        texts = sum(column.kind == "category" for column in columns)
        reads = f"{len(columns):,} columns" + (f", {texts:,} of them categories" if texts else "")
        facts.append(("reads", f"{reads}; the label is {shown(model.schema.label)[:60]}"))
    if len(model.history) > MOST_EVENTS:
        facts.append(("…", f"{len(model.history) - MOST_EVENTS:,} events before"))
    for event in model.history[-MOST_EVENTS:]:
        accuracy, rows = event.get("accuracy"), event.get("rows")
        counted = f"{rows:,}" if isinstance(rows, int) else "some"
        right = f", right on {accuracy:.1%} before it learnt them" if isinstance(accuracy, float) else ""
        name, stream = shown(event.get("event", ""))[:20], shown(event.get("stream"))[:60]
        facts.append((name, f"{counted} rows of {stream}{right}"))
    return facts


def _of_booster(booster: Booster) -> list[tuple[str, str]]:
    """What weighs the hypotheses, and what it remembers."""
    from ocboost.boosters.registry import KINDS
    from ocboost.sketch import BoostingSketch

    if not isinstance(booster, BoostingSketch):
        settings = ", ".join(f"{name} {value}" for name, value in booster.chosen.items())
        title = KINDS[booster.kind].title
        return [
            ("booster", f"{title} ({settings})" if settings else title),
            ("has seen", f"{booster.n_seen:,} examples"),
        ]
    memory = f"the last {booster.head:,} examples and nothing else"
    if booster.keep == "heavy":
        kept = "those that weigh, and a sample of the others"
        memory = f"all examples in sums, up to {booster.head:,} by themselves: {kept}"
    elif booster.tail:
        memory = f"all examples in sums, up to {booster.head:,} recent ones exactly"
    if booster.forgetting < 1:
        half = math.log(0.5) / math.log(booster.forgetting)
        memory += f"; forgets half in {half:,.0f} (forgetting {booster.forgetting:g})"
    return [
        ("booster", "Online Coordinate Boosting"),
        ("remembers", f"{memory}; smoothing {booster.smoothing:g}"),
        ("has seen", f"{booster.n_seen:,} examples, and holds {booster.n_head:,}"),
    ]


def _features(model: Model) -> list[Feature]:
    if model.schema is not None:
        return [
            Feature(column.name, category)
            for column in model.schema.columns
            for category in (column.categories if column.kind == "category" else (None,))
        ]
    names = getattr(model.classifier, "feature_names_in_", None)
    if names is not None:
        return [Feature(str(name)) for name in names]
    return [Feature(f"x{i}") for i in range(model.classifier.n_features_in_)]


def _weights(alpha: NDArray[Any], top: int, words: list[str] | None = None) -> Any:
    """A table of the heaviest weights with a bar for each."""
    import numpy as np
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in ("j", "α"):
        table.add_column(heading, justify="right")
    table.add_column("", width=WIDTH)
    if words is not None:
        table.add_column("says yes if", overflow="fold")
    order = np.argsort(-np.abs(alpha), kind="stable")[:top]
    largest = float(np.abs(alpha).max()) or 1.0
    for j in order:
        length = round(WIDTH * abs(alpha[j]) / largest)
        bar = Text("█" * length, style="blue" if alpha[j] >= 0 else "red")
        table.add_row(str(j + 1), f"{alpha[j]:.3f}", bar, *([] if words is None else [words[j]]))
    return table


def describe(stumps: Stumps, features: list[Feature], j: int) -> str:
    """When a stump says yes, in words."""
    column, category = features[stumps.feature[j]]
    name, threshold = shown(column)[:60], float(stumps.threshold[j])
    below, missing = stumps.left[j] > 0, stumps.missing[j] > 0  # the answers: yes or no
    if math.isinf(threshold):
        known = below if threshold > 0 else not below
        return ("always" if known else "never") + ("" if known == missing else f", unless {name} is missing")
    if category is not None and 0.0 <= threshold < 1.0:
        return f"{name} {'is not' if below else 'is'} {shown(category)[:60]}"
    # A missing value counts as large unless the data said otherwise.
    if below:
        return f"{name} ≤ {threshold:.6g}{' or missing' if missing else ''}"
    return f"{name} > {threshold:.6g}{'' if missing else ', not missing'}"
