"""The rows of ocboost itself: the sketch at every order, batch size and thread count, and Oza and Russell."""

import copy
import os

from harness import Columns, Method, Ring, Timing, clocked

BATCHES = (16, 64, 256)
SHORT_ORDER = 400


def orders(n_hypotheses: int) -> list[int]:
    """Full order, and 400 where that is less."""
    return [n_hypotheses] + ([SHORT_ORDER] if n_hypotheses > SHORT_ORDER else [])


def methods(columns: Columns) -> list[Method]:
    """Every row of ours at this size. Raises ImportError where ocboost is not installed."""
    import ocboost

    thread_counts = [1, 2] if (os.cpu_count() or 1) > 1 else [1]
    J = columns.n_hypotheses
    rows = []

    def row(name: str, model: object, batch: int, threads: int, order: int | None) -> Method:
        ring = Ring(len(columns.margins))
        last: list[object] = [model]

        def run(n: int) -> Timing:
            ocboost.set_num_threads(threads)
            # Every timing starts from the same model, so that rounds repeat and none drifts out of range.
            mine = last[0] = copy.deepcopy(model)
            mine.update_many(columns.margins[:batch], batch_size=batch)  # starts the threads, if any
            parts = [columns.margins[part] for part in ring.take(n)]

            def work() -> None:
                for part in parts:
                    mine.update_many(part, batch_size=batch)
                _ = mine.alpha  # solved on reading: the work is not done before

            return clocked(work, n)

        def finding() -> str:
            return "diverged" if getattr(last[0], "diverged", False) else ""

        return Method(
            "ocboost", name, run, batch, threads, order, "one read of alpha per timing", finding=finding
        )

    for order in orders(J):
        theorem, balanced = (
            ocboost.BoostingSketch.from_margins(columns.start, order=order, head=1, correction=correction)
            for correction in ("theorem", "balanced")
        )
        for threads in thread_counts:
            rows.append(row("sketch, theorem", theorem, 1, threads, order))
            rows.append(row("sketch, balanced", balanced, 1, threads, order))
            rows.extend(row("sketch, balanced", balanced, batch, threads, order) for batch in BATCHES)
    simple = ocboost.OzaRussell.from_margins(columns.start)
    rows.extend(row("OzaRussell", simple, batch, 1, None) for batch in (1, 64))
    return rows
