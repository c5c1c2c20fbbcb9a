"""Comparisons on named streams: a task for each stream and seed, side by side in processes."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import ocboost
from ocboost._core.file_format import write_atomically
from ocboost._core.interrupts import ignoring_ctrl_c
from ocboost.datasets.drift import stream_named
from ocboost.errors import InputError
from ocboost.evaluation.board import DRAWN_PER_SEED, Board
from ocboost.evaluation.comparison import COMPARED_ROWS_PER_BATCH, DEFAULT_START, Comparison, compare_methods
from ocboost.evaluation.methods import methods_named
from ocboost.streams.rows import rebatch

Progress = Callable[[str, float, int], None]  # what is being done, tasks done (in part too), tasks there are
TaskProgress = Callable[[str, float], None]  # what is being done, and the share that is done
# Runs tasks, and yields each result, or why there is none.
TaskRunner = Callable[[Sequence["Task"], Progress | None], Iterator[tuple["Task", "TaskResult | InputError"]]]


@dataclass(frozen=True)
class Task:
    """One seed of a comparison on a named stream; the parameters are those of `compare_methods`."""

    stream: str
    seed: int
    methods: tuple[str, ...]
    data: str | None = None
    rows: int | None = None
    start: int | None = None
    hypotheses: int = 100
    step: int = 1
    window: int | None = None
    delay: int = 0


@dataclass(frozen=True)
class TaskResult:
    """What a task found, and notes on the rows."""

    comparison: Comparison
    source: str
    notes: list[str]


def run_task(task: Task, progress: TaskProgress | None = None) -> TaskResult:
    """Load the stream and compare the methods on it."""
    progress = progress or (lambda what, share: None)
    stream = stream_named(task.stream)
    progress("loading the stream" if stream.origin == "file" else "making the stream", 0.0)
    loaded = stream.load(task.data, rows=task.rows, seed=task.seed)
    total = len(loaded.rows)
    comparison = compare_methods(
        rebatch([loaded.rows], COMPARED_ROWS_PER_BATCH),
        methods_named(task.methods),
        seeds=(task.seed,),
        start=task.start,
        hypotheses=task.hypotheses,
        classes=loaded.rows.classes,
        step=task.step,
        delay=task.delay,
        window=task.window,
        progress=lambda what, done: progress(what, min(0.99, done / total)),
    )
    if comparison.result.interrupted:
        raise KeyboardInterrupt
    return TaskResult(comparison, loaded.source, loaded.notes)


def run_tasks(
    tasks: Sequence[Task], *, jobs: int = 1, progress: Progress | None = None
) -> Iterator[tuple[Task, TaskResult | InputError]]:
    """Run tasks in so many processes (1: this one), and yield each result, or why there is none.

    Ctrl-C raises KeyboardInterrupt when no process is left.
    """
    progress = progress or (lambda what, done, total: None)
    n = len(tasks)
    if jobs == 1 or n <= 1:
        for done, task in enumerate(tasks):
            found: TaskResult | InputError
            try:
                found = run_task(task, _numbered(progress, task, done, n))
            except InputError as error:
                found = error
            progress("", done + 1.0, n)
            yield task, found
        return
    context = multiprocessing.get_context("spawn")
    news: Any = context.SimpleQueue()
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        min(jobs, len(tasks)), mp_context=context, initializer=_begin, initargs=(news,)
    )
    waiting: dict[Future[TaskResult], Task] = {}
    try:
        with ignoring_ctrl_c():  # the processes inherit it: Ctrl-C is for this one
            waiting = {pool.submit(_run, task): task for task in tasks}
        ours = set(multiprocessing.active_children()) - before
        running: dict[Task, tuple[str, float]] = {}  # what each task does, and the share that is done
        while waiting:
            ready, _ = wait(waiting, timeout=0.3, return_when=FIRST_COMPLETED)
            while not news.empty():
                task, what, share = news.get()
                running[task] = what, share
            for future in ready:
                wrong = future.exception()
                task = waiting.pop(future)
                running.pop(task, None)
                yield task, wrong if isinstance(wrong, InputError) else future.result()
            running = {task: latest for task, latest in running.items() if task in waiting.values()}
            texts = [of_task(task, what, share) for task, (what, share) in running.items()]
            done_in_part = float(sum(share for _, share in running.values()))
            progress("; ".join(texts[:jobs]), n - len(waiting) + done_in_part, n)
    except BaseException:
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for child in ours if waiting else ():
            child.join()


_news: Any = None  # the queue by which a process reports its progress


def _begin(news: Any) -> None:
    global _news
    _news = news
    ocboost.set_num_threads(1)  # the processes are the threads


def _run(task: Task) -> TaskResult:
    return run_task(task, lambda what, share: _news.put((task, what, share)))


def _numbered(progress: Progress, task: Task, done: int, total: int) -> TaskProgress:
    return lambda what, share: progress(of_task(task, what, share), done + share, total)


def of_task(task: Task, what: str, share: float) -> str:
    """What a task does, in a few words."""
    return f"{task.stream}, seed {task.seed}, {what or f'{share:.0%}'}"


class FinishedBoards:
    """Boards of streams that are done, cached in a folder until the whole comparison is.

    The key of a board is all that it was made from: the tasks, the version of ocboost, and the size and time
    of the data's file. Without a folder, or where nothing can be written, nothing is cached.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def _path(self, tasks: Sequence[Task]) -> Path | None:
        if self.folder is None:
            return None
        stream = stream_named(tasks[0].stream)
        stamp: list[int] = []
        if tasks[0].data is not None and stream.file:
            found = (Path(tasks[0].data) / stream.file).stat()
            stamp = [found.st_size, found.st_mtime_ns]
        made_from = [ocboost.__version__, stamp, [_settings(task) for task in tasks]]
        digest = hashlib.sha256(json.dumps(made_from).encode()).hexdigest()
        return self.folder / f"{stream.name}.{digest[:16]}.json"

    def get(self, tasks: Sequence[Task]) -> Board | None:
        """The board of these tasks, which are of one stream; None if there is none, or it cannot be read."""
        path = self._path(tasks)
        with suppress(OSError, ValueError, KeyError, TypeError):
            return None if path is None else Board.from_dict(json.loads(path.read_text("utf-8")))
        return None

    def put(self, tasks: Sequence[Task], board: Board) -> None:
        """Cache a board."""
        path = self._path(tasks)
        if path is not None:
            with suppress(OSError):
                path.parent.mkdir(exist_ok=True)
                write_atomically(path, json.dumps(board.as_dict(), allow_nan=False).encode())

    def any(self) -> bool:
        """Whether anything is cached."""
        return self.folder is not None and next(self.folder.glob("*.json"), None) is not None

    def clear(self) -> None:
        """Remove all boards."""
        if self.folder is not None and self.folder.is_dir():
            for path in self.folder.glob("*.json"):
                with suppress(OSError):
                    path.unlink()
            with suppress(OSError):
                self.folder.rmdir()


