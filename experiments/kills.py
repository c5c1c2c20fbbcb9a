"""The service under load, killed at random moments: nothing acknowledged may be lost or learnt twice.

It is killed with SIGKILL, so no handler runs.

Concurrent clients predict and label, remember every acknowledged id and label, and repeat what was not
acknowledged (``tests/support/kills.py``). In the end every prediction that waits is labelled, and:

- the service has learnt as many labels as the clients know of, and no prediction is twice in the journal;
- every acknowledged prediction was still known;
- the model is, byte for byte, what the deployed model becomes with the journal replayed.

    python experiments/kills.py --kills 200 --model ocb

Exits with 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.support.kills import CLIENTS, Killings, check_killed
from tests.support.serving import ServiceProcess, scratch_folder, write_model


def main() -> int:
    """Kill it, check, and print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", choices=["ocb", "adaptive"], default="ocb")
    parser.add_argument("--out", type=Path, help="a file for the counts, as JSON")
    given = parser.parse_args()
    began = time.perf_counter()
    with scratch_folder() as folder:
        model = write_model(Path(folder) / "model.ocb", given.model)
        with ServiceProcess(model, Path(folder) / "state") as service:
            killings = Killings(service, clients=given.clients, seed=given.seed)
            asyncio.run(killings.run(given.kills))
            check_killed(killings)
    for what, n in killings.counts.items():
        print(f"{n:>9,}  {what}")
    for each in killings.wrong[:50]:
        print(ascii(each))
    seconds = time.perf_counter() - began
    print(f"{len(killings.wrong)} wrong after {given.kills} kills, {seconds:,.0f} s")
    if given.out is not None:
        result = {"kills": given.kills, "clients": given.clients, "seed": given.seed, "model": given.model}
        result |= {"counts": killings.counts, "wrong": killings.wrong, "seconds": round(seconds)}
        given.out.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if killings.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
