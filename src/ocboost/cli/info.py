"""``ocboost info``: what is inside a model, the weights drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from cyclopts import Parameter, validators

from ocboost._core.escaping import shown
from ocboost.cli.terminal import results

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ocboost._core.kinds import Kind
    from ocboost.boosters.base import Booster
    from ocboost.deployment.adaptation import Adaptation
    from ocboost.deployment.model import Model
    from ocboost.hypotheses import Hypotheses, Stumps
    from ocboost.lineage import FilterBoost
    from ocboost.offsets import Offset
    from ocboost.paper.cache import OldEntry

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
        A file that ocboost has saved: a model, a checkpoint, a classifier, a sketch or another booster,
        hypotheses, a FilterBoost.
    top
        Show so many of the heaviest weights for each class.
    """
    from ocboost._core.kinds import BOOSTER, HYPOTHESES, OFFSET

    console = results()
    kind, thing = held(model)
    show: dict[str, Callable[[Any, Any, Path, int], None]] = {
        "model": _show_model,
        "checkpoint": _show_checkpoint,
        "filterboost": _show_filterboost,
        BOOSTER: _show_booster,
        HYPOTHESES: _show_hypotheses,
        OFFSET: _show_offset,
        "cache entry": _show_entry,
    }
    show[kind.axis](console, thing, model, top)
    return 0


def held(path: Path) -> tuple[Kind, Any]:
    """What a file holds, whatever it is; what it leaves out to be given again need not be known here."""
    from ocboost._core.codec import read
    from ocboost._core.kinds import known
    from ocboost._core.storage import load_any
    from ocboost.offsets.base import LEFT_OUT

    name, tree = load_any(path)
    kind = known(name, None, str(path))
    given: dict[str, Any] = {}
    settings, committee = (
        found if isinstance(found := tree.get(key), dict) else {} for key in ("settings", "committee")
    )
    if kind.axis == "filterboost" and "estimator" not in settings:
        given["estimator"] = "stump"
    if kind.axis == "model" and committee.get("offset") == LEFT_OUT:
        given["offset"] = abs
    return kind, read(tree, str(path), lambda fields: kind.load().from_tree(fields, **given))


def _show_booster(console: Any, booster: Booster, path: Path, top: int) -> None:
    console.print(f"{booster!r}, {booster.n_seen:,} examples seen", soft_wrap=True)
    console.print(_weights(booster.alpha, top))


def _show_hypotheses(console: Any, hypotheses: Hypotheses, path: Path, top: int) -> None:
    from ocboost.hypotheses import Stumps

    console.print(repr(hypotheses).strip("<>"), soft_wrap=True)
    if isinstance(hypotheses, Stumps):
        features = [Feature(f"x{i}") for i in range(hypotheses.n_features)]
        for j in range(min(top, len(hypotheses))):
            console.print(f"{j + 1:>6}  says yes if {describe(hypotheses, features, j)}", soft_wrap=True)


def _show_offset(console: Any, offset: Offset, path: Path, top: int) -> None:
    from ocboost._core.kinds import KINDS

    console.print(f"An offset: {KINDS[offset.kind].title}. It is part of a model.", soft_wrap=True)


def _show_entry(console: Any, entry: OldEntry, path: Path, top: int) -> None:
    size = f"{path.stat().st_size:,} bytes"
    console.print(f"A cached result of an earlier version, {size}. It can be deleted.", soft_wrap=True)


def _show_checkpoint(console: Any, adaptation: Adaptation, path: Path, top: int) -> None:
    right = adaptation.accuracy
    so_far = f"right on {right:.1%} of {adaptation.learnt:,}" if right is not None else "no labels yet"
    where = f"A checkpoint of ocboost adapt after {adaptation.rows:,} rows, {so_far}"
    console.print(f"{where}; --resume goes on from it.", soft_wrap=True)
    console.print()
    _show_model(console, adaptation.model, path, top)


def _show_model(console: Any, model: Model, path: Path, top: int) -> None:
    clf = model.classifier
    _show_facts(console, _facts(model, path))
    own = [(clf.hypotheses_, columns.start) for columns in clf.committee_.columns]
    _show_weights(console, clf, own, _features(model), top)


