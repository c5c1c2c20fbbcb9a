"""Tables of words and numbers, and how they look on a terminal, in Markdown and on a page."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING

from ocboost._report.page import printable, safe
from ocboost.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from rich.table import Table as RichTable

LONG = 24  # letters; longer cells are words, not numbers
TITLE = 76  # letters of a title that stand on one line, however narrow the table is
MANY = 12  # columns of a table that is crowded
_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|~"})


@dataclass(frozen=True)
class Row:
    """One row.

    Parameters
    ----------
    cells : tuple of str
        One for each column of its table.
    quiet : bool, default=False
        Somebody else's numbers beside ours: drawn dim, or slanted where there are no colours.
    """

    cells: tuple[str, ...]
    quiet: bool = False


@dataclass(frozen=True)
class Table:
    """A table whose first column is text and whose others are numbers.

    Parameters
    ----------
    title : str
        What is in it, above it.
    columns : tuple of str
        Their heads.
    rows : tuple of Row
    caption : str, default=""
        What a reader must know, below it.

    Examples
    --------
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


def as_rich(table: Table, *, whole: bool = False) -> RichTable:
    """The table for a terminal; nothing in it is taken for markup.

    Parameters
    ----------
    table : Table
    whole : bool, default=False
        Give it its natural width also where the terminal is narrower, so that no number is broken over
        lines; print it with ``crop=False``. Only the words of its heads stand below each other.

    Raises
    ------
    MissingExtraError
        If rich is not installed.
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
        drawn.width = max(natural, min(len(table.title), TITLE))
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

    def less(cells: tuple[str, ...]) -> tuple[str, ...]:
        return cells[:at] + cells[at + 1 :]

    rows = tuple(Row(less(row.cells), row.quiet) for row in table.rows)
    return Table(table.title, less(table.columns), rows, table.caption)


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


def as_html(table: Table) -> str:
    """The table as HTML that scrolls sideways where it is too wide; any text is only text.

    Columns of words break into lines, those of numbers do not; many columns stand closer together.
    """
    of_words = [
        any(len(cell) > LONG for cell in cells) for cells in zip(*(r.cells for r in table.rows), strict=True)
    ]
    kinds = [
        ' class="words"' if words and k else ""
        for k, words in enumerate(of_words or [False] * len(table.columns))
    ]
    heads = "".join(
        f'<th scope="col"{kind}>{safe(column)}</th>'
        for column, kind in zip(table.columns, kinds, strict=True)
    )
    body = ""
    for row in table.rows:
        first, *others = (safe(cell) for cell in row.cells)
        opened = '<tr class="quiet">' if row.quiet else "<tr>"
        cells = "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(others, kinds[1:], strict=True))
        body += f'\n{opened}<th scope="row">{first}</th>{cells}</tr>'
    below = f'\n<p class="small">{safe(table.caption, 1000)}</p>' if table.caption else ""
    dense = ' class="dense"' if len(table.columns) > MANY else ""
    return (
        f'<div class="wide"><table{dense}><caption>{safe(table.title)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}\n</tbody></table></div>{below}"
    )


def in_markdown(text: object, longest: int = 200) -> str:
    r"""Text in one line that Markdown shows as it is.

    >>> in_markdown("a|b <i> n_runs")
    'a\\|b \\<i\\> n\\_runs'
    """
    return printable(text, longest).translate(_MARKS)


def _piped(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
