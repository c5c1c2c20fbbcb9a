"""A process that learns a stream in a fleet, killed at random moments and started again where it was."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections import Counter
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ocboost.fleet import Fleet
from tests.fleet.fleets import model, records, rows

SOURCE = "the stream"
MOST_ROWS = 300  # of one call
COMPACTED = 0.03  # of the calls are followed by a compaction
WINDOW = 30


def processes() -> Any:
    """Processes that need not import everything, and share nothing with this one."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ocboost.fleet"])
    return context


def stream(n: int, K: int) -> tuple[Any, Any, list[str]]:
    """Rows of 200 keys, of which some come seldom."""
    return rows(n=n, n_keys=200, K=K, seed=7)


def learn_on(store: Path, n: int, K: int, seed: int, told: Connection) -> None:
    """Learn from where the store is to the end of the stream, in calls of any size; runs in a process."""
    luck, clf, (X, y, keys) = random.Random(seed), model(K), stream(n, K)
    told.send("ready")
    with Fleet(clf, store=store, window=WINDOW) as fleet:
        at = fleet.offset(SOURCE)
        told.send((at, fleet.rows, fleet.verify()))
        while at < n:
            part = slice(at, min(n, at + luck.randint(1, MOST_ROWS)))
            fleet.learn(keys[part], X[part], y[part], source=SOURCE, offset=part.start)
            at = part.stop
            if luck.random() < COMPACTED:
                fleet.compact()
        told.send(at)


class FleetKills:
    """Kills, and what was wrong afterwards."""

    def __init__(self, folder: Path, *, n: int, K: int = 2, seed: int = 0) -> None:
        self.folder, self.n, self.K = folder, n, K
        self.luck = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    def run(self, kills: int, longest: float) -> None:
        """Kill it so many times, each within ``longest`` seconds, let it end, and compare."""
        offsets = [self._start(self.luck.uniform(0.0, longest), learning=i % 2 == 0) for i in range(kills)]
        self._start(None)
        known = [each for each in offsets if each is not None]
        self.counts["kills"] = kills
        self.counts["kills before the store was open"] = kills - len(known)
        self.counts["different rows that it was started at"] = len(set(known))
        self._compare()

    def _start(self, seconds: float | None, *, learning: bool = False) -> int | None:
        """Start it, and kill it after so many seconds; the row that it began with, if it came so far.

        The time counts from when it opens the store, or begins to learn.
        """
        told, telling = processes().Pipe(duplex=False)
        process = processes().Process(
            target=learn_on,
            args=(self.folder / "killed", self.n, self.K, self.luck.randrange(1 << 30), telling),
        )
        process.start()
        telling.close()
        said = []
        try:
            told.recv()
            if learning:
                said.append(told.recv())
            if seconds is None:
                process.join()
            else:
                time.sleep(seconds)
        finally:
            process.kill()
            process.join()
        with suppress(EOFError, OSError):
            while told.poll():
                said.append(told.recv())
        if seconds is not None and process.exitcode not in (-9, 0):
            self.wrong.append(f"it ended with {process.exitcode}")
        if seconds is None and said[1:] != [self.n]:
            self.wrong.append(f"it did not come to the end: {said}")
        self.counts["starts after the end of the stream"] += seconds is not None and len(said) == 2
        if not said:
            return None
        at, learnt, damaged = said[0]
        if learnt != at or damaged:
            self.wrong.append(f"at row {at} it had learnt {learnt}, and these were damaged: {damaged}")
        return int(at)

    def _compare(self) -> None:
        X, y, keys = stream(self.n, self.K)
        with Fleet(model(self.K), store=self.folder / "whole", window=WINDOW) as fleet:
            for start in range(0, self.n, 2000):
                part = slice(start, start + 2000)
                fleet.learn(keys[part], X[part], y[part], source=SOURCE, offset=start)
            expected = records(fleet)
        with Fleet(store=self.folder / "killed") as fleet:
            found, offset = records(fleet), fleet.offset(SOURCE)
        self.counts["rows"], self.counts["keys"] = self.n, len(expected[0])
        for key in sorted({*expected[0], *found[0]}):
            if expected[0].get(key) != found[0].get(key):
                self.wrong.append(f"key {key!r} differs")
        self.wrong += [f"{name!r} differs" for name in expected[1] if expected[1][name] != found[1][name]]
        if offset != self.n:
            self.wrong.append(f"the offset must be {self.n}; it is {offset}")
