"""The service on a disk that fills up under load: 507 or 503, nothing lost, and it goes on with room again.

The state lies on a small file system in memory (which root may mount). Clients predict and label; again and
again a file fills the rest of the disk and is removed. What was acknowledged must be kept: in the end every
prediction that waits is labelled, and the model must be what the replayed journal gives.

    python experiments/full_disk.py --rounds 10

Exits with 1 if anything is wrong, 0 with a note if nothing can be mounted here.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.support.kills import CLIENTS, Killings, check_killed
from tests.support.load import Connection
from tests.support.serving import ServiceProcess, as_row, scratch_folder, write_model

MEGABYTES = 24
PIECE = 4096


@contextmanager
def small_disk(folder: Path) -> Iterator[Path | None]:
    """A file system of a few megabytes; None where it may not be mounted."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", str(folder)], capture_output=True
    )
    if mounted.returncode != 0:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(path: Path) -> None:
    """Take all the room there is."""
    with open(path, "ab", buffering=0) as file:
        for size in (1 << 20, PIECE):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue


async def probe(service: ServiceProcess, row: dict[str, float]) -> tuple[int, int]:
    """The statuses of a prediction that is issued, and of the health."""
    async with Connection(service.host, service.port) as connection:
        issued = await connection.request("POST", "/predict", {"rows": [row]})
        health = await connection.request("GET", "/health")
    return issued.status, health.status


async def start_on_full_disk(service: ServiceProcess) -> str:
    """Whether it starts, or what it says instead."""
    try:
        await asyncio.to_thread(service.start)
    except RuntimeError:
        return f"full: it does not start: {service.said[-1] if service.said else 'nothing said'}"
    await asyncio.to_thread(service.kill)
    return "full: it starts"


async def rounds(killings: Killings, disk: Path, n: int, seen: Counter[str]) -> None:
    """Fill the disk and free it, with clients at work."""
    service, filler, row = killings.service, disk / "filler", as_row(killings.X[0])
    for number in range(n):
        await asyncio.sleep(0.3)
        await asyncio.to_thread(fill, filler)
        full = False
        for _ in range(400):  # until the journal, too, has used up what it had
            status, health = await probe(service, row)
            seen[f"full: /predict {status}, /health {health}"] += 1
            if status in (503, 507):
                full = True
                break
            if status != 200:
                killings.wrong.append(f"round {number}: /predict gave {status} on a full disk")
                break
            await asyncio.to_thread(fill, filler)
        if not full:
            killings.wrong.append(f"round {number}: it was never full")
        async with Connection(service.host, service.port) as connection:
            reply = await connection.request("POST", "/predict", {"rows": [row], "issue": False})
            seen[f"full: /predict without issuing {reply.status}"] += 1
        if number % 3 == 2:  # a kill on the full disk, and a start
            await killings.kill_now()
            seen[await start_on_full_disk(service)] += 1
        filler.unlink()
        if number % 3 == 2:
            await killings.start_now()
        for _ in range(200):
            status, health = await probe(service, row)
            seen[f"free: /predict {status}, /health {health}"] += 1
            if status == 200:
                break
            await asyncio.sleep(0.05)
        else:
            killings.wrong.append(f"round {number}: it did not recover")


def main() -> int:
    """Run the rounds, check, and print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", choices=["ocb", "adaptive"], default="ocb")
    parser.add_argument("--out", type=Path, help="a file for the counts, as JSON")
    given = parser.parse_args()
    seen: Counter[str] = Counter()
    with scratch_folder() as folder, small_disk(Path(folder) / "disk") as disk:
        if disk is None:
            print(f"no file system can be mounted here (user {os.getuid()}): nothing was measured")
            return 0
        model = write_model(Path(folder) / "model.ocb", given.model)
        with ServiceProcess(model, disk / "state") as service:
            killings = Killings(service, clients=CLIENTS, seed=given.seed)
            asyncio.run(killings.during(rounds(killings, disk, given.rounds, seen)))
            check_killed(killings)
    for what, n in [*sorted(seen.items()), *killings.counts.items()]:
        print(f"{n:>9,}  {what}")
    for each in killings.wrong[:50]:
        print(ascii(each))
    print(f"{len(killings.wrong)} wrong after {given.rounds} rounds")
    if given.out is not None:
        result = {"rounds": given.rounds, "seed": given.seed, "model": given.model, "seen": dict(seen)}
        result |= {"counts": killings.counts, "wrong": killings.wrong}
        given.out.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if killings.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
