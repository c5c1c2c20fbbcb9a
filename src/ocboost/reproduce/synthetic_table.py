"""The synthetic experiment in a table and in words."""

from __future__ import annotations

from itertools import pairwise

from rich.table import Table

from ocboost.reproduce.synthetic import METHODS, ORDERS, SyntheticResult


def as_table(result: SyntheticResult) -> Table:
    """A table of every method: mean error, final error, and the ratio to Oza and Russell."""
    settings = result.settings
    table = Table(
        title=f"Approximation error to batch AdaBoost{' (quick)' if settings.quick else ''}",
        title_justify="left",
        title_style="bold",
        caption=settings.in_words,
        caption_justify="left",
    )
    table.add_column("method")
    table.add_column("start")
    table.add_column("mean error", justify="right")
    table.add_column("final error", justify="right")
    table.add_column("to Oza and Russell", justify="right")
    yardstick = result.mean_error("oza-russell")
    family = METHODS[0].family
    for method in METHODS:
        if method.family != family:
            table.add_section()
            family = method.family
        error = result.mean_error(method.key)
        table.add_row(
            method.key + (" (diverged)" if result.diverged[method.key] else ""),
            f"{settings.start} rows" if method.warm else "cold",
            f"{error:.4f}",
            f"{result.final_error(method.key):.4f}",
            f"{error / yardstick:.2f}",
        )
    return table


def in_words(result: SyntheticResult) -> str:
    """What the table shows, in plain words that follow from its numbers."""
    theorem = [result.mean_error(f"ocb-order-{order}") for order in ORDERS]
    listing = [
        result.mean_error("ocb-listing" if order == ORDERS[-1] else f"ocb-listing-order-{order}")
        for order in ORDERS
    ]
    oza = result.mean_error("oza-russell")
    balanced = result.mean_error("ocb-balanced")
    falls = "falls with every order" if _falling(theorem) else "does not fall with every order"
    rises = "gets worse with order" if _falling(listing[::-1]) else "does not get worse with every order"
    closer = "at least as close as" if balanced <= theorem[-1] else "less close than"
    return (
        f"OCB's error {falls} ({theorem[0]:.4f} to {theorem[-1]:.4f}; Oza and Russell {oza:.4f}); "
        f"the listing as printed {rises}; the balanced correction from a cold start is {closer} "
        f"order {ORDERS[-1]} from a warm one ({balanced:.4f})."
    )


def _falling(values: list[float]) -> bool:
    return all(after < before for before, after in pairwise(values))
