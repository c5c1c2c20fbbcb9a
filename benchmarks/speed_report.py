"""What the figures say: tables for the terminal, and the project's speed targets with met or not met."""

from collections.abc import Callable

from harness import Row
from rich.console import Console
from rich.table import Table


def find(rows: list[Row], **want: object) -> Row | None:
    """The one row with these properties, or None where it was not measured."""
    for row in rows:
        have = vars(row.method) | {"n_hypotheses": row.n_hypotheses}
        if all(have[key] == value for key, value in want.items()):
            return row
    return None


def target(
    name: str, value: float | None, bound: float | None, unit: str, at_most: bool = False
) -> dict[str, object]:
    """One line of the verdict; met is None where nothing was measured or there is no bound."""
    met = None
    if value is not None and bound is not None:
        met = bool(value <= bound if at_most else value >= bound)
    return {"name": name, "value": value, "bound": bound, "unit": unit, "at_most": at_most, "met": met}


def targets(
    rows: list[Row], startup: dict[str, dict[str, object]] | None, adaboost: dict[str, object] | None
) -> list[dict[str, object]]:
    """Every target of the project, from this run alone."""

    def ours(J: int, name: str, batch: int, threads: int = 1) -> Row | None:
        return find(rows, library="ocboost", name=name, n_hypotheses=J, order=J, batch=batch, threads=threads)

    def against(moa: str, J: int, name: str, batch: int) -> float | None:
        peer, mine = find(rows, library="MOA", name=moa, n_hypotheses=J), ours(J, name, batch)
        return peer.cpu_us / mine.cpu_us if peer and mine else None

    lines = []
    # In a long run MOA computes with NaN, which is cheaper than numbers: shown, but no target.
    for moa, words, has_bound in (
        ("OCBoost", "", True),
        ("OCBoost, long run", " once its weights are NaN", False),
    ):
        for J, bound in ((400, 25.0), (1520, 15.0)):
            name = f"one by one, theorem, J={J:,}, against MOA's OCBoost{words}"
            ratio = against(moa, J, "sketch, theorem", 1)
            lines.append(target(name, ratio, bound if has_bound else None, "×"))
        for J in (400, 1520):
            name = f"batches of 64, J={J:,}, against MOA's OCBoost{words}"
            ratio = against(moa, J, "sketch, balanced", 64)
            lines.append(target(name, ratio, 120.0 if has_bound else None, "×"))

    for batch in (64, 256):
        per_pair = [
            row.cpu_us / (J * (J + 1) / 2)
            for J in (100, 400, 1520)
            if (row := ours(J, "sketch, balanced", batch)) is not None
        ]
        spread = max(per_pair) / min(per_pair) if len(per_pair) == 3 else None
        name = f"cost per pair, largest over smallest, J=100…1,520, batches of {batch}"
        lines.append(target(name, spread, 2.0, "×", at_most=True))

    for batch in (64, 256):
        one, two = (ours(1520, "sketch, balanced", batch, threads) for threads in (1, 2))
        gain = one.wall_us / two.wall_us if one and two else None
        lines.append(target(f"a second thread, wall time, J=1,520, batches of {batch}", gain, 1.6, "×"))

    for name, result in (startup or {}).items():
        bound = 1.0 if name.startswith("import") else 0.5
        seconds = result.get("seconds")
        lines.append(target(name, seconds, bound, " s", at_most=True))

    if adaboost:
        cases: dict[str, dict[str, float]] = adaboost["cases"]
        for threads, clock in (("", "cpu_seconds"), (", two threads", "wall_seconds")):
            mine = cases.get(f"ocboost, rows{threads}")
            for name, case in cases.items():
                if mine and name.startswith("NumPy"):
                    words = f"batch AdaBoost from int8 rows{threads or ', one thread'}, against {name}"
                    has_bound = not threads and not name.endswith("codes given")
                    lines.append(target(words, case[clock] / mine[clock], 3.0 if has_bound else None, "×"))
    return lines


