"""What ``ocboost evaluate`` and ``ocboost compare`` do with a file: compare, show a table, write a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocboost._core.escaping import shown
from ocboost.cli.terminal import results, say, stream_progress
from ocboost.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from ocboost._report.tables import Table
    from ocboost.evaluation.board import Board
    from ocboost.evaluation.comparison import Comparison
    from ocboost.evaluation.methods import Method


def name_of(path: str | Path) -> str:
    """What a file is called in reports."""
    return "standard input" if str(path) == "-" else shown(Path(path).name)


def compare_on(
    open_it: Callable[[], AbstractContextManager[Any]],
    methods: Sequence[Method],
    settings: dict[str, Any],
    *,
    name: str,
    title: str,
    out: Path,
    files: Sequence[str],
    about: Callable[[Comparison, Any], dict[str, Any]],
    record: Callable[[Comparison, Board], dict[str, Any]],
    command: str = "",
    curves: Sequence[str] = ("accuracy",),
) -> int:
    """Let methods go through a file, show what they did, and write the report; gives the exit code.

    Parameters
    ----------
    open_it : callable
        Opens the stream.
    methods : sequence of Method
    settings : dict
        Of `compare_methods`.
    name, title : str
        What the stream is called, and the report.
    out, files
        The folder, and what is written into it.
    about : callable
        What was run, from the comparison and the stream.
    record : callable
        What results.json holds besides that, from the comparison and the board.
    command : str
        What made it.
    curves : sequence of str
        The metrics that curves are drawn of.
    """
    from ocboost._report.figures import require_matplotlib
    from ocboost._report.output import OutputFolder, to_json, versions
    from ocboost.evaluation.board import Board
    from ocboost.evaluation.comparison import compare_methods
    from ocboost.evaluation.report import files_of, headline, stream_report

    require_matplotlib()
    try:
        with OutputFolder(out, files) as folder:
            with open_it() as opened:
                read = list(opened.notes)
                for note in read:
                    say(note)
                with stream_progress("comparing") as show:
                    comparison = compare_methods(
                        opened, methods, **settings, progress=lambda what, done: show(opened, done, what)
                    )
            if comparison.result.n_scored == 0:
                if comparison.result.interrupted:
                    raise KeyboardInterrupt
                raise InputError(
                    "no labelled row is left to compare on; give a longer stream, or a smaller --start."
                )
            board = Board.of(name, [comparison], read, curves)
            made_with = versions("scikit-learn", "river", "pyarrow")
            run = about(comparison, opened)
            report = stream_report(board, {**run, **made_with}, name=name, command=command, file=True)
            made = files_of(title, report)
            made["results.json"] = to_json({"about": run, **record(comparison, board), "versions": made_with})
            folder.write({file: made[file] for file in files})
    except KeyboardInterrupt:
        say(f"interrupted; nothing was written to '{out}'.")
        return 130
    console = results(piped=160)
    show_board(console, board, name)
    console.print(headline(board), soft_wrap=True)
    for remark in comparison.result.notes:
        say(remark)
    console.print(f"Wrote {', '.join(files)} to {folder.path.resolve()}", soft_wrap=True, markup=False)
    return 130 if board.interrupted else 0


def show_board(console: Console, board: Board, title: str) -> None:
    """Show the table of a stream, on a narrow terminal with fewer columns."""
    from ocboost._report.tables import as_rich
    from ocboost.evaluation.tables import board_table, narrowed

    table = board_table(board, title)
    if not fits(console, table):
        table = narrowed(table, console.width)
    console.print(as_rich(table, whole=True), crop=False)


def fits(console: Console, table: Table) -> bool:
    """Whether a table is no wider than the terminal; a file is as wide as need be."""
    from ocboost._report.tables import width_of

    return not console.is_terminal or width_of(table) <= console.width
