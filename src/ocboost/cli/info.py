"""``ocboost info``: what is inside a model, with a bar for each weight."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, validators

from ocboost._core.escaping import shown
from ocboost._core.kinds import BOOSTER, CASCADE_ADAPTER, FOREIGN, HYPOTHESES, KINDS, OFFSET, known
from ocboost.cli.files import require_files
from ocboost.cli.terminal import results

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ocboost._core.kinds import Kind
    from ocboost.boosters.base import Booster
    from ocboost.cascade import CascadeAdapter
    from ocboost.deployment.adaptation import Adaptation
    from ocboost.deployment.model import Model
    from ocboost.estimators.adaptive.classifier import AdaptiveClassifier
    from ocboost.estimators.classifier import OCBClassifier
    from ocboost.hypotheses import Hypotheses
    from ocboost.hypotheses.describe import NamedFeatures
    from ocboost.lineage import FilterBoost
    from ocboost.offsets import Offset
    from ocboost.paper.cache import OldEntry

BAR_WIDTH = 28
MAX_CLASSES_DRAWN = 5
MAX_CLASSES_NAMED = 20
MAX_EVENTS_SHOWN = 5


def info(model: Path, /, *, top: Annotated[int, Parameter(validator=validators.Number(gte=0))] = 20) -> int:
    """Show what is inside a model: its classes, its members or weights, its history.

    For example:
        ocboost info model.ocb

    All the weights, or all members of an adaptive model:
        ocboost info model.ocb --top 1000

    Parameters
    ----------
    model
        A file that ocboost has saved: a model, a checkpoint, a classifier, a sketch or another booster,
        hypotheses, a FilterBoost, an adapter of a cascade.
    top
        Show so many of the largest weights for each class, or of the members with the largest shares.
    """
    require_files(model)

    from rich.table import Table

    console = results()
    kind, thing = load_saved(model)
    for part in CONTENTS[kind.axis](thing, model, top):
        console.print(part, soft_wrap=not isinstance(part, Table))
    return 0


def load_saved(path: Path) -> tuple[Kind, Any]:
    """The kind of what a file holds, and the object; a placeholder stands for what the file leaves out."""
    from ocboost._core.codec import read
    from ocboost._core.file_format import load_any
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


def _model(model: Model, path: Path, top: int) -> Iterator[Any]:
    from ocboost.cli.decisions import said_of
    from ocboost.estimators.classifier import OCBClassifier
    from ocboost.hypotheses.describe import features_of

    clf = model.classifier
    yield _facts_table([*_file_and_classes(clf, path), *_model_facts(model), *said_of(clf).items()])
    if not isinstance(clf, OCBClassifier):
        yield from _members(clf, top)
        return
    own = [(clf.hypotheses_, columns.start) for columns in clf.committee_.columns]
    yield from _weights_of_classes(clf, own, features_of(clf, model.schema), top)


def _checkpoint(run: Adaptation, path: Path, top: int) -> Iterator[Any]:
    so_far = "no labels yet" if run.accuracy is None else f"right on {run.accuracy:.1%} of {run.learnt:,}"
    yield f"A checkpoint of ocboost adapt after {run.rows:,} rows, {so_far}; --resume continues from it."
    yield ""
    yield from _model(run.model, path, top)


def _filterboost(clf: FilterBoost, path: Path, top: int) -> Iterator[Any]:
    from ocboost.hypotheses.describe import features_of

    found, rounds = [len(alpha) for alpha in clf.alpha_], clf.rounds_
    kinds = {repr(own).strip("<>") for own in clf.hypotheses_ if own is not None}
    each = "" if len(found) == 1 else " for each class"
    facts = [
        *_file_and_classes(clf, path),
        ("booster", "FilterBoost: it filters a stream for examples that it finds hard"),
        ("hypotheses", "; ".join(sorted(kinds)[:MAX_CLASSES_DRAWN]) or "none found yet"),
        ("rounds", f"{_listed(rounds)} finished{each}, {_listed(found)} of {clf.n_hypotheses:,} found"),
        ("has seen", f"{clf.n_seen_:,} examples, and let {_listed(clf.n_accepted_)} through"),
    ]
    for name, fact in (("ended", clf.stopped_), ("waits", clf.waiting_)):
        if fact is not None:
            facts.append((name, shown(fact)[:200]))
    yield _facts_table(facts)
    yield from _weights_of_classes(clf, [(own, 0) for own in clf.hypotheses_], features_of(clf), top)


def _booster(booster: Booster, path: Path, top: int) -> Iterator[Any]:
    yield f"{booster!r}, {booster.n_seen:,} examples seen"
    yield _weights_table(booster.alpha, top)


def _hypotheses(hypotheses: Hypotheses, path: Path, top: int) -> Iterator[Any]:
    from ocboost.hypotheses.describe import NamedFeatures, in_words

    yield repr(hypotheses).strip("<>")
    named = NamedFeatures.of_names([f"x{i}" for i in range(hypotheses.n_features)])
    for j in range(min(top, len(hypotheses))):
        yield f"{j + 1:>6}  says yes if {in_words(hypotheses, named.features, j)}"


def _offset(offset: Offset, path: Path, top: int) -> Iterator[Any]:
    yield f"An offset: {KINDS[offset.kind].title}. It is part of a model."


def _foreign(part: Any, path: Path, top: int) -> Iterator[Any]:
    yield f"A part of a fitted model: {KINDS[part.kind].title}."


def _cascade_adapter(adapter: CascadeAdapter, path: Path, top: int) -> Iterator[Any]:
    yield _facts_table([("file", f"{path}, {path.stat().st_size:,} bytes"), *adapter.facts().items()])


def _cache_entry(entry: OldEntry, path: Path, top: int) -> Iterator[Any]:
    yield f"A cached result of an earlier version, {path.stat().st_size:,} bytes. It can be deleted."


# What to print for each kind of file: texts and tables.
CONTENTS: dict[str, Callable[[Any, Path, int], Iterator[Any]]] = {
    "model": _model,
    "checkpoint": _checkpoint,
    "filterboost": _filterboost,
    BOOSTER: _booster,
    HYPOTHESES: _hypotheses,
    OFFSET: _offset,
    FOREIGN: _foreign,
    CASCADE_ADAPTER: _cascade_adapter,
    "cache entry": _cache_entry,
}


def _listed(numbers: list[int]) -> str:
    few = ", ".join(f"{number:,}" for number in numbers[:MAX_CLASSES_DRAWN])
    return few + (", …" if len(numbers) > MAX_CLASSES_DRAWN else "")


def _facts_table(facts: list[tuple[str, str]]) -> Any:
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, fact in facts:
        table.add_row(name, fact)
    return table


def _file_and_classes(clf: Any, path: Path) -> list[tuple[str, str]]:
    n = len(clf.classes_)
    classes = ", ".join(shown(label)[:40] for label in clf.classes_[:MAX_CLASSES_NAMED])
    return [
        ("file", f"{path}, {path.stat().st_size:,} bytes"),
        ("classes", classes + (f", … ({n:,})" if n > MAX_CLASSES_NAMED else "")),
    ]


def _model_facts(model: Model) -> list[tuple[str, str]]:
    from ocboost.estimators.classifier import OCBClassifier

    clf = model.classifier
    if isinstance(clf, OCBClassifier):
        facts = _weighing_facts(clf)
    else:
        pool = clf.bank_.pool
        facts = [
            ("classifier", "adaptive: many members, mixed as they prove right"),
            *_adopted_facts(clf),
            ("hypotheses", "none found yet" if pool is None else repr(pool.hypotheses).strip("<>")),
            *([] if pool is None else _growth_facts(pool.driver)),
            ("has learnt", f"{clf.n_learnt_:,} rows"),
            ("waiting", f"{clf.n_waiting_:,} predictions for their labels"),
            ("keeps", f"{clf.nbytes:,} bytes"),
        ]
    if model.schema is not None:
        columns, label = model.schema.columns, model.schema.label
        kinds = {"categories": "category", "dates": "date"}
        found = {title: sum(column.kind == kind for column in columns) for title, kind in kinds.items()}
        some = " and ".join(f"{n:,} of them {title}" for title, n in found.items() if n)
        reads = f"{len(model.schema.column_names):,} columns" + (f", {some}" if some else "")
        facts.append(("reads", reads if label is None else f"{reads}; the label is {shown(label)[:60]}"))
    if len(model.history) > MAX_EVENTS_SHOWN:
        facts.append(("…", f"{len(model.history) - MAX_EVENTS_SHOWN:,} events before"))
    facts += [_event_fact(event) for event in model.history[-MAX_EVENTS_SHOWN:]]
    return facts


def _event_fact(event: dict[str, Any]) -> tuple[str, str]:
    """What was done, and with how much of what."""
    name, learnt = shown(event.get("event", ""))[:20], event.get("learnt")
    if "stream" not in event:  # a log in a broker, or other settings
        return name, f"{learnt:,} labels learnt" if isinstance(learnt, int) else ""
    accuracy, rows = event.get("accuracy"), event.get("rows")
    counted = f"{rows:,}" if isinstance(rows, int) else "some"
    right = f", right on {accuracy:.1%} before it learnt them" if isinstance(accuracy, float) else ""
    return name, f"{counted} rows of {shown(event['stream'])[:60]}{right}"


def _adopted_facts(clf: AdaptiveClassifier) -> list[tuple[str, str]]:
    """The model that it took over, if it did."""
    deployed = clf.bank_.deployed
    if deployed is None:
        return []
    alone = clf.bank_.untouched is not None
    what = "decides alone until the first label" if alone else "has become one of the members"
    return [("adopted", f"{shown(deployed.title)[:60]}, which {what}")]


def _weighing_facts(clf: OCBClassifier) -> list[tuple[str, str]]:
    """The hypotheses, and what weighs them."""
    facts = [("hypotheses", repr(clf.hypotheses_).strip("<>")), *_booster_facts(clf.boosters_[0])]
    offset = clf.committee_.offset
    if offset is not None:
        kind = KINDS.get(offset.kind)
        facts.append(("offset", "not in the file: it is given to load it" if kind is None else kind.title))
    return [*facts, *_growth_facts(clf)]


def _growth_facts(clf: OCBClassifier) -> list[tuple[str, str]]:
    """How its hypotheses come and go, if they do."""
    if clf.grower_ is None:
        return []
    counts = f"{clf.n_grown_:,} have come, {clf.n_retired_:,} have gone"
    return [("grows", f"up to {clf.grower_.growth.budget:,} hypotheses; {counts}")]


def _members(clf: AdaptiveClassifier, top: int) -> Iterator[Any]:
    """The members with their shares in the prediction, and how they have done lately."""
    from rich.table import Table
    from rich.text import Text

    members = clf.members_
    yield ""
    yield Text("Members, over about the last 1,000 labels:", style="bold")
    table = Table(box=None, pad_edge=False)
    table.add_column("member")
    for heading in ("share", "accuracy", "log-loss"):
        table.add_column(heading, justify="right")
    table.add_column("", width=BAR_WIDTH)
    largest = max((member.share for member in members), default=0.0) or 1.0
    for member in members[:top]:
        known = not math.isnan(member.accuracy)
        lately = (f"{member.accuracy:.1%}", f"{member.log_loss:.3f}") if known else ("–", "–")
        bar = Text("█" * round(BAR_WIDTH * member.share / largest), style="blue")
        table.add_row(member.name, f"{member.share:.1%}", *lately, bar)
    yield table
    if len(members) > top:
        yield f"… and {len(members) - top:,} members more"


def _booster_facts(booster: Booster) -> list[tuple[str, str]]:
    """The booster's name, and what it remembers."""
    from ocboost.boosters.sketch.sketch import BoostingSketch

    if not isinstance(booster, BoostingSketch):
        settings = ", ".join(f"{name} {value}" for name, value in booster.given_settings.items())
        title = KINDS[booster.kind].title
        return [
            ("booster", f"{title} ({settings})" if settings else title),
            ("has seen", f"{booster.n_seen:,} examples"),
        ]
    if booster.keep == "heavy":
        kept = "those with large weights, and a sample of the others"
        memory = f"all examples in sums, up to {booster.head:,} by themselves: {kept}"
    elif booster.tail:
        memory = f"all examples in sums, up to {booster.head:,} recent ones exactly"
    else:
        memory = f"the last {booster.head:,} examples and nothing else"
    if booster.forgetting < 1:
        half = math.log(0.5) / math.log(booster.forgetting)
        memory += f"; forgets half in {half:,.0f} (forgetting {booster.forgetting:g})"
    return [
        ("booster", "Online Coordinate Boosting"),
        ("remembers", f"{memory}; smoothing {booster.smoothing:g}"),
        ("has seen", f"{booster.n_seen:,} examples, and holds {booster.n_head:,}"),
    ]


