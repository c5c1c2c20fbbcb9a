"""What a row as a dictionary costs, beside the same row as an array.

python benchmarks/tables.py
"""

from __future__ import annotations

from time import process_time

import numpy as np
import pandas as pd

from ocboost import AdaptiveClassifier, OCBClassifier

N, REPEATS, CALLS = 400, 5, 400


def frame(dates: int, texts: int, numbers: int) -> pd.DataFrame:
    """A table with so many columns of each kind."""
    rng = np.random.default_rng(0)
    stamps = np.datetime64("2024-01-01T00:00") + rng.integers(0, 500_000, (dates, N)).astype("timedelta64[m]")
    return pd.DataFrame(
        {f"number{k}": rng.normal(size=N) for k in range(numbers)}
        | {f"text{k}": rng.choice(list("abcdefgh"), N) for k in range(texts)}
        | {f"date{k}": stamps[k] for k in range(dates)}
    )


def microseconds(predict_one, row) -> float:
    """The least time of a call."""
    best = np.inf
    for _ in range(REPEATS):
        start = process_time()
        for _ in range(CALLS):
            predict_one(row)
        best = min(best, (process_time() - start) / CALLS)
    return best * 1e6


def main() -> None:
    """Print a table."""
    print("| classifier | columns | array, µs | dictionary, µs |\n| --- | --- | ---: | ---: |")
    for kinds in ((0, 0, 7), (0, 6, 6), (6, 6, 6)):
        X = frame(*kinds)
        y = X["number0"] > 0
        row = X.to_dict("records")[0]
        title = ", ".join(
            f"{n} {kind}" for n, kind in zip(kinds, ("dates", "texts", "numbers"), strict=True) if n
        )
        for make, options in ((OCBClassifier, {}), (AdaptiveClassifier, {"issue": False})):
            clf = make(random_state=0).fit(X, y.rename("label"))
            encoded = clf.schema_.encode_row(row)
            times = [microseconds(lambda r: clf.predict_one(r, **options), each) for each in (encoded, row)]  # noqa: B023
            print(f"| {make.__name__} | {title} | {times[0]:.1f} | {times[1]:.1f} |")


if __name__ == "__main__":
    main()
