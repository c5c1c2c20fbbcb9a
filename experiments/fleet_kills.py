"""A fleet that is killed at random moments while it learns, and one whose file is damaged.

A process learns a stream in transactions of any size, compacts its store now and then, is killed with SIGKILL
and started again from the offset that the store has. In the end every key's bytes, the shared records and the
offset must be those of a run that nobody disturbed (``tests/fleet/kills.py``).

With ``--flips``, a byte of the data file is changed, somewhere, so many times, and as many times in the first
64 bytes of a page, where LMDB keeps its own pointers. A process opens each, predicts every key, verifies and
learns. No key may be answered otherwise than before without a word. LMDB has no checksums of its pages, so
that crashes and keys that are no longer found are counted.

    python experiments/fleet_kills.py --kills 30 --flips 200

Exits with 1 if a kill has changed anything.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import shutil
import signal
import sys
import time
import warnings
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from ocboost import OcboostError, set_num_threads
from ocboost.fleet import Fleet
from tests.fleet.fleets import model, rows
from tests.fleet.kills import FleetKills
from tests.support.serving import scratch_folder

OUT = Path(__file__).parent / "results" / "fleet_kills.json"
LONGEST = 0.4  # seconds from the start of a process until it is killed
PAGE, HEADER = 4096, 64
N_KEYS = 600
FLIP_SECONDS = 60.0


def key_of(i: int) -> str:
    """Long keys, so that the tree of a few hundred has pages of pointers."""
    return f"{i:08d} {'x' * 200}"


def damaged_store(folder: Path) -> bytes:
    """A store in which every page is in use; its file."""
    X, y, _ = rows(n=9000)
    with Fleet(model(), store=folder, window=30) as fleet:
        fleet.learn([key_of(i % N_KEYS) for i in range(len(X))], X, y)
        fleet.compact()
    return (folder / "data.mdb").read_bytes()


def answers(fleet: Fleet) -> list[Any]:
    """The vote of every key, or what was said instead."""
    X, _, _ = rows()
    found: list[Any] = []
    for i in range(N_KEYS):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                vote: Any = float(fleet.votes([key_of(i)], X[i : i + 1])[0])
            except OcboostError as error:
                vote = f"refused: {error}"
        found.append("warned" if caught else vote)
    return found


def look(store: Path, told: Connection) -> None:
    """What a damaged store does, step by step; runs in a process of its own."""
    X, y, _ = rows()
    try:
        with Fleet(store=store) as fleet:
            told.send(("answers", answers(fleet)))
            try:
                told.send(("verify", {key.decode("latin1") for key, _ in fleet.verify()}))
            except OcboostError as error:
                told.send(("verify", f"refused: {error}"))
            try:
                fleet.learn([key_of(i) for i in range(N_KEYS)], X[:N_KEYS], y[:N_KEYS])
                told.send(("learn", "learnt"))
            except OcboostError as error:
                told.send(("learn", f"refused: {error}"))
        told.send(("end", None))
    except OcboostError as error:
        told.send(("opening", f"refused: {error}"))
    except Exception as error:
        told.send(("other", f"{type(error).__name__}: {error}"))


def looked_at(store: Path) -> tuple[dict[str, Any], int | None]:
    """What a process said of a store, and how it ended; None if it had to be ended."""
    context = multiprocessing.get_context("fork")
    told, telling = context.Pipe(duplex=False)
    process = context.Process(target=look, args=(store, telling))
    process.start()
    telling.close()
    said = {}
    try:
        while told.poll(FLIP_SECONDS):
            name, what = told.recv()
            said[name] = what
        ended = None
    except (EOFError, OSError):
        process.join()
        ended = process.exitcode
    process.kill()
    process.join()
    return said, ended


def judged(said: dict[str, Any], ended: int | None, expected: list[Any], hit: int | None) -> str:
    """One outcome, the worst first; ``hit`` is the key whose record was changed."""
    found = said.get("answers", [])
    silent = [
        i
        for i, (vote, before) in enumerate(zip(found, expected, strict=False))
        if isinstance(vote, float) and vote != before
    ]
    if "other" in said:
        return f"another error: {said['other']:.80}"
    if any(i != hit for i in silent):
        verified = said.get("verify")
        known = isinstance(verified, str) or bool(verified)
        return f"keys not found without a word, verify {'says so' if known else 'finds nothing'}"
    if ended is None:
        return "hangs"
    if ended < 0:
        stage = "opening" if not said else f"after {list(said)[-1]}"
        return f"crash, {signal.Signals(-ended).name}, {stage}"
    if silent:
        return f"the changed key is not found, verify {'says so' if said.get('verify') else 'finds nothing'}"
    if "opening" in said:
        return "refused when it is opened"
    if any(isinstance(vote, str) for vote in found):
        return "keys named, the others answered as before"
    if said.get("verify") or said.get("learn") != "learnt":
        return "answers as before, verify or learn refuse"
    return "answers as before"


def flips(folder: Path, n: int, luck: random.Random) -> dict[str, dict[str, int]]:
    """Change bytes, anywhere and where pages begin, and count what happens."""
    set_num_threads(1)  # the processes are forked
    whole = damaged_store(folder / "whole")
    with Fleet(store=folder / "whole", read_only=True) as fleet:
        expected = answers(fleet)
    records = []
    for i in range(N_KEYS):
        at = whole.find(key_of(i).encode())
        records.append(range(at - 8, at + len(key_of(i)) + 100))
    found: dict[str, dict[str, int]] = {}
    for where in ("anywhere", "where pages begin"):
        counts: Counter[str] = Counter()
        for _ in range(n):
            at = luck.randrange(len(whole))
            if where != "anywhere":
                at = at // PAGE * PAGE + luck.randrange(HEADER)
            data = bytearray(whole)
            data[at] ^= luck.randrange(1, 256)
            store = folder / "flipped"
            shutil.rmtree(store, ignore_errors=True)
            store.mkdir()
            (store / "data.mdb").write_bytes(data)
            hit = next((i for i, places in enumerate(records) if at in places), None)
            counts[judged(*looked_at(store), expected, hit)] += 1
        found[where] = dict(counts.most_common())
    return found


def main() -> int:
    """Kill it, compare, damage it, and print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--classes", type=int, choices=[2, 3], default=2)
    parser.add_argument("--flips", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=OUT, help="a file for the counts, as JSON")
    given = parser.parse_args()
    began = time.perf_counter()
    result: dict[str, Any] = {"seed": given.seed, "classes": given.classes}
    with scratch_folder() as name:
        run = FleetKills(Path(name), n=given.rows, K=given.classes, seed=given.seed)
        run.run(given.kills, LONGEST)
        result |= {**run.counts, "wrong": run.wrong}
        for what, n in run.counts.items():
            print(f"{n:>9,}  {what}")
        for each in run.wrong[:20]:
            print(ascii(each)[:2000])
        if given.flips:
            result["flips"] = flips(Path(name), given.flips, random.Random(given.seed))
            for where, counts in result["flips"].items():
                print(f"\n{given.flips} bytes changed, {where}")
                for what, n in counts.items():
                    print(f"{n:>9,}  {what}")
    seconds = time.perf_counter() - began
    print(f"\n{len(run.wrong)} wrong after {given.kills} kills, {seconds:,.0f} s")
    given.out.write_text(json.dumps({**result, "seconds": round(seconds)}, indent=1) + "\n")
    return 1 if run.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
