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
from ocboost._core.interrupts import ignoring_ctrl_c
from ocboost._core.storage import write_atomically
from ocboost.datasets.drift import stream_named
from ocboost.errors import InputError
from ocboost.evaluation.board import DRAWN, Board
from ocboost.evaluation.comparison import PIECE, START, Contest, compete
from ocboost.evaluation.methods import methods_named
from ocboost.streams.rows import cut_anew

Told = Callable[[str, float, int], None]  # what is being done, tasks done (in part too), tasks there are
TaskTold = Callable[[str, float], None]  # what is being done, and the share that is done


@dataclass(frozen=True)
class Task:
    """One seed of a comparison on a named stream; the parameters are those of `compete`."""

    stream: str
    seed: int
    methods: tuple[str, ...]
    data: str | None = None
    rows: int | None = None
    start: int | None = None
    hypotheses: int = 100
    step: int = 1
    window: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What a task found, and what is to be said of the rows."""

    contest: Contest
    source: str
    notes: list[str]


def run_task(task: Task, told: TaskTold | None = None) -> Outcome:
    """Load the stream, and let the methods compete; ``told`` is told what is done, and how much of it."""
    told = told or (lambda what, share: None)
    stream = stream_named(task.stream)
    told("loading the stream" if stream.origin == "file" else "making the stream", 0.0)
    loaded = stream.load(task.data, rows=task.rows, seed=task.seed)
    total = len(loaded.rows)
    contest = compete(
        cut_anew([loaded.rows], PIECE),
        methods_named(task.methods),
        seeds=(task.seed,),
        start=task.start,
        hypotheses=task.hypotheses,
        classes=loaded.rows.classes,
        step=task.step,
        window=task.window,
        told=lambda what, done: told(what, min(0.99, done / total)),
    )
    if contest.result.interrupted:
        raise KeyboardInterrupt
    return Outcome(contest, loaded.source, loaded.notes)


def run_tasks(
    tasks: Sequence[Task], *, jobs: int = 1, told: Told | None = None
) -> Iterator[tuple[Task, Outcome | InputError]]:
    """Run tasks, so many at a time, and give what each found as soon as it is there, or why it cannot be run.

    Parameters
    ----------
    tasks : sequence of Task
    jobs : int, default 1
        Processes; one is this one.
    told : callable, optional
        Called now and then with what is being done, how many tasks are done, and how many there are.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, when no process is left.
    """
    told = told or (lambda what, done, total: None)
    n = len(tasks)
    if jobs == 1 or n <= 1:
        for done, task in enumerate(tasks):
            found: Outcome | InputError
            try:
                found = run_task(task, _teller(told, task, done, n))
            except InputError as error:
                found = error
            told("", done + 1.0, n)
            yield task, found
        return
    context = multiprocessing.get_context("spawn")
    news: Any = context.SimpleQueue()
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        min(jobs, len(tasks)), mp_context=context, initializer=_begin, initargs=(news,)
    )
    waiting: dict[Future[Outcome], Task] = {}
    try:
        with ignoring_ctrl_c():  # the processes inherit it: Ctrl-C is for this one
            waiting = {pool.submit(_run, place, task): task for place, task in enumerate(tasks)}
        ours = set(multiprocessing.active_children()) - before
        news_of: dict[int, tuple[str, float]] = {}  # what each task does, and the share that is done
        while waiting:
            ready, _ = wait(waiting, timeout=0.3, return_when=FIRST_COMPLETED)
            while not news.empty():
                place, what, share = news.get()
                news_of[place] = what, share
            for future in ready:
                wrong = future.exception()
                task = waiting.pop(future)
                news_of.pop(tasks.index(task), None)
                yield task, wrong if isinstance(wrong, InputError) else future.result()
            running = {p: said for p, said in news_of.items() if tasks[p] in waiting.values()}
            words = [_of_task(tasks[p], what, share) for p, (what, share) in running.items()]
            done_in_part = float(sum(share for _, share in running.values()))
            told("; ".join(words[:jobs]), n - len(waiting) + done_in_part, n)
    except BaseException:
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for child in ours if waiting else ():
            child.join()


_news: Any = None  # where a process tells how far it is


def _begin(news: Any) -> None:
    global _news
    _news = news
    ocboost.set_num_threads(1)  # the processes are the threads


def _run(place: int, task: Task) -> Outcome:
    return run_task(task, lambda what, share: _news.put((place, what, share)))


def _teller(told: Told, task: Task, done: int, total: int) -> TaskTold:
    return lambda what, share: told(_of_task(task, what, share), done + share, total)


def _of_task(task: Task, what: str, share: float) -> str:
    """What a task does, in a few words."""
    return f"{task.stream}, seed {task.seed}, {what or f'{share:.0%}'}"


class Kept:
    """Boards of streams that are done, kept in a folder until the whole comparison is.

    A board is found again by all that it was made from: the tasks, the version of ocboost, and the size and
    time of the data's file. Where nothing can be written, nothing is kept.

    Parameters
    ----------
    folder : Path or None
        Made when the first board comes; None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def _place(self, tasks: Sequence[Task]) -> Path | None:
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
        place = self._place(tasks)
        with suppress(OSError, ValueError, KeyError, TypeError):
            return None if place is None else Board.from_dict(json.loads(place.read_text("utf-8")))
        return None

    def put(self, tasks: Sequence[Task], board: Board) -> None:
        """Keep a board."""
        place = self._place(tasks)
        if place is not None:
            with suppress(OSError):
                place.parent.mkdir(exist_ok=True)
                write_atomically(place, json.dumps(board.as_dict(), allow_nan=False).encode())

    def any(self) -> bool:
        """Whether anything is kept."""
        return self.folder is not None and next(self.folder.glob("*.json"), None) is not None

    def clear(self) -> None:
        """Remove all that was kept."""
        if self.folder is not None and self.folder.is_dir():
            for path in self.folder.glob("*.json"):
                with suppress(OSError):
                    path.unlink()
            with suppress(OSError):
                self.folder.rmdir()


