"""A service that is killed again and again under load, by clients that remember what was acknowledged.

Clients predict and label at random. They keep the id of each acknowledged prediction and every acknowledged
label, and repeat labels that were not acknowledged until they are. In the end all that waits is labelled, and
what the journal and the model hold must be what the clients remember.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ocboost.live import Adapter, replay
from tests.support.load import BrokenAnswerError, Connection, Reply
from tests.support.serving import ServiceProcess, as_row, rows_and_labels

CLIENTS = 8
MOST_WAITING = 400  # predictions that a client remembers without a label
COMMANDS = 0.01  # of a client's turns
MANY = 200  # labels in a request, at the end


@dataclass
class Ledger:
    """What one client remembers."""

    waiting: dict[str, int] = field(
        default_factory=dict
    )  # acknowledged predictions, and the label each will get
    labelled: dict[str, int] = field(default_factory=dict)  # acknowledged labels
    rows_sent: int = 0  # labels that came with their row, which nobody may repeat
    rows_acknowledged: int = 0
    counts: Counter[str] = field(default_factory=Counter)


class Killings:
    """The clients, and whoever kills the service."""

    def __init__(self, service: ServiceProcess, *, clients: int = CLIENTS, seed: int = 0) -> None:
        self.service, self.seed = service, seed
        self.ledgers = [Ledger() for _ in range(clients)]
        self.wrong: list[str] = []
        self.refused: Counter[int] = Counter()
        self.X, self.y = rows_and_labels(5000, seed=seed + 1)
        self._up = asyncio.Event()
        self._done = False

    async def run(self, kills: int, longest: float = 0.7) -> None:
        """Kill it so many times at random moments, some while it starts; then label what waits."""
        await self.during(self._kill_often(kills, longest))

    async def during(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something to the service while the clients are at work; then label what waits."""
        if self.service.alive:
            self._up.set()
        else:
            await self.start_now()
        clients = [asyncio.create_task(self._client(number)) for number in range(len(self.ledgers))]
        all_clients = asyncio.gather(*clients)
        working = asyncio.create_task(work)
        try:
            await asyncio.wait({working, all_clients}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                working.cancel()  # a client has failed
        finally:
            self._done = True
            await all_clients
        await working
        await asyncio.gather(*(self._label_all(ledger) for ledger in self.ledgers))

    async def _kill_often(self, kills: int, longest: float) -> None:
        rng = random.Random(self.seed)
        for _ in range(kills):
            await asyncio.sleep(rng.uniform(0.0, longest))
            await self.kill_now()
            if rng.random() < 0.2:
                await asyncio.to_thread(self.service.start, False)
                await asyncio.sleep(rng.uniform(0.0, 2.0))
                await self.kill_now()
            await self.start_now()

    async def start_now(self) -> None:
        """Start the service, and let the clients ask."""
        await asyncio.to_thread(self.service.start)
        self._up.set()

    async def kill_now(self) -> None:
        """Kill the service."""
        self._up.clear()
        await asyncio.to_thread(self.service.kill)

    # Clients ----------------------------------------------------------------------------------------------

    async def _client(self, number: int) -> None:
        rng, ledger = random.Random(f"{self.seed} {number}"), self.ledgers[number]
        async with Connection(self.service.host, 0) as connection:
            turn = 0
            while not self._done:
                turn += 1
                draw = rng.random()
                if rng.random() < COMMANDS:
                    await self._command(connection, ledger, rng)
                if (draw < 0.5 or not ledger.waiting) and len(ledger.waiting) < MOST_WAITING:
                    await self._predict(connection, ledger, rng, f"client {number}, {turn}")
                elif draw < 0.9:
                    some = rng.sample(sorted(ledger.waiting), min(len(ledger.waiting), rng.randint(1, 4)))
                    await self._label(connection, ledger, some)
                elif draw < 0.95 and ledger.labelled:
                    await self._label_again(connection, ledger, rng)
                else:
                    await self._label_row(connection, ledger, rng)

    async def _ask(
        self, connection: Connection, path: str, value: Any, *, once: bool = False
    ) -> Reply | None:
        """Ask until there is an answer; None if there was none and `once`."""
        while True:
            await self._up.wait()
            if connection.port != self.service.port:
                await connection.close()
                connection.port = self.service.port
            try:
                reply = await connection.request("POST", path, value)
            except (OSError, BrokenAnswerError):
                if once:
                    return None
                await asyncio.sleep(0.01)
                continue
            if reply.status in (503, 507):  # nothing was taken
                self.refused[reply.status] += 1
                await asyncio.sleep(0.01)
                continue
            return reply

    async def _predict(self, connection: Connection, ledger: Ledger, rng: random.Random, name: str) -> None:
        chosen = [rng.randrange(len(self.X)) for _ in range(rng.randint(1, 3))]
        asked: dict[str, Any] = {"rows": [as_row(self.X[i]) for i in chosen]}
        own = rng.random() < 0.3
        if own:
            asked["ids"] = [f"{name}, {k}" for k in range(len(chosen))]
        reply = await self._ask(connection, "/predict", asked, once=not own)
        if reply is None:
            ledger.counts["predictions not acknowledged"] += 1
            return
        if reply.status != 200:
            self.wrong.append(f"{name}: /predict gave {reply.status} {reply.body[:200]!r}")
            return
        ids = [each["id"] for each in reply.json()["predictions"]]
        if own and ids != asked["ids"]:
            self.wrong.append(f"{name}: asked for the ids {asked['ids']}, got {ids}")
        for id_, i in zip(ids, chosen, strict=True):
            if id_ in ledger.waiting or id_ in ledger.labelled:
                self.wrong.append(f"{name}: the id {id_} was given twice")
            ledger.waiting[id_] = int(self.y[i])
        ledger.counts["predictions"] += len(ids)

    async def _label(self, connection: Connection, ledger: Ledger, ids: list[str]) -> None:
        """Label predictions; those that were acknowledged must be known."""
        labels = [{"id": id_, "label": ledger.waiting[id_]} for id_ in ids]
        reply = await self._ask(connection, "/label", {"labels": labels})
        assert reply is not None
        found = reply.json()
        if reply.status != 200 or found["accepted"] + found["duplicates"] != len(ids):
            self.wrong.append(f"labels of {ids}: {reply.status} {reply.body[:300]!r}")
        ledger.counts["labels accepted"] += found.get("accepted", 0)
        ledger.counts["labels acknowledged when repeated"] += found.get("duplicates", 0)
        for id_ in ids:
            ledger.labelled[id_] = ledger.waiting.pop(id_)

    async def _label_again(self, connection: Connection, ledger: Ledger, rng: random.Random) -> None:
        """A label that was acknowledged comes again, the same or another: nothing is learnt."""
        id_ = rng.choice(sorted(ledger.labelled))
        other = rng.random() < 0.5
        label = 1 - ledger.labelled[id_] if other else ledger.labelled[id_]
        reply = await self._ask(connection, "/label", {"labels": [{"id": id_, "label": label}]})
        assert reply is not None
        found = reply.json()
        if reply.status != 409 if other else found.get("duplicates") != 1:
            self.wrong.append(
                f"{id_} again{', another' if other else ''}: {reply.status} {reply.body[:300]!r}"
            )
        ledger.counts["labels sent again"] += 1

    async def _label_row(self, connection: Connection, ledger: Ledger, rng: random.Random) -> None:
        """A label with its row and without an id: without an answer nobody knows whether it was learnt."""
        i = rng.randrange(len(self.X))
        ledger.rows_sent += 1
        label = {"row": as_row(self.X[i]), "label": int(self.y[i])}
        reply = await self._ask(connection, "/label", {"labels": [label]}, once=True)
        if reply is None:
            return
        if reply.status != 200 or reply.json()["accepted"] != 1:
            self.wrong.append(f"a label with its row: {reply.status} {reply.body[:300]!r}")
        ledger.rows_acknowledged += 1

    async def _command(self, connection: Connection, ledger: Ledger, rng: random.Random) -> None:
        """A command, after which the service writes a checkpoint; a rollback replaces the adapted model."""
        path, value = ("/rollback", {"version": 0}) if rng.random() < 0.1 else ("/freeze", {"frozen": False})
        reply = await self._ask(connection, path, value, once=True)
        ledger.counts["commands"] += 1
        if reply is not None and reply.status != 200:
            self.wrong.append(f"{path}: {reply.status} {reply.body[:300]!r}")

    async def _label_all(self, ledger: Ledger) -> None:
        """Label everything that waits: every acknowledged prediction must still be known."""
        async with Connection(self.service.host, self.service.port) as connection:
            ids = sorted(ledger.waiting)
            ledger.counts["waiting at the end"] += len(ids)
            for k in range(0, len(ids), MANY):
                await self._label(connection, ledger, ids[k : k + MANY])

    # What must hold ---------------------------------------------------------------------------------------

    def check_journal(self, state: Path, learnt: int) -> None:
        """Compare the journal, and how many labels the service says it has learnt, with what clients know."""
        labels = sum(len(ledger.labelled) for ledger in self.ledgers)
        sent = sum(ledger.rows_sent for ledger in self.ledgers)
        acknowledged = sum(ledger.rows_acknowledged for ledger in self.ledgers)
        if not labels + acknowledged <= learnt <= labels + sent:
            self.wrong.append(
                f"{learnt:,} labels are learnt; {labels:,} by id and {acknowledged:,} to {sent:,} with rows "
                "should be"
            )
        database = sqlite3.connect(f"file:{state / 'journal.db'}?mode=ro", uri=True)
        try:
            query = "select number, count(*) n from journal where number is not null group by number"
            for number, n in database.execute(f"select * from ({query}) where n > 1"):
                self.wrong.append(f"prediction {number} is {n} times in the journal")
            whole = database.execute("pragma integrity_check").fetchone()[0]
            if whole != "ok":
                self.wrong.append(f"the journal is damaged: {whole}")
        finally:
            database.close()

    @property
    def counts(self) -> dict[str, int]:
        """What was done, over all clients."""
        total: Counter[str] = Counter()
        for ledger in self.ledgers:
            total.update(ledger.counts)
            total["labels with rows, acknowledged"] += ledger.rows_acknowledged
            total["labels with rows, sent"] += ledger.rows_sent
        total.update({f"answers {status}": n for status, n in self.refused.items()})
        return dict(total)


def check_killed(killings: Killings) -> None:
    """Stop the service; compare the journal, a restart and a replay with what was served and acknowledged."""
    service, wrong = killings.service, killings.wrong
    facts, served = asyncio.run(_last_words(service))
    if (status := service.stop()) != 0:
        wrong.append(f"it ended with status {status}: {service.said[-3:]}")
    killings.check_journal(service.state, facts["labels"])
    if facts["failed"]:
        wrong.append(f"{facts['failed']} labels could not be learnt")
    replayed = replay(service.state)
    with Adapter(service.model, service.state) as adapter:  # from the checkpoint
        reopened, adapted = adapter.facts(), adapter.model_file()
    if adapted != replayed.model_bytes():
        wrong.append("the model is not what the replayed journal gives")
    if facts["answering"] == "adapted" and served != adapted:
        wrong.append("the model that was served is not the one that is there after a restart")
    again = replayed.facts()
    for key in ("labels", "learnt", "failed", "answering", "accuracy", "recent_accuracy"):
        if not facts[key] == reopened[key] == again[key]:
            wrong.append(
                f"{key}: {facts[key]} served, {reopened[key]} after a restart, {again[key]} replayed"
            )
    if reopened["pending"] != facts["pending"]:
        wrong.append(f"{facts['pending']} predictions waited, and {reopened['pending']} after a restart")


async def _last_words(service: ServiceProcess) -> tuple[dict[str, Any], bytes]:
    async with Connection(service.host, service.port) as connection:
        facts = await connection.request("GET", "/model")
        file = await connection.request("GET", "/model/file")
    return facts.json(), file.body
