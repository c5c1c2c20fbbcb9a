"""What ``ocboost compare`` and ``ocboost evaluate`` share: comparing, showing tables, writing reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ocboost._core.escaping import shown
from ocboost.cli.next_lines import ComparedOn, next_lines, next_lines_of
from ocboost.cli.terminal import results, say, steps_progress, stream_progress
from ocboost.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from ocboost._report.tables import Table
    from ocboost.evaluation.board import Board
    from ocboost.evaluation.comparison import Comparison
    from ocboost.evaluation.jobs import FinishedBoards
    from ocboost.evaluation.methods import Method

    Boards = tuple[dict[str, Board], dict[str, str]]

PAGE = "page.html"
REPORTS = ["report.html", "report.md", "results.json"]
CURVES = ["curves.png", "curves.svg"]
THRESHOLDS = ["thresholds.png", "thresholds.svg"]  # where there are two classes
FINISHED = ".finished"  # a folder within that of the report, for streams that are done
PACKAGES = ("scikit-learn", "river", "pyarrow")  # whose versions a report names


class Compared(NamedTuple):
    """The results on one stream, what was run, what results.json holds, and remarks for stderr.

    ``document`` is that of the page, if one is wanted.
    """

    board: Board
    about: dict[str, Any]
    record: dict[str, Any]
    remarks: Sequence[str]
    document: dict[str, Any] | None = None


def name_of(path: str | Path) -> str:
    """What a file is called in reports."""
    return "standard input" if str(path) == "-" else shown(Path(path).name)


def report_on(
    compare: Callable[[], Compared],
    *,
    name: str,
    title: str,
    out: Path,
    files: Sequence[str],
    command: str = "",
    file: bool,
    on: ComparedOn,
    page: Path | None = None,
) -> int:
    """Compare on one stream, show the table, write the report, and say what to type next; the exit code.

    ``page`` is where its page is written as well.
    """
    from ocboost._core.file_format import write_atomically
    from ocboost._report.output import OutputFolder, to_json, versions
    from ocboost._report.page import require_packages
    from ocboost.evaluation.report import files_of, headline, recall_lines, stream_report

    require_packages()
    try:
        with OutputFolder(out, files) as folder:
            board, about, record, remarks, document = compare()
            made_with = versions(*PACKAGES)
            report = stream_report(board, {**about, **made_with}, name=name, command=command, file=file)
            made = files_of(title, report)
            made["results.json"] = to_json({**record, "versions": made_with})
            if document is not None:
                made[PAGE] = _page_of(document)
            folder.write({each: made[each] for each in files if each in made})
            if page is not None and document is not None:
                write_atomically(page, made[PAGE])
            for each in set(files) - set(made):  # of an earlier run
                (folder.path / each).unlink(missing_ok=True)
    except KeyboardInterrupt:
        say(f"interrupted; nothing was written to '{out}'.")
        return 130
    console = results(piped=160)
    _show_board(console, board, name)
    console.print(headline(board), soft_wrap=True)
    for line in recall_lines(board):
        console.print(line, soft_wrap=True, markup=False)
    for remark in remarks:
        say(remark)
    console.print(
        f"Wrote {', '.join(each for each in files if each in made)} to {folder.path.resolve()}",
        soft_wrap=True,
        markup=False,
    )
    if page is not None:
        console.print(f"Wrote {shown(page)}", soft_wrap=True, markup=False)
    for line in next_lines(board, on):
        console.print(line, soft_wrap=True, markup=False)
    return 130 if board.interrupted else 0


def _page_of(document: dict[str, Any]) -> bytes:
    from ocboost._watch.page import one_file

    return one_file(document).encode(errors="backslashreplace")


def compared_on_file(
    open_it: Callable[[], AbstractContextManager[Any]],
    methods: Sequence[Method],
    settings: dict[str, Any],
    name: str,
    about: Callable[[Comparison, Any], dict[str, Any]],
    record: Callable[[Comparison, Board], dict[str, Any]],
    curves: Sequence[str] = ("accuracy",),
    *,
    thresholds: bool = False,
    page: str | None = None,
) -> Compared:
    """Compare on a file that `open_it` opens, in one pass; the settings are those of `compare_methods`.

    ``about`` says what was run, from the comparison and the opened stream; ``curves`` are metrics to draw;
    ``thresholds`` says whether to draw what other thresholds would give; ``page`` is the title of the page,
    if one is wanted.
    """
    from ocboost.evaluation.board import Board
    from ocboost.evaluation.comparison import compare_methods

    with open_it() as opened:
        notes = list(opened.notes)
        for note in notes:
            say(note)
        with stream_progress("comparing") as show:
            comparison = compare_methods(
                opened,
                methods,
                **settings,
                keep_models=page is not None,
                progress=lambda what, done: show(opened, done, what),
            )
    result = comparison.result
    if result.n_scored == 0:
        if result.interrupted:
            raise KeyboardInterrupt
        raise InputError("no labelled row is left to compare on; give a longer stream, or a smaller --start.")
    board = Board.of(name, [comparison], notes, curves, thresholds=thresholds)
    run = about(comparison, opened)
    document = None
    if page is not None:
        from ocboost.evaluation.watched import comparison_document

        document = comparison_document(
            comparison, board, title=page, label=run.get("label"), schema=opened.schema
        )
    return Compared(board, run, {"about": run, **record(comparison, board)}, result.notes, document)


@dataclass(frozen=True)
class NamedStreams:
    """How methods are compared on named streams; the settings are those of a `Task`, and seeds."""

    methods: Sequence[Method]
    settings: dict[str, Any]
    data: Path | None
    out: Path
    jobs: int | None
    command: str
    dask: str | None = None  # the address of a scheduler, whose cluster runs the tasks

    def boards(self, names: Sequence[str], finished: FinishedBoards | None = None) -> Boards:
        """The board of each stream, one task for each seed, and why there is none of the others."""
        from ocboost.evaluation.jobs import Task, boards_of

        methods = tuple(method.name for method in self.methods)
        own = {key: value for key, value in self.settings.items() if key != "seeds"}
        folder = None if self.data is None else str(self.data)

        def tasks_of(name: str) -> list[Task]:
            return [Task(name, seed, methods, folder, **own) for seed in range(self.settings["seeds"])]

        cores = os.cpu_count() or 1
        jobs = cores if self.jobs is None else self.jobs
        jobs = jobs if jobs > 0 else max(1, cores + 1 + jobs)
        run = None
        if self.dask is not None:
            from ocboost.evaluation.cluster_jobs import run_on_cluster

            run = partial(run_on_cluster, self.dask)

        with steps_progress("comparing") as progress:
            return boards_of(names, tasks_of, jobs=jobs, progress=progress, finished=finished, run=run)


def on_named_stream(name: str, run: NamedStreams) -> int:
    """Compare on one named stream; the exit code."""
    from ocboost.datasets.drift import stream_named

    stream = stream_named(name)
    reason = stream.missing(run.data)
    if reason is not None:
        raise InputError(f"the stream {name!r} is not available: {reason}.")

    def compare() -> Compared:
        boards, failed = run.boards([name])
        if failed:
            raise InputError(f"the stream {name!r} cannot be compared: {failed[name]}.")
        board = boards[name]
        about = {"hypotheses": run.settings["hypotheses"]}
        return Compared(board, about, {"command": run.command, **board.as_dict()}, board.notes)

    title, files = f"Methods on {stream.title}", [*REPORTS, *CURVES]
    return report_on(
        compare,
        name=stream.title,
        title=title,
        out=run.out,
        files=files,
        command=run.command,
        file=False,
        on=ComparedOn(hypotheses=run.settings["hypotheses"], step=run.settings["step"]),
    )


def on_all_streams(run: NamedStreams, *, cache: bool) -> int:
    """Compare on all streams that can be had, and write a summary; the exit code."""
    from ocboost._report.output import OutputFolder, to_json, versions
    from ocboost._report.page import require_packages
    from ocboost._report.tables import as_rich
    from ocboost.datasets.drift import STREAMS
    from ocboost.evaluation.jobs import FinishedBoards
    from ocboost.evaluation.report import duration, files_of, findings, summary_report
    from ocboost.evaluation.summary import Summary
    from ocboost.evaluation.tables import accuracy_table, rank_table

    require_packages()
    missing = {name: reason for name, stream in STREAMS.items() if (reason := stream.missing(run.data))}
    names = [name for name in STREAMS if name not in missing]
    for name, reason in missing.items():
        say(f"{name} is left out: {reason}.")
    figures = [f"{stem}.svg" for stem in ("behind", "ranks", *(f"stream-{name}" for name in names))]
    finished = FinishedBoards(run.out / FINISHED)
    if not cache:
        finished.clear()
        finished = FinishedBoards(None)
    try:
        with OutputFolder(run.out, [*REPORTS, *figures]) as folder:
            boards, failed = run.boards(names, finished)
            for name, reason in failed.items():
                say(f"{name} is left out: {reason}.")
            if not boards:
                raise InputError(
                    "at least one stream must be fit to compare on; none is. See the reasons above."
                )
            summary = Summary(list(boards.values()))
            left_out, made_with = {**missing, **failed}, versions(*PACKAGES)
            seconds = sum(board.seconds for board in summary.boards)
            about = {
                "hypotheses": run.settings["hypotheses"],
                "seeds": ", ".join(map(str, range(run.settings["seeds"]))),
                "time": f"{duration(seconds)}, summed over processes",
                **made_with,
            }
            blocks = summary_report(summary, command=run.command, skipped=left_out, about=about)
            files = files_of("Methods on streams", blocks, png=False)
            record = {
                "command": run.command,
                "left_out": left_out,
                "summary": summary.as_dict(),
                "streams": {name: board.as_dict(curves=False) for name, board in boards.items()},
                "versions": made_with,
            }
            folder.write({**files, "results.json": to_json(record)})
            finished.clear()
    except KeyboardInterrupt:
        left = "; streams that were done are kept for the next run" if finished.any() else ""
        say(f"interrupted; no report was written to '{run.out}'{left}.")
        return 130
    console = results(piped=200)
    for table in (accuracy_table(summary), rank_table(summary, {})):
        if _fits(console, table):
            console.print(as_rich(table, whole=True), crop=False)
        else:
            say(f"the terminal is too narrow for the table “{table.title}”; it is in report.md.")
    for sentence in findings(summary):
        console.print(sentence, soft_wrap=True)
    written = f"{', '.join(REPORTS)} and {sum(name.endswith('.svg') for name in files)} figures"
    console.print(f"Wrote {written} to {folder.path.resolve()}", soft_wrap=True, markup=False)
    on = ComparedOn(hypotheses=run.settings["hypotheses"], step=run.settings["step"])
    for line in next_lines_of(summary, on):
        console.print(line, soft_wrap=True, markup=False)
    return 0


def _show_board(console: Console, board: Board, title: str) -> None:
    """Show the table of a stream, on a narrow terminal with fewer columns."""
    from ocboost._report.tables import as_rich
    from ocboost.evaluation.tables import board_table, narrowed

    table = board_table(board, title)
    if not _fits(console, table):
        table = narrowed(table, console.width)
    console.print(as_rich(table, whole=True), crop=False)


def _fits(console: Console, table: Table) -> bool:
    """Whether a table is no wider than the terminal; a file is as wide as need be."""
    from ocboost._report.tables import width_of

    return not console.is_terminal or width_of(table) <= console.width
