"""An evaluation as a table: on a terminal, as plain text, and its cells for any other form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import MissingExtraError
from ..reporting.page import printable
from .metrics import LOSSES, METRICS
from .result import Result
from .wording import NONE, bytes_in_words, figure_of, time_of

if TYPE_CHECKING:
    from rich.table import Table

HEADS = {"accuracy": "accuracy", "balanced_accuracy": "balanced", "kappa": "kappa", "auc": "AUC"}
HEADS["log_loss"] = "log-loss"


LEAST = (
    "state",
    "balanced",
    "predict µs",
    "learn µs",
    "alarms",
    "log-loss",
    "kappa",
    "AUC",
    "",
)  # to leave out


@dataclass(frozen=True)
class Cell:
    """One cell: its text, and whether it is the best of its column."""

    text: str
    best: bool = False


def cells(result: Result) -> tuple[list[str], list[list[Cell]]]:
    """The heads of the columns, and a row of cells for each contender.

    The best of each metric are those that read the same as the very best.
    """
    heads = ["learner", *(HEADS[metric] for metric in METRICS), "predict µs", "learn µs", "state"]
    columns = [[Cell(printable(standing.name, 60)) for standing in result.standings]]
    for metric in METRICS:
        values = [standing.metrics[metric] for standing in result.standings]
        known = [value for value in values if value is not None]
        texts = [figure_of(value) for value in values]
        top = None
        if known and len(result.standings) > 1:
            top = figure_of(min(known) if metric in LOSSES else max(known))
        columns.append([Cell(text, text == top) for text in texts])
    columns.append([Cell(time_of(standing.predict_us)) for standing in result.standings])
    columns.append([Cell(time_of(standing.learn_us)) for standing in result.standings])
    columns.append([Cell(bytes_in_words(standing.nbytes)) for standing in result.standings])
    if result.settings["drift"]:
        heads.append("alarms")
        columns.append([Cell(f"{len(standing.alarms):,}") for standing in result.standings])
    return heads, [list(row) for row in zip(*columns, strict=True)]


def caption(result: Result) -> str:
    """What the table is about, in a sentence or two."""
    settings = result.settings
    parts = [f"{result.n_scored:,} of {result.n_predicted:,} rows scored"]
    parts.append("predicted one by one" if settings["step"] == 1 else f"in steps of {settings['step']:,}")
    if settings["delay"]:
        parts.append(f"labels {settings['delay']:,} rows late")
    parts.append(f"weak answers {time_of(result.answers_us)} µs a row, shared")
    if result.peak_bytes is not None:
        parts.append(f"peak memory {bytes_in_words(result.peak_bytes)}")
    return "; ".join(parts) + "."


def as_table(result: Result, *, title: str = "Prequential evaluation", width: int | None = None) -> Table:
    """A rich table, the best of each metric in bold.

    With a ``width`` columns that do not fit are left out, first those that say least: names stay whole.

    Raises
    ------
    MissingExtraError
        If rich is not installed; `as_text` needs nothing.
    """
    try:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text
    except ModuleNotFoundError as error:
        raise MissingExtraError("rich", "cli", "Drawing tables") from error

    heads, rows = cells(result)
    heads, rows = _narrowed(heads, rows, width)
    table = Table(
        title=Text(printable(title)),
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        title_justify="left",
        title_style="bold",
        caption=Text(caption(result)),
        caption_justify="left",
    )
    for rank, head in enumerate(heads):
        if rank == 0:
            table.add_column(head, no_wrap=True)
        else:
            table.add_column(head.replace(" ", "\n"), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell.text, style="bold" if cell.best else "") for cell in row))
    return table


def _narrowed(
    heads: list[str], rows: list[list[Cell]], width: int | None
) -> tuple[list[str], list[list[Cell]]]:
    """Leave out columns until the table is not wider than that."""
    for less in LEAST:
        wide = [
            max(len(word) for word in [*(head.split(" ") if k else [head]), *(row[k].text for row in rows)])
            for k, head in enumerate(heads)
        ]
        if width is None or sum(wide) + 2 * len(wide) <= width:
            break
        if less in heads:
            k = heads.index(less)
            heads, rows = heads[:k] + heads[k + 1 :], [row[:k] + row[k + 1 :] for row in rows]
    return heads, rows


def as_text(result: Result, *, title: str = "Prequential evaluation") -> str:
    """The same table in plain text; a star stands behind the best of each metric."""
    heads, rows = cells(result)
    lines = [heads] + [[cell.text + ("*" if cell.best else "") for cell in row] for row in rows]
    starred = [any(row[k].best for row in rows) for k in range(len(heads))]
    lines = [
        [text + " " if starred[k] and not text.endswith("*") else text for k, text in enumerate(line)]
        for line in lines
    ]
    widths = [max(len(line[k]) for line in lines) for k in range(len(heads))]
    written = []
    for first, *others in lines:
        figures = (text.rjust(width) for text, width in zip(others, widths[1:], strict=True))
        written.append("  ".join([first.ljust(widths[0]), *figures]).rstrip())
    rule = "-" * max(len(line) for line in written)
    legend = f"* best; {NONE} not defined. " if any(starred) else ""
    return (
        "\n".join([printable(title), "", written[0], rule, *written[1:], "", legend + caption(result)]) + "\n"
    )
