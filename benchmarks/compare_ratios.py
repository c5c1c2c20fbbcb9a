"""Which speed ratios fell: python benchmarks/compare_ratios.py NEW.json [OLD.json].

A ratio is a peer's median CPU time divided by ours, from one run: how many times as fast as the peer we are.
Ratios carry over between machines, microseconds do not. NEW is a file that a benchmark wrote; OLD is by
default the committed file of the same benchmark in benchmarks/results. Every ratio that both files have is
printed: before, now, and the change.

A ratio fell if it lost more than the tolerance: 20 % (--tolerance), or more where its timings spread wider.
The spread is the distance between the quartiles of the rounds over their median, for ours and the peer in
both files, added in quadrature; a spread of s allows a loss of s/(1 + s), as times longer by s would cause.
Files without rounds have no spread. The exit code is 1 if any ratio fell. A busy machine can do that too, so
repeat the run before you believe it. Exit code 2: nothing to compare, or wrong usage.
"""

import argparse
import json
import math
import statistics
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import new_console
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
TOLERANCE = 0.2

# Ours and the peers it is measured against, in speed.json. MOA's long run computes with NaN: no yardstick.
SPEED_PEERS = {
    "sketch": ("MOA OCBoost", "scikit-learn SGDClassifier.partial_fit", "Vowpal Wabbit logistic"),
    "OzaRussell": ("MOA OzaBoost", "River AdaBoostClassifier"),
}


@dataclass(frozen=True)
class Ratio:
    """How many times as fast as a peer we are, and how far its timings spread."""

    value: float
    spread: float


@dataclass(frozen=True)
class Change:
    """One ratio in two files."""

    name: str
    before: float
    now: float
    tolerance: float

    @property
    def relative(self) -> float:
        """The change as a share: -0.25 is a quarter less."""
        return self.now / self.before - 1

    @property
    def fell(self) -> bool:
        """Whether it lost more than the noise explains."""
        return self.relative < -self.tolerance


def spread(rounds: list[float]) -> float:
    """The distance between the quartiles over the median; 0 for a single timing."""
    if len(rounds) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(rounds, n=4, method="inclusive")
    return (high - low) / middle


def ratio(ours: list[float], peer: list[float]) -> Ratio:
    """The ratio of two lists of rounds."""
    return Ratio(statistics.median(peer) / statistics.median(ours), math.hypot(spread(ours), spread(peer)))


# What each benchmark measured ------------------------------------------------------------------------------

Pair = tuple[str, list[float], list[float]]  # what is compared, our rounds, the peer's rounds


def pairs_of_speed(results: dict[str, Any]) -> Iterator[Pair]:
    """Every row of ours with one thread against its peers at the same size, and batch AdaBoost."""
    rows = [row for row in results["rows"] if row["threads"] == 1]
    for ours in (row for row in rows if row["library"] == "ocboost"):
        J = ours["n_hypotheses"]
        order = "" if ours["order"] in (None, J) else f", order {ours['order']:,}"
        for peer in (row for row in rows if row["n_hypotheses"] == J):
            name = f"{peer['library']} {peer['method']}"
            if name in SPEED_PEERS[ours["method"].split(",")[0]]:
                batch = f", batches of {peer['batch']}" if peer["batch"] > 1 else ""
                yield (
                    f"J={J:,}{order}: {ours['method']}, batches of {ours['batch']} / {name}{batch}",
                    ours["cpu_us_rounds"],
                    peer["cpu_us_rounds"],
                )
    adaboost = results.get("batch_adaboost")
    if adaboost:
        cases = {name: case["cpu_rounds"] for name, case in adaboost["cases"].items() if "two" not in name}
        size = f"batch AdaBoost, {adaboost['rows']:,} × {adaboost['n_hypotheses']:,}"
        yield from against(size, cases, ours="ocboost")


def pairs_of_rows(results: dict[str, Any]) -> Iterator[Pair]:
    """Learning stumps, and judging windows of a cascade."""
    groups: dict[str, dict[str, list[float]]] = {}
    for row in results["rows"]:
        if "two threads" in row["method"]:
            continue
        if "task" in row:
            group = f"{row['task']}, {row['windows']:,} windows"
        else:
            group = f"{row['features']}, {results['settings']['rows']:,} rows, {row['stumps']} stumps"
        groups.setdefault(group, {})[row["method"]] = row["cpu_rounds"]
    for group, cases in groups.items():
        yield from against(group, cases, ours="ocboost")


def pairs_of_adapting(results: dict[str, Any]) -> Iterator[Pair]:
    """partial_fit and predict beside scikit-learn's; older files have medians only."""
    for group in ("following", "answering"):
        cases = {name: case.get("cpu_us_rounds", [case["cpu_us"]]) for name, case in results[group].items()}
        yield from against(group, cases, ours="OCBClassifier")


def pairs_of_one_row(results: dict[str, Any]) -> Iterator[Pair]:
    """One prediction and one learning: ours beside scikit-learn's and River's."""
    cases = {
        name if name.startswith(("scikit-learn", "river")) else f"ocboost, {name}": rounds
        for name, rounds in results["cpu_us"].items()
    }
    yield from against("one row", cases, ours="ocboost")


