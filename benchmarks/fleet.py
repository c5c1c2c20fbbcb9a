"""A fleet beside one model for each key in River and in SQLite: python benchmarks/fleet.py.

20 numbers, two classes. A row comes with its key, which is uniformly random or of a Zipf mix (key number r
has a share of about 1/r of the rows); it is predicted, and then learnt. `Fleet` has 100 stumps and is durable
after each batch; its keys are fresh (the store begins empty) or have full windows, all of them. Beside it are
dicts of River's models, in memory, and scikit-learn's `SGDClassifier` pickled in SQLite, durable after each
batch (`peers/models_by_key.py`). The peers get fewer keys, which is in their favour.

Each runs in a process of its own, with one thread, and all are measured in turn, in the same run: rows a
second of CPU (user and system time), and of wall time, which waits for the disk. Memory is the most that a
process ever had, in which LMDB's mapped pages of the file count, and what it had at the end without these.
Linux only. It judges by one figure: whether `Fleet.learn` makes 20,000 updates with predictions a second.
"""

import argparse
import multiprocessing
import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from harness import machine, new_console, table_of, write_results
from peers.models_by_key import SHARE, TITLES, Facts, models_by_key, status_bytes
from sklearn.datasets import make_classification

from ocboost import OCBClassifier
from ocboost.fleet import Fleet
from ocboost.fleet.record import HEADER_BYTES, ExampleCode, KeyState, to_record

