"""What the commands of ``ocboost fleet`` share: their options, stores that are there, keys and tables."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ocboost.cli.options import no_option
from ocboost.cli.terminal import say
from ocboost.errors import FleetStoreError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ocboost.fleet import Fleet

STORE_FILE = "data.mdb"  # of LMDB; known here, so that a wrong folder is told at once
KeyColumn = Annotated[
    str, Parameter(help="The column that says whose row it is: texts as they are written, or whole numbers.")
]
StoreFolder = Annotated[
    Path, Parameter(validator=no_option, help="The folder of the store, as `ocboost fleet adapt` made it.")
]
# A key may begin with a hyphen.
KeyName = Annotated[str, Parameter(allow_leading_hyphen=True, help="A key, as it is in the data.")]


@contextmanager
def opened_store(store: Path, *, read_only: bool) -> Iterator[Fleet]:
    """The fleet of a store that must be there; without an own error it would be made."""
    if not (store / STORE_FILE).is_file():
        what = "holds none" if store.is_dir() else "is a file" if store.exists() else "is not there"
        raise FleetStoreError(
            f"a store must be a folder that `ocboost fleet adapt` has made; '{store}' {what}. Give the one "
            "that it was told."
        )
    from ocboost.fleet import Fleet

    with Fleet(store=store, read_only=read_only) as fleet:
        yield fleet


def votes_of(fleet: Fleet, keys: Any, X: Any) -> NDArray[np.float64]:
    """The votes on rows; warnings about keys that cannot be read are said in one line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        votes = fleet.votes(keys, X)
    for text in dict.fromkeys(str(each.message) for each in caught):
        say(text)
    return votes


def as_bytes(key: str) -> bytes:
    """A key from the command line as it is in the store, even one that is not UTF-8."""
    return os.fsencode(key)


def as_text(key: bytes) -> str:
    r"""A key for people.

    >>> as_text("Zürich".encode()), as_text(b"\xff")
    ('Zürich', '\\xff')
    """
    return key.decode(errors="backslashreplace")


def share(value: float | None) -> str:
    """A share in percent; a dash where there is none."""
    return "–" if value is None or value != value else f"{value:.1%}"


def counted(n: int, one: str, many: str | None = None) -> str:
    """How many of something there are.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"1 {one}" if n == 1 else f"{n:,} {many or one + 's'}"


def facts_table(facts: Iterable[tuple[str, str]]) -> Any:
    """Names and facts, without lines."""
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, fact in facts:
        table.add_row(name, fact)
    return table
