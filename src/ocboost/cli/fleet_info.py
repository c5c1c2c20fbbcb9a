"""``ocboost fleet info``: how a fleet does, and its keys."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, validators

from ocboost._core.escaping import shown
from ocboost.cli.fleet_shared import StoreFolder, as_text, counted, facts_table, opened_store, share
from ocboost.cli.fleet_sources import NAME, is_complete, rows_of
from ocboost.cli.terminal import results

if TYPE_CHECKING:
    from rich.table import Table

    from ocboost.fleet import Fleet, FleetInfo, KeyFacts

MAX_KEY_LETTERS = 40
SOURCES_SHOWN = 10


def info(
    store: StoreFolder, /, *, top: Annotated[int, Parameter(validator=validators.Number(gte=0))] = 10
) -> int:
    """Show how a fleet does: its keys, their accuracy beside the deployed model's, its size.

    For example:
        ocboost fleet info store/

    More of the keys that it is wrong about most often, and of those that have moved:
        ocboost fleet info store/ --top 50

    The store is only read, also while `ocboost fleet adapt` learns.

    Parameters
    ----------
    top
        Show so many keys in each table.
    """
    console = results()
    path = Path(store)
    with opened_store(path, read_only=True) as fleet:
        found = fleet.info()
        console.print(facts_table(_facts(fleet, found, path)), soft_wrap=True)
        if top and found.n_keys:
            tables = fleet.tables(top=top)
            console.print(_keys_table("Keys that were predicted worst lately", tables["worst"]), crop=False)
            console.print(_keys_table("Keys whose weights have moved most", tables["moved"]), crop=False)
        if found.sources:
            console.print(_sources_table(found.sources), crop=False)
    return 0


def _facts(fleet: Fleet, found: FleetInfo, path: Path) -> Iterable[tuple[str, str]]:
    classes = fleet.classifier.classes_.tolist()
    named = ", ".join(shown(label)[:40] for label in classes[:20])
    yield "store", f"{path}, {found.bytes:,} bytes"
    yield "classes", named + (f", … ({len(classes):,})" if len(classes) > 20 else "")
    yield "hypotheses", f"{found.n_hypotheses:,}, which all keys share"
    yield "remembers", f"the last {counted(found.window, 'row')} of each key"
    yield "keys", f"{found.n_keys:,}"
    if found.n_keys:
        yield "bytes a key", f"{found.bytes_per_key:,.0f}"
    yield "rows learnt", f"{found.rows:,}"
    if found.rows:
        yield "right", f"{share(found.accuracy)} of them, each predicted before it was learnt"
        yield "deployed model", f"{share(found.deployed_accuracy)} of the same rows"


def _keys_table(title: str, keys: Iterable[KeyFacts]) -> Table:
    rows = [
        (
            as_text(each.key)[:MAX_KEY_LETTERS],
            f"{each.rows:,}",
            share(each.accuracy),
            share(each.deployed_accuracy),
            share(each.moved),
            f"{each.bytes:,}",
        )
        for each in keys
    ]
    return _table(title, ("key", "rows", "right lately", "deployed model", "moved", "bytes"), rows)


def _sources_table(sources: dict[str, dict[str, Any]]) -> Table:
    """The last sources: their names, and how far they were learnt."""
    rows = []
    for name, facts in list(sources.items())[-SOURCES_SHOWN:]:
        ended = "yes" if is_complete(facts) else "not yet"
        rows.append((str(facts.get(NAME, name))[:60], f"{rows_of(facts):,}", ended))
    more = len(sources) - len(rows)
    title = "Sources" + (f" (and {more:,} before)" if more else "")
    return _table(title, ("source", "rows", "to its end"), rows)


def _table(title: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for place, heading in enumerate(columns):
        table.add_column(heading, justify="right" if place else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(shown, row))
    return table