def pairs_of_oza_russell(results: dict[str, Any]) -> Iterator[Pair]:
    """Ours against River's and MOA's with the same kind of members; a round is a seed."""
    for stream, found in results["streams"].items():
        for members in ("Hoeffding trees", "naive Bayes"):
            cases = {
                name: [run["cpu_us"] for run in method["runs"]]
                for name, method in found["methods"].items()
                if members in name and "one of the" not in name
            }
            yield from against(f"{stream}, {found['rows']:,} rows", cases, ours="ocboost")


def against(group: str, cases: dict[str, list[float]], ours: str) -> Iterator[Pair]:
    """Every case of ours, known by how its name begins, against every other."""
    for name, rounds in cases.items():
        if name.startswith(ours):
            for peer, times in cases.items():
                if not peer.startswith(ours):
                    yield f"{group}: {name} / {peer}", rounds, times


READERS = {
    "speed": pairs_of_speed,
    "learning": pairs_of_rows,
    "cascade": pairs_of_rows,
    "adapting": pairs_of_adapting,
    "one_row": pairs_of_one_row,
    "oza_russell": pairs_of_oza_russell,
}


def benchmark_of(results: dict[str, Any]) -> str:
    """The benchmark that wrote these results, by what is in them."""
    if "targets" in results:
        return "speed"
    if "following" in results:
        return "adapting"
    if "cpu_us" in results:
        return "one_row"
    if "streams" in results:
        return "oza_russell"
    if results.get("rows") and isinstance(results["rows"], list):
        return "cascade" if "task" in results["rows"][0] else "learning"
    raise ValueError(f"these are no results with peers; only those of {', '.join(READERS)} can be compared")


def ratios(results: dict[str, Any]) -> dict[str, Ratio]:
    """Every ratio against a peer, by name."""
    return {name: ratio(ours, peer) for name, ours, peer in READERS[benchmark_of(results)](results)}


def compare(old: dict[str, Any], new: dict[str, Any], tolerance: float = TOLERANCE) -> list[Change]:
    """The ratios that both have, as they were and as they are."""
    before, now = ratios(old), ratios(new)
    changes = []
    for name in before:
        if name in now:
            noise = math.hypot(before[name].spread, now[name].spread)
            allowed = max(tolerance, noise / (1 + noise))
            changes.append(Change(name, before[name].value, now[name].value, allowed))
    return changes


# The report ------------------------------------------------------------------------------------------------


def missing(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Sentences on what could not be compared."""
    before, now = ratios(old), ratios(new)
    lines = []
    for those, others, which in ((before, now, "the old"), (now, before, "the new")):
        alone = [name for name in those if name not in others]
        if alone:
            lines.append(f"{len(alone)} ratios are in {which} results only, such as: {alone[0]}")
    settings = [results.get("settings", {}).get("quick", False) for results in (old, new)]
    if settings[0] != settings[1]:
        lines.append("only one of the two is a run with --quick: its timings are short and rough")
    return lines


def show(console: Console, changes: Iterable[Change], notes: Iterable[str]) -> int:
    """Print the table and the verdict; returns the exit code."""
    changes = list(changes)
    table = Table(title="Times as fast as the peer", title_justify="left")
    for heading in ("ours / peer", "before", "now", "change", "tolerance", ""):
        table.add_column(heading, justify="left" if heading == "ours / peer" else "right")
    for change in changes:
        table.add_row(
            change.name,
            f"{change.before:.3g}",
            f"{change.now:.3g}",
            f"{change.relative:+.0%}",
            f"{change.tolerance:.0%}",
            "[red]fell[/]" if change.fell else "",
        )
    if changes:
        console.print(table)
    for note in notes:
        console.print(f"note: {note}", style="yellow", markup=False)
    if not changes:
        console.print("Nothing to compare: the two files share no ratio.")
        return 2
    fallen = [change for change in changes if change.fell]
    for change in fallen:
        console.print(f"fell: {change.name}, from {change.before:.3g} to {change.now:.3g}", markup=False)
    console.print(f"{len(fallen)} of {len(changes)} ratios fell by more than their tolerance.")
    return 1 if fallen else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("new", type=Path, help="results of a benchmark")
    parser.add_argument("old", type=Path, nargs="?", help="by default the committed results of the same one")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="share that may be lost (0.2)")
    given = parser.parse_args()
    if not 0 <= given.tolerance < 1:
        parser.error(f"--tolerance must be at least 0 and below 1; got {given.tolerance}")
    new = json.loads(given.new.read_text(encoding="utf-8"))
    try:
        old_path = given.old or RESULTS / f"{benchmark_of(new)}.json"
        old = json.loads(old_path.read_text(encoding="utf-8"))
        if benchmark_of(old) != benchmark_of(new):
            parser.error(f"{old_path} is of {benchmark_of(old)}, {given.new} of {benchmark_of(new)}")
    except ValueError as error:
        parser.error(str(error))
    return show(new_console(170), compare(old, new, given.tolerance), missing(old, new))


if __name__ == "__main__":
    sys.exit(main())