def _settings(task: Task) -> dict[str, Any]:
    """What a task is known by; its words stay as they were, so that what older runs kept is found."""
    start = {"start": START} if task.start is None else {"asked": True}
    return {**asdict(task), "data": None, **start}


def boards_of(
    streams: Sequence[str], tasks_of: Callable[[str], list[Task]], *, jobs: int, told: Told, kept: Kept
) -> tuple[dict[str, Board], dict[str, str]]:
    """The boards of streams, by name, and why there is none of the others; what was kept is not run again.

    Parameters
    ----------
    streams : sequence of str
    tasks_of : callable
        The tasks of a stream, one for each seed.
    jobs, told
        As of `run_tasks`.
    kept : Kept
    """
    boards: dict[str, Board] = {}
    failed: dict[str, str] = {}
    to_do: list[Task] = []
    for name in streams:
        board = kept.get(tasks_of(name))
        if board is None:
            to_do += tasks_of(name)
        else:
            boards[name] = board
    found: dict[str, dict[int, Outcome]] = {}
    for task, outcome in run_tasks(to_do, jobs=jobs, told=told):
        if isinstance(outcome, InputError):
            failed.setdefault(task.stream, str(outcome).removesuffix("."))
            continue
        of_stream = found.setdefault(task.stream, {})
        of_stream[task.seed] = outcome
        tasks = tasks_of(task.stream)
        if len(of_stream) == len(tasks):
            in_order = [of_stream[each.seed] for each in tasks]
            boards[task.stream] = board_of(task.stream, in_order)
            kept.put(tasks, boards[task.stream])
            del found[task.stream]
    return {name: boards[name] for name in streams if name in boards}, failed


def board_of(name: str, outcomes: Sequence[Outcome]) -> Board:
    """The board of a stream from what was found with each seed."""
    stream = stream_named(name)
    said = [f"{stream.title}: {stream.about}. Source: {outcomes[0].source}.", *outcomes[0].notes]
    if stream.drawn and len(outcomes) > 1:
        said.append(DRAWN)
    return Board.of(name, [outcome.contest for outcome in outcomes], said)
