"""What ``ocboost compare`` does with streams that are known by their names: one of them, or all."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocboost.cli.compare_file import fits, show_board
from ocboost.cli.terminal import results, say, steps_progress
from ocboost.errors import InputError

if TYPE_CHECKING:
    from ocboost.evaluation.jobs import Task
    from ocboost.evaluation.methods import Method

FILES = ["report.html", "report.md", "results.json"]
KEPT = ".finished"  # a folder within that of the report


def one(
    name: str,
    methods: Sequence[Method],
    settings: dict[str, Any],
    *,
    data: Path | None,
    out: Path,
    jobs: int | None,
    command: str,
) -> int:
    """Compare on one stream; the exit code."""
    from ocboost._report.figures import require_matplotlib
    from ocboost._report.output import OutputFolder, to_json, versions
    from ocboost.datasets.drift import stream_named
    from ocboost.evaluation.jobs import Kept, boards_of
    from ocboost.evaluation.report import files_of, lead, stream_report

    require_matplotlib()
    stream = stream_named(name)
    _require(name, data)
    pictures = ["curves.png", "curves.svg"]
    try:
        with OutputFolder(out, [*FILES, *pictures]) as folder:
            with steps_progress("comparing") as told:
                tasks_of = _tasks(methods, settings, data)
                boards, failed = boards_of([name], tasks_of, jobs=_jobs(jobs), told=told, kept=Kept(None))
            if failed:
                raise InputError(f"the stream {name!r} cannot be compared: {failed[name]}.")
            board = boards[name]
            made_with = versions("scikit-learn", "river")
            about = {"hypotheses": settings["hypotheses"], **made_with}
            report = stream_report(board, about, name=stream.title, command=command, file=False)
            files = files_of(f"Methods on {stream.title}", report)
            files["results.json"] = to_json({"command": command, **board.as_dict(), "versions": made_with})
            folder.write(files)
    except KeyboardInterrupt:
        say(f"interrupted; nothing was written to '{out}'.")
        return 130
    console = results(piped=160)
    show_board(console, board, stream.title)
    console.print(lead(board), soft_wrap=True)
    for note in board.notes:
        say(note)
    written = ", ".join([*FILES, *pictures])
    console.print(f"Wrote {written} to {folder.path.resolve()}", soft_wrap=True, markup=False)
    return 0


def every(
    methods: Sequence[Method],
    settings: dict[str, Any],
    *,
    data: Path | None,
    out: Path,
    jobs: int | None,
    command: str,
    keep: bool,
) -> int:
    """Compare on all streams that can be had, and write a summary; the exit code."""
    from ocboost._report.figures import require_matplotlib
    from ocboost._report.output import OutputFolder, to_json, versions
    from ocboost._report.tables import as_rich
    from ocboost.datasets.drift import STREAMS
    from ocboost.evaluation.jobs import Kept, boards_of
    from ocboost.evaluation.report import files_of, findings, in_words, summary_report
    from ocboost.evaluation.summary import Summary
    from ocboost.evaluation.tables import accuracy_table, rank_table

    require_matplotlib()
    missing = {name: reason for name, stream in STREAMS.items() if (reason := stream.missing(data))}
    names = [name for name in STREAMS if name not in missing]
    for name, reason in missing.items():
        say(f"{name} is left out: {reason}.")
    pictures = [f"{stem}.svg" for stem in ("behind", "ranks", *(f"stream-{name}" for name in names))]
    kept = Kept(out / KEPT)
    if not keep:
        kept.clear()
        kept = Kept(None)
    try:
        with OutputFolder(out, [*FILES, *pictures]) as folder:
            with steps_progress("comparing") as told:
                tasks_of = _tasks(methods, settings, data)
                boards, failed = boards_of(names, tasks_of, jobs=_jobs(jobs), told=told, kept=kept)
            for name, reason in failed.items():
                say(f"{name} is left out: {reason}.")
            if not boards:
                raise InputError(
                    "at least one stream must be fit to compare on; none is. See the reasons above."
                )
            summary = Summary(list(boards.values()))
            left_out = {**missing, **failed}
            pictures = [picture for picture in pictures if _stream_of(picture) not in left_out]
            made_with = versions("scikit-learn", "river")
            seconds = sum(board.seconds for board in summary.boards)
            about = {
                "hypotheses": settings["hypotheses"],
                "seeds": ", ".join(map(str, range(settings["seeds"]))),
                "time": f"{in_words(seconds)}, summed over what ran side by side",
                **made_with,
            }
            blocks = summary_report(summary, command=command, skipped=left_out, about=about)
            files = files_of("Methods on streams", blocks, png=False)
            record = {
                "command": command,
                "left_out": left_out,
                "summary": summary.as_dict(),
                "streams": {name: board.as_dict(curves=False) for name, board in boards.items()},
                "versions": made_with,
            }
            folder.write({**files, "results.json": to_json(record)})
            kept.clear()
    except KeyboardInterrupt:
        left = "; streams that were done are kept for the next run" if kept.any() else ""
        say(f"interrupted; no report was written to '{out}'{left}.")
        return 130
    console = results(piped=200)
    for table in (accuracy_table(summary), rank_table(summary, {})):
        if fits(console, table):
            console.print(as_rich(table, whole=True), crop=False)
        else:
            say(f"the terminal is too narrow for the table “{table.title}”; it is in report.md.")
    for sentence in findings(summary):
        console.print(sentence, soft_wrap=True)
    console.print(
        f"Wrote {', '.join(FILES)} and {len(pictures)} figures to {folder.path.resolve()}",
        soft_wrap=True,
        markup=False,
    )
    return 0


def _stream_of(picture: str) -> str:
    return picture.removeprefix("stream-").removesuffix(".svg")


def _tasks(
    methods: Sequence[Method], settings: dict[str, Any], data: Path | None
) -> Callable[[str], list[Task]]:
    """What makes the tasks of a stream: one for each seed."""
    from ocboost.evaluation.jobs import Task

    names = tuple(method.name for method in methods)
    own = {key: value for key, value in settings.items() if key != "seeds"}
    folder = None if data is None else str(data)
    return lambda name: [Task(name, seed, names, folder, **own) for seed in range(settings["seeds"])]


def _jobs(jobs: int | None) -> int:
    cores = os.cpu_count() or 1
    if jobs is None:
        return cores
    return jobs if jobs > 0 else max(1, cores + 1 + jobs)


def _require(name: str, data: Path | None) -> None:
    from ocboost.datasets.drift import stream_named

    reason = stream_named(name).missing(data)
    if reason is not None:
        raise InputError(f"the stream {name!r} is not available: {reason}.")
