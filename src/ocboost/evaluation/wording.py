"""How names and numbers are written in tables, figures and reports."""

from __future__ import annotations

NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "kappa": "Cohen's kappa",
    "auc": "AUC",
    "log_loss": "log-loss",
}
NONE = "–"


def time_of(microseconds: float | None) -> str:
    """Microseconds with about three digits.

    >>> time_of(0.1234), time_of(12.34), time_of(1234.5)
    ('0.12', '12.3', '1,234')
    """
    if microseconds is None:
        return NONE
    if microseconds < 10:
        return f"{microseconds:.2f}"
    return f"{microseconds:.1f}" if microseconds < 1000 else f"{microseconds:,.0f}"


def bytes_in_words(n: int | None) -> str:
    """Bytes in a fitting unit.

    >>> bytes_in_words(640), bytes_in_words(55_904), bytes_in_words(411_873_280)
    ('640 B', '55 KiB', '393 MiB')
    """
    if n is None:
        return NONE
    size = float(n)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.1f} {unit}" if size < 9.95 and unit != "B" else f"{size:,.0f} {unit}"