OUT = Path(__file__).parent / "results" / "fleet.json"
GOAL = 20_000  # updates with predictions a second of CPU
START, POOL, FEATURES = 2_000, 20_000, 20
BATCH = 2_000
FILLED_AT_ONCE = 20_000  # keys of a transaction
SCATTER = 2_654_435_761  # a prime: the frequent keys of a Zipf mix are not neighbours in the store
PAGE = 4096
ROOM = 1.3  # what a store may grow by while it is measured
LEARN, PREDICT, UNIFORM, ZIPF = "learn", "predict", "uniform", "Zipf"
ONE_THREAD = dict.fromkeys(("OCBOOST_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Plan:
    """What one process measures."""

    kind: str  # "fresh", "full" and "learnt" are fleets, the others peers
    keys: int
    rows: int  # of a round
    hypotheses: int
    window: int
    seed: int
    folder: str

    @property
    def works(self) -> list["Work"]:
        """What is timed in each round."""
        rows = self.rows // SHARE.get(self.kind, 1)
        found = [Work(LEARN, mix, BATCH, rows) for mix in (UNIFORM, ZIPF)]
        if self.kind == "full":
            found += [Work(PREDICT, mix, BATCH, rows) for mix in (UNIFORM, ZIPF)]
            for batch, some in ((100, rows // 5), (1, rows // 50)):
                found += [Work(what, UNIFORM, batch, some) for what in (LEARN, PREDICT)]
        return found


class Work(NamedTuple):
    """Something to time."""

    what: str
    mix: str
    batch: int
    rows: int


class Spent(NamedTuple):
    """Seconds."""

    cpu: float
    system: float  # of these, those within the system: pages read and written
    wall: float


# Rows ---------------------------------------------------------------------------------------------------


class Stream:
    """Rows for a process, drawn from its seed."""

    def __init__(self, plan: Plan) -> None:
        X, y = make_classification(
            START + POOL, FEATURES, n_informative=10, flip_y=0.15, class_sep=0.5, random_state=plan.seed
        )
        self.first = X[:START], y[:START]
        self._X, self._y, self._keys = X[START:], y[START:], plan.keys
        self._rng = np.random.default_rng([plan.seed, plan.keys])

    def draw(self, mix: str, n: int) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Keys, rows and labels."""
        if mix == UNIFORM:
            numbers = self._rng.integers(0, self._keys, n)
        else:  # log-uniform: the share of number r is log((r + 1) / r) / log(keys + 1)
            ranks = np.exp(self._rng.random(n) * np.log(self._keys + 1)).astype(np.int64) - 1
            numbers = np.minimum(ranks, self._keys - 1) * SCATTER % self._keys
        at = self._rng.integers(0, POOL, n)
        return [named(k) for k in numbers.tolist()], self._X[at], self._y[at]


def named(key: int) -> str:
    """How a key is called."""
    return f"device-{key:07d}"


def fill_windows(fleet: Fleet, keys: int, seed: int) -> None:
    """Give every key a full window, quickly: records of random bits, past `Fleet.learn`.

    What a key costs depends on how many examples it has, and little on what they are (``--learnt`` compares);
    but nothing can be said about how often such a fleet is right.
    """
    rng = np.random.default_rng(seed)
    code = ExampleCode(len(fleet.classifier.hypotheses_), len(fleet.classifier.classes_))
    used = code.n_answers + code.n_label_bits - 8 * (code.n_bytes - 1)  # bits of the last byte
    for start in range(0, keys, FILLED_AT_ONCE):
        some = range(start, min(keys, start + FILLED_AT_ONCE))
        windows = rng.integers(0, 256, (len(some), fleet.window, code.n_bytes), np.uint8)
        windows[:, :, -1] &= (1 << used) - 1
        with fleet._store.writing() as txn:
            for number, examples in zip(some, windows, strict=True):
                key = named(number).encode()
                state = KeyState(fleet.window + number % fleet.window, 0.0, 20.0, 20.0, examples)
                fleet._store.put_key(txn, key, to_record(key, state))


def learn_windows(fleet: Fleet, keys: int, stream: Stream) -> None:
    """The same by learning, which takes long."""
    for _ in range(fleet.window):
        for start in range(0, keys, BATCH):
            some = [named(k) for k in range(start, min(keys, start + BATCH))]
            fleet.learn(some, *stream.draw(UNIFORM, len(some))[1:])


def record_bytes(hypotheses: int, window: int) -> int:
    """A record with a full window."""
    return HEADER_BYTES + window * ExampleCode(hypotheses, 2).n_bytes


def disk_bytes(keys: int, hypotheses: int, window: int) -> float:
    """About what full windows need: LMDB gives a record larger than half a page pages of its own."""
    record = record_bytes(hypotheses, window)
    return ROOM * keys * (record if record < PAGE // 2 else -(-record // PAGE) * PAGE)


# What is measured ---------------------------------------------------------------------------------------


@contextmanager
def opened_fleet(plan: Plan, stream: Stream) -> Iterator[tuple[Callable[..., Callable[[], object]], Facts]]:
    """A fleet, with fresh keys or full windows: how to prepare rows to be timed, and what it takes."""
    model = OCBClassifier(n_hypotheses=plan.hypotheses, random_state=plan.seed).fit(*stream.first)
    assert len(model.hypotheses_) == plan.hypotheses
    store = f"{plan.folder}/{plan.kind}-{plan.keys}"
    with Fleet(model, store=f"{store}-small", window=plan.window) as small:  # compiles
        for n in (BATCH, 1):
            keys, X, y = stream.draw(UNIFORM, n)
            small.learn(keys, X, y)
            small.predict(keys, X)
    with Fleet(model, store=store, window=plan.window) as fleet:
        if plan.kind == "full":
            fill_windows(fleet, plan.keys, plan.seed)
        elif plan.kind == "learnt":
            learn_windows(fleet, plan.keys, stream)

        def prepare(
            keys: list[str], X: np.ndarray, y: np.ndarray, batch: int, what: str = LEARN
        ) -> Callable[[], object]:
            parts = [slice(at, at + batch) for at in range(0, len(keys), batch)]
            if what == LEARN:
                return lambda: [fleet.learn(keys[p], X[p], y[p]) for p in parts]
            return lambda: [fleet.predict(keys[p], X[p]) for p in parts]

        def facts() -> dict[str, Any]:
            info = fleet.info()
            found = {"stored_keys": info.n_keys, "disk_bytes": info.bytes, "bytes_a_key": info.bytes_per_key}
            if plan.kind != "fresh":
                found["record_bytes"] = record_bytes(plan.hypotheses, plan.window)
            return found

        yield prepare, facts


def serve(plan: Plan, connection: Connection) -> None:
    """Time what is asked for, until nothing is; then say what it took of memory and disk."""
    stream = Stream(plan)
    if plan.kind in TITLES:
        X, y = (each[: plan.window] for each in stream.first)
        made = models_by_key(plan.kind, [named(k) for k in range(plan.keys)], X, y, Path(plan.folder))
    else:
        made = opened_fleet(plan, stream)
    with suppress(EOFError, ConnectionError), made as (prepare, facts):  # whoever asks may be gone
        connection.send(None)
        while (work := connection.recv()) is not None:
            options = () if work.what == LEARN else (work.what,)
            connection.send(spent(prepare(*stream.draw(work.mix, work.rows), work.batch, *options)))
        connection.send(facts() | {"peak_bytes": status_bytes("VmHWM"), "own_bytes": status_bytes("RssAnon")})


def spent(work: Callable[[], object]) -> Spent:
    """What it takes, in all threads of this process."""
    before, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    work()
    wall, after = time.perf_counter() - wall, resource.getrusage(resource.RUSAGE_SELF)
    system = after.ru_stime - before.ru_stime
    return Spent(after.ru_utime - before.ru_utime + system, system, wall)


class Runner:
    """A process that measures, from this side."""

    def __init__(self, plan: Plan, opened: ExitStack) -> None:
        self.plan = plan
        self.facts: dict[str, Any] = {}
        context = multiprocessing.get_context("forkserver")  # which imports everything once
        self._connection, there = context.Pipe()
        process = context.Process(target=serve, args=(plan, there), daemon=True)
        process.start()
        there.close()
        opened.callback(process.join)
        opened.callback(self._connection.close)
        self.spent: dict[Work, list[Spent]] = {work: [] for work in plan.works}

    def wait(self) -> Any:
        """What the process says next."""
        try:
            return self._connection.recv()
        except (EOFError, ConnectionError):
            raise RuntimeError(f"the process of {self.plan.kind!r} has ended; see above") from None

    def ask(self, work: Work | None) -> Any:
        """Let it time something; without it, it says what it took, and ends."""
        self._connection.send(work)
        return self.wait()

    def results(self) -> list[dict[str, Any]]:
        """Rows, medians of the rounds, in microseconds a row, and every round."""
        found = []
        for work, every in self.spent.items():
            each = {
                f"{key}_us": 1e6 * statistics.median(getattr(one, key) for one in every) / work.rows
                for key in Spent._fields
            }
            rates = {"cpu_per_second": 1e6 / each["cpu_us"], "wall_per_second": 1e6 / each["wall_us"]}
            rounds = [1e6 * one.cpu / work.rows for one in every]
            rates |= {"best_per_second": 1e6 / min(rounds), "cpu_us_rounds": rounds}
            who = {"kind": self.plan.kind, "keys": self.plan.keys}
            found.append(who | work._asdict() | each | rates)
        return found


def measured(plans: list[Plan], rounds: int, seed: int, progress: Callable[[str], None]) -> list[Runner]:
    """Time everything, in a new order each round."""
    with ExitStack() as opened:
        progress("making the stores")
        runners = [Runner(plan, opened) for plan in plans]
        for each in runners:
            each.wait()
        todo = [(each, work) for each in runners for work in each.spent]
        rng = np.random.default_rng(seed)
        for number in range(rounds):
            for at in rng.permutation(len(todo)):
                runner, work = todo[at]
                who = f"{runner.plan.kind}, {runner.plan.keys:,} keys"
                progress(f"round {number + 1} of {rounds}: {who}, {work.what}, {work.mix}, {work.batch:,}")
                runner.spent[work].append(runner.ask(work))
        for each in runners:
            each.facts = each.ask(None)
    return runners


# Report -------------------------------------------------------------------------------------------------

CLOCKS = {
    "a second of CPU": ("cpu_per_second", ",.0f"),
    "best round": ("best_per_second", ",.0f"),
    "CPU µs": ("cpu_us", ",.1f"),
}
OURS = {
    "windows": ("kind", ""),
    "keys": ("keys", ",d"),
    "work": ("what", ""),
    "mix": ("mix", ""),
    "batch": ("batch", ",d"),
    **CLOCKS,
    "of it system": ("system_us", ",.1f"),
    "a second, wall": ("wall_per_second", ",.0f"),
}
SIZES = {
    "": ("kind", ""),
    "keys": ("stored_keys", ",d"),
    "bytes of a record": ("record_bytes", ",d"),
    "bytes a key": ("bytes_a_key", ",.0f"),
    "MB on disk": ("disk_mb", ",.0f"),
    "peak MB, with mapped pages": ("peak_mb", ",.0f"),
    "MB at the end without these": ("own_mb", ",.0f"),
}


def report(runners: list[Runner]) -> dict[str, Any]:
    """Print the tables; gives what the file keeps."""
    console = new_console()
    rows = [row for each in runners for row in each.results()]
    ours = [row for row in rows if row["kind"] not in TITLES]
    console.print(
        table_of(ours, OURS, "Fleet, one thread; learn predicts as well. Rows, medians of the rounds")
    )
    aimed = [row for row in ours if row["what"] == LEARN and row["batch"] == BATCH]
    for row in aimed:
        verdict = "yes" if row["cpu_per_second"] >= GOAL else "NO"
        console.print(f"{GOAL:,} a second, {row['kind']}, {row['keys']:,} keys, {row['mix']}: {verdict}")
    peers = [row | {"title": TITLES[row["kind"]]} for row in rows if row["kind"] in TITLES]
    columns = {"": ("title", ""), "keys": ("keys", ",d"), "mix": ("mix", ""), **CLOCKS}
    for keys in dict.fromkeys(row["keys"] for row in aimed):
        ratio = f"times_{keys}"
        for row in peers:
            like = ("full", keys, row["mix"])
            beside = next(each for each in aimed if (each["kind"], each["keys"], each["mix"]) == like)
            row[ratio] = row["cpu_us"] / beside["cpu_us"]
        columns[f"times Fleet, {keys:,}"] = (ratio, ",.1f")
    if peers:
        console.print(
            table_of(
                peers,
                columns,
                "Peers in the same run, predict and learn; times: their CPU over that of full windows",
            )
        )
    sizes = [
        {"kind": each.plan.kind, "keys": each.plan.keys, "record_bytes": 0} | each.facts for each in runners
    ]
    mega = [
        row | {f"{key}_mb": row[f"{key}_bytes"] / 1e6 for key in ("disk", "peak", "own")} for row in sizes
    ]
    console.print(table_of(mega, SIZES, "At the end. Bytes a key: on disk, and of River in memory"))
    return {"rows": ours, "peers": peers, "sizes": sizes}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keys", default="100_000,1_000_000", help="of the fleets, separated by commas")
    parser.add_argument("--peer-keys", type=int, default=10_000, help="0: without the peers")
    parser.add_argument("--rows", type=int, default=20_000, help="of a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hypotheses", type=int, default=100)
    parser.add_argument("--window", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where the stores are made")
    parser.add_argument("--learnt", action="store_true", help="full windows by learning too; slow")
    parser.add_argument("--quick", action="store_true", help="few keys and rows, nothing written")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    sizes = [int(keys) for keys in given.keys.split(",")]
    if given.quick:
        sizes, given.peer_keys, given.rows, given.rounds = [2_000], 200, 2_000, 1
    free = shutil.disk_usage(given.folder).free
    needed = sum(disk_bytes(keys, given.hypotheses, given.window) for keys in sizes)
    if needed > free:
        parser.error(f"{free / 1e9:.1f} GB are free, and {needed / 1e9:.1f} are needed; give fewer --keys")
    os.environ.update(ONE_THREAD)
    console = new_console()
    with tempfile.TemporaryDirectory(prefix="fleet-", dir=given.folder) as folder:
        how = (given.rows, given.hypotheses, given.window, given.seed, folder)
        kinds = ("fresh", "full", "learnt") if given.learnt else ("fresh", "full")
        plans = [Plan(kind, keys, *how) for keys in sizes for kind in kinds]
        if given.peer_keys:
            plans += [Plan(kind, given.peer_keys, *how) for kind in TITLES]
        with console.status("starting") as status:
            runners = measured(plans, given.rounds, given.seed, status.update)
    results = report(runners)
    if not given.quick:
        settings = {key: value for key, value in vars(given).items() if key not in ("quick", "out")}
        write_results(given.out, {"machine": machine(), "settings": settings, **results})
        console.print(f"Wrote {given.out}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as error:
        sys.exit(str(error))
