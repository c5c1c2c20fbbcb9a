"""What the commands of ``ocboost cascade`` share: windows read with a progress bar, tables, Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ocboost.cli.terminal import say, steps_progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console

    from ocboost.cascade import Cascade


def read_windows(option: str, place: Path, cascade: Cascade) -> NDArray[np.uint8]:
    """The windows that an option names, of the cascade's size."""
    from ocboost.cascade.sources import windows_in

    with steps_progress("reading") as step:
        return windows_in(
            place,
            cascade.width,
            cascade.height,
            name=option,
            notify=say,
            progress=lambda done, total: step(option, done, total),
        )


def print_table(
    console: Console, title: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]
) -> None:
    """Print a table at its natural width."""
    from ocboost._report.tables import Row, Table, as_rich

    table = Table(title, columns, tuple(Row(cells) for cells in rows))
    console.print(as_rich(table, whole=True), crop=False)


def interrupted(out: Path) -> int:
    """Say that nothing was written; the exit code."""
    say(f"interrupted; nothing was written to '{out}'.")
    return 130