def _weights_of_classes(
    clf: Any, own: Sequence[tuple[Hypotheses | None, int]], named: NamedFeatures, top: int
) -> Iterator[Any]:
    """The weights of each class; ``own`` has its hypotheses, and the index of its first one among them."""
    from rich.text import Text

    from ocboost.hypotheses.describe import in_words

    n = len(own)
    for k, (alpha, (hypotheses, first)) in enumerate(zip(clf.alpha_[:MAX_CLASSES_DRAWN], own, strict=False)):
        if not alpha.size:
            continue
        label = shown(clf.classes_[1 if n == 1 else k])[:40]
        yield ""
        heading = f"Weights for class {label}, the largest {min(top, alpha.size)} of {alpha.size}:"
        yield Text(heading, style="bold")
        words = None
        if hypotheses is not None:
            words = partial(in_words, hypotheses, named.features)
        yield _weights_table(alpha, top, words, first)
    if n > MAX_CLASSES_DRAWN:
        yield f"\n… and {n - MAX_CLASSES_DRAWN:,} classes more"


def _weights_table(
    alpha: NDArray[Any], top: int, words: Callable[[int], str] | None = None, first: int = 0
) -> Any:
    """A table of the largest weights, with a bar for each; hypothesis ``first`` has the first weight."""
    import numpy as np
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in ("j", "α"):
        table.add_column(heading, justify="right")
    table.add_column("", width=BAR_WIDTH)
    if words is not None:
        table.add_column("says yes if", overflow="fold")
    order = np.argsort(-np.abs(alpha), kind="stable")[:top]
    largest = float(np.abs(alpha).max()) or 1.0
    for j in order:
        length = round(BAR_WIDTH * abs(alpha[j]) / largest)
        bar = Text("█" * length, style="blue" if alpha[j] >= 0 else "red")
        table.add_row(str(j + 1), f"{alpha[j]:.3f}", bar, *([] if words is None else [words(first + int(j))]))
    return table
