"""A stream to try things on: loans, drawn, and a change in the middle.

The rows are made up. At first much debt makes a loan late, and a short time in the job; then interest rates
rise, and it is the monthly rate beside the income, and loans to start a business become the risky ones.

>>> X, late, changed = loans(1000, changes_at=600)
>>> list(X), len(late), bool(changed[599]), bool(changed[600])
(['income', 'debt', 'age', 'months_employed', 'monthly_rate', 'purpose'], 1000, False, True)
"""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

PURPOSES = ("car", "home", "education", "business")
LATE_COLUMN = "late"
WRONG = 0.05  # share of labels that no rule explains


def loans(
    n: int, *, changes_at: int, seed: int = 0
) -> tuple[dict[str, NDArray[Any]], NDArray[np.str_], NDArray[np.bool_]]:
    """Columns by their names, whether each loan was paid late ("yes", "no"), and where the new rule holds."""
    rng = np.random.default_rng(seed)
    changed = np.arange(n) >= changes_at
    income = np.round(rng.lognormal(8.0, 0.4, n), -1)
    debt = np.round(income * rng.gamma(2.0, 2.0, n), -1)
    age = rng.integers(20, 68, n)
    months = np.minimum(rng.exponential(60.0, n).astype(int), 12 * (age - 18))
    rate = np.round(income * rng.beta(2.0, 4.0, n) * np.where(changed, 1.25, 1.0), 0)
    purpose = rng.choice(PURPOSES, n, p=(0.4, 0.3, 0.15, 0.15))
    before = 0.45 * (debt / income - 4.0) - 0.015 * (months - 40) + 1.2 * (purpose == "car")
    after = 9.0 * (rate / income - 0.4) + 2.0 * (purpose == "business") - 1.2 * (purpose == "car")
    late = np.where(changed, after, before) > 0.4
    late ^= rng.random(n) < WRONG
    columns = {
        "income": income.astype(int),
        "debt": debt.astype(int),
        "age": age,
        "months_employed": months,
        "monthly_rate": rate.astype(int),
        "purpose": purpose,
    }
    return columns, np.where(late, "yes", "no"), changed


def as_csv(columns: dict[str, NDArray[Any]], label: NDArray[np.str_], rows: slice) -> bytes:
    """Some of the rows as a CSV file, the label last."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*columns, LATE_COLUMN])
    writer.writerows(
        zip(*(values[rows].tolist() for values in columns.values()), label[rows].tolist(), strict=True)
    )
    return text.getvalue().encode()
