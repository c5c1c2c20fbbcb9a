"""AdaptiveClassifier beside its peers, row by row: python benchmarks/adaptive.py --data DIR.

The first rows of the streams of `ocboost compare all`, read as that command reads them: 2,000 rows, or a
fifth of a shorter stream, are the start, which every method learns first; then each row is predicted and
learnt. Peers are river's adaptive random forest (arf), streaming random patches (srp) and leveraging bagging
of Hoeffding trees (lb), ten members each, and scikit-learn's SGDClassifier with logistic loss behind a
running standardisation (sgd), all with their defaults. Accuracy, log-loss (probabilities of at least 1e-15)
and CPU time of one prediction and one update are about the rows after the start.

Each result is added to the file as soon as it is there, in place of an older one, so parts can be measured
at different times. A method that needs more than --minutes of CPU on a stream stops early; its rows are
recorded, and it is compared with others on those rows.
"""

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from adaptive_report import OURS, at_rows, show
from harness import UnavailableError, machine, new_console
from numpy.typing import NDArray
from peers.stream_learners import LEARNERS, MEMBERS, StreamLearner
from rich.console import Console

import ocboost
from ocboost._core.file_format import write_atomically
from ocboost.datasets.drift import STREAMS, stream_named
from ocboost.errors import InputError
from ocboost.evaluation.comparison import DEFAULT_START, START_DIVISOR
from ocboost.evaluation.first_rows import FirstRows

OUT = Path(__file__).parent / "results" / "adaptive.json"
POINT_ROWS = 500  # from one point, at which results can be compared, to the next
WARM_UP_ROWS = 2_000
MIN_PROBABILITY = 1e-15
Progress = Callable[[int, int], None]  # rows done, rows there are


# Measuring ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """The first rows of a stream: those of the start, and those to predict and learn."""

    first_rows: FirstRows
    X: Any
    codes: NDArray[np.int64]
    start: int


