"""The service at full load for a long time: its memory must stay flat once it is warm.

Clients predict a row and label it a few hundred predictions later, as fast as the service answers. Its
resident memory is sampled every few seconds; the slope is that of a line through the samples after the first
quarter.

    python experiments/soak.py --minutes 20 --out experiments/results/soak.json

Exits with 1 if memory grew by more than a tenth after the first quarter, or an answer was not 200.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections import deque
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.support.load import Connection, Load, request_bytes, run_load
from tests.support.serving import ServiceProcess, as_row, rows_and_labels, scratch_folder, write_model

LATE = 300  # predictions between one and its label
MAX_GROWTH = 0.1


async def soak(
    service: ServiceProcess, minutes: float, clients: int, every: float
) -> tuple[Load, list[dict]]:
    """The load, and samples of the service's memory."""
    X, y = rows_and_labels(5000, seed=1)
    bodies = [json.dumps({"rows": [as_row(x)]}).encode() for x in X]
    raws = [request_bytes("POST", "/predict", body) for body in bodies]
    late: deque[tuple[str, int]] = deque()
    samples: list[dict] = []
    start, end = time.perf_counter(), time.perf_counter() + 60 * minutes

    async def one(connection: Connection, number: int) -> list[int]:
        i = number % len(raws)
        reply = await connection.ask(raws[i])
        statuses = [reply.status]
        if reply.status == 200:
            late.append((reply.json()["predictions"][0]["id"], int(y[i])))
        if len(late) > LATE:
            id_, label = late.popleft()
            reply = await connection.request("POST", "/label", {"labels": [{"id": id_, "label": label}]})
            statuses.append(reply.status)
        return statuses

    async def sample() -> None:
        while (now := time.perf_counter()) < end:
            state = sum(path.stat().st_size for path in service.state.rglob("*") if path.is_file())
            row = {"seconds": round(now - start, 1), "rss": service.memory(), "state_bytes": state}
            samples.append(row)
            await asyncio.sleep(every)

    load, _ = await asyncio.gather(run_load(service.host, service.port, clients, 60 * minutes, one), sample())
    return load, samples


def main() -> int:
    """Run it and print the samples in short."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--model", choices=["ocb", "adaptive"], default="ocb")
    parser.add_argument("--out", type=Path, help="a file for the samples, as JSON")
    parser.add_argument("--figure", type=Path, help="a picture of memory over time")
    given = parser.parse_args()
    with scratch_folder() as folder:
        model = write_model(Path(folder) / "model.ocb", given.model)
        with ServiceProcess(model, Path(folder) / "state") as service:
            every = max(0.5, 60 * given.minutes / 240)
            load, samples = asyncio.run(soak(service, given.minutes, given.clients, every))
            ended = service.stop()
    seconds = np.array([sample["seconds"] for sample in samples])
    rss = np.array([sample["rss"] for sample in samples]) / 2**20
    warm = seconds >= seconds[-1] / 4
    slope = float(np.polyfit(seconds[warm], rss[warm], 1)[0] * 60)
    growth = float(np.median(rss[-5:]) / np.median(rss[warm][:5]) - 1)
    result = {
        "minutes": given.minutes,
        "clients": given.clients,
        "model": given.model,
        "pairs_per_second": round(load.rate, 1),
        "statuses": {str(status): n for status, n in sorted(load.statuses.items())},
        "mib_at_first": round(float(rss[0]), 1),
        "mib_when_warm": round(float(np.median(rss[warm][:5])), 1),
        "mib_at_the_end": round(float(np.median(rss[-5:])), 1),
        "mib_a_minute": round(slope, 3),
        "growth": round(growth, 4),
        "exit_status": ended,
    }
    print(json.dumps(result, indent=1))
    if given.out is not None:
        given.out.write_text(json.dumps({**result, "samples": samples}, indent=1) + "\n")
    if given.figure is not None:
        draw(given.figure, seconds, rss)
    return 1 if growth > MAX_GROWTH or set(load.statuses) != {200} or ended != 0 else 0


def draw(path: Path, seconds: np.ndarray, rss: np.ndarray) -> None:
    """Memory over time."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
    axes.plot(seconds / 60, rss)
    axes.set(xlabel="minutes", ylabel="resident memory (MiB)", ylim=(0, None))
    figure.savefig(path)


if __name__ == "__main__":
    sys.exit(main())
