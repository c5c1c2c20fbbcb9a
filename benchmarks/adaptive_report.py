"""The tables of ``adaptive.py``: accuracy, log-loss and time of each method, and where ours is ahead."""

import statistics
from dataclasses import dataclass
from typing import Any

from peers.stream_learners import LEARNERS
from rich.console import Console
from rich.table import Table

OURS = "adaptive"


@dataclass(frozen=True)
class Score:
    """A result up to a row."""

    rows: int
    accuracy: float
    log_loss: float
    cpu_us: float


def at_rows(result: dict[str, Any], rows: int) -> Score:
    """A result at one of its points."""
    _, right, loss, spent = next(point for point in result["points"] if point[0] == rows)
    n = rows - result["start"]
    return Score(rows, right / n, loss / n, 1e6 * spent / n)


def common_rows(*results: dict[str, Any]) -> int:
    """The most rows that all of them have a point at."""
    shared = set.intersection(*({point[0] for point in result["points"]} for result in results))
    return max(shared, default=0)


def side_by_side(a: dict[str, Any], b: dict[str, Any]) -> tuple[Score, Score] | None:
    """Two results on the same rows; None if there are none."""
    rows = common_rows(a, b) if a["seed"] == b["seed"] else 0
    return (at_rows(a, rows), at_rows(b, rows)) if rows else None


def taken_part(found: dict[str, Any]) -> dict[str, Any]:
    """The results of a stream, without the methods that were left out of it."""
    return {method: result for method, result in found.items() if "points" in result}


def ahead_on(found: dict[str, Any]) -> str:
    """Who has the highest accuracy on the rows that all have gone through."""
    if len(found) < 2 or not (rows := common_rows(*found.values())):
        return ""
    accuracies = {method: at_rows(result, rows).accuracy for method, result in found.items()}
    best = max(accuracies.values())
    return ", ".join(method for method, accuracy in accuracies.items() if accuracy == best)


def score_table(streams: dict[str, Any], methods: list[str]) -> Table:
    """Accuracy of each, who is ahead, and our time over that of each peer."""
    peers = [method for method in methods if method != OURS] if OURS in methods else []
    table = Table(title="Accuracy in %, and CPU time of AdaptiveClassifier over that of each peer")
    for heading in ("stream", "rows", *methods, "ahead", *(f"µs / {peer}" for peer in peers)):
        table.add_column(heading, justify="left" if heading in ("stream", "ahead") else "right")
    for name, found in streams.items():
        results = taken_part(found)
        most = max((result["rows"] for result in results.values()), default=0)
        cells = [name, f"{most:,}"]
        for method in methods:
            result = results.get(method)
            part = "" if result is None or result["rows"] == most else f" ({result['rows']:,})"
            cells.append("" if result is None else f"{100 * result['accuracy']:.2f}{part}")
        cells.append(ahead_on(results))
        for peer in peers:
            both = side_by_side(results[OURS], results[peer]) if OURS in results and peer in results else None
            cells.append("" if both is None else f"{both[0].cpu_us / both[1].cpu_us:.2f}")
        table.add_row(*cells)
    return table


def cost_table(streams: dict[str, Any], methods: list[str]) -> Table:
    """Log-loss and microseconds of each."""
    table = Table(title="Log-loss, and CPU µs of one prediction and one update")
    for heading in (
        "stream",
        *(f"loss {method}" for method in methods),
        *(f"µs {method}" for method in methods),
    ):
        table.add_column(heading, justify="left" if heading == "stream" else "right")
    for name, found in streams.items():
        results = taken_part(found)
        losses = [f"{results[each]['log_loss']:.3f}" if each in results else "" for each in methods]
        times = [f"{results[each]['cpu_us']:,.0f}" if each in results else "" for each in methods]
        table.add_row(name, *losses, *times)
    return table


def verdicts(streams: dict[str, Any], methods: list[str]) -> list[str]:
    """On how many streams ours is ahead of each peer, and what it costs."""
    sentences = []
    for peer in (method for method in methods if method != OURS):
        pairs = {}
        for name, found in streams.items():
            results = taken_part(found)
            if OURS in results and peer in results and (both := side_by_side(results[OURS], results[peer])):
                pairs[name] = both
        if not pairs:
            continue
        ahead = sum(ours.accuracy > theirs.accuracy for ours, theirs in pairs.values())
        losses = sum(ours.log_loss < theirs.log_loss for ours, theirs in pairs.values())
        ratios = [ours.cpu_us / theirs.cpu_us for ours, theirs in pairs.values()]
        behind = [
            f"{name} by {100 * (theirs.accuracy - ours.accuracy):.2f}"
            for name, (ours, theirs) in pairs.items()
            if ours.accuracy <= theirs.accuracy
        ]
        sentences.append(
            f"Ahead of {LEARNERS[peer][0]} on {ahead} of {len(pairs)} streams, with the lower log-loss on "
            f"{losses}, at {statistics.median(ratios):.2f} of its time (at most {max(ratios):.2f})."
            + (f" Not ahead on {', '.join(behind)} points." if behind else "")
        )
    return sentences


def left_out(streams: dict[str, Any]) -> list[str]:
    """What did not take part, or stopped early."""
    notes = []
    for name, found in streams.items():
        for method, result in found.items():
            if "left_out" in result:
                notes.append(f"{method} on {name} is left out: {result['left_out']}.")
            elif result["stopped"]:
                notes.append(f"{method} on {name} stopped after {result['rows']:,} rows: its time was up.")
    return notes


def show(console: Console, record: dict[str, Any]) -> None:
    """All that the file has."""
    streams = record["streams"]
    methods = [method for method in LEARNERS if any(method in taken_part(each) for each in streams.values())]
    if not methods:
        console.print("There are no results yet.")
        return
    console.print(score_table(streams, methods))
    console.print(cost_table(streams, methods))
    for sentence in (*verdicts(streams, methods), *left_out(streams)):
        console.print(sentence, soft_wrap=True)
    if OURS not in methods:
        console.print("There are no results of AdaptiveClassifier yet: run it with --only adaptive.")
