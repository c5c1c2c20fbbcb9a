"""What the commands of ``ocboost cascade`` share: windows read with a progress bar, tables, Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ocboost.cli.terminal import say, steps_progress
from ocboost.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console

    from ocboost.cascade import Cascade


PLACE_WORDS = {
    "faces": "a folder of windows, or an image",
    "others": "a folder of windows, or an image",
    "boxes": "a JSON file of COCO, or another file or folder with boxes",
    "images": "a folder of images, or a video",
}


def require_places(*detectors: Path, **options: Path | None) -> None:
    """Refuse inputs that are not there, before anything slow is imported."""
    for path in detectors:
        if not path.exists():
            raise InputError(
                f"path must be an XML file of a cascade; '{path}' does not exist. Check the name."
            )
    for name, place in options.items():
        if place is not None and not place.exists():
            raise InputError(
                f"--{name} must be {PLACE_WORDS[name]}; '{place}' does not exist. Check the name."
            )


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
