"""Requests a second of `ocboost serve`, beside FastAPI with scikit-learn: python benchmarks/serve.py.

Each service runs on one core and the clients on another (Linux, two cores or more). 16 connections that stay
open ask as fast as they are answered: a prediction of one row; a prediction and then its label; a prediction
of 64 rows. Every prediction is issued, so ocboost's are on the disk before they are answered, as its labels
are. The peer keeps everything in memory and writes nothing (`peers/fastapi_sgd.py`). Rounds go over all
services in turn; the median round is reported, with the CPU time of the service for each request or pair,
which other work on the machine changes least. It reports, and judges nothing.
"""

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness import machine, new_console, table_of, write_results

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.support.load import BrokenAnswerError, Connection, Load, Round, request_bytes, run_load
from tests.support.serving import (
    ServiceProcess,
    as_row,
    cpu_seconds,
    rows_and_labels,
    scratch_folder,
    write_model,
)

OUT = Path(__file__).parent / "results" / "serve.json"
FEATURES, ROWS, J = 20, 64, 100
PEER = "FastAPI + SGDClassifier (nothing durable)"
SERVICES = {f"ocboost, OCBClassifier, J={J}": "ocb", "ocboost, AdaptiveClassifier": "adaptive", PEER: "peer"}
PERCENTILES = (50, 95, 99)
START_SECONDS = 60


@contextmanager
def running(kind: str, folder: Path, core: int) -> Iterator[tuple[str, int, int]]:
    """A service on one core: where it answers, and its process."""
    if kind != "peer":
        model = write_model(folder / f"{kind}.ocb", kind, features=FEATURES, J=J)
        environment = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        with ServiceProcess(model, folder / f"{kind}.state", cores=[core], **environment) as service:
            yield service.host, service.port, service.pid
            service.stop()
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = Path(__file__).parent / "peers" / "fastapi_sgd.py"
    process = subprocess.Popen(
        [sys.executable, str(script), str(FEATURES), str(port)], env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    try:
        os.sched_setaffinity(process.pid, [core])
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError("the peer did not start; is fastapi installed?") from None
                time.sleep(0.1)
        yield "127.0.0.1", port, process.pid
    finally:
        process.terminate()
        process.wait(START_SECONDS)


def works() -> dict[str, tuple[Round, int]]:
    """What clients do, and how many rows each time."""
    X, y = rows_and_labels(4096, FEATURES, seed=1)
    rows = [as_row(x) for x in X]
    single = [request_bytes("POST", "/predict", json.dumps({"rows": [row]}).encode()) for row in rows]
    many = [
        request_bytes("POST", "/predict", json.dumps({"rows": rows[i : i + ROWS]}).encode())
        for i in range(0, len(rows), ROWS)
    ]

    async def predict(connection: Connection, number: int) -> list[int]:
        return [(await connection.ask(single[number % len(single)])).status]

    async def pair(connection: Connection, number: int) -> list[int]:
        i = number % len(single)
        reply = await connection.ask(single[i])
        id_ = json.loads(reply.body)["predictions"][0]["id"]
        label = b'{"labels":[{"id":"%b","label":%d}]}' % (id_.encode(), y[i])
        return [reply.status, (await connection.ask(request_bytes("POST", "/label", label))).status]

    async def block(connection: Connection, number: int) -> list[int]:
        return [(await connection.ask(many[number % len(many)])).status]

    return {
        "predict, 1 row": (predict, 1),
        "predict and label": (pair, 1),
        f"predict, {ROWS} rows": (block, ROWS),
    }


def measured(load: Load, rows: int, cpu: float) -> dict[str, Any]:
    """One round."""
    if set(load.statuses) != {200}:
        raise RuntimeError(f"answers other than 200: {dict(load.statuses)}")
    found = {"per_second": load.rate, "rows_per_second": load.rate * rows}
    found["cpu_us"] = 1e6 * cpu / len(load.latencies)
    return found | {f"p{p}_ms": 1000 * load.percentile(p) for p in PERCENTILES}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="of each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--only", default="", help="services whose name holds this")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    server_core, *client_cores = sorted(os.sched_getaffinity(0))
    if not client_cores:
        print("two cores are needed: one for the service, one for the clients")
        return 1
    os.sched_setaffinity(0, client_cores)
    rounds: dict[tuple[str, str], list[dict[str, Any]]] = {}
    todo = works()
    for number in range(given.rounds + 1):  # the first one warms up
        for name, kind in SERVICES.items():
            if given.only not in name:
                continue
            with scratch_folder() as folder, running(kind, Path(folder), server_core) as (host, port, pid):
                for work, (one, n) in todo.items():
                    seconds = given.seconds if number else min(1.0, given.seconds)
                    asyncio.run(run_load(host, port, given.clients, seconds / 5, one))
                    before = cpu_seconds(pid)
                    load = asyncio.run(run_load(host, port, given.clients, seconds, one))
                    if number:
                        found = measured(load, n, cpu_seconds(pid) - before)
                        rounds.setdefault((work, name), []).append(found)
                print(f"round {number} of {given.rounds}: {name}", file=sys.stderr)
    rows = [
        {"work": work, "service": name}
        | {key: statistics.median(each[key] for each in found) for key in found[0]}
        for (work, name), found in sorted(rounds.items(), key=lambda each: list(todo).index(each[0][0]))
    ]
    columns = {
        "work": ("work", ""),
        "service": ("service", ""),
        "requests or pairs/s": ("per_second", ",.0f"),
        "rows/s": ("rows_per_second", ",.0f"),
        "CPU µs each": ("cpu_us", ",.0f"),
        **{f"p{p} ms": (f"p{p}_ms", ",.2f") for p in PERCENTILES},
    }
    title = f"One core, {given.clients} clients, {given.rounds} rounds of {given.seconds:g} s, medians"
    new_console().print(table_of(rows, columns, title))
    settings = {
        "seconds": given.seconds,
        "rounds": given.rounds,
        "clients": given.clients,
        "features": FEATURES,
        "rows_a_request": ROWS,
        "n_hypotheses": J,
        "server_core": server_core,
        "client_cores": client_cores,
        "state_on": tempfile.gettempdir(),
    }
    every = [{"work": work, "service": name, "rounds": found} for (work, name), found in rounds.items()]
    write_results(given.out, {"machine": machine(), "settings": settings, "rows": rows, "rounds": every})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, BrokenAnswerError) as error:
        sys.exit(str(error))
