"""A consumer that is killed again and again, sometimes with its broker, while producers go on sending.

In the end its model and its predictions must be those of a consumer that read the same log undisturbed.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from tests.support import live
from tests.support.redis_server import RedisServer

MESSAGES_A_SECOND = 150.0
LABEL_DELAY = 60  # requests between one and its label
PATIENCE = 180.0  # seconds for something that must happen


class Bench(Protocol):
    """A broker for the experiment: one log, two names to read it by."""

    def url(self, *, reference: bool = False) -> str:
        """The address of the log, or of a copy of it that is read undisturbed."""
        ...

    def sender(self) -> Callable[[bytes], None]:
        """In a producer's process: a function that sends until it is acknowledged."""
        ...

    def copy(self) -> int:
        """Make the copy, and say how many messages the log has."""
        ...

    def predictions(self, *, reference: bool = False) -> list[tuple[str, bytes]]:
        """What was answered, each with its offset."""
        ...

    def n_predictions(self) -> int | None:
        """How many answers there are; None while the broker is away."""
        ...

    def kill(self) -> None:
        """Kill the broker with SIGKILL."""
        ...

    def start(self) -> Any:
        """Start it again."""
        ...


class RedisBench:
    """The log in a Redis server of its own."""

    def __init__(self, folder: Path) -> None:
        self.server = RedisServer(folder)

    def url(self, *, reference: bool = False) -> str:
        return f"{self.server.url}?stream={'copy' if reference else 'log'}"

    def sender(self) -> Callable[[bytes], None]:
        import redis

        client = self.server.client()

        def send(data: bytes) -> None:
            while True:
                try:
                    client.xadd("log", {"json": data})
                    return
                except (redis.ConnectionError, redis.TimeoutError):
                    time.sleep(0.05)  # perhaps it was added: then it is twice in the log

        return send

    def copy(self) -> int:
        with self.server.client() as client:
            for id_, fields in client.xrange("log"):
                client.xadd("copy", fields, id=id_)
            n: int = client.xlen("copy")
            return n

    def predictions(self, *, reference: bool = False) -> list[tuple[str, bytes]]:
        with self.server.client() as client:
            found = client.xrange(f"{'copy' if reference else 'log'}:predictions")
            return [(id_.decode(), fields[b"json"]) for id_, fields in found]

    def n_predictions(self) -> int | None:
        import redis

        try:
            with self.server.client() as client:
                n: int = client.xlen("log:predictions")
                return n
        except redis.RedisError:
            return None

    def kill(self) -> None:
        self.server.kill()

    def start(self) -> Any:
        return self.server.start()

    def __getstate__(self) -> dict[str, Any]:  # producers need no handle on the process
        server = RedisServer(self.server.folder)
        server.port = self.server.port
        return {"server": server}


