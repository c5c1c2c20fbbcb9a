"""Mutated requests against the running service: only 4xx (or 2xx where it still made sense), and it lives on.

Types, NaN, huge numbers, depth, invalid UTF-8, shapes and bytes of the inference protocol, lengths, chunks,
request lines, pipelining, connections that break off, clients that stall or hurry. They are those of
``tests/support/mutated.py``.

    python experiments/mutated_requests.py --requests 10000

Exits with 1 if any gave a 5xx, no answer, or ended the process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.support.mutated import MAX_BODY, bombard, hurry, stall
from tests.support.serving import ServiceProcess, scratch_folder, write_model

STALLED, HURRIED = 20, 500


def main() -> int:
    """Send them, and print the counts of what came back."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", choices=["ocb", "adaptive"], default="ocb")
    parser.add_argument("--out", type=Path, help="a file for the counts, as JSON")
    given = parser.parse_args()
    columns = [f"x{i}" for i in range(4)]
    with scratch_folder() as folder:
        model = write_model(Path(folder) / "model.ocb", given.model, features=len(columns), J=20)
        with ServiceProcess(model, Path(folder) / "state", "--max-body", MAX_BODY) as service:
            seen = asyncio.run(bombard(service, given.requests, given.seed, columns))
            asyncio.run(stall(service, STALLED, seen))
            if service.stop() != 0:
                seen.wrong.append("it did not end in order")
        with ServiceProcess(model, Path(folder) / "state", "--rate", 50) as service:
            asyncio.run(hurry(service, HURRIED, seen))
            if not seen.statuses["hurried: 429"]:
                seen.wrong.append("no request was refused for its rate")
    for status, n in sorted(seen.statuses.items()):
        print(f"{n:>7,}  {status}")
    for each in seen.wrong[:50]:
        print(ascii(each))
    print(f"{len(seen.wrong)} wrong of {given.requests:,}")
    if given.out is not None:
        result = {"requests": given.requests, "seed": given.seed, "model": given.model}
        result |= {"statuses": dict(sorted(seen.statuses.items())), "wrong": seen.wrong}
        given.out.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if seen.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
