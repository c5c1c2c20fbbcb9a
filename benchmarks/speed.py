"""The speed of ocboost beside its peers, in one run: python benchmarks/speed.py.

With --check the ratios against the peers are compared with the committed ones (compare_ratios.py); the exit
code is 1 if any fell. See benchmarks/README.md for what is measured and how to read it.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import batch_adaboost
import compare_ratios
import ours
import speed_report
import startup
from harness import (
    RING,
    Columns,
    Method,
    Row,
    UnavailableError,
    machine,
    measure,
    new_console,
    write_results,
)
from peers import PEERS

PARTS = ["ocboost", *PEERS, "startup", "adaboost"]
COMMITTED = compare_ratios.RESULTS / "speed.json"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="short timings, two rounds: a check that all runs"
    )
    parser.add_argument("--only", help=f"comma-separated parts of {', '.join(PARTS)}")
    parser.add_argument(
        "--sizes", help=f"comma-separated numbers of hypotheses out of {', '.join(map(str, RING))}"
    )
    parser.add_argument("--rounds", type=int, help="rounds the medians are taken over (7; 2 with --quick)")
    parser.add_argument("--seed", type=int, default=2008)
    parser.add_argument(
        "--check", action="store_true", help="compare the ratios with the committed ones, and keep those"
    )
    parser.add_argument("--out", type=Path, help="results/speed.json; with --check nowhere")
    given = parser.parse_args()
    if given.out is None and not given.check:
        given.out = COMMITTED
    given.only = given.only.split(",") if given.only else PARTS
    given.sizes = [int(size) for size in given.sizes.split(",")] if given.sizes else list(RING)
    for part in given.only:
        if part not in PARTS:
            parser.error(f"--only takes parts of {', '.join(PARTS)}; got {part}")
    for size in given.sizes:
        if size not in RING:
            parser.error(f"--sizes takes sizes out of {', '.join(map(str, RING))}; got {size}")
    given.rounds = given.rounds or (2 if given.quick else 7)
    if given.rounds < 1:
        parser.error(f"--rounds must be at least 1; got {given.rounds}")
    return given


def collect(columns: Columns, parts: list[str], notes: list[str]) -> list[Method]:
    """Every chosen method at this size; one that cannot run leaves a note, once."""
    found: list[Method] = []
    for part, make in {"ocboost": ours.methods, **PEERS}.items():
        if part not in parts:
            continue
        try:
            found += make(columns)
        except (UnavailableError, ImportError) as why:
            note = f"{part} skipped: {why}"
            if note not in notes:
                notes.append(note)
    return found


def main() -> int:
    given = arguments()
    committed = json.loads(COMMITTED.read_text(encoding="utf-8")) if given.check else None
    console = new_console(170)
    span = 0.03 if given.quick else 0.2
    began = time.time()
    notes: list[str] = []
    rows: list[Row] = []
    results: dict[str, object] = {
        "machine": machine(),
        "settings": {
            "seed": given.seed,
            "sizes": given.sizes,
            "parts": given.only,
            "rounds": given.rounds,
            "span_seconds": span,
            "quick": given.quick,
            "ring": {J: RING[J] for J in given.sizes},
        },
    }
    with console.status("starting") as status:
        for J in given.sizes:
            status.update(f"J={J:,}: preparing")
            methods = collect(Columns(J, given.seed), given.only, notes)
            for step in measure(methods, J, given.rounds, span, given.seed, notes):
                if isinstance(step, Row):
                    rows.append(step)
                else:
                    status.update(f"J={J:,}: {step}")
        if "startup" in given.only:
            status.update("starting fresh processes")
            results["startup"] = startup.measure(runs=3 if given.quick else 7)
        if "adaboost" in given.only:
            n, J = (20_000, 304) if given.quick else (100_000, 1520)
            try:
                for step in batch_adaboost.measure(n, J, given.rounds, given.seed):
                    if isinstance(step, str):
                        status.update(step)
                    else:
                        results["batch_adaboost"] = step
            except ImportError as why:
                notes.append(f"batch AdaBoost skipped: {why}")
    results["rows"] = [row.as_json() for row in rows]
    results["targets"] = speed_report.targets(rows, results.get("startup"), results.get("batch_adaboost"))
    notes += [
        f"{row.method.library} {row.method.name}, J={row.n_hypotheses:,}: {row.finding}"
        for row in rows
        if "NaN" in row.finding
    ]
    for name, result in (results.get("startup") or {}).items():
        if "error" in result:
            notes.append(f"{name}: {result['error']}")
    results["notes"] = notes
    results["seconds"] = time.time() - began
    speed_report.show(console, results, rows)
    if given.out is not None:
        write_results(given.out, results)
    console.print(f"{given.out or 'not written'}, {results['seconds']:.0f} s")
    if committed is None:
        return 0
    changes = compare_ratios.compare(committed, results)
    return compare_ratios.show(console, changes, compare_ratios.missing(committed, results))


if __name__ == "__main__":
    sys.exit(main())