def produce(bench: Bench, what: str, sent: Any, ended: Any, seed: int) -> None:
    """Send requests or their late labels, some of them twice, wrong or useless, until told to end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    send = bench.sender()
    rng = random.Random(f"{what} {seed}")
    rows, labels = live.records(), live.labels()
    number = 0
    while not ended.value:
        if what == "labels" and number + LABEL_DELAY > sent.value:
            time.sleep(0.02)
            continue
        which = number % len(rows)
        if what == "requests":
            message: dict[str, Any] = {"id": f"q{number}", "row": rows[which]}
            if rng.random() < 0.05:
                message["label"] = labels[which]
        else:
            message = {"id": f"q{number}", "label": labels[which]}
            if rng.random() < 0.1:
                message["label"] = rng.choice(["yes", "no", "perhaps"])
        data = json.dumps(message).encode()
        if rng.random() < 0.03:
            data = rng.choice(
                [b"{", b"[]", b'{"id": "nobody", "label": "yes"}', b'{"row": {"a": 1}}', b"\xff"]
            )
        for _ in range(2 if rng.random() < 0.05 else 1):
            send(data)
        number += 1
        if what == "requests":
            sent.value = number
        time.sleep(rng.expovariate(MESSAGES_A_SECOND))


class BrokerKills:
    """Kills consumers and brokers, and compares with an undisturbed consumer."""

    def __init__(self, folder: Path, bench: Bench, *, kind: str = "ocb", seed: int = 0) -> None:
        self.folder, self.bench, self.seed = folder, bench, seed
        self.rng = random.Random(seed)
        self.model = folder / "model.ocb"
        live.model(kind).save(self.model)
        self.counts: dict[str, int] = {}
        self.wrong: list[str] = []
        self.said: list[str] = []

    def consumer(self, out: Path, *options: object, reference: bool = False) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "ocboost", "adapt", self.model, self.bench.url(reference=reference)]
        words += ["--out", out, *options]
        with (self.folder / f"{out.stem}.txt").open("a") as said:
            return subprocess.Popen(
                [*map(str, words)], stdout=said, stderr=said, text=True, env={**os.environ}
            )

    def _wait(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > deadline:
                said = "".join(path.read_text()[-1500:] for path in self.folder.glob("*.txt"))
                raise RuntimeError(f"{what} did not happen; it said: {said}")
            time.sleep(0.02)

    def run(self, kills: int, server_kills: int = 0) -> None:
        """Kill it so often; so many times the broker with it."""
        context = multiprocessing.get_context("spawn")
        sent, ended = context.Value("q", 0), context.Value("b", 0)
        producers = [
            context.Process(target=produce, args=(self.bench, what, sent, ended, self.seed), daemon=True)
            for what in ("requests", "labels")
        ]
        for each in producers:
            each.start()
        with_server = set(self.rng.sample(range(kills), server_kills))
        out = self.folder / "out.ocb"
        try:
            for number in range(kills):
                self._kill_once(out, server=number in with_server)
        finally:
            ended.value = 1
            for each in producers:
                each.join(60)
        self._finish(out, "the last consumer", "--idle", 1.0)
        self.counts |= {"kills of the consumer": kills, "kills of the broker": server_kills}
        self._compare(out)

    def _kill_once(self, out: Path, *, server: bool) -> None:
        before = self.bench.n_predictions() or 0
        options = ("--checkpoint-rows", self.rng.choice([1, 50, 200, 1000]))
        consumer = self.consumer(out, *options)
        try:
            if self.rng.random() < 0.9:
                self._wait(
                    lambda: consumer.poll() is not None or (self.bench.n_predictions() or 0) > before,
                    "the next answer",
                )
                time.sleep(self.rng.random() * self.rng.choice([0.01, 0.1, 0.8]))
            else:  # perhaps while it starts
                time.sleep(self.rng.random() * 3.0)
            if consumer.poll() is not None:
                self.wrong.append(f"the consumer ended by itself, with {consumer.poll()}")
            if server:
                self.bench.kill()
                if self.rng.random() < 0.5:  # it goes on a while without
                    time.sleep(self.rng.random() * 0.5)
                    if self.rng.random() < 0.5:
                        self.bench.start()
                        time.sleep(self.rng.random())
                        self.bench.kill()
        finally:
            consumer.kill()
            consumer.wait()
        if server:
            self.bench.start()

    def _finish(self, out: Path, who: str, *options: object, reference: bool = False) -> None:
        consumer = self.consumer(out, *options, reference=reference)
        try:
            code = consumer.wait(PATIENCE * 4)
        finally:
            consumer.kill()
            consumer.wait()
        if code != 0:
            said = (self.folder / f"{out.stem}.txt").read_text()[-500:]
            self.wrong.append(f"{who} ended with {code}: {said}")

    def _compare(self, out: Path) -> None:
        self.counts["messages"] = self.bench.copy()
        other = self.folder / "undisturbed.ocb"
        self._finish(other, "the undisturbed consumer", "--idle", 1.0, reference=True)
        answered, expected = self.bench.predictions(), self.bench.predictions(reference=True)
        self.counts["predictions"] = len(answered)
        self.counts["errors answered"] = sum(b'"error"' in data for _, data in answered)
        if answered != expected:
            differing = [one for one in zip(answered, expected, strict=False) if one[0] != one[1]][:2]
            self.wrong.append(f"{len(answered)} predictions, {len(expected)} undisturbed: {differing}")
        if not answered or out.read_bytes() == self.model.read_bytes():
            self.wrong.append("nothing was learnt")
        if out.read_bytes() != other.read_bytes():
            self.wrong.append("the model differs from the undisturbed one")
