"""What the benchmarks share: data, clocks, rounds in turn, tables, results, and facts about the machine."""

import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

# Examples in the ring a method reads from: a few megabytes of int8 at every size, and whole batches of 256.
RING = {20: 65_536, 100: 32_768, 400: 8_192, 1520: 4_096}
# Examples the warm start is taken from. The unbalanced corrections need one to stay within their range.
START = 2_048


class UnavailableError(Exception):
    """A peer cannot be measured here; the text says why."""


@dataclass(frozen=True)
class Columns:
    """Fixed hypotheses' answers on a stream, drawn once from a seed."""

    n_hypotheses: int
    seed: int

    @cached_property
    def _drawn(self) -> tuple[np.ndarray, np.ndarray]:
        J = self.n_hypotheses
        rng = np.random.default_rng([self.seed, J])
        p = rng.uniform(0.5, 0.65, J)
        rows = RING[J] + START
        margins = np.where(rng.random((rows, J)) < p, 1, -1).astype(np.int8)
        labels = rng.choice(np.array([-1, 1], dtype=np.int8), rows)
        return margins, labels

    @property
    def start(self) -> np.ndarray:
        """Margins for a warm start, (START, J); no timed example is among them."""
        return self._drawn[0][:START]

    @property
    def margins(self) -> np.ndarray:
        """Margins m_ij = y_i h_j(x_i) of the ring, int8 in row order."""
        return self._drawn[0][START:]

    @property
    def labels(self) -> np.ndarray:
        """Labels y_i of the ring, -1 or +1."""
        return self._drawn[1][START:]

    @cached_property
    def answers(self) -> np.ndarray:
        """Answers h_j(x_i) of the ring, the features a linear model reads."""
        return self.margins * self.labels[:, None]


@dataclass(frozen=True)
class Timing:
    """Seconds that `examples` examples took."""

    examples: int
    cpu: float
    wall: float


@dataclass
class Method:
    """One row of the table: trains on the next `n` examples of the ring and says how long it took."""

    library: str
    name: str
    run: Callable[[int], Timing]
    batch: int = 1
    threads: int = 1
    order: int | None = None
    inside: str = ""  # what the clock covers besides the training itself
    budget: float = 1.0  # how many times the usual timed span it gets
    warm_up: float = 0.0  # seconds of training before the first timing, for compilers that work as they go
    finding: Callable[[], str] = lambda: ""
    close: Callable[[], None] = lambda: None


@dataclass
class Row:
    """A measured method."""

    method: Method
    n_hypotheses: int
    examples: int
    cpu: list[float] = field(default_factory=list)  # µs per example, one a round
    wall: list[float] = field(default_factory=list)
    finding: str = ""

    @property
    def cpu_us(self) -> float:
        """Median CPU time per example in µs."""
        return statistics.median(self.cpu)

    @property
    def wall_us(self) -> float:
        """Median wall time per example in µs."""
        return statistics.median(self.wall)

    def as_json(self) -> dict[str, object]:
        """The row as results.json keeps it."""
        m = self.method
        return {
            "library": m.library,
            "method": m.name,
            "n_hypotheses": self.n_hypotheses,
            "order": m.order,
            "batch": m.batch,
            "threads": m.threads,
            "examples_per_round": self.examples,
            "cpu_us_per_example": self.cpu_us,
            "wall_us_per_example": self.wall_us,
            "cpu_us_rounds": self.cpu,
            "wall_us_rounds": self.wall,
            "inside_the_clock": m.inside,
            "finding": self.finding,
        }