def number(value: float) -> str:
    """Three figures, thousands apart."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def pivot(console: Console, rows: list[Row], title: str, cell: Callable[[Row], str]) -> None:
    """Methods down, sizes across; a blank cell was not measured."""
    sizes = sorted({row.n_hypotheses for row in rows})
    heads: list[tuple[int, bool]] = []
    for J in sizes:
        heads.append((J, False))
        if any(row.n_hypotheses == J and row.method.order not in (None, J) for row in rows):
            heads.append((J, True))
    table = Table(title=title, title_justify="left")
    table.add_column("method")
    table.add_column("batch", justify="right")
    table.add_column("threads", justify="right")
    for J, short in heads:
        table.add_column(f"J={J:,}" + ("\norder 400" if short else ""), justify="right")
    lines: dict[tuple[str, str, int, int], dict[tuple[int, bool], Row]] = {}
    for row in rows:
        m = row.method
        at = (row.n_hypotheses, m.order not in (None, row.n_hypotheses))
        lines.setdefault((m.library, m.name, m.threads, m.batch), {})[at] = row
    library = None
    for (lib, name, threads, batch), cells in sorted(lines.items(), key=lambda item: rank(item[0])):
        if library not in (None, lib):
            table.add_section()
        library = lib
        shown = [cell(cells[at]) if at in cells else "" for at in heads]
        table.add_row(f"{lib} {name}", str(batch), str(threads), *shown)
    console.print(table)


def rank(key: tuple[str, str, int, int]) -> tuple[object, ...]:
    """Ours first, peers by name, theorem before balanced."""
    library, name, threads, batch = key
    order = ["sketch, theorem", "sketch, balanced", "OzaRussell"]
    return (
        library != "ocboost",
        library,
        name == "OzaRussell",
        threads,
        batch,
        order.index(name) if name in order else 3,
        name,
    )


def show(console: Console, results: dict[str, object], rows: list[Row]) -> None:
    """Print all tables."""
    if rows:
        pivot(
            console,
            rows,
            "CPU time per example in µs, median (with two threads: CPU / wall)",
            lambda row: (
                number(row.cpu_us)
                + (f" / {number(row.wall_us)}" if row.method.threads > 1 else "")
                + (" ¹" if "NaN" in row.finding else "")
                + (" ²" if row.finding == "diverged" else "")
            ),
        )
        console.print("¹ its weights were NaN by the end   ² its weights had left their range by the end")
        moa = {
            row.n_hypotheses: row
            for row in rows
            if (row.method.library, row.method.name) == ("MOA", "OCBoost")
        }
        ours = [row for row in rows if row.method.library == "ocboost" and row.method.threads == 1]
        ours = [row for row in ours if row.n_hypotheses in moa]
        if ours:
            pivot(
                console,
                ours,
                "Times faster than MOA's OCBoost at full order, CPU time",
                lambda row: number(moa[row.n_hypotheses].cpu_us / row.cpu_us),
            )
    adaboost = results.get("batch_adaboost")
    if isinstance(adaboost, dict) and "cases" in adaboost:
        table = Table(
            title=f"Batch AdaBoost, {adaboost['rows']:,} × {adaboost['n_hypotheses']:,}, seconds",
            title_justify="left",
        )
        for head in ("method", "CPU", "wall", "largest |Δα|"):
            table.add_column(head, justify="left" if head == "method" else "right")
        for name, case in adaboost["cases"].items():
            table.add_row(
                name,
                f"{case['cpu_seconds']:.4f}",
                f"{case['wall_seconds']:.4f}",
                f"{case['largest_difference']:.0e}",
            )
        console.print(table)
    table = Table(title="Targets", title_justify="left")
    for head in ("", "measured", "target", ""):
        table.add_column(head, justify="right" if head else "left")
    for line in results["targets"]:
        value = "not measured" if line["value"] is None else number(line["value"]) + line["unit"]
        bound = ""
        if line["bound"] is not None:
            bound = ("≤ " if line["at_most"] else "≥ ") + f"{line['bound']:g}{line['unit']}"
        verdict = {True: "[green]met[/]", False: "[red]not met[/]", None: ""}[line["met"]]
        table.add_row(line["name"], value, bound, verdict)
    console.print(table)
    for note in results["notes"]:
        console.print(f"note: {note}", style="yellow", markup=False)