@lru_cache(maxsize=2)
def part_of(name: str, data: Path | None, rows: int, seed: int) -> Part:
    """The stream as `ocboost compare all` reads it, up to a row."""
    whole = stream_named(name).load(data, seed=seed).rows
    start = min(DEFAULT_START, len(whole) // START_DIVISOR)
    if rows <= start:
        raise InputError(f"--rows must be more than the {start:,} rows of the start of {name}; got {rows:,}.")
    classes = whole.classes
    taken = whole[:rows].coded(classes).labelled()
    X, codes = taken.X, taken.codes
    first_rows = FirstRows(X[:start], codes[:start], classes, seed=seed)
    return Part(first_rows, X[start:], codes[start:], start)


def points_of(
    learner: StreamLearner, part: Part, seconds: float, progress: Progress
) -> Iterator[tuple[int, int, float, float]]:
    """Predict and learn row by row: rows so far (with the start), right answers, log-loss and CPU seconds.

    It ends early at the first point after so many seconds of CPU.
    """
    clock, began, n = time.process_time, time.process_time(), len(part.codes)
    right, loss, spent = 0, 0.0, 0.0
    for at in range(0, n, POINT_ROWS):
        upto = min(at + POINT_ROWS, n)
        codes = part.codes[at:upto]
        examples = learner.prepared(part.X[at:upto], codes)
        predict, learn = learner.predict, learner.learn
        for example, code in zip(examples, codes.tolist(), strict=True):
            before = clock()
            given = predict(example)
            learn(example)
            spent += clock() - before
            share = learner.probabilities(given)
            right += int(share.argmax()) == code
            loss -= float(np.log(max(share[code], MIN_PROBABILITY)))
        progress(part.start + upto, part.start + n)
        yield part.start + upto, right, loss, spent
        if clock() - began > seconds:
            return


def measured(
    stream: str,
    method: str,
    data: Path | None,
    rows: int,
    seed: int,
    minutes: float,
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """The result of a method on a stream, or why it was left out."""
    ocboost.set_num_threads(1)
    part = part_of(stream, data, rows, seed)
    about = {"start": part.start, "columns": part.X.shape[1], "classes": len(part.first_rows.classes)}
    begin = LEARNERS[method][1]
    try:
        if method == OURS:  # compile what is compiled on its first call
            warmed, few = begin(part.first_rows), slice(WARM_UP_ROWS)
            for example in warmed.prepared(part.X[few], part.codes[few]):
                warmed.predict(example)
                warmed.learn(example)
        before = time.process_time()
        learner = begin(part.first_rows)
    except UnavailableError as why:
        return {**about, "left_out": str(why)}
    start_seconds = time.process_time() - before
    points = list(points_of(learner, part, 60.0 * minutes - start_seconds, progress))
    last = at_rows({**about, "points": points}, points[-1][0])
    return {
        **about,
        "rows": last.rows,
        "seed": seed,
        "accuracy": last.accuracy,
        "log_loss": last.log_loss,
        "cpu_us": last.cpu_us,
        "start_seconds": round(start_seconds, 3),
        "stopped": last.rows < part.start + len(part.codes),
        "points": [[rows, right, round(loss, 6), round(spent, 6)] for rows, right, loss, spent in points],
    }


# The file -------------------------------------------------------------------------------------------------


def read(path: Path) -> dict[str, Any]:
    """The results so far."""
    if not path.exists():
        return {"machine": {}, "settings": {"members": MEMBERS}, "streams": {}}
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record


def add(path: Path, stream: str, method: str, result: dict[str, Any], where: dict[str, Any]) -> None:
    """Add a result to the file, which another run may have written to in the meantime."""
    record = read(path)
    record["machine"][method] = where
    found = record["streams"].setdefault(stream, {})
    found[method] = result
    record["streams"][stream] = {name: found[name] for name in LEARNERS if name in found}
    in_order = [name for name in STREAMS if name in record["streams"]]
    in_order += [name for name in record["streams"] if name not in STREAMS]
    record["streams"] = {name: record["streams"][name] for name in in_order}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text_of(record).encode())


def text_of(record: dict[str, Any]) -> str:
    """JSON with one line for each result.

    >>> print(text_of({"streams": {"sea": {"sgd": {"rows": 5}}}}), end="")
    {
    "streams": {
     "sea": {
      "sgd": {"rows": 5}
    }}
    }
    """

    def line(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)

    def block(named: dict[str, Any], indent: str, depth: int) -> str:
        cells = (block(each, indent + " ", depth - 1) if depth else line(each) for each in named.values())
        lines = (f"{indent}{line(name)}: {cell}" for name, cell in zip(named, cells, strict=True))
        return "{\n" + ",\n".join(lines) + "\n" + indent[1:] + "}"

    depths = {"streams": 1}
    entries = (
        f"{line(key)}: {block(value, ' ', depths.get(key, 0)) if isinstance(value, dict) else line(value)}"
        for key, value in record.items()
    )
    return "{\n" + ",\n".join(entries) + "\n}\n"


# The command ----------------------------------------------------------------------------------------------


def results_of(
    pairs: list[tuple[str, str]], arguments: tuple[Any, ...], jobs: int, console: Console
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Measure pairs of a stream and a method, in so many processes."""
    if jobs == 1:
        for stream, method in pairs:
            with console.status(f"{stream}, {method}: beginning") as status:

                def progress(done: int, total: int, stream: str = stream, method: str = method) -> None:
                    status.update(f"{stream}, {method}: {done:,} of {total:,} rows")

                found = measured(stream, method, *arguments, progress)
            yield stream, method, found
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = {pool.submit(measured, *pair, *arguments): pair for pair in pairs}
        try:
            for future in as_completed(waiting):
                yield *waiting[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def words(text: str, known: dict[str, Any], option: str) -> list[str]:
    """Names with commas between them."""
    chosen = list(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
    wrong = [word for word in chosen if word not in known]
    if wrong or not chosen:
        raise InputError(f"{option} must be some of {','.join(known)}; got {text!r:.80}.")
    return chosen


def to_measure(given: argparse.Namespace, console: Console) -> list[tuple[str, str]]:
    """Pairs of a stream and a method, in order; what cannot be measured here is said."""
    from ocboost.evaluation.methods import METHODS

    methods = list(LEARNERS) if given.only is None else words(given.only, LEARNERS, "--only")
    if OURS in methods and OURS not in METHODS:
        if given.only is not None:
            raise InputError(
                "this version of ocboost has no method called 'adaptive', so it cannot be measured. "
                "Leave it out of --only, or install a version that has AdaptiveClassifier."
            )
        console.print("This version of ocboost has no method called adaptive: the peers are measured alone.")
        methods.remove(OURS)
    streams = list(STREAMS) if given.streams is None else words(given.streams, STREAMS, "--streams")
    able = []
    for name in streams:
        reason = STREAMS[name].missing(given.data)
        if reason is None:
            able.append(name)
        else:
            console.print(f"{name} is left out: {reason}.", soft_wrap=True)
    done = read(given.out)["streams"] if given.missing else {}
    return [(name, method) for name in able for method in methods if method not in done.get(name, {})]


def run(given: argparse.Namespace, console: Console) -> None:
    """Measure, and add each result to the file."""
    pairs, where = to_measure(given, console), machine()
    arguments = (given.data, given.rows, given.seed, given.minutes)
    for stream, method, found in results_of(pairs, arguments, given.jobs, console):
        add(given.out, stream, method, found, where)
        line = (
            f"left out, {found['left_out']}"
            if "left_out" in found
            else f"{100 * found['accuracy']:.2f} %, log-loss {found['log_loss']:.3f}, "
            f"{found['cpu_us']:,.0f} µs a row, {found['rows']:,} rows"
        )
        console.print(f"{stream}, {method}: {line}", soft_wrap=True, highlight=False)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"), help="has streams/")
    parser.add_argument("--rows", type=int, default=8_000, help="of each stream, with the start")
    parser.add_argument("--streams", help="names with commas between; all of them by default")
    parser.add_argument("--only", help=f"some of {','.join(LEARNERS)}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes; times are steadier with one")
    parser.add_argument("--minutes", type=float, default=6.0, help="CPU time of a method on a stream")
    parser.add_argument("--missing", action="store_true", help="measure only what the file does not have")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--read", action="store_true", help="measure nothing, show what the file has")
    given = parser.parse_args(arguments)
    console = new_console(160)
    try:
        if not given.read:
            run(given, console)
    except InputError as error:
        print(f"adaptive.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        console.print("Interrupted; what was done is in the file. --missing measures the rest.")
        return 130
    show(console, read(given.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
