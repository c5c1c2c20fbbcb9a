"""Tables of words and numbers, and how they are written on a terminal, as text and as Markdown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from io import StringIO
from typing import TYPE_CHECKING

from ocboost._report.page import printable
from ocboost.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from rich.table import Table as RichTable

LETTERS_OF_NUMBERS = 24  # longer cells are words
MAX_TITLE_LETTERS = 76  # on one line, however narrow the table is
_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|~"})


@dataclass(frozen=True)
class Row:
    """One row; a quiet one holds somebody else's numbers, and is dim, or slanted where there is no colour."""

    cells: tuple[str, ...]
    quiet: bool = False


@dataclass(frozen=True)
class Table:
    """A table whose first column is text and whose others are numbers; its caption goes below it.

    >>> table = Table("Fruit", ("kind", "n"), (Row(("apple", "3")), Row(("elsewhere", "12"), quiet=True)))
    >>> print(as_markdown(table))
    **Fruit**
    <BLANKLINE>
    | kind | n |
    | :--- | ---: |
    | apple | 3 |
    | *elsewhere* | *12* |
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    caption: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise InputError(
                    f"each row of the table {self.title!r} must have {len(self.columns)} cells; "
                    f"got {len(row.cells)} in {row.cells!r:.80}. Give one for each column."
                )

    @property
    def columns_of_words(self) -> list[int]:
        """Those beyond the first with cells too long to be numbers."""
        columns = enumerate(zip(*(row.cells for row in self.rows), strict=True))
        return [k for k, cells in columns if k and any(len(cell) > LETTERS_OF_NUMBERS for cell in cells)]


def as_rich(table: Table, *, whole: bool = False) -> RichTable:
    """The table for a terminal; nothing in it is taken for markup.

    With ``whole`` it has its natural width also where the terminal is narrower, so that no number is broken
    over lines: print it with ``crop=False``. Heads then have one word on a line.
    """
    try:
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table as RichTable
        from rich.text import Text
    except ModuleNotFoundError as error:
        raise MissingExtraError("rich", "cli", "Drawing tables") from error

    drawn = RichTable(
        title=Text(printable(table.title)),
        title_justify="left",
        title_style="bold",
        caption=Text(printable(table.caption, 1000)) if table.caption else None,
        caption_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for rank, column in enumerate(table.columns):
        head = printable(column)
        drawn.add_column(
            Text(head.replace(" ", "\n") if whole and rank else head),
            justify="right" if rank else "left",
            no_wrap=whole or rank == 0,
            overflow="fold",  # a number without its end would be another number
        )
    for row in table.rows:
        style = "dim" if row.quiet else ""
        drawn.add_row(*(Text(printable(cell)) for cell in row.cells), style=style)
    if whole:
        natural = Console(width=10_000, file=StringIO()).measure(drawn).maximum
        drawn.width = max(natural, min(len(table.title), MAX_TITLE_LETTERS))
    return drawn


def width_of(table: Table) -> int:
    """How many columns of a terminal the whole table takes."""
    return as_rich(table, whole=True).width or 0


def without(table: Table, column: str) -> Table:
    """The same without a column, if it has it.

    >>> without(Table("Fruit", ("kind", "n"), (Row(("apple", "3")),)), "n").rows
    (Row(cells=('apple',), quiet=False),)
    """
    if column not in table.columns:
        return table
    at = table.columns.index(column)
    rows = tuple(Row(row.cells[:at] + row.cells[at + 1 :], row.quiet) for row in table.rows)
    return replace(table, columns=table.columns[:at] + table.columns[at + 1 :], rows=rows)


def as_text(table: Table) -> str:
    """The table in plain text, which needs nothing installed."""
    lines = [[printable(cell) for cell in cells] for cells in (table.columns, *(r.cells for r in table.rows))]
    widths = [max(len(line[k]) for line in lines) for k in range(len(table.columns))]
    written = []
    for first, *others in lines:
        figures = (text.rjust(width) for text, width in zip(others, widths[1:], strict=True))
        written.append("  ".join([first.ljust(widths[0]), *figures]).rstrip())
    rule = "-" * max(len(line) for line in written)
    below = ["", printable(table.caption, 1000)] if table.caption else []
    return "\n".join([printable(table.title), "", written[0], rule, *written[1:], *below]) + "\n"


def as_markdown(table: Table) -> str:
    """The table in GitHub's Markdown, its title above and its caption below; any text is only text."""
    columns = [in_markdown(column) for column in table.columns]
    lines = [
        f"**{in_markdown(table.title)}**",
        "",
        _piped(columns),
        _piped([":---", *["---:"] * (len(columns) - 1)]),
    ]
    for row in table.rows:
        cells = [in_markdown(cell.strip()) for cell in row.cells]
        lines.append(_piped([f"*{cell}*" if row.quiet and cell else cell for cell in cells]))
    if table.caption:
        lines += ["", in_markdown(table.caption, 1000)]
    return "\n".join(lines)


def in_markdown(text: object, longest: int = 200) -> str:
    r"""Text in one line that Markdown shows as it is.

    >>> in_markdown("a|b <i> n_runs")
    'a\\|b \\<i\\> n\\_runs'
    """
    return printable(text, longest).translate(_MARKS)


def _piped(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