def _show_filterboost(console: Any, clf: FilterBoost, path: Path, top: int) -> None:
    found, rounds = [len(alpha) for alpha in clf.alpha_], clf.rounds_
    kinds = {repr(own).strip("<>") for own in clf.hypotheses_ if own is not None}
    each = "" if len(found) == 1 else " for each class"
    facts = [
        *_file_and_classes(clf, path),
        ("booster", "FilterBoost: it filters a stream for examples that it finds hard"),
        ("hypotheses", "; ".join(sorted(kinds)[:MOST_CLASSES]) or "none found yet"),
        ("rounds", f"{_listed(rounds)} finished{each}, {_listed(found)} of {clf.n_hypotheses:,} found"),
        ("has seen", f"{clf.n_seen_:,} examples, and let {_listed(clf.n_accepted_)} through"),
    ]
    for name, fact in (("ended", clf.stopped_), ("waits", clf.waiting_)):
        if fact is not None:
            facts.append((name, shown(fact)[:200]))
    _show_facts(console, facts)
    _show_weights(console, clf, [(own, 0) for own in clf.hypotheses_], _named_features(clf), top)


def _listed(numbers: list[int]) -> str:
    few = ", ".join(f"{number:,}" for number in numbers[:MOST_CLASSES])
    return few + (", …" if len(numbers) > MOST_CLASSES else "")


def _show_facts(console: Any, facts: list[tuple[str, str]]) -> None:
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, fact in facts:
        table.add_row(name, fact)
    console.print(table)


def _show_weights(
    console: Any, clf: Any, own: Sequence[tuple[Hypotheses | None, int]], features: list[Feature], top: int
) -> None:
    """The weights of each class; ``own`` has its hypotheses, and where its first one is among them."""
    from ocboost.hypotheses import Stumps

    n = len(own)
    for k, (alpha, (hypotheses, first)) in enumerate(zip(clf.alpha_[:MOST_CLASSES], own, strict=False)):
        if not alpha.size:
            continue
        label = shown(clf.classes_[1 if n == 1 else k])[:40]
        console.print()
        console.print(
            f"Weights for class {label}, the heaviest {min(top, alpha.size)} of {alpha.size}:",
            style="bold",
            soft_wrap=True,
        )
        words = None
        if isinstance(hypotheses, Stumps):
            words = [describe(hypotheses, features, j) for j in range(first, first + alpha.size)]
        console.print(_weights(alpha, top, words))
    if n > MOST_CLASSES:
        console.print(f"\n… and {n - MOST_CLASSES:,} classes more")


def _file_and_classes(clf: Any, path: Path) -> list[tuple[str, str]]:
    classes = [shown(label)[:40] for label in clf.classes_[:20]]
    return [
        ("file", f"{path}, {path.stat().st_size:,} bytes"),
        ("classes", ", ".join(classes) + (f", … ({len(clf.classes_):,})" if len(clf.classes_) > 20 else "")),
    ]


def _facts(model: Model, path: Path) -> list[tuple[str, str]]:
    """What there is to say besides the weights."""
    from ocboost._core.kinds import KINDS

    clf = model.classifier
    facts = [
        *_file_and_classes(clf, path),
        ("hypotheses", repr(clf.hypotheses_).strip("<>")),
        *_of_booster(clf.boosters_[0]),
    ]
    offset = clf.committee_.offset
    if offset is not None:
        known = KINDS.get(offset.kind)
        facts.append(("offset", "not in the file: it is given to load it" if known is None else known.title))
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
    from ocboost._core.kinds import KINDS
    from ocboost.boosters.sketch.sketch import BoostingSketch

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
    return _named_features(model.classifier)


def _named_features(clf: Any) -> list[Feature]:
    names = getattr(clf, "feature_names_in_", None)
    if names is not None:
        return [Feature(str(name)) for name in names]
    return [Feature(f"x{i}") for i in range(clf.n_features_in_)]


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