def _settings(task: Task) -> dict[str, Any]:
    """The key of a task; unchanged since earlier versions, so that what they cached is found."""
    start = {"start": DEFAULT_START} if task.start is None else {"asked": True}
    settings = {**asdict(task), "data": None, **start}
    return settings if task.delay else {key: each for key, each in settings.items() if key != "delay"}


def boards_of(
    streams: Sequence[str],
    tasks_of: Callable[[str], list[Task]],
    *,
    jobs: int = 1,
    progress: Progress | None = None,
    finished: FinishedBoards | None = None,
    run: TaskRunner | None = None,
) -> tuple[dict[str, Board], dict[str, str]]:
    """The boards of streams, by name, and why there is none of the others; cached ones are not run again.

    ``tasks_of`` gives the tasks of a stream, one for each seed; ``run`` runs them, by default in ``jobs``
    processes.
    """
    run = run or (lambda tasks, progress: run_tasks(tasks, jobs=jobs, progress=progress))
    finished = finished or FinishedBoards(None)
    boards: dict[str, Board] = {}
    failed: dict[str, str] = {}
    to_do: list[Task] = []
    for name in streams:
        board = finished.get(tasks_of(name))
        if board is None:
            to_do += tasks_of(name)
        else:
            boards[name] = board
    found: dict[str, dict[int, TaskResult]] = {}
    for task, result in run(to_do, progress):
        if isinstance(result, InputError):
            failed.setdefault(task.stream, str(result).removesuffix("."))
            continue
        of_stream = found.setdefault(task.stream, {})
        of_stream[task.seed] = result
        tasks = tasks_of(task.stream)
        if len(of_stream) == len(tasks):
            in_order = [of_stream[each.seed] for each in tasks]
            boards[task.stream] = stream_board(task.stream, in_order)
            finished.put(tasks, boards[task.stream])
            del found[task.stream]
    return {name: boards[name] for name in streams if name in boards}, failed


def stream_board(name: str, results: Sequence[TaskResult]) -> Board:
    """The board of a stream from the results of each seed."""
    stream = stream_named(name)
    notes = [f"{stream.title}: {stream.about}. Source: {results[0].source}.", *results[0].notes]
    if stream.drawn and len(results) > 1:
        notes.append(DRAWN_PER_SEED)
    return Board.of(name, [result.comparison for result in results], notes)
