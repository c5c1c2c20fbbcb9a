"""A consumer of a broker's log, killed at random moments: model and predictions must not depend on it.

Two processes send requests and late labels all the while, some of them twice, wrong or useless. The consumer
is killed with SIGKILL and started again, sometimes the broker with it. In the end an undisturbed consumer
reads a copy of the log; its model, byte for byte, and its predictions must be the same.

    python experiments/broker_kills.py --broker redis --kills 30 --server-kills 8
    python experiments/broker_kills.py --broker kafka --kills 30 --server-kills 0

Exits with 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.support.broker_kills import Bench, BrokerKills, RedisBench
from tests.support.kafka_bench import KafkaBench
from tests.support.serving import scratch_folder

BENCHES: dict[str, type[Bench]] = {"redis": RedisBench, "kafka": KafkaBench}


def main() -> int:
    """Kill it, compare, and print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--broker", choices=list(BENCHES), default="redis")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--server-kills", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=["ocb", "adaptive"], default="ocb")
    parser.add_argument("--out", type=Path, help="a file for the counts, as JSON")
    given = parser.parse_args()
    began = time.perf_counter()
    with scratch_folder() as name:
        folder = Path(name)
        bench: Bench = BENCHES[given.broker](folder / "broker")  # type: ignore[call-arg]
        bench.start()
        try:
            run = BrokerKills(folder, bench, kind=given.kind, seed=given.seed)
            run.run(given.kills, given.server_kills)
        finally:
            bench.kill()
    for what, n in run.counts.items():
        print(f"{n:>9,}  {what}")
    for each in run.wrong[:20]:
        print(ascii(each)[:2000])
    seconds = time.perf_counter() - began
    print(f"{len(run.wrong)} wrong, {given.broker}, {given.kind}, seed {given.seed}, {seconds:,.0f} s")
    if given.out is not None:
        result = {"broker": given.broker, "kind": given.kind, "seed": given.seed, **run.counts}
        result |= {"wrong": run.wrong, "seconds": round(seconds)}
        given.out.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if run.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