def clocked(work: Callable[[], object], examples: int) -> Timing:
    """Run `work` in this process under both clocks; CPU time is that of all its threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Timing(examples, time.process_time() - cpu, time.perf_counter() - wall)


class Ring:
    """Hands out the row ranges of the next `n` examples, going round and round."""

    def __init__(self, size: int):
        self.size = size
        self.at = 0

    def take(self, n: int, step: int | None = None) -> list[slice]:
        """Ranges of at most `step` rows that together hold the next `n` rows."""
        parts = []
        while n > 0:
            here = min(n, self.size - self.at, step or n)
            parts.append(slice(self.at, self.at + here))
            self.at = (self.at + here) % self.size
            n -= here
        return parts


def calibrate(method: Method, span: float) -> int:
    """How many examples fill the timed span; whole batches only. The method is warm afterwards."""
    want = span * method.budget
    n = method.batch
    began = time.perf_counter()
    method.run(n)  # compiles, imports, allocates: never counted
    while True:
        timing = method.run(n)
        if timing.cpu >= want / 3 and time.perf_counter() - began >= method.warm_up:
            break
        if timing.cpu < want / 3:
            n *= 2
    batches = max(1, round(want * n / timing.cpu / method.batch))
    return batches * method.batch


def measure(
    methods: list[Method], n_hypotheses: int, rounds: int, span: float, seed: int, notes: list[str]
) -> Iterator[str | Row]:
    """Time the methods in turn, in a new seeded order each round, so that a noisy minute hits all alike.

    Yields a line of progress before each step, then the rows. A peer that breaks leaves a note and no row.
    """
    rows = []
    try:
        for method in methods:
            yield f"warming up {method.library} {method.name}"
            try:
                rows.append(Row(method, n_hypotheses, calibrate(method, span)))
            except ArithmeticError as why:
                if method.library == "ocboost":
                    raise
                notes.append(
                    f"{method.library} {method.name}, J={n_hypotheses:,}: {type(why).__name__}, {why}"
                )
        rng = np.random.default_rng([seed, n_hypotheses, rounds])
        for number in range(rounds):
            yield f"round {number + 1} of {rounds}"
            for at in rng.permutation(len(rows)):
                row = rows[at]
                timing = row.method.run(row.examples)
                row.cpu.append(timing.cpu / timing.examples * 1e6)
                row.wall.append(timing.wall / timing.examples * 1e6)
        for row in rows:
            row.finding = row.method.finding()
            yield row
    finally:
        for method in methods:
            method.close()


@dataclass
class Timings:
    """Seconds of every round of one piece of work, and what it returned last."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    result: Any = None

    @property
    def median(self) -> tuple[float, float]:
        """CPU and wall time of the median round."""
        return statistics.median(self.cpu), statistics.median(self.wall)


def in_turn(
    works: dict[str, Callable[[], object]],
    rounds: int,
    seed: int,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Timings]:
    """Time each piece of work once a round, in a new seeded order each round."""
    times = {name: Timings() for name in works}
    rng = np.random.default_rng(seed)
    for number in range(rounds):
        for at in rng.permutation(len(works)):
            name = list(works)[at]
            progress(f"round {number + 1} of {rounds}: {name}")
            results: list[object] = []
            timing = clocked(lambda work=works[name], results=results: results.append(work()), 1)
            times[name].cpu.append(timing.cpu)
            times[name].wall.append(timing.wall)
            times[name].result = results[0]
    return times


def new_console(width: int = 130) -> Console:
    """A console that breaks lines late where it writes to a file."""
    console = Console()
    if not console.is_terminal:
        console.width = width
    return console


def table_of(
    rows: list[dict[str, Any]], columns: dict[str, tuple[str, str]], title: str, caption: str | None = None
) -> Table:
    """A table of rows; `columns` has for each heading the key of its values and how they are formatted."""
    table = Table(title=title, caption=caption)
    for heading, (_, form) in columns.items():
        table.add_column(heading, justify="right" if form else "left")
    for row in rows:
        table.add_row(*(f"{row[key]:{form}}" for key, form in columns.values()))
    return table


def write_results(path: Path, results: dict[str, Any]) -> None:
    """Write results as JSON; the folder is made if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def machine() -> dict[str, object]:
    """Facts without which the figures mean little."""

    def first_line(command: list[str]) -> str | None:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        except OSError:
            return None
        text = (done.stdout or done.stderr).strip()
        return text.splitlines()[0] if text else None

    def installed(name: str) -> str | None:
        try:
            return version(name)
        except PackageNotFoundError:
            return None

    model = platform.processor()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            model = next((x.split(":", 1)[1].strip() for x in lines if x.startswith("model name")), model)
    except OSError:
        pass
    packages = ["ocboost", "numpy", "numba", "llvmlite", "scikit-learn", "river", "vowpalwabbit"]
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "load_average": os.getloadavg() if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "java": first_line(["java", "-version"]),
        "packages": {name: installed(name) for name in packages},
    }
