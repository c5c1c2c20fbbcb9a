"""The MNIST experiment in tables, the paper's own numbers beside ours, and in words."""

from __future__ import annotations

from collections.abc import Mapping

from rich.box import SIMPLE_HEAD
from rich.table import Table

from ocboost.reproduce.mnist import (
    METHODS,
    PAPER_APPROXIMATION_ERROR,
    PAPER_TEST_ERROR,
    Floats,
    MnistResult,
)


def as_tables(result: MnistResult) -> list[Table]:
    """Table 1, the test errors, and table 2, the approximation errors."""
    quick = " (quick)" if result.settings.quick else ""
    combined = {key: f"{e[-1]:.2f}" for key, e in result.combined_test_error.items()}
    far = result.approximation_error
    return [
        _table(f"Test error in %{quick}", result, result.test_error, PAPER_TEST_ERROR, 2, combined),
        _table(f"Approximation error{quick}", result, far, PAPER_APPROXIMATION_ERROR, 3, {}),
    ]


def _table(
    title: str,
    result: MnistResult,
    errors: dict[str, Floats],
    paper: Mapping[str, tuple[float, ...]],
    places: int,
    combined: dict[str, str],
) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("method", no_wrap=True)
    for digit in result.digits:
        table.add_column(str(digit), justify="right")
    if combined:
        table.add_column("all", justify="right")
    for key, found in errors.items():
        cells = [f"{e:.{places}f}" for e in found[:, -1]]
        table.add_row(METHODS[key], *cells, *([combined[key]] if combined else []))
        if key in paper and len(result.digits) == len(paper[key]):
            printed = [f"{e:.2f}" for e in paper[key]]
            table.add_row("  in the paper", *printed, *([""] if combined else []), style="dim")
    return table


def in_words(result: MnistResult) -> str:
    """What the tables show, in plain words that follow from their numbers."""
    mean = {key: float(e[:, -1].mean()) for key, e in result.approximation_error.items()}
    apart = abs(result.test_error["ocb-full"] - result.test_error["adaboost"])[:, -1].max()
    fits = ", which held every image" if mean["ocb-head"] < 1e-9 else ""
    return (
        f"Mean approximation error: Oza and Russell {mean['oza-russell']:.3f}; OCB "
        f"{mean['ocb-order-400']:.3f} at order {result.settings.order}, "
        f"{mean['ocb-full']:.3f} at full order, "
        f"{mean['ocb-head']:.4f} with a head{fits}. At full order OCB's test error is within {apart:.2f} "
        "points of AdaBoost's for every digit."
    )
